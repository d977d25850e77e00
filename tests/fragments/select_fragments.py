#!/usr/bin/env python3
"""The fragments of tests/fragments/*.cc, and the copies of those files that a build compiles.

    select_fragments.py --absent absent.toml --out COPY FILE     FILE without the fragments that are absent

A fragment begins with FRAGMENT(name) at the start of a line and ends with the next brace at the start of a line.
What is left out leaves empty lines, and the copy says #line: compilers name the lines of FILE.
"""

import argparse
import pathlib
import re
import tomllib

BEGIN = re.compile(r"FRAGMENT\((\w+)\)")


def fragments_of(text):
    """{name: (first line, last line)}, counted from 0."""
    found, begin, name = {}, None, None
    for number, line in enumerate(text.splitlines()):
        if match := BEGIN.match(line):
            begin, name = number, match[1]
        if begin is not None and (line.startswith("}") or (number == begin and line.endswith("}"))):
            found[name] = (begin, number)
            begin = None
    return found


def selected(path, keep):
    """The text of the file with the fragments for which keep(name) holds."""
    text = path.read_text()
    lines = text.splitlines()
    for name, (first, last) in fragments_of(text).items():
        if not keep(name):
            lines[first:last + 1] = [""] * (last - first + 1)
    return f'#line 1 "{path}"\n' + "\n".join(lines) + "\n"


def rows(path, kind):
    """What absent.toml lists of a kind, "absent" or "differs": what, what to write instead, the fragments' names."""
    return tomllib.loads(path.read_text())[kind]


def names(path, kind):
    return {name for row in rows(path, kind) for name in row["names"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--absent", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("file", type=pathlib.Path)
    args = parser.parse_args()
    absent = names(args.absent, "absent")
    args.out.write_text(selected(args.file.resolve(), lambda name: name not in absent))


if __name__ == "__main__":
    main()
