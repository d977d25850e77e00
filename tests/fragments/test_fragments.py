"""Everyday C++ (the fragments in this folder) means the same on Drover as on gRPC C++ and protobuf C++.

The fragments that compile are in two programs from one source, which must print the same. Those that absent.toml lists
must not compile: one that does belongs into the program. Those under [[differs]] are in both and must not agree. The
sources are compiled once each, with only the fragments that are absent, and the compiler's errors say which of them
fail.
"""

import json
import pathlib
import re
import shlex
import subprocess

import pytest
import select_fragments

HERE = pathlib.Path(__file__).parent
FILES = ["strings.cc", "logging.cc", "handlers.cc", "containers.cc"]
ABSENT = HERE / "absent.toml"
DIAGNOSTIC = re.compile(r"(.*?):(\d+):\d+: *(fatal error|error|note|warning)?")


def observations(program):
    lines = subprocess.run([program], check=True, capture_output=True, timeout=60).stdout.decode(errors="replace")
    return dict(line.split("\t", 1) for line in lines.splitlines())


@pytest.fixture(name="folder")
def folder_fixture(build_dir):
    return pathlib.Path(build_dir) / "tests/fragments"


def names_in(file):
    return select_fragments.fragments_of((HERE / file).read_text())


def test_fragments_print_the_same_on_both(folder):
    ours, theirs = observations(folder / "fragments"), observations(folder / "fragments_grpc")
    absent = select_fragments.names(ABSENT, "absent")
    assert absent <= theirs.keys()
    assert ours.keys() == theirs.keys() - absent
    assert {name for name, text in ours.items() if text != theirs[name]} == select_fragments.names(ABSENT, "differs")
    assert len(theirs) >= 120


def failing(file, command, copy):
    """The fragments of the file at which the compiler reports an error, among those that are absent."""
    absent = select_fragments.names(ABSENT, "absent")
    copy.write_text(select_fragments.selected((HERE / file).resolve(), lambda name: name in absent))
    words = shlex.split(command["command"])
    words[words.index("-o"):words.index("-o") + 2] = ["-fsyntax-only"]
    words[words.index(command["file"])] = str(copy)
    limit = "-ferror-limit=0" if "clang" in words[0] else "-fmax-errors=0"
    result = subprocess.run([*words, limit], cwd=command["directory"], capture_output=True, text=True, timeout=600)
    found, in_error = set(), False
    for line in result.stderr.splitlines():
        match = DIAGNOSTIC.match(line)
        if not match:
            continue
        if match[3] in ("error", "fatal error"):
            in_error = True
        if not in_error or pathlib.Path(match[1]).name != file:
            continue
        at = int(match[2]) - 1
        found |= {name for name, (first, last) in names_in(file).items() if first <= at <= last}
    return found


@pytest.mark.parametrize("file", FILES)
def test_absent_fragments_do_not_compile(folder, file, tmp_path):
    commands = json.loads((folder.parent.parent / "compile_commands.json").read_text())
    command = next(c for c in commands if c["file"] == str((folder / file).resolve()))
    expected = select_fragments.names(ABSENT, "absent") & names_in(file).keys()
    assert failing(file, command, tmp_path / file) == expected


def test_the_documentation_lists_what_is_absent():
    page = (HERE.parent.parent / "docs/api.md").read_text()
    for row in select_fragments.rows(ABSENT, "absent") + select_fragments.rows(ABSENT, "differs"):
        assert f"| {row['what']} | {row['write']} | {len(row['names'])} |" in page
    total = sum(len(names_in(file)) for file in FILES)
    listed = len(select_fragments.names(ABSENT, "absent") | select_fragments.names(ABSENT, "differs"))
    assert f"{total - listed} of {total} fragments" in page
