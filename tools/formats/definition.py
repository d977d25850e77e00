"""Definition files: one TOML file for each format that crosses a boundary, in the room that owns it.

A file `room/stem.toml` has these keys and tables; `doc` is text for people, and goes to all that is generated.

    title, doc, section     of docs/formats.md
    namespace               of the C++ header; C names begin with drover_<stem>_, the SystemVerilog package is
                            drover_<stem>_pkg
    constant = [...]        name (UpperCamelCase), value: a number, or a sum such as "2 + channel.MaxEngineThreads"; doc; type (default u32; size: size_t); hex: shown so; bits:
                            width in SystemVerilog (32)
    [[enum]]                name, type, values = [{value, name, doc}]; bits: its width in a word; cpp: how C++ has it
                            ("class": enum class of kNames; "constants": kPrefixName of the type `type`); prefix: of
                            constants and of SystemVerilog names; name_function: the C++ function from a value to its
                            name; name_style: "snake", "camel", "words"; extends: "stem.Enum", whose values come first,
                            up to the value `last`; tables: columns of numbers beside the values
    [[flags]]               name, type, values = [{bit, name, doc}]; prefix
    [[struct]]              name, size, members = [{at, type, name, doc}], offsets and sizes in bytes. type: u8..u64,
                            i8..i64, atomic_u32, atomic_u64, a struct of this file, with [n] for arrays; enum, flags,
                            word: what the member holds
    [[word]]                name, bits, members = [{at, bits, name, doc}], in bits from the lowest; enum, word as above
    [[body]]                a control message: name, from, members = [{type, name, doc}] in order, unaligned; type: also
                            string, "list of i32", "list of <body>"; path: of the C++ member, if not its name

Names of members and values are snake_case. Every file is checked when it is read: names, order, gaps, overlaps.
"""
import pathlib
import re
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCALARS = {"u8": 1, "u16": 2, "u32": 4, "u64": 8, "i8": 1, "i16": 2, "i32": 4, "i64": 8,
           "atomic_u32": 4, "atomic_u64": 8}
CONSTANTS = SCALARS | {"size": 8}


class DefinitionError(Exception):
    pass


def camel(name):
    return "".join(part[:1].upper() + part[1:] for part in name.split("_"))


def snake(name):
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def split_array(kind):
    """("u32", 6) of "u32[6]"; a count of 0: not an array."""
    match = re.fullmatch(r"([\w.]+)(?:\[(\d+)\])?", kind)
    if not match:
        raise DefinitionError(f"{kind!r} is no type")
    return match[1], int(match[2] or 0)


