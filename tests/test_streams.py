"""Streams by the stock Python client: what it sees of Drover is what it sees of gRPC C++."""

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
        stub = services.StreamServiceStub(channel)
        stub.messages = messages
        stub.server = server
        stub.kind = request.param[0]
        stub.calls = services.TestServiceStub(channel)
        yield stub


def items(service, count, size=0):
    payload = bytes(size)
    for i in range(count):
        yield service.messages.Item(number=i, payload=payload)


def stats(service):
    return service.StreamStats(service.messages.StatsRequest(), timeout=10)


class Feed:
    """Requests that the test sends one by one."""

    def __init__(self):
        self.items, self.ready, self.closed = [], threading.Condition(), False

    def send(self, item):
        with self.ready:
            self.items.append(item)
            self.ready.notify()

    def close(self):
        with self.ready:
            self.closed = True
            self.ready.notify()

    def __iter__(self):
        return self

    def __next__(self):
        with self.ready:
            self.ready.wait_for(lambda: self.items or self.closed)
            if self.items:
                return self.items.pop(0)
            raise StopIteration


@pytest.mark.parametrize("count,size", [(0, 0), (1, 0), (1, 3 << 20), (100, 64), (3000, 10), (200, 20_000), (8, 1 << 20)])
def test_a_stream_of_replies_arrives_whole_and_in_order(service, count, size):
    received = list(service.Spread(service.messages.SpreadRequest(count=count, size=size), timeout=60))
    assert [item.number for item in received] == list(range(count))
    assert all(item.payload == b"s" * size for item in received)


@pytest.mark.parametrize("count,size", [(0, 0), (1, 0), (1, 3 << 20), (100, 64), (3000, 10), (200, 20_000), (8, 1 << 20)])
def test_a_stream_of_requests_arrives_whole_and_in_order(service, count, size):
    summary = service.Collect(items(service, count, size), timeout=60)
    assert (summary.count, summary.bytes, summary.in_order) == (count, count * size, True)


@pytest.mark.parametrize("count,size", [(0, 0), (1, 100), (2000, 64), (100, 20_000), (6, 1 << 20)])
def test_messages_go_both_ways_at_once(service, count, size):
    received = list(service.Talk(items(service, count, size), timeout=60))
    assert [item.number for item in received] == list(range(count))
    assert all(len(item.payload) == size for item in received)


def test_a_conversation_goes_message_by_message(service):
    feed = Feed()
    call = service.Talk(feed, timeout=60)
    for i in range(200):
        feed.send(service.messages.Item(number=i))
        assert next(call).number == i
    feed.close()
    assert list(call) == []
    assert call.code() == grpc.StatusCode.OK


def test_thousands_of_messages_arrive(service, factor):
    if service.kind == "grpc":
        pytest.skip("the same as with fewer, and slower")
    wanted = 5_000 * factor
    count = 0
    for item in service.Spread(service.messages.SpreadRequest(count=wanted, size=32), timeout=120):
        assert item.number == count
        count += 1
    assert count == wanted
    assert service.Collect(items(service, wanted, 8), timeout=120).in_order


def test_initial_metadata_comes_before_the_first_message(service):
    feed = Feed()
    call = service.Early(feed, timeout=30)
    assert dict(call.initial_metadata())["early"] == "bird"  # nothing was sent yet
    feed.send(service.messages.Item(number=7))
    assert next(call).number == 7
    feed.close()
    assert list(call) == []
    assert dict(call.trailing_metadata())["late"] == "owl"


def test_initial_metadata_may_come_before_the_requests_of_a_unary_reply(service):
    feed = Feed()
    call = service.Collect.future(feed, timeout=30, metadata=(("x-early", "1"),))
    assert dict(call.initial_metadata())["early"] == "bird"  # nothing was sent yet
    assert not call.done()
    for i in range(100):
        feed.send(service.messages.Item(number=i, payload=b"x"))
    feed.close()
    summary = call.result()
    assert (summary.count, summary.bytes, summary.in_order) == (100, 100, True)


