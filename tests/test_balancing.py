"""Three processes serve one method behind one engine; stock clients' calls are spread as dispatch.balance says."""

import collections
import socket
import subprocess
import urllib.request

import grpc
import pytest

from processes import wait_for

METHOD = "/drover.testing.TestService/"
SEED = "00112233445566778899aabbccddeeff"


class Hosts:
    """The engine, its test servers at one address, and a client."""

    def __init__(self, build_dir, tmp_path, make_server, stubs, balance, same_name=False):
        self.messages, services = stubs
        self.make_server = make_server
        self.same_name = same_name
        self.control = tmp_path / "engine.sock"
        config = tmp_path / "droverd.toml"
        config.write_text(f'[dispatch]\nbalance = "{balance}"\nbalance_seed = "{SEED}"\n')
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.metrics = probe.getsockname()[1]
        self.log = tmp_path / "engine.log"
        self.engine = subprocess.Popen(
            [str(build_dir / "engine" / "droverd"), "--config", str(config), f"--log.file={self.log}",
             f"--metrics.address=127.0.0.1:{self.metrics}", f"--engine.control_socket=unix:{self.control}"])
        wait_for(self.control.exists)
        self.servers = {}
        self.add("one")
        self.address = self.servers["one"].address
        for name in ("two", "three"):
            self.add(name)
        self.channel = grpc.insecure_channel(self.address)
        self.service = services.TestServiceStub(self.channel)
        self.streams = services.StreamServiceStub(self.channel)
        self.names()

    def add(self, name):
        address = self.address if self.servers else "127.0.0.1:0"
        self.servers[name] = self.make_server(
            "drover", address=address,
            env={"DROVER_ENGINE": f"unix:{self.control}", "DROVER_HOST_NAME": "shop" if self.same_name else name,
                 "DROVER_WORKERS": "2"})

    def names(self):
        self.name_of = {server.process.pid: name for name, server in self.servers.items()}

    def host_of(self, text="", user=None, **options):
        metadata = [("user", user)] if user is not None else None
        reply = self.service.Echo(self.messages.EchoRequest(text=text), metadata=metadata, timeout=20, **options)
        assert reply.text == text
        return self.name_of[reply.pid]

    def mapping(self, keys):
        return {key: self.host_of(user=key) for key in keys}

    def metric(self, name):
        text = urllib.request.urlopen(f"http://127.0.0.1:{self.metrics}/metrics", timeout=10).read().decode()
        return sum(float(line.split()[-1]) for line in text.splitlines() if line.startswith(name))

    def end(self):
        self.channel.close()
        self.engine.terminate()
        self.engine.wait(20)


@pytest.fixture
def hosts(build_dir, tmp_path, make_server, stubs):
    started = []

    def start(balance, **options):
        started.append(Hosts(build_dir, tmp_path, make_server, stubs, balance, **options))
        return started[-1]

    yield start
    for one in started:
        one.end()


@pytest.mark.parametrize("same_name", [False, True], ids=["own_names", "one_name"])
def test_a_metadata_key_leads_to_one_host_and_a_restart_moves_only_its_share(hosts, same_name):
    hosts = hosts(f"{METHOD}* hash=metadata:user", same_name=same_name)
    keys = [f"user-{i}" for i in range(120)]
    before = hosts.mapping(keys)
    assert hosts.mapping(keys) == before
    counts = collections.Counter(before.values())
    assert set(counts) == {"one", "two", "three"} and min(counts.values()) >= 20, counts

    hosts.servers["two"].stop()
    without = hosts.mapping(keys)
    assert all(without[key] == host for key, host in before.items() if host != "two")
    assert set(without.values()) == {"one", "three"}

    hosts.add("two")  # another process of the same name; of one name, it takes the seat that is free
    hosts.names()
    assert hosts.mapping(keys) == before


def test_a_field_of_the_request_leads_to_one_host_also_when_it_is_compressed(hosts):
    hosts = hosts(f"{METHOD}Echo hash=field:text")
    keys = [f"order {i} " * 20 for i in range(30)]
    by_field = {key: hosts.host_of(text=key) for key in keys}
    assert set(by_field.values()) == {"one", "two", "three"}
    for key, host in by_field.items():
        assert hosts.host_of(text=key, compression=grpc.Compression.Gzip) == host
    # The same text far behind in a large request, which arrives in many frames.
    for key in keys[:5]:
        request = hosts.messages.EchoRequest(payload=b"p" * 300_000, text=key, words=["w"] * 1000)
        assert hosts.name_of[hosts.service.Echo(request, timeout=20).pid] == by_field[key]
    # Without the field, the hosts take turns.
    assert collections.Counter(hosts.host_of() for _ in range(30)) == {"one": 10, "two": 10, "three": 10}


def test_the_log_names_a_field_that_a_method_has_not(hosts):
    hosts = hosts("* hash=field:text")
    wait_for(lambda: "no_balance_key" in hosts.log.read_text())
    lines = [line for line in hosts.log.read_text().splitlines() if "no_balance_key" in line]
    assert any("SleepRequest has no field text" in line for line in lines), lines
    assert any("StreamService/Talk" in line and "its requests stream" in line for line in lines), lines
    assert not any("TestService/Echo" in line for line in lines), lines


def test_least_outstanding_leaves_busy_hosts_alone(hosts):
    hosts = hosts(f"{METHOD}* least-outstanding")

    def served():
        return set(hosts.host_of() for _ in range(12))

    assert served() == {"one", "two", "three"}
    sleeping = []
    for idle in (2, 1):
        sleeping.append(hosts.service.Sleep.future(hosts.messages.SleepRequest(millis=20_000), timeout=30))
        wait_for(lambda: len(served()) == idle)
        assert len(served()) == idle
    for call in sleeping:
        call.cancel()
    wait_for(lambda: len(served()) == 3)


def test_a_bound_spreads_a_hot_key(hosts):
    hosts = hosts(f"{METHOD}* hash=metadata:user bound=150")
    first = hosts.host_of(user="hot")
    calls = [hosts.service.Sleep.future(hosts.messages.SleepRequest(millis=20_000), metadata=[("user", "hot")],
                                        timeout=30) for _ in range(13)]
    wait_for(lambda: hosts.metric("drover_calls_moved_on_total") >= 6)
    # With the next one 14 calls at three hosts: with 150 % of the mean, one may have 7, and has them.
    assert hosts.host_of(user="hot") != first
    for call in calls:
        call.cancel()
    wait_for(lambda: hosts.host_of(user="hot") == first)
