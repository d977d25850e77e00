"""gRPC's binary log: what droverd writes of the calls of a stock client, and what `drover log` shows of it."""

import json
import os
import pathlib
import re
import stat
import subprocess
import sys
import time
import urllib.request

import grpc
import pytest

from certificates import Authority
from processes import free_port, wait_for

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROTO = ROOT / "binlog" / "proto"


@pytest.fixture(scope="session")
def binarylog(build_dir):
    """binarylog_pb2, made by grpcio-tools."""
    out = build_dir / "tests" / "python_binlog"
    out.mkdir(parents=True, exist_ok=True)
    subprocess.run([sys.executable, "-m", "grpc_tools.protoc", f"-I{PROTO}", f"--python_out={out}",
                    "grpc/binarylog/v1/binarylog.proto"], check=True)
    sys.path.insert(0, str(out / "grpc" / "binarylog" / "v1"))  # `grpc` is the library's name
    import binarylog_pb2
    return binarylog_pb2


def parse(data, binarylog):
    """The entries; each behind its length as a varint."""
    found, at = [], 0
    while at < len(data):
        size = shift = 0
        while True:
            byte = data[at]
            size |= (byte & 127) << shift
            shift, at = shift + 7, at + 1
            if byte < 128:
                break
        assert at + size <= len(data), "the file ends inside an entry"
        entry = binarylog.GrpcLogEntry()
        entry.ParseFromString(data[at:at + size])
        found.append(entry)
        at += size
    return found


class Log:
    """The calls of a log, in the order in which they began: lists of entries."""

    def __init__(self, file, binarylog):
        self.file, self.binarylog = file, binarylog

    def calls(self):
        calls = {}
        for entry in parse(self.file.read_bytes() if self.file.exists() else b"", self.binarylog):
            calls.setdefault(entry.call_id, []).append(entry)
        for entries in calls.values():
            assert [entry.sequence_id_within_call for entry in entries] == list(range(1, len(entries) + 1))
            assert all(entry.logger == self.binarylog.GrpcLogEntry.LOGGER_SERVER for entry in entries)
            assert all(abs(entry.timestamp.ToNanoseconds() - time.time_ns()) < 60e9 for entry in entries)
        return list(calls.values())

    def wait(self, count):
        """That many calls, once each has its last entry."""
        def done():
            calls = self.calls()
            return calls if len(calls) >= count and all(brief(c[-1])[0] in ("SERVER_TRAILER", "CANCEL")
                                                        for c in calls) else None
        end = time.monotonic() + 10
        while not (calls := done()):
            assert time.monotonic() < end, [[brief(entry) for entry in call] for call in self.calls()]
            time.sleep(0.05)
        assert len(calls) == count
        return calls


def brief(entry):
    name = type(entry).EventType.Name(entry.type).removeprefix("EVENT_TYPE_")
    if entry.HasField("message"):
        return name, entry.message.data
    if entry.HasField("trailer"):
        return name, entry.trailer.status_code
    return name, None


def names(call):
    return [brief(entry)[0] for entry in call]


def pairs(metadata):
    return [(entry.key, entry.value) for entry in metadata.entry]


@pytest.fixture
def logging(make_server, tmp_path, binarylog):
    """logging(filter, more keys of [binary_log], other sections): (a server whose engine logs, its Log)."""

    def start(what="*", more="", sections=""):
        folder = tmp_path / "log"
        folder.mkdir(exist_ok=True)
        config, file = tmp_path / "engine.toml", folder / "calls.binlog"
        config.write_text(f'[binary_log]\nfile = "{file}"\nfilter = "{what}"\n{more}\n{sections}')
        return make_server("drover", env={"DROVER_CONFIG": str(config)}), Log(file, binarylog)

    return start


UNARY = ["CLIENT_HEADER", "CLIENT_MESSAGE", "CLIENT_HALF_CLOSE", "SERVER_HEADER", "SERVER_MESSAGE", "SERVER_TRAILER"]


