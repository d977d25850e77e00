"""RpcNIC's figures, reproduced on the simulated systems: what `make reproduce-rpcnic` runs (docs/sim.md).

Runs `drover sim` for each system and setting that a figure needs (bench/rpcnic_figures.py), every message by itself
unless a figure is of throughput, and compares what the paper says with what was measured. In these systems the RTL is
simulated cycle by cycle and every message is compared with the software codec; the host's CPU costs what
sim/platform/stated_costs.cc states for protobuf C++ (CPU-only, BF3's cores) and Drover (pre-serialization), with warm and with
cold caches.

Writes claims.txt (each claim beside the measurement, and why it differs), claims.json, a chart a figure (fig2.png ...),
and the runs' own JSON under runs/. A figure whose systems are not there is named as absent.
"""

import argparse
import concurrent.futures
import json
import pathlib
import subprocess
import sys
import textwrap
import time

from rpcnic_figures import FIGURES, Absent, Claim

# Table IV: our block in what tools/synth_rtl.py writes, and the paper's LUT (K), FF (K), BRAM.
AREAS = {"serializer": (30, 11, 55), "deserializer-lane": (15, 7.8, 6)}

# Systems independent of the CPU's caches: the CPU has no part in them.
NO_CPU = ("protoacc", "dagger-protoacc")


class Simulator:
    """`drover sim`, each setting once."""

    def __init__(self, program, workload, cut, out, jobs):
        self.program, self.runs = program, out / "runs"
        self.workload = ["--workload", workload] + (["--cut", str(cut)] if cut else [])
        self.pool = concurrent.futures.ThreadPoolExecutor(jobs)
        self.started, self.ended, self.began = {}, 0, time.monotonic()
        self.runs.mkdir(parents=True, exist_ok=True)
        listed = subprocess.run([program, "sim", "--list"], capture_output=True, text=True, check=True).stdout
        self.systems = [line.split()[0] for line in listed.split("\nkeys")[0].splitlines()[1:] if line.strip()]

    def start(self, system, caches="warm", **settings):
        """A future of the run's JSON. `settings` are keys with __ for the dot; `message`: only the one of that name."""
        if caches != "warm" and not system.startswith(NO_CPU):
            settings["cpu__caches"] = caches
        keys = tuple(sorted((key.replace("__", "."), value) for key, value in settings.items()))
        if (system, keys) not in self.started:
            if system not in self.systems:
                raise Absent(f"there is no system {system}")
            self.started[system, keys] = self.pool.submit(self.run, system, keys)
        return self.started[system, keys]

    def run(self, system, keys):
        name = "-".join([system, *(f"{key}={value}" for key, value in keys)]).replace("/", "_")
        path = self.runs / f"{name}.json"
        command = [self.program, "sim", system, *self.workload, "--json", path]
        for key, value in keys:
            command += ["--messages", value] if key == "message" else ["--set", f"{key}={value}"]
        done = subprocess.run(command, capture_output=True, text=True)
        self.ended += 1
        if self.ended % 20 == 0 or len(self.started) - self.ended < 3:
            print(f"  {time.monotonic() - self.began:5.0f} s: {self.ended} of {len(self.started)} runs: {name}",
                  file=sys.stderr, flush=True)
        if done.returncode != 0:
            raise Absent(f"drover sim {system} failed: {done.stderr.strip().splitlines()[-1:]}")
        return json.loads(path.read_text())


def table4(path):
    """Area beside the paper's table IV, where `make bench-rtl` has left it."""
    if not path.is_file():
        raise Absent(f"there is no {path}; `make bench-rtl` writes it")
    areas = json.loads(path.read_text())
    claims = []
    for block, paper in AREAS.items():
        for metric, unit, value in zip(("lut", "ff", "bram"), ("K", "K", ""), paper):
            if block in areas:
                measured = areas[block][metric] / (1000 if unit else 1)
                claims.append(Claim("IV", f"{block}: {metric.upper()}", value, unit, measured, None,
                                    "by yosys, not placed" if metric == "lut" else ""))
    return claims


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
    lines = [f"{'figure':6}  {'what':76} {'paper':>7} {'warm':>9} {'cold':>9}  why it differs"]
    for claim in claims:
        paper = "-" if claim.paper is None else f"{claim.paper:g}{claim.unit}"
        cold = "" if claim.cold is None else f"{claim.cold:.2f}{claim.unit}"
        why = textwrap.wrap(claim.why, 60) or [""]
        head = f"{claim.figure:6}  {claim.what:76} {paper:>7} {f'{claim.warm:.2f}{claim.unit}':>9} {cold:>9}"
        lines.append(f"{head}  {why[0]}".rstrip())
        lines += [" " * (len(head) + 2) + line for line in why[1:]]
    lines += [f"{number:6}  absent: {why}" for number, why in absent]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--drover", type=pathlib.Path, required=True, help="the drover command")
    parser.add_argument("--hyperprotobench", type=pathlib.Path, help="folder with the published messages")
    parser.add_argument("--cut", type=int, help="cuts strings to so many bytes: what is left is fields")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("build/reproduce/rpcnic"))
    parser.add_argument("--areas", type=pathlib.Path, default=pathlib.Path("build/bench/rtl_area.json"),
                        help="what tools/synth_rtl.py --json wrote")
    parser.add_argument("--figure", action="append", choices=[*FIGURES, "IV"], help="only this one (may be repeated)")
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    workload = f"hyperprotobench:{arguments.hyperprotobench}" if arguments.hyperprotobench else "builtin"
    sim = Simulator(arguments.drover.resolve(), workload, arguments.cut, arguments.out, arguments.jobs)
    claims, absent = [], []
    for number in arguments.figure or [*FIGURES, "IV"]:
        if number == "IV":
            try:
                claims += table4(arguments.areas)
            except Absent as reason:
                absent.append((number, str(reason)))
            continue
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
    cut = f", strings cut to {arguments.cut} bytes" if arguments.cut else ""
    print(f"workload {workload}{cut}; geometric means over its messages; warm, cold: the caches of the host's CPU and "
          f"of BF3's cores\n\n{text}\ncharts and runs in {arguments.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
