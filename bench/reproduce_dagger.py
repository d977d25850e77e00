"""Dagger's figures, reproduced on simulated systems: what `make reproduce-dagger` and `make bench-dagger` run (docs/sim.md).

Runs `drover sim` for each bar of the paper's figure 5, each curve of figure 6 and for table 1, and puts what the paper
says beside what was measured. The NIC is RTL, simulated cycle by cycle; the programs on the cores are the host library;
each call is checked by content. What an operation costs a core is stated in sim/systems/dagger*.toml, from the paper's
doorbell bars: these bars therefore check the simulation, and the others are its predictions.

Writes claims.txt, claims.json, fig5.png, fig6.png and the runs' own JSON under runs/; with --bench only rows in dagger.json,
{case, metric, unit, drover, peer, peer_name, ratio}.
"""

import argparse
import concurrent.futures
import json
import pathlib
import subprocess
import sys
import textwrap

import dagger_rtl
from run_lines import merged

# Figure 5: million calls/s of one core, and at 4 million calls/s the median (where the text states it), us.
INTERFACES = {
    "mmio": ("dagger-mmio", {}, 4.2, 3.8),
    "doorbell-b1": ("dagger-doorbell", {"line_nic.batch": 1}, 4.3, 4.4),
    "doorbell-b3": ("dagger-doorbell", {"line_nic.batch": 3}, 7.9, None),
    "doorbell-b7": ("dagger-doorbell", {"line_nic.batch": 7}, 9.9, None),
    "doorbell-b11": ("dagger-doorbell", {"line_nic.batch": 11}, 10.8, None),
    "doorbell-b32": ("dagger-doorbell", {"line_nic.batch": 32}, 12.0, None),
    "coherent-b1": ("dagger", {"line_nic.batch": 1}, 8.1, 1.9),
    "coherent-b4": ("dagger", {"line_nic.batch": 4}, 12.4, 2.75),
}
# Beyond the paper: what it leaves to the future, and the batch by the load (figure 6's dashed line).
BEYOND = {
    "coherent-adaptive": ("dagger", {"line_nic.adaptive": "true"}),
    "cxl": ("dagger", {"line_nic.interface": "cxl"}),
}
THREADS = (1, 2, 3, 4, 6, 8)
NO_LIMIT = {"coherent.interval": "0ns", "coherent.bandwidth": "200GB/s", "link.bandwidth": "31.5GB/s"}
AT_4 = {"calls.load": "open", "calls.rate": 4, "calls.arrivals": "fixed"}

# Calls of protobuf messages (docs/sim.md, "Calls of objects"): who makes objects of wire bytes, and of objects wire bytes.
MESSAGES = {"calls.messages": "like1", "calls.cut": 64, "calls.outstanding": 32}
PROTOACC = {"deserializer.one_shot": "false", "objects.protoacc": "true", "serializer.one_piece": "false"}
OBJECTS = {
    "the NIC, walking objects": ("dagger-objects", MESSAGES),
    "the NIC, of pre-serialized streams": ("dagger-objects", MESSAGES | {"serializer.mode": "memory-affinity"}),
    "the NIC, field by field (ProtoACC)": ("dagger-objects", MESSAGES | PROTOACC),
    "the cores, lines alone": ("dagger", MESSAGES),
}
# RpcNIC's section IV-E: both ways at 2 GHz over UPI, whole messages, one at a time.
UPI = {"calls.messages": "like1", "calls.outstanding": 1, "calls.time": "400us", "objects.clock": "2GHz",
       "link.one_way": "400ns", "link.bandwidth": "19.2GB/s", "link.header": 8, "link.payload_limit": 64}
IV_E = {
    "rpcnic": ("dagger-objects", UPI | {"serializer.mode": "memory-affinity"}),
    "protoacc": ("dagger-objects", UPI | PROTOACC),
    "drover": ("dagger-objects", UPI),
}

