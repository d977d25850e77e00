"""Hosts and engines are killed under load: no call hangs, none is answered twice or with another call's data."""

import os
import signal
import socket
import subprocess
import threading
import time

import grpc
import pytest

from processes import children_of, wait_for

OPTIONS = [("grpc.initial_reconnect_backoff_ms", 50), ("grpc.min_reconnect_backoff_ms", 50),
           ("grpc.max_reconnect_backoff_ms", 200), ("grpc.use_local_subchannel_pool", 1)]
ALLOWED = {grpc.StatusCode.UNAVAILABLE}


class Load:
    """Callers in a closed loop; every reply must carry the caller's own payload, every failure be UNAVAILABLE."""

    def __init__(self, address, stubs, callers=16):
        self.messages, self.services = stubs
        self.address = address
        self.stopping = False
        self.good = 0
        self.failed = 0
        self.wrong = []
        self.lock = threading.Lock()
        self.threads = [threading.Thread(target=self._run, args=(n,)) for n in range(callers)]
        for thread in self.threads:
            thread.start()

    def _run(self, n):
        with grpc.insecure_channel(self.address, options=OPTIONS) as channel:
            stub = self.services.TestServiceStub(channel)
            i = 0
            while not self.stopping:
                i += 1
                payload = f"{n}/{i}/".encode() * (1 + (i * 37) % 3000)
                outcome = self._call(stub, payload)
                with self.lock:
                    if outcome is True:
                        self.good += 1
                    elif outcome is False:
                        self.failed += 1
                    else:
                        self.wrong.append(f"{n}/{i}: {outcome}")
                if outcome is False:
                    time.sleep(0.01)

    def _call(self, stub, payload):
        answers = []
        future = stub.Echo.future(self.messages.EchoRequest(payload=payload), timeout=20)
        future.add_done_callback(answers.append)
        try:
            reply = future.result(timeout=30)
        except grpc.FutureTimeoutError:
            return "hung for 30 s"
        except grpc.RpcError as error:
            return False if error.code() in ALLOWED else f"{error.code()}: {error.details()}"
        if reply.payload != payload:
            return f"another call's data: {reply.payload[:40]!r}"
        return True

    def progressed(self, count=200, seconds=20):
        goal = self.good + count
        end = time.monotonic() + seconds
        while self.good < goal:
            assert time.monotonic() < end, f"no progress: {self.good} good, {self.failed} failed, {self.wrong[:3]}"
            time.sleep(0.02)

    def finish(self):
        self.stopping = True
        for thread in self.threads:
            thread.join(60)
        assert not any(thread.is_alive() for thread in self.threads), "a caller hangs"
        assert self.wrong == []


@pytest.mark.parametrize("flavour", [(), ("--callback",)], ids=["sync", "callback"])
def test_a_killed_host_is_replaced_on_the_same_port(make_server, stubs, flavour):
    server = make_server("drover", *flavour)
    engine = server.engine_pid
    load = Load(server.address, stubs)
    for _ in range(4):
        load.progressed()
        server.kill()
        time.sleep(0.1)
        server.restart()
    load.progressed()
    load.finish()
    assert os.path.exists(f"/proc/{engine}"), "the engine died with its host"
    server.engine_pid = engine
    assert load.good > 800


@pytest.mark.parametrize("flavour", [(), ("--callback",)], ids=["sync", "callback"])
def test_a_killed_engine_is_replaced_by_the_host(make_server, stubs, flavour):
    server = make_server("drover", *flavour)
    load = Load(server.address, stubs)
    for _ in range(4):
        load.progressed()
        engines = children_of(server.process.pid)
        assert len(engines) == 1
        os.kill(engines[0], signal.SIGKILL)
        wait_for(lambda: children_of(server.process.pid) not in ([], engines))
    load.progressed()
    load.finish()
    server.engine_pid = children_of(server.process.pid)[0]


def test_calls_of_a_host_that_dies_end_unavailable_at_once(make_server, stubs):
    messages, services = stubs
    server = make_server("drover")
    with grpc.insecure_channel(server.address, options=OPTIONS) as channel:
        stub = services.TestServiceStub(channel)
        sleepers = [stub.Sleep.future(messages.SleepRequest(millis=60000)) for _ in range(5)]
        wait_for(lambda: stub.Stats(messages.StatsRequest()).running == 5)
        start = time.monotonic()
        server.kill()
        for sleeper in sleepers:
            with pytest.raises(grpc.RpcError) as error:
                sleeper.result(timeout=10)
            assert error.value.code() == grpc.StatusCode.UNAVAILABLE
        assert time.monotonic() - start < 1.0


def test_a_host_that_crashes_in_a_handler_is_replaced(make_server, stubs):
    messages, services = stubs
    server = make_server("drover")
    with grpc.insecure_channel(server.address, options=OPTIONS) as channel:
        stub = services.TestServiceStub(channel)
        first = stub.Stats(messages.StatsRequest()).pid
        with pytest.raises(grpc.RpcError) as error:
            stub.Crash(messages.StatsRequest(), timeout=10)
        assert error.value.code() == grpc.StatusCode.UNAVAILABLE
        server.process.wait(10)
        server.restart()
        second = stub.Stats(messages.StatsRequest(), timeout=10, wait_for_ready=True).pid
        assert second == server.process.pid != first


