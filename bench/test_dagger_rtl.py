"""The rows `rtl-nic` come from what was measured, or are absent."""
import json

import dagger_rtl


def test_what_was_not_measured_has_no_row(tmp_path):
    found, missing = dagger_rtl.rows(tmp_path)
    assert found == []
    assert "make bench-rtl" in missing[0] and "make synth" in missing[1]
    (tmp_path / "rtl.json").write_text(json.dumps([{"case": "nic-cxl", "metric": "latency_cycles", "drover": 1}]))
    (tmp_path / "synth.json").write_text(json.dumps({"nic-host": {"lut": 1}}))
    found, missing = dagger_rtl.rows(tmp_path)
    assert found == [] and len(missing) == 2


def test_rows_are_what_was_measured(tmp_path):
    (tmp_path / "rtl.json").write_text(json.dumps(
        [{"case": dagger_rtl.CYCLES, "metric": "cycles_per_rpc", "drover": 1.25},
         {"case": "nic-cxl", "metric": "cycles_per_rpc", "drover": 7}]))
    (tmp_path / "synth.json").write_text(json.dumps({"drover-nic": {"lut": 3, "ff": 5, "bram": 2.5, "path": 21, "srl": 9}}))
    found, missing = dagger_rtl.rows(tmp_path)
    assert missing == []
    assert {each["metric"]: each["drover"] for each in found} == {
        "cycles_per_rpc": 1.25, "lut": 3, "ff": 5, "bram": 2.5, "levels": 21}
    assert found[0]["ratio"] == 0.625 and found[0]["peer_name"] == "paper"
    assert all(each["case"] == "rtl-nic" for each in found)
