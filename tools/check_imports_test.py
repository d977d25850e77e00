#!/usr/bin/env python3
"""Trees with one fault each, for check_imports.py. Run it as a program."""

import pathlib
import tempfile
import unittest

import check_imports

ROOMS = {
    "rooms": {"object": [], "codec": ["object"], "codec/decode": ["codec"], "rtl/common": [],
              "rtl/deserializer": ["rtl/common"], "rtl/serializer": ["rtl/common"], "host": ["codec"],
              "testing": ["codec/decode"], "tests": ["host"]},
    "testing": {"rooms": ["testing"], "programs": ["tests"], "files": ["*_test.cc", "*_testing.h"]},
    "include_dirs": {"host": ["host/include"]},
}


class CheckImports(unittest.TestCase):
    def problems(self, tree, **data):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for path, text in tree.items():
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_text(text)
            return check_imports.check(root, check_imports.tracked_files(root), check_imports.Rooms({**ROOMS, **data}))

    def assert_one(self, problems, *words):
        self.assertEqual(len(problems), 1, problems)
        for word in words:
            self.assertIn(word, problems[0])

    def test_including_downward_is_right(self):
        tree = {"object/arena.h": "", "object/arena.cc": '#include "object/arena.h"\n',
                "codec/decode/decode.h": '#include "object/arena.h"\n#include "codec/input.h"\n', "codec/input.h": ""}
        self.assertEqual(self.problems(tree), [])

    def test_including_upward_is_named_with_its_line(self):
        tree = {"object/arena.h": '\n#include "codec/input.h"\n', "codec/input.h": ""}
        self.assert_one(self.problems(tree), "object/arena.h:2", "codec is not below")

    def test_a_room_inside_a_room_is_above_it(self):
        tree = {"codec/input.h": '#include "codec/decode/decode.h"\n', "codec/decode/decode.h": ""}
        self.assert_one(self.problems(tree), "codec/input.h:1", "codec/decode is not below")

    def test_a_path_beside_the_file_counts_too(self):
        tree = {"object/arena.h": '#include "../codec/input.h"\n', "codec/input.h": ""}
        self.assert_one(self.problems(tree), "codec/input.h")

    def test_a_generated_header_counts_as_its_folder(self):
        self.assert_one(self.problems({"object/arena.h": '#include "codec/made_by_the_build.h"\n'}), "codec is not below")

    def test_a_format_header_may_be_included_by_any_room(self):
        self.assertEqual(self.problems({"object/arena.h": '#include "codec/errors_format.h"\n'}), [])
        written = {"object/arena.h": '#include "codec/errors_format.h"\n', "codec/errors_format.h": ""}
        self.assert_one(self.problems(written), "codec is not below")

    def test_rooms_side_by_side_do_not_include_each_other(self):
        tree = {"host/call.h": '#include "codec/decode/decode.h"\n', "codec/decode/decode.h": ""}
        self.assert_one(self.problems(tree), "host/call.h:1")

    def test_headers_that_include_each_other_are_a_circle(self):
        tree = {"host/call.h": '#include "host/worker.h"\n', "host/worker.h": '#include "host/call.h"\n'}
        self.assert_one(self.problems(tree), "circle", "host/call, host/worker")

    def test_a_circle_through_sources_is_found(self):
        tree = {"host/call.h": "", "host/call.cc": '#include "host/worker.h"\n', "host/worker.h": "",
                "host/worker.cc": '#include "host/call.h"\n'}
        self.assert_one(self.problems(tree), "circle")

    def test_a_circle_through_include_directories_is_found(self):
        tree = {"host/include/grpcpp/a.h": "#include <grpcpp/b.h>\n", "host/include/grpcpp/b.h": "#include <grpcpp/a.h>\n"}
        self.assert_one(self.problems(tree), "circle")

    def test_product_code_may_not_include_a_testing_room(self):
        tree = {"host/call.h": '#include "testing/object.h"\n', "testing/object.h": ""}
        self.assert_one(self.problems(tree), "host/call.h:1", "belongs to tests")

    def test_product_code_may_not_include_a_test_header(self):
        tree = {"host/call.h": '#include "host/call_testing.h"\n', "host/call_testing.h": ""}
        self.assert_one(self.problems(tree), "belongs to tests")

    def test_a_test_may_include_a_testing_room_and_what_it_stands_on(self):
        tree = {"object/arena_test.cc": '#include "testing/object.h"\n#include "codec/input.h"\n', "testing/object.h": "",
                "codec/input.h": ""}
        self.assertEqual(self.problems(tree), [])

    def test_a_test_may_not_include_any_other_room(self):
        tree = {"object/arena_test.cc": '#include "host/call.h"\n', "host/call.h": ""}
        self.assert_one(self.problems(tree), "host is not below")

    def test_a_package_of_another_engine_may_not_be_used(self):
        tree = {"rtl/deserializer/lane.sv": "// ser_pkg in a comment\nmodule lane import ser_pkg::*; ();\nendmodule\n",
                "rtl/serializer/ser_pkg.sv": "package ser_pkg;\nendpackage\n"}
        self.assert_one(self.problems(tree), "rtl/deserializer/lane.sv:2", "rtl/serializer is not below")

    def test_a_module_of_the_common_room_may_be_used(self):
        tree = {"rtl/deserializer/lane.sv": "module lane (); fifo u_fifo (); endmodule\n", "rtl/common/fifo.sv": ""}
        self.assertEqual(self.problems(tree), [])

    def test_a_file_in_no_room_is_a_fault(self):
        self.assert_one(self.problems({"attic/old.h": ""}), "attic/old.h", "in no room")

    def test_a_known_exception_is_let_pass(self):
        tree = {"object/arena.h": '#include "codec/input.h"\n', "codec/input.h": ""}
        known = [{"file": "object/arena.h", "includes": "codec/input.h"}]
        self.assertEqual(self.problems(tree, exception=known), [])

    def test_an_exception_that_is_not_needed_is_a_fault(self):
        known = [{"circle": ["host/call", "host/worker"]}]
        self.assert_one(self.problems({"host/call.h": ""}, exception=known), "not needed")

    def test_rooms_that_name_each_other_are_refused(self):
        with self.assertRaises(check_imports.BadRooms):
            check_imports.Rooms({"rooms": {"host": ["engine"], "engine": ["host"]}})


if __name__ == "__main__":
    unittest.main()