def test_a_unary_call_has_its_entries(logging, stubs):
    messages, services = stubs
    server, log = logging()
    request = messages.EchoRequest(text="hello", payload=bytes(range(256)))
    with grpc.insecure_channel(server.address) as channel:
        reply, done = services.TestServiceStub(channel).Echo.with_call(
            request, timeout=5, metadata=[("a", "1"), ("b-bin", b"\0\xff"), ("authorization", "Bearer geheim")])
        assert done.code() == grpc.StatusCode.OK
        (call,) = log.wait(1)
    assert names(call) == UNARY
    header = call[0].client_header
    assert header.method_name == "/drover.testing.TestService/Echo" and header.authority == server.address
    assert 4 < header.timeout.ToSeconds() + header.timeout.nanos / 1e9 <= 5
    assert pairs(header.metadata) == [("a", b"1"), ("b-bin", b"\0\xff"), ("authorization", b"[redacted]")]
    peer = call[0].peer
    assert (peer.type, peer.address) == (log.binarylog.Address.TYPE_IPV4, "127.0.0.1") and 0 < peer.ip_port < 65536
    assert messages.EchoRequest.FromString(call[1].message.data) == request
    assert messages.EchoReply.FromString(call[4].message.data) == reply
    assert call[4].message.length == reply.ByteSize()
    assert not any(entry.payload_truncated for entry in call)
    assert b"geheim" not in log.file.read_bytes()
    assert stat.S_IMODE(os.stat(log.file).st_mode) == 0o600


def test_streams_have_each_message_in_order(logging, stubs):
    messages, services = stubs
    server, log = logging(more="max_payload_bytes = 1048576")
    items = [messages.Item(number=number, payload=bytes(1000 * number)) for number in range(20)]
    with grpc.insecure_channel(server.address) as channel:
        stub = services.StreamServiceStub(channel)
        assert list(stub.Talk(iter(items), timeout=5)) == items
        assert stub.Collect(iter(items), timeout=5).count == 20
        assert len(list(stub.Spread(messages.SpreadRequest(count=5, size=100_000), timeout=5))) == 5
        talk, collect, spread = log.wait(3)
    for side in ("CLIENT_MESSAGE", "SERVER_MESSAGE"):
        assert [messages.Item.FromString(brief(e)[1]) for e in talk if brief(e)[0] == side] == items
    assert names(talk)[0] == "CLIENT_HEADER" and names(talk)[-1] == "SERVER_TRAILER"
    assert names(collect) == ["CLIENT_HEADER"] + 20 * ["CLIENT_MESSAGE"] + UNARY[2:]
    assert names(spread) == UNARY[:4] + 5 * ["SERVER_MESSAGE"] + ["SERVER_TRAILER"]
    assert all(e.message.length > 100_000 and not e.payload_truncated for e in spread[4:-1])


def test_errors_cancelled_and_unknown_calls_are_logged(logging, stubs):
    messages, services = stubs
    server, log = logging()
    with grpc.insecure_channel(server.address) as channel:
        stub = services.TestServiceStub(channel)
        with pytest.raises(grpc.RpcError):
            stub.Fail(messages.FailRequest(code=5, message="gone \N{EURO SIGN}", details=b"\x08\x05"), timeout=5)
        with pytest.raises(grpc.RpcError):
            channel.unary_unary("/no.Such/Method")(b"abc", timeout=5)
        cancelled = stub.Sleep.future(messages.SleepRequest(millis=20_000), timeout=30)
        wait_for(lambda: len(log.calls()) == 3)
        cancelled.cancel()
        fail, unknown, sleep = log.wait(3)
    assert names(fail) == ["CLIENT_HEADER", "CLIENT_MESSAGE", "CLIENT_HALF_CLOSE", "SERVER_TRAILER"]
    trailer = fail[-1].trailer
    assert (trailer.status_code, trailer.status_message, trailer.status_details) == (5, "gone \N{EURO SIGN}",
                                                                                      b"\x08\x05")
    assert names(unknown) == ["CLIENT_HEADER", "SERVER_TRAILER"] and unknown[-1].trailer.status_code == 12
    assert names(sleep) == ["CLIENT_HEADER", "CLIENT_MESSAGE", "CLIENT_HALF_CLOSE", "CANCEL"]


