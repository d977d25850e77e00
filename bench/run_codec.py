"""The codec benchmark: Drover beside protobuf C++ and upb, in one process and run (docs/benchmarks.md).

Runs codec_bench, and codec_bench under callgrind, and writes to the output folder codec.json (rows of {case, metric,
unit, drover, peer, peer_name, ratio}), codec.txt (all tables), codec.png and codec.svg (the chart) and codec_run.json
(every measurement, and the machine). Prints the goals beside what was measured.
"""

import argparse
import json
import os
import pathlib
import platform
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "codec"))

import codec_report as report  # noqa: E402
import instructions  # noqa: E402

SETS = "hyperprotobench,builtin,packed,kinds,utf8"


def run_codec_bench(program, args, raw_path):
    """What codec_bench prints; its progress goes to the terminal. Exits if it fails."""
    command = [str(program), "--sets", args.sets, "--json", str(raw_path), "--filter", args.filter]
    if args.hyperprotobench:
        command += ["--hyperprotobench", str(args.hyperprotobench)]
    command += ["--quick"] if args.quick else ["--seconds", str(args.seconds)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"run_codec.py: {program} ended with code {done.returncode}")
    return done.stdout


def count_instructions(program, args, notes):
    """{} without counts; the notes give the reason."""
    if args.quick or args.no_instructions or "kinds" not in args.sets:
        return {}
    print("counting instructions under callgrind ...", file=sys.stderr, flush=True)
    try:
        return instructions.count(program, args.filter)
    except (instructions.CountingFailed, OSError, subprocess.SubprocessError) as error:
        notes.append(f"instructions: absent, {error}")
        return {}


def machine(run):
    cpu = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text())
    return {"cpu": cpu[1] if cpu else platform.processor(), "cores": os.cpu_count(), "kernel": platform.release(),
            "compiler": run["compiler"], "protobuf": run["protobuf"], "upb": run["upb"] or "absent",
            "utf8_peers": run["utf8_peers"], "load": os.getloadavg()[0]}


def draw(path, measurements, described, notes):
    subtitle = (f"{described['cpu']}; {described['compiler']}; protobuf {described['protobuf']}, "
                f"upb {described['upb']}")
    try:
        report.chart(path, measurements, subtitle)
    except ImportError:
        notes.append("chart: absent, since this Python has no matplotlib (`make setup` installs it in .venv)")
        return []
    return [path.name, path.with_suffix(".svg").name]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build-dir", type=pathlib.Path, required=True)
    parser.add_argument("--hyperprotobench", type=pathlib.Path, help="folder with the published messages")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("build/bench"))
    parser.add_argument("--sets", default=SETS, help=f"of {SETS}")
    parser.add_argument("--filter", default="", help="only cases whose name this regular expression finds")
    parser.add_argument("--seconds", type=float, default=0.5, help="for each message")
    parser.add_argument("--no-instructions", action="store_true", help="do not run callgrind")
    parser.add_argument("--quick", action="store_true", help="a smoke test: the figures are rough")
    args = parser.parse_args()
    program = args.build_dir / "bench/codec/codec_bench"
    if not program.exists():
        sys.exit(f"run_codec.py: there is no {program}: build it first (make build)")
    args.out.mkdir(parents=True, exist_ok=True)
    raw_path = args.out / "codec_run.json"
    tables = run_codec_bench(program, args, raw_path)
    run = json.loads(raw_path.read_text())
    measurements = report.Measurements(run["measurements"])
    notes = []
    counts = count_instructions(program, args, notes)
    rows = report.all_rows(measurements, counts)
    run["machine"] = machine(run)
    written = ["codec.json", "codec.txt", raw_path.name] + draw(args.out / "codec.png", measurements, run["machine"],
                                                                 notes)
    raw_path.write_text(json.dumps(run, indent=1))
    (args.out / "codec.json").write_text(json.dumps(rows, indent=1) + "\n")
    if counts:
        tables += "\n" + instructions.table(counts) + "\n"
    tables += "\n" + "\n".join(report.goal_lines(rows) + notes) + "\n"
    (args.out / "codec.txt").write_text(tables)
    print(tables)
    print(f"in {args.out}: {', '.join(written)}")


if __name__ == "__main__":
    main()
