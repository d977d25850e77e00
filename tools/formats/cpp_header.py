"""A C++ header of a format: constants, enums, structs with their offsets asserted, words that encode and decode."""
from definition import SCALARS, camel, split_array

TYPES = {"u8": "uint8_t", "u16": "uint16_t", "u32": "uint32_t", "u64": "uint64_t",
         "i8": "int8_t", "i16": "int16_t", "i32": "int32_t", "i64": "int64_t",
         "atomic_u32": "std::atomic<uint32_t>", "atomic_u64": "std::atomic<uint64_t>", "size": "size_t"}


def comment(text):
    return f"  // {text}" if text else ""


def unsigned_of(bits):
    return next(f"uint{size}_t" for size in (8, 16, 32, 64) if bits <= size)


def shown(name, style):
    return {"camel": camel(name), "words": name.replace("_", " ")}.get(style, name)


class Header:
    def __init__(self, fmt):
        self.fmt = fmt
        self.lines = []

    def out(self, line=""):
        self.lines.append(line)

    def doc(self, entry):
        self.out()
        if entry.get("doc"):
            self.out(f"// {entry['doc']}")

    def qualified(self, owner, name):
        return name if owner.namespace == self.fmt.namespace else f"{owner.namespace}::{name}"

    def constants(self):
        self.out()
        for constant in self.fmt.constants:
            kind = constant.get("type", "u32")
            value = constant["value"]
            number = hex(value) if constant.get("hex") or value >= 1 << 31 else str(value)
            self.out(f"inline constexpr {TYPES[kind]} k{constant['name']} = {number};{comment(constant.get('doc'))}")

    def enums(self):
        for enum in self.fmt.enums:
            self.doc(enum)
            kind = TYPES[enum["type"]]
            names = []
            if enum["cpp"] == "constants":
                for value in enum["values"]:
                    names.append(f"k{enum['prefix']}{camel(value['name'])}")
                    self.out(f"inline constexpr {kind} {names[-1]} = {value['value']};{comment(value.get('doc'))}")
            else:
                self.out(f"enum class {enum['name']} : {kind} {{")
                for value in enum["values"]:
                    enumerator = f"k{camel(value['name'])}"
                    names.append(f"{enum['name']}::{enumerator}")
                    self.out(f"  {enumerator} = {value['value']},{comment(value.get('doc'))}")
                self.out("};")
            for column in enum.get("tables", []):
                count = enum["values"][-1]["value"] + 1
                by_number = {value["value"]: value[column] for value in enum["values"]}
                cells = ", ".join(str(by_number.get(number, 0)) for number in range(count))
                self.out(f"inline constexpr uint8_t k{camel(column)}Of{enum['name']}[{count}] = {{{cells}}};")
            if "name_function" in enum:
                parameter = enum["name"] if enum["cpp"] != "constants" else kind
                self.out(f"constexpr const char* {enum['name_function']}({parameter} value) {{")
                self.out("  switch (value) {")
                for value, name in zip(enum["values"], names):
                    self.out(f"    case {name}:")
                    self.out(f"      return \"{shown(value['name'], enum.get('name_style'))}\";")
                self.out("  }")
                self.out(f"  return \"{enum.get('unknown', 'unknown')}\";")
                self.out("}")

    def flags(self):
        for flags in self.fmt.flags:
            self.doc(flags)
            for value in flags["values"]:
                self.out(f"inline constexpr uint32_t k{flags['prefix']}{camel(value['name'])} = {1 << value['bit']};"
                         f"{comment(value.get('doc'))}")
            known = sum(1 << value["bit"] for value in flags["values"])
            self.out(f"inline constexpr uint32_t k{flags['prefix']}sKnown = {known};")

    def member_type(self, member):
        if "enum" in member:
            owner, enum = self.fmt.find("enums", member["enum"])
            if enum["cpp"] != "constants":
                return self.qualified(owner, enum["name"])
        if "word" in member:
            owner, word = self.fmt.find("words", member["word"])
            return self.qualified(owner, word["name"])
        return "bool" if member["bits"] == 1 else unsigned_of(member["bits"])

    def words(self):
        for word in self.fmt.words:
            self.doc(word)
            count = (word["bits"] + 63) // 64
            self.out(f"struct {word['name']} {{")
            self.out(f"  static constexpr unsigned kBits = {word['bits']};")
            if word["bits"] <= 64:  # where its members stand in it, for code that keeps it as an integer
                whole = unsigned_of(word["bits"])
                for member in word["members"]:
                    mask = (1 << member["bits"]) - 1 << member["at"]
                    self.out(f"  static constexpr unsigned k{camel(member['name'])}Shift = {member['at']};")
                    self.out(f"  static constexpr {whole} k{camel(member['name'])}Mask = {mask:#x};")
            for member in word["members"]:
                self.out(f"  {self.member_type(member)} {member['name']} = {{}};{comment(member.get('doc'))}")
            puts, gets = [], []
            for member in word["members"]:
                puts += self.put(word, member)
                gets.append(self.get(word, member))
            if count == 1:
                result = unsigned_of(word["bits"])
                self.out(f"  constexpr {result} encode() const {{")
                self.out("    uint64_t word[1] = {};")
                for line in puts:
                    self.out(f"    {line}")
                self.out(f"    return static_cast<{result}>(word[0]);")
                self.out("  }")
                self.out(f"  static constexpr {word['name']} decode({result} from) {{")
                self.out("    const uint64_t word[1] = {from};")
            else:
                self.out(f"  static constexpr unsigned kWords = {count};")
                self.out(f"  constexpr void encode(uint64_t (&word)[{count}]) const {{")
                self.out("    for (uint64_t& each : word) each = 0;")
                for line in puts:
                    self.out(f"    {line}")
                self.out("  }")
                self.out(f"  static {word['name']} decode(const void* bytes) {{  // {8 * count} of them")
                self.out(f"    uint64_t word[{count}];")
                self.out("    __builtin_memcpy(word, bytes, sizeof word);")
            self.out(f"    {word['name']} to;")
            for line in gets:
                self.out(f"    {line}")
            self.out("    return to;")
            self.out("  }")
            self.out(f"  friend constexpr bool operator==(const {word['name']}&, const {word['name']}&) = default;")
            self.out("};")

    def put(self, word, member):
        value = member["name"] + (".encode()" if "word" in member else "")
        mask = (1 << member["bits"]) - 1
        index, low = divmod(member["at"], 64)
        lines = [f"word[{index}] |= (static_cast<uint64_t>({value}) & {mask:#x}) << {low};"]
        if low + member["bits"] > 64:
            lines.append(f"word[{index + 1}] |= (static_cast<uint64_t>({value}) & {mask:#x}) >> {64 - low};")
        return lines

    def get(self, word, member):
        mask = (1 << member["bits"]) - 1
        index, low = divmod(member["at"], 64)
        value = f"word[{index}] >> {low}"
        if low + member["bits"] > 64:
            value = f"({value} | word[{index + 1}] << {64 - low})"
        kind = self.member_type(member)
        if "word" in member:
            inner = self.fmt.find("words", member["word"])[1]
            return (f"to.{member['name']} = {kind}::decode(static_cast<{unsigned_of(inner['bits'])}>"
                    f"({value} & {mask:#x}));")
        return f"to.{member['name']} = static_cast<{kind}>({value} & {mask:#x});"

    def bodies(self):
        for body in self.fmt.bodies:
            self.doc(body)
            name = body["name"]
            self.out(f"inline constexpr size_t kSmallest{camel(name)} = {self.fmt.smallest(body)};")
            if not body["members"]:
                continue
            self.out("template <typename Visitor, typename Body>")
            self.out(f"void visit_{name}(Visitor& visitor, Body& body) {{")
            for member in body["members"]:
                path = f"body.{member.get('path', member['name'])}"
                if member["type"] in SCALARS:
                    self.out(f"  static_assert(sizeof({path}) == {SCALARS[member['type']]});")
                self.out(f"  visitor(\"{member['name']}\", {path});{comment(member.get('doc'))}")
            self.out("}")

    def type_name(self, base):
        if base in TYPES:
            return TYPES[base]
        owner, struct = self.fmt.find("structs", base)
        return self.qualified(owner, struct["name"])

    def structs(self):
        for struct in self.fmt.structs:
            self.doc(struct)
            align = f"alignas({struct['align']}) " if "align" in struct else ""
            initial = " = {}" if struct.get("zeroed") else ""
            self.out(f"struct {align}{struct['name']} {{")
            for member in struct["members"]:
                base, count = split_array(member["type"])
                suffix = f"[{count}]" if count else ""
                self.out(f"  {self.type_name(base)} {member['name']}{suffix}{initial};{comment(member.get('doc'))}")
            self.out("};")
            self.out(f"static_assert(sizeof({struct['name']}) == {struct['size']});")
            for member in struct["members"]:
                self.out(f"static_assert(offsetof({struct['name']}, {member['name']}) == {member['at']});")

    def text(self):
        self.out(f"// {self.fmt.title} ({self.fmt.section}); written by tools/formats from {self.fmt.path}.")
        self.out("#pragma once")
        self.out()
        atomic = any(m["type"].startswith("atomic") for s in self.fmt.structs for m in s["members"])
        if atomic:
            self.out("#include <atomic>")
        self.out("#include <cstddef>")
        self.out("#include <cstdint>")
        used = {reference.split(".")[0] for table in (self.fmt.words, self.fmt.structs) for entry in table
                for member in entry["members"] for reference in (member.get("enum", ""), member.get("type", ""))
                if "." in reference}
        if used:
            self.out()
        for stem in sorted(used):
            self.out(f"#include \"{self.fmt.others[stem].header}\"")
        self.out()
        self.out(f"namespace {self.fmt.namespace} {{")
        for part in (self.constants, self.enums, self.flags, self.words, self.structs,
                     self.bodies):
            part()
        self.out()
        self.out(f"}}  // namespace {self.fmt.namespace}")
        return "\n".join(self.lines) + "\n"


def text(fmt):
    return Header(fmt).text()