def test_calls_that_come_while_no_host_is_there_wait_for_the_next(make_server, stubs):
    messages, services = stubs
    server = make_server("drover")
    with grpc.insecure_channel(server.address, options=OPTIONS) as channel:
        stub = services.TestServiceStub(channel)
        stub.Stats(messages.StatsRequest())
        server.kill()
        # A call that reaches the engine before it knows of the death ends in UNAVAILABLE; from then on calls wait.
        while True:
            with pytest.raises(grpc.RpcError) as error:
                stub.Echo(messages.EchoRequest(text="too early"), timeout=0.2)
            if error.value.code() == grpc.StatusCode.DEADLINE_EXCEEDED:
                break
            assert error.value.code() == grpc.StatusCode.UNAVAILABLE
        waiting = stub.Echo.future(messages.EchoRequest(text="patience"), timeout=20)
        time.sleep(0.05)
        server.restart()
        assert waiting.result(timeout=20).text == "patience"


def seconds_to_answer(server, start, stubs):
    """From the start of the server's process until its first answer."""
    messages, services = stubs
    began = time.monotonic()
    start()
    with grpc.insecure_channel(server.address, options=OPTIONS) as channel:
        services.TestServiceStub(channel).Stats(messages.StatsRequest(), timeout=20, wait_for_ready=True)
    return time.monotonic() - began


def kill_both(server):
    for pid in (server.engine_pid, server.process.pid):
        os.kill(pid, signal.SIGKILL)
    server.process.wait()


def test_a_service_whose_engine_died_with_it_starts_as_fast_as_a_fresh_one(make_server, stubs):
    fresh = []
    for _ in range(5):
        server = make_server("drover")
        engine = server.engine_pid
        server.stop()
        fresh.append(seconds_to_answer(server, lambda: server.start("127.0.0.1:0"), stubs))
        assert server.engine_pid != engine
    again = []
    for _ in range(8):
        kill_both(server)
        again.append(seconds_to_answer(server, server.restart, stubs))
    # It was a second more, every time: the host asked the dead engine's socket again and again.
    assert sorted(again)[4] < 3 * sorted(fresh)[2] + 0.25, (fresh, again)


def test_a_service_that_is_killed_with_its_engine_again_and_again_comes_up_every_time(make_server, stubs):
    server = make_server("drover")
    for _ in range(20):
        kill_both(server)
        server.restart()  # fails unless it comes up
    assert seconds_to_answer(server, lambda: None, stubs) < 5


@pytest.fixture
def service_engine(build_dir, tmp_path):
    """droverd as a service: DROVER_ENGINE."""
    path = tmp_path / "engine.sock"
    process = subprocess.Popen([str(build_dir / "engine" / "droverd"), f"--engine.control_socket=unix:{path}"])
    wait_for(path.exists)
    yield {"DROVER_ENGINE": f"unix:{path}"}
    process.kill()
    process.wait()


@pytest.mark.parametrize("flavour", [(), ("--callback",), ("--queues",)], ids=["sync", "callback", "queues"])
def test_no_call_fails_when_one_of_two_hosts_stops_in_order(make_server, stubs, service_engine, flavour):
    first = make_server("drover", *flavour, env=service_engine)
    second = make_server("drover", *flavour, env=service_engine, address=first.address)
    load = Load(first.address, stubs)
    for turn in range(20):
        load.progressed(100)
        server = (first, second)[turn % 2]
        assert server.stop() == 0
        server.start(first.address)
    load.finish()
    assert load.failed == 0


def test_a_channel_reaches_the_service_that_stopped_in_order_and_started_again(make_server, stubs, service_engine):
    messages, services = stubs
    make_server("drover", env=service_engine)  # another service, for which the engine stays
    server = make_server("drover", env=service_engine)
    with grpc.insecure_channel(server.address, options=OPTIONS) as channel:
        stub = services.TestServiceStub(channel)
        assert stub.Stats(messages.StatsRequest(), timeout=10).pid == server.process.pid
        assert server.stop() == 0
        server.restart()

        def answers():
            try:
                return stub.Stats(messages.StatsRequest(), timeout=10).pid == server.process.pid
            except grpc.RpcError as error:
                assert error.code() == grpc.StatusCode.UNAVAILABLE
                return False

        # The connection of before went to a listener that is closed; it was kept, and every call on it failed.
        wait_for(answers, 5)


def test_a_host_that_dies_while_it_replaces_its_engine_leaves_nothing_in_the_way_of_its_successor(make_server, stubs):
    """Its engine was alone for five seconds, and had the address of the metrics."""
    for _ in range(6):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            metrics = f"127.0.0.1:{probe.getsockname()[1]}"
        server = make_server("drover", env={"DROVER_METRICS": metrics})
        old = children_of(server.process.pid)
        os.kill(old[0], signal.SIGKILL)
        wait_for(lambda: children_of(server.process.pid) not in ([], old))
        server.kill()
        server.restart()  # fails unless it comes up
        assert seconds_to_answer(server, lambda: None, stubs) < 5


def test_the_first_of_two_hosts_of_one_child_engine_stops_at_once_and_leaves_it_to_the_other(make_server, stubs):
    messages, services = stubs
    first = make_server("drover")
    engine = first.engine_pid
    second = make_server("drover", address=first.address)
    assert second.engine_pid is None  # it found the first one's
    began = time.monotonic()
    assert first.stop() == 0
    took = time.monotonic() - began
    with grpc.insecure_channel(second.address, options=OPTIONS) as channel:
        stub = services.TestServiceStub(channel)
        assert stub.Stats(messages.StatsRequest(), timeout=10).pid == second.process.pid
    assert took < 2, took  # it was five seconds
    first.engine_pid = None
    assert second.stop() == 0
    wait_for(lambda: not os.path.exists(f"/proc/{engine}"))
