"""bench/run_rtl.py holds its rows to their goals: a goal of 0 is one, a row without a goal has none."""
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import run_rtl  # pylint: disable=wrong-import-position


@pytest.mark.parametrize("metric, drover, goal, met", [
    ("percent", 0.0, 0, True),
    ("percent", 1.7, 0, False),
    ("cycles", 1.5, 1.5, True),
    ("cycles", 1.6, 1.5, False),
    ("bytes_per_cycle", 55, 55, True),
    ("bytes_per_cycle", 54.9, 55, False),
    ("cycles", 10**9, None, True),
])
def test_a_row_meets_its_goal(metric, drover, goal, met):
    assert run_rtl.met(run_rtl.describe("case", metric, drover, None, goal)) == met


def test_a_goal_of_zero_reaches_the_row(tmp_path):
    program = tmp_path / "some_rows"
    program.write_text("#!/bin/sh\n"
                       "echo '[{\"case\": \"left\", \"metric\": \"percent\", \"value\": 1.0, \"peer\": null, \"goal\": 0.0}]'\n")
    program.chmod(0o755)
    (row,) = (run_rtl.describe(*row) for row in run_rtl.rows_of(program, None))
    assert row["goal"] == 0 and row["peer"] is None
    assert not run_rtl.met(row)
