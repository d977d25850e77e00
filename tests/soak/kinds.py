"""The kinds of calls of the soak: how each is made, with a stock Python client, and what its answer must be.

A kind is a function of a Caller. It makes one call of random content, raises Wrong for an answer that is not that call's
own, and gives (status, details) as gRPC has them; OK only when the whole content was checked. KINDS says how often each
is taken and which statuses it asks for.
"""
import queue
import random
import threading
import time
import zlib
from dataclasses import dataclass

import grpc

PATTERN = bytes(range(256)) * 16384  # 4 MiB
ALPHABET = bytes(range(ord("a"), ord("z") + 1)) * 150_000
TIMEOUT = 30  # seconds; a call that needs them hangs
HOOKS = 12  # grpc::experimental::InterceptionHookPoints without the last, PRE_SEND_CANCEL


class Wrong(Exception):
    """An answer that no fault in its window explains."""


def expect(holds, otherwise):
    if not holds:
        raise Wrong(otherwise)


@dataclass
class Caller:
    """What a kind calls with. `ident` is the call's own in the whole soak."""
    stubs: tuple  # messages, TestServiceStub, StreamServiceStub
    rng: random.Random
    ident: str = ""
    intercepted: bool = False  # by tests/service/late_interceptors.h
    pid: int = 0  # of the host that answered, if the answer says
    cancelled: bool = False  # by us
    done: int = 0  # how often the call said that it was over

    def sized(self, most=20_000):
        """A size: often small, seldom near `most`."""
        return int(most * self.rng.random() ** 4)

    def payload(self, most=20_000):
        size, at = self.sized(most), self.rng.randrange(256)
        return self.ident.encode() + PATTERN[at:at + size]

    def options(self, *more, **settings):
        """Interceptors of half of the calls proceed later, at random points."""
        if self.intercepted and self.rng.random() < 0.5:
            more = (*more, ("x-late", str(self.rng.randrange(1 << HOOKS))))
        return {"metadata": (("x-call", self.ident), *more), "timeout": TIMEOUT, **settings}

    def cancels_some(self, call, share=0.08, most=0.03):
        """Cancels it after a random time, in that share of calls."""
        if self.rng.random() < share:
            timer = threading.Timer(self.rng.random() * most, self.cancel, (call,))
            timer.daemon = True
            timer.start()

    def cancel(self, call):
        self.cancelled = True
        call.cancel()


def status_of(error):
    return error.code().name, error.details() or ""


def unary(caller, future, check):
    """Waits for it; `check` of the reply."""
    def over(_):
        caller.done += 1
    future.add_done_callback(over)
    try:
        reply = future.result(timeout=TIMEOUT + 15)
    except grpc.FutureTimeoutError:
        raise Wrong(f"no end after {TIMEOUT + 15} s, with a deadline of {TIMEOUT} s") from None
    except grpc.FutureCancelledError:
        return "CANCELLED", "by the client"
    except grpc.RpcError as error:
        return status_of(error)
    check(reply)
    return "OK", ""


def echo_of(caller, most, **settings):
    messages, test, _ = caller.stubs
    rng = caller.rng
    request = messages.EchoRequest(payload=caller.payload(most), text=caller.ident,
                                   counts={f"k{n}": rng.randrange(1 << 40) for n in range(rng.randrange(4))},
                                   words=["w" * caller.sized(200) for _ in range(rng.randrange(5))])

    def check(reply):
        caller.pid = reply.pid
        expect(reply.text == request.text, f"the reply's text is {reply.text[:40]!r}, the request's {request.text!r}")
        expect(reply.payload == request.payload, f"the payload differs: {reply.payload[:40]!r}")
        expect(reply.counts == request.counts and reply.words == request.words, "counts or words differ")

    call = test.Echo.future(request, **caller.options(**settings))
    caller.cancels_some(call)
    return unary(caller, call, check)


def intercepted(caller):
    """Interceptors change its request, its reply and its metadata; without them it is a plain echo."""
    if not caller.intercepted:
        return echo(caller)
    messages, test, _ = caller.stubs
    request = messages.EchoRequest(payload=caller.payload(), text=caller.ident)

    def check(reply):
        caller.pid = reply.pid
        expect(reply.text == caller.ident + "<>", f"the reply's text is {reply.text[-40:]!r}, not as interceptors change it")
        expect(reply.payload == request.payload, f"the payload differs: {reply.payload[:40]!r}")
        expect(dict(call.initial_metadata()).get("mark-first") == caller.ident, "other initial metadata")
        expect(dict(call.trailing_metadata()).get("mark-last") == caller.ident, "other trailing metadata")

    call = test.Echo.future(request, **caller.options(("x-change", "yes"), ("x-mark", caller.ident)))
    caller.cancels_some(call)
    return unary(caller, call, check)


