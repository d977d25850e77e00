"""Instructions for one field of each kind, by callgrind.

codec_bench decodes and encodes messages of N and of 2N fields of one kind; the difference, over N, is one field's cost
without what a message costs. Counts do not depend on what else the machine does. Valgrind knows AVX2 but not AVX-512:
what chooses its code at run time is counted on its AVX2 path.
"""

import argparse
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

METRICS = ["decode_copy", "decode_alias", "encode_pieces", "encode_contiguous"]
# What each column of the table compares: implementation and metric.
COLUMNS = [("drover", "decode_copy"), ("protobuf", "decode_copy"), ("upb", "decode_copy"),
           ("drover", "decode_alias"), ("upb", "decode_alias"),
           ("drover", "encode_pieces"), ("drover", "encode_contiguous"),
           ("protobuf", "encode_contiguous"), ("upb", "encode_contiguous")]


class CountingFailed(Exception):
    """There are no counts; the message says why."""


def parse_dumps(text):
    """{(message, implementation, metric): instructions} of callgrind's combined dumps."""
    counts, name = {}, None
    for line in text.splitlines():
        if line.startswith("desc: Trigger: Client Request: "):
            name = tuple(line.removeprefix("desc: Trigger: Client Request: ").split(" "))
        elif line.startswith("summary: ") and name is not None:
            counts[name] = int(line.split()[1])
            name = None
    return counts


def per_field(counts):
    """{kind: {(implementation, metric): instructions for one field}}, kinds in the order of the counts."""
    kinds = {}
    for (message, implementation, metric), instructions in counts.items():
        match = re.fullmatch(r"kind\.(\w+)\.(\d+)", message)
        if match:
            sizes = kinds.setdefault(match[1], {}).setdefault((implementation, metric), {})
            sizes[int(match[2])] = instructions
    return {kind: {key: (sizes[max(sizes)] - sizes[min(sizes)]) / min(sizes) for key, sizes in columns.items()}
            for kind, columns in kinds.items()}


def count(codec_bench, filter_regex=""):
    """Runs codec_bench under callgrind; per_field() of what it counted."""
    if shutil.which("valgrind") is None:
        raise CountingFailed("valgrind is not installed")
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "callgrind.out"
        # Valgrind 3.19 gives up on clang 19's debug information, which counting does not need.
        stripped = pathlib.Path(folder) / "codec_bench"
        subprocess.run(["strip", "--strip-debug", "-o", stripped, codec_bench], check=True)
        command = ["valgrind", "--tool=callgrind", "--combine-dumps=yes", f"--callgrind-out-file={out}",
                   str(stripped), "--instructions", "--sets", "kinds", "--filter", filter_regex]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise CountingFailed(f"valgrind ended with code {done.returncode}:\n{done.stderr[-2000:]}")
        counts = per_field(parse_dumps(out.read_text()))
    if not counts:
        raise CountingFailed("callgrind dumped no counts")
    return counts


def table(counts):
    lines = ["instructions for one field: (of 2N fields - of N) / N",
             f"{'':24}" + "".join(f" {metric.replace('encode_', 'enc_').replace('decode_', 'dec_'):>14}"
                                  for _, metric in COLUMNS),
             f"{'kind':24}" + "".join(f" {implementation:>14}" for implementation, _ in COLUMNS)]
    for kind, columns in counts.items():
        cells = (f"{columns[column]:14.1f}" if column in columns else f"{'-':>14}" for column in COLUMNS)
        lines.append(f"{kind:24} " + " ".join(cells))
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("codec_bench", type=pathlib.Path, help="the program, as built")
    parser.add_argument("--filter", default="", help="only kinds whose message name (kind.bool.7) this regex finds")
    parser.add_argument("--json", type=pathlib.Path, help="write the counts to this file")
    args = parser.parse_args()
    try:
        counts = count(args.codec_bench, args.filter)
    except CountingFailed as error:
        sys.exit(f"instructions.py: {error}")
    print(table(counts))
    if args.json:
        args.json.write_text(json.dumps([{"kind": kind, "implementation": implementation, "metric": metric,
                                          "instructions": value}
                                         for kind, columns in counts.items()
                                         for (implementation, metric), value in columns.items()], indent=1))


if __name__ == "__main__":
    main()