def test_a_handler_may_end_the_call_while_the_client_still_sends(service):
    feed = Feed()
    call = service.Early(feed, timeout=30)
    feed.send(service.messages.Item(number=1))
    assert next(call).number == 1
    feed.send(service.messages.Item(code=9))
    with pytest.raises(grpc.RpcError):
        next(call)
    assert call.code() == grpc.StatusCode.FAILED_PRECONDITION
    assert call.details() == "as asked for"
    for i in range(10):
        feed.send(service.messages.Item(number=i))
    feed.close()
    wait_for(lambda: stats(service).running == 0)


def test_a_status_follows_the_messages(service):
    call = service.Spread(service.messages.SpreadRequest(count=5, code=5), timeout=30)
    received = []
    with pytest.raises(grpc.RpcError):
        for item in call:
            received.append(item.number)
    assert received == [0, 1, 2, 3, 4]
    assert call.code() == grpc.StatusCode.NOT_FOUND


def test_a_client_that_reads_slowly_slows_its_handler_and_nobody_else(service):
    call = service.Spread(service.messages.SpreadRequest(count=5000, size=10_000), timeout=60)
    next(call)
    time.sleep(0.5)
    written = stats(service).written
    time.sleep(0.5)
    assert stats(service).written == written < 4000
    assert service.calls.Echo(service.messages.EchoRequest(text="quick"), timeout=5).text == "quick"
    assert sum(1 for _ in call) == 4999


def test_a_handler_that_reads_slowly_slows_its_client_and_nobody_else(service):
    sent = 0

    def produce():
        nonlocal sent
        for i in range(2000):
            sent += 1
            yield service.messages.Item(number=i, payload=bytes(20_000), pause_millis=1000 if i == 0 else 0)

    result = service.Collect.future(produce(), timeout=60)
    time.sleep(0.7)
    assert sent < 1500
    assert service.calls.Echo(service.messages.EchoRequest(text="quick"), timeout=5).text == "quick"
    summary = result.result()
    assert summary.count == 2000 and summary.in_order


def test_cancellation_ends_handlers_that_write(service):
    call = service.Spread(service.messages.SpreadRequest(count=1 << 40, size=100))
    for _ in range(10):
        next(call)
    call.cancel()
    wait_for(lambda: stats(service).running == 0)
    assert stats(service).cancelled == 1


def test_cancellation_ends_handlers_that_read(service):
    feed = Feed()
    call = service.Talk(feed)
    feed.send(service.messages.Item(number=1))
    assert next(call).number == 1
    call.cancel()
    wait_for(lambda: stats(service).running == 0)
    assert stats(service).cancelled == 1
    feed.close()


def test_a_deadline_ends_a_stream(service):
    feed = Feed()
    call = service.Talk(feed, timeout=0.5)
    with pytest.raises(grpc.RpcError):
        next(call)
    assert call.code() == grpc.StatusCode.DEADLINE_EXCEEDED
    wait_for(lambda: stats(service).running == 0)
    feed.close()


def test_many_streams_at_once_each_get_their_own_messages(service):
    failures = []

    def one(n):
        feed = Feed()
        call = service.Talk(feed, timeout=60)
        for i in range(30):
            feed.send(service.messages.Item(number=n * 1000 + i))
            if next(call).number != n * 1000 + i:
                failures.append((n, i))
        feed.close()
        if list(call):
            failures.append(n)

    threads = [threading.Thread(target=one, args=(n,)) for n in range(60)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_streams_that_wait_hold_up_nothing(service):
    feeds = [Feed() for _ in range(150)]
    calls = [service.Talk(feed, timeout=60) for feed in feeds]
    for i, (feed, call) in enumerate(zip(feeds, calls)):
        feed.send(service.messages.Item(number=i))
        assert next(call).number == i
    assert stats(service).running == 150
    assert service.calls.Echo(service.messages.EchoRequest(text="quick"), timeout=5).text == "quick"
    for feed, call in zip(feeds, calls):
        feed.close()
        assert list(call) == []
    wait_for(lambda: stats(service).running == 0)