class Format:
    """One definition file: its tables as dictionaries, completed and checked."""

    KEYS = {
        "constant": {"name", "value", "doc", "type", "bits", "hex"},
        "enum": {"name", "doc", "type", "bits", "cpp", "prefix", "values", "name_function", "extends", "last", "tables",
                 "unknown", "name_style"},
        "flags": {"name", "doc", "type", "prefix", "values"},
        "struct": {"name", "doc", "size", "members", "align", "zeroed"},
        "word": {"name", "doc", "bits", "members"},
        "body": {"name", "doc", "from", "members"},
    }

    def __init__(self, path, others):
        self.path = path
        self.stem = path.rsplit("/", 1)[-1].removesuffix(".toml")
        with open(ROOT / path, "rb") as file:
            data = tomllib.load(file)
        self.title, self.doc, self.namespace = data.pop("title"), data.pop("doc"), data.pop("namespace")
        self.section = data.pop("section")
        self.package = f"drover_{self.stem}_pkg"
        self.header = path.removesuffix(".toml") + "_format.h"
        self.c_header = path.removesuffix(".toml") + "_format_c.h"
        self.others = {other.stem: other for other in others}
        for table, keys in self.KEYS.items():
            entries = data.pop(table, [])
            setattr(self, {"body": "bodies", "flags": "flags"}.get(table, table + "s"), entries)
            for entry in entries:
                if unknown := set(entry) - keys:
                    self.fail(f"{entry.get('name')}: unknown keys {sorted(unknown)}")
        if data:
            self.fail(f"unknown tables {sorted(data)}")
        for check in (self.check_constants, self.check_enums, self.check_flags, self.check_words, self.check_structs,
                      self.check_bodies, self.check_names):
            check()

    def fail(self, what):
        raise DefinitionError(f"{self.path}: {what}")

    # ---- look-ups, by a name or "stem.name" of another file
    def find(self, table, reference):
        stem, _, name = reference.rpartition(".")
        owner = self if not stem or stem == self.stem else self.others.get(stem)
        if owner is None:
            self.fail(f"{reference}: no such file before this one")
        for entry in getattr(owner, table):
            if entry["name"] == name:
                return owner, entry
        return self.fail(f"{reference} is not among the {table}")

    def type_size(self, kind):
        base, count = split_array(kind)
        size = SCALARS[base] if base in SCALARS else self.find("structs", base)[1]["size"]
        return size * max(count, 1)

    # ---- checks
    def check_constants(self):
        for constant in self.constants:
            if isinstance(constant["value"], str):
                terms = [term.strip() for term in constant["value"].split("+")]
                constant["value"] = sum(int(term, 0) if term[:1].isdigit() else
                                        self.find("constants", term)[1]["value"] for term in terms)

    def check_enums(self):
        for enum in self.enums:
            if "extends" in enum:
                owner, base = self.find("enums", enum["extends"])
                last = enum.get("last", 1 << 64)
                known = {value["value"] for value in enum.get("values", [])}
                taken = [value for value in base["values"] if value["value"] <= last and value["value"] not in known]
                enum["values"] = sorted(taken + enum.get("values", []), key=lambda value: value["value"])
            enum.setdefault("bits", 8 * SCALARS[enum["type"]])
            enum.setdefault("cpp", "class")
            enum.setdefault("prefix", enum["name"])
            seen = set()
            for value in enum["values"]:
                number = value["value"]
                if number in seen or not 0 <= number < 1 << enum["bits"]:
                    self.fail(f"{enum['name']}.{value['name']}: {number} is used twice or too large")
                seen.add(number)
            if [v["value"] for v in enum["values"]] != sorted(seen):
                self.fail(f"{enum['name']}: values do not ascend")

    def check_flags(self):
        for flags in self.flags:
            flags.setdefault("prefix", flags["name"])
            bits = [value["bit"] for value in flags["values"]]
            if bits != sorted(set(bits)) or bits[-1] >= 8 * SCALARS[flags["type"]]:
                self.fail(f"{flags['name']}: bits do not ascend, or do not fit {flags['type']}")

    def check_words(self):
        for word in self.words:
            at = 0
            for member in word["members"]:
                if member["at"] < at:
                    self.fail(f"{word['name']}.{member['name']}: lies over the member before it")
                at = member["at"] + member["bits"]
                if "enum" in member and self.find("enums", member["enum"])[1]["bits"] != member["bits"]:
                    self.fail(f"{word['name']}.{member['name']}: has not the width of {member['enum']}")
                if "word" in member and self.find("words", member["word"])[1]["bits"] != member["bits"]:
                    self.fail(f"{word['name']}.{member['name']}: has not the width of {member['word']}")
            if at > word["bits"]:
                self.fail(f"{word['name']}: members of {at} bits in {word['bits']}")

    def check_bodies(self):
        names = [body["name"] for body in self.bodies]
        for body in self.bodies:
            for member in body["members"]:
                kind = member["type"]
                if kind not in (*SCALARS, "string", "list of i32", *(f"list of {name}" for name in names)):
                    self.fail(f"{body['name']}.{member['name']}: {kind!r} is no type")

    def smallest(self, body):
        """Bytes of a body whose strings and lists are empty."""
        return sum(SCALARS.get(member["type"], 4) for member in body["members"])

    def check_structs(self):
        for struct in self.structs:
            at = 0
            for member in struct["members"]:
                size = self.type_size(member["type"])
                if member["at"] != at:
                    self.fail(f"{struct['name']}.{member['name']}: at {member['at']}, the one before ends at {at}")
                base, _ = split_array(member["type"])
                if base in SCALARS and at % SCALARS[base]:
                    self.fail(f"{struct['name']}.{member['name']}: not aligned")
                for table in ("enum", "word"):
                    if table in member and self.find(table + "s", member[table])[1]["bits"] != 8 * size:
                        self.fail(f"{struct['name']}.{member['name']}: has not the width of {member[table]}")
                at += size
            if at != struct["size"]:
                self.fail(f"{struct['name']}: members of {at} bytes in {struct['size']}")

    def check_names(self):
        tops = [entry["name"] for table in (self.constants, self.enums, self.flags, self.structs, self.words)
                for entry in table]
        groups = [("constants, enums and structs", tops, r"[A-Z][A-Za-z0-9]*")]
        for table, key in ((self.enums, "values"), (self.flags, "values"), (self.structs, "members"),
                           (self.words, "members"), (self.bodies, "members")):
            groups += [(entry["name"], [part["name"] for part in entry[key]], r"[a-z][a-z0-9_]*") for entry in table]
        for what, names, form in groups:
            for name in names:
                if names.count(name) > 1:
                    self.fail(f"{what}: {name} twice")
                if not re.fullmatch(form, name):
                    self.fail(f"{what}: {name!r} is not of the form {form}")


def load_all(paths):
    """Formats of those files, given in the order of their references."""
    formats = []
    for path in paths:
        formats.append(Format(path, formats))
    return formats
