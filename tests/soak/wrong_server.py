"""A server of testing.proto that is wrong on purpose, so that the soak's checks can be seen to notice it.

    wrong_server.py STUBS JOURNAL FAULT      FAULT: none, or a name of FAULTS; prints "listening on PORT"

Stock grpcio; each FAULT breaks some of its answers, and nothing else.
"""
import os
import sys
import time
import zlib
from concurrent import futures

FAULTS = {
    "another_payload": "the payload of a reply is another call's",
    "duplicate_item": "a stream repeats an item",
    "lost_item": "a stream leaves out an item, and ends in OK",
    "handled_twice": "a call is handled twice",
    "handled_never": "a call is answered without being handled",
    "failed": "a call fails, and no process was killed",
    "other_process": "a reply names a process that does not serve",
    "other_status": "another status than asked for",
    "lost_bytes": "the messages of a request stream are read incompletely",
}


def main():
    stubs, journal_file, fault = sys.argv[1:4]
    sys.path.insert(0, stubs)
    import grpc
    import testing_pb2
    import testing_pb2_grpc

    journal = open(journal_file, "a", buffering=1)
    last = [b"of nobody"]

    def note(context):
        call = dict(context.invocation_metadata()).get("x-call", "")
        if call and not (fault == "handled_never" and call.endswith("7")):
            for _ in range(2 if fault == "handled_twice" and call.endswith("7") else 1):
                journal.write(call + "\n")
        return call

    class Calls(testing_pb2_grpc.TestServiceServicer):
        def Echo(self, request, context):
            call = note(context)
            if fault == "failed" and call.endswith("7"):
                context.abort(grpc.StatusCode.UNAVAILABLE, "just so")
            payload, last[0] = request.payload, request.payload
            if fault == "another_payload" and call.endswith("7"):
                payload = b"crossed" + payload[7:]
            pid = os.getpid() + (1 if fault == "other_process" and call.endswith("7") else 0)
            return testing_pb2.EchoReply(payload=payload, text=request.text, counts=request.counts, words=request.words,
                                         pid=pid)

        def Sleep(self, request, context):
            note(context)
            end = time.monotonic() + request.millis / 1000
            while time.monotonic() < end and context.is_active():
                time.sleep(0.01)
            return testing_pb2.SleepReply()

        def Fail(self, request, context):
            code = 13 if fault == "other_status" and request.code == 5 else request.code
            context.set_trailing_metadata((("grpc-status-details-bin", request.details),))
            context.abort(next(c for c in grpc.StatusCode if c.value[0] == code), request.message)

        def Metadata(self, request, context):
            note(context)
            context.send_initial_metadata(tuple((p.key, p.value) for p in request.initial))
            context.set_trailing_metadata(tuple((p.key, p.value.decode()) for p in request.trailing))
            received = [testing_pb2.Pair(key=key, value=value if isinstance(value, bytes) else value.encode())
                        for key, value in context.invocation_metadata()]
            return testing_pb2.MetadataReply(received=received, deadline_millis=int(context.time_remaining() * 1000))

        def Sized(self, request, context):
            note(context)
            letters = bytes(range(ord("a"), ord("z") + 1))
            return testing_pb2.SizedReply(payload=(letters * (request.size // 26 + 1))[:request.size])

    class Streams(testing_pb2_grpc.StreamServiceServicer):
        def Spread(self, request, context):
            note(context)
            payload = request.tag + b"s" * (request.size - len(request.tag))
            for number in range(request.count):
                if fault == "lost_item" and number == request.count - 1:
                    continue
                yield testing_pb2.Item(number=number, payload=payload)
            if request.code:
                context.abort(grpc.StatusCode.NOT_FOUND, "as asked for")

        def Collect(self, requests, context):
            note(context)
            count = size = 0
            adler = 1
            for item in requests:
                adler = zlib.adler32(item.payload[1 if fault == "lost_bytes" else 0:], adler)
                count, size = count + 1, size + len(item.payload)
            return testing_pb2.Summary(count=count, bytes=size, in_order=True, adler=adler)

        def talk(self, requests, context):
            for item in requests:
                if item.code:
                    context.abort(grpc.StatusCode.FAILED_PRECONDITION, "as asked for")
                for _ in range(2 if fault == "duplicate_item" and item.number == 1 else 1):
                    yield item

        def Talk(self, requests, context):
            note(context)
            yield from self.talk(requests, context)

        def Early(self, requests, context):
            note(context)
            context.send_initial_metadata((("early", "bird"),))
            context.set_trailing_metadata((("late", "owl"),))
            yield from self.talk(requests, context)

    server = grpc.server(futures.ThreadPoolExecutor(32), options=[("grpc.max_receive_message_length", -1)])
    testing_pb2_grpc.add_TestServiceServicer_to_server(Calls(), server)
    testing_pb2_grpc.add_StreamServiceServicer_to_server(Streams(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    print(f"listening on {port}", flush=True)
    sys.stdin.read()
    server.stop(0)


if __name__ == "__main__":
    main()
