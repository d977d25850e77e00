"""The Python modules that tools/formats writes say what docs/formats.md says: offsets, types, numbers, names.

    python_side_test.py MODULES_DIR docs/formats.md
"""
import dataclasses
import importlib
import pathlib
import re
import sys
import unittest

MODULES, DOCS = sys.argv[1:3]
sys.path.insert(0, MODULES)
SIZES = {"u8": 1, "u16": 2, "u32": 4, "u64": 8, "i8": 1, "i16": 2, "i32": 4, "i64": 8}


def tables():
    """(stem, name, head, rows) of each marked table of the page."""
    text = pathlib.Path(DOCS).read_text(encoding="utf-8")
    for stem, name, body in re.findall(r"<!-- format (\w+)\.(\w+) -->\n(.*?)<!-- end -->", text, re.DOTALL):
        lines = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in body.strip().splitlines()]
        yield stem, name, lines[0], lines[2:]


def module(stem):
    return importlib.import_module(f"drover_{stem}_format")


def upper(name):
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).upper()


class PythonSide(unittest.TestCase):
    def each(self, *head):
        found = [(stem, name, rows) for stem, name, columns, rows in tables() if columns[:len(head)] == list(head)]
        self.assertTrue(found, f"no table of {head}")
        return found

    def test_members_lie_where_the_tables_say(self):
        for stem, name, rows in self.each("offset", "type", "name"):
            record = getattr(module(stem), name)
            members = {row[2]: (int(row[0]), row[1].removeprefix("atomic ")) for row in rows}
            self.assertEqual({key: at for key, (at, _) in members.items()}, record.OFFSETS, name)
            at, kind = max(members.values())
            base, count = re.fullmatch(r"([\w.]+)(?:\[(\d+)\])?", kind).groups()
            if base in SIZES:
                self.assertEqual(record.SIZE, at + SIZES[base] * int(count or 1), name)

    def test_bits_lie_where_the_tables_say(self):
        for stem, name, rows in self.each("bits", "name"):
            ranges = {}
            for row in rows:
                high, _, low = row[0].partition(":")
                ranges[row[1]] = (int(low or high), int(high) - int(low or high) + 1)
            self.assertEqual(ranges, getattr(module(stem), name).MEMBERS, name)

    def test_values_flags_and_constants_are_those_of_the_tables(self):
        for head in (("value", "name"), ("flag", "name")):
            for stem, name, rows in self.each(*head):
                values = {row[1].upper(): int(row[0]) for row in rows}
                self.assertEqual(values, {v.name: v.value for v in getattr(module(stem), name)}, name)
        for stem, name, rows in self.each("name", "value"):
            for row in rows:
                self.assertEqual(getattr(module(stem), upper(row[0])), int(row[1].replace(",", ""), 0), row[0])

    def test_control_messages_have_the_members_of_the_tables(self):
        for stem, _, rows in self.each("type", "name", "from", "body"):
            for number, name, _, text in rows:
                body = getattr(module(stem), name)
                if number:
                    self.assertEqual(int(number), module(stem).ControlType[upper(name)])
                members = re.findall(r"(?:^|; )(?:list of \w+|string|[ui]\d+) (\w+)", text)
                self.assertEqual(members, [field.name for field in dataclasses.fields(body)], name)


class Bytes(unittest.TestCase):
    def test_a_slot_is_packed_as_the_engine_reads_it(self):
        channel = module("channel")
        slot = channel.CompleteSlot(sequence=7, type=channel.ResponseSlotType.COMPLETE, flags=1, call=0x01020304,
                                    generation=5, tx_call=6, status=13, response=0x1122334455667788, trailer=9)
        wire = slot.pack()
        self.assertEqual(wire.hex(), "07000000" "01" "01" "0000" "04030201" "05000000" "06000000" "0d000000"
                         "8877665544332211" "0900000000000000" + "00" * 24)
        self.assertEqual(channel.CompleteSlot.unpack(b"xx" + wire, 2), slot)

    def test_a_control_message_is_packed_as_the_engine_reads_it(self):
        control = module("control")
        methods = control.RegisterMethods([control.Method(b"/a.B/C", 1, 2, 3, 4, 0)])
        wire = methods.pack()
        self.assertEqual(wire.hex(), "01000000" "06000000" + b"/a.B/C".hex() +
                         "01000000" "02000000" "03000000" "04000000" "00000000")
        self.assertEqual(control.RegisterMethods.unpack(wire), methods)
        with self.assertRaises(ValueError):
            control.RegisterMethods.unpack(wire + b"x")

    def test_a_word_takes_no_more_than_its_bits(self):
        meta = module("object").Meta
        self.assertEqual(meta.pack(borrowed=1, storage_class=3, back=1), 1 | 3 << 2 | 1 << 8)
        self.assertEqual(meta.unpack(1 << 8)["back"], 1)
        with self.assertRaises(ValueError):
            meta.pack(borrowed=2)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
