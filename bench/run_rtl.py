"""The RTL benchmark: cycles of the engines in simulation and their area by yosys, beside the goals and the peer.

Runs every build/.../bench/rtl/*_rows (each prints its rows as JSON) and tools/synth_rtl.py, and writes to the output
folder rtl.json: rows of {case, metric, drover, peer, peer_name, ratio, goal}. The peer is RpcNIC's own RTL, simulated.
ratio says how many times better Drover is. Prints the goals beside what was measured; exits with 1 if one is missed. A
row without a goal has null there; a goal of 0 (the share left to software) is a goal.
"""
import argparse
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
HIGHER_IS_BETTER = ("bytes_per_cycle",)
# case of the area rows: block of tools/synth_rtl.py, peer's LUT and FF, goals
AREAS = {
    "area-deserializer": ("deserializer-lane", {"lut": (28600, 24000), "ff": (9400, 10000), "bram": (None, None)}),
    "area-serializer": ("serializer", {"lut": (29300, 25000), "ff": (12700, 10000), "bram": (117, 50)}),
}


def rows_of(program, hyperprotobench):
    command = [str(program)]
    if hyperprotobench:
        command += ["--hyperprotobench", str(hyperprotobench)]
    print(f"{program.name} ...", file=sys.stderr, flush=True)
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"run_rtl.py: {program} ended with code {done.returncode}")
    for row in json.loads(done.stdout):
        yield row["case"], row["metric"], row["value"], row["peer"], row["goal"]


def area_rows(packages, out):
    path = out / "rtl_area.json"
    print("yosys (some minutes) ...", file=sys.stderr, flush=True)
    command = [sys.executable, str(ROOT / "tools/synth_rtl.py"), "--packages", *packages, "--json", str(path)]
    for block, _ in AREAS.values():
        command += ["--block", block]
    done = subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
    if done.returncode != 0:
        sys.exit("run_rtl.py: tools/synth_rtl.py failed; tools/setup.sh installs pyosys")
    areas = json.loads(path.read_text(encoding="utf-8"))
    for case, (block, metrics) in AREAS.items():
        for metric, (peer, goal) in metrics.items():
            if block in areas:
                yield case, metric, areas[block][metric], peer, goal


def describe(case, metric, drover, peer, goal):
    better = drover / peer if peer and metric in HIGHER_IS_BETTER else peer / drover if peer and drover else None
    return {"case": case, "metric": metric, "drover": drover, "peer": peer, "peer_name": "RpcNIC RTL",
            "ratio": round(better, 3) if better else None, "goal": goal}


def met(row):
    if row["goal"] is None:
        return True
    return row["drover"] >= row["goal"] if row["metric"] in HIGHER_IS_BETTER else row["drover"] <= row["goal"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build-dir", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build/bench")
    parser.add_argument("--hyperprotobench", type=pathlib.Path)
    parser.add_argument("--no-area", action="store_true", help="leave yosys out")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    programs = sorted((arguments.build_dir / "bench/rtl").glob("*_rows"))
    if not programs:
        sys.exit("run_rtl.py: no bench/rtl/*_rows was built; is verilator installed (tools/setup.sh)?")
    rows = [describe(*row) for program in programs for row in rows_of(program, arguments.hyperprotobench)]
    if not arguments.no_area:
        rows += [describe(*row) for row in area_rows(sorted(map(str, (arguments.build_dir / "formats/sv").glob("*.sv"))), arguments.out)]
    (arguments.out / "rtl.json").write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    print(f"{'case':<38}{'metric':<16}{'Drover':>10}{'peer':>10}{'goal':>10}")
    for row in rows:
        cells = ["" if row[k] is None else f"{row[k]:.6g}" for k in ("drover", "peer", "goal")]
        print(f"{row['case']:<38}{row['metric']:<16}{cells[0]:>10}{cells[1]:>10}{cells[2]:>10}"
              f"{'' if met(row) else '  missed'}")
    return 0 if all(met(row) for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
