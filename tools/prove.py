"""Proves the RTL's properties (rtl/formal) and sees that each proof can fail: a line for each, with its CPU seconds.

    .venv/bin/python tools/prove.py [--jobs N] [--block NAME ...] [--out DIR]

yosys (pyosys) makes an and-inverter graph of a block with its properties; the ABC that comes with it proves:

    pdr        property directed reachability: for all time (an invariant that ABC finds, and verifies when found)
    bounded n  no counterexample in the first n cycles after power-up (bmc3), and no more than that

A mutant is a copy of the block with one line changed, for which a property must fail; one that lives fails the run, as
does one whose line is no longer there. A counterexample is written as a VCD beside the block's log. Ends with 1 if
anything failed.
"""
import argparse
import concurrent.futures
import os
import re
import subprocess
import sys
import threading

from prove_list import PROOFS

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
YOSYS = "import sys; from pyosys import libyosys as ys; ys.run_pass('script ' + sys.argv[1])"
MUTANT_CYCLES = 40  # within which a mutant has to fail
SECONDS = 300  # of CPU, for each step of a proof


class Failed(Exception):
    """What went wrong, in a line."""


cpu = threading.local()  # seconds of the processes that this thread has run


def run(command, log, folder):
    """What the command printed. It gets SECONDS of CPU."""
    with open(f"{folder}/{log}", "w", encoding="utf-8") as out:
        process = subprocess.Popen(["prlimit", f"--cpu={SECONDS}", *command], stdout=out, stderr=subprocess.STDOUT, cwd=folder)
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    cpu.seconds += usage.ru_utime + usage.ru_stime
    if process.returncode != 0:
        raise Failed(f"{os.path.basename(command[0])} ended with {process.returncode}: {folder}/{log}")
    with open(f"{folder}/{log}", encoding="utf-8", errors="replace") as out:
        return out.read()


def yosys(script, name, folder):
    with open(f"{folder}/{name}.ys", "w", encoding="utf-8") as file:
        file.write("\n".join(script) + "\n")
    return run([sys.executable, "-c", YOSYS, f"{name}.ys"], f"{name}.log", folder)


def abc(commands, name, folder):
    import pyosys
    return run([f"{os.path.dirname(pyosys.__file__)}/yosys-abc", "-c", "; ".join(commands)], f"{name}.log", folder)


def sources(names, mutant, folder):
    """The files' paths; instead of the mutant's file, that of a changed copy. Generated packages are beside the folder."""
    paths = []
    for name in names:
        paths.append(f"{os.path.dirname(folder)}/formats/{name}" if name.startswith("sv/") else f"{ROOT}/rtl/{name}")
        if mutant and name == mutant.file:
            with open(paths[-1], encoding="utf-8") as file:
                text = file.read()
            if text.count(mutant.old) != 1:
                raise Failed(f"rtl/{name} has {text.count(mutant.old)} places of `{mutant.old}`")
            paths[-1] = f"{folder}/{os.path.basename(name)}"
            with open(paths[-1], "w", encoding="utf-8") as file:
                file.write(text.replace(mutant.old, mutant.new))
    return " ".join(paths)


def make_graph(proof, mutant, folder):
    """Writes graph.aig. What nothing drives is free, as an input is: a proof is one for each value of it. So is what a
    register without a reset holds at power-up. One with a reset begins at zero: the first cycle is one of reset. What a
    memory would write while nothing is written is not made free (-mux_undef), which keeps the graph small."""
    with open(f"{ROOT}/rtl/{proof.files[-1]}", encoding="utf-8") as file:
        if "`DROVER_ASSUME_RESET_FIRST\n" not in file.read():
            raise Failed(f"rtl/{proof.files[-1]} does not begin with a reset")
    sets = " ".join(f"-set {name} {value}" for name, value in proof.parameters.items())
    read = f"read_verilog -sv -I{ROOT}/rtl/common"
    yosys([
        f"{read} -formal {sources(proof.files, mutant, folder)}",
        *([f"chparam {sets} {proof.top}"] if sets else []),
        f"hierarchy -check -top {proof.top}",
        "proc", "flatten", "opt_expr -mux_undef", "opt_clean", "setundef -undriven -anyseq",
        "opt -keepdc", "memory_nordff", "zinit -all t:$adff t:$adffe", "async2sync", "chformal -lower", "memory_map",
        "opt -full", "opt_clean -purge", "simplemap t:$dff t:$dffe t:$sdff t:$sdffe", "opt",
        "setundef -undriven -anyseq", "write_rtlil design.il", "dffunmap", "simplemap", "techmap",
        "opt -fast -nodffe -nosdff", "opt_clean -purge", "aigmap",
        "write_aiger -I -B -zinit -no-startoffset -map graph.aim graph.aig",
    ], "read", folder)


