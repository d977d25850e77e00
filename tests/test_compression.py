"""Compressed messages by the stock Python client: what it sees of Drover is what it sees of gRPC C++. How much crosses
the wire is counted by a relay between the two."""

import random
import socket
import subprocess
import threading

import grpc
import pytest

from processes import FLAVOURS
from relay import Relay

OPTIONS = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]
ALGORITHMS = [grpc.Compression.Deflate, grpc.Compression.Gzip]
SIZE = 2_000_000  # of messages that become much smaller


class Service:
    def __init__(self, kind, server, stubs, options=()):
        self.messages, services = stubs
        self.kind = kind
        self.relay = Relay(f"127.0.0.1:{server.port}")
        self.channel = grpc.insecure_channel(self.relay.address, options=[*OPTIONS, *options])
        self.calls = services.TestServiceStub(self.channel)
        self.streams = services.StreamServiceStub(self.channel)
        self.echo(b"the connection is there")

    def echo(self, payload, **more):
        return self.calls.Echo(self.messages.EchoRequest(payload=payload), timeout=60, **more).payload

    def sized(self, size=SIZE, **more):
        """Bytes that a reply of that size takes on the wire."""
        before = self.relay.down
        assert len(self.calls.Sized(self.messages.SizedRequest(size=size), timeout=60, **more).payload) == size
        return self.relay.down - before

    def close(self):
        self.channel.close()
        self.relay.close()


@pytest.fixture
def connect(make_server, stubs):
    made = []

    def connect_to(kind, *arguments, options=(), env=None):
        made.append(Service(kind, make_server(kind, *arguments, env=env), stubs, options))
        return made[-1]

    yield connect_to
    for service in made:
        service.close()


@pytest.fixture(params=FLAVOURS, ids="-".join)
def service(request, connect):
    return connect(*request.param)


def asks(**metadata):
    return [("x-" + name.replace("_", "-"), value) for name, value in metadata.items()]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("size", [0, 1, 1000, 70_000, 4_000_000])