def test_compressed_messages_are_logged_as_they_were(logging, stubs):
    messages, services = stubs
    server, log = logging()
    request = messages.EchoRequest(text="x" * 10_000)
    with grpc.insecure_channel(server.address, compression=grpc.Compression.Gzip) as channel:
        services.TestServiceStub(channel).Echo(request, timeout=5)
        (call,) = log.wait(1)
    assert messages.EchoRequest.FromString(call[1].message.data) == request


def test_the_filter_chooses_calls_and_cuts_them(logging, stubs):
    messages, services = stubs
    server, log = logging("drover.testing.TestService/*{h:6;m:16},-drover.testing.TestService/Stats")
    with grpc.insecure_channel(server.address) as channel:
        stub = services.TestServiceStub(channel)
        stub.Stats(messages.StatsRequest(), timeout=5)
        list(services.StreamServiceStub(channel).Talk(iter([]), timeout=5))
        stub.Echo(messages.EchoRequest(text="x" * 1000), timeout=5,
                  metadata=[("long-key", "value"), ("a", "12345"), ("grpc-trace-bin", bytes(29))])
        (call,) = log.wait(1)
    header = call[0]
    assert sorted(pairs(header.client_header.metadata)) == [("a", b"12345"), ("grpc-trace-bin", bytes(29))]
    assert header.payload_truncated
    for entry in (call[1], call[4]):
        assert entry.payload_truncated and len(entry.message.data) == 16 and entry.message.length > 1000


def test_files_are_rotated_and_each_has_whole_entries(logging, stubs, binarylog):
    messages, services = stubs
    server, log = logging(more="max_file_bytes = 1048576\nold_files = 3")
    with grpc.insecure_channel(server.address) as channel:
        stub = services.TestServiceStub(channel)
        for number in range(100):
            stub.Echo(messages.EchoRequest(text=str(number), payload=bytes(30_000)), timeout=5)
    server.stop()
    found = sorted(log.file.parent.iterdir())
    assert [file.name for file in found] == [log.file.name] + [f"{log.file.name}.{n}" for n in (1, 2, 3)]
    entries = []
    for file in found[:0:-1] + found[:1]:
        assert file.stat().st_size <= 1 << 20
        entries += parse(file.read_bytes(), binarylog)
    requests = [int(messages.EchoRequest.FromString(e.message.data).text) for e in entries
                if brief(e)[0] == "CLIENT_MESSAGE"]
    assert requests == list(range(requests[0], 100)) and len(requests) > 30


def test_what_has_no_room_is_dropped_and_calls_do_not_suffer(logging, stubs):
    messages, services = stubs
    metrics = f"127.0.0.1:{free_port()}"  # each message is larger than the memory
    server, log = logging("*", "memory = 65536\nmax_payload_bytes = 16777216",
                          f'[metrics]\naddress = "{metrics}"\n')
    with grpc.insecure_channel(server.address) as channel:
        stub = services.TestServiceStub(channel)
        for _ in range(20):
            assert len(stub.Echo(messages.EchoRequest(payload=bytes(100_000)), timeout=5).payload) == 100_000
    with urllib.request.urlopen(f"http://{metrics}/metrics", timeout=5) as scrape:
        lines = dict(line.rsplit(" ", 1) for line in scrape.read().decode().splitlines() if not line.startswith("#"))
    assert int(lines['drover_binary_log_dropped_total{why="full"}']) == 40  # the messages
    assert int(lines["drover_binary_log_entries_total"]) == 80
    assert int(lines["drover_binary_log_calls_total"]) == 20
    server.stop()
    sequence = [e.sequence_id_within_call for e in parse(log.file.read_bytes(), log.binarylog)]
    assert sequence == 20 * [1, 3, 4, 6]


def test_a_file_that_cannot_be_written_holds_no_call_up(logging, stubs):
    server, log = logging()
    log.file.mkdir()
    messages, services = stubs
    with grpc.insecure_channel(server.address) as channel:
        stub = services.TestServiceStub(channel)
        for _ in range(20):
            stub.Echo(messages.EchoRequest(text="x"), timeout=5)
        wait_for(lambda: "binary log not written" in server.stderr())
        stub.Echo(messages.EchoRequest(text="x"), timeout=5)


