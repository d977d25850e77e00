"""A Python module of a format: constants, enums and flags, structs and control messages with pack and unpack.

Names are those of the definition file: constants and enum values in capitals, types in CamelCase. A member that is a
struct or an array of u8 is bytes; any other array is a tuple. A module is named drover_<stem>_format, beside those
that it refers to.
"""
import keyword

from definition import SCALARS, camel, snake, split_array

CODES = {"u8": "B", "u16": "H", "u32": "I", "u64": "Q", "i8": "b", "i16": "h", "i32": "i", "i64": "q",
         "atomic_u32": "I", "atomic_u64": "Q"}

STRUCT_BASE = '''
@dataclasses.dataclass
class Record:
    """A struct; FORMAT is its layout, OFFSETS says where each member lies."""
    FORMAT: ClassVar[struct.Struct]
    OFFSETS: ClassVar[dict]

    def pack(self):
        values = []
        for member in dataclasses.fields(self):
            value = getattr(self, member.name)
            values += value if isinstance(value, tuple) else [value]
        return self.FORMAT.pack(*values)

    @classmethod
    def unpack(cls, data, at=0):
        words = iter(cls.FORMAT.unpack_from(data, at))
        made = cls()
        for member in dataclasses.fields(cls):
            old = getattr(made, member.name)
            taken = tuple(next(words) for _ in old) if isinstance(old, tuple) else next(words)
            setattr(made, member.name, taken)
        return made
'''

BODY_BASE = '''
def _put(kind, value):
    if kind == "string":
        return struct.pack("<I", len(value)) + value
    if isinstance(kind, list):
        return struct.pack("<I", len(value)) + b"".join(_put(kind[0], element) for element in value)
    return struct.pack(kind, value) if isinstance(kind, str) else value.pack()


def _take(kind, data, at):
    """(value, end) of what begins at byte `at`."""
    if isinstance(kind, str) and kind != "string":
        return struct.unpack_from(kind, data, at)[0], at + struct.calcsize(kind)
    if isinstance(kind, type):
        return kind.take(data, at)
    (count,), at = struct.unpack_from("<I", data, at), at + 4
    if kind == "string":
        if len(data) < at + count:
            raise ValueError(f"a string of {count} bytes at byte {at} of {len(data)}")
        return bytes(data[at:at + count]), at + count
    values = []
    for _ in range(count):
        value, at = _take(kind[0], data, at)
        values.append(value)
    return values, at


@dataclasses.dataclass
class Body:
    """A control message without its header. Strings are bytes; pack() checks nothing, so that a test may send anything."""
    KINDS: ClassVar[tuple]

    def pack(self):
        return b"".join(_put(kind, getattr(self, member.name))
                        for kind, member in zip(self.KINDS, dataclasses.fields(self)))

    @classmethod
    def take(cls, data, at):
        made = cls()
        for kind, member in zip(cls.KINDS, dataclasses.fields(cls)):
            value, at = _take(kind, data, at)
            setattr(made, member.name, value)
        return made, at

    @classmethod
    def unpack(cls, data):
        made, end = cls.take(data, 0)
        if end != len(data):
            raise ValueError(f"{cls.__name__}: {len(data) - end} bytes are left over")
        return made
'''


def module_name(fmt):
    return f"drover_{fmt.stem}_format"


def identifier(name):
    return name + "_" if keyword.iskeyword(name) else name


