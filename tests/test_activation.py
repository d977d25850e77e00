"""Socket activation: droverd, and services whose droverd is their child, serve sockets that systemd has bound."""

import os
import pathlib
import signal
import socket
import subprocess
import sys
import time

import grpc
import pytest

from processes import REFUSED, children_of, free_port, wait_for

ACTIVATOR = pathlib.Path(__file__).resolve().parent / "activator.py"


@pytest.fixture
def activated(tmp_path):
    """Starts programs with sockets; gives (process, path of what it says on stderr)."""
    started = []

    def start(addresses, program, *arguments, **environment):
        log = tmp_path / f"log{len(started)}"
        command = [sys.executable, str(ACTIVATOR), *addresses, "--", str(program), *map(str, arguments)]
        with open(log, "w") as said:
            process = subprocess.Popen(command, stderr=said, stdout=subprocess.DEVNULL, env=dict(os.environ, **environment))
        started.append((process, log))
        return process, log

    yield start
    for process, log in started:
        engines = children_of(process.pid)
        process.kill()
        process.wait()
        for engine in engines:
            try:
                os.kill(engine, signal.SIGKILL)
            except ProcessLookupError:
                pass
        assert REFUSED not in log.read_text()


def sockets_of(pid):
    """The inodes of a process's sockets."""
    links = []
    for name in os.listdir(f"/proc/{pid}/fd"):
        try:
            links.append(os.readlink(f"/proc/{pid}/fd/{name}"))
        except OSError:
            pass
    return [link for link in links if link.startswith("socket:")]


def listening(port):
    """The inodes of all sockets that listen on an IPv4 port."""
    rows = [line.split() for line in pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return {f"socket:[{row[9]}]" for row in rows if row[3] == "0A" and row[1].endswith(f":{port:04X}")}


def echo(stubs, target):
    """What an Echo through `target` says, once a host is there."""
    messages, services = stubs
    end = time.monotonic() + 30
    with grpc.insecure_channel(target) as channel:
        stub = services.TestServiceStub(channel)
        while True:
            try:
                return stub.Echo(messages.EchoRequest(payload=b"activated"), wait_for_ready=True, timeout=20).payload
            except grpc.RpcError as error:
                if error.code() != grpc.StatusCode.UNAVAILABLE or time.monotonic() > end:
                    raise


def test_a_services_own_engine_serves_the_sockets_that_systemd_bound(activated, build_dir, stubs):
    port = free_port()
    server, log = activated([f"127.0.0.1:{port}=web"], build_dir / "tests" / "test_server", "--address",
                            f"127.0.0.1:{port}")
    before = listening(port)
    assert echo(stubs, f"127.0.0.1:{port}") == b"activated"
    engine = wait_for(lambda: children_of(server.pid))[0]
    only = listening(port)
    assert len(only) == 1 and (not before or before == only), "it is the socket that was bound before, and no other"
    assert only <= set(sockets_of(engine))
    assert f"activated sockets addresses=\"127.0.0.1:{port} (web)\"" in log.read_text()

    os.kill(engine, signal.SIGKILL)  # the host starts another, which gets the sockets, too
    wait_for(lambda: [pid for pid in children_of(server.pid) if pid != engine])
    assert echo(stubs, f"127.0.0.1:{port}") == b"activated"
    assert listening(port) == only


@pytest.mark.parametrize("threads", [1, 2])
def test_clients_that_come_before_the_host_wait_in_the_sockets_queue(activated, build_dir, stubs, tmp_path, threads):
    port, path = free_port(), tmp_path / "api.sock"
    control = tmp_path / "engine.sock"
    _, log = activated([f"0.0.0.0:{port}", f"unix:{path}=api", f"dgram:127.0.0.1:{free_port()}=logs"],
                       build_dir / "engine" / "droverd", f"--engine.control_socket=unix:{control}",
                       f"--engine.threads={threads}")
    wait_for(control.exists)
    assert "descriptor 5 (logs): not a listening stream socket" in log.read_text()
    early = socket.create_connection(("127.0.0.1", port), timeout=20)
    for address, target in ((f"0.0.0.0:{port}", f"127.0.0.1:{port}"), (f"unix:{path}", f"unix:{path}")):
        for _ in range(2):  # a second host takes the socket that the first has left
            host = subprocess.Popen([build_dir / "tests" / "test_server", "--address", address],
                                    env=dict(os.environ, DROVER_ENGINE=f"unix:{control}"), stdout=subprocess.DEVNULL)
            try:
                assert echo(stubs, target) == b"activated"
            finally:
                host.terminate()
                host.wait(20)
    assert len(listening(port)) == 1 and path.exists()
    assert early.recv(9), "the server's SETTINGS"
    early.close()
    assert log.read_text().count("activated=true") == 4


def test_sockets_for_another_process_are_left_alone(build_dir, tmp_path):
    control = tmp_path / "engine.sock"
    with socket.create_server(("127.0.0.1", 0)) as bound:
        process = subprocess.Popen([build_dir / "engine" / "droverd", f"--engine.control_socket=unix:{control}"],
                                   pass_fds=[bound.fileno()], stderr=subprocess.PIPE, text=True,
                                   env=dict(os.environ, LISTEN_PID="1", LISTEN_FDS="1"))
        wait_for(control.exists)
        process.terminate()
        said = process.communicate(timeout=20)[1]
    assert process.returncode == 0 and "activated" not in said
