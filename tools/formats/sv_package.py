"""A SystemVerilog package of a format: constants, typed enums, packed structs whose first bit is the first byte's."""
from definition import CONSTANTS, SCALARS, camel, snake, split_array

KEYWORDS = {"begin", "bit", "byte", "case", "class", "default", "do", "end", "event", "final", "for", "function", "if", "input",
            "int", "interface", "local", "output", "packed", "priority", "ref", "release", "sequence", "string", "tagged", "this",
            "type", "union", "unique", "wait", "with"}


def identifier(name):
    return name + "_" if name in KEYWORDS else name


def comment(text):
    return f"  // {text}" if text else ""


def range_of(bits):
    return "" if bits == 1 else f" [{bits - 1}:0]"


class Package:
    def __init__(self, fmt):
        self.fmt = fmt
        self.lines = []

    def out(self, line=""):
        self.lines.append(line)

    def type_name(self, table, reference, suffix):
        owner, entry = self.fmt.find(table, reference)
        name = f"{snake(entry['name'])}{suffix}"
        return name if owner is self.fmt else f"{owner.package}::{name}"

    def typed(self, member, bits):
        if "enum" in member:
            return self.type_name("enums", member["enum"], "_e")
        if "word" in member:
            return self.type_name("words", member["word"], "_t")
        if "flags" in member:
            return self.type_name("flags", member["flags"], "s_t")
        return "logic" + range_of(bits)

    def constants(self):
        for constant in self.fmt.constants:
            bits = constant.get("bits") or max(32, 8 * CONSTANTS[constant.get("type", "u32")])
            self.out(f"  localparam logic [{bits - 1}:0] {constant['name']} = {bits}'h{constant['value']:x};"
                     f"{comment(constant.get('doc'))}")

    def enums(self):
        for enum in self.fmt.enums:
            self.out()
            if enum.get("doc"):
                self.out(f"  // {enum['doc']}")
            self.out(f"  typedef enum logic{range_of(enum['bits'])} {{")
            last = enum["values"][-1]
            for value in enum["values"]:
                comma = "" if value is last else ","
                self.out(f"    {enum['prefix']}{camel(value['name'])} = {enum['bits']}'d{value['value']}{comma}"
                         f"{comment(value.get('doc'))}")
            self.out(f"  }} {snake(enum['name'])}_e;")
            for column in enum.get("tables", []):
                for value in enum["values"]:
                    self.out(f"  localparam logic [31:0] {enum['prefix']}{camel(value['name'])}{camel(column)} = "
                             f"32'd{value[column]};")

    def flags(self):
        for flags in self.fmt.flags:
            width = 8 * SCALARS[flags["type"]]
            self.out()
            if flags.get("doc"):
                self.out(f"  // {flags['doc']}")
            for value in flags["values"]:
                self.out(f"  localparam logic [31:0] {flags['prefix']}{camel(value['name'])} = 32'd{1 << value['bit']};")
            members = [{"at": value["bit"], "bits": 1, "name": value["name"], "doc": value.get("doc")}
                       for value in flags["values"]]
            self.packed(f"{snake(flags['name'])}s_t", width, members)

    def packed(self, name, width, members):
        """`members` have `at` and `bits`; what is between them is reserved."""
        parts, at = [], 0
        for member in members:
            if member["at"] > at:
                parts.append((f"logic{range_of(member['at'] - at)}", f"gap_{at}", ""))
            parts.append((self.typed(member, member["bits"]), identifier(member["name"]), member.get("doc")))
            at = member["at"] + member["bits"]
        if at < width:
            parts.append((f"logic{range_of(width - at)}", f"gap_{at}", ""))
        self.out("  typedef struct packed {")
        for kind, member, doc in reversed(parts):
            self.out(f"    {kind} {member};{comment(doc)}")
        self.out(f"  }} {name};")

    def words(self):
        for word in self.fmt.words:
            self.out()
            if word.get("doc"):
                self.out(f"  // {word['doc']}")
            self.out(f"  localparam int unsigned {word['name']}Bits = {word['bits']};")
            self.packed(f"{snake(word['name'])}_t", word["bits"], word["members"])

    def structs(self):
        for struct in self.fmt.structs:
            self.out()
            if struct.get("doc"):
                self.out(f"  // {struct['doc']}")
            self.out(f"  localparam logic [31:0] {struct['name']}Bytes = 32'd{struct['size']};")
            members = []
            for member in struct["members"]:
                self.out(f"  localparam logic [31:0] {struct['name']}{camel(member['name'])}At = 32'd{member['at']};")
                base, count = split_array(member["type"])
                bits = 8 * self.fmt.type_size(member["type"])
                plain = base not in SCALARS or count != 0
                members.append({**({} if plain else member), "name": member["name"], "doc": member.get("doc"),
                                "at": 8 * member["at"], "bits": bits})
            self.packed(f"{snake(struct['name'])}_t", 8 * struct["size"], members)

    def text(self):
        self.out(f"// {self.fmt.title} ({self.fmt.section}); written by tools/formats from {self.fmt.path}.")
        self.out("/* verilator lint_off UNUSEDPARAM */")
        self.out("/* verilator lint_off VARHIDDEN */")
        self.out(f"package {self.fmt.package};")
        for part in (self.constants, self.enums, self.flags, self.words, self.structs):
            part()
        self.out("endpackage")
        self.out("/* verilator lint_on VARHIDDEN */")
        self.out("/* verilator lint_on UNUSEDPARAM */")
        return "\n".join(self.lines) + "\n"


def text(fmt):
    return Package(fmt).text()