@pytest.mark.parametrize("key, value, why", [("filter", "*{x}", "has wrong limits"), ("filter", "*/b", "not a pattern"),
                                             ("redact", "A", "no name of metadata")])
def test_a_wrong_key_ends_the_engine_at_its_start(build_dir, tmp_path, key, value, why):
    flags = [build_dir / "engine" / "droverd", "--engine.control_socket=unix:@x", f"--binary_log.{key}={value}",
             f"--binary_log.file={tmp_path}/log"]
    for more in ([], ["--check"]):
        done = subprocess.run(flags + more, capture_output=True, text=True, timeout=20)
        assert done.returncode == 2 and f"binary_log.{key}" in done.stderr and why in done.stderr


def test_check_tells_of_half_a_configuration(build_dir, tmp_path):
    program = build_dir / "engine" / "droverd"
    for flag in (f"--binary_log.file={tmp_path}/log", "--binary_log.filter=*"):
        done = subprocess.run([program, "--engine.control_socket=unix:@x", flag, "--check"], capture_output=True,
                              text=True, timeout=20)
        assert done.returncode == 0 and "no call is logged without" in done.stderr


def test_check_tells_of_what_lies_beside_the_log(build_dir, tmp_path):
    program, folder = build_dir / "engine" / "droverd", tmp_path / "log"
    key, certificate = Authority(folder / "keys").sign("server", alternative="DNS:localhost")

    def check(*flags):
        done = subprocess.run([program, "--engine.control_socket=unix:@x", f"--binary_log.file={folder}/calls.binlog",
                               "--binary_log.filter=*", "--check", *flags], capture_output=True, text=True, timeout=20)
        return done.returncode, done.stderr

    assert check() == (0, "")
    assert check(f"--log.file={tmp_path}/log.txt") == (0, "")
    code, said = check(f"--log.file={folder}/engine.log", f"--engine.pidfile={folder}/keys/pid")
    assert code == 0 and len(said.splitlines()) == 2, said
    for name in ("log.file", "engine.pidfile"):
        assert re.search(f"^note: .*{name}: .* lies in the directory of binary_log.file", said, re.MULTILINE), said
    tls = (f"--tls.certificate={certificate}", f"--tls.key={key}", "--tls.listen=127.0.0.1:*")
    code, said = check(*tls)
    assert code == 2 and f"tls.key: {key} lies in the directory" in said and "tls.certificate: " in said
    assert check(*tls, "--engine.sandbox=off")[0] == 0
    code, said = check("--binary_log.memory=65536")
    assert code == 0 and re.search("^note: .*binary_log.memory: 65536 bytes; expected at least", said)


def test_a_filter_for_other_programs_does_not_end_an_engine_without_a_log(build_dir, make_server, stubs):
    program, environment = build_dir / "engine" / "droverd", dict(os.environ, GRPC_BINARY_LOG_FILTER="*{x}")
    environment.pop("DROVER_BINARY_LOG", None)
    done = subprocess.run([program, "--engine.control_socket=unix:@x", "--check"], capture_output=True, text=True,
                          env=environment, timeout=20)
    assert done.returncode == 0 and "has wrong limits" in done.stderr
    messages, services = stubs
    server = make_server("drover", env={"GRPC_BINARY_LOG_FILTER": "*{x}"})
    with grpc.insecure_channel(server.address) as channel:
        services.TestServiceStub(channel).Echo(messages.EchoRequest(text="x"), timeout=5)
    assert "there is no binary log" in server.stderr()


def test_an_engine_that_starts_again_goes_on_with_the_file(logging, stubs):
    messages, services = stubs
    for number in (1, 2, 3):
        server, log = logging()
        with grpc.insecure_channel(server.address) as channel:
            services.TestServiceStub(channel).Echo(messages.EchoRequest(text="x"), timeout=5)
            log.wait(number)
        server.stop()
    assert [file.name for file in log.file.parent.iterdir()] == [log.file.name]
    whole = log.file.read_bytes()
    log.file.write_bytes(whole[:-3])
    server, log = logging()
    with grpc.insecure_channel(server.address) as channel:
        services.TestServiceStub(channel).Echo(messages.EchoRequest(text="x"), timeout=5)
        old = log.file.parent / f"{log.file.name}.1"
        wait_for(old.exists)
        log.wait(1)
    assert old.read_bytes() == whole[:-3]


