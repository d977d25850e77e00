"""Area and logic depth of the RTL by yosys (synth_xilinx -family xcup), a table on the standard output.

    .venv/bin/python tools/synth_rtl.py --packages FILE ... [--block NAME ...] [--json FILE | --read]

--json adds the results to those that FILE has of other blocks.

Blocks are modules with parameters, listed below; a block with an indented name is a part of the one above, synthesized
alone, which costs a little more than inside. The four lanes of `deserializer` are one netlist, four times. LUT counts
LUT1 to LUT6, and what muxes they feed cost nothing more; LUTRAM counts LUTs used as memory, most of it FIFOs, and SRL
those used as shift registers. The longest path is in levels of LUTs and carry blocks inside the block
(tools/logic_depth.py).
"""
import argparse
import json
import os
import re
import sys
import tempfile

import logic_depth
from pyosys import libyosys as ys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TABLE = {"StepsLog2": 12}  # a schema table of 4,096 steps
# block: folder of rtl/, top, parameters
BLOCKS = {
    "deserializer": ("deserializer", "drover_deserializer", TABLE),
    "deserializer-lane": ("deserializer", "deser_lane", TABLE),
    "  front": ("deserializer", "deser_front", {}),
    "  table": ("deserializer", "deser_table", TABLE),
    "  utf8": ("deserializer", "deser_utf8", {}),
    "  store": ("deserializer", "deser_store", {}),
    "  writer": ("deserializer", "deser_writer", {}),
    "serializer": ("serializer", "drover_serializer", {}),
    "  records": ("serializer", "ser_records", {}),
    "  walker": ("serializer", "ser_walker", {}),
    "  encoder": ("serializer", "ser_encoder", {}),
    "  arena": ("serializer", "ser_arena", {}),
    "  gather": ("serializer", "ser_gather", {}),
    "  reader": ("serializer", "ser_reader", {}),
    "nic-host": ("nic", "nic_host", {"Interface": 2}),
    "  mmio": ("nic", "nic_host", {"Interface": 0}),
    "  doorbell": ("nic", "nic_host", {"Interface": 1}),
    "  cxl": ("nic", "nic_host", {"Interface": 3}),
    "  synchronous": ("nic", "nic_host", {"Interface": 2, "Threading": 1}),
    "nic-net": ("nic", "nic_net", {}),
    "nic-net-udp": ("nic", "nic_net", {"Transport": 0}),
    "  check": ("nic", "nic_net_check", {}),
    "  build": ("nic", "nic_net_build", {}),
    "  queues": ("nic", "nic_net_queues", {}),
    "  tx": ("nic", "nic_net_tx", {}),
    "  rx": ("nic", "nic_net_rx", {}),
    "  sweep": ("nic", "nic_net_sweep", {}),
    "  manager": ("nic", "nic_net_manager", {}),
    "  net-registers": ("nic", "nic_net_registers", {}),
    "drover-nic": ("nic", "drover_nic", {}),
}
# What --read looks at, and what the total is of.
ENGINES = ("deserializer", "serializer")
READ = (*ENGINES, "drover-nic", "  mmio", "  doorbell", "  cxl", "nic-net-udp")
# In this block, that module is synthesized once and not dissolved; it is the block named behind it.
KEPT = {"deserializer": ("deser_lane", "deserializer-lane")}
PAPER = """
RpcNIC's paper, table IV, on the same FPGA family     LUT      REG    BRAM
  serializer                                          30K      11K      55
  deserializer                                        15K     7.8K       6
  RpcNIC whole                                       170K     207K     552
  ProtoACC-PCIe whole                                221K     237K     592
Its wholes hold the transport, the PCIe bridge and the HBM controller too, which are not in this repository.
Here, the schema table (steps and side words, once a lane) is the most of the deserializer's BRAM."""


def sources(folder):
    """The folder's sources in the order of imports, as its lists say; every source has to be in one of them."""
    names = sorted(os.listdir(f"{ROOT}/rtl/{folder}"))
    listed = []
    for name in names:
        if name.endswith(".f"):
            with open(f"{ROOT}/rtl/{folder}/{name}", encoding="utf-8") as file:
                listed += [line.strip() for line in file if line.strip() and not line.startswith("//")]
    there = {name for name in names if name.endswith(".sv")}
    if set(listed) != there:
        sys.exit(f"rtl/{folder}'s lists and the folder differ in {', '.join(sorted(there ^ set(listed)))}")
    return [f"{ROOT}/rtl/{folder}/{name}" for name in listed]


def read(block, packages, log=os.devnull):
    folder, top, parameters = BLOCKS[block]
    files = [*packages, *sources("common"), *sources(folder)]
    design = ys.Design()
    ys.run_pass(f"tee -q -o {log} read_verilog -sv -DSYNTHESIS -I{ROOT}/rtl/common " + " ".join(files), design)
    sets = " ".join(f"-set {name} {value}" for name, value in parameters.items())
    if sets:
        ys.run_pass(f"chparam {sets} {top}", design)
    ys.run_pass(f"tee -q -a {log} hierarchy -check -top {top}", design)
    return design


