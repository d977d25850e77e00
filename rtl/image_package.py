"""Writes drover_image_pkg.sv, the schema image's constants and offsets in SystemVerilog, from schema/image.def.

    python3 rtl/image_package.py schema/image.def build/.../drover_image_pkg.sv

Every line of image.def that is a macro becomes a localparam: the size of a struct, the byte offset of a member, a
constant, a kind with its wire type and storage. Names stand in lowRISC's UpperCamelCase.
"""
import re
import sys

LINE = re.compile(r"^DROVER_IMAGE_(STRUCT|FIELD|ARRAY|CONSTANT|KIND)\((.*)\)$")


def camel(name):
    return "".join(part[:1].upper() + part[1:] for part in name.split("_"))


def parameters(lines):
    for line in lines:
        match = LINE.match(line.strip())
        if not match:
            continue
        what, arguments = match[1], [a.strip() for a in match[2].split(",")]
        if what == "STRUCT":
            yield f"{arguments[0]}Size", int(arguments[1])
        elif what in ("FIELD", "ARRAY"):
            yield f"{arguments[0]}{camel(arguments[3])}At", int(arguments[1])
        elif what == "CONSTANT":
            yield arguments[0], int(arguments[1], 0)
        else:
            name, number, wire_type, storage = arguments
            yield f"Kind{name}", int(number)
            yield f"Kind{name}WireType", int(wire_type)
            yield f"Kind{name}Storage", int(storage)


def main():
    source, target = sys.argv[1:]
    with open(source, encoding="utf-8") as file:
        found = list(parameters(file))
    if not found:
        sys.exit(f"{source}: no DROVER_IMAGE_ line found")
    with open(target, "w", encoding="utf-8") as out:
        out.write("// The schema image (docs/formats.md, section 1); written by rtl/image_package.py from image.def.\n")
        out.write("/* verilator lint_off UNUSEDPARAM */\n")
        out.write("package drover_image_pkg;\n")
        for name, value in found:
            out.write(f"  localparam logic [31:0] {name} = 32'h{value:x};\n")
        out.write("endpackage\n/* verilator lint_on UNUSEDPARAM */\n")


if __name__ == "__main__":
    main()