WHY = {
    "latency": "the paper's bars hold its PCIe hops, which the simulated link has at 250 ns; with MMIO and single doorbells "
               "its core was 92 to 95 % busy at this load, and Poisson arrivals give 5.9 and 5.7 us here",
    "batch": "the paper's NIC waits for a batch, this one takes what a poll finds",
    "b1": "four polls under way at 430 ns each; the paper does not say how many its NIC had",
    "iv-e": "whole messages of like1 up to 12 KB, each alone; the walker of the baseline is Drover's, and reads no descriptors",
    "iv-e-rx": "the baseline here waits for a descriptor of each field, in the card's memory",
    "rtt": "0.3 us of switch are added once, as the paper adds them",
}


class Simulator:
    """`drover sim`, each setting once."""

    def __init__(self, program, out, jobs):
        self.program, self.runs = program, out / "runs"
        self.runs.mkdir(parents=True, exist_ok=True)
        self.pool = concurrent.futures.ThreadPoolExecutor(jobs)
        self.started = {}

    def start(self, system, keys, curve=0):
        """A future of the run's JSON."""
        name = "-".join([system, *(f"{key}={value}" for key, value in sorted(keys.items())), f"curve{curve}" if curve else ""])
        if name not in self.started:
            self.started[name] = self.pool.submit(self.run, name.rstrip("-").replace("/", "_"), system, keys, curve)
        return self.started[name]

    def run(self, name, system, keys, curve):
        path = self.runs / f"{name}.json"
        command = [self.program, "sim", system, "--json", path, "-j", "1"]
        if curve:
            command += ["--curve", "--points", str(curve)]
        for key, value in keys.items():
            command += ["--set", f"{key}={value}"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"drover sim {system} failed: {done.stderr.strip()}")
        print(f"  {name}", file=sys.stderr, flush=True)
        return json.loads(path.read_text())


def threads_keys(count, limit):
    return {"calls.clients": count, "calls.servers": count, **({} if limit else NO_LIMIT)}


