"""Trace context: passed on as it came, or with the engine's span between; spans as OTLP/JSON."""

import json
import socket
import time
import urllib.request

import grpc
import pytest

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
PARENT = f"00-{TRACE}-{SPAN}-01"
BINARY = b"\0\0" + bytes.fromhex(TRACE) + b"\1" + bytes.fromhex(SPAN) + b"\2\1"
STATE = "congo=t61rcWkgMzE,rojo=00f067aa0ba902b7"


def received(channel, stubs, metadata=()):
    messages, services = stubs
    reply = services.TestServiceStub(channel).Metadata(messages.MetadataRequest(), timeout=5, metadata=list(metadata))
    return [(pair.key, pair.value if pair.key.endswith("-bin") else as_text(pair.value)) for pair in reply.received]


def as_text(value):
    return value.decode() if isinstance(value, bytes) else value


@pytest.fixture
def tracing(make_server, tmp_path):
    """tracing(more keys of [trace]): (a server whose engine makes spans, a function that gives the spans)."""

    def start(more="", sections=""):
        config, file = tmp_path / "engine.toml", tmp_path / "spans.jsonl"
        config.write_text(f'[trace]\nfile = "{file}"\nservice = "shop"\n{more}\n{sections}')
        server = make_server("drover", env={"DROVER_CONFIG": str(config)})

        def spans(count, seconds=5):
            end = time.monotonic() + seconds
            while True:
                found = spans_of(file.read_text()) if file.exists() else []
                if len(found) >= count or time.monotonic() > end:
                    return found
                time.sleep(0.05)

        return server, spans

    return start


def spans_of(text):
    found = []
    for line in text.splitlines():
        for resource in json.loads(line)["resourceSpans"]:
            assert resource["resource"]["attributes"] == [{"key": "service.name", "value": {"stringValue": "shop"}}]
            found += [span for scope in resource["scopeSpans"] for span in scope["spans"]]
    return found


@pytest.mark.parametrize("kind", ["drover", "grpc"])
def test_trace_context_passes_unchanged(make_server, stubs, kind):
    server = make_server(kind)
    with grpc.insecure_channel(server.address) as channel:
        sent = [("traceparent", PARENT), ("tracestate", STATE), ("tracestate", "other=1"), ("baggage", "user=alice")]
        for _ in range(2):
            got = [pair for pair in received(channel, stubs, sent) if pair in sent]
            assert got == sorted(sent, key=lambda pair: pair[0])  # a multimap, values in order
        if kind == "drover":  # gRPC C++ keeps grpc-trace-bin to itself
            assert ("grpc-trace-bin", BINARY) in received(channel, stubs, [("grpc-trace-bin", BINARY)])
            odd = b"\0\xff,"
            assert ("grpc-trace-bin", odd) in received(channel, stubs, [("grpc-trace-bin", odd)])


def test_the_engine_stands_between_client_and_service(tracing, stubs):
    messages, services = stubs
    server, spans = tracing()
    before = time.time_ns()
    with grpc.insecure_channel(server.address) as channel:
        parents = []
        for _ in range(3):
            got = received(channel, stubs, [("traceparent", PARENT), ("tracestate", STATE), ("a", "1")])
            assert ("tracestate", STATE) in got and ("a", "1") in got
            (parent,) = [value for key, value in got if key == "traceparent"]
            version, trace, span, flags = parent.split("-")
            assert (version, trace, flags) == ("00", TRACE, "01") and span != SPAN
            parents.append(span)
        assert len(set(parents)) == 3
        found = spans(3)
        assert sorted(span["spanId"] for span in found) == sorted(parents)
        for span in found:
            assert span["traceId"] == TRACE and span["parentSpanId"] == SPAN
            assert span["name"] == "drover.testing.TestService/Metadata" and span["kind"] == 2
            assert before <= int(span["startTimeUnixNano"]) <= int(span["endTimeUnixNano"]) <= time.time_ns()
        binary = [value for key, value in received(channel, stubs, [("grpc-trace-bin", BINARY)])
                  if key == "grpc-trace-bin"]
        assert binary[0][2:18].hex() == TRACE and binary[0][19:27].hex() == spans(4)[3]["spanId"]


