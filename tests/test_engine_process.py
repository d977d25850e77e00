"""droverd as a process: its configuration, a service of its own, its metrics, its end."""

import ctypes
import errno
import os
import re
import resource
import signal
import socket
import struct
import subprocess
import threading
import time
import urllib.request

import grpc
import pytest

from processes import free_port, wait_for


@pytest.fixture
def droverd(build_dir):
    return str(build_dir / "engine" / "droverd")


@pytest.fixture
def engine(droverd, tmp_path):
    """Starts a stand-alone engine; gives (control address, process, metrics port)."""
    started = []

    def start(*flags):
        path = tmp_path / f"engine{len(started)}.sock"
        metrics = free_port()
        process = subprocess.Popen([droverd, f"--engine.control_socket=unix:{path}",
                                    f"--metrics.address=127.0.0.1:{metrics}", *flags])
        started.append(process)
        wait_for(path.exists)
        return f"unix:{path}", process, metrics

    yield start
    for process in started:
        process.kill()
        process.wait()


@pytest.mark.parametrize("text, key", [
    ("[engine]\nthreads = 0\n", "engine.threads"),
    ("[engine]\nthreads = \"many\"\n", "engine.threads"),
    ("[dispatch]\npolicy = \"random\"\n", "dispatch.policy"),
    ("[limits]\nmax_request_bites = 5\n", "limits.max_request_bites"),
])
def test_a_wrong_configuration_is_an_error_that_names_the_key(droverd, tmp_path, text, key):
    file = tmp_path / "droverd.toml"
    file.write_text(text)
    done = subprocess.run([droverd, "--config", str(file)], capture_output=True, text=True, timeout=20)
    assert done.returncode != 0
    assert key in done.stderr and "droverd.toml" in done.stderr, done.stderr


def test_connections_are_limited_to_what_the_descriptors_allow(droverd, tmp_path):
    """Of 3,072 descriptors 1,024 are kept for hosts and the engine; a limit within the rest stays as it is."""
    def start(connections):
        log = tmp_path / f"log{connections}"
        process = subprocess.Popen(
            [droverd, f"--engine.control_socket=unix:{tmp_path}/e{connections}.sock", f"--log.file={log}",
             f"--limits.max_connections={connections}"],
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (3072, 3072)))
        wait_for(lambda: log.exists() and "ready" in log.read_text())
        process.kill()
        process.wait()
        return [line for line in log.read_text().splitlines() if "max_connections is lowered" in line]
    lowered, = start(5000)
    assert re.search(r"\b5000\b", lowered) and re.search(r"\b2048\b", lowered), lowered
    assert start(2000) == []


def forbid_io_uring():
    """For preexec_fn: a seccomp filter as container runtimes have it; io_uring_setup fails with EPERM."""
    io_uring_setup, allow, refuse = 425, 0x7FFF0000, 0x00050000 | errno.EPERM
    program = struct.pack("HBBI", 0x20, 0, 0, 0)  # load the system call's number
    program += struct.pack("HBBI", 0x15, 0, 1, io_uring_setup)
    program += struct.pack("HBBI", 0x06, 0, 0, refuse) + struct.pack("HBBI", 0x06, 0, 0, allow)
    code = ctypes.create_string_buffer(program)
    filters = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(code)))
    libc = ctypes.CDLL(None, use_errno=True)
    pr_set_no_new_privs, pr_set_seccomp, mode_filter = 38, 22, 2
    if libc.prctl(pr_set_no_new_privs, 1, 0, 0, 0) != 0 or libc.prctl(pr_set_seccomp, mode_filter, filters) != 0:
        os._exit(99)


def test_without_io_uring_auto_takes_epoll_and_says_why(droverd, tmp_path):
    log = tmp_path / "log"
    process = subprocess.Popen([droverd, f"--engine.control_socket=unix:{tmp_path}/e.sock", f"--log.file={log}",
                                "--engine.io=auto"], preexec_fn=forbid_io_uring)
    try:
        wait_for(lambda: log.exists() and "ready" in log.read_text())
    finally:
        process.kill()
        process.wait()
    assert "io=epoll" in log.read_text()
    assert re.search("no io_uring.*Operation not permitted", log.read_text()), log.read_text()