class Measurements:
    """All runs that the figures need, under way at once."""

    def __init__(self, simulator, curves):
        every = {case: row[:2] for case, row in {**INTERFACES, **BEYOND}.items()}
        self.full = {case: simulator.start(system, keys) for case, (system, keys) in every.items()}
        self.at_4 = {case: simulator.start(system, keys | AT_4) for case, (system, keys) in every.items()}
        self.alone = {case: simulator.start(system, keys | {"calls.outstanding": 1}) for case, (system, keys) in every.items()}
        self.switch = simulator.start("dagger", BEYOND["coherent-adaptive"][1] |
                                      {"calls.outstanding": 1, "network.delay": "170ns"})
        self.threads = {(count, limit): simulator.start("dagger", threads_keys(count, limit))
                        for count in THREADS for limit in (True, False)}
        self.objects = {who: (simulator.start(system, keys), simulator.start(system, keys | {"calls.outstanding": 1}))
                        for who, (system, keys) in OBJECTS.items()} if curves else {}
        self.iv_e = {case: simulator.start(system, keys) for case, (system, keys) in IV_E.items()} if curves else {}
        self.curves = {case: simulator.start("dagger", (INTERFACES | BEYOND)[case][1], curve=10)
                       for case in ("coherent-b1", "coherent-b4", "coherent-adaptive")} if curves else {}

    def claims(self):
        """(figure, what, paper or None, unit, measured, why)"""
        full = {case: run.result()["mrps"] for case, run in self.full.items()}
        for case, (_, _, paper, _) in INTERFACES.items():
            yield "5", f"{case}: one core", paper, "Mrps", full[case], WHY["b1"] if case == "coherent-b1" else ""
        for case in BEYOND:
            yield "-", f"{case}: one core", None, "Mrps", full[case], ""
        for case in ("doorbell-b11", "doorbell-b1", "mmio"):
            paper = INTERFACES["coherent-b4"][2] / INTERFACES[case][2]
            yield "5", f"coherent-b4 over {case}", paper, "times", full["coherent-b4"] / full[case], ""
        for case, run in self.at_4.items():
            paper = INTERFACES[case][3] if case in INTERFACES else None
            why = WHY["latency"] if case in ("mmio", "doorbell-b1") else WHY["batch"] if case == "coherent-b4" else ""
            yield "5", f"{case}: median at 4 Mrps", paper, "us", run.result()["p50_us"], why
            yield "5", f"{case}: p99 at 4 Mrps", None, "us", run.result()["p99_us"], ""
        yield "6", "adaptive batch: median at 4 Mrps", None, "us", self.at_4["coherent-adaptive"].result()["p50_us"], ""
        for (count, limit), run in self.threads.items():
            paper = {1: 12.4, 4: 42, 8: 42}.get(count) if limit else None
            name = "with the endpoint's limit" if limit else "without limits of the links"
            yield "6", f"{count} threads, {name}", paper, "Mrps", run.result()["mrps"], ""
        for who, (full_load, alone) in self.objects.items():
            yield "-", f"like1, 64 B strings, codec: {who}", None, "Mrps", full_load.result()["mrps"], ""
            yield "-", "  the same, one call at a time", None, "us", alone.result()["p50_us"], ""
        if self.iv_e:
            yield from self.iv_e_claims()
        yield "T1", "round trip, coherent, adaptive", 1.8, "us", self.alone["coherent-adaptive"].result()["p50_us"], ""
        yield "T1", "the same, 0.3 us of switch", 2.1, "us", self.switch.result()["p50_us"], WHY["rtt"]

    def iv_e_claims(self):
        """RpcNIC's section IV-E, whose figures are simulated, too: of the codecs alone."""
        ratio = {case: of_codec(self.iv_e["protoacc"], "serialize_ns") / of_codec(self.iv_e[case], "serialize_ns")
                 for case in ("rpcnic", "drover")}
        yield "IV-E", "serialization, ProtoACC over RpcNIC", 2.9, "times", ratio["rpcnic"], WHY["iv-e"]
        yield "IV-E", "serialization, ProtoACC over walked objects", None, "times", ratio["drover"], ""
        one_shot = (of_codec(self.iv_e["rpcnic"], "deserialize_geometric_ns") /
                    of_codec(self.iv_e["protoacc"], "deserialize_geometric_ns"))
        yield "IV-E", "deserialization, one-shot over field by field", 1.048, "times", one_shot, WHY["iv-e-rx"]
        for case in IV_E:
            yield "IV-E", f"a call's round trip, {case}", None, "us", self.iv_e[case].result()["p50_us"], ""


def of_codec(run, name):
    """The mean of both NICs' figures."""
    return sum(engine[name] for engine in run.result()["engines"]) / 2


def write_claims(claims, out):
    lines, rows = [], []
    lines.append(f"{'figure':6} {'what':44} {'paper':>8} {'here':>8}        here/paper")
    for figure, what, paper, unit, measured, why in claims:
        ratio = f"{measured / paper:.2f}" if paper else ""
        lines.append(f"{figure:6} {what:44} {'' if paper is None else f'{paper:.2f}':>8} {measured:8.2f} {unit:6} {ratio:>6}")
        if why and paper and abs(measured / paper - 1) > 0.05:
            lines += textwrap.wrap(why, 100, initial_indent=" " * 9, subsequent_indent=" " * 9)
        rows.append({"figure": figure, "what": what, "paper": paper, "unit": unit, "here": measured, "why": why})
    text = "\n".join(lines) + "\n"
    (out / "claims.txt").write_text(text)
    (out / "claims.json").write_text(json.dumps(rows, indent=1))
    return text


