#!/usr/bin/env python3
"""check_docs.py on a small tree: what is there passes, and each kind of mistake is found at its line."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

CHECK = pathlib.Path(__file__).resolve().parent / "check_docs.py"


class CheckDocs(unittest.TestCase):
    def check(self, readme):
        """(exit status, output) for a tree with that README.md."""
        with tempfile.TemporaryDirectory() as name:
            root = pathlib.Path(name)
            for folder in ("docs", "engine", "tests/corpus/decode_fuzz"):
                (root / folder).mkdir(parents=True)
            (root / "Makefile").write_text("test: build\n\t@true\n")
            (root / "engine" / "CMakeLists.txt").write_text("add_executable(droverd main.cc)\n")
            (root / "engine" / "main.cc").write_text("")
            (root / "docs" / "sim.md").write_text("# Sim\n\n## What a link costs\n")
            (root / "README.md").write_text(readme)
            done = subprocess.run([sys.executable, CHECK, "--root", root], capture_output=True, text=True)
            return done.returncode, done.stdout

    def test_what_is_there_passes(self):
        status, output = self.check(
            "`engine/`, `engine/main.cc`, `engine/*.{cc}`, `tests/corpus/NAME`, `build/release/engine/droverd -x`,\n"
            "`make test PRESET=asan`, [link](docs/sim.md#what-a-link-costs), [web](https://example.org/x.md),\n"
            "`google/protobuf/any.pb.h`, `text/plain`, `1/2`\n```sh\nmake test && ./order_server\n```\n")
        self.assertEqual(status, 0, output)

    def test_each_mistake_is_found_at_its_line(self):
        for mistake, says in [
                ("`engine/no.cc`", "engine/no.cc: no such path"),
                ("`engin/main.cc`", "engin/main.cc: no such path"),
                ("`tests/*/x`", "tests/*/x: no such path"),
                ("`build/release/engine/drovred`", "build/release/engine/drovred: no CMakeLists.txt"),
                ("`make tests`", "make tests: no such target"),
                ("[x](docs/no.md)", "docs/no.md: the link leads nowhere"),
                ("[x](docs/sim.md#no)", "docs/sim.md#no: sim.md has no such heading"),
                ("```\nengine/no.cc\n```", "engine/no.cc: no such path")]:
            status, output = self.check("# Title\n" + mistake + "\n")
            self.assertEqual(status, 1, mistake)
            self.assertIn(says, output)
            self.assertRegex(output, r"^README\.md:[23]: ")


if __name__ == "__main__":
    unittest.main()
