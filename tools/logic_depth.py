"""The longest path of logic between two flip-flops or memories, in a netlist that yosys mapped (write_json).

LUTs and carry blocks count one level each, the muxes behind a LUT and inverters none; there is no wire delay. Memory
that is read in the same cycle counts one, from its address. Used by tools/synth_rtl.py.
"""
import json
import re

REGISTER = re.compile(r"FD[RSCP]E|RAMB|URAM|\$")
ADDRESS = re.compile(r"ADDR[A-G]|A\d?|DPRA\d?|A|RA")


def level_of(cell_type):
    return 0 if cell_type.startswith("MUXF") or cell_type == "INV" else 1


def inputs(cell):
    memory = cell["type"].startswith("RAM")
    for port, bits in cell["connections"].items():
        if cell["port_directions"][port] == "input" and (not memory or ADDRESS.fullmatch(port)):
            yield from bits


def longest(path, top):
    """(levels, of these carry blocks, combinational loops)"""
    with open(path, encoding="utf-8") as file:
        cells = json.load(file)["modules"][top]["cells"]
    driver = {}
    for name, cell in cells.items():
        for port, direction in cell["port_directions"].items():
            if direction == "output":
                driver.update((bit, name) for bit in cell["connections"][port])
    depth, carries, loops = {}, {}, 0
    for root in cells:
        stack = [root]
        waiting = set()
        while stack:
            name = stack[-1]
            cell = cells[name]
            if name in depth:
                stack.pop()
                continue
            if REGISTER.match(cell["type"]):
                depth[name] = carries[name] = 0
                continue
            sources = {driver[bit] for bit in inputs(cell) if bit in driver}
            missing = [source for source in sources if source not in depth]
            if missing and name not in waiting:
                waiting.add(name)
                fresh = [source for source in missing if source not in waiting]
                loops += len(missing) - len(fresh)
                stack += fresh
                continue
            known = [source for source in sources if source in depth]
            deepest = max(known, key=depth.get, default=None)
            depth[name] = level_of(cell["type"]) + (depth[deepest] if deepest else 0)
            carries[name] = (cell["type"].startswith("CARRY")) + (carries[deepest] if deepest else 0)
    end = max(depth, key=depth.get)
    return depth[end], carries[end], loops