def counterexample(text, folder):
    """The property that failed, and the cycle, if ABC says so; the trace becomes a VCD.

    yosys plays the trace back on the design as it was before it became a graph, and has to see the property fail."""
    found = re.search(r"Output \d+ of miter .* was asserted in frame (\d+)", text)
    if found is None:
        return None
    replay = yosys(["read_rtlil design.il", "sim -clock clk_i -r graph.aiw -map graph.aim -vcd trace.vcd"], "trace", folder)
    failed = re.search(r"Warning: Assertion \w+\.(\S+) ", replay)
    if failed is None:
        raise Failed(f"a counterexample that the replay does not confirm: {folder}/trace.log")
    return failed[1], int(found[1])


def prove(proof, folder):
    make_graph(proof, None, folder)
    read = ["read_aiger graph.aig", "fold", "strash", "scorr"]
    last = ["write_cex -a graph.aiw"]
    if proof.bounded:
        text = abc([*read, f"bmc3 -F {proof.bounded}", *last], "bmc", folder)
        if failed := counterexample(text, folder):
            return failed
        if not re.search(rf"No output asserted in {proof.bounded} frames", text):
            raise Failed(f"ABC did not reach {proof.bounded} cycles: {folder}/bmc.log")
        return f"bounded {proof.bounded}"
    text = abc([*read, "pdr", *last], "pdr", folder)
    if failed := counterexample(text, folder):
        return failed
    if "Property proved" not in text or "Verification of invariant" in text and "was successful" not in text:
        raise Failed(f"ABC came to no end: {folder}/pdr.log")
    found = re.search(r"Invariant F\[(\d+)\] : (\d+) clauses", text)
    return f"pdr, {found[2]} clauses" if found else "pdr"


def kill(proof, mutant, folder):
    """The property that fails for the mutant, and when; an exception if none does."""
    make_graph(proof, mutant, folder)
    text = abc(["read_aiger graph.aig", "fold", "strash", f"bmc3 -F {MUTANT_CYCLES}", "write_cex -a graph.aiw"], "bmc", folder)
    failed = counterexample(text, folder)
    if not failed:
        raise Failed(f"lives for {MUTANT_CYCLES} cycles")
    return failed


def attempt(proof, mutant, out):
    """One line and whether it is as it should be."""
    sizes = " ".join(f"{name} {value}" for name, value in proof.parameters.items())
    title = "-".join([proof.top, *(f"{name}{value}" for name, value in proof.parameters.items())])
    if mutant:
        title += "-" + mutant.name
    folder = f"{out}/{re.sub(r'[^A-Za-z0-9_-]+', '_', title)}"
    os.makedirs(folder, exist_ok=True)
    cpu.seconds = 0.0
    good, method = False, ""
    try:
        if mutant:
            name, cycle = kill(proof, mutant, folder)
            good, method, result = True, f"mutant: {mutant.name}", f"killed in cycle {cycle} by {name}"
        else:
            result = prove(proof, folder)
            if isinstance(result, tuple):
                result = f"FAILED in cycle {result[1]}: {result[0]}; {folder}/trace.vcd"
            else:
                good, method, result = True, result, "proved" if not proof.bounded else "no counterexample"
    except Failed as failure:
        result = f"FAILED: {failure}"
    method = method or (f"mutant: {mutant.name}" if mutant else "bounded" if proof.bounded else "pdr")
    return f"{proof.block:<29}{sizes:<20}{method:<38}{cpu.seconds:>6.1f} s  {result}", good


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--block", action="append", help="only these, by the top of rtl/formal")
    parser.add_argument("--proofs-only", action="store_true", help="no mutants")
    parser.add_argument("--out", default=f"{ROOT}/build/prove", help="for scripts, logs and traces")
    arguments = parser.parse_args()
    chosen = [proof for proof in PROOFS
              if not arguments.block or proof.top in arguments.block]
    if not chosen:
        sys.exit("nothing to prove: --block takes " + ", ".join(sorted({proof.top for proof in PROOFS})))
    work = [(proof, mutant) for proof in chosen for mutant in (None, *([] if arguments.proofs_only else proof.mutants))]
    out = os.path.abspath(arguments.out)
    subprocess.run([sys.executable, "-B", f"{ROOT}/tools/formats/generate.py", "--out", f"{out}/formats"], check=True)
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for line, good in pool.map(lambda pair: attempt(*pair, out), work):
            print(line, flush=True)
            failed += not good
    proofs = len(chosen)
    print(f"{proofs} proofs, {len(work) - proofs} mutants, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
