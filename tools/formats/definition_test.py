"""Definition files with one fault each, and what is generated from a small good one. Run it as a program."""
import pathlib
import tempfile
import unittest

import c_header
import cpp_header
import definition
import doc_tables
import python_module
import sv_package

GOOD = """
title = "Sample"
section = "nowhere"
doc = "for tests"
namespace = "sample"
constant = [{ name = "Most", value = 7, bits = 3 }]
[[enum]]
name = "Color"
type = "u8"
bits = 3
name_function = "color_name"
values = [{ value = 0, name = "red" }, { value = 5, name = "dark_blue", doc = "like the sea" }]
[[word]]
name = "Wide"
bits = 100
members = [
  { at = 0, bits = 3, name = "color", enum = "Color" },
  { at = 60, bits = 8, name = "across", doc = "two words" },
]
[[struct]]
name = "Pair"
size = 8
members = [
  { at = 0, type = "u16", name = "type" },
  { at = 2, type = "u8[2]", name = "rest" },
  { at = 4, type = "u32", name = "value" },
]
"""


def load(text):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "sample.toml"
        path.write_text(text, encoding="utf-8")
        return definition.Format(str(path), [])


class Definitions(unittest.TestCase):
    def assert_fault(self, old, new, *words):
        self.assertIn(old, GOOD)
        with self.assertRaises(definition.DefinitionError) as caught:
            load(GOOD.replace(old, new))
        for word in words:
            self.assertIn(word, str(caught.exception))

    def test_a_gap_in_a_struct_is_refused(self):
        self.assert_fault("at = 4,", "at = 8,", "Pair.value", "ends at 4")

    def test_a_struct_of_another_size_is_refused(self):
        self.assert_fault("size = 8", "size = 16", "Pair", "16")

    def test_an_unaligned_member_is_refused(self):
        self.assert_fault('"u8[2]"', '"u8[1]"', "Pair.value")

    def test_members_over_each_other_are_refused(self):
        self.assert_fault("at = 60,", "at = 2,", "Wide.across", "over")

    def test_a_member_beyond_the_word_is_refused(self):
        self.assert_fault("at = 60,", "at = 96,", "Wide")

    def test_an_enum_of_another_width_is_refused(self):
        self.assert_fault("at = 0, bits = 3", "at = 0, bits = 4", "Wide.color", "Color")

    def test_a_value_that_does_not_fit_is_refused(self):
        self.assert_fault("value = 5", "value = 8", "dark_blue")

    def test_a_constant_may_be_a_sum_of_others(self):
        format = load(GOOD.replace('bits = 3 }]', 'bits = 3 }, { name = "More", value = "0x10 + Most" }]', 1))
        self.assertEqual(format.constants[1]["value"], 23)

    def test_a_sum_of_what_does_not_exist_is_refused(self):
        self.assert_fault("value = 7", 'value = "1 + Least"', "Least", "constants")

    def test_a_number_or_name_used_twice_is_refused(self):
        self.assert_fault("value = 5", "value = 0", "dark_blue")
        self.assert_fault('name = "dark_blue"', 'name = "red"', "red twice")

    def test_an_unknown_key_is_refused(self):
        self.assert_fault('name = "Pair"', 'name = "Pair"\nwidth = 3', "width")


class Generated(unittest.TestCase):
    def test_cpp_asserts_offsets_and_splits_members_over_words(self):
        text = cpp_header.text(load(GOOD))
        self.assertIn("static_assert(offsetof(Pair, value) == 4);", text)
        self.assertIn("kDarkBlue = 5,  // like the sea", text)
        self.assertIn("word[0] |= (static_cast<uint64_t>(across) & 0xff) << 60;", text)
        self.assertIn("word[1] |= (static_cast<uint64_t>(across) & 0xff) >> 4;", text)

    def test_systemverilog_begins_with_the_highest_bit(self):
        text = sv_package.text(load(GOOD))
        pair = text[text.index("logic [31:0] value;"):]
        self.assertLess(pair.index("rest"), pair.index("type_;"), "a keyword gets an underscore")
        self.assertIn("    logic [31:0] gap_68;\n    logic [7:0] across;  // two words\n    logic [56:0] gap_3;\n"
                      "    color_e color;\n", text)
        self.assertIn("localparam logic [2:0] Most = 3'h7;", text)

    def test_c_names_begin_with_the_file(self):
        text = c_header.text(load(GOOD))
        self.assertIn("DROVER_SAMPLE_COLOR_DARK_BLUE = 5,", text)
        self.assertIn("_Static_assert(offsetof(struct drover_sample_pair, value) == 4", text)

    def test_python_packs_what_the_definition_says(self):
        names = {}
        exec(python_module.text(load(GOOD)), names)
        self.assertEqual((names["MOST"], names["Color"].DARK_BLUE), (7, 5))
        self.assertEqual(names["Wide"].pack(color=5, across=0x81), 5 | 0x81 << 60)
        pair = names["Pair"](type=1, rest=b"ab", value=2)
        self.assertEqual(pair.pack(), b"\1\0ab\2\0\0\0")
        self.assertEqual(names["Pair"].unpack(pair.pack()), pair)
        self.assertEqual(names["Pair"].OFFSETS, {"type": 0, "rest": 2, "value": 4})

    def test_tables_stand_between_their_marks(self):
        stale = "a\n<!-- format sample.Color -->\nold\n<!-- end -->\nb\n"
        new = doc_tables.fill([load(GOOD)], stale)
        self.assertIn("| 5 | dark_blue | like the sea |", new)
        self.assertNotIn("old", new)
        self.assertEqual(doc_tables.fill([load(GOOD)], new), new)
        with self.assertRaises(definition.DefinitionError):
            doc_tables.fill([load(GOOD)], stale.replace("Color", "Colour"))


if __name__ == "__main__":
    unittest.main()
