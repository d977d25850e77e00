"""Unary calls by the stock Python client: what it sees of Drover is what it sees of gRPC C++."""

import concurrent.futures
import random
import threading
import time

import grpc
import pytest

from processes import FLAVOURS, wait_for

OPTIONS = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]


@pytest.fixture(params=FLAVOURS, ids="-".join)
def service(request, make_server, stubs):
    messages, services = stubs
    server = make_server(*request.param)
    with grpc.insecure_channel(server.address, options=OPTIONS) as channel:
        stub = services.TestServiceStub(channel)
        stub.messages = messages
        stub.server = server
        stub.channel = channel
        stub.kind = request.param[0]
        yield stub


def code_of(call):
    with pytest.raises(grpc.RpcError) as error:
        call()
    return error.value.code()


def test_values_of_all_shapes_come_back(service):
    request = service.messages.EchoRequest(
        payload=bytes(range(256)), text="käse 牛", counts={f"k{i}": i - 3 for i in range(40)},
        words=["", "a", "b" * 3000])
    reply = service.Echo(request)
    assert reply.payload == request.payload
    assert reply.text == request.text
    assert dict(reply.counts) == dict(request.counts)
    assert list(reply.words) == list(request.words)
    assert reply.pid == service.server.process.pid


def test_a_method_may_use_the_messages_of_other_files(service):
    from google.protobuf import empty_pb2
    assert abs(service.Now(empty_pb2.Empty()).seconds - time.time()) < 60


def test_an_empty_message_is_a_message(service):
    reply = service.Echo(service.messages.EchoRequest())
    assert reply.payload == b""


@pytest.mark.parametrize("size", [0, 1, 1000, 16379, 16384, 70000, 1 << 20, (4 << 20) - 100])
def test_messages_of_many_sizes_come_back(service, size):
    payload = random.Random(size).randbytes(size)
    assert service.Echo(service.messages.EchoRequest(payload=payload)).payload == payload


def test_a_reply_may_be_larger_than_any_window(service):
    reply = service.Sized(service.messages.SizedRequest(size=20 << 20))
    assert len(reply.payload) == 20 << 20
    assert reply.payload[:26] == b"abcdefghijklmnopqrstuvwxyz"
    assert reply.payload[-1:] == b"abcdefghijklmnopqrstuvwxyz"[((20 << 20) - 1) % 26:][:1]


def test_a_request_over_4_mib_is_refused_with_resource_exhausted(service):
    big = service.messages.EchoRequest(payload=bytes((4 << 20) + 1))
    assert code_of(lambda: service.Echo(big)) == grpc.StatusCode.RESOURCE_EXHAUSTED
    assert service.Echo(service.messages.EchoRequest(text="still here")).text == "still here"


@pytest.mark.parametrize("code", range(1, 17))
def test_every_status_code_arrives_with_its_message(service, code):
    message = f"code {code}: 100% größer\nsecond line"
    with pytest.raises(grpc.RpcError) as error:
        service.Fail(service.messages.FailRequest(code=code, message=message))
    assert error.value.code().value[0] == code
    assert error.value.details() == message


def test_status_details_travel_in_the_trailer(service):
    with pytest.raises(grpc.RpcError) as error:
        service.Fail(service.messages.FailRequest(code=9, message="no", details=b"\x00\x01details"))
    assert dict(error.value.trailing_metadata())["grpc-status-details-bin"] == b"\x00\x01details"


def test_metadata_travels_both_ways(service):
    pair = service.messages.Pair
    request = service.messages.MetadataRequest(
        initial=[pair(key="first", value=b"one"), pair(key="first-bin", value=b"\x00\xff")],
        trailing=[pair(key="last", value=b"two"), pair(key="last-bin", value=bytes(range(100)))])
    sent = (("name", "value"), ("name", "again"), ("data-bin", b"\x01\x02\xfe"))
    reply, call = service.Metadata.with_call(request, metadata=sent)
    received = [(p.key, p.value) for p in reply.received]
    assert (("name", b"value") in received) and (("name", b"again") in received)
    assert ("data-bin", b"\x01\x02\xfe") in received
    assert any(key == "user-agent" for key, _ in received)
    assert not any(key.startswith(":") or key in ("te", "content-type", "grpc-timeout") for key, _ in received)
    initial, trailing = dict(call.initial_metadata()), dict(call.trailing_metadata())
    assert initial["first"] == "one" and initial["first-bin"] == b"\x00\xff"
    assert trailing["last"] == "two" and trailing["last-bin"] == bytes(range(100))
    assert reply.peer.startswith(("ipv4:127.0.0.1:", "ipv4:127.0.0.1%3A"))


