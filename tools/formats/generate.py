"""Writes the headers and packages of all formats, or the tables of docs/formats.md, from the definition files.

    generate.py --out DIR room/stem.toml ...     DIR/room/stem_format.h (C++), DIR/room/stem_format_c.h (C),
                                                 DIR/sv/drover_stem_pkg.sv, DIR/python/drover_stem_format.py;
                                                 files that would not change stay
    generate.py --docs FILE [--check]            the tables between FILE's markers; --check: fails if one is stale

Without definition files: all *.toml of the list in cmake/DroverFormats.cmake. A file stands behind those it refers to.
docs/formats.md names a table by `<!-- format image.FieldEntry -->`; it ends at `<!-- end -->`.
"""
import argparse
import pathlib
import re
import sys

import c_header
import cpp_header
import doc_tables
import python_module
import sv_package
from definition import ROOT, DefinitionError, load_all


def write_changed(path, text):
    if path.exists() and path.read_text(encoding="utf-8") == text:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def listed():
    text = (ROOT / "cmake/DroverFormats.cmake").read_text(encoding="utf-8")
    return re.search(r"set\(DROVER_FORMAT_DEFINITIONS\s+([^)]*)\)", text)[1].split()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--docs", type=pathlib.Path)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("definitions", nargs="*")
    arguments = parser.parse_args()
    try:
        formats = load_all(arguments.definitions or listed())
        if arguments.out:
            for fmt in formats:
                write_changed(arguments.out / fmt.header, cpp_header.text(fmt))
                write_changed(arguments.out / fmt.c_header, c_header.text(fmt))
                write_changed(arguments.out / "sv" / f"{fmt.package}.sv", sv_package.text(fmt))
                write_changed(arguments.out / "python" / f"{python_module.module_name(fmt)}.py", python_module.text(fmt))
        if arguments.docs:
            old = arguments.docs.read_text(encoding="utf-8")
            new = doc_tables.fill(formats, old)
            if arguments.check and new != old:
                sys.exit(f"{arguments.docs}: tables are stale; run tools/formats/generate.py --docs {arguments.docs}")
            if new != old:
                arguments.docs.write_text(new, encoding="utf-8")
    except DefinitionError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
