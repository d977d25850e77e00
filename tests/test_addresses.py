"""Addresses and channel arguments of a server, by the stock Python client: Drover takes them as gRPC C++ does."""

import os
import queue
import socket
import time

import grpc
import pytest

PATIENCE = 15  # seconds of a call

KINDS = ["drover"] if os.environ.get("DROVER_ENGINE_IO") else ["drover", "grpc"]


@pytest.fixture(params=KINDS)
def serve(request, make_server):
    """serve(ADDRESS, ARGUMENT ...): a server that listens there, on Drover or on gRPC C++."""
    def start(address, *arguments, **options):
        return make_server(request.param, *arguments, address=address, **options)
    start.kind = request.param
    return start


def echo(stubs, target, text="x"):
    messages, services = stubs
    with grpc.insecure_channel(target) as channel:
        return services.TestServiceStub(channel).Echo(messages.EchoRequest(text=text), timeout=PATIENCE).text


@pytest.mark.parametrize("name", ["drover-{}", "drover%00abstract%00{}", "drover%20{}%00"])
def test_an_abstract_name_may_have_nuls(serve, stubs, name):
    address = "unix-abstract:" + name.format(f"{os.getpid()}-{serve.kind}")
    serve(address)
    assert echo(stubs, address) == "x"
    with pytest.raises(grpc.RpcError) as error:
        echo(stubs, address + "%00")
    assert error.value.code() == grpc.StatusCode.UNAVAILABLE


def test_a_connection_without_calls_goes_when_the_argument_says(serve, stubs):
    server = serve("127.0.0.1:0", "--argument", "grpc.max_connection_idle_ms=300")
    messages, services = stubs
    states = queue.Queue()
    with grpc.insecure_channel(server.address) as channel:
        channel.subscribe(states.put)
        assert services.TestServiceStub(channel).Echo(messages.EchoRequest(text="x"), timeout=PATIENCE).text == "x"
        while states.get(timeout=PATIENCE) is not grpc.ChannelConnectivity.READY:
            continue
        assert states.get(timeout=PATIENCE) is grpc.ChannelConnectivity.IDLE
        assert services.TestServiceStub(channel).Echo(messages.EchoRequest(text="y"), timeout=PATIENCE).text == "y"


def test_a_client_has_as_many_calls_at_once_as_the_argument_says(serve, stubs):
    server = serve("127.0.0.1:0", "--argument", "grpc.max_concurrent_streams=2")
    messages, services = stubs
    with grpc.insecure_channel(server.address) as channel:
        stub = services.TestServiceStub(channel)
        began = time.monotonic()
        calls = [stub.Sleep.future(messages.SleepRequest(millis=300), timeout=PATIENCE) for _ in range(4)]
        for call in calls:
            call.result()
        assert time.monotonic() - began >= 0.55, "the third and fourth wait for the first two"


def test_a_name_is_listened_at(serve, stubs):
    name = socket.gethostname()
    try:
        here = {info[4][0] for info in socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)}
    except OSError:
        pytest.skip("this machine's name has no address")
    if not all(address.startswith("127.") or address == "::1" for address in here):
        pytest.skip("this machine's name has addresses beside the loopback")
    server = serve(f"{name}:0")
    assert any(echo(stubs, f"{address}:{server.port}") == "x" for address in here if ":" not in address)


# A client that pings ten times a second, also without calls; gRPC C++ and Drover tell it to stop unless they allow it.
PINGS = [("grpc.keepalive_time_ms", 100), ("grpc.keepalive_timeout_ms", 5000),
         ("grpc.keepalive_permit_without_calls", 1), ("grpc.http2.max_pings_without_data", 0)]


def connection_ends_within(server, stubs, seconds):
    """Whether a call that sleeps for that long ends before, because the server has had too many pings."""
    messages, services = stubs
    with grpc.insecure_channel(server.address, options=PINGS) as channel:
        try:
            services.TestServiceStub(channel).Sleep(messages.SleepRequest(millis=1000 * seconds), timeout=PATIENCE)
            return False
        except grpc.RpcError as error:
            assert error.code() == grpc.StatusCode.UNAVAILABLE
            assert "too many pings" in error.details().lower().replace("_", " ")
            return True


def test_a_client_that_pings_too_often_is_told_so(serve, stubs):
    assert connection_ends_within(serve("127.0.0.1:0"), stubs, 5)


def test_a_client_may_ping_as_often_as_the_arguments_say(serve, stubs):
    server = serve("127.0.0.1:0", "--argument", "grpc.http2.min_ping_interval_without_data_ms=10")
    assert not connection_ends_within(server, stubs, 2)
