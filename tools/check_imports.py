#!/usr/bin/env python3
"""Checks the direction of includes against tools/rooms.toml.

  - A file includes only from its own room and from rooms below it.
  - No file, and no unit (a header with the source of the same name), includes itself through others.
  - Product code includes nothing from tests.
  - Headers that tools/formats writes (schema/image_format.h) are contracts without code: any room may include them.
  - SystemVerilog follows the same rules: a file uses the packages and modules that other files are named after.

    tools/check_imports.py [--root DIR] [--rooms FILE]

Prints each violation with its file and line, and ends with 1 where there is one. Needs Python 3.11, nothing else.
"""

import argparse
import fnmatch
import os
import pathlib
import re
import subprocess
import sys
import tomllib
from dataclasses import dataclass

C_SUFFIXES = (".h", ".cc", ".c", ".def", ".inc")
SUFFIXES = C_SUFFIXES + (".sv", ".svh")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(["<])([^">]+)[">]', re.MULTILINE)
FORMAT = re.compile(r"\w+(/\w+)+_format(_c)?\.h")
SV_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
SV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class BadRooms(Exception):
    """The data file contradicts itself."""


@dataclass(frozen=True)
class Import:
    """Line `line` of file `source` uses file `target`."""
    source: str
    line: int
    target: str


class Rooms:
    """The data file: which rooms there are, and what each reaches."""

    def __init__(self, data):
        self.reach = {}
        for room, below in data["rooms"].items():
            self.reach[room] = {room}
            for name in below:
                if name not in self.reach or name == room:
                    raise BadRooms(f"room {room} names {name}, which does not stand above it in the file")
                self.reach[room] |= self.reach[name]
        testing = data.get("testing", {})
        shared = testing.get("rooms", [])
        self.testing_rooms = {*shared, *testing.get("programs", [])}
        self.testing_files = testing.get("files", [])
        if unknown := self.testing_rooms - self.reach.keys():
            raise BadRooms(f"[testing] names {sorted(unknown)}, which [rooms] does not have")
        self.testing_reach = set().union(*(self.reach[room] for room in shared))
        self.include_dirs = data.get("include_dirs", {})
        self.exceptions = data.get("exception", [])

    def of(self, path):
        """The room of a file, or None."""
        parts = path.split("/")[:-1]
        for length in range(len(parts), 0, -1):
            if (room := "/".join(parts[:length])) in self.reach:
                return room
        return None

    def is_test(self, path):
        name = path.rsplit("/", 1)[-1]
        return self.of(path) in self.testing_rooms or any(fnmatch.fnmatch(name, p) for p in self.testing_files)

    def allows(self, path, room):
        """Whether a file may include from a room."""
        own = self.reach[self.of(path)]
        return room in own or (self.is_test(path) and room in self.testing_reach)


def line_of(text, position):
    return text.count("\n", 0, position) + 1


def c_imports(path, text, files, rooms):
    """The project's files that a C++ file includes. A generated header counts as one of the folder it is named in."""
    found = []
    for match in INCLUDE.finditer(text):
        kind, name = match.groups()
        if kind == "<":
            candidates = [f"{folder}/{name}" for folder in rooms.include_dirs.get(rooms.of(path), [])]
        else:
            candidates = [os.path.normpath(os.path.join(os.path.dirname(path), name)), name]
        target = next((c for c in candidates if c in files), None)
        if target is None and kind == '"' and rooms.of(name) is not None and not FORMAT.fullmatch(name):
            target = name
        if target is not None:
            found.append(Import(path, line_of(text, match.start()), target))
    return found


def sv_imports(path, text, modules):
    """The files that a SystemVerilog file's names stand for: one module or package a file, named after it."""
    text = SV_COMMENT.sub(lambda match: "\n" * match.group().count("\n"), text)
    found = {}
    for match in SV_NAME.finditer(text):
        target = modules.get(match.group())
        if target is not None and target != path and target not in found:
            found[target] = Import(path, line_of(text, match.start()), target)
    return list(found.values())


def read_imports(root, paths, rooms):
    files = set(paths)
    modules = {pathlib.PurePath(p).stem: p for p in paths if p.endswith(".sv")}
    imports = []
    for path in paths:
        text = (root / path).read_text()
        if path.endswith((".sv", ".svh")):
            imports += sv_imports(path, text, modules)
        else:
            imports += c_imports(path, text, files, rooms)
    return imports


def circles(edges):
    """Tarjan's strongly connected components of more than one node, and nodes that point at themselves."""
    index, low, stack, found = {}, {}, [], []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in sorted(edges.get(node, ())):
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            at = stack.index(node)
            circle = sorted(stack[at:])
            del stack[at:]
            if len(circle) > 1 or node in edges.get(node, ()):
                found.append(circle)

    for node in sorted(edges):
        if node not in index:
            visit(node)
    return found


def unit_circles(imports):
    """Circles between units. Those between files show here too: a circle of files is one of their units."""
    edges = {}
    for edge in imports:
        source, target = (os.path.splitext(path)[0] for path in (edge.source, edge.target))
        if source != target or edge.source == edge.target:
            edges.setdefault(source, set()).add(target)
    return circles(edges)


class Exceptions:
    """The known violations, and which of them were met."""

    def __init__(self, entries):
        self.includes = {(e["file"], e["includes"]): e for e in entries if "file" in e}
        self.circles = {tuple(sorted(e["circle"])): e for e in entries if "circle" in e}
        self.met = set()

    def covers(self, key, among):
        if key in among:
            self.met.add(key)
            return True
        return False

    def unused(self):
        return [key for key in [*self.includes, *self.circles] if key not in self.met]


def check(root, paths, rooms):
    """All violations, as lines to print."""
    problems = []
    exceptions = Exceptions(rooms.exceptions)
    for path in paths:
        if rooms.of(path) is None:
            problems.append(f"{path}: is in no room of the data file")
    paths = [path for path in paths if rooms.of(path) is not None]
    imports = read_imports(root, paths, rooms)
    for edge in imports:
        where, room = f"{edge.source}:{edge.line}", rooms.of(edge.target)
        if rooms.is_test(edge.target) and not rooms.is_test(edge.source):
            problem = f"{where}: product code includes {edge.target}, which belongs to tests"
        elif not rooms.allows(edge.source, room):
            problem = f"{where}: room {rooms.of(edge.source)} includes {edge.target}, but {room} is not below it"
        else:
            continue
        if not exceptions.covers((edge.source, edge.target), exceptions.includes):
            problems.append(problem)
    for circle in unit_circles(imports):
        if not exceptions.covers(tuple(circle), exceptions.circles):
            problems.append(f"a circle of includes: {', '.join(circle)}")
    for key in exceptions.unused():
        problems.append(f"the exception {' and '.join(key)} is not needed any more: remove it from the data file")
    return problems


def tracked_files(root):
    """What git tracks or would track; all files where the tree is not a checkout."""
    listed = subprocess.run(["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                            capture_output=True, text=True)
    if listed.returncode == 0:
        names = listed.stdout.split("\0")
    else:
        names = [str(p.relative_to(root)) for p in root.rglob("*") if not any(
            part == "build" or part.startswith(".") for part in p.relative_to(root).parts)]
    return sorted({n for n in names if n.endswith(SUFFIXES) and "/" in n and (root / n).is_file()})


def main():
    home = pathlib.Path(__file__).resolve().parent
    parser = argparse.ArgumentParser(description="Checks the direction of includes.")
    parser.add_argument("--root", type=pathlib.Path, default=home.parent)
    parser.add_argument("--rooms", type=pathlib.Path, default=home / "rooms.toml")
    options = parser.parse_args()
    try:
        rooms = Rooms(tomllib.loads(options.rooms.read_text()))
    except BadRooms as error:
        sys.exit(f"{options.rooms}: {error}")
    paths = tracked_files(options.root)
    problems = check(options.root, paths, rooms)
    for problem in problems:
        print(problem)
    print(f"{len(paths)} files in {len(rooms.reach)} rooms, {len(problems)} violations,"
          f" {len(rooms.exceptions)} exceptions")
    return 1 if problems or not paths else 0


if __name__ == "__main__":
    sys.exit(main())
