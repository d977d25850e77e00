"""The soak notices what it is there for: each fault of wrong_server.py, and each of the verdict's sentences. A server
without a fault passes."""
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest

import verdict
from conftest import HERE
from measure import sample
from run import Callers
from stubs import make_stubs
from verdict import LATE, Window
from wrong_server import FAULTS


def soak_of(build_dir, tmp_path, fault, seconds=2.5):
    """Violations of one round of callers against the wrong server."""
    stubs, journal = make_stubs(build_dir), tmp_path / "journal"
    journal.touch()
    server = subprocess.Popen([sys.executable, "-B", str(HERE / "wrong_server.py"), stubs, str(journal), fault],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    address = f"127.0.0.1:{server.stdout.readline().split()[2]}"
    callers = Callers(stubs, 1, SimpleNamespace(name="c", addresses={"wrong": address}, secure=set(), intercepted=set()))
    try:
        callers.begin(1)
        time.sleep(seconds)
        assert callers.end(60)
        found, excused = verdict.judge_calls(callers.calls, [])
        assert excused == 0
        made = {thread["thread"]: thread["made"] for thread in callers.threads}
        assert sum(made.values()) > 50
        found += verdict.judge_journal(1, made, callers.unsure, journal.read_text().splitlines())
        pids = {pid for thread in callers.threads for pid in thread["pids"]}
        return found + verdict.judge_pids({"wrong": pids}, {"wrong": {server.pid}})
    finally:
        callers.stop()
        server.stdin.close()
        server.wait(20)


def test_a_server_without_a_fault_passes(build_dir, tmp_path):
    assert soak_of(build_dir, tmp_path, "none") == []


@pytest.mark.parametrize("fault, says", [
    ("another_payload", "the payload differs"), ("duplicate_item", ": item 1 "), ("lost_item", "items of"),
    ("handled_twice", "was handled twice"), ("handled_never", "no handler saw it"), ("failed", "UNAVAILABLE (just so)"),
    ("other_process", "which never served it"), ("other_status", "INTERNAL"), ("lost_bytes", "it read other bytes")])
def test_a_fault_of_the_server_is_noticed(build_dir, tmp_path, fault, says):
    assert fault in FAULTS
    found = soak_of(build_dir, tmp_path, fault, 1.5)
    assert any(says in text for text in found), found[:5]


def call(**changes):
    return {"kind": "echo", "ident": "a0t0.1.5", "target": "t", "began": 10.0, "ended": 10.5, "status": "UNAVAILABLE",
            "details": "", "wrong": "", "done": 1, **changes}


@pytest.mark.parametrize("changes, windows, allowed", [
    ({}, [Window("kill", frozenset({"t"}), 10.4, 11)], True),
    ({}, [Window("kill", frozenset({"t"}), 9, 10.01)], True),
    ({}, [Window("kill", frozenset({"t"}), 10.6, 11)], False),
    ({}, [Window("kill", frozenset({"t"}), 8, 9.9)], False),
    ({}, [Window("kill", frozenset({"other"}), 10, 11)], False),
    ({}, [], False),
    ({"status": "INTERNAL"}, [Window("kill", frozenset({"t"}), 10, 11)], False),
    ({"status": "DEADLINE_EXCEEDED"}, [Window("kill", frozenset({"t"}), 10, 11)], False),
    ({"status": "DEADLINE_EXCEEDED"}, [Window("stall", frozenset(), 10, 11, LATE)], True),
    ({"wrong": "another's data", "status": "WRONG"}, [Window("stall", frozenset(), 10, 11, LATE)], False),
    ({"done": 2}, [Window("kill", frozenset({"t"}), 10, 11)], False),
])
def test_a_call_may_fail_in_a_window_of_its_target_only(changes, windows, allowed):
    found, excused = verdict.judge_calls([call(**changes)], windows)
    assert (found == [], excused) == (allowed, int(allowed))


def test_the_journal_must_have_each_answered_call_once_and_no_other():
    made = {"a": 3}
    assert verdict.judge_journal(1, made, set(), ["a.1.0", "a.1.2", "a.1.1"]) == []
    assert verdict.judge_journal(1, made, {"a.1.1"}, ["a.1.0", "a.1.2"]) == []
    assert "twice" in verdict.judge_journal(1, made, set(), ["a.1.0", "a.1.1", "a.1.2", "a.1.1"])[0]
    assert "no handler saw it" in verdict.judge_journal(1, made, set(), ["a.1.0", "a.1.2"])[0]
    for foreign in ("a.1.3", "a.2.0", "b.1.0"):
        assert "no such call" in verdict.judge_journal(1, made, set(), ["a.1.0", "a.1.1", "a.1.2", foreign])[0]


def test_what_an_idle_engine_holds_is_a_leak():
    clean = {'drover_waiting_calls{thread="0"}': 0.0, 'drover_client_held{resource="memory",thread="0"}': 5000.0,
             'drover_routes{thread="0"}': 14.0}
    assert verdict.judge_metrics("e", clean) == []
    for series in ('drover_region_rx_used_bytes{host="x"}', 'drover_host_calls_in_flight{host="x"}', "drover_failures_total",
                   'drover_client_held{resource="calls",thread="0"}'):
        assert len(verdict.judge_metrics("e", {**clean, series: 1.0})) == 1


def test_memory_and_descriptors_that_stay_are_a_leak():
    """Of a real process: it takes 40 MiB and 40 descriptors when it is told to."""
    program = ("import os,sys;print('ready',flush=True);sys.stdin.readline();kept=bytearray(os.urandom(1))*(40<<20);"
               "files=[os.dup(0) for _ in range(40)];print('took',flush=True);sys.stdin.readline()")
    process = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        process.stdout.readline()
        before = sample(process.pid)
        assert verdict.judge_memory("p", before, sample(process.pid)) == []
        process.stdin.write("\n")
        process.stdin.flush()
        process.stdout.readline()
        found = verdict.judge_memory("p", before, sample(process.pid))
        assert len(found) == 2 and "MiB private" in found[0] and "descriptors" in found[1]
    finally:
        process.kill()
        process.wait()


def test_other_clients_are_judged_by_their_lines_and_windows():
    window = [Window("kill", frozenset({"t"}), 10, 11)]
    unavailable = ["failed: echo 7 rpc error: code = Unavailable desc = closed"]
    assert verdict.judge_guest("go", "t", 9, 12, unavailable, window) == []
    assert verdict.judge_guest("go", "t", 12, 13, unavailable, window) != []
    assert verdict.judge_guest("go", "t", 9, 12, ["failed: echo 7 <nil>"], window) != []
    assert verdict.judge_guest("go", "t", 9, 12, ["failed: metadata <nil>"], window) == []
    broken = {"errors": {"14": 3}, "failures": {"connection: closed by the server": 1}}
    assert verdict.judge_load("t", 9, 12, broken, window) == []
    assert len(verdict.judge_load("t", 12, 13, broken, window)) == 2
    assert verdict.judge_load("t", 9, 12, {"errors": {"13": 1}, "failures": {}}, window) != []
    assert verdict.judge_load("t", 9, 12, {"errors": {}, "failures": {"call: the reply differs": 1}}, window) != []


