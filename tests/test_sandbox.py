"""droverd in its sandbox: what is in force, of which the log and the metrics tell, and that it serves all the same.

What a process may not do is tested where the policy is (engine/sandbox/sandbox_test.cc). Here, and wherever a fixture of
these tests starts a server, an engine that was refused a system call fails the test (processes.REFUSED).
"""

import os
import pathlib
import pwd
import re
import shutil
import subprocess
import tempfile
import time
import urllib.request

import grpc
import pytest

from certificates import Authority
from processes import REFUSED, ServerProcess, free_port, wait_for

KEPT = 1 << 10  # CAP_NET_BIND_SERVICE


class Engine:
    def __init__(self, droverd, folder, *flags, **options):
        self.control = folder / "engine.sock"
        self.metrics = free_port()
        self.log = folder / "engine.log"
        with open(self.log, "w") as said:
            self.process = subprocess.Popen(
                [droverd, f"--engine.control_socket=unix:{self.control}", f"--metrics.address=localhost:{self.metrics}",
                 *flags], stderr=said, **options)
        wait_for(lambda: " ready " in self.said() or self.process.poll() is not None)

    def said(self):
        return self.log.read_text()

    def series(self, name):
        with urllib.request.urlopen(f"http://localhost:{self.metrics}/metrics", timeout=10) as response:
            lines = response.read().decode().splitlines()
        return {line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith(name)}


@pytest.fixture
def sandboxed(build_dir):
    """This build's droverd; a sanitizer's has no sandbox."""
    program = build_dir / "engine" / "droverd"
    done = subprocess.run([program, "--engine.control_socket=unix:@x", "--check"], capture_output=True, text=True)
    if not re.search("^sandbox: seccomp, Landlock", done.stdout, re.MULTILINE):
        pytest.skip(done.stdout.splitlines()[-1])
    return program


@pytest.fixture
def engine(sandboxed, tmp_path):
    started = []

    def start(*flags, folder=tmp_path, **options):
        one = Engine(sandboxed, folder, *flags, **options)
        started.append(one)
        return one

    yield start
    for one in started:
        one.process.terminate()
        one.process.wait(20)
        assert not one.log.exists() or REFUSED not in one.said()


def status_of(task):
    return dict(line.split(":\t", 1) for line in (task / "status").read_text().splitlines() if ":\t" in line)


def echo(stubs, target):
    """What an Echo through `target` says, once a host is there."""
    messages, services = stubs
    end = time.monotonic() + 30
    with grpc.insecure_channel(target) as channel:
        stub = services.TestServiceStub(channel)
        while True:
            try:
                return stub.Echo(messages.EchoRequest(payload=b"x"), wait_for_ready=True, timeout=20).payload
            except grpc.RpcError as error:
                if error.code() != grpc.StatusCode.UNAVAILABLE or time.monotonic() > end:
                    raise


@pytest.mark.parametrize("io", ["auto", "epoll"])
def test_every_thread_of_an_engine_that_serves_is_in_the_sandbox(engine, build_dir, stubs, tmp_path, io):
    one = engine(f"--engine.io={io}", "--engine.threads=2")
    host = ServerProcess(build_dir / "tests" / "test_server", env={"DROVER_ENGINE": f"unix:{one.control}"})
    try:
        assert echo(stubs, host.address) == b"x"
        tasks = list(pathlib.Path(f"/proc/{one.process.pid}/task").iterdir())
        names = {(task / "comm").read_text().strip() for task in tasks}
        assert {"engine-0", "engine-1", "control", "disposal", "civetweb-master"} <= names
        for task in tasks:
            status = status_of(task)
            assert (status["Seccomp"], status["NoNewPrivs"]) == ("2", "1"), (task / "comm").read_text()
            assert int(status["CapPrm"], 16) & ~KEPT == 0 and status["CapPrm"] == status["CapEff"]
        parts = one.series("drover_sandbox{")
        assert len(parts) == 3 and set(parts.values()) == {1.0}
        assert one.series("drover_sandbox_refused_total") == {"drover_sandbox_refused_total": 0.0}
        assert one.series("drover_host_cpu_seconds_total"), "by the process's clock: /proc is out of reach"
    finally:
        host.stop()
    assert "info sandbox seccomp=true" in one.said() and f"unix_sockets={tmp_path}" in one.said()


def test_off_and_on_and_require_are_told(engine, sandboxed, tmp_path):
    off = engine("--engine.sandbox=off")
    assert "the sandbox is off" in off.said() and set(off.series("drover_sandbox{").values()) == {0.0}
    assert status_of(pathlib.Path(f"/proc/{off.process.pid}"))["Seccomp"] == "0"
    (tmp_path / "2").mkdir()
    assert "info sandbox seccomp=true" in engine("--engine.sandbox=require", folder=tmp_path / "2").said()
    done = subprocess.run([sandboxed, "--engine.control_socket=unix:@x", "--engine.sandbox=maybe"], capture_output=True,
                          text=True, timeout=20)
    assert done.returncode == 2 and "engine.sandbox" in done.stderr


