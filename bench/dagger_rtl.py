"""The rows `rtl-nic` of build/bench/dagger.json: what `make bench-rtl` and `make synth` measured of the NIC in RTL.

Both leave their results in build/bench/ (rtl.json, synth.json); what is not there has no row, and a sentence says so.
"""
import json

CYCLES = "drover-nic-coherent-reliable-16x16"  # of bench/rtl/nic_rows.cc: the whole NIC, a line out and one in
BLOCK = "drover-nic"                           # of tools/synth_rtl.py
PAPER_CYCLES = 2                               # section 4: up to 200 million RPCs/s at 400 MHz
AREA = {"lut": "LUTs", "ff": "FFs", "bram": "36 Kb blocks", "levels": "levels of logic"}


def row(metric, unit, drover, paper=None):
    return {"case": "rtl-nic", "metric": metric, "unit": unit, "drover": drover, "peer": paper, "peer_name": "paper",
            "ratio": drover / paper if paper is not None else None}


def rows(folder):
    """(rows, sentences about what is missing)"""
    found, missing = [], []
    path = folder / "rtl.json"
    cycles = [each["drover"] for each in json.loads(path.read_text()) if
              (each["case"], each["metric"]) == (CYCLES, "cycles_per_rpc")] if path.exists() else []
    if cycles:
        found.append(row("cycles_per_rpc", "cycles", cycles[0], PAPER_CYCLES))
    else:
        missing.append(f"no row rtl-nic cycles_per_rpc: {path} has none; make bench-rtl writes it")
    path = folder / "synth.json"
    area = json.loads(path.read_text()).get(BLOCK) if path.exists() else None
    if area:
        found += [row(metric, unit, area["path" if metric == "levels" else metric]) for metric, unit in AREA.items()]
    else:
        missing.append(f"no rows rtl-nic of area and depth: {path} has no {BLOCK}; make synth writes it")
    return found, missing
