"""A service is started again while its child engine lives: with the same configuration and droverd, or with others. The
host says what the engine runs on, and the engine's log comes to the living host."""

import os
import shutil
import signal
import subprocess

import grpc
import pytest

from processes import children_of, wait_for


class Service:
    """A test server whose configuration file and droverd a test changes; its engine outlives it when it is killed."""

    def __init__(self, build_dir, tmp_path, make_server, stubs):
        self.messages, self.services = stubs
        self.droverd = tmp_path / "droverd"
        shutil.copy(build_dir / "engine" / "droverd", self.droverd)
        self.config = tmp_path / "orders.toml"
        self.configure(30_000)
        self.server = make_server("drover", env={"DROVER_CONFIG": str(self.config), "DROVER_DROVERD": str(self.droverd),
                                                   "DROVER_LOG": "info"})
        self.engine = self.server.engine_pid
        assert self.echo()

    def configure(self, wait_ms):
        # The engine must not end while a slow machine starts the next host.
        self.config.write_text(f"[engine]\norphan_timeout_ms = 60000\n[dispatch]\nwait_ms = {wait_ms}\n")

    def echo(self):
        with grpc.insecure_channel(self.server.address) as channel:
            reply = self.services.TestServiceStub(channel).Echo(self.messages.EchoRequest(text="x"), timeout=20)
            return reply.text == "x" and reply.pid == self.server.process.pid

    def kill_and_restart(self):
        """The line of the new process about the engine that it found."""
        self.server.kill()
        before = len(self.server.stderr())
        self.server.restart()
        self.server.engine_pid = self.engine
        assert children_of(self.server.process.pid) == [] and os.path.exists(f"/proc/{self.engine}")
        assert self.echo()
        said = self.server.stderr()[before:]
        (line,) = [line for line in said.splitlines() if "there already" in line]
        return line, said


@pytest.fixture
def service(build_dir, tmp_path, make_server, stubs):
    return Service(build_dir, tmp_path, make_server, stubs)


def test_the_same_configuration_and_program_find_their_engine(service):
    line, _ = service.kill_and_restart()
    assert f"engine process {service.engine} runs droverd " in line
    assert f"on configuration file {service.config} (digest " in line
    assert "would start" not in line


def test_another_configuration_is_told_and_not_in_force(service):
    service.configure(20_000)
    line, _ = service.kill_and_restart()
    assert "would start one with configuration digest " in line and "takes effect once" in line
    assert "build" not in line[line.index("would start"):]
    service.configure(30_000)
    line, _ = service.kill_and_restart()
    assert "would start" not in line, "it is the engine's again"


def test_another_droverd_is_told(service):
    replaced = service.droverd.with_name("new")
    shutil.copy(service.droverd, replaced)
    with open(replaced, "ab") as file:
        file.write(b"another build")
    os.replace(replaced, service.droverd)
    line, _ = service.kill_and_restart()
    assert "would start one with build " in line
    assert "configuration digest" not in line[line.index("would start"):]


def test_a_broken_configuration_is_told(service):
    service.config.write_text("[engine]\nthreads = 0\n")
    line, said = service.kill_and_restart()
    assert "is not known" in said and "engine.threads" in said
    assert "would start" not in line


def test_the_engines_log_comes_to_the_living_host(build_dir, tmp_path, stubs, make_server):
    """The first host's stderr is a pipe that breaks with it."""
    config = tmp_path / "droverd.toml"
    config.write_text("[engine]\norphan_timeout_ms = 60000\n")
    first = subprocess.Popen([str(build_dir / "tests" / "test_server"), "--address", "127.0.0.1:0"],
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                             env=dict(os.environ, DROVER_CONFIG=str(config)))
    address = "127.0.0.1:" + first.stdout.readline().split()[2]
    (engine,) = children_of(first.pid)
    first.kill()
    first.stderr.close()
    first.stdout.close()
    first.wait()
    second = make_server("drover", address=address, env={"DROVER_CONFIG": str(config), "DROVER_LOG": "info"})
    second.engine_pid = engine
    wait_for(lambda: "log_came" in second.stderr())
    assert "its log goes to the stderr of this process" in second.stderr()
    os.kill(engine, signal.SIGTERM)
    wait_for(lambda: " draining " in second.stderr())


def test_a_services_engine_is_described_once_and_keeps_its_log(build_dir, tmp_path, make_server, stubs):
    control, log = tmp_path / "engine.sock", tmp_path / "engine.log"
    engine = subprocess.Popen([str(build_dir / "engine" / "droverd"), f"--engine.control_socket=unix:{control}",
                               f"--log.file={log}"])
    try:
        wait_for(control.exists)
        server = make_server("drover", env={"DROVER_ENGINE": f"unix:{control}", "DROVER_LOG": "info"})
        (line,) = [line for line in server.stderr().splitlines() if "there already" in line]
        assert f"engine process {engine.pid} runs droverd" in line and "no configuration file" in line
        assert line.endswith(f"its log goes to {log}")
    finally:
        engine.terminate()
        engine.wait(20)


def test_a_fingerprint_is_of_what_is_in_effect(build_dir, tmp_path):
    def fingerprint(*flags, env=None):
        done = subprocess.run([str(build_dir / "engine" / "droverd"), "--fingerprint", *flags], capture_output=True,
                              text=True, timeout=20, env=dict(os.environ, **(env or {})))
        assert done.returncode == 0, done.stderr
        return dict(word.split("=") for word in done.stdout.split())

    plain = fingerprint()
    assert len(plain["build"]) == len(plain["config"]) == 64
    assert fingerprint("--engine.control_socket=unix:/x", "--engine.pidfile=/x") == plain
    file = tmp_path / "a.toml"
    file.write_text("# the default\n[dispatch]\nwait_ms = 5000\n")
    assert fingerprint("--config", str(file)) == plain, "the values count, not the text"
    assert fingerprint("--dispatch.wait_ms=5001")["config"] != plain["config"]
    assert fingerprint(env={"DROVER_ENGINE_IO": "epoll"}) == fingerprint("--engine.io=epoll")
    assert fingerprint(env={"DROVER_ENGINE_IO": "uring"})["config"] != fingerprint("--engine.io=epoll")["config"]
    assert fingerprint("--child")["config"] != plain["config"]