def draw(out, measurements):
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(10, 4))
    cases = [*INTERFACES, *BEYOND]
    full = [measurements.full[case].result()["mrps"] for case in cases]
    left.bar(range(len(cases)), full, color="tab:blue", label="simulated")
    left.plot(range(len(INTERFACES)), [row[2] for row in INTERFACES.values()], "k_", markersize=22, label="paper")
    left.set_ylabel("million calls/s of one core")
    right.bar(range(len(cases)), [measurements.at_4[case].result()["p50_us"] for case in cases], color="tab:blue")
    right.plot(range(len(cases)), [measurements.at_4[case].result()["p99_us"] for case in cases], "r_", markersize=16,
               label="p99, simulated")
    right.plot(range(len(INTERFACES)), [row[3] for row in INTERFACES.values()], "k_", markersize=22, label="median, paper")
    right.set_ylabel("us at 4 million calls/s")
    for axes in (left, right):
        axes.set_xticks(range(len(cases)), cases, rotation=60, ha="right")
        axes.legend()
    figure.tight_layout()
    figure.savefig(out / "fig5.png", dpi=110)
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(10, 4))
    for case, run in measurements.curves.items():
        curve = run.result()
        points = [point for point in curve["points"] if point["rate_mrps"] <= curve["saturation_mrps"] * 1.02]
        line, = left.plot([p["mrps"] for p in points], [p["p50_us"] for p in points], ".-", label=case)
        left.axvline(curve["saturation_mrps"], linestyle=":", color=line.get_color())
    left.set_xlabel("million calls/s of one core")
    left.set_ylabel("median, us")
    left.set_ylim(0, 8)
    left.legend()
    for limit, name in ((True, "endpoint of 84 M lines/s"), (False, "no limit of the links")):
        right.plot(THREADS, [measurements.threads[n, limit].result()["mrps"] for n in THREADS], ".-", label=name)
    right.plot([1, 4, 8], [12.4, 42, 42], "k_", markersize=14, label="paper")
    right.set_xlabel("threads")
    right.set_ylabel("million calls/s")
    right.legend()
    figure.tight_layout()
    figure.savefig(out / "fig6.png", dpi=110)


def bench_rows(measurements):
    cases = [(case, measurements.full[case].result(), INTERFACES[case][2]) for case in INTERFACES]
    cases.append(("threads-4", measurements.threads[4, True].result(), 42))
    for case, run, paper in cases:
        yield row(f"sim-{case}", "mrps", "million/s", run["mrps"], paper)
        at_4 = measurements.at_4[case].result() if case in measurements.at_4 else run
        median = INTERFACES[case][3] if case in INTERFACES else None
        yield row(f"sim-{case}", "p50_us", "us", at_4["p50_us"], median)
        yield row(f"sim-{case}", "p99_us", "us", at_4["p99_us"], None)


def row(case, metric, unit, drover, paper):
    ratio = None if paper is None else drover / paper
    return {"case": case, "metric": metric, "unit": unit, "drover": drover, "peer": paper, "peer_name": "paper",
            "ratio": ratio}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--drover", required=True, help="the program")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("build/reproduce/dagger"))
    parser.add_argument("--bench", type=pathlib.Path, help="writes rows there, and no figures")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    measurements = Measurements(Simulator(arguments.drover, arguments.out, arguments.jobs), curves=not arguments.bench)
    if arguments.bench:
        rtl_rows, missing = dagger_rtl.rows(arguments.bench.parent)
        rows = [*bench_rows(measurements), *rtl_rows]
        old = json.loads(arguments.bench.read_text()) if arguments.bench.exists() else []
        arguments.bench.parent.mkdir(parents=True, exist_ok=True)
        arguments.bench.write_text(json.dumps(merged(old, rows), indent=2) + "\n")
        for each in rows:
            paper = "" if each["peer"] is None else f"paper {each['peer']:.2f}"
            print(f"{each['case']:18} {each['metric']:8} {each['drover']:8.2f} {each['unit']:10} {paper}")
        print("", *missing, str(arguments.bench), sep="\n")
        return
    print(write_claims(list(measurements.claims()), arguments.out), end="")
    draw(arguments.out, measurements)
    print(f"\n{arguments.out}/: claims.txt, claims.json, fig5.png, fig6.png, runs/")


if __name__ == "__main__":
    main()