def test_io_uring_that_is_asked_for_and_forbidden_is_an_error(droverd, tmp_path):
    done = subprocess.run([droverd, f"--engine.control_socket=unix:{tmp_path}/e.sock", "--engine.io=uring"],
                          capture_output=True, text=True, timeout=20, preexec_fn=forbid_io_uring)
    assert done.returncode == 1
    assert "engine.io: io_uring_setup: Operation not permitted" in done.stderr, done.stderr


@pytest.mark.parametrize("flag, says", [
    ("--log.file=/nonexistent/x", "log.file: cannot append to '/nonexistent/x': No such file or directory"),
    ("--engine.control_socket=/tmp/x.sock", "expected unix:PATH or unix:@NAME"),
    ("--limits.max_request_bytes=8MB", "did you mean 8MiB?"),
    ("--channel.rx_bytes=64GiB", "channel.rx_bytes=68719476736"),
    ("--channel.tx_bytes=65537", "expected a multiple of 4096"),
])
def test_a_wrong_value_ends_the_engine_at_start_with_the_reason(droverd, tmp_path, flag, says):
    done = subprocess.run([droverd, f"--engine.control_socket=unix:{tmp_path}/e.sock", flag]
                          if not flag.startswith("--engine.control_socket") else [droverd, flag],
                          capture_output=True, text=True, timeout=20)
    assert done.returncode == 2
    assert says in done.stderr


