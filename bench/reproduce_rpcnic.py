"""RpcNIC's figures, reproduced on the simulated systems: what `make reproduce-rpcnic` runs (docs/sim.md).

Runs `drover sim` for each system and setting that a figure needs, every message by itself unless a figure is of
throughput, and compares what the paper says with what was measured. In these systems the RTL is simulated cycle by
cycle and every message is compared with the software codec; the host's CPU costs what the system files state.

Writes claims.txt (each claim beside the measurement), claims.json, a chart a figure (fig2.png ...), and the runs'
own JSON under runs/. A figure whose systems are not there is named as absent.
"""

import argparse
import collections
import concurrent.futures
import json
import math
import pathlib
import statistics
import subprocess
import sys
import textwrap
import time

LATENCIES = ["70ns", "180ns", "400ns", "800ns", "1250ns"]
SMALL_FIELDS = 1024  # bytes of a message's mean field; the paper's "small-sized fields" are below

Claim = collections.namedtuple("Claim", "figure what paper measured unit")  # paper: None where it gives no figure


class Absent(Exception):
    """What a figure needs is not there; the text says what."""


def geomean(values):
    values = [value for value in values if value > 0]
    return statistics.geometric_mean(values) if values else math.nan


class Simulator:
    """`drover sim`, each setting once."""

    def __init__(self, program, workload, out, jobs):
        self.program, self.workload, self.runs = program, workload, out / "runs"
        self.pool = concurrent.futures.ThreadPoolExecutor(jobs)
        self.started, self.ended, self.began = {}, 0, time.monotonic()
        self.runs.mkdir(parents=True, exist_ok=True)
        listed = subprocess.run([program, "sim", "--list"], capture_output=True, text=True, check=True).stdout
        self.systems = [line.split()[0] for line in listed.split("\nkeys")[0].splitlines()[1:] if line.strip()]

    def start(self, system, **settings):
        """A future of the run's JSON. `settings` are keys with __ for the dot; `message`: only the one of that name."""
        keys = tuple(sorted((key.replace("__", "."), value) for key, value in settings.items()))
        if (system, keys) not in self.started:
            if system not in self.systems:
                raise Absent(f"there is no system {system}")
            self.started[system, keys] = self.pool.submit(self.run, system, keys)
        return self.started[system, keys]

    def run(self, system, keys):
        name = "-".join([system, *(f"{key}={value}" for key, value in keys)]).replace("/", "_")
        path = self.runs / f"{name}.json"
        command = [self.program, "sim", system, "--workload", self.workload, "--json", path]
        for key, value in keys:
            command += ["--messages", value] if key == "message" else ["--set", f"{key}={value}"]
        done = subprocess.run(command, capture_output=True, text=True)
        self.ended += 1
        print(f"  {time.monotonic() - self.began:5.0f} s: {self.ended} of {len(self.started)} runs: {name}",
              file=sys.stderr, flush=True)
        if done.returncode != 0:
            raise Absent(f"drover sim {system} failed: {done.stderr.strip().splitlines()[-1:]}")
        return json.loads(path.read_text())


def times(run, leg, figure="time_ns"):
    return {message["name"]: message[leg][figure] for message in run["messages"]}


def ratios(slow, fast):
    """By message: how many times as long `slow` takes."""
    return {name: slow[name] / fast[name] for name in slow if fast[name] > 0}


def by_bench(values):
    """[(bench, geometric mean)] of {message: value}."""
    groups = collections.defaultdict(list)
    for name, value in values.items():
        groups[name.split(".")[0]].append(value)
    return [(bench, geomean(group)) for bench, group in sorted(groups.items())]


# ---- the figures: each takes the simulator, gives (claims, a function that draws) and may raise Absent

def figure2(sim):
    """Serialization of pointer-chasing hardware against the link's latency."""
    runs = [sim.start("protoacc-pcie", link__latency=latency) for latency in LATENCIES]
    curves = collections.defaultdict(list)
    for run in runs:
        for name, value in times(run.result(), "send").items():
            curves[name].append(value)
    # The paper has it of bench 2, whose messages are not among the published ones.
    growth = {name: curve[-1] / curve[0] for name, curve in curves.items()}

    def draw(axes):
        for name, curve in curves.items():
            axes.plot([float(latency[:-2]) for latency in LATENCIES], [value / curve[0] for value in curve], marker="o",
                      markersize=2, linewidth=0.7, label=name)
        axes.set_xlabel("latency of the link, ns")
        axes.set_ylabel("serialization time / at 70 ns")

    return [Claim("2", "NIC-only serialization, 1250 ns over 70 ns of latency", 3.4, geomean(growth.values()), "x")], draw


