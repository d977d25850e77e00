"""Area and logic depth of the RTL by yosys (synth_xilinx -family xcup), a table on the standard output.

    .venv/bin/python tools/synth_rtl.py --image-pkg build/.../drover_image_pkg.sv [--block NAME ...] [--json FILE | --read]

Blocks are modules with parameters, listed below. LUT counts LUT1 to LUT6 and what muxes they feed cost nothing more;
LUTRAM counts LUTs used as memory, most of it FIFOs. The longest path is in levels of LUTs and carry blocks
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
COMMON = ["drover_axi_pkg", "drover_fifo", "drover_skid", "drover_sram_1r1w", "drover_sram_1rw",
          "drover_axi_write_checks"]
DESERIALIZER = ["deser_pkg", "deser_window", "deser_token", "deser_front", "deser_field",
                "deser_head", "deser_run", "deser_utf8", "deser_table", "deser_store", "deser_writer",
                "deser_lane", "deser_spread", "deser_tlb", "drover_deserializer"]
SERIALIZER = ["drover_ser_pkg", "drover_ser_walk_pkg", "drover_ser_ar_mux", "drover_ser_reader", "drover_ser_records",
              "drover_ser_objects", "drover_ser_steps", "drover_ser_entry", "drover_ser_walk_reach",
              "drover_ser_walk_uop", "drover_ser_walker", "drover_ser_arena", "drover_ser_encoder",
              "drover_ser_gather", "drover_serializer"]
# block: folder, modules, top, parameters
BLOCKS = {
    "deserializer-lane": ("deserializer", DESERIALIZER, "deser_lane", {"StepsLog2": 12}),
    "serializer": ("serializer", SERIALIZER, "drover_serializer", {}),
}
PAPER = {"deserializer-lane": "RpcNIC (paper, table IV): 15K LUT, 7.8K FF, 6 BRAM",
         "serializer": "RpcNIC (paper, table IV): 30K LUT, 11K FF"}


def read(block, image_pkg):
    folder, modules, top, parameters = BLOCKS[block]
    files = [image_pkg] + [f"{ROOT}/rtl/common/{m}.sv" for m in COMMON]
    files += [f"{ROOT}/rtl/{folder}/{m}.sv" for m in modules]
    design = ys.Design()
    ys.run_pass("read_verilog -sv -DSYNTHESIS " + " ".join(files), design)
    sets = " ".join(f"-set {name} {value}" for name, value in parameters.items())
    if sets:
        ys.run_pass(f"chparam {sets} {top}", design)
    ys.run_pass(f"hierarchy -check -top {top}", design)
    return design, top


def cells(design, work, name):
    path = f"{work}/{name}.json"
    ys.run_pass(f"tee -q -o {path} stat -json", design)
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def count(by_type, names):
    return sum(n for name, n in by_type.items() if re.fullmatch(names, name))


LUTRAM = {"RAM32X1S": 1, "RAM64X1S": 1, "RAM128X1S": 2, "RAM32X1D": 2, "RAM64X1D": 2, "RAM128X1D": 4,
          "RAM256X1D": 8, "RAM32M": 4, "RAM64M": 4, "RAM32M16": 8, "RAM64M8": 8, "RAM512X1S": 8}


def area(by_type):
    return {
        "lut": count(by_type, r"LUT\d|INV"),
        "lutram": sum(n * LUTRAM.get(name, 0) for name, n in by_type.items()),
        "ff": count(by_type, r"FD[RSCP]E"),
        "bram": count(by_type, r"RAMB36E2") + 0.5 * count(by_type, r"RAMB18E2"),
        "uram": count(by_type, r"URAM.*"),
        "carry": count(by_type, r"CARRY\d"),
    }


def synthesize(block, image_pkg, work):
    design, top = read(block, image_pkg)
    ys.run_pass(f"synth_xilinx -family xcup -top {top} -flatten -noiopad -noclkbuf", design)
    stat = cells(design, work, block)
    total = area({k.lstrip("\\"): v for k, v in stat["design"]["num_cells_by_type"].items()})
    netlist = f"{work}/{block}.netlist.json"
    ys.run_pass(f"write_json {netlist}", design)
    total["path"], total["carry_on_path"], loops = logic_depth.longest(netlist, top)
    if loops:
        sys.exit(f"{block}: {loops} combinational loops")
    return total


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--image-pkg", required=True)
    parser.add_argument("--block", action="append", choices=sorted(BLOCKS))
    parser.add_argument("--json")
    parser.add_argument("--read", action="store_true", help="only see whether yosys takes the sources")
    arguments = parser.parse_args()
    if arguments.read:
        for block in arguments.block or BLOCKS:
            read(block, arguments.image_pkg)
        return 0
    results = {}
    print(f"{'block':<24}{'LUT':>8}{'LUTRAM':>8}{'FF':>8}{'BRAM36':>8}{'URAM':>6}{'path':>6}")
    with tempfile.TemporaryDirectory() as work:
        for block in arguments.block or BLOCKS:
            total = synthesize(block, arguments.image_pkg, work)
            results[block] = total
            print(f"{block:<24}{total['lut']:>8}{total['lutram']:>8}{total['ff']:>8}{total['bram']:>8}"
                  f"{total['uram']:>6}{total['path']:>6}   {PAPER.get(block, '')}", flush=True)
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump(results, file, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
