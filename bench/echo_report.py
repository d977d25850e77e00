"""Rows, table and chart of the echo benchmark.

A measurement is what one server did in one round: {"rps", "p50", "p99", "cpu_total", "cpu_host", "cpu_engine"}; a
peer's has no engine, and its cpu_host is its cpu_total. Rows compare the medians over the rounds.
"""

import statistics

UNITS = {"rps": "1/s", "rate": "1/s", "cpu_total": "us", "cpu_host": "us", "cpu_engine": "us", "p50": "us", "p99": "us", "rtt": "ns"}
RATES = ("rps", "rate")  # higher is better
METRICS = ["rps", "cpu_total", "cpu_host", "cpu_engine", "p50", "p99"]

# (case, metric) -> goal for drover / grpc-async: the table. A rate must reach its goal, all else stay below.
GOALS = {
    ("unary-32B", "cpu_total"): 1 / 5,
    ("unary-32B", "cpu_host"): 1 / 20,
    ("unary-32B", "rps"): 3.0,
    ("unary-32B-c100m1", "cpu_total"): 1 / 2,
    ("unary-32B-c100m1", "cpu_host"): 1 / 8,
    ("unary-32B-c100m1", "rps"): 1.3,
    ("hpb-325KB", "cpu_total"): 1 / 3,
    ("ring", "rtt"): 1.3,
    ("stream-64B", "cpu_total"): 1 / 4,
    ("stream-64B", "cpu_host"): 1 / 20,
    ("stream-16KiB", "cpu_total"): 1 / 2,
}
GOAL_PEERS = ("grpc-async", "ping-pong")


def median_of(measurements, metric):
    return statistics.median(measurement[metric] for measurement in measurements)


def row(case, metric, drover, peer, peer_name):
    return {"case": case, "metric": metric, "unit": UNITS[metric], "drover": drover, "peer": peer,
            "peer_name": peer_name, "ratio": drover / peer if peer else None}


def rows_of_case(case, drover, peers, rate="rps"):
    """drover: measurements; peers: {peer name: measurements}. A peer's CPU is compared as a whole with each part.
    `rate`: the metric's name in the rows."""
    rows = []
    for metric in METRICS:
        for peer_name, measurements in peers.items():
            peer_metric = "cpu_total" if metric.startswith("cpu_") else metric
            rows.append(row(case, rate if metric == "rps" else metric, median_of(drover, metric),
                            median_of(measurements, peer_metric), peer_name))
    return rows


def goal_of(row_):
    return GOALS.get((row_["case"], row_["metric"])) if row_["peer_name"] in GOAL_PEERS else None


def reaches(row_, goal):
    return row_["ratio"] >= goal if row_["metric"] in RATES else row_["ratio"] <= goal


def number(value):
    if value >= 10000:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 100 else f"{value:.2f}"


def goal_text(row_):
    goal = goal_of(row_)
    if goal is None:
        return ""
    sign = ">=" if row_["metric"] in RATES else "<="
    return f"{sign} {goal:.3g}  {'reached' if reaches(row_, goal) else 'NOT reached'}"


def table(rows, system, notes):
    """A text table: one block a case, with the goal of the issue beside each measured ratio."""
    header = ("case", "metric", "unit", system, "peer", "value", "ratio", "goal")
    lines = [header]
    previous = None
    for entry in rows:
        if previous is not None and entry["case"] != previous["case"]:
            lines.append(None)
        first = previous is None or previous["case"] != entry["case"]
        same_metric = not first and previous["metric"] == entry["metric"]
        lines.append(("" if not first else entry["case"], "" if same_metric else entry["metric"],
                      "" if same_metric else entry["unit"], "" if same_metric else number(entry["drover"]),
                      entry["peer_name"], number(entry["peer"]), f"{entry['ratio']:.3f}", goal_text(entry)))
        previous = entry
    widths = [max(len(line[i]) for line in lines if line) for i in range(len(header))]
    right = {3, 5, 6}
    text = []
    for line in lines:
        if line is None:
            text.append("")
            continue
        cells = [cell.rjust(width) if i in right else cell.ljust(width)
                 for i, (cell, width) in enumerate(zip(line, widths))]
        text.append("  ".join(cells).rstrip())
        if line is header:
            text.append("  ".join("-" * width for width in widths))
    return "\n".join(text + [""] + notes) + "\n"


