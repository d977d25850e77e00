"""What pre-serialization leaves to the CPU, beside encoding: instructions by callgrind, and nanoseconds.

    python3 bench/rtl/preserialize_cost.py build/.../preserialize_cost [--hyperprotobench DIR]

One line a bench: geometric means over its messages of the ratio to the encoder's.
"""
import collections
import math
import pathlib
import subprocess
import sys
import tempfile

REQUESTED = "desc: Trigger: Client Request: "
WAYS = ("preserialize", "offloaded", "best")


def instructions(program):
    """{message: {way: instructions}}"""
    with tempfile.TemporaryDirectory() as folder:
        out, stripped = pathlib.Path(folder) / "out", pathlib.Path(folder) / "program"
        # Valgrind 3.19 gives up on clang 19's debug information, which counting does not need.
        subprocess.run(["strip", "--strip-debug", "-o", stripped, program[0]], check=True)
        subprocess.run(["valgrind", "--tool=callgrind", "--combine-dumps=yes", f"--callgrind-out-file={out}", stripped,
                        *program[1:]], check=True, capture_output=True)
        counts, name = collections.defaultdict(dict), None
        for line in out.read_text().splitlines():
            if line.startswith("desc: Trigger: "):
                name = tuple(line.removeprefix(REQUESTED).split(" ")) if line.startswith(REQUESTED) else None
            elif line.startswith("summary: ") and name:
                counts[name[:2]][name[2]] = int(line.split()[1])
    found = collections.defaultdict(dict)
    for (message, way), times in counts.items():
        found[message][way] = times["2"] - times["1"]
    return found


def nanoseconds(program):
    found = collections.defaultdict(dict)
    # Its stderr says which engine is the best.
    for line in subprocess.run(program, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines():
        message, way, value = line.split()
        found[message][way] = float(value)
    return found


def means(found, group, way):
    ratios = [of[way] / of["encode"] for message, of in found.items() if message.startswith(group)]
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def main():
    program = sys.argv[1:]
    counted, timed = instructions(program), nanoseconds(program)
    groups = sorted({message.split(".")[0] + "." for message in counted}) + [""]
    print(f"{'of the encoder, %':18}" + "".join(f"{way + ', ' + what:>28}" for what in ("instructions", "time") for way in WAYS))
    for group in groups:
        values = [100 * means(found, group, way) for found in (counted, timed) for way in WAYS]
        print(f"{group.rstrip('.') or 'all':18}" + "".join(f"{value:28.1f}" for value in values))


if __name__ == "__main__":
    main()
