"""Instructions for one field of each kind, by callgrind.

codec_bench does each operation once and twice: the second time is what it costs. It does so on messages of N and of 2N
fields of one kind; the difference, over N, is one field's cost without what a message costs. Counts do not depend on what else the machine does. Valgrind knows AVX2 but not AVX-512:
what chooses its code at run time is counted on its AVX2 path.
"""

import argparse
import collections
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

# The columns of the table: implementation and metric.
COLUMNS = [("drover", "decode_copy"), ("protobuf", "decode_copy"), ("upb", "decode_copy"),
           ("drover", "decode_alias"), ("upb", "decode_alias"),
           ("drover", "encode_pieces"), ("drover", "encode_contiguous"),
           ("protobuf", "encode_contiguous"), ("upb", "encode_contiguous")]


# The kind that also gives the cost of a message.
KIND_OF_MESSAGE = "varint_1byte"
REQUESTED = "desc: Trigger: Client Request: "  # before the name of a dump


class CountingFailed(Exception):
    """There are no counts; the message says why."""


# instructions in all, and {function: instructions in itself}
Dump = collections.namedtuple("Dump", "instructions functions")


def parse_dumps(text):
    """{(message, implementation, metric): Dump of doing it once} of callgrind's combined dumps."""
    dumps, names, costs, function, is_call = {}, {}, collections.Counter(), None, False
    for line in text.splitlines():
        if line.startswith("desc: Trigger: "):
            asked = line.startswith(REQUESTED)  # or the program has ended, which is dumped too
            costs = collections.Counter()
            *name, times = line.removeprefix(REQUESTED).split(" ")
        elif line.startswith("summary: ") and asked:
            dumps.setdefault(tuple(name), {})[times] = Dump(int(line.split()[1]), costs)
        elif match := re.match(r"(c?)fn=\((\d+)\)(?: (.*))?$", line):
            if match[3]:
                names[match[2]] = re.sub(r"'\d+$", "", match[3])  # 'N: callgrind's mark of recursion
            function = function if match[1] else names[match[2]]
        elif line.startswith("calls="):
            is_call = True  # the next line is what the called function cost
        elif line[:1].isdigit() or line[:1] in "+-*":
            if not is_call:
                cost = line.split()[1:] or ["0"]  # a cost of 0 is left out
                costs[function] += int(cost[0])
            is_call = False
    return {name: once_of(done["1"], done["2"]) for name, done in dumps.items()}


def once_of(once, twice):
    """The cost of the second time."""
    functions = {function: cost - once.functions[function] for function, cost in twice.functions.items()}
    return Dump(twice.instructions - once.instructions, {name: cost for name, cost in functions.items() if cost})


def per_field(dumps):
    """{kind: {(implementation, metric): instructions for one field}}, kinds in the order of the dumps.

    The kind "message" is what is left of a message without fields.
    """
    kinds = {}
    for (message, implementation, metric), dump in dumps.items():
        match = re.fullmatch(r"kind\.(\w+)\.(\d+)", message)
        if match:
            sizes = kinds.setdefault(match[1], {}).setdefault((implementation, metric), {})
            sizes[int(match[2])] = dump.instructions
    counts = {"message": {key: 2 * sizes[min(sizes)] - sizes[max(sizes)]
                          for key, sizes in kinds.get(KIND_OF_MESSAGE, {}).items()}}
    for kind, columns in kinds.items():
        counts[kind] = {key: (sizes[max(sizes)] - sizes[min(sizes)]) / min(sizes) for key, sizes in columns.items()}
    return counts


def run_callgrind(codec_bench, options):
    """parse_dumps() of codec_bench --instructions with these options."""
    if shutil.which("valgrind") is None:
        raise CountingFailed("valgrind is not installed")
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "callgrind.out"
        # Valgrind 3.19 cannot read clang 19's debug information, which counting does not need.
        stripped = pathlib.Path(folder) / "codec_bench"
        subprocess.run(["strip", "--strip-debug", "-o", stripped, codec_bench], check=True)
        command = ["valgrind", "--tool=callgrind", "--combine-dumps=yes", f"--callgrind-out-file={out}",
                   str(stripped), "--instructions", *options]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise CountingFailed(f"valgrind ended with code {done.returncode}:\n{done.stderr[-2000:]}")
        dumps = parse_dumps(out.read_text())
    if not dumps:
        raise CountingFailed("callgrind dumped no counts")
    return dumps


def count(codec_bench, filter_regex=""):
    return per_field(run_callgrind(codec_bench, ["--sets", "kinds", "--filter", filter_regex]))


def function_table(dumps, implementation, metric, rows=30):
    """Where an implementation's instructions go: functions, over all messages together."""
    totals, messages = {}, 0
    for (_, its_implementation, its_metric), dump in dumps.items():
        if (its_implementation, its_metric) == (implementation, metric):
            messages += 1
            for function, instructions in dump.functions.items():
                totals[function] = totals.get(function, 0) + instructions
    everything = sum(totals.values())
    lines = [f"{implementation} {metric}, {messages} messages, {everything:,} instructions"]
    for function, instructions in sorted(totals.items(), key=lambda item: -item[1])[:rows]:
        lines.append(f"{instructions:10,} {instructions / everything:6.1%}  {function[:140]}")
    return "\n".join(lines)


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
    parser.add_argument("--filter", default="", help="only messages whose name (kind.bool.7) this regex finds")
    parser.add_argument("--functions", metavar="IMPLEMENTATION.METRIC",
                        help="instead: the functions in which messages of --sets spend them; drover.decode_copy")
    parser.add_argument("--sets", default="builtin", help="for --functions; as codec_bench's")
    parser.add_argument("--hyperprotobench", type=pathlib.Path, help="for --functions --sets hyperprotobench")
    args = parser.parse_args()
    try:
        if not args.functions:
            print(table(count(args.codec_bench, args.filter)))
            return
        options = ["--sets", args.sets, "--filter", args.filter]
        if args.hyperprotobench:
            options += ["--hyperprotobench", str(args.hyperprotobench)]
        print(function_table(run_callgrind(args.codec_bench, options), *args.functions.split(".")))
    except CountingFailed as error:
        sys.exit(f"instructions.py: {error}")


if __name__ == "__main__":
    main()
