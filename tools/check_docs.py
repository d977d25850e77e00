#!/usr/bin/env python3
"""Checks that what the documentation names is there.

In README.md, CONTRIBUTING.md, CHANGELOG.md and docs/*.md it takes every relative link, and from every code span and
code block every path into the tree, every `make` target and every program under build/, and looks each up:

  `codec/decode/`, `rtl/*/*.sv`        in the tree; a word in capitals (tests/corpus/NAME) stands for any name
  [text](docs/sim.md#anchor)           the file, and a heading that gives that anchor
  `make bench-rtl`                     a target of the Makefile
  `build/release/engine/droverd`       a program that a CMakeLists.txt of that folder defines, also as `engine/droverd`

Exit status: 0 all is there, 1 something is not (each on a line of its own, FILE:LINE first).
"""

import argparse
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SOURCE = (".cc", ".h", ".py", ".sv", ".def", ".cmake", ".sh", ".md", ".txt", ".toml")
# Paths of other projects and of users' own trees.
FOREIGN = re.compile(r"^(google/protobuf/|grpcpp/|orders/|common/|third_party/|protos/|stubs/|util/|upb/|lib/)")


def spans(text):
    """(line number, code) of every code span and every line of a code block."""
    in_block = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            in_block = not in_block
        elif in_block:
            yield number, line
        else:
            for span in re.findall(r"`([^`]+)`", line):
                yield number, span


def anchors(page):
    """The anchors of a page's headings, as GitHub makes them."""
    found = set()
    for heading in re.findall(r"^#+ (.*)$", page.read_text(), re.M):
        kept = re.sub(r"[^\w\- ]", "", re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).lower())
        found.add(kept.strip().replace(" ", "-"))
    return found


def exists(root, path):
    pattern = re.sub(r"(?<![A-Za-z])[A-Z]{2,}[A-Z_]*(?![a-z.])", "*", path.rstrip("/")) if not (root / path).exists() else path
    if "{" in pattern:
        head, choices, tail = re.match(r"([^{]*)\{([^}]*)\}(.*)", pattern).groups()
        return all(exists(root, head + one + tail) for one in choices.split(","))
    return any(root.glob(pattern)) if "*" in pattern else (root / pattern).exists()


def is_defined(root, folder, program):
    """Whether a CMakeLists.txt of the folder, or of one inside it, names the program."""
    return any(re.search(rf"\b{re.escape(program)}\b", file.read_text())
               for file in (root / folder).rglob("CMakeLists.txt"))


def wrong_words(root, code, targets):
    """What is not there of the paths, programs and targets that a piece of code names."""
    for word in re.findall(r"(?<![\w/.$<*:@=-])[\w.*{},/+-]+", code):
        word = word.rstrip(".,:")
        program = re.match(r"build/\w+/((?:[\w]+/)+)(\w+)$", word)
        if program and "." not in program[2]:
            if not is_defined(root, program[1], program[2]):
                yield word, "no CMakeLists.txt of that folder defines it"
        elif "/" not in word or word.startswith(("/", "./", "build/", "out/")) or FOREIGN.match(word):
            continue
        elif not ((root / word.split("/")[0]).is_dir() or word.endswith(SOURCE)):
            continue
        elif not exists(root, word) and not is_defined(root, *word.rsplit("/", 1)):
            yield word, "no such path"
    for target in re.findall(r"\bmake ((?:[a-z][a-z-]*)+)(?![\w*])", code):
        if target not in targets:
            yield "make " + target, "no such target in the Makefile"


def check_page(root, page, targets):
    text = page.read_text()
    name = page.relative_to(root)
    for number, code in spans(text):
        for word, why in wrong_words(root, code, targets):
            yield f"{name}:{number}: {word}: {why}"
    for number, line in enumerate(text.splitlines(), 1):
        for link in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`]*`", "", line)):
            if re.match(r"\w+:", link):
                continue
            path, _, anchor = link.partition("#")
            target = (page.parent / path).resolve() if path else page
            if not target.exists():
                yield f"{name}:{number}: {link}: the link leads nowhere"
            elif anchor and target.suffix == ".md" and anchor not in anchors(target):
                yield f"{name}:{number}: {link}: {target.name} has no such heading"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=pathlib.Path, default=ROOT, help="the tree to check")
    root = parser.parse_args().root.resolve()
    pages = [root / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")] + sorted(root.glob("docs/*.md"))
    targets = set(re.findall(r"^([a-z][a-z-]*):", (root / "Makefile").read_text(), re.M))
    wrong = [line for page in pages if page.exists() for line in check_page(root, page, targets)]
    print("\n".join(wrong) if wrong else f"docs: {len(pages)} pages name nothing that is not there")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
