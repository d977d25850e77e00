"""Attacks on a listener that speaks TLS, before the handshake, within it, and after it; CASES is the table."""
import socket
import ssl
import subprocess
import time

import http2
from client_attacks import CALM, cpu_of, held_for, send_quietly, sized, sockets_of
from http2 import INITIAL_WINDOW_SIZE, MOST, Closed, Connection, request, streams, window_update
from judge import Bound
from measure import MIB
from rig import SERVICE, Case

HANDSHAKE = ("--tls.handshake_timeout_ms=2000",)


def client_context(version=ssl.TLSVersion.TLSv1_3):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.minimum_version = context.maximum_version = version
    context.set_alpn_protocols(["h2"])
    return context


def hello(version=ssl.TLSVersion.TLSv1_3):
    """A ClientHello, as bytes."""
    out = ssl.MemoryBIO()
    try:
        client_context(version).wrap_bio(ssl.MemoryBIO(), out).do_handshake()
    except ssl.SSLWantReadError:
        pass
    return out.read()


def raw(target, source="127.0.0.2"):
    """A TCP connection to the TLS listener."""
    made = socket.socket()
    made.bind((source, 0))
    made.settimeout(5)
    made.connect(http2.split_address(target.service))
    return made


def gone(connections, seconds):
    """How many of them the server has not closed after that time."""
    end, left = time.monotonic() + seconds, 0
    for connection in connections:
        try:
            while True:
                connection.settimeout(max(0.01, end - time.monotonic()))
                if not connection.recv(1 << 16):
                    break
        except TimeoutError:
            left += 1
        except OSError:
            pass
    return left


def handshake_flood(target):
    """ClientHellos, each of which costs the engine a signature, and connections that end once they are answered."""
    wire, made = hello(), 0
    end = time.monotonic() + target.pick(2, 8)
    while time.monotonic() < end:
        batch = []
        for _ in range(50):
            try:
                batch.append(raw(target))
                batch[-1].sendall(wire)
            except OSError:
                break
        for connection in batch:
            try:
                connection.settimeout(2)
                made += bool(connection.recv(1))
            except OSError:
                pass
            connection.close()
    return {"handshakes answered": made, "engine CPU, s": round(cpu_of(target.engine), 1)}


def half_open_handshakes(target):
    """Connections that say nothing, a byte, or a ClientHello and no more: closed in time, all of them."""
    wire, held = hello(), []
    for number in range(target.pick(150, 1500)):
        try:
            held.append(raw(target))
            held[-1].sendall((b"", wire[:1], wire[:100], wire)[number % 4])
        except OSError:
            break
    left = gone(held, 9)
    target.claim(left == 0, f"{left} of {len(held)} half-open handshakes are open after 9 s; the time-out is 2 s")
    return {"connections": len(held)}


def slow_handshake(target):
    """A ClientHello a byte every 20 ms: no progress worth the name."""
    wire = hello()
    held = [raw(target) for _ in range(20)]
    began, open_ = time.monotonic(), list(held)
    for at in range(len(wire)):
        for connection in list(open_):
            try:
                connection.sendall(wire[at:at + 1])
            except OSError:
                open_.remove(connection)
        time.sleep(0.02)
        if not open_ or time.monotonic() - began > 9:
            break
    left = gone(open_, 1)
    target.claim(left == 0, f"{left} of {len(held)} handshakes that come byte by byte are open after 9 s")


def renegotiation(target):
    """TLS 1.2 clients that ask for another handshake, as often as they may."""
    clients = [subprocess.Popen(
        ["openssl", "s_client", "-connect", target.service, "-tls1_2", "-alpn", "h2"],
        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for _ in range(5)]
    time.sleep(1)
    for client in clients:
        send = client.stdin
        try:
            send.write(b"R\n" * 10)
            send.flush()
        except OSError:
            pass
    left = 0
    for client in clients:
        try:
            client.wait(5)
        except subprocess.TimeoutExpired:
            left += 1
            client.kill()
            client.wait()
    target.claim(left == 0, f"{left} of {len(clients)} connections that renegotiate are open after 5 s")


def data_before_the_handshake(target):
    """A ClientHello and records of data behind it, as early data comes: not taken, and no work worth the name."""
    wire = hello() + b"\x17\x03\x03\x40\x00" + bytes(1 << 14)
    held = []
    for _ in range(target.pick(40, 300)):
        try:
            held.append(raw(target))
            held[-1].sendall(wire)
        except OSError:
            pass
    left = gone(held, 6)
    target.claim(left == 0, f"{left} of {len(held)} connections that send data too soon are open after 6 s")


def tiny_records(target):
    """Requests in records of one byte each."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    session = client_context().wrap_bio(incoming, outgoing)
    with raw(target) as connection:
        while True:
            try:
                session.do_handshake()
                break
            except ssl.SSLWantReadError:
                connection.sendall(outgoing.read())
                incoming.write(connection.recv(1 << 16))
        session.write(http2.PREFACE + http2.settings())  # at once: encrypting the others takes longer than the time-out
        connection.sendall(outgoing.read())
        plain = b""
        for stream in streams(target.pick(150, 1500)):
            plain += request(stream, SERVICE + "Echo", b"")
        for at in range(len(plain)):
            session.write(plain[at:at + 1])
        wire = outgoing.read()
        connection.settimeout(20)
        begin = time.monotonic()
        connection.sendall(wire)
        return {"records": len(plain), "KiB": len(wire) >> 10, "s": round(time.monotonic() - begin, 2)}


def unread_secure_replies(target):
    """Replies of 3 MB to clients that never read, over TLS: closed after the stall time-out, their memory bounded."""
    before = sockets_of(target.engine)
    held = []
    for _ in range(target.pick(4, 6)):
        held.append(Connection(target.service, greeting={INITIAL_WINDOW_SIZE: MOST}, receive_buffer=4096,
                               tls=client_context()))
        held[-1].send(window_update(0, MOST - 65535) + b"".join(sized(stream, 3_000_000) for stream in streams(3)))
    time.sleep(1)
    left = not held_for(8, lambda: sockets_of(target.engine) <= before)
    target.claim(not left, f"{sockets_of(target.engine) - before} of {len(held)} connections that read nothing are open "
                           "after 9 s with a stall time-out of 1 s")


def many_secure_connections(target):
    """Connections that have shaken hands and do nothing more: what each holds is bounded."""
    context, held = client_context(), []
    for _ in range(target.pick(100, 800)):
        try:
            held.append(Connection(target.service, tls=context))
        except (Closed, OSError):
            break
    time.sleep(target.pick(0.3, 4))
    return {"connections": len(held)}


CASES = [
    Case("handshake_flood", handshake_flood, CALM, flags=HANDSHAKE, tls=True),
    Case("half_open_handshakes", half_open_handshakes, Bound(private=128 * MIB), flags=HANDSHAKE, tls=True),
    Case("slow_handshake", slow_handshake, CALM, flags=HANDSHAKE, tls=True),
    Case("renegotiation", renegotiation, CALM, flags=HANDSHAKE, tls=True),
    Case("data_before_the_handshake", data_before_the_handshake, CALM, flags=HANDSHAKE, tls=True),
    Case("tiny_records", tiny_records, CALM, flags=HANDSHAKE, tls=True),
    Case("unread_secure_replies", unread_secure_replies, Bound(private=64 * MIB), flags=HANDSHAKE, tls=True),
    Case("many_secure_connections", many_secure_connections, Bound(private=96 * MIB), flags=HANDSHAKE, tls=True),
]
