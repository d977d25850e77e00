"""What an idle client connection costs the engine's transport, in resident memory.

Starts `transport_echo`, opens connections with a usual gRPC client's headers, makes one call on each, waits until the
engine has freed what only saves time, and prints the growth of its resident memory for a connection.
"""

import argparse
import pathlib
import resource
import socket
import subprocess
import time


def frame(kind, flags, stream, payload=b""):
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


def literal(name, value):  # with incremental indexing (RFC 7541, 6.2.1)
    return b"\x40" + bytes([len(name)]) + name + bytes([len(value)]) + value


def one_call():
    block = (b"\x83\x86" + literal(b":path", b"/echo.Echo/Call") + literal(b":authority", b"localhost") +
             literal(b"content-type", b"application/grpc") + literal(b"te", b"trailers") +
             literal(b"user-agent", b"grpc-c++/1.51.1 grpc-c/29.0.0 (linux; chttp2)") +
             literal(b"grpc-accept-encoding", b"identity, deflate, gzip"))
    return (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0) + frame(1, 4, 1, block) +
            frame(0, 1, 1, b"\0\0\0\0\x05hello"))


def resident_kib(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/release/engine/grpc/transport_echo")
    parser.add_argument("--connections", type=int, default=10000)
    args = parser.parse_args()
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = probe.getsockname()
    server = subprocess.Popen([args.program, f"{address[0]}:{address[1]}", "0"], stderr=subprocess.DEVNULL)
    try:
        time.sleep(1)
        before = resident_kib(server.pid)
        connections = []
        for _ in range(args.connections):
            connection = socket.create_connection(address, timeout=10)
            connection.sendall(one_call())
            connections.append(connection)
        for connection in connections:
            if not connection.recv(4096):
                raise SystemExit("a connection was closed")
        time.sleep(4)
        grown = resident_kib(server.pid) - before
        print(f"{args.connections} idle connections: {grown / 1024:.1f} MiB, {grown / args.connections:.2f} KiB each")
    finally:
        server.terminate()
        server.wait(10)


if __name__ == "__main__":
    main()