def load_matplotlib():
    """matplotlib's pyplot without a display; ImportError if it is not installed."""
    import matplotlib  # pylint: disable=import-outside-toplevel
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt  # pylint: disable=import-outside-toplevel
    return plt


def chart(path, results, system, peer_names, title, subtitle):
    """results: {case: {server name: measurements}}. Left: CPU per request, host and engine stacked; right: rate."""
    plt = load_matplotlib()
    cases = [case for case in results if system in results[case]]
    servers = [system] + list(peer_names)
    colors = {system: ("#1b6ca8", "#8fc1e3")}
    plain = ["#b5651d", "#7a7a7a", "#3d8b5f", "#8a6fb0"]
    for name, color in zip(peer_names, plain):
        colors[name] = (color, color)
    height = 0.8 / len(servers)
    size = (13, 1.6 + 0.33 * len(servers) * len(cases))
    figure, (cpu_axes, rate_axes) = plt.subplots(1, 2, figsize=size, sharey=True)
    for index, server in enumerate(servers):
        positions = [case_index + (index - (len(servers) - 1) / 2) * height for case_index in range(len(cases))]
        measured = [results[case][server] for case in cases]
        _bars_relative(cpu_axes, positions, height, measured, colors[server], server, system,
                       [results[case][peer_names[0]] for case in cases])
        _rate_bars(rate_axes, positions, height, measured, colors[server][0], server,
                   [results[case][peer_names[0]] for case in cases])
    cpu_axes.set_yticks(range(len(cases)), cases)
    cpu_axes.invert_yaxis()
    cpu_axes.set_xlabel(f"CPU per request, relative to {peer_names[0]} (less is better)")
    rate_axes.set_xlabel(f"requests per second, relative to {peer_names[0]} (more is better)")
    for axes in (cpu_axes, rate_axes):
        axes.axvline(1, color="#444444", linewidth=0.8, linestyle=":")
        axes.margins(x=0.22)
        axes.spines[["top", "right"]].set_visible(False)
    handles, labels = cpu_axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="upper right", ncol=len(labels), frameon=False, fontsize=9)
    figure.suptitle(title, x=0.01, ha="left", fontweight="bold")
    figure.text(0.01, 0.01, subtitle, fontsize=8, color="#555555")
    figure.tight_layout(rect=(0, 0.04, 1, 0.95))
    figure.savefig(path, dpi=150)
    plt.close(figure)


def _bars_relative(axes, positions, height, measured, colors, server, system, base):
    totals = [median_of(m, "cpu_total") for m in measured]
    bases = [median_of(b, "cpu_total") for b in base]
    hosts = [median_of(m, "cpu_host") for m in measured]
    two_parts = server == system and any("cpu_engine" in m[0] and median_of(m, "cpu_engine") > 0 for m in measured)
    if two_parts:
        host_part = [h / b for h, b in zip(hosts, bases)]
        engine_part = [median_of(m, "cpu_engine") / b for m, b in zip(measured, bases)]
        axes.barh(positions, host_part, height, color=colors[0], label=f"{server}: host")
        axes.barh(positions, engine_part, height, left=host_part, color=colors[1], label=f"{server}: engine")
    else:
        axes.barh(positions, [t / b for t, b in zip(totals, bases)], height, color=colors[0], label=server)
    for position, total, base_total in zip(positions, totals, bases):
        axes.text(total / base_total, position, f" {number(total)} µs", va="center", fontsize=8)


def _rate_bars(axes, positions, height, measured, color, server, base):
    rates = [median_of(m, "rps") for m in measured]
    bases = [median_of(b, "rps") for b in base]
    axes.barh(positions, [r / b for r, b in zip(rates, bases)], height, color=color, label=server)
    for position, rate, base_rate in zip(positions, rates, bases):
        axes.text(rate / base_rate, position, f" {rate:,.0f}/s", va="center", fontsize=8)
