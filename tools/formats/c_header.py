"""A plain C header of a format: constants and enums, structs with their offsets asserted, bits of words.

Names begin with drover_<stem>_: `struct drover_image_field_entry`, DROVER_IMAGE_FIELD_FLAG_PACKED. Of a word `w` (an
array of uint64_t, or bytes copied into one), drover_x_word_get_member(w) and drover_x_word_set_member(w, value).
"""
from definition import SCALARS, snake, split_array
from cpp_header import shown

TYPES = {kind: f"{'u' if kind[0] != 'i' else ''}int{8 * size}_t" for kind, size in SCALARS.items()}


class Header:
    def __init__(self, fmt):
        self.fmt = fmt
        self.prefix = f"drover_{fmt.stem}_"
        self.lines = []

    def out(self, line=""):
        self.lines.append(line)

    def note(self, text):
        return f" /* {text} */" if text else ""

    def doc(self, entry):
        self.out()
        if entry.get("doc"):
            self.out(f"/* {entry['doc']} */")

    def macro(self, *parts):
        return (self.prefix + "_".join(snake(part) for part in parts)).upper()

    def constants(self):
        self.out()
        for constant in self.fmt.constants:
            suffix = "ull" if constant.get("type") in ("u64", "i64", "size") else "u"
            self.out(f"#define {self.macro(constant['name'])} {constant['value']:#x}{suffix}"
                     f"{self.note(constant.get('doc'))}")

    def enums(self):
        for enum in self.fmt.enums:
            self.doc(enum)
            name = self.prefix + snake(enum["name"])
            self.out(f"enum {name} {{")
            for value in enum["values"]:
                self.out(f"  {self.macro(enum['name'], value['name'])} = {value['value']},{self.note(value.get('doc'))}")
            self.out("};")
            if "name_function" in enum:
                self.out(f"static inline const char *{name}_name(unsigned value) {{")
                self.out("  switch (value) {")
                for value in enum["values"]:
                    self.out(f"    case {value['value']}u: return "
                             f"\"{shown(value['name'], enum.get('name_style'))}\";")
                self.out(f"    default: return \"{enum.get('unknown', 'unknown')}\";")
                self.out("  }")
                self.out("}")

    def flags(self):
        for flags in self.fmt.flags:
            self.doc(flags)
            for value in flags["values"]:
                self.out(f"#define {self.macro(flags['name'], value['name'])} {1 << value['bit']:#x}u"
                         f"{self.note(value.get('doc'))}")

    def struct_name(self, reference):
        owner, struct = self.fmt.find("structs", reference)
        return f"struct drover_{owner.stem}_{snake(struct['name'])}"

    def structs(self):
        for struct in self.fmt.structs:
            self.doc(struct)
            name = f"struct {self.prefix}{snake(struct['name'])}"
            self.out(f"{name} {{")
            for member in struct["members"]:
                base, count = split_array(member["type"])
                kind = TYPES.get(base) or self.struct_name(base)
                suffix = f"[{count}]" if count else ""
                self.out(f"  {kind} {member['name']}{suffix};{self.note(member.get('doc'))}")
            self.out("};")
            self.out(f"_Static_assert(sizeof({name}) == {struct['size']}, \"size\");")
            for member in struct["members"]:
                self.out(f"_Static_assert(offsetof({name}, {member['name']}) == {member['at']}, "
                         f"\"{member['name']}\");")

    def words(self):
        for word in self.fmt.words:
            self.doc(word)
            name = self.prefix + snake(word["name"])
            words = (word["bits"] + 63) // 64
            self.out(f"#define {self.macro(word['name'], 'words')} {words}")
            for member in word["members"]:
                index, low = divmod(member["at"], 64)
                bits = member["bits"]
                mask = f"{(1 << bits) - 1:#x}ull"
                above = low + bits > 64
                self.out(f"static inline uint64_t {name}_get_{member['name']}(const uint64_t *w) {{")
                high = f" | w[{index + 1}] << {64 - low}" if above else ""
                self.out(f"  return (w[{index}] >> {low}{high}) & {mask};{self.note(member.get('doc'))}")
                self.out("}")
                self.out(f"static inline void {name}_set_{member['name']}(uint64_t *w, uint64_t value) {{")
                self.out(f"  w[{index}] = (w[{index}] & ~({mask} << {low})) | (value & {mask}) << {low};")
                if above:
                    self.out(f"  w[{index + 1}] = (w[{index + 1}] & ~({mask} >> {64 - low})) | "
                             f"(value & {mask}) >> {64 - low};")
                self.out("}")

    def text(self):
        guard = f"DROVER_{self.fmt.stem.upper()}_FORMAT_C_H"
        self.out(f"/* {self.fmt.title} ({self.fmt.section}); written by tools/formats from {self.fmt.path}. */")
        self.out(f"#ifndef {guard}")
        self.out(f"#define {guard}")
        self.out("#include <stddef.h>")
        self.out("#include <stdint.h>")
        used = {split_array(member["type"])[0].split(".")[0] for struct in self.fmt.structs
                for member in struct["members"] if "." in member["type"]}
        for stem in sorted(used):
            self.out(f"#include \"{self.fmt.others[stem].c_header}\"")
        for part in (self.constants, self.enums, self.flags, self.structs, self.words):
            part()
        self.out(f"#endif /* {guard} */")
        return "\n".join(self.lines) + "\n"


def text(fmt):
    return Header(fmt).text()
