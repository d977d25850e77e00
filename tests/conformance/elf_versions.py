"""Makes a copy of an ELF program that starts on an older C library than the one it was linked with.

A program names, in .gnu.version_r, the versions of its libraries' symbols that it wants ("GLIBC_2.38"), and the
dynamic linker refuses to start it where one is missing, unless the entry has the flag "weak". This sets that flag on
the entries asked for; the symbols themselves then have to come from a preloaded library (old_libc.cc).
"""

import pathlib
import struct

SHT_GNU_VERNEED = 0x6FFFFFFE
VER_FLG_WEAK = 2


def sections(elf):
    """(type, file offset, size, link) of each section of a 64-bit little-endian ELF file."""
    if elf[:6] != b"\x7fELF\x02\x01":
        raise ValueError("not a 64-bit little-endian ELF file")
    offset, = struct.unpack_from("<Q", elf, 0x28)
    entry_size, count = struct.unpack_from("<HH", elf, 0x3A)
    for i in range(count):
        _, kind, _, _, at, size, link = struct.unpack_from("<IIQQQQI", elf, offset + i * entry_size)
        yield kind, at, size, link


def weaken(program, copy, versions):
    """Writes `program` to `copy` with its demand for `versions` made weak; gives the versions that were found."""
    elf = bytearray(pathlib.Path(program).read_bytes())
    table = list(sections(elf))
    found = set()
    for kind, at, _, link in table:
        if kind != SHT_GNU_VERNEED:
            continue
        strings = table[link][1]
        while True:  # a Verneed for each library, each with its chain of Vernaux
            _, count, _, first, next_need = struct.unpack_from("<HHIII", elf, at)
            aux = at + first
            for _ in range(count):
                _, flags, _, name, next_aux = struct.unpack_from("<IHHII", elf, aux)
                end = elf.index(b"\0", strings + name)
                version = elf[strings + name:end].decode()
                if version in versions:
                    struct.pack_into("<H", elf, aux + 4, flags | VER_FLG_WEAK)
                    found.add(version)
                aux += next_aux
            if next_need == 0:
                break
            at += next_need
    copy = pathlib.Path(copy)
    copy.write_bytes(elf)
    copy.chmod(0o755)
    return found
