"""The judge on made-up measurements: each thing that it must notice, alone."""
import pytest

from judge import Bound, Measured, is_back, violations
from measure import MIB, Call, Latency, Sample

BOUND = Bound(private=64 * MIB, shared=32 * MIB, cpu_share=0.5, cpu_per_call=3)


def sample(private=10 * MIB, shared=0, descriptors=20):
    return Sample(0.0, private, shared, 0.0, descriptors)


def good(**changes):
    quiet = Latency(100, 0.001, 0.004, 0.01)
    values = dict(start=sample(), peak_private=20 * MIB, peak_shared=MIB, end=sample(), back_after=0.5,
                  quiet={"service": quiet}, attacked={"service": Latency(100, 0.001, 0.009, 0.01)}, cpu_share=0.3,
                  cpu_per_call_quiet=0.001, cpu_per_call=0.002)
    return Measured(**{**values, **changes})


def test_an_engine_that_held_is_without_violations():
    assert violations(good(), BOUND, timed=True) == []


@pytest.mark.parametrize("changes, says", [
    ({"ended": "signal 6"}, "droverd has ended: signal 6"),
    ({"peak_private": 90 * MIB}, "private memory grew by 80.0 MiB"),
    ({"peak_shared": 40 * MIB}, "touched 40.0 MiB"),
    ({"back_after": None, "end": sample(200 * MIB)}, "after the attacker left: 200.0 MiB"),
    ({"regions_left": 2}, "2 memfds"),
    ({"attacked": {"service": Latency(9, 0.001, 0.002, 0.003, ["UNAVAILABLE gone"])}}, "UNAVAILABLE gone"),
    ({"attacked": {"service": Latency()}}, "made no call"),
    ({"attack_says": ["the file is gone"]}, "the file is gone"),
])
def test_a_fault_counts_in_either_form(changes, says):
    for timed in (False, True):
        assert any(says in text for text in violations(good(**changes), BOUND, timed))


def test_where_memory_is_gone_the_engine_must_live_and_victims_may_fail():
    failed = {"attacked": {"service": Latency(9, 0.001, 0.002, 0.003, ["RESOURCE_EXHAUSTED no memory"])}}
    bound = Bound(victims_fail=True)
    assert violations(good(**failed), bound, timed=True) == []
    assert violations(good(**failed, ended="signal 6"), bound, timed=True) == ["droverd has ended: signal 6"]


@pytest.mark.parametrize("changes, says", [
    ({"attacked": {"service": Latency(100, 0.001, 0.0181, 0.02)}}, "p99 of service: 18.1 ms, at most 18.0"),
    ({"cpu_share": 0.9}, "0.90 s of CPU a second"),
    ({"cpu_per_call": 0.0031}, "3.10 ms of CPU per call"),
])
def test_time_counts_in_the_long_form_alone(changes, says):
    assert any(says in text for text in violations(good(**changes), BOUND, timed=True))
    assert violations(good(**changes), BOUND, timed=False) == []


def test_memory_is_back_within_a_tenth_and_a_constant():
    start = sample(100 * MIB)
    assert is_back(BOUND, start, sample(110 * MIB + BOUND.rest_bytes))
    assert not is_back(BOUND, start, sample(111 * MIB + BOUND.rest_bytes))
    assert not is_back(BOUND, start, sample(100 * MIB, descriptors=20 + BOUND.descriptors + 1))


def test_percentiles_and_failures_come_from_the_calls():
    calls = [Call("a", 0, n / 1000, "OK", "") for n in range(1, 101)] + [Call("a", 0, 0.5, "OK", "another's")]
    latency = Latency.of(calls)
    assert (latency.calls, latency.p50, latency.p99, latency.worst) == (101, 0.051, 0.1, 0.5)
    assert latency.failures == ["OK another's"]