def early_call(service, millis, request=None, **more):
    """A call whose handler sends its initial metadata, and its reply that much later.

    The client calls the method as one whose reply streams: of one that does not, it shows nothing before the reply."""
    if not service.server.arguments:
        pytest.skip("gRPC's synchronous API has no way to send them")
    method = service.channel.unary_stream(
        "/drover.testing.TestService/Metadata", service.messages.MetadataRequest.SerializeToString,
        service.messages.MetadataReply.FromString)
    return method(request or service.messages.MetadataRequest(), metadata=(("x-early", str(millis)),), **more)


@pytest.mark.parametrize("where", ["initial", "trailing"])
def test_metadata_that_are_larger_than_the_client_takes_end_the_call_in_resource_exhausted(service, where):
    messages = service.messages
    too_large = [messages.Pair(key=f"x-{i}", value=b"m" * 1000) for i in range(40)]
    with pytest.raises(grpc.RpcError) as error:
        service.Metadata(messages.MetadataRequest(**{where: too_large}), timeout=20)
    assert error.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
    assert service.Echo(messages.EchoRequest(text="x")).text == "x"


def test_initial_metadata_may_come_long_before_the_reply(service):
    start = time.monotonic()
    call = early_call(service, 2000, timeout=20)
    assert dict(call.initial_metadata())["early"] == "bird"
    assert time.monotonic() - start < 1.5
    assert len(list(call)) == 1 and call.code() == grpc.StatusCode.OK
    assert time.monotonic() - start > 1.9


def test_a_call_may_end_badly_behind_its_initial_metadata(service):
    for _ in range(20):
        call = early_call(service, 500, timeout=20)
        assert dict(call.initial_metadata())["early"] == "bird"
        call.cancel()
        assert call.code() == grpc.StatusCode.CANCELLED
    late = early_call(service, 2000, timeout=0.5)
    assert dict(late.initial_metadata())["early"] == "bird"
    assert late.code() == grpc.StatusCode.DEADLINE_EXCEEDED
    assert service.Echo(service.messages.EchoRequest(text="still here")).text == "still here"


def test_initial_metadata_and_replies_of_many_calls_stay_together(service):
    pair = service.messages.Pair
    calls = []
    for i in range(300):
        request = service.messages.MetadataRequest(trailing=[pair(key="number", value=str(i).encode())])
        calls.append(early_call(service, 1 + i % 30, request, timeout=30))
    for i, call in enumerate(calls):
        assert dict(call.initial_metadata())["early"] == "bird"
        assert len(list(call)) == 1
        assert dict(call.trailing_metadata())["number"] == str(i)


def test_the_handler_sees_the_deadline(service):
    assert service.Metadata(service.messages.MetadataRequest()).deadline_millis == -1
    reply = service.Metadata(service.messages.MetadataRequest(), timeout=30)
    assert 20000 < reply.deadline_millis <= 30500


def test_a_deadline_ends_the_call_and_the_handler(service):
    start = time.monotonic()
    assert code_of(lambda: service.Sleep(service.messages.SleepRequest(millis=20000), timeout=0.3)) == \
        grpc.StatusCode.DEADLINE_EXCEEDED
    assert time.monotonic() - start < 5
    wait_for(lambda: service.Stats(service.messages.StatsRequest()).running == 0)


def test_a_cancelled_call_is_seen_by_the_handler(service):
    future = service.Sleep.future(service.messages.SleepRequest(millis=20000))
    wait_for(lambda: service.Stats(service.messages.StatsRequest()).running == 1)
    future.cancel()
    wait_for(lambda: service.Stats(service.messages.StatsRequest()).running == 0)
    assert service.Stats(service.messages.StatsRequest()).cancelled == 1


def test_an_unknown_method_is_unimplemented(service):
    for path in ("/drover.testing.TestService/Nothing", "/nobody/Knows", "/x"):
        call = service.channel.unary_unary(path)
        assert code_of(lambda: call(b"")) == grpc.StatusCode.UNIMPLEMENTED