def test_a_compressed_request_arrives(service, algorithm, size):
    payload = random.Random(size).randbytes(min(size, 1000)) * (size // 1000 or 1)
    before = service.relay.up
    assert service.echo(payload, compression=algorithm) == payload
    if size > 10_000:
        assert service.relay.up - before < size / 10


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_request_that_becomes_no_smaller_arrives(service, algorithm):
    payload = random.Random(1).randbytes(500_000)
    assert service.echo(payload, compression=algorithm) == payload


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("count,size", [(500, 100), (50, 100_000), (6, 3_000_000)])
def test_a_stream_of_compressed_requests_arrives_in_order(service, algorithm, count, size):
    items = (service.messages.Item(number=i, payload=bytes(size)) for i in range(count))
    before = service.relay.up
    summary = service.streams.Collect(items, timeout=60, compression=algorithm)
    assert (summary.count, summary.bytes, summary.in_order) == (count, count * size, True)
    if size > 1000:
        assert service.relay.up - before < count * size / 10


def test_a_slow_handler_is_given_compressed_messages_one_by_one(service):
    """32 MB in all, of which the client may send what it likes: 32 KB, compressed."""
    items = (service.messages.Item(number=i, payload=bytes(1_000_000), pause_millis=20) for i in range(32))
    summary = service.streams.Collect(items, timeout=60, compression=grpc.Compression.Gzip)
    assert (summary.count, summary.in_order) == (32, True)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_request_is_bounded_by_its_size_once_decompressed(service, algorithm):
    for size in ((4 << 20) + 1, 200 << 20):
        with pytest.raises(grpc.RpcError) as error:
            service.echo(bytes(size), compression=algorithm)
        assert error.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
    assert service.echo(b"still here", compression=algorithm) == b"still here"


@pytest.mark.parametrize("asked", ["deflate", "gzip"])
def test_a_reply_is_compressed_as_its_handler_asks(service, asked):
    assert service.sized() > SIZE
    assert service.sized(metadata=asks(compress=asked)) < SIZE / 20
    assert service.sized(metadata=asks(compress="none")) > SIZE
    payload = random.Random(2).randbytes(300_000)  # becomes no smaller
    assert service.echo(payload, metadata=asks(compress=asked)) == payload
    assert service.echo(b"", metadata=asks(compress=asked)) == b""


@pytest.mark.parametrize("level", ["low", "medium", "high"])
def test_a_level_chooses_an_algorithm_that_the_client_takes(service, level):
    assert service.sized(metadata=asks(compress_level=level)) < SIZE / 20
    assert service.sized(metadata=asks(compress_level="none")) > SIZE


def test_a_stream_of_replies_is_compressed_message_by_message(service):
    def spread(count, size, **metadata):
        before = service.relay.down
        request = service.messages.SpreadRequest(count=count, size=size)
        received = list(service.streams.Spread(request, timeout=60, metadata=asks(**metadata)))
        assert [item.number for item in received] == list(range(count))
        assert all(item.payload == b"s" * size for item in received)
        return service.relay.down - before

    for count, size in ((20, 100_000), (3, 1_000_000), (500, 2000)):
        assert spread(count, size) > count * size
        assert spread(count, size, compress="gzip") < count * size / 10
        assert spread(count, size, compress_level="high") < count * size / 10
        assert spread(count, size, compress="gzip", plain="yes") > count * size
    spread(1000, 0, compress="deflate")


@pytest.mark.parametrize("kind", ["drover", "grpc"])
def test_a_server_has_a_standard(connect, kind):
    by_algorithm = connect(kind, "--compress", "2")
    assert by_algorithm.sized() < SIZE / 20
    assert by_algorithm.sized(metadata=asks(compress="none")) > SIZE
    by_level = connect(kind, "--compress-level", "1")
    assert by_level.sized() < SIZE / 20
    # The client takes gzip alone: the level chooses that, and deflate is not used.
    gzip_alone = connect(kind, "--compress-level", "3",
                         options=[("grpc.compression_enabled_algorithms_bitset", 0b101)])
    assert gzip_alone.sized() < SIZE / 20


@pytest.mark.parametrize("kind", ["drover", "grpc"])
def test_an_algorithm_that_is_not_enabled_is_unimplemented(connect, kind):
    service = connect(kind, "--disable", "2")
    with pytest.raises(grpc.RpcError) as error:
        service.echo(bytes(100_000), compression=grpc.Compression.Gzip)
    assert error.value.code() == grpc.StatusCode.UNIMPLEMENTED
    assert "gzip" in error.value.details()
    assert service.echo(bytes(1000), compression=grpc.Compression.Deflate) == bytes(1000)
    talk = service.streams.Talk(iter([service.messages.Item(number=1)]), compression=grpc.Compression.Gzip, timeout=20)
    assert talk.code() == grpc.StatusCode.UNIMPLEMENTED
    spread = service.streams.Spread(service.messages.SpreadRequest(count=2), compression=grpc.Compression.Gzip, timeout=20)
    assert spread.code() == grpc.StatusCode.UNIMPLEMENTED
    # Nor does it compress its replies so: the level takes what is left. (gRPC C++ sends such a reply as it is.)
    assert service.sized(metadata=asks(compress_level="low")) < SIZE / 20 or kind == "grpc"


@pytest.mark.parametrize("folder", ["", "clients"], ids=["drover", "grpc"])
def test_the_compressing_greeter_says_the_same_on_drover_and_on_grpc(build_dir, folder):
    program = "greeter_compressing_server" + ("_grpc" if folder else "")
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    process = subprocess.Popen([str(build_dir / "examples" / "greeter" / folder / program), f"127.0.0.1:{port}"],
                               stdout=subprocess.PIPE, text=True)
    process.stdout.readline()
    relay = Relay(f"127.0.0.1:{port}")
    try:
        with grpc.insecure_channel(relay.address) as channel:
            greet = channel.unary_unary("/helloworld.Greeter/SayHello")

            def said(letters, **more):
                """Bytes that the greeting takes on the wire."""
                before = relay.down
                name = varint_field(letters) + b"x" * letters
                answer = b"Hello " + b"x" * letters
                assert greet(name, timeout=20, **more) == varint_field(len(answer)) + answer
                return relay.down - before

            said(1)
            assert said(90) > 90                            # short: as it is
            assert said(5000) < 500                         # gzip
            assert said(1_000_000) < 50_000                 # deflate
            assert said(1_000_000, compression=grpc.Compression.Gzip) < 50_000
    finally:
        relay.close()
        process.terminate()
        process.wait(15)


def varint_field(number):
    """The tag of field 1 with a length."""
    out = bytearray(b"\x0a")
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes(out) + bytes([number])


def test_the_engine_may_have_compression_off(connect, tmp_path):
    config = tmp_path / "off.toml"
    config.write_text('[compression]\nalgorithms = "none"\n')
    service = connect("drover", "--compress", "2", env={"DROVER_CONFIG": str(config)})
    with pytest.raises(grpc.RpcError) as error:
        service.echo(bytes(100_000), compression=grpc.Compression.Gzip)
    assert error.value.code() == grpc.StatusCode.UNIMPLEMENTED
    assert service.sized() > SIZE


def test_many_compressing_clients_at_once(service):
    def work(seed, failures):
        chance = random.Random(seed)
        for i in range(20):
            payload = chance.randbytes(chance.randrange(500)) * chance.randrange(1, 400)
            got = service.echo(payload, compression=chance.choice(ALGORITHMS),
                               metadata=asks(compress=chance.choice(["none", "gzip", "deflate"])))
            if got != payload:
                failures.append((seed, i))

    failures = []
    threads = [threading.Thread(target=work, args=(seed, failures)) for seed in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
