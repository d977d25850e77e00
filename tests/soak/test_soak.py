"""The soak in its short form: two rounds."""
import io

from run import soak, table


def test_twenty_seconds_of_calls_and_kills_leave_nothing_behind(build_dir):
    said = io.StringIO()
    report = soak(build_dir, minutes=0.2, seed=20, round_seconds=7, out=said)
    print(said.getvalue() + table(report))
    assert report["violations"] == []
    assert report["kills"] and sum(row["calls"] for row in report["kinds"].values()) > 500
