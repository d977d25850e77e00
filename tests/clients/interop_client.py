"""The stock Python client (grpcio) of the common interop cases:

  interop_client.py ADDRESS CASE [CA_FILE]    with interop_pb2 and interop_pb2_grpc on PYTHONPATH

Ends with 0, or with 1 and what was wrong. With CA_FILE it speaks TLS. tests/clients/README.md describes the cases.
"""

import queue
import sys
import time

import grpc
from grpc import StatusCode

import interop_pb2 as pb
import interop_pb2_grpc as services

INITIAL, TRAILING = "x-grpc-test-echo-initial", "x-grpc-test-echo-trailing-bin"
SPECIAL = "\t\ntest with whitespace\r\nand Unicode BMP ☺ and non-BMP 😈\t\n"
PATIENCE_S = 30
CONCURRENT = 300


def expect(actual, wanted, what):
    if actual != wanted:
        raise AssertionError(f"{what}: {str(actual)[:200]!r}, not {str(wanted)[:200]!r}")


def zeros(size):
    return pb.Payload(body=bytes(size))


def failure_of(call):
    """(code, message) with which a function's call ends; it must fail."""
    try:
        call()
    except grpc.RpcError as error:
        return error.code(), error.details()
    raise AssertionError("the call did not fail")


class Requests:
    """The requests of a stream, sent as they are put."""

    def __init__(self):
        self._waiting = queue.Queue()

    def put(self, request):
        self._waiting.put(request)

    def close(self):
        self._waiting.put(None)

    def __iter__(self):
        return iter(self._waiting.get, None)


def asking(*sizes, payload=0, status=None):
    return pb.StreamingOutputCallRequest(
        response_parameters=[pb.ResponseParameters(size=size) for size in sizes], payload=zeros(payload),
        response_status=status)


