#!/usr/bin/env python3
"""Builds and runs the unit tests of what changed: `make check`.

What changed is what differs from the branch `main` where the checkout is on another branch, or from the last commit;
untracked files count. The tests of a room are those that its CMakeLists.txt names. Tests with real processes and long
ones are left to `make test` and `make test-long`; the checks of the source tree always run.

    tools/check.py --build-dir build/release [--jobs N] [--since COMMIT] [--list]
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LEFT_OUT = {"e2e", "bench", "long"}
ALWAYS = "lint"


def output(*command):
    return subprocess.run([str(word) for word in command], check=True, text=True, stdout=subprocess.PIPE, cwd=ROOT).stdout


def base_commit():
    """Where this branch left main; the last commit on main itself, or where there is no main."""
    found = subprocess.run(["git", "merge-base", "main", "HEAD"], text=True, capture_output=True, cwd=ROOT)
    return found.stdout.strip() if found.returncode == 0 else "HEAD"


def changed_files(base):
    tracked = output("git", "diff", "--name-only", "--no-renames", base).split("\n")
    untracked = output("git", "ls-files", "--others", "--exclude-standard").split("\n")
    return sorted({name for name in tracked + untracked if name})


def read_tests(build):
    """Each ctest entry: its name, labels, folder in the tree, and the program that the build makes for it, if any."""
    tests = []
    for test in json.loads(output("ctest", "--test-dir", build, "--show-only=json-v1"))["tests"]:
        properties = {p["name"]: p["value"] for p in test.get("properties", [])}
        folder = os.path.relpath(properties["WORKING_DIRECTORY"], build)
        command = test.get("command", [""])[0]
        program = os.path.relpath(command, build) if command.startswith(str(build) + os.sep) else None
        tests.append((test["name"], set(properties.get("LABELS", [])), folder, program))
    return tests


def folder_with_tests(path, folders):
    """The folder nearest to a file, upward, that has tests; None if there is none."""
    for parent in pathlib.PurePath(path).parents:
        if str(parent) in folders:
            return str(parent)
    return None


def choose(tests, files):
    """The tests to run for changed files."""
    tests = [test for test in tests if not test[1] & LEFT_OUT]
    folders = {folder for _, labels, folder, _ in tests if ALWAYS not in labels}
    touched = {folder_with_tests(path, folders) for path in files}
    return [test for test in tests if ALWAYS in test[1] or test[2] in touched]


def main():
    parser = argparse.ArgumentParser(description="Builds and runs the unit tests of what changed.")
    parser.add_argument("--build-dir", type=pathlib.Path, required=True)
    parser.add_argument("--jobs", default=str(os.cpu_count()))
    parser.add_argument("--since", help="the commit to compare with")
    parser.add_argument("--list", action="store_true", help="print the tests, and do not run them")
    options = parser.parse_args()
    build = options.build_dir.resolve()
    base = options.since or base_commit()
    files = changed_files(base)
    chosen = choose(read_tests(build), files)
    names = [test[0] for test in chosen]
    print(f"{len(files)} files differ from {base[:12]}; tests: {' '.join(names)}", flush=True)
    if options.list:
        return 0
    targets = sorted({os.path.basename(program) for *_, program in chosen if program})
    if targets:
        code = subprocess.run(["cmake", "--build", build, "-j", options.jobs, "--target", *targets]).returncode
        if code != 0:
            return code
    return subprocess.run(["ctest", "--test-dir", build, "-j", options.jobs, "--output-on-failure", "--progress",
                           "--no-tests=error", "-R", f"^({'|'.join(names)})$"]).returncode


if __name__ == "__main__":
    try:
        sys.exit(main())
    except subprocess.CalledProcessError as error:
        sys.exit(f"check: `{' '.join(error.cmd)}` failed with code {error.returncode}")