# ---- drover log

@pytest.fixture
def drover(build_dir):
    def run(*arguments, code=0, stdin=b""):
        done = subprocess.run([build_dir / "cli" / "drover", "log", *map(str, arguments)], input=stdin,
                              capture_output=True, timeout=60)
        assert done.returncode == code, done.stderr
        return done

    return run


@pytest.fixture
def written(logging, stubs):
    """A log of an Echo and of a Talk."""
    messages, services = stubs
    server, log = logging()
    with grpc.insecure_channel(server.address) as channel:
        services.TestServiceStub(channel).Echo(messages.EchoRequest(text="h\x1b[31mi"), timeout=5, metadata=[("a", "1")])
        list(services.StreamServiceStub(channel).Talk(iter([messages.Item(number=7)]), timeout=5))
        log.wait(2)
    return log


SCHEMA = ("--proto", ROOT / "tests" / "service" / "testing.proto")


def test_drover_log_prints_a_table(drover, written):
    lines = drover(written.file).stdout.decode().splitlines()
    assert len(lines) == 12
    assert "CLIENT_HEADER      /drover.testing.TestService/Echo  from 127.0.0.1:" in lines[0] and "  a: 1" in lines[0]
    assert lines[5].endswith("SERVER_TRAILER     OK")
    assert "\x1b" not in "".join(lines)
    decoded = drover(written.file, *SCHEMA).stdout.decode()
    assert 'CLIENT_MESSAGE     9 bytes  {"text":"h\\u001b[31mi"}' in decoded and '{"number":"7"}' in decoded


def test_drover_log_prints_json(drover, written):
    entries = [json.loads(line) for line in drover(written.file, "--json", *SCHEMA).stdout.splitlines()]
    assert [e["method"] for e in entries] == 6 * ["/drover.testing.TestService/Echo"] + 6 * [
        "/drover.testing.StreamService/Talk"]
    (request,) = [e for e in entries[:6] if e["type"] == "EVENT_TYPE_CLIENT_MESSAGE"]
    assert request["json"] == {"text": "h\x1b[31mi"} and request["message"]["length"] == 9
    assert entries[0]["clientHeader"]["metadata"]["entry"] == [{"key": "a", "value": "MQ=="}]


def test_drover_log_chooses_methods_and_calls(drover, written):
    talk = drover(written.file, "-m", "drover.testing.StreamService/Talk").stdout.splitlines()
    assert len(talk) == 6 and talk == drover("-", "-m", "drover.testing.StreamService",
                                             stdin=written.file.read_bytes()).stdout.splitlines()
    first = written.calls()[0][0].call_id
    assert len(drover(written.file, "-c", first).stdout.splitlines()) == 6
    assert drover(written.file, "-c", "1").stdout == b""


def test_drover_log_goes_on_behind_what_is_wrong(drover, written, tmp_path):
    data = written.file.read_bytes()
    cut, bad = tmp_path / "cut", tmp_path / "bad"
    cut.write_bytes(data[:-3])
    bad.write_bytes(b"\x03\xff\xff\xff" + data)
    done = drover(cut, bad, tmp_path / "missing", written.file, code=1)
    assert len(done.stdout.splitlines()) == 11 + 12 + 12
    said = done.stderr.decode()
    assert f"{cut}: truncated: it ends inside the entry at byte" in said
    assert f"{bad}: bad_entry: the 3 bytes at byte 0" in said and "missing: No such file" in said


def test_drover_log_reads_the_form_of_grpc_go(drover, written, tmp_path):
    form = tmp_path / "go"
    form.write_bytes(b"".join(len(e.SerializeToString()).to_bytes(4, "big") + e.SerializeToString()
                              for call in written.calls() for e in call))
    assert sorted(drover(form).stdout.splitlines()) == sorted(drover(written.file).stdout.splitlines())
