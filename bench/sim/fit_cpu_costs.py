"""Fits the CPU's costs that `drover sim` states (sim/platform/stated_costs.h) to what cpu_costs measures: `make fit-cpu-costs`.

    ns = message + object * objects + scalar * scalars + string * strings + byte * bytes (+ untouched * strings that
         are not read: pre-serialization with a copy engine, or with references)

Least squares of relative errors, no coefficient below zero, over the workload's messages whole and with their strings
cut to 64 bytes. Prints a row a codec, job and state of the caches, as the header has it, with the fit's error (root
mean square and worst, %), and how long the jobs take beside each other. --measured takes an earlier run's JSON.
"""

import argparse
import itertools
import json
import pathlib
import statistics
import subprocess
import sys

import numpy

FEATURES = ("message", "object", "scalar", "string", "byte", "untouched")
CODECS = ("drover", "protobuf", "protobuf-arena")
PUSHED = 4096  # bytes of the largest object that is asked for
STREAMS = ("preserialize", "preserialize-offloaded", "preserialize-references")


def work(sample, job):
    """The sample's amounts of each feature in this job."""
    strings, size, untouched = sample["strings"], sample["string_bytes"], 0
    if job in STREAMS[1:]:
        untouched = sample["payload_strings"]
        strings, size = strings - untouched, size - sample["payload_bytes"]
    return [1, sample["objects"], sample["scalars"], strings, size, untouched]


def rows(samples, codec, jobs, caches):
    """[(amounts, ns)]"""
    return [(work(sample, job), sample["ns"][f"{codec} {job} {caches}"]) for sample in samples for job in jobs]


def fit(measured):
    """Coefficients, none below zero, that make the sum of squared relative errors least: every subset is tried."""
    amounts = numpy.array([row[0] for row in measured], dtype=float)
    ns = numpy.array([row[1] for row in measured])
    relative = amounts / ns[:, None]
    best = None
    used = [i for i in range(len(FEATURES)) if amounts[:, i].any()]
    for count in range(1, len(used) + 1):
        for subset in itertools.combinations(used, count):
            solution = numpy.linalg.lstsq(relative[:, subset], numpy.ones(len(ns)), rcond=None)[0]
            if (solution < 0).any():
                continue
            whole = numpy.zeros(len(FEATURES))
            whole[list(subset)] = solution
            error = relative @ whole - 1
            if best is None or error @ error < best[1] @ best[1]:
                best = whole, error
    return best


def rms(values):
    return 100 * float(numpy.sqrt(numpy.mean(numpy.square(values))))


def initialiser(values):
    return "{" + ", ".join(f"{value:.3g}" for value in values) + "}"


def print_fits(samples):
    print(f"{'codec':15} {'job':13} {'caches':6} {', '.join(FEATURES):52} {'rms %':>6} {'worst %':>8}")
    for caches, codec in itertools.product(("warm", "cold"), CODECS):
        for job, jobs in (("decode", ["decode"]), ("encode", ["encode"]), ("preserialize", STREAMS)):
            if job == "preserialize" and codec != "drover":
                continue  # protobuf has none
            values, error = fit(rows(samples, codec, jobs, caches))
            print(f"{codec:15} {job:13} {caches:6} {initialiser(values):52} {rms(error):6.1f} "
                  f"{100 * max(abs(error)):8.0f}")


def print_push(samples):
    """A line of an object that the CPU stores into the card as it lies."""
    for caches in ("warm", "cold"):
        small = [sample for sample in samples if sample["object_bytes"] <= PUSHED]
        measured = [([1, -(-sample["object_bytes"] // 64)] + [0] * 4, sample["ns"][f"drover push {caches}"])
                    for sample in small]
        values, error = fit(measured)
        print(f"push, {caches}: {values[0]:.3g} ns and {values[1]:.3g} ns a 64-byte line; {len(small)} objects, "
              f"rms {rms(error):.1f} %, worst {100 * max(abs(error)):.0f} %")
    # What cold adds to a line, weighted as the fits are.
    amounts = [(-(-sample["object_bytes"] // 64), sample["ns"]["drover push cold"], sample["ns"]["drover push warm"])
               for sample in small]
    more = sum((cold - warm) * lines / cold**2 for lines, cold, warm in amounts)
    print(f"push, a line more when cold: {more / sum((lines / cold)**2 for lines, cold, _ in amounts):.2g} ns")


def print_ratios(samples):
    """Geometric means over the samples of each way's time, of protobuf's encoder's with the same caches."""
    ways = list(samples[0]["ns"])
    for what, chosen in (("whole", [s for s in samples if not s["name"].endswith(" cut")]),
                         ("strings cut to 64 B", [s for s in samples if s["name"].endswith(" cut")])):
        print(f"\n{what}: mean ns; of protobuf's encoder with the same caches, %, geometric mean")
        for way in ways:
            own = [sample["ns"][way] for sample in chosen]
            peer = [sample["ns"][f"protobuf encode {way.split()[-1]}"] for sample in chosen]
            ratio = statistics.geometric_mean(a / b for a, b in zip(own, peer))
            print(f"  {way:40} {statistics.mean(own):10.0f} {100 * ratio:8.0f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=pathlib.Path, help="cpu_costs, to be run")
    parser.add_argument("--measured", type=pathlib.Path, help="instead: what it wrote")
    parser.add_argument("--hyperprotobench", help="folder with the published messages")
    parser.add_argument("--rounds", type=int, default=400)
    parser.add_argument("--evict", default="flush")
    parser.add_argument("--out", type=pathlib.Path, help="keeps what was measured")
    arguments = parser.parse_args()
    if arguments.measured:
        text = arguments.measured.read_text()
    else:
        command = [arguments.program, "--rounds", str(arguments.rounds), "--evict", arguments.evict]
        if arguments.hyperprotobench:
            command += ["--hyperprotobench", arguments.hyperprotobench]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode != 0:
            return done.returncode
        text = done.stdout
    if arguments.out:
        arguments.out.parent.mkdir(parents=True, exist_ok=True)
        arguments.out.write_text(text)
    run = json.loads(text)
    print(f"{run['machine']}, {run['rounds']} rounds, cold by {run['evict']}, {len(run['samples'])} samples\n")
    print_fits(run["samples"])
    print_push(run["samples"])
    print_ratios(run["samples"])
    return 0


if __name__ == "__main__":
    sys.exit(main())