def echo(caller):
    return echo_of(caller, 20_000)


def echo_large(caller):
    return echo_of(caller, 3_500_000)


def echo_compressed(caller):
    algorithm = caller.rng.choice(["gzip", "deflate"])
    settings = {"compression": caller.rng.choice([grpc.Compression.Gzip, grpc.Compression.Deflate,
                                                  grpc.Compression.NoCompression])}
    settings.update(caller.options(("x-compress", algorithm)))
    messages, test, _ = caller.stubs
    request = messages.EchoRequest(payload=caller.payload(200_000), text=caller.ident)

    def check(reply):
        caller.pid = reply.pid
        expect(reply.text == caller.ident and reply.payload == request.payload, "another content behind compression")

    call = test.Echo.future(request, **settings)
    caller.cancels_some(call)
    return unary(caller, call, check)


def sized(caller):
    messages, test, _ = caller.stubs
    size = caller.sized(3_500_000)

    def check(reply):
        expect(reply.payload == ALPHABET[:size], f"{len(reply.payload)} bytes of {size}, or other ones")

    return unary(caller, test.Sized.future(messages.SizedRequest(size=size), **caller.options()), check)


def fail(caller):
    messages, test, _ = caller.stubs
    code = caller.rng.choice([3, 5, 6, 9, 10, 15, 16])
    request = messages.FailRequest(code=code, message=f"nicht gut: ü {caller.ident}", details=caller.payload(300))
    try:
        test.Fail(request, timeout=TIMEOUT)
    except grpc.RpcError as error:
        if error.code().value[0] != code:
            return status_of(error)
        expect(error.details() == request.message, f"the message is {error.details()!r}")
        trailing = dict(error.trailing_metadata())
        expect(trailing.get("grpc-status-details-bin") == request.details, "other details")
        return "AS_ASKED", ""
    raise Wrong("OK, where a status was asked for")


def metadata(caller):
    messages, test, _ = caller.stubs
    value = bytes([0, 255]) + caller.ident.encode()
    request = messages.MetadataRequest(initial=[messages.Pair(key="x-i-bin", value=value)],
                                       trailing=[messages.Pair(key="x-t", value=caller.ident.encode())])
    call = test.Metadata.future(request, **caller.options(("x-own", caller.ident), ("x-own-bin", value)))

    def check(reply):
        received = {pair.key: pair.value for pair in reply.received}
        expect(received.get("x-own") == caller.ident.encode() and received.get("x-own-bin") == value,
               "the server saw other metadata")
        expect(dict(call.initial_metadata()).get("x-i-bin") == value, "other initial metadata")
        expect(dict(call.trailing_metadata()).get("x-t") == caller.ident, "other trailing metadata")
        # Clients round a timeout up to two or three digits.
        expect(0 < reply.deadline_millis <= TIMEOUT * 1010, f"the server saw a deadline of {reply.deadline_millis} ms")

    return unary(caller, call, check)


def deadline(caller):
    messages, test, _ = caller.stubs
    timeout = 0.02 + 0.3 * caller.rng.random()
    began = time.monotonic()
    try:
        test.Sleep(messages.SleepRequest(millis=60_000), **caller.options(timeout=timeout))
    except grpc.RpcError as error:
        took = time.monotonic() - began
        expect(error.code() != grpc.StatusCode.DEADLINE_EXCEEDED or took < timeout + 15, f"late: {took:.1f} s")
        return status_of(error)
    raise Wrong("a call of a minute ended within its deadline")


def cancel(caller):
    messages, test, _ = caller.stubs
    call = test.Sleep.future(messages.SleepRequest(millis=60_000), **caller.options())
    time.sleep(0.1 * caller.rng.random())
    caller.cancel(call)
    return unary(caller, call, lambda reply: expect(False, "a call of a minute is over"))


def stream_status(call):
    """Of a call whose messages are all read."""
    return call.code().name, call.details() or ""


def items_of(caller, most):
    messages = caller.stubs[0]
    rng = caller.rng
    return [messages.Item(number=n, payload=caller.payload(most), pause_millis=1 if rng.random() < 0.02 else 0)
            for n in range(rng.choice([0, 1, 2, 7, 30, 100]))]


