"""Rows, table and chart of the codec benchmark, from the measurements that codec_bench writes.

A measurement is {"case", "set", "bytes", "implementation", "metric", "ns", "median_ns"}; a row
{"case", "metric", "unit", "drover", "peer", "peer_name", "ratio"} with ratio = drover / peer.
"""

import math
import re

from instructions import KIND_OF_MESSAGE

SMALL = 4096  # bytes; what is below is a small message

# (Drover's metric, peer, the peer's metric that stands against it)
COMPARISONS = [
    ("decode_copy", "protobuf", "decode_copy"),
    ("decode_copy", "upb", "decode_copy"),
    ("decode_copy", "upb-without-fast-table", "decode_copy"),
    ("decode_alias", "protobuf", "decode_copy"),
    ("decode_alias", "upb", "decode_alias"),
    ("encode_pieces", "protobuf", "encode_contiguous"),
    ("encode_pieces", "upb", "encode_contiguous"),
    ("encode_pieces_bounded", "protobuf", "encode_contiguous"),
    ("encode_pieces_bounded", "upb", "encode_contiguous"),
    ("encode_contiguous", "protobuf", "encode_contiguous"),
    ("encode_contiguous", "upb", "encode_contiguous"),
    ("validate", "memcpy", "validate"),
    ("validate", "simdutf", "validate"),
    ("validate", "utf8_range", "validate"),
]

SET_SIZE = 40  # messages of HyperProtoBench, and of the built-in workload; means are taken over all or not at all

# case of codec.json -> (set, does a message of so many bytes belong to it?)
GEOMEANS = {
    "geomean-under-4k": ("hyperprotobench", lambda size: size < SMALL),
    "geomean-all": ("hyperprotobench", lambda size: True),
    "geomean-builtin": ("builtin", lambda size: True),
    "geomean-builtin-under-4k": ("builtin", lambda size: size < SMALL),
}

# (case, metric, peer) -> the ratio to reach at most: the goals of the issue.
GOALS = {
    ("geomean-under-4k", "decode_copy", "protobuf"): 1 / 4,
    ("geomean-under-4k", "decode_copy", "upb"): 1 / 1.2,
    ("geomean-all", "decode_alias", "protobuf"): 1 / 10,
    ("geomean-under-4k", "encode_pieces", "protobuf"): 1 / 1.5,
    ("geomean-all", "encode_pieces", "protobuf"): 1 / 5,
    ("packed-varint", "decode_copy", "upb"): 1 / 2,
    ("geomean-utf8-ascii", "validate", "memcpy"): 1.0,
    ("geomean-utf8-ascii", "validate", "simdutf"): 1.0,
    ("geomean-utf8-mixed", "validate", "simdutf"): 1.0,
}

COLORS = {"drover": "#1b6ca8", "upb": "#b5651d", "protobuf": "#7a7a7a"}


def geomean(values):
    values = list(values)
    return math.exp(sum(map(math.log, values)) / len(values))


def row(case, metric, unit, drover, peer, peer_name):
    return {"case": case, "metric": metric, "unit": unit, "drover": drover, "peer": peer, "peer_name": peer_name,
            "ratio": drover / peer if peer else None}


class Measurements:
    def __init__(self, measurements):
        self._ns = {(m["case"], m["implementation"], m["metric"]): m["ns"] for m in measurements}
        self.cases = {m["case"]: (m["set"], m["bytes"]) for m in measurements}
        self.implementations = {m["implementation"] for m in measurements}

    def ns(self, case, implementation, metric):
        """None if it was not measured."""
        return self._ns.get((case, implementation, metric))

    def pairs(self, case):
        """(Drover's metric, peer, Drover's ns, peer's ns) of one case."""
        for metric, peer, peer_metric in COMPARISONS:
            own, other = self.ns(case, "drover", metric), self.ns(case, peer, peer_metric)
            if own is not None and other is not None:
                yield metric, peer, own, other


def message_rows(measurements):
    rows = []
    for case, (set_name, size) in measurements.cases.items():
        if set_name == "kinds":
            continue
        for metric, peer, own, other in measurements.pairs(case):
            rows.append(row(case, metric, "ns", own, other, peer))
            if set_name == "packed" and metric == "decode_copy":
                rows.append(row(case, "decode_rate", "GB/s", size / own, size / other, peer))
    return rows


def peer_metric_of(metric, peer):
    return next(c[2] for c in COMPARISONS if c[0] == metric and c[1] == peer)


def mean_rows(case, measurements, members):
    """Geometric means over the member cases, for each comparison that all of them have."""
    pairs = {}
    for member in members:
        for metric, peer, own, other in measurements.pairs(member):
            pairs.setdefault((metric, peer), []).append((own, other))
    return [row(case, metric, "ns", geomean(o for o, _ in values), geomean(p for _, p in values), peer)
            for (metric, peer), values in pairs.items() if len(values) == len(members)]


def geomean_rows(measurements):
    rows = []
    for case, (wanted_set, takes) in GEOMEANS.items():
        of_set = {name: size for name, (set_name, size) in measurements.cases.items() if set_name == wanted_set}
        if len(of_set) == SET_SIZE:
            rows += mean_rows(case, measurements, [name for name, size in of_set.items() if takes(size)])
    for text in ("ascii", "mixed"):
        members = [name for name in measurements.cases if name.startswith(f"utf8-{text}-")]
        rows += mean_rows(f"geomean-utf8-{text}", measurements, members)
    return rows