def warnings_of(block, packages):
    """What yosys warns of when it reads the block: it gives undefined bits to what it does not know."""
    with tempfile.NamedTemporaryFile() as log:
        read(block, packages, log.name)
        with open(log.name, encoding="utf-8") as file:
            return [line.strip() for line in file if "Warning: " in line and "Replacing memory" not in line]


def modules_of(design, work):
    """Cells by type, of each module, without those of other modules in it."""
    path = f"{work}/stat.json"
    ys.run_pass(f"tee -q -o {path} stat -json", design)
    with open(path, encoding="utf-8") as file:
        modules = json.load(file)["modules"]
    return {name.lstrip("\\"): {k.lstrip("\\"): n for k, n in module["num_cells_by_type"].items()}
            for name, module in modules.items()}


def with_inner(modules, name):
    """Cells by type of a module and of all in it."""
    total = {}
    for kind, number in modules[name].items():
        for inner, n in (with_inner(modules, kind) if kind in modules else {kind: 1}).items():
            total[inner] = total.get(inner, 0) + n * number
    return total


def count(by_type, names):
    return sum(n for name, n in by_type.items() if re.fullmatch(names, name))


LUTRAM = {"RAM32X1S": 1, "RAM64X1S": 1, "RAM128X1S": 2, "RAM32X1D": 2, "RAM64X1D": 2, "RAM128X1D": 4,
          "RAM256X1D": 8, "RAM32M": 4, "RAM64M": 4, "RAM32M16": 8, "RAM64M8": 8, "RAM512X1S": 8}


def area(by_type):
    return {
        "lut": count(by_type, r"LUT\d|INV"),
        "lutram": sum(n * LUTRAM.get(name, 0) for name, n in by_type.items()),
        "srl": count(by_type, r"SRL\w+"),
        "ff": count(by_type, r"FD[RSCP]E"),
        "bram": count(by_type, r"RAMB36E2") + 0.5 * count(by_type, r"RAMB18E2"),
        "uram": count(by_type, r"URAM.*"),
        "carry": count(by_type, r"CARRY\d"),
    }


def synthesize(block, packages, work):
    """Results of the block, by name, and of the module in it that is kept whole."""
    design = read(block, packages)
    kept, kept_block = KEPT.get(block, (None, None))
    if kept:
        ys.run_pass(f"setattr -mod -set keep_hierarchy 1 $paramod*{kept}*", design)
    ys.run_pass("synth_xilinx -family xcup -flatten -noiopad -noclkbuf", design)  # its name has the parameters in it
    modules = modules_of(design, work)
    netlist = f"{work}/netlist.json"
    ys.run_pass(f"write_json {netlist}", design)
    results = {}
    for name in modules:
        result = area(with_inner(modules, name))
        result["path"], result["carry_on_path"], loops = logic_depth.longest(netlist, name)
        if loops:
            sys.exit(f"{block}: {loops} combinational loops")
        results[kept_block if kept and kept in name else block] = result
    return dict(sorted(results.items()))


def sum_of(results, names):
    total = {key: sum(results[name][key] for name in names) for key in next(iter(results.values()))}
    total["path"] = max(results[name]["path"] for name in names)
    return total


def write(path, results):
    """Beside the other blocks' results that are there already."""
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            results = json.load(file) | results
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        json.dump(results, file, indent=1)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--packages", nargs="+", required=True, help="the formats', of build/.../formats/sv")
    parser.add_argument("--block", action="append", choices=list(BLOCKS))
    parser.add_argument("--json")
    parser.add_argument("--read", action="store_true", help="only see whether yosys takes the sources, without a warning")
    arguments = parser.parse_args()
    if arguments.read:
        found = [f"{block}: {warning}" for block in arguments.block or READ
                 for warning in warnings_of(block, arguments.packages)]
        print("\n".join(found))
        return 1 if found else 0
    results = {}
    table = os.fdopen(os.dup(1), "w")  # yosys talks on the standard output
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    print(f"{'block':<24}{'LUT':>8}{'LUTRAM':>8}{'SRL':>8}{'FF':>8}{'BRAM36':>8}{'URAM':>6}{'path':>6}", file=table)

    def show(name, total):
        print(f"{name:<24}{total['lut']:>8}{total['lutram']:>8}{total['srl']:>8}{total['ff']:>8}{total['bram']:>8}"
              f"{total['uram']:>6}{total['path']:>6}", file=table, flush=True)

    with tempfile.TemporaryDirectory() as work:
        for block in arguments.block or BLOCKS:
            if block in results:  # of one that it is a part of
                continue
            for name, total in synthesize(block, arguments.packages, work).items():
                results[name] = total
                show(name, total)
    if all(name in results for name in ENGINES):
        show("both engines", sum_of(results, ENGINES))
        print(PAPER, file=table, flush=True)
    if arguments.json:
        write(arguments.json, results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
