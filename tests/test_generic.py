"""Generic services and methods whose messages are bytes, by the stock Python client: what it sees of Drover is what it
sees of gRPC C++."""

import os
import random
import subprocess
import time

import grpc
import pytest

from processes import FLAVOURS

SIZES = [0, 1, 255, 256, 5000, 16384, 70000, 1 << 20, (4 << 20) - 100]


@pytest.fixture(params=sorted({(kind, *((argument,) if argument else ()))
                               for kind, *_ in FLAVOURS for argument in ("", "--callback")}), ids="-".join)
def server(request, make_server):
    running = make_server(*request.param, name="generic_server")
    options = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]
    with grpc.insecure_channel(running.address, options=options) as channel:
        running.channel = channel
        yield running


def bytes_of(size):
    return random.Random(size).randbytes(size)


def unary(server, path):
    return server.channel.unary_unary(path)


def status_of(call):
    with pytest.raises(grpc.RpcError) as error:
        call()
    return error.value.code(), error.value.details()


@pytest.mark.parametrize("path", ["/no.such.Service/Method", "/x.Y/Z", "/drover.testing.TestService/Nothing",
                                  "/" + "long" * 500 + "/Echo"])
def test_a_method_of_any_name_is_served_with_bytes_that_are_no_protobuf(server, path):
    sent = b"\xff\xfe\x00 no protobuf \x07\x0b"
    reply, call = unary(server, path).with_call(sent)
    assert reply == sent
    assert dict(call.trailing_metadata())["method"] == path


@pytest.mark.parametrize("size", SIZES)
def test_messages_of_many_sizes_come_back(server, size):
    assert unary(server, "/any.Service/Echo")(bytes_of(size)) == bytes_of(size)


def test_the_context_has_the_method_and_the_host_and_the_clients_metadata(server):
    sent = (("name", "value"), ("data-bin", b"\x01\x02\xfe"))
    _, call = unary(server, "/any.Service/Echo").with_call(b"x", metadata=sent)
    trailing = [(key, value) for key, value in call.trailing_metadata()]
    assert ("called-at", server.address) in trailing
    saw = [value for key, value in trailing if key == "saw"]
    assert "name" in saw and "data-bin" in saw and "user-agent" in saw
    assert not any(key.startswith(":") for key in saw)


def test_streams_both_ways_keep_their_order(server):
    messages = [bytes_of(i * 37 % 3000) for i in range(300)]
    assert list(server.channel.stream_stream("/any.Service/Talk")(iter(messages))) == messages


def test_a_stream_of_requests_has_one_reply(server):
    messages = [bytes(i) for i in range(100)]
    reply = server.channel.stream_unary("/any.Service/Count")(iter(messages))
    assert reply == f"100 {sum(range(100))}".encode()


def test_a_call_without_messages_is_a_call(server):
    assert server.channel.stream_unary("/any.Service/Count")(iter(())) == b"0 0"


def test_messages_are_parsed_and_serialized_by_hand(server, stubs):
    messages, _ = stubs
    request = messages.EchoRequest(text="twice ", payload=b"\x00\x01")
    reply = messages.EchoRequest.FromString(unary(server, "/any.Service/Parse")(request.SerializeToString()))
    assert reply.text == "twice twice " and reply.payload == b"\x00\x01"
    assert status_of(lambda: unary(server, "/any.Service/Parse")(b"\x0a\xff"))[0] == grpc.StatusCode.INTERNAL


def test_a_status_arrives_with_its_text(server):
    assert status_of(lambda: unary(server, "/any.Service/Fail")(b"why")) == (grpc.StatusCode.NOT_FOUND, "why")


def test_a_method_may_be_left_to_the_generic_service(server, stubs):
    messages, services = stubs
    assert services.TestServiceStub(server.channel).Stats(messages.StatsRequest()).calls == 4711


def test_methods_of_services_go_to_their_services(server, stubs):
    messages, services = stubs
    stub = services.TestServiceStub(server.channel)
    assert stub.Metadata(messages.MetadataRequest()).peer.startswith("ipv4:")
    assert status_of(lambda: stub.Sleep(messages.SleepRequest()))[0] == grpc.StatusCode.UNIMPLEMENTED


@pytest.mark.parametrize("size", SIZES)
def test_raw_unary_methods_through_queues_and_by_callback(server, size):
    assert unary(server, "/drover.testing.TestService/Echo")(bytes_of(size)) == bytes_of(size)
    call = unary(server, "/drover.testing.TestService/Fail")
    if size <= 10:
        assert call(bytes_of(size)) == bytes_of(size) * 2
    else:
        assert status_of(lambda: call(bytes_of(size))) == (grpc.StatusCode.OUT_OF_RANGE, str(size))


