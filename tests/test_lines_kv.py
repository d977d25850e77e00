"""examples/lines_kv as processes: one source on droverd between two processes, and on simulated NICs."""

import json
import os
import signal
import subprocess
import time

import pytest


class KeyValue:
    """A server on an engine that it starts itself, and its clients."""

    def __init__(self, build_dir, folder, lanes):
        self.programs = build_dir / "examples" / "lines_kv"
        self.environment = {name: value for name, value in os.environ.items() if name != "DROVER_ENGINE"}
        self.environment["XDG_RUNTIME_DIR"] = str(folder)
        self.server = subprocess.Popen([self.programs / "kv_server", str(lanes)], env=self.environment,
                                       stdout=subprocess.PIPE, text=True)
        assert "serving lines_kv.KeyValue" in self.server.stdout.readline()

    def start(self, *words):
        return subprocess.Popen([self.programs / "kv_client", *words], env=self.environment, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)

    def call(self, *words):
        """(exit status, what it printed, what it complained about)"""
        client = self.start(*words)
        out, complaint = client.communicate(timeout=60)
        return client.returncode, out, complaint

    def stop(self):
        self.server.send_signal(signal.SIGTERM)
        return self.server.wait(timeout=20)


@pytest.fixture
def key_value(build_dir, tmp_path):
    service = KeyValue(build_dir, tmp_path, 2)
    yield service
    service.server.kill()
    service.server.wait()


def test_what_is_set_is_what_is_got(key_value):
    assert key_value.call("set", "colour", "blue") == (0, "version 1\n", "")
    assert key_value.call("set", "colour", "red")[1] == "version 2\n"
    assert key_value.call("set", "colour2", "x" * 31)[0] == 0
    assert key_value.call("get", "colour") == (0, "red (version 2)\n", "")
    assert key_value.call("scan", "col")[1] == "colour red\ncolour2 " + "x" * 31 + "\n"


def test_errors_have_names(key_value):
    status, _, complaint = key_value.call("get", "nothing")
    assert status == 1 and "NOT_FOUND" in complaint
    assert key_value.call("get", "x" * 16)[2] == "kv_client: a key has at most 15 bytes\n"


def test_every_answer_of_several_clients_is_right(key_value):
    clients = [key_value.start("load", "5000", "2") for _ in range(2)]
    for client in clients:
        out, complaint = client.communicate(timeout=120)
        assert client.returncode == 0, complaint
        assert "10000 calls, all as they should be" in out
    assert key_value.stop() == 0


def test_a_client_notices_that_its_server_died(key_value):
    client = key_value.start("load", "1000000000")
    time.sleep(0.5)
    key_value.server.kill()
    _, complaint = client.communicate(timeout=60)
    assert client.returncode == 1
    assert "UNAVAILABLE" in complaint or "the connection was closed" in complaint


@pytest.mark.parametrize("interface", ["coherent", "doorbell"])
def test_the_same_source_answers_right_on_simulated_nics(build_dir, tmp_path, interface):
    drover = build_dir / "cli" / "drover"
    if not drover.exists():
        pytest.skip("no drover command in this build")
    report = tmp_path / "report.json"
    subprocess.run([drover, "sim", "dagger", "--set", "calls.program=lines_kv", "--set", "calls.time=40us",
                    "--set", f"line_nic.interface={interface}", "--set", "calls.outstanding=16", "--json", report],
                   check=True, stdout=subprocess.DEVNULL)
    assert json.loads(report.read_text())