def test_a_host_is_told_where_unix_sockets_may_be(engine, build_dir, stubs, tmp_path):
    allowed, other, run = tmp_path / "allowed", tmp_path / "other", tmp_path / "run"
    for folder in (allowed, other, run):
        folder.mkdir()
    one = engine(f"--engine.unix_directories={allowed}", folder=run)
    environment = dict(os.environ, DROVER_ENGINE=f"unix:{one.control}")
    program = build_dir / "tests" / "test_server"
    done = subprocess.run([program, "--address", f"unix:{other}/x.sock"], env=environment, capture_output=True, text=True,
                          timeout=30)
    assert done.returncode != 0
    assert f"the sandbox allows Unix sockets in {allowed}, {run} (engine.unix_directories)" in done.stderr
    host = subprocess.Popen([program, "--address", f"unix:{allowed}/x.sock"], env=environment, stdout=subprocess.DEVNULL)
    try:
        assert echo(stubs, f"unix:{allowed}/x.sock") == b"x"
    finally:
        host.terminate()
        host.wait(20)
    wait_for(lambda: not (allowed / "x.sock").exists())


def refusal(build_dir, engine, address):
    """What a host says that may not listen there."""
    done = subprocess.run([build_dir / "tests" / "test_server", "--address", address], capture_output=True, text=True,
                          env=dict(os.environ, DROVER_ENGINE=f"unix:{engine.control}"), timeout=30)
    assert done.returncode != 0
    return done.stderr


def test_a_directory_that_was_made_anew_is_named_with_the_way_out(engine, build_dir, tmp_path):
    shop, run = tmp_path / "shop", tmp_path / "run"
    shop.mkdir()
    run.mkdir()
    one = engine(f"--engine.unix_directories={shop}", folder=run)
    shop.rmdir()
    shop.mkdir()
    said = refusal(build_dir, one, f"unix:{shop}/x.sock")
    assert f"{shop} was removed and made anew since the engine started" in said and "restart the engine" in said


def test_a_directory_above_outlives_those_that_are_made_anew(engine, build_dir, stubs, tmp_path):
    above, run = tmp_path / "above", tmp_path / "run"
    (above / "shop").mkdir(parents=True)
    run.mkdir()
    one = engine(f"--engine.unix_directories={above}", folder=run)
    (above / "shop").rmdir()
    (above / "shop").mkdir()
    host = subprocess.Popen([build_dir / "tests" / "test_server", "--address", f"unix:{above}/shop/x.sock"],
                            env=dict(os.environ, DROVER_ENGINE=f"unix:{one.control}"), stdout=subprocess.DEVNULL)
    try:
        assert echo(stubs, f"unix:{above}/shop/x.sock") == b"x"
    finally:
        host.terminate()
        host.wait(20)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs an engine of root")
def test_root_without_rules_for_hosts_says_why_a_users_directory_is_closed(engine, build_dir, tmp_path):
    theirs, run = tmp_path / "theirs", tmp_path / "run"
    theirs.mkdir(mode=0o700)
    run.mkdir()
    os.chown(theirs, pwd.getpwnam("nobody").pw_uid, -1)
    one = engine(f"--engine.unix_directories={theirs}", folder=run)
    why = f"{theirs} is closed to user 0: it is user {pwd.getpwnam('nobody').pw_uid}'s, mode 0700. The engine is root"
    assert "hosts cannot listen on Unix sockets in this directory" in one.said() and why in one.said()
    said = refusal(build_dir, one, f"unix:{theirs}/x.sock")
    assert why in said and "set hosts.allow, or run the engine as that user (engine.user)" in said


@pytest.mark.parametrize("key", ["trace.file", "binary_log.file"])
def test_written_files_have_a_directory_of_their_own(engine, sandboxed, tmp_path, key):
    home, run = tmp_path / "home", tmp_path / "run"
    home.mkdir()
    run.mkdir()
    environment = dict(os.environ, HOME=str(home))
    for file, why in ((home / "spans.jsonl", f"{home}, which is a home directory"),
                      (tmp_path / "spans.jsonl", f"{tmp_path}, which is a home directory, or has one"),
                      ("/spans.jsonl", "/, which"), ("/var/spans.jsonl", "/var, which is not a directory of its own"),
                      ("/var/log/spans.jsonl", "/var/log, which other services log into")):
        command = [sandboxed, f"--engine.control_socket=unix:{run}/e.sock", f"--{key}={file}", "--binary_log.filter=*"]
        for more, status in (([], 1), (["--check"], 2)):
            done = subprocess.run([*command, *more], capture_output=True, text=True, env=environment, timeout=20)
            assert done.returncode == status and f"{key}: " in done.stderr and why in done.stderr
    engine(f"--{key}={home}/spans.jsonl", "--binary_log.filter=*", "--engine.sandbox=off", folder=run, env=environment)


