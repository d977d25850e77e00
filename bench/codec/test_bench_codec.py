"""The codec benchmark measures what it says: a quick run has the promised shape, and the arithmetic is right."""

import json
import math
import pathlib
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import codec_report as report  # noqa: E402
import instructions  # noqa: E402

ROW_KEYS = {"case", "metric", "unit", "drover", "peer", "peer_name", "ratio"}
RUN_CODEC = pathlib.Path(__file__).resolve().parent.parent / "run_codec.py"


def run_codec(build_dir, out, *options):
    return subprocess.run([sys.executable, RUN_CODEC, "--build-dir", build_dir, "--out", out, "--quick", *options],
                          capture_output=True, text=True, check=False)


def measurement(case, set_name, size, implementation, metric, ns):
    return {"case": case, "set": set_name, "bytes": size, "implementation": implementation, "metric": metric, "ns": ns}


def test_a_quick_run_writes_rows_of_every_metric_and_the_chart(codec_build_dir, tmp_path):
    done = run_codec(codec_build_dir, tmp_path, "--filter", r"^like(1\.M15|3\.M3)$")
    assert done.returncode == 0, done.stderr
    rows = json.loads((tmp_path / "codec.json").read_text())
    assert all(set(row) == ROW_KEYS for row in rows)
    assert all(row["ratio"] == pytest.approx(row["drover"] / row["peer"]) for row in rows)
    assert {row["case"] for row in rows} == {"like1.M15", "like3.M3", "mix-builtin-under-4k"}
    for metric in ("decode_copy", "decode_alias", "encode_pieces", "encode_contiguous"):
        assert any(row["metric"] == metric and row["peer_name"] == "protobuf" and row["unit"] == "ns" for row in rows)
    assert (tmp_path / "codec.svg").stat().st_size > 0
    assert "geomean-all" in (tmp_path / "codec.txt").read_text()


def test_packed_varints_and_utf8_have_rows_of_their_own(codec_build_dir, tmp_path):
    done = run_codec(codec_build_dir, tmp_path, "--filter", "^packed-varint$|^utf8-ascii-64B$")
    assert done.returncode == 0, done.stderr
    rows = json.loads((tmp_path / "codec.json").read_text())
    rates = [row for row in rows if row["case"] == "packed-varint" and row["metric"] == "decode_rate"]
    assert rates and all(row["unit"] == "GB/s" for row in rates)
    assert any(row["case"] == "utf8-ascii-64B" and row["peer_name"] == "memcpy" for row in rows)


def test_what_was_not_measured_is_said_to_be_absent(codec_build_dir, tmp_path):
    done = run_codec(codec_build_dir, tmp_path, "--filter", "^like1.M15$")
    assert "HyperProtoBench: absent" in done.stdout
    assert "absent in this run" in done.stdout


def test_a_folder_without_messages_is_an_error(codec_build_dir, tmp_path):
    done = run_codec(codec_build_dir, tmp_path, "--hyperprotobench", tmp_path)
    assert done.returncode != 0
    assert str(tmp_path) in done.stderr


def test_geometric_means_are_taken_over_whole_sets_only():
    def rows_of(count):
        measurements = []
        for i in range(count):
            measurements.append(measurement(f"m{i}", "builtin", 100, "drover", "decode_copy", 10.0 * (i + 1)))
            measurements.append(measurement(f"m{i}", "builtin", 100, "protobuf", "decode_copy", 40.0 * (i + 1)))
        return report.geomean_rows(report.Measurements(measurements))

    assert not rows_of(report.SET_SIZE - 1)
    means = {row["case"]: row for row in rows_of(report.SET_SIZE)}
    expected = 10 * math.exp(math.lgamma(report.SET_SIZE + 1) / report.SET_SIZE)
    assert means["geomean-builtin"]["drover"] == pytest.approx(expected)
    assert means["geomean-builtin"]["ratio"] == pytest.approx(0.25)


def test_aliasing_is_compared_with_protobufs_only_way_to_decode():
    measurements = report.Measurements([measurement("m", "builtin", 100, "drover", "decode_alias", 10.0),
                                        measurement("m", "builtin", 100, "protobuf", "decode_copy", 50.0)])
    (row,) = report.message_rows(measurements)
    assert (row["metric"], row["peer_name"], row["ratio"]) == ("decode_alias", "protobuf", 0.2)


def test_the_cost_of_a_field_is_the_difference_of_two_messages():
    measurements = [measurement(f"kind.bool.{count}", "kinds", 2 * count, name, "decode_copy", 20 + ns * count)
                    for count in (7, 14) for name, ns in (("drover", 2.0), ("upb", 3.0))]
    (row,) = report.kind_rows(report.Measurements(measurements))
    assert (row["case"], row["unit"]) == ("kind.bool", "ns/field")
    assert (row["drover"], row["peer"]) == (pytest.approx(2), pytest.approx(3))


def callgrind_dumps(message, cost_once):
    """Of doing something once and twice, where the loop around it costs 20 and memcpy 30."""
    return "\n".join(f"desc: Trigger: Client Request: {message} drover decode_copy {times}\n"
                     f"summary: {20 + times * (cost_once + 30)}\nfn=(1) loop\n0 20\ncfn=(2) decode\ncalls={times} 0\n"
                     f"0 {times * (cost_once + 30)}\nfn=(2)\n0 {times * cost_once}\n+1\ncfn=(3) memcpy\n"
                     f"calls={times} 0\n0 {times * 30}\nfn=(3)\n0 {times * 30}" for times in (1, 2))


def test_callgrinds_dumps_become_instructions_of_functions():
    at_exit = "\ndesc: Trigger: Program termination\nsummary: 1000\nfn=(4) exit\n0 1000\n"
    dumps = instructions.parse_dumps(callgrind_dumps("like3.M3", 105) + at_exit)
    assert dumps == {("like3.M3", "drover", "decode_copy"): (135, {"decode": 105, "memcpy": 30})}
    assert "105  77.8%  decode" in instructions.function_table(dumps, "drover", "decode_copy")


def test_instructions_are_told_apart_by_field_and_message():
    dumps = instructions.parse_dumps("\n".join(callgrind_dumps(f"kind.varint_1byte.{count}", 70 + 5 * count)
                                               for count in (7, 14)))
    counts = instructions.per_field(dumps)
    assert counts["varint_1byte"] == {("drover", "decode_copy"): 5}
    assert counts["message"] == {("drover", "decode_copy"): 100}


def test_a_goal_that_is_missed_is_said_to_be_missed():
    goal = ("geomean-under-4k", "decode_copy", "protobuf")
    missed = report.row(goal[0], goal[1], "ns", 30.0, 100.0, goal[2])
    reached = report.row(goal[0], goal[1], "ns", 20.0, 100.0, goal[2])
    assert any("NOT reached" in line for line in report.goal_lines([missed]))
    assert not any("NOT reached" in line for line in report.goal_lines([reached]))
