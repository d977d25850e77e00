"""Makes an echo.proto and request bodies from the published HyperProtoBench data.

The three messages that the benchmarks use come from different schemas, which share a file name and a package. Each is
self-contained (all its types are nested in it), so that it can be printed as proto2 source under the name that it has
in examples/echo/echo.proto: the same server source then builds with either. Writes OUT/echo.proto and
OUT/bodies/{small,medium,large}. Python's standard library only, since CMake runs this while it configures.
"""

import argparse
import pathlib
import struct
import sys

# name in echo.proto, bench, message there
MESSAGES = [("SmallMessage", "bench3", "M3"), ("MediumMessage", "bench4", "M43"), ("LargeMessage", "bench3", "M17")]

PROTO_HEAD = """\
// Made by bench/hyperprotobench.py from the published HyperProtoBench; do not edit.
syntax = "proto2";

package drover.examples.echo;

service Echo {
  rpc Unary(EchoMessage) returns (EchoMessage);
  rpc Small(SmallMessage) returns (SmallMessage);
  rpc Medium(MediumMessage) returns (MediumMessage);
  rpc Large(LargeMessage) returns (LargeMessage);
}

message EchoMessage {
  optional bytes payload = 1;
}
"""

LABELS = {1: "optional", 2: "required", 3: "repeated"}
SCALARS = {1: "double", 2: "float", 3: "int64", 4: "uint64", 5: "int32", 6: "fixed64", 7: "fixed32", 8: "bool",
           9: "string", 12: "bytes", 13: "uint32", 15: "sfixed32", 16: "sfixed64", 17: "sint32", 18: "sint64"}
TYPE_MESSAGE, TYPE_ENUM = 11, 14


class SchemaError(Exception):
    pass


def read_varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def fields(data):
    """The fields of an encoded descriptor, as {number: [values]}; descriptors hold varints and bytes only."""
    result, at = {}, 0
    while at < len(data):
        tag, at = read_varint(data, at)
        if tag & 7 == 0:
            value, at = read_varint(data, at)
        elif tag & 7 == 2:
            size, at = read_varint(data, at)
            value, at = data[at:at + size], at + size
            if len(value) != size:
                raise SchemaError("a descriptor is cut short")
        else:
            raise SchemaError(f"wire type {tag & 7} in a descriptor")
        result.setdefault(tag >> 3, []).append(value)
    return result


def text(message, number):
    return message[number][0].decode()


def signed32(value):
    return value - (1 << 64) if value >> 63 else value


def print_enum(enum, indent, out):
    out.append(f"{indent}enum {text(enum, 1)} {{")
    for value in map(fields, enum.get(2, [])):
        out.append(f"{indent}  {text(value, 1)} = {signed32(value.get(2, [0])[0])};")
    out.append(f"{indent}}}")


def print_field(field, prefix, name, indent, out):
    kind = field[5][0]
    if kind in (TYPE_MESSAGE, TYPE_ENUM):
        type_name = text(field, 6)
        if not (type_name + ".").startswith(prefix + "."):
            raise SchemaError(f"{type_name} lies outside of {prefix}")
        type_name = ".drover.examples.echo." + name + type_name[len(prefix):]
    elif kind in SCALARS:
        type_name = SCALARS[kind]
    else:
        raise SchemaError(f"field type {kind} is not handled")
    if 7 in field or 2 in field or 9 in field:
        raise SchemaError(f"{text(field, 1)}: defaults, extensions and oneofs are not handled")
    packed = ""
    if 8 in field:
        options = fields(field[8][0])
        if set(options) - {2}:
            raise SchemaError(f"{text(field, 1)}: options {sorted(options)} are not handled")
        packed = " [packed = true]" if options.get(2, [0])[0] else ""
    out.append(f"{indent}{LABELS[field[4][0]]} {type_name} {text(field, 1)} = {field[3][0]}{packed};")


def print_message(message, new_name, prefix, name, indent, out):
    """prefix is the whole message's old full name, name its new one; new_name is this (nested) message's."""
    unknown = set(message) - {1, 2, 3, 4}
    if unknown:
        raise SchemaError(f"{new_name}: parts {sorted(unknown)} of DescriptorProto are not handled")
    out.append(f"{indent}message {new_name} {{")
    for nested in map(fields, message.get(3, [])):
        print_message(nested, text(nested, 1), prefix, name, indent + "  ", out)
    for enum in map(fields, message.get(4, [])):
        print_enum(enum, indent + "  ", out)
    for field in map(fields, message.get(2, [])):
        print_field(field, prefix, name, indent + "  ", out)
    out.append(f"{indent}}}")


def find_message(directory, bench, wanted):
    file_set = fields((directory / bench / "schema.fds").read_bytes())
    for file in map(fields, file_set.get(1, [])):
        for message in map(fields, file.get(4, [])):
            if text(message, 1) == wanted:
                return message, f".{text(file, 2)}.{wanted}"
    raise SchemaError(f"{bench}/schema.fds has no message {wanted}")


def find_body(directory, bench, wanted):
    data, at = (directory / bench / "messages.bin").read_bytes(), 0
    while at < len(data):
        parts = []
        for _ in range(2):
            (size,) = struct.unpack_from("<I", data, at)
            parts.append(data[at + 4:at + 4 + size])
            at += 4 + size
        if parts[0].decode() == wanted:
            return parts[1]
    raise SchemaError(f"{bench}/messages.bin has no message {wanted}")


def write_if_changed(path, data):
    if not path.exists() or path.read_bytes() != data:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dir", type=pathlib.Path, required=True, help="folder with benchN/schema.fds, messages.bin")
    parser.add_argument("--out", type=pathlib.Path, required=True)
    args = parser.parse_args()
    lines = [PROTO_HEAD]
    try:
        for name, bench, wanted in MESSAGES:
            message, prefix = find_message(args.dir, bench, wanted)
            lines.append(f"// {bench}, {wanted}")
            print_message(message, name, prefix, name, "", lines)
            body = find_body(args.dir, bench, wanted)
            write_if_changed(args.out / "bodies" / name.removesuffix("Message").lower(), body)
    except (OSError, SchemaError, IndexError, KeyError, struct.error) as error:
        sys.exit(f"hyperprotobench.py: {args.dir}: {error!r}")
    write_if_changed(args.out / "echo.proto", ("\n".join(lines) + "\n").encode())


if __name__ == "__main__":
    main()