def spread(caller):
    messages, _, streams = caller.stubs
    rng = caller.rng
    tag = caller.ident.encode()
    count, size = rng.choice([0, 1, 3, 20, 200]), len(tag) + caller.sized(30_000)
    code = rng.choice([0, 0, 0, 5])
    more = [("x-compress", "gzip")] if rng.random() < 0.2 else []
    call = streams.Spread(messages.SpreadRequest(count=count, size=size, tag=tag, code=code,
                                                 pause_millis=1 if count < 30 and rng.random() < 0.2 else 0),
                          **caller.options(*more))
    caller.cancels_some(call)
    payload, got = tag + b"s" * (size - len(tag)), 0
    try:
        for item in call:
            expect(item.number == got, f"item {item.number} in place {got} of {count}")
            expect(item.payload == payload, f"item {got}: another payload: {item.payload[:40]!r}")
            got += 1
    except grpc.RpcError as error:
        if error.code() == grpc.StatusCode.NOT_FOUND and code == 5:
            expect(got == count, f"{got} items of {count} before the status")
            return "AS_ASKED", ""
        return status_of(error)
    expect(code == 0, "OK, where a status was asked for")
    expect(got == count, f"{got} items of {count}")
    return stream_status(call)


def collect(caller):
    _, _, streams = caller.stubs
    items = items_of(caller, 30_000)

    def check(reply):
        joined = b"".join(item.payload for item in items)
        expect((reply.count, reply.bytes) == (len(items), len(joined)) and reply.in_order,
               f"it counted {reply.count} items, {reply.bytes} bytes of {len(items)}, {len(joined)}")
        expect(reply.adler == zlib.adler32(joined), "it read other bytes")

    call = streams.Collect.future(iter(items), **caller.options())
    caller.cancels_some(call)
    return unary(caller, call, check)


def talk_with(caller, method, items, left_at=None):
    """Sends all items at once or each after the last one's echo; cancels before reading item `left_at`."""
    turns = queue.SimpleQueue()
    one_by_one = caller.rng.random() < 0.5

    def send():
        for item in items:
            if one_by_one and turns.get() is None:
                return
            yield item

    call = method(send(), **caller.options())
    caller.cancels_some(call, share=0.05)
    got = 0
    try:
        turns.put(got)
        for item in call:
            expect(got < len(items), f"item {item.number} behind the last, {len(items) - 1}")
            expect(item == items[got], f"item {item.number} in place {got}, or with another payload")
            got += 1
            turns.put(got)
            if got == left_at:
                caller.cancel(call)
    except grpc.RpcError as error:
        return (*status_of(error), got, call)
    finally:
        turns.put(None)
    return (*stream_status(call), got, call)


def talk(caller):
    items = items_of(caller, 10_000)
    left_at = caller.rng.randrange(len(items)) if items and caller.rng.random() < 0.1 else None
    status, details, got, _ = talk_with(caller, caller.stubs[2].Talk, items, left_at)
    expect(status != "OK" or got == len(items), f"{got} items of {len(items)} came back, in OK")
    return status, details


def early(caller):
    items = items_of(caller, 2_000)
    ends_at = caller.rng.randrange(len(items)) if items and caller.rng.random() < 0.5 else None
    if ends_at is not None:
        items[ends_at].code = 9
    status, details, got, call = talk_with(caller, caller.stubs[2].Early, items)
    if status == "FAILED_PRECONDITION" and ends_at is not None:
        expect(got == ends_at, f"{got} items before the end at {ends_at}")
        status = "AS_ASKED"
    else:
        expect(status != "OK" or (got == len(items) and ends_at is None), f"{got} items of {len(items)}, in OK")
    if status in ("OK", "AS_ASKED"):
        expect(dict(call.initial_metadata()).get("early") == "bird", "no early metadata")
        expect(dict(call.trailing_metadata()).get("late") == "owl", "no trailing metadata")
    return status, details


@dataclass(frozen=True)
class Kind:
    call: object
    weight: int  # how often
    planned: tuple = ("OK",)  # statuses that it asks for
    noted: bool = True  # handlers note it (tests/service/journal.h)


KINDS = {
    "echo": Kind(echo, 30),
    "echo_large": Kind(echo_large, 2),
    "intercepted": Kind(intercepted, 8),
    "echo_compressed": Kind(echo_compressed, 5),
    "sized": Kind(sized, 4),
    "fail": Kind(fail, 5, ("AS_ASKED",), noted=False),
    "metadata": Kind(metadata, 6),
    "deadline": Kind(deadline, 2, ("DEADLINE_EXCEEDED",)),
    "cancel": Kind(cancel, 3, ("CANCELLED",)),
    "spread": Kind(spread, 10, ("OK", "AS_ASKED")),
    "collect": Kind(collect, 10),
    "talk": Kind(talk, 12),
    "early": Kind(early, 6, ("OK", "AS_ASKED")),
}