def test_a_directory_of_a_relative_name_that_is_not_there_is_not_called_another(sandboxed, tmp_path):
    done = subprocess.run([sandboxed, "--engine.control_socket=unix:@x", "--trace.file=none/spans.jsonl", "--check"],
                          capture_output=True, text=True, cwd=tmp_path, timeout=20)
    assert done.returncode == 2 and "No such file" in done.stderr and "directory of its own" not in done.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes another user")
def test_root_becomes_the_configured_user(engine, build_dir, stubs):
    nobody = pwd.getpwnam("nobody")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="drover-user-", dir="/tmp"))  # pytest's own are root's alone
    folder.chmod(0o755)
    runtime = folder / "run"
    runtime.mkdir()
    os.chown(runtime, nobody.pw_uid, nobody.pw_gid)
    try:
        one = engine("--engine.user=nobody", f"--engine.pidfile={runtime}/pid", folder=runtime)
        status = status_of(pathlib.Path(f"/proc/{one.process.pid}"))
        assert set(status["Uid"].split()) == {str(nobody.pw_uid)} and set(status["Gid"].split()) == {str(nobody.pw_gid)}
        assert int(status["CapEff"], 16) == int(status["CapPrm"], 16) == KEPT and int(status["CapBnd"], 16) == 0
        assert one.control.stat().st_uid == nobody.pw_uid
        address = f"127.0.0.1:{free_port()}"
        host = subprocess.Popen([build_dir / "tests" / "test_server", "--address", address], user="nobody",
                                group=nobody.pw_gid, extra_groups=[], stdout=subprocess.DEVNULL,
                                env=dict(os.environ, DROVER_ENGINE=f"unix:{one.control}"))
        try:
            assert echo(stubs, address) == b"x"
        finally:
            host.terminate()
            host.wait(20)
        one.process.terminate()
        assert one.process.wait(20) == 0
        assert not (runtime / "pid").exists() and not one.control.exists() and REFUSED not in one.said()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def test_a_user_that_is_not_there_is_an_error(sandboxed, tmp_path):
    for flags, said in ((["--engine.user=no-such-user"], "engine.user: there is no user 'no-such-user'"),
                        (["--engine.group=root"], "engine.group: it needs engine.user")):
        command = [sandboxed, f"--engine.control_socket=unix:{tmp_path}/e.sock", *flags]
        done = subprocess.run(command, capture_output=True, text=True, timeout=20)
        assert done.returncode == 1 and said in done.stderr
        assert said in subprocess.run([*command, "--check"], capture_output=True, text=True, timeout=20).stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="needs an engine of root and a host of another user")
def test_an_engine_of_several_users_makes_sockets_where_its_rules_say(engine, build_dir, stubs):
    nobody = pwd.getpwnam("nobody")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="drover-users-", dir="/tmp"))
    folder.chmod(0o755)
    theirs = folder / "theirs"
    theirs.mkdir(mode=0o700)
    os.chown(theirs, nobody.pw_uid, nobody.pw_gid)  # root without CAP_DAC_OVERRIDE makes nothing here
    try:
        one = engine(f"--hosts.allow={nobody.pw_uid}=/drover.testing.*,unix:{theirs}/*", folder=folder)
        assert 'capabilities="net_bind_service, dac_override"' in one.said() and str(theirs) in one.said()
        host = subprocess.Popen([build_dir / "tests" / "test_server", "--address", f"unix:{theirs}/x.sock"],
                                user="nobody", group=nobody.pw_gid, extra_groups=[], stdout=subprocess.DEVNULL,
                                env=dict(os.environ, DROVER_ENGINE=f"unix:{one.control}"))
        try:
            assert echo(stubs, f"unix:{theirs}/x.sock") == b"x"
        finally:
            host.terminate()
            host.wait(20)
    finally:
        one.process.terminate()
        one.process.wait(20)
        assert REFUSED not in one.said()
        shutil.rmtree(folder, ignore_errors=True)


def test_certificates_behind_links_are_reloaded(engine, tmp_path):
    """As certbot and Kubernetes renew them: the file stays a link, to another file of another directory."""
    authority = Authority(tmp_path / "ca")
    live, archive = tmp_path / "live", tmp_path / "archive"
    live.mkdir()
    archive.mkdir()

    def renew(number):
        key, certificate = authority.sign(f"server{number}", alternative="DNS:localhost")
        for name, file in (("key", key), ("pem", certificate)):
            (archive / f"{number}.{name}").write_bytes(file.read_bytes())
            link = live / f"new.{name}"
            link.symlink_to(f"../archive/{number}.{name}")
            link.rename(live / f"server.{name}")

    renew(1)
    one = engine(f"--tls.certificate={live}/server.pem", f"--tls.key={live}/server.key", "--tls.listen=127.0.0.1:*",
                 "--tls.reload_s=1")
    renew(2)
    wait_for(lambda: "certificates reloaded" in one.said() and "CN=server2" in one.said())