def kind_rows(measurements):
    """ns for one field of a kind: (2N fields less N) / N. "kind.message": a message without fields."""
    sizes = {}
    for case in measurements.cases:
        match = re.fullmatch(r"(kind\.\w+)\.(\d+)", case)
        if match:
            sizes.setdefault(match[1], []).append(int(match[2]))
    rows = []
    for kind, counts in sizes.items():
        if len(counts) != 2:
            continue
        small, large = (f"{kind}.{count}" for count in sorted(counts))
        twice = {(metric, peer): (own, other) for metric, peer, own, other in measurements.pairs(large)}
        for metric, peer, own, other in measurements.pairs(small):
            own2, other2 = twice[metric, peer]
            count = min(counts)
            rows.append(row(kind, metric, "ns/field", (own2 - own) / count, (other2 - other) / count, peer))
            if kind == f"kind.{KIND_OF_MESSAGE}":
                rows.append(row("kind.message", metric, "ns", 2 * own - own2, 2 * other - other2, peer))
    return rows


def instruction_rows(counts):
    """counts: bench/codec/instructions.py's {kind: {(implementation, metric): instructions}}."""
    rows = []
    for kind, columns in counts.items():
        for metric, peer, peer_metric in COMPARISONS:
            own, other = columns.get(("drover", metric)), columns.get((peer, peer_metric))
            if own is not None and other is not None:
                unit = "instructions" if kind == "message" else "instructions/field"
                rows.append(row(f"kind.{kind}", f"{metric}_instructions", unit, own, other, peer))
    return rows


def all_rows(measurements, counts):
    return geomean_rows(measurements) + message_rows(measurements) + kind_rows(measurements) + instruction_rows(counts)


# ---- text tables


def number(value):
    return f"{value:,.0f}" if value >= 1000 else f"{value:.1f}"


def times(ratio):
    """How many times as fast as the peer."""
    return f"{1 / ratio:.2f}"


def goal_lines(rows):
    """The issue's goals beside what was measured; a goal without a row is marked."""
    measured = {(r["case"], r["metric"], r["peer_name"]): r for r in rows}
    lines = [f"{'goal':20} {'metric':16} {'against':12} {'drover':>10} {'peer':>10}  times as fast: goal  measured",
             "-" * 97]
    for (case, metric, peer), goal in GOALS.items():
        found = measured.get((case, metric, peer))
        start = f"{case:20} {metric:16} {peer:12}"
        if found is None:
            lines.append(f"{start} {'absent in this run':>21} {times(goal):>20}")
            continue
        verdict = "reached" if found["ratio"] <= goal else "NOT reached"
        lines.append(f"{start} {number(found['drover']):>10} {number(found['peer']):>10} {times(goal):>20} "
                     f"{times(found['ratio']):>9}  {verdict}")
    return lines


def _panel(axes, measurements, metric, title, peers, ticker):
    """Times as fast as protobuf C++ over the message's size, for Drover and upb."""
    base_metric = peer_metric_of(metric, "protobuf")
    series = {"drover": ("drover", metric)}
    if "upb" in peers:
        series["upb"] = ("upb", peer_metric_of(metric, "upb"))
    for label, (implementation, its_metric) in series.items():
        points = []
        for case, (set_name, size) in measurements.cases.items():
            own = measurements.ns(case, implementation, its_metric)
            base = measurements.ns(case, "protobuf", base_metric)
            if set_name in ("hyperprotobench", "builtin") and own is not None and base is not None:
                points.append((size, base / own))
        if points:
            axes.scatter(*zip(*points), s=16, color=COLORS[label], label=label, alpha=0.75, linewidths=0)
    for (case, goal_metric, peer), goal in GOALS.items():
        if goal_metric == metric and peer == "protobuf":
            span = [10, SMALL] if case == "geomean-under-4k" else [10, 1e6]
            axes.plot(span, [1 / goal] * 2, color="#2e7d32", linewidth=1, linestyle="--")
            axes.annotate(f"goal {1 / goal:.3g}", (span[0], 1 / goal), fontsize=7, color="#2e7d32", va="bottom")
    axes.axhline(1, color="#444444", linewidth=0.8, linestyle=":")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 3, 5)))
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_locator(ticker.NullLocator())
    axes.set_title(title, fontsize=10, loc="left")
    axes.spines[["top", "right"]].set_visible(False)


def chart(path, measurements, subtitle):
    """One panel an operation. ImportError if matplotlib is not there."""
    import matplotlib  # pylint: disable=import-outside-toplevel
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt  # pylint: disable=import-outside-toplevel
    from matplotlib import ticker  # pylint: disable=import-outside-toplevel
    peers = measurements.implementations
    panels = [("decode_copy", "decode, copying"), ("decode_alias", "decode, aliasing"),
              ("encode_pieces", "encode to pieces"), ("encode_contiguous", "encode, contiguous")]
    figure, grid = plt.subplots(2, 2, figsize=(11, 7.5), sharex=True)
    for axes, (metric, title) in zip(grid.flat, panels):
        _panel(axes, measurements, metric, title, peers, ticker)
    for axes in grid[1]:
        axes.set_xlabel("bytes of the message")
    for axes in grid[:, 0]:
        axes.set_ylabel("times as fast as protobuf C++")
    handles, labels = grid[0][0].get_legend_handles_labels()
    if handles:
        figure.legend(handles, labels, loc="upper right", ncol=len(labels), frameon=False, fontsize=9)
    figure.suptitle("The codec, message by message", x=0.01, ha="left", fontweight="bold")
    figure.text(0.01, 0.01, subtitle, fontsize=8, color="#555555")
    figure.tight_layout(rect=(0, 0.03, 1, 0.96))
    figure.savefig(path, dpi=150)
    figure.savefig(path.with_suffix(".svg"))
    plt.close(figure)