def test_raw_streams_through_queues_and_by_callback(server):
    messages = [bytes_of(i * 1009 % 20000) for i in range(100)]
    talk = server.channel.stream_stream("/drover.testing.StreamService/Talk")
    assert list(talk(iter(messages))) == messages
    collect = server.channel.stream_unary("/drover.testing.StreamService/Collect")
    assert collect(iter(messages)) == b"".join(messages)


def test_a_synchronous_handler_may_have_its_messages_as_streams(server, stubs):
    messages, services = stubs
    reply = services.TestServiceStub(server.channel).Sized(messages.SizedRequest(size=100000))
    assert reply.payload == b"z" * 100000
    items = services.StreamServiceStub(server.channel).Spread(messages.SpreadRequest(count=50))
    assert [item.number for item in items] == list(range(50))


def test_a_streamed_unary_method_without_a_write_is_an_error(server, stubs):
    messages, services = stubs
    stub = services.TestServiceStub(server.channel)
    code, details = status_of(lambda: stub.Sized(messages.SizedRequest(size=-1)))
    assert (code, details) == (grpc.StatusCode.INTERNAL, "Service did not provide response message")
    assert status_of(lambda: stub.Sized(messages.SizedRequest(size=-2))) == (grpc.StatusCode.NOT_FOUND, "no reply")


def test_a_client_that_leaves_is_seen(server, stubs):
    messages, services = stubs
    stub = services.TestServiceStub(server.channel)

    def cancelled():
        return stub.Metadata(messages.MetadataRequest()).deadline_millis

    def one_message_then_silence():
        yield b"x"
        time.sleep(5)

    call = server.channel.stream_stream("/any.Service/Talk")(one_message_then_silence())
    assert next(call) == b"x"
    call.cancel()
    end = time.monotonic() + 10
    while cancelled() == 0:
        assert time.monotonic() < end
        time.sleep(0.02)


def test_many_calls_at_once_each_get_their_own_answer(server):
    call = unary(server, "/any.Service/Echo")
    futures = [(call.future(bytes_of(i)), bytes_of(i)) for i in range(500)]
    for future, expected in futures:
        assert future.result() == expected


@pytest.fixture(params=sorted({kind for kind, *_ in FLAVOURS}))
def store(request, build_dir):
    """examples/store"""
    program = build_dir / "examples" / "store" / ("store_server" if request.param == "drover" else
                                                  "clients/store_server_grpc")
    process = subprocess.Popen([program, "127.0.0.1:0"], stdout=subprocess.PIPE, text=True)
    try:
        port = process.stdout.readline().split()[-1]
        with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
            yield channel
    finally:
        process.terminate()
        process.wait(20)


def test_the_store_keeps_messages_of_any_content_under_any_name(store):
    fetch, keep = store.unary_unary("/flowers/rose"), store.unary_unary("/flowers/rose")
    assert status_of(lambda: fetch(b""))[0] == grpc.StatusCode.NOT_FOUND
    assert keep(b"\xffred") == b""
    assert fetch(b"") == b"\xffred"
    several = store.stream_stream("/flowers/tulip")
    assert list(several(iter([b"a", b"b", bytes(100000)]))) == [b""]
    assert list(several(iter(()))) == [b"a", b"b", bytes(100000)]
    count = store.unary_unary("/store.Keeper/Count")(b"\x0a\x09/flowers/")
    assert count == b"\x08\x02\x10\xa6\x8d\x06", "2 keys of 100,006 bytes"


@pytest.mark.skipif(bool(os.environ.get("DROVER_ENGINE_IO")), reason="the same over any Io")
def test_hosts_on_one_port_share_the_names(make_server, stubs):
    """One host has services, the other one a generic service: each gets what is its own, whoever came first."""
    messages, services = stubs
    generic = make_server("drover", "--callback", "--only-generic", name="generic_server")
    named = make_server("drover", address=generic.address)
    with grpc.insecure_channel(generic.address) as channel:
        stub = services.TestServiceStub(channel)
        assert stub.Sleep(messages.SleepRequest()).cancelled is False  # of the named one alone
        for _ in range(20):
            assert channel.unary_unary("/any.Service/Echo")(b"any") == b"any"
    assert named.engine_pid is None, "it has an engine of its own"
