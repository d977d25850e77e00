"""The tables of docs/formats.md: what stands between `<!-- format stem.Name -->` and `<!-- end -->`."""
import re

from definition import DefinitionError, camel

MARKED = re.compile(r"(<!-- format (\w+)\.(\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
    return "\n" + "\n".join(line.replace("|  |", "| |").replace("|  |", "| |") for line in lines) + "\n\n"


def bit_range(at, bits):
    return str(at) if bits == 1 else f"{at + bits - 1}:{at}"


def of_struct(struct):
    return table(("offset", "type", "name", "meaning"),
                 [(m["at"], m["type"].replace("atomic_", "atomic "), m["name"], m.get("doc", ""))
                  for m in struct["members"]])


def of_word(word):
    return table(("bits", "name", "meaning"),
                 [(bit_range(m["at"], m["bits"]), m["name"], m.get("doc") or (f"see {m['enum']}" if "enum" in m else ""))
                  for m in word["members"]])


def of_enum(enum):
    known = {"value", "name", "doc"}
    columns = list(dict.fromkeys(key for value in enum["values"] for key in value if key not in known))
    has_doc = any(value.get("doc") for value in enum["values"])
    head = ["value", "name", *(column.replace("_", " ") for column in columns), *(["meaning"] if has_doc else [])]
    return table(head, [[value["value"], value["name"], *(value.get(column, "") for column in columns),
                         *([value.get("doc", "")] if has_doc else [])] for value in enum["values"]])


def of_flags(flags):
    return table(("flag", "name", "meaning"),
                 [(1 << value["bit"], value["name"], value.get("doc", "")) for value in flags["values"]])


def of_constants(constants):
    return table(("name", "value", "meaning"),
                 [(c["name"], hex(c["value"]) if c.get("hex") else f"{c['value']:,}", c.get("doc", ""))
                  for c in constants])


def of_bodies(fmt):
    types = {value["name"]: value["value"] for value in fmt.find("enums", "ControlType")[1]["values"]}
    rows = []
    for body in fmt.bodies:
        members = "; ".join(f"{m['type']} {m['name']}" + (f" ({m['doc']})" if m.get("doc") else "")
                            for m in body["members"])
        text = ". ".join(part.rstrip(".") for part in (members, body.get("doc")) if part)
        rows.append((types.get(body["name"], ""), camel(body["name"]), body.get("from", ""), text))
    return table(("type", "name", "from", "body"), rows)


def fill(formats, text):
    by_stem = {fmt.stem: fmt for fmt in formats}

    def replace(match):
        begin, stem, name, end = match.groups()
        if stem not in by_stem:
            raise DefinitionError(f"{stem}.{name}: no such definition file")
        fmt = by_stem[stem]
        if name == "constants":
            return begin + of_constants(fmt.constants) + end
        if name == "bodies":
            return begin + of_bodies(fmt) + end
        for entries, write in ((fmt.structs, of_struct), (fmt.words, of_word), (fmt.enums, of_enum),
                               (fmt.flags, of_flags)):
            for entry in entries:
                if entry["name"] == name:
                    return begin + write(entry) + end
        raise DefinitionError(f"{stem}.{name}: not in {fmt.path}")

    return MARKED.sub(replace, text)
