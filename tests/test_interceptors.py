"""Interceptors of a server in every API, by the stock Python client: what they see and change on Drover is what they see
and change on gRPC C++."""

import time

import grpc
import pytest

from processes import FLAVOURS


@pytest.fixture(params=FLAVOURS, ids="-".join)
def service(request, make_server, stubs):
    messages, services = stubs
    kind, *arguments = request.param
    server = make_server(kind, *arguments, "--interceptors")
    with grpc.insecure_channel(server.address) as channel:
        stub = services.TestServiceStub(channel)
        stub.streams = services.StreamServiceStub(channel)
        stub.messages = messages
        stub.by_queues = "--queues" in arguments
        # gRPC C++ 1.51 tells of sent messages in its synchronous API, and for streams in its callback API.
        stub.tells_sent = kind == "drover" or not arguments
        stub.tells_sent_in_streams = kind == "drover" or not stub.by_queues
        # And a message that its asynchronous API has serialized cannot be replaced by another one: it crashes.
        stub.replaces = kind == "drover" or not stub.by_queues
        yield stub


def echo(service, *what, text="hello"):
    """The reply's text, and the initial and trailing metadata."""
    request = service.messages.EchoRequest(text=text)
    reply, call = service.Echo.with_call(request, metadata=[("do", word) for word in what])
    return reply.text, dict(call.initial_metadata()), dict(call.trailing_metadata())


def failed(call):
    with pytest.raises(grpc.RpcError) as error:
        call()
    return error.value


def test_a_unary_call_is_seen_at_each_point_in_order(service):
    text, _, trailing = echo(service)
    assert text == "hello"
    assert trailing["method"] == "/drover.testing.TestService/Echo"
    assert trailing["type"] == "0"
    assert trailing["code"] == "0"
    assert trailing["log"].split() == ["B:RI+RM", "A:RI+RM", "A:SI+SM+SS", "B:SI+SM+SS"]


def test_what_comes_behind_the_status_is_seen_too(service):
    echo(service)
    ends = {"A:CLOSE", "B:CLOSE"} | ({"A:SENT", "B:SENT"} if service.tells_sent else set())
    end = time.monotonic() + 5
    while True:
        log = echo(service)[2]["previous"].split()
        if ends <= set(log) or time.monotonic() > end:
            break
    assert ends <= set(log) and log.index("B:CLOSE") < log.index("A:CLOSE")
    if service.tells_sent:
        assert log.index("B:SENT") < log.index("A:SENT")


def test_the_messages_of_a_stream_are_seen_one_by_one(service):
    items = [service.messages.Item(number=i) for i in range(3)]
    call = service.streams.Talk(iter(items))
    assert [item.number for item in call] == [0, 1, 2]
    trailing = dict(call.trailing_metadata())
    assert trailing["type"] == "3"
    of_a = [one for one in trailing["log"].split() if one.startswith("A:")]
    sent = [one for one in of_a if "SM" in one]
    assert of_a[0] == "A:RI"
    assert sent == ["A:SI+SM", "A:SM", "A:SM"]
    assert of_a.count("A:RM") == 3 and of_a.count("A:RM0") == 1
    assert of_a.count("A:SENT") == (3 if service.tells_sent_in_streams else 0)
    assert of_a[-1] == "A:SS"


def test_streams_of_one_direction_are_seen(service):
    call = service.streams.Spread(service.messages.SpreadRequest(count=2))
    assert len(list(call)) == 2
    log = dict(call.trailing_metadata())["log"].split()
    assert log[:2] == ["B:RI+RM", "A:RI+RM"] and log.count("A:SM") == 1 and "A:SI+SM" in log
    summary, call = service.streams.Collect.with_call(iter([service.messages.Item(), service.messages.Item(number=1)]))
    assert summary.count == 2
    log = dict(call.trailing_metadata())["log"].split()
    assert log[:2] == ["B:RI", "A:RI"] and log.count("A:RM") == 2 and log[-1] == "B:SI+SM+SS"


def test_requests_and_replies_may_be_changed(service):
    assert echo(service, "modify-request")[0] == "hello!"
    if service.replaces:
        assert echo(service, "modify-reply")[0] == "another reply"
    assert echo(service, "serialized")[0] == "hello?"
    assert echo(service, "modify-request", "serialized")[0] == "hello!?"
    assert echo(service)[0] == "hello"


def test_metadata_may_be_added_and_the_status_changed(service):
    assert echo(service, "initial")[1]["intercepted"] == "yes"
    assert "intercepted" not in echo(service)[1]
    error = failed(lambda: echo(service, "status"))
    assert error.code() == grpc.StatusCode.PERMISSION_DENIED and error.details() == "says the interceptor"


def test_a_handlers_status_is_seen(service):
    error = failed(lambda: service.Fail(service.messages.FailRequest(code=9, message="no")))
    trailing = dict(error.trailing_metadata())
    assert trailing["code"] == "9"
    assert trailing["log"].split()[-1] == "B:SI+SS"


def test_proceeding_may_come_later_from_another_thread_and_delays_no_other_call(service):
    start = time.monotonic()
    request = service.messages.EchoRequest(text="late")
    # The server asks for one call of a method at a time through each of its two queues.
    slow = [service.Echo.future(request, metadata=[("do", "delay")]) for _ in range(1 if service.by_queues else 8)]
    time.sleep(0.1)
    for _ in range(5):
        assert echo(service)[0] == "hello"
    assert time.monotonic() - start < 0.9
    for call in slow:
        assert call.result(timeout=10).text == "late"
    assert time.monotonic() - start >= 1.0, "half a second for the call, and half a second for its reply"


def test_a_delayed_message_of_a_stream_delays_the_stream(service):
    start = time.monotonic()
    call = service.streams.Talk(iter([service.messages.Item(number=5)]), metadata=[("do", "delay")])
    assert [item.number for item in call] == [5]
    assert time.monotonic() - start >= 1.0


def test_an_interceptor_may_cancel_the_call(service):
    assert failed(lambda: echo(service, "cancel")).code() == grpc.StatusCode.CANCELLED
    assert echo(service)[0] == "hello"


def test_many_calls_at_once_have_interceptors_of_their_own(service):
    request = service.messages.EchoRequest(text="x")
    calls = [service.Echo.future(request, metadata=[("do", "modify-request")] if i % 2 else []) for i in range(300)]
    for i, call in enumerate(calls):
        assert call.result().text == ("x!" if i % 2 else "x")
        assert dict(call.trailing_metadata())["log"].split()[:2] == ["B:RI+RM", "A:RI+RM"]