class Cases:
    def __init__(self, channel):
        self.channel = channel
        self.stub = services.TestServiceStub(channel)
        self.echo = services.EchoServiceStub(channel)

    def empty_unary(self):
        expect(self.stub.EmptyCall(pb.Empty(), timeout=PATIENCE_S), pb.Empty(), "reply")

    def large_unary(self):
        reply = self.stub.UnaryCall(pb.SimpleRequest(response_size=314159, payload=zeros(271828)), timeout=PATIENCE_S)
        expect(reply.payload.body, bytes(314159), "reply")

    def client_streaming(self):
        requests = (pb.StreamingInputCallRequest(payload=zeros(size)) for size in (27182, 8, 1828, 45904))
        reply = self.stub.StreamingInputCall(requests, timeout=PATIENCE_S)
        expect(reply.aggregated_payload_size, 74922, "aggregated size")

    def server_streaming(self):
        sizes = [31415, 9, 2653, 58979]
        replies = self.stub.StreamingOutputCall(asking(*sizes), timeout=PATIENCE_S)
        expect([reply.payload.body for reply in replies], [bytes(size) for size in sizes], "replies")

    def ping_pong(self):
        requests = Requests()
        call = self.stub.FullDuplexCall(iter(requests), timeout=PATIENCE_S)
        for sent, asked in ((27182, 31415), (8, 9), (1828, 2653), (45904, 58979)):
            requests.put(asking(asked, payload=sent))
            expect(next(call).payload.body, bytes(asked), "reply")
        requests.close()
        expect(list(call), [], "replies after the end")
        expect(call.code(), StatusCode.OK, "status")

    def empty_stream(self):
        call = self.stub.FullDuplexCall(iter(()), timeout=PATIENCE_S)
        expect(list(call), [], "replies")
        expect(call.code(), StatusCode.OK, "status")

    def status_code_and_message(self):
        self._status(2, "test status message")

    def special_status_message(self):
        self._status(2, SPECIAL)

    def _status(self, code, message):
        status = pb.EchoStatus(code=code, message=message)
        wanted = (StatusCode.UNKNOWN, message)
        request = pb.SimpleRequest(response_status=status)
        expect(failure_of(lambda: self.stub.UnaryCall(request, timeout=PATIENCE_S)), wanted, "unary")
        call = self.stub.FullDuplexCall(iter([asking(status=status)]), timeout=PATIENCE_S)
        expect(failure_of(lambda: list(call)), wanted, "stream")

    def custom_metadata(self):
        sent = ((INITIAL, "test_initial_metadata_value"), (TRAILING, b"\xab\xab\xab"))
        _, unary = self.stub.UnaryCall.with_call(pb.SimpleRequest(response_size=1), metadata=sent, timeout=PATIENCE_S)
        stream = self.stub.FullDuplexCall(iter([asking(1)]), metadata=sent, timeout=PATIENCE_S)
        expect(len(list(stream)), 1, "replies")
        for what, call in (("unary", unary), ("stream", stream)):
            expect(dict(call.initial_metadata()).get(INITIAL), sent[0][1], f"{what} initial metadata")
            expect(dict(call.trailing_metadata()).get(TRAILING), sent[1][1], f"{what} trailing metadata")

    def cancel_after_begin(self):
        requests = Requests()
        call = self.stub.StreamingInputCall.future(iter(requests), timeout=PATIENCE_S)
        call.cancel()
        requests.close()
        expect(call.code(), StatusCode.CANCELLED, "status")
        self.empty_unary()

    def cancel_after_first_response(self):
        requests = Requests()
        call = self.stub.FullDuplexCall(iter(requests), timeout=PATIENCE_S)
        requests.put(asking(31415, payload=27182))
        expect(next(call).payload.body, bytes(31415), "reply")
        call.cancel()
        requests.close()
        expect(failure_of(lambda: next(call))[0], StatusCode.CANCELLED, "status")
        self.empty_unary()

    def timeout_on_sleeping_server(self):
        self.empty_unary()  # the deadline is to begin on a channel that is connected
        requests = Requests()
        began = time.monotonic()
        requests.put(pb.StreamingOutputCallRequest(
            response_parameters=[pb.ResponseParameters(size=1, interval_us=2_000_000)], payload=zeros(27182)))
        call = self.stub.FullDuplexCall(iter(requests), timeout=0.2)
        expect(failure_of(lambda: next(call))[0], StatusCode.DEADLINE_EXCEEDED, "status")
        requests.close()
        expect(time.monotonic() - began < 1.5, True, "an end at the deadline")
        self.empty_unary()

    def client_compressed_unary(self):
        for compressed in (True, False):
            request = pb.SimpleRequest(expect_compressed=pb.BoolValue(value=compressed), response_size=314159,
                                       payload=zeros(271828))
            reply = self.stub.UnaryCall(request, compression=grpc.Compression.Gzip if compressed else None,
                                        timeout=PATIENCE_S)
            expect(reply.payload.body, bytes(314159), "reply")

    def client_compressed_streaming(self):
        for compressed in (True, False):
            requests = (pb.StreamingInputCallRequest(expect_compressed=pb.BoolValue(value=compressed), payload=zeros(size))
                        for size in (27182, 45904))
            reply = self.stub.StreamingInputCall(
                requests, compression=grpc.Compression.Gzip if compressed else None, timeout=PATIENCE_S)
            expect(reply.aggregated_payload_size, 73086, "aggregated size")

    def server_compressed_unary(self):
        for compressed, size in ((True, 314159), (False, 92653)):
            request = pb.SimpleRequest(response_compressed=pb.BoolValue(value=compressed), response_size=size)
            reply = self.stub.UnaryCall(request, timeout=PATIENCE_S)
            expect(reply.payload.body, bytes(size), "reply")

    def server_compressed_streaming(self):
        sizes = {31415: True, 92653: False}
        request = pb.StreamingOutputCallRequest(response_parameters=[
            pb.ResponseParameters(size=size, compressed=pb.BoolValue(value=compressed))
            for size, compressed in sizes.items()])
        replies = list(self.stub.StreamingOutputCall(request, timeout=PATIENCE_S))
        expect([reply.payload.body for reply in replies], [bytes(size) for size in sizes], "replies")

    def unimplemented_method(self):
        call = self.stub.UnimplementedCall
        expect(failure_of(lambda: call(pb.Empty(), timeout=PATIENCE_S))[0], StatusCode.UNIMPLEMENTED, "status")

    def unimplemented_service(self):
        call = services.UnimplementedServiceStub(self.channel).UnimplementedCall
        expect(failure_of(lambda: call(pb.Empty(), timeout=PATIENCE_S))[0], StatusCode.UNIMPLEMENTED, "status")

    def concurrent_unary(self):
        def payload(i):
            return f"call {i:04} ".encode() * (1 + i * 37 % 2000)

        calls = []
        for i in range(CONCURRENT):
            metadata = ((INITIAL, f"initial {i}"), (TRAILING, f"trailing {i}".encode()))
            calls.append(self.echo.Echo.future(pb.Payload(body=payload(i)), metadata=metadata, timeout=PATIENCE_S))
        for i, call in enumerate(calls):
            expect(call.result().body, payload(i), f"reply {i}")
            expect(dict(call.initial_metadata()).get(INITIAL), f"initial {i}", f"initial metadata {i}")
            expect(dict(call.trailing_metadata()).get(TRAILING), f"trailing {i}".encode(), f"trailing metadata {i}")

    def concurrent_streams(self):
        def payloads(i):
            return [f"stream {i:04} message {j} ".encode() * (1 + (i * 31 + j * 7) % 500) for j in range(5)]

        calls = [self.echo.EchoStream(iter([pb.Payload(body=body) for body in payloads(i)]), timeout=PATIENCE_S)
                 for i in range(CONCURRENT)]
        for i, call in enumerate(calls):
            expect([reply.body for reply in call], payloads(i), f"replies of stream {i}")


def main():
    address, case = sys.argv[1:3]
    if len(sys.argv) > 3:
        with open(sys.argv[3], "rb") as file:
            channel = grpc.secure_channel(address, grpc.ssl_channel_credentials(file.read()))
    else:
        channel = grpc.insecure_channel(address)
    with channel:
        try:
            getattr(Cases(channel), case)()
        except (AssertionError, grpc.RpcError) as error:
            sys.exit(f"{case}: {error}")


main()