class Module:
    def __init__(self, fmt):
        self.fmt = fmt
        self.lines = []

    def out(self, line=""):
        self.lines.append(line)

    def open(self, line, doc):
        self.out()
        self.out()
        self.out(line)
        if doc:
            self.out(f'    """{doc}"""'.replace("\\", "\\\\"))

    def member(self, indent, text, doc):
        self.out(indent + text + (f"  # {doc}" if doc else ""))

    def constants(self):
        self.out()
        for constant in self.fmt.constants:
            value = hex(constant["value"]) if constant.get("hex") else constant["value"]
            self.member("", f"{snake(constant['name']).upper()} = {value}", constant.get("doc"))

    def enums(self):
        for enum in self.fmt.enums:
            self.open(f"class {enum['name']}(enum.IntEnum):", enum.get("doc"))
            for value in enum["values"]:
                self.member("    ", f"{value['name'].upper()} = {value['value']}", value.get("doc"))

    def flags(self):
        for flags in self.fmt.flags:
            self.open(f"class {flags['name']}(enum.IntFlag):", flags.get("doc"))
            for value in flags["values"]:
                self.member("    ", f"{value['name'].upper()} = {1 << value['bit']:#x}", value.get("doc"))

    def words(self):
        for word in self.fmt.words:
            self.open(f"class {word['name']}:", word.get("doc") or f"A word of {word['bits']} bits, as a number.")
            self.out(f"    BITS = {word['bits']}")
            ranges = ", ".join(f'"{m["name"]}": ({m["at"]}, {m["bits"]})' for m in word["members"])
            self.out(f"    MEMBERS = {{{ranges}}}  # the lowest bit, bits")
            self.out()
            self.out("    @classmethod")
            self.out("    def pack(cls, **members):")
            self.out("        return _pack_bits(cls.MEMBERS, members)")
            self.out()
            self.out("    @classmethod")
            self.out("    def unpack(cls, word):")
            self.out("        return {name: word >> at & (1 << bits) - 1 for name, (at, bits) in cls.MEMBERS.items()}")

    def code(self, kind):
        """(struct code, default) of a member."""
        base, count = split_array(kind)
        if base in SCALARS and base != "u8":
            return (f"{count}{CODES[base]}", f"(0,) * {count}") if count else (CODES[base], "0")
        if base == "u8" and not count:
            return "B", "0"
        size = self.fmt.type_size(kind)
        return f"{size}s", f"bytes({size})"

    def structs(self):
        if self.fmt.structs:
            self.out()
            self.lines += STRUCT_BASE.splitlines()
        for struct in self.fmt.structs:
            self.open("@dataclasses.dataclass", None)
            self.out(f"class {struct['name']}(Record):")
            if struct.get("doc"):
                self.out(f'    """{struct["doc"]}"""')
            codes = "".join(self.code(member["type"])[0] for member in struct["members"])
            offsets = ", ".join(f'"{identifier(m["name"])}": {m["at"]}' for m in struct["members"])
            self.out(f'    FORMAT: ClassVar[struct.Struct] = struct.Struct("<{codes}")')
            self.out(f"    OFFSETS: ClassVar[dict] = {{{offsets}}}")
            self.out(f"    SIZE: ClassVar[int] = {struct['size']}")
            for member in struct["members"]:
                default = self.code(member["type"])[1]
                kind = "bytes" if default.startswith("bytes") else "tuple" if default.startswith("(") else "int"
                self.member("    ", f"{identifier(member['name'])}: {kind} = {default}", member.get("doc"))
            self.out()
            self.out()
            self.out(f"assert {struct['name']}.FORMAT.size == {struct['name']}.SIZE")

    def body_kind(self, kind):
        """(entry of KINDS, annotation, default) of a member."""
        if kind == "string":
            return '"string"', "bytes", 'b""'
        if kind.startswith("list of "):
            element = kind.removeprefix("list of ")
            entry = f'"<{CODES[element]}"' if element in CODES else camel(element)
            return f"[{entry}]", "list", "dataclasses.field(default_factory=list)"
        return f'"<{CODES[kind]}"', "int", "0"

    def bodies(self):
        if self.fmt.bodies:
            self.out()
            self.lines += BODY_BASE.splitlines()
        for body in self.fmt.bodies:
            self.open("@dataclasses.dataclass", None)
            self.out(f"class {camel(body['name'])}(Body):")
            self.out(f'    """{body.get("doc") or "From the " + body["from"] + "."}"""')
            kinds = [self.body_kind(member["type"]) for member in body["members"]]
            self.out(f"    KINDS: ClassVar[tuple] = ({''.join(kind[0] + ', ' for kind in kinds).rstrip()})")
            for member, (_, annotation, default) in zip(body["members"], kinds):
                self.member("    ", f"{identifier(member['name'])}: {annotation} = {default}", member.get("doc"))

    def text(self):
        self.out(f'"""{self.fmt.title} ({self.fmt.section}); written by tools/formats from {self.fmt.path}."""')
        for name in ("dataclasses", "enum", "struct"):
            self.out(f"import {name}")
        self.out("from typing import ClassVar")
        if self.fmt.constants:
            self.constants()
        if self.fmt.words:
            self.out()
            self.out()
            self.out("def _pack_bits(ranges, members):")
            self.out("    word = 0")
            self.out("    for name, value in members.items():")
            self.out("        at, bits = ranges[name]")
            self.out("        if not 0 <= value < 1 << bits:")
            self.out('            raise ValueError(f"{name} is {value}, expected less than 2^{bits}")')
            self.out("        word |= value << at")
            self.out("    return word")
        for part in (self.enums, self.flags, self.words, self.structs, self.bodies):
            part()
        return "\n".join(self.lines) + "\n"


def text(fmt):
    return Module(fmt).text()