def test_a_request_that_cannot_be_parsed_is_refused(service):
    call = service.channel.unary_unary("/drover.testing.TestService/Echo")
    for garbage in (b"\x0a\xff", b"\xff" * 11, b"\x07", b"\x12\x02\xc3\x28"):
        expected = {grpc.StatusCode.INTERNAL, grpc.StatusCode.UNKNOWN}
        if service.kind == "grpc":
            expected.add(grpc.StatusCode.UNIMPLEMENTED)  # what gRPC C++ 1.51's callback API says
        assert code_of(lambda: call(garbage)) in expected
    assert service.Echo(service.messages.EchoRequest(text="after")).text == "after"


def test_a_handler_that_throws_ends_its_own_call_only(service):
    if service.server.arguments:
        pytest.skip("gRPC C++ defines no answer for a callback handler that throws")
    assert code_of(lambda: service.Throw(service.messages.StatsRequest())) == grpc.StatusCode.UNKNOWN
    assert service.Echo(service.messages.EchoRequest(text="after")).text == "after"


def test_handlers_that_block_do_not_hold_up_others(service):
    sleepers = [service.Sleep.future(service.messages.SleepRequest(millis=3000)) for _ in range(12)]
    wait_for(lambda: service.Stats(service.messages.StatsRequest(), timeout=5).running == 12)
    start = time.monotonic()
    for i in range(20):
        assert service.Echo(service.messages.EchoRequest(text=str(i)), timeout=5).text == str(i)
    assert time.monotonic() - start < 2
    for sleeper in sleepers:
        assert not sleeper.result().cancelled


def test_many_calls_at_once_each_get_their_own_answer(service):
    def call(i):
        payload = i.to_bytes(4, "little") * (1 + i % 700)
        return service.Echo(service.messages.EchoRequest(payload=payload, text=str(i))), payload, i

    with concurrent.futures.ThreadPoolExecutor(32) as pool:
        for reply, payload, i in pool.map(call, range(3000)):
            assert reply.payload == payload and reply.text == str(i)


def test_many_connections_at_once(service, stubs):
    _, services = stubs
    failures = []

    def one(n):
        options = [("grpc.use_local_subchannel_pool", 1)]
        with grpc.insecure_channel(service.server.address, options=options) as channel:
            stub = services.TestServiceStub(channel)
            for i in range(50):
                text = f"{n}/{i}"
                if stub.Echo(service.messages.EchoRequest(text=text)).text != text:
                    failures.append(text)

    threads = [threading.Thread(target=one, args=(n,)) for n in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


@pytest.mark.parametrize("flavour", FLAVOURS, ids="-".join)
def test_messages_of_200_mb_pass_where_there_is_room_for_them(make_server, stubs, flavour):
    messages, services = stubs
    server = make_server(*flavour, "--largest", "-1", env={"DROVER_RX_BYTES": "512MiB", "DROVER_TX_BYTES": "512MiB"})
    with grpc.insecure_channel(server.address, options=OPTIONS) as channel:
        stub = services.TestServiceStub(channel)
        payload = bytes(range(250)) * 800_000
        assert stub.Echo(messages.EchoRequest(payload=payload), timeout=100).payload == payload
        assert len(stub.Sized(messages.SizedRequest(size=200_000_000), timeout=100).payload) == 200_000_000


@pytest.mark.parametrize("flavour", FLAVOURS, ids="-".join)
def test_messages_as_large_as_the_builder_allows_pass_without_a_variable(make_server, stubs, flavour):
    messages, services = stubs
    largest = 64 << 20
    server = make_server(*flavour, "--largest", str(largest))
    with grpc.insecure_channel(server.address, options=OPTIONS) as channel:
        stub = services.TestServiceStub(channel)
        payload = bytes(range(250)) * (largest // 250 - 1)
        for _ in range(2):
            assert stub.Echo(messages.EchoRequest(payload=payload), timeout=100).payload == payload
        with pytest.raises(grpc.RpcError) as error:
            stub.Echo(messages.EchoRequest(payload=payload + bytes(1000)), timeout=100)
        assert error.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED


def test_shared_memory_for_messages_without_a_limit_is_taken_when_it_is_used(make_server, stubs):
    messages, services = stubs
    server = make_server("drover", "--largest", "-1")
    with grpc.insecure_channel(server.address, options=OPTIONS) as channel:
        stub = services.TestServiceStub(channel)
        assert stub.Echo(messages.EchoRequest(text="x")).text == "x"
        assert mapped_kib(server.process.pid, "VmSize") > 2 << 20, "1 GiB each way"
        assert mapped_kib(server.process.pid, "RssShmem") < 8 << 10


def mapped_kib(pid, name):
    with open(f"/proc/{pid}/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(name + ":"))
