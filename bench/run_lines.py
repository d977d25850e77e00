#!/usr/bin/env python3
"""Runs lines_bench or udp_lines_bench and puts its rows into build/bench/dagger.json, beside those of other cases (docs/benchmarks.md).

    bench/run_lines.py --program build/release/bench/lines_bench [--json build/bench/dagger.json] [-- OPTIONS]

OPTIONS go to the program. Rows of cases that this run has replace earlier ones.
"""

import argparse
import json
import pathlib
import subprocess
import sys


def merged(old, new):
    """The old rows but those of the new ones' cases, then the new ones."""
    cases = {row["case"] for row in new}
    return [row for row in old if row["case"] not in cases] + new


def main():
    parser = argparse.ArgumentParser(description="RPC lines through droverd, beside the bare ring or bare UDP.")
    parser.add_argument("--program", type=pathlib.Path, required=True)
    parser.add_argument("--json", type=pathlib.Path, default=pathlib.Path("build/bench/dagger.json"))
    parser.add_argument("options", nargs="*")
    options = parser.parse_args()
    run = subprocess.run([options.program, "--json", "-", *options.options], stdout=subprocess.PIPE, text=True)
    if run.returncode != 0:
        sys.exit(run.returncode)
    old = json.loads(options.json.read_text()) if options.json.exists() else []
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(merged(old, json.loads(run.stdout)), indent=2) + "\n")
    print(options.json)


if __name__ == "__main__":
    main()