def test_what_is_not_sampled_passes_as_it_came(tracing, stubs):
    server, spans = tracing("sample_per_million = 1000000")
    with grpc.insecure_channel(server.address) as channel:
        sent = ("traceparent", PARENT[:-2] + "00")
        assert sent in received(channel, stubs, [sent])
        # Without a trace, or with none that can be read, one begins here.
        for metadata in ([], [("traceparent", "nonsense"), ("tracestate", STATE)]):
            got = dict(received(channel, stubs, metadata))
            assert got["traceparent"].endswith("-01") and "tracestate" not in got
        found = spans(2)
        assert len(found) == 2 and all("parentSpanId" not in span for span in found)


def test_streams_errors_and_cancelled_calls_have_spans(tracing, stubs):
    messages, services = stubs
    server, spans = tracing()
    traced = [("traceparent", PARENT)]

    def codes(count):
        return {span["name"].rpartition("/")[2]: int(next(a["value"]["intValue"] for a in span["attributes"]
                                                          if a["key"] == "rpc.grpc.status_code"))
                for span in spans(count)}

    with grpc.insecure_channel(server.address) as channel:
        streams, stub = services.StreamServiceStub(channel), services.TestServiceStub(channel)
        items = [messages.Item(number=number) for number in range(5)]
        assert len(list(streams.Talk(iter(items), timeout=5, metadata=traced))) == 5
        with pytest.raises(grpc.RpcError):
            stub.Sleep(messages.SleepRequest(millis=5000), timeout=0.2, metadata=traced)
        with pytest.raises(grpc.RpcError):
            channel.unary_unary("/no.Such/Method")(b"", timeout=5, metadata=traced)
        cancelled = streams.Spread(messages.SpreadRequest(count=1000, size=1 << 20), timeout=30, metadata=traced)
        next(cancelled)
        cancelled.cancel()
        found = codes(4)
    assert found["Talk"] == 0 and found["Method"] == 12 and found["Spread"] == 1
    assert found["Sleep"] in (1, 4)  # who is the first to give up


def test_a_flood_of_spans_is_bounded_and_told(tracing, stubs):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        metrics = f"127.0.0.1:{probe.getsockname()[1]}"
    messages, services = stubs
    server, spans = tracing("max_spans = 20", f'[metrics]\naddress = "{metrics}"\n')
    with grpc.insecure_channel(server.address) as channel:
        stub = services.TestServiceStub(channel)
        for _ in range(200):
            assert stub.Echo(messages.EchoRequest(text="x"), timeout=5, metadata=[("traceparent", PARENT)]).text == "x"
    with urllib.request.urlopen(f"http://{metrics}/metrics", timeout=5) as scrape:
        lines = dict(line.rsplit(" ", 1) for line in scrape.read().decode().splitlines() if not line.startswith("#"))
    dropped, made = int(lines['drover_trace_dropped_total{why="rate"}']), int(lines["drover_trace_spans_total"])
    assert dropped > 50 and dropped + made == 200
    assert len(spans(made)) == made


def test_spans_that_cannot_be_written_hold_no_call_up(tracing, stubs, tmp_path):
    server, _ = tracing()
    file = tmp_path / "spans.jsonl"
    file.mkdir()
    messages, services = stubs
    with grpc.insecure_channel(server.address) as channel:
        for _ in range(20):
            received(channel, stubs, [("traceparent", PARENT)])
        end = time.monotonic() + 5
        while "spans not written" not in server.stderr():
            assert time.monotonic() < end, "the log says nothing"
            time.sleep(0.05)
        received(channel, stubs)