def figure5(sim):
    """One-shot DMA writes against field by field: deserialization throughput of each message."""
    by_itself = sim.start("rpcnic", deserializer__one_shot="false").result()
    alone = {message["name"]: message for message in by_itself["messages"]}
    rates = {}
    for name, message in alone.items():
        repeat = max(2, min(64, 262144 // max(1, message["wire_bytes"])))
        settings = {"message": name, "run__in_flight": "32", "run__repeat": str(repeat)}
        rates[name] = (sim.start("rpcnic", **settings), sim.start("rpcnic", deserializer__one_shot="false", **settings))
    speedup = {name: one_shot.result()["receive"]["bytes_per_second"] / by_field.result()["receive"]["bytes_per_second"]
               for name, (one_shot, by_field) in rates.items()}
    field_bytes = {name: message["receive"]["dma_written_bytes"] / max(1, message["receive"]["dma_writes"])
                   for name, message in alone.items()}
    small = geomean([value for name, value in speedup.items() if field_bytes[name] < SMALL_FIELDS])

    def draw(axes):
        axes.scatter([field_bytes[name] for name in speedup], list(speedup.values()), s=12)
        axes.set_xscale("log")
        axes.axhline(1, color="grey", linewidth=0.5)
        axes.set_xlabel("mean bytes of a field's write")
        axes.set_ylabel("throughput, one-shot / field by field")

    return [Claim("5", "one-shot over field by field, throughput", 2.2, geomean(speedup.values()), "x"),
            Claim("5", "the same, messages whose fields' writes are below 1 KB on average", 3.1, small, "x")], draw


def figure6(sim):
    """Host CPU of serialization: encoding on the CPU, pre-serialization, and with a copy engine."""
    cpu_only = times(sim.start("cpu-only").result(), "send", "host_cpu_ns")
    affinity = times(sim.start("rpcnic", serializer__memcpy_engine="false").result(), "send", "host_cpu_ns")
    copied = times(sim.start("rpcnic", serializer__memcpy_engine="true").result(), "send", "host_cpu_ns")
    left = ratios(affinity, cpu_only), ratios(copied, cpu_only)

    def draw(axes):
        bars(axes, [("pre-serialization", by_bench(left[0])), ("with the copy engine", by_bench(left[1]))])
        axes.set_ylabel("host CPU / CPU-only")

    return [Claim("6", "host CPU of serialization left, with the copy engine", 22, 100 * geomean(left[1].values()), "%"),
            Claim("6", "the same without the copy engine", None, 100 * geomean(left[0].values()), "%")], draw


def figure7(sim):
    """Serialization time: memory-affinity, NIC-only over PCIe, CPU-only."""
    cpu = times(sim.start("cpu-only").result(), "send")
    nic = times(sim.start("protoacc-pcie").result(), "send")
    affinity = times(sim.start("rpcnic", serializer__memcpy_engine="true").result(), "send")

    def draw(axes):
        bars(axes, [("CPU-only", by_bench(ratios(cpu, affinity))), ("ProtoACC-PCIe", by_bench(ratios(nic, affinity)))])
        axes.set_ylabel("serialization time / memory-affinity's")

    return [Claim("7", "memory-affinity over ProtoACC-PCIe", 2.3, geomean(ratios(nic, affinity).values()), "x"),
            Claim("7", "memory-affinity over CPU-only", 4.3, geomean(ratios(cpu, affinity).values()), "x")], draw


def figure8(sim):
    """The optimizations on a SmartNIC's Arm cores."""
    runs = {name: sim.start(name) for name in ("bf3", "bf3-memory-affinity", "bf3-dsa", "bf3-oneshot")}
    send = {name: times(run.result(), "send") for name, run in runs.items()}
    receive = {name: times(run.result(), "receive") for name, run in runs.items()}
    rpcnic = times(sim.start("rpcnic").result(), "receive")
    steps = [("memory-affinity", by_bench(ratios(send["bf3"], send["bf3-memory-affinity"]))),
             ("and the copy engine", by_bench(ratios(send["bf3"], send["bf3-dsa"])))]

    def draw(axes):
        bars(axes, steps)
        axes.set_ylabel("serialization: how many times as fast as BF3")

    return [Claim("8a", "BF3 with pre-serialization over BF3",
                  1.58, geomean(ratios(send["bf3"], send["bf3-memory-affinity"]).values()), "x"),
            Claim("8a", "and with the copy engine, over that",
                  1.18, geomean(ratios(send["bf3-memory-affinity"], send["bf3-dsa"]).values()), "x"),
            Claim("8b", "BF3 one-shot over BF3",
                  1.78, geomean(ratios(receive["bf3"], receive["bf3-oneshot"]).values()), "x"),
            Claim("8b", "RpcNIC over BF3 one-shot",
                  5.9, geomean(ratios(receive["bf3-oneshot"], rpcnic).values()), "x")], draw


def figure9(sim):
    """The serializers on Dagger's coherent link."""
    slow = times(sim.start("dagger-protoacc").result(), "send")
    fast = times(sim.start("dagger-rpcnic").result(), "send")

    def draw(axes):
        bars(axes, [("Dagger-ProtoACC", by_bench(ratios(slow, fast)))])
        axes.set_ylabel("serialization time / Dagger-RpcNIC's")

    return [Claim("9", "Dagger-RpcNIC over Dagger-ProtoACC", 2.9, geomean(ratios(slow, fast).values()), "x")], draw


def figure10(sim):
    """The RPC layer against an accelerator on the CPU's chip."""
    claims, series = [], []
    for clock, system, chip, paper_send in (("250 MHz", "rpcnic", "protoacc-onchip", 1.4),
                                            ("2 GHz", "rpcnic-2ghz", "protoacc-onchip-2ghz", 1.24)):
        ours, chip = sim.start(system).result(), sim.start(chip).result()
        for leg, what, paper in (("receive", "RX", 1.0), ("send", "TX", paper_send)):
            values = ratios(times(ours, leg), times(chip, leg))
            claims.append(Claim("10", f"{what} of RpcNIC over on-chip, {clock}", paper, geomean(values.values()), "x"))
            series.append((f"{what}, {clock}", by_bench(values)))

    def draw(axes):
        bars(axes, series)
        axes.set_ylabel("RpcNIC's time / on-chip's")

    return claims, draw


def own(sim):
    """Drover's own system beside rpcnic."""
    claims, series = [], []
    rpcnic, drover = sim.start("rpcnic").result(), sim.start("drover").result()
    for leg, what in (("receive", "RX"), ("send", "TX")):
        values = ratios(times(rpcnic, leg), times(drover, leg))
        claims.append(Claim("own", f"drover over rpcnic, {what} time", None, geomean(values.values()), "x"))
        series.append((what, by_bench(values)))
    cpu = ratios(times(rpcnic, "send", "host_cpu_ns"), times(drover, "send", "host_cpu_ns"))
    claims.append(Claim("own", "drover over rpcnic, host CPU of TX", None, geomean(cpu.values()), "x"))

    def draw(axes):
        bars(axes, series)
        axes.set_ylabel("rpcnic's time / drover's")

    return claims, draw


FIGURES = {"2": figure2, "5": figure5, "6": figure6, "7": figure7, "8": figure8, "9": figure9, "10": figure10,
           "own": own}


def bars(axes, series):
    """Grouped bars: [(label, [(bench, value)])]."""
    width = 0.8 / len(series)
    for i, (label, values) in enumerate(series):
        axes.bar([x + i * width for x in range(len(values))], [value for _, value in values], width, label=label)
        axes.set_xticks([x + 0.4 - width / 2 for x in range(len(values))], [bench for bench, _ in values], fontsize=7)
    axes.axhline(1, color="grey", linewidth=0.5)
    axes.legend(fontsize=7)


def save_chart(path, title, draw):
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot
    figure, axes = pyplot.subplots(figsize=(6, 3.6))
    draw(axes)
    axes.set_title(textwrap.fill(title.rstrip("."), 80), fontsize=8)
    figure.tight_layout()
    figure.savefig(path, dpi=140)
    pyplot.close(figure)


def claims_text(claims, absent):
    lines = [f"{'figure':6}  {'what':72} {'paper':>8} {'measured':>9}"]
    for claim in claims:
        paper = "-" if claim.paper is None else f"{claim.paper:g}{claim.unit}"
        lines.append(f"{claim.figure:6}  {claim.what:72} {paper:>8} {claim.measured:8.2f}{claim.unit}")
    lines += [f"{number:6}  absent: {why}" for number, why in absent]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--drover", type=pathlib.Path, required=True, help="the drover command")
    parser.add_argument("--hyperprotobench", type=pathlib.Path, help="folder with the published messages")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("build/reproduce/rpcnic"))
    parser.add_argument("--figure", action="append", choices=FIGURES, help="only this one (may be repeated)")
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    workload = f"hyperprotobench:{arguments.hyperprotobench}" if arguments.hyperprotobench else "builtin"
    sim = Simulator(arguments.drover.resolve(), workload, arguments.out, arguments.jobs)
    claims, absent = [], []
    for number in arguments.figure or FIGURES:
        figure = FIGURES[number]
        print(f"figure {number}: {figure.__doc__}", file=sys.stderr, flush=True)
        try:
            found, draw = figure(sim)
        except Absent as reason:
            absent.append((number, str(reason)))
            continue
        claims += found
        save_chart(arguments.out / f"fig{number}.png", f"RpcNIC, figure {number}: {figure.__doc__}", draw)
    text = claims_text(claims, absent)
    (arguments.out / "claims.txt").write_text(text)
    (arguments.out / "claims.json").write_text(json.dumps([claim._asdict() for claim in claims], indent=1) + "\n")
    print(f"workload {workload}; geometric means over its messages\n\n{text}\ncharts and runs in {arguments.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
