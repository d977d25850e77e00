"""The victim: a stock gRPC client that calls each address every few milliseconds and tells how every call went.

    victim.py STUBS PERIOD_MS TIMEOUT_S NAME=ADDRESS=PAYLOAD_BYTES=ROOTS ...

ROOTS: a file of root certificates for TLS, or empty. Prints a line a call: name, seconds (CLOCK_MONOTONIC) at which it began, seconds that it took, its status, and what was
wrong with the reply, if anything. Ends when stdin does.
"""
import sys
import threading
import time


def main():
    stubs, period, timeout = sys.argv[1], float(sys.argv[2]) / 1000, float(sys.argv[3])
    sys.path.insert(0, stubs)
    import grpc
    import testing_pb2
    import testing_pb2_grpc

    ending = threading.Event()
    printing = threading.Lock()

    def channel_to(address, roots, options):
        if not roots:
            return grpc.insecure_channel(address, options=options)
        with open(roots, "rb") as file:
            return grpc.secure_channel(address, grpc.ssl_channel_credentials(file.read()), options=options)

    def call_for_ever(name, address, payload, roots):
        options = [("grpc.use_local_subchannel_pool", 1), ("grpc.enable_retries", 0)]
        with channel_to(address, roots, options) as channel:
            stub = testing_pb2_grpc.TestServiceStub(channel)
            request = testing_pb2.EchoRequest(payload=bytes(int(payload)), text=name)
            next_at = time.monotonic()
            while not ending.is_set():
                began = time.monotonic()
                status, wrong = "OK", ""
                try:
                    reply = stub.Echo(request, timeout=timeout)
                    if reply.text != name or len(reply.payload) != int(payload):
                        wrong = "the reply is another's"
                except grpc.RpcError as error:
                    status, wrong = error.code().name, error.details()
                took = time.monotonic() - began
                with printing:
                    print(f"{name}\t{began:.6f}\t{took:.6f}\t{status}\t{wrong}".replace("\n", " "), flush=True)
                next_at = max(next_at + period, time.monotonic())
                ending.wait(next_at - time.monotonic())

    threads = [threading.Thread(target=call_for_ever, args=target.split("=")) for target in sys.argv[4:]]
    for thread in threads:
        thread.start()
    sys.stdin.read()
    ending.set()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main()