def test_a_metrics_port_in_use_is_named_with_its_key(droverd, tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        done = subprocess.run([droverd, f"--engine.control_socket=unix:{tmp_path}/e.sock",
                               f"--metrics.address={address}", f"--log.file={tmp_path}/log"],
                              capture_output=True, text=True, timeout=20)
    assert done.returncode == 1
    assert f"metrics.address: cannot serve on '{address}': Address already in use" in done.stderr


def test_a_second_engine_that_cannot_start_leaves_the_first_ones_files_alone(droverd, tmp_path):
    socket_path, pidfile = tmp_path / "e.sock", tmp_path / "pid"
    first = subprocess.Popen([droverd, f"--engine.control_socket=unix:{socket_path}", f"--engine.pidfile={pidfile}"])
    try:
        wait_for(pidfile.exists)
        wait_for(lambda: pidfile.read_text() == f"{first.pid}\n")
        for other in (socket_path, tmp_path / "other.sock"):  # its control socket is taken, or only its pidfile
            done = subprocess.run([droverd, f"--engine.control_socket=unix:{other}", f"--engine.pidfile={pidfile}"],
                                  capture_output=True, text=True, timeout=20)
            assert done.returncode == 1
            assert ("Address already in use" if other == socket_path else f"process {first.pid} has it") in done.stderr
            assert pidfile.read_text() == f"{first.pid}\n"
        assert not (tmp_path / "other.sock").exists()
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as client:
            client.connect(str(socket_path))
    finally:
        first.terminate()
        assert first.wait(20) == 0
    assert not pidfile.exists() and not socket_path.exists()


@pytest.mark.parametrize("key", ["engine.control_socket", "engine.pidfile"])
def test_a_mistyped_path_deletes_no_file(droverd, tmp_path, key):
    precious = tmp_path / "precious"
    precious.write_text("precious")
    control = f"unix:{precious}" if key == "engine.control_socket" else f"unix:{tmp_path}/e.sock"
    pidfile = precious if key == "engine.pidfile" else tmp_path / "pid"
    done = subprocess.run([droverd, f"--engine.control_socket={control}", f"--engine.pidfile={pidfile}"],
                          capture_output=True, text=True, timeout=20)
    assert done.returncode == 1
    assert key in done.stderr and str(precious) in done.stderr and "it stays as it is" in done.stderr
    assert precious.read_text() == "precious"


def test_engines_that_start_at_once_on_one_control_socket_are_one(droverd, tmp_path):
    path = tmp_path / "e.sock"
    for _ in range(5):
        engines = [subprocess.Popen([droverd, f"--engine.control_socket=unix:{path}"], stderr=subprocess.PIPE, text=True)
                   for _ in range(4)]
        wait_for(lambda: sum(engine.poll() is None for engine in engines) == 1)
        time.sleep(0.05)
        alive = [engine for engine in engines if engine.poll() is None]
        assert len(alive) == 1
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as client:
            client.connect(str(path))
        for engine in engines:
            engine.kill()  # leaves its socket's name behind
            engine.communicate()
            assert engine in alive or engine.returncode == 1


def test_the_configuration_is_printed_with_the_origin_of_each_value(droverd, tmp_path):
    file = tmp_path / "droverd.toml"
    file.write_text("[engine]\nthreads = 2\n")
    done = subprocess.run([droverd, "--config", str(file), "--log.level=debug", "--print-config"],
                          capture_output=True, text=True, timeout=20, env=dict(os.environ, DROVER_METRICS="127.0.0.1:1"))
    assert done.returncode == 0
    lines = {line.split(" =")[0]: line.split("# ")[1] for line in done.stdout.splitlines() if " = " in line}
    assert lines["threads"] == f"{file}:2"
    assert lines["level"] == "--log.level"
    assert lines["address"] == "DROVER_METRICS"
    assert lines["ring_slots"] == "default"


def test_the_table_of_descriptors_has_room_for_all_connections_from_the_start(engine):
    _, process, _ = engine("--limits.max_connections=3000")
    status = open(f"/proc/{process.pid}/status").read()
    assert int(status.split("FDSize:")[1].split()[0]) >= 3000


def test_a_wrong_flag_is_an_error_that_names_it(droverd):
    done = subprocess.run([droverd, "--engine.threads=none"], capture_output=True, text=True, timeout=20)
    assert done.returncode != 0
    assert "engine.threads" in done.stderr + done.stdout


@pytest.mark.parametrize("policy", ["round-robin", "least-outstanding"])
def test_hosts_attach_to_an_engine_that_runs_as_a_service(engine, make_server, stubs, policy):
    messages, services = stubs
    control, _, _ = engine("--engine.threads=2", f"--dispatch.policy={policy}")
    server = make_server("drover", env={"DROVER_ENGINE": control, "DROVER_WORKERS": "3"})
    assert server.engine_pid is None, "an attached host starts no engine of its own"
    wrong = []

    def call(n):
        with grpc.insecure_channel(server.address, options=[("grpc.use_local_subchannel_pool", 1)]) as channel:
            stub = services.TestServiceStub(channel)
            for i in range(200):
                text = f"{n}/{i}"
                if stub.Echo(messages.EchoRequest(text=text), timeout=20).text != text:
                    wrong.append(text)

    threads = [threading.Thread(target=call, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_two_hosts_of_one_service_share_its_calls(engine, make_server, stubs):
    messages, services = stubs
    control, _, _ = engine()
    first = make_server("drover", env={"DROVER_ENGINE": control})
    second = make_server("drover", address=first.address, env={"DROVER_ENGINE": control})
    with grpc.insecure_channel(first.address) as channel:
        stub = services.TestServiceStub(channel)
        pids = {stub.Stats(messages.StatsRequest(), timeout=10).pid for _ in range(50)}
        assert pids == {first.process.pid, second.process.pid}
        second.kill()
        time.sleep(0.2)
        pids = {stub.Stats(messages.StatsRequest(), timeout=10).pid for _ in range(50)}
        assert pids == {first.process.pid}


def test_what_does_not_fit_into_the_region_ends_in_resource_exhausted(engine, make_server, stubs):
    messages, services = stubs
    control, _, _ = engine("--channel.rx_bytes=1MiB", "--channel.tx_bytes=1MiB", "--dispatch.wait_ms=500")
    server = make_server("drover", env={"DROVER_ENGINE": control})
    with grpc.insecure_channel(server.address, options=[("grpc.max_receive_message_length", -1)]) as channel:
        stub = services.TestServiceStub(channel)
        for _ in range(3):
            with pytest.raises(grpc.RpcError) as error:
                stub.Sized(messages.SizedRequest(size=5 << 20), timeout=20)
            assert error.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
            assert "channel.tx_bytes" in error.value.details()
            with pytest.raises(grpc.RpcError) as error:
                stub.Echo(messages.EchoRequest(payload=bytes(3 << 20)), timeout=20)
            assert error.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
            assert stub.Echo(messages.EchoRequest(text="fits"), timeout=20).text == "fits"
        # More at once than fits: they wait for each other, and each is served.
        half = bytes(400 << 10)
        calls = [stub.Echo.future(messages.EchoRequest(payload=half, text=str(i)), timeout=20) for i in range(40)]
        outcomes = []
        for i, call in enumerate(calls):
            try:
                reply = call.result()
                assert reply.text == str(i) and reply.payload == half
                outcomes.append("ok")
            except grpc.RpcError as error:
                assert error.code() == grpc.StatusCode.RESOURCE_EXHAUSTED, error
                outcomes.append("exhausted")
        assert outcomes.count("ok") >= 20, outcomes


def test_an_engine_with_less_memory_than_is_wished_for_serves_and_the_next_is_asked_again(
        engine, droverd, make_server, stubs):
    messages, services = stubs
    control, first, _ = engine("--hosts.max_region_bytes=512MiB")
    server = make_server("drover", "--largest", "-1", env={"DROVER_ENGINE": control, "DROVER_WORKERS": "1"})
    said = [line for line in server.stderr().splitlines() if "large messages may find no room" in line]
    assert len(said) == 1 and "hosts.max_region_bytes" in said[0], server.stderr()
    with grpc.insecure_channel(server.address, options=[("grpc.max_receive_message_length", -1)]) as channel:
        stub = services.TestServiceStub(channel)
        assert stub.Echo(messages.EchoRequest(text="fits"), timeout=20).text == "fits"
        with pytest.raises(grpc.RpcError) as error:
            stub.Sized(messages.SizedRequest(size=100 << 20), timeout=60)
        assert error.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
    first.kill()
    first.wait()
    second = subprocess.Popen([droverd, f"--engine.control_socket={control}"])
    try:
        with grpc.insecure_channel(server.address, options=[("grpc.max_receive_message_length", -1)]) as channel:
            stub = services.TestServiceStub(channel)
            reply = stub.Sized(messages.SizedRequest(size=100 << 20), timeout=60, wait_for_ready=True)
            assert len(reply.payload) == 100 << 20
        assert server.stderr().count("large messages may find no room") == 1
    finally:
        second.kill()
        second.wait()


def test_a_wish_that_no_engine_can_grant_at_all_is_an_error_without_that_warning(engine, build_dir):
    control, _, _ = engine("--hosts.max_total_region_bytes=1GiB", "--hosts.max_region_bytes=1GiB",
                           "--channel.rx_bytes=400MiB", "--channel.tx_bytes=400MiB")
    done = subprocess.run([build_dir / "tests" / "test_server", "--largest", "-1"], capture_output=True, text=True,
                          timeout=60, env=dict(os.environ, DROVER_ENGINE=control, DROVER_WORKERS="2"))
    assert done.returncode == 1
    assert "hosts.max_region_bytes" in done.stderr and "may find no room" not in done.stderr, done.stderr


def test_metrics_count_requests_errors_and_latency_by_method(engine, make_server, stubs):
    messages, services = stubs
    control, _, metrics = engine()
    server = make_server("drover", env={"DROVER_ENGINE": control})
    with grpc.insecure_channel(server.address) as channel:
        stub = services.TestServiceStub(channel)
        for _ in range(7):
            stub.Echo(messages.EchoRequest(text="x"))
        with pytest.raises(grpc.RpcError):
            stub.Fail(messages.FailRequest(code=3))
    with urllib.request.urlopen(f"http://127.0.0.1:{metrics}/metrics", timeout=10) as answer:
        text = answer.read().decode()
    echo = [line for line in text.splitlines() if "/drover.testing.TestService/Echo" in line]
    assert any(re.search(r"requests_total\{.*\} 7(\.0)?$", line) for line in echo), "\n".join(echo) or text
    assert any(re.search(r"_bucket\{.*le=", line) for line in echo)
    fail = [line for line in text.splitlines() if "/drover.testing.TestService/Fail" in line]
    assert any("INVALID_ARGUMENT" in line and line.endswith((" 1", " 1.0")) for line in fail), "\n".join(fail)
    assert "ring_depth" in text and "region" in text


def test_sigterm_drains_calls_in_flight_and_ends_the_engine(engine, make_server, stubs):
    messages, services = stubs
    control, process, _ = engine()
    server = make_server("drover", env={"DROVER_ENGINE": control})
    with grpc.insecure_channel(server.address) as channel:
        stub = services.TestServiceStub(channel)
        sleeper = stub.Sleep.future(messages.SleepRequest(millis=1500), timeout=20)
        wait_for(lambda: stub.Stats(messages.StatsRequest()).running == 1)
        process.send_signal(signal.SIGTERM)
        assert sleeper.result(timeout=20).cancelled is False
        assert process.wait(10) == 0
    time.sleep(0.1)
    began = time.monotonic()
    assert server.stop() == 0  # it does not wait for an engine to come back
    assert time.monotonic() - began < 5


def test_no_call_is_lost_when_the_engine_drains_under_load(engine, make_server, stubs):
    messages, services = stubs
    control, process, _ = engine()
    server = make_server("drover", env={"DROVER_ENGINE": control})
    wrong, good = [], [0]

    def call(n):
        with grpc.insecure_channel(server.address, options=[("grpc.use_local_subchannel_pool", 1)]) as channel:
            stub = services.TestServiceStub(channel)
            while process.poll() is None:
                try:
                    if stub.Echo(messages.EchoRequest(text=str(n)), timeout=20).text != str(n):
                        wrong.append("another call's data")
                    good[0] += 1
                except grpc.RpcError as error:
                    if error.code() != grpc.StatusCode.UNAVAILABLE:
                        wrong.append(f"{error.code()} {error.details()}")
                    break

    threads = [threading.Thread(target=call, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    wait_for(lambda: good[0] > 200)
    process.send_signal(signal.SIGTERM)
    for thread in threads:
        thread.join(30)
    assert not any(thread.is_alive() for thread in threads)
    assert wrong == []
    assert process.wait(15) == 0


def test_a_host_that_is_told_to_stop_finishes_its_calls(make_server, stubs):
    messages, services = stubs
    server = make_server("drover")
    with grpc.insecure_channel(server.address) as channel:
        stub = services.TestServiceStub(channel)
        sleeper = stub.Sleep.future(messages.SleepRequest(millis=1000), timeout=20)
        wait_for(lambda: stub.Stats(messages.StatsRequest()).running == 1)
        engine_pid = server.engine_pid
        assert server.stop() == 0
        assert sleeper.result(timeout=20).cancelled is False
    wait_for(lambda: not os.path.exists(f"/proc/{engine_pid}"))


def test_a_port_in_use_is_an_error_of_the_host(build_dir, make_server):
    server = make_server("drover")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        done = subprocess.run([str(build_dir / "tests" / "test_server"), "--address", address],
                              capture_output=True, text=True, timeout=30)
    assert done.returncode == 1
    assert address in done.stderr
    assert server.process.poll() is None
