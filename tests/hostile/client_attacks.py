"""Attacks of network clients without credentials; CASES is the table."""
import base64
import gzip
import os
import pathlib
import socket
import struct
import time
import urllib.request
import zlib

import http2
import images
from host import Host, method
from http2 import (CONTINUATION, ENHANCE_YOUR_CALM, INITIAL_WINDOW_SIZE, MOST, NEWEST, Closed, Connection,
                   bytes_field, connect_many, data, frame, grpc_message, headers, indexed, literal, priority, request,
                   request_block, reset, streams, varint_field, window_update)
from judge import Bound
from measure import MIB
from rig import SERVICE, Case

STREAMS = "/drover.testing.StreamService/"

WIDE_OPEN = {INITIAL_WINDOW_SIZE: MOST}
KIB = 1 << 10


def sized(stream, size):
    """A request for a reply of that many bytes."""
    return request(stream, SERVICE + "Sized", varint_field(1, size))


def sleeping(stream, milliseconds=600_000):
    return request(stream, SERVICE + "Sleep", varint_field(1, milliseconds))


def sockets_of(process):
    """Descriptors of that process that are sockets."""
    folder = f"/proc/{process}/fd"
    found = 0
    for name in os.listdir(folder):
        try:
            found += os.readlink(f"{folder}/{name}").startswith("socket:")
        except OSError:
            pass
    return found


def held_for(seconds, condition):
    """True as soon as the condition holds; false if it never does in that time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.02)
    return condition()


def send_quietly(connection, wire, seconds=5):
    try:
        connection.send(wire, seconds)
    except (Closed, TimeoutError):
        pass


# ---- header blocks

def bin_expansion(target):
    """A name of 2 KB and 2 KB of commas from the HPACK table, four times a request: 90 bytes that say 8,000 values."""
    name, commas = b"a" * 1900 + b"-bin", b"," * 2000
    first = request_block("/a.B/C", literal(name, commas, index=True), *[indexed(NEWEST)] * 3)
    more = request_block("/a.B/C", *[indexed(NEWEST)] * 4)
    held = connect_many(target.pick(3, 10), target.service)
    for connection in held:
        wire = b"".join(headers(stream, first if stream == 1 else more) for stream in streams(100))
        send_quietly(connection, wire)
    time.sleep(target.pick(0.3, 3))
    return {"bytes sent": len(wire)}


def plain_metadata(target, addresses=1):
    """The largest metadata that is taken, from the HPACK table, on every stream of many connections."""
    value = b"v" * 3900
    first = request_block(SERVICE + "Echo", literal(b"name", value, index=True), *[indexed(NEWEST)] * 3)
    more = request_block(SERVICE + "Echo", *[indexed(NEWEST)] * 4)
    wire = b"".join(headers(stream, first if stream == 1 else more) for stream in streams(1000))
    held = [connection for number in range(addresses)
            for connection in connect_many(target.pick(60, 2000) // addresses, target.service, f"127.0.1.{number + 1}")]
    for connection in held:
        send_quietly(connection, wire)
    time.sleep(target.pick(0.3, 3))
    return {"connections": len(held)}


def metadata_of_many_addresses(target):
    """The same from ten addresses, so that no budget of an address counts."""
    return plain_metadata(target, addresses=10)


def headers_without_end(target):
    """HEADERS that no END_HEADERS follows: the connection must not live on."""
    held = connect_many(target.pick(20, 200), target.service)
    for connection in held:
        send_quietly(connection, headers(1, literal(b"name", b"v" * 1000), flags=0))
    end = time.monotonic() + 12
    left = sum(not connection.closed_within(end - time.monotonic()) for connection in held)
    target.claim(left == 0, f"{left} of {len(held)} connections that never ended their HEADERS are still open")


def continuation_flood(target):
    """CONTINUATION without end. What the engine still reads of it is bounded."""
    with Connection(target.service) as connection:
        send_quietly(connection, headers(1, literal(b"name", b"v" * 1000), flags=0))
        flood = frame(CONTINUATION, 0, 1, literal(b"name", b"v" * 15_000)) * 2000
        taken = 0
        for _ in range(target.pick(3, 70)):
            sent, closed = connection.offer(flood, 8)
            taken += sent
            if closed or sent < len(flood):
                break
        target.claim(taken < 16 * MIB, f"{taken >> 20} MiB of a CONTINUATION flood were taken")
        return {"MiB taken": round(taken / MIB, 1)}


# ---- frames that make work or answers

def refused_streams_unread(target):
    """Each refused HEADERS is answered by a RST_STREAM that is not read; SETTINGS is never acknowledged."""
    with Connection(target.service, acknowledge=False, receive_buffer=4096) as connection:
        block = request_block(SERVICE + "Sleep")
        wire = b"".join(headers(stream, block) for stream in streams(target.pick(40_000, 300_000)))
        taken, closed = connection.offer(wire, target.pick(3, 20))
        time.sleep(0.2)
        return {"MiB taken": round(taken / MIB, 1), "closed": closed}


def reset_flood(target):
    """HEADERS and RST_STREAM in pairs: the connection must end in ENHANCE_YOUR_CALM."""
    with Connection(target.service) as connection:
        block = request_block(SERVICE + "Sleep")
        wire = b"".join(headers(stream, block) + reset(stream) for stream in streams(30_000))
        connection.offer(wire, 10, reading=True)
        code = connection.goaway_code()
        target.claim(code == ENHANCE_YOUR_CALM, f"a reset flood ended in GOAWAY {code}")


def frame_flood(unit):
    def attack(target):
        """A million frames that mean nothing: stream 1 waits for its answer, stream 3 for its request."""
        with Connection(target.service) as connection:
            wire = (sleeping(1) + headers(3, request_block(SERVICE + "Echo")) +
                    unit * target.pick(200_000, 1_000_000))
            taken, _ = connection.offer(wire, target.pick(5, 20), reading=True)
            code = connection.goaway_code(3)
            # A close with unread bytes may overtake the GOAWAY.
            calmed = code == ENHANCE_YOUR_CALM or code is None and connection.closed_within(2)
            target.claim(calmed, f"{taken // len(unit)} frames were taken; GOAWAY {code}")
            return {"frames taken": taken // len(unit)}
    return attack


# ---- calls that go on at the host

class SlowHost:
    """A host that takes calls and never answers them; `running` is how many it has that were not cancelled."""

    def __init__(self, target, messages="message Any { bytes payload = 1; }"):
        self.host = Host(target.control)
        self.host.register(images.compiled(target.build, messages), [method("/slow.Slow/Call")])
        self.address = f"127.0.0.1:{self.host.listen('127.0.0.1:0')}"
        self.host.start()
        self.taken = 0

    def serve(self, seconds, until=MOST):
        """The calls that it has in all, after that time or as soon as it has so many."""
        for _ in self.host.calls(seconds) if self.taken < until else ():
            self.taken += 1
            if self.taken >= until:
                break
        return self.taken


def echo_image(target):
    """The schema image of a message of a few fields."""
    return images.compiled(target.build, "message Any { bytes payload = 1; }")


def made_you_reset(target):
    """Complete requests, each followed by a WINDOW_UPDATE that overflows: the server resets, the host goes on."""
    slow = SlowHost(target)
    with Connection(slow.address) as connection:
        one = [request(stream, "/slow.Slow/Call") + window_update(stream, MOST) for stream in streams(15_000)]
        for at in range(0, len(one), 100):
            send_quietly(connection, b"".join(one[at:at + 100]), 1)
            slow.serve(0.005)
        running = slow.serve(1)
    target.claim(running <= 2000, f"{running} calls of one connection ran at the host; at most 1,000 in progress, and "
                                  "as many that have no stream any more")
    return {"calls at the host": running}


def reopened_connections(target):
    """As many calls as a connection may have, then the next connection: the host still runs them all."""
    slow = SlowHost(target)
    wire = b"".join(request(stream, "/slow.Slow/Call") for stream in streams(1000))
    for number in range(1, target.pick(13, 31)):
        with Connection(slow.address) as connection:
            send_quietly(connection, wire, 1)
            if slow.serve(2, until=1000 * number) < 1000 * number:
                break  # no more are let in
    running = slow.serve(0.3)
    target.claim(running <= CALLS_PER_ADDRESS, f"{running} calls of one peer address ran at the host")
    return {"calls at the host": running}


COSTLY = "message Any { repeated Any many = 1; repeated string words = 2; map<int64, Any> map = 3; "\
         "repeated int64 values = 4; int64 value = 5; }"
# 4 MiB of each: what costs most time a byte, by kind.
COSTLY_UNITS = {"messages": b"\x0a\x00", "strings": b"\x12\x00", "map entries": b"\x1a\x00", "values": b"\x20\x01",
                "one value": b"\x28\x01", "unknown": b"\x30\x01"}


def costly_bodies():
    bodies = {kind: unit * (4 * MIB // len(unit) - 8) for kind, unit in COSTLY_UNITS.items()}
    keys = range(2**14, 2**14 + 4 * MIB // 6 - 8)  # of three bytes: an index that grows
    bodies["map keys"] = b"".join(b"\x1a\x04\x08" + bytes((k & 127 | 128, k >> 7 & 127 | 128, k >> 14)) for k in keys)
    return bodies


def costly_requests(target):
    """Requests as large as allowed that are expensive to parse, one behind the other. Their host takes them and never
    answers."""
    slow = SlowHost(target, COSTLY)
    bodies = costly_bodies()
    sent, end = 0, time.monotonic() + target.pick(0.5, 4)
    while time.monotonic() < end:
        for body in bodies.values():
            with Connection(slow.address) as connection:
                sent += connection.send_request("/slow.Slow/Call", grpc_message(body))
                connection.ping(2)
                slow.serve(0)
    target.claim(sent > 0, "no request was sent to its end")
    return {"requests": sent}


GZIP = literal(b"grpc-encoding", b"gzip")


def gzip_message(message):
    """A message of a gRPC body, compressed by gzip."""
    packed = gzip.compress(message, 9)
    return struct.pack(">BI", 1, len(packed)) + packed


def data_frames(stream, body, size=16384):
    """The body of a request, to its end."""
    parts = [body[at:at + size] for at in range(0, len(body), size)]
    return b"".join(data(stream, part) for part in parts[:-1]) + data(stream, parts[-1], http2.END_STREAM)


def bombs(target):
    """Requests of a few KB that decompress to all that is allowed, or to more than that; blocks that give no output;
    streams of such messages; on many connections at once."""
    most = 4 << 20  # limits.max_request_bytes
    parts = zlib.compressobj(1, zlib.DEFLATED, 31)
    empty = b"".join(parts.compress(b"x") + parts.flush(zlib.Z_FULL_FLUSH) for _ in range(3000)) + parts.flush()
    bodies = [gzip_message(bytes_field(1, bytes(most - 16))), gzip_message(bytes(30 << 20)),
              struct.pack(">BI", 1, len(empty)) + empty, gzip_message(bytes(most))]
    items = gzip_message(bytes_field(2, bytes(most - 16))) * 8
    sent, end = 0, time.monotonic() + target.pick(0.7, 5)
    while time.monotonic() < end:
        held = connect_many(target.pick(4, 16), target.service, greeting=WIDE_OPEN)
        for connection in held:
            wire = b"".join(headers(stream, request_block(SERVICE + "Echo", GZIP)) + data_frames(stream, body)
                            for stream, body in zip(streams(8), bodies * 2))
            wire += headers(17, request_block(STREAMS + "Collect", GZIP)) + data_frames(17, items)
            send_quietly(connection, wire, 2)
            sent += 9
        time.sleep(target.pick(0.1, 0.5))
        for connection in held:
            connection.close()
    target.claim(sent > 0, "no request was sent")
    return {"requests": sent}


# ---- peers that do not read, or slowly

def unread_replies(target):
    """Replies of 3 MB to a peer that never reads, with all windows open: closed after the stall time-out.

    Together they fit into tx: a connection whose replies found no room has nothing to read."""
    before = sockets_of(target.engine)
    held = connect_many(target.pick(4, 6), target.service, greeting=WIDE_OPEN, receive_buffer=4096)
    for connection in held:
        connection.send(window_update(0, MOST - 65535) + b"".join(sized(stream, 3_000_000) for stream in streams(3)))
    time.sleep(1)
    gone = held_for(8, lambda: sockets_of(target.engine) <= before)
    target.claim(gone, f"{sockets_of(target.engine) - before} of {len(held)} connections that read nothing are open "
                       "after 9 s with a stall time-out of 1 s")


def trickled_windows(target):
    """Replies of 3 MB, for which the peer grants a byte now and then: no progress worth the name."""
    with Connection(target.service, greeting={INITIAL_WINDOW_SIZE: 0}) as connection:
        left = set(streams(8))
        connection.send(b"".join(sized(stream, 3_000_000) for stream in left))
        end = time.monotonic() + 20
        while left and time.monotonic() < end:
            try:
                connection.send(b"".join(window_update(stream, 1) for stream in left))
            except Closed:
                break
            left -= {f.stream for f in connection.frames(0.2) if f.type == http2.RST_STREAM}
        target.claim(not left or connection.closed_within(0.1),
                     f"{len(left)} of 8 replies that take 5 bytes a second are held for 20 s; the stall time-out is 1 s")


def window_zero(target):
    """One connection that grants no window and asks for 900 replies of 100 KB: others' replies must find room."""
    with Connection(target.service, greeting={INITIAL_WINDOW_SIZE: 0}) as connection:
        connection.send(b"".join(sized(stream, 100_000) for stream in streams(900)))
        time.sleep(target.pick(0.9, 8))


def announced_lengths(target):
    """Prefixes that announce 4 MiB, and one byte of each: others' requests of 100 KB must find room."""
    with Connection(target.service) as connection:
        connection.send(b"".join(headers(stream, request_block(SERVICE + "Echo")) +
                                 data(stream, grpc_message(b"\x0a", announced=4 * MIB - 1)) for stream in streams(200)))
        time.sleep(target.pick(0.9, 8))


def regions_pinned(target):
    """Replies that lie in a host's region and that are not read; the host dies, again and again."""
    image, path = echo_image(target), "/pinned.Host/Call"
    held, wrong, address = [], None, "127.0.0.1:0"
    for number in range(target.pick(70, 140)):
        try:
            with Host(target.control, tx_bytes=2 * MIB) as host:
                host.register(image, [method(path)])
                address = f"127.0.0.1:{host.listen(address)}"
                host.start()
                held.append(Connection(address, greeting=WIDE_OPEN, receive_buffer=4096))
                held[-1].send(window_update(0, MOST - 65535) + request(1, path))
                reply = host.reserve(32)
                host.words(reply + 16, host.reserve(1 * MIB), 1 * MIB)
                for channel, call in host.calls(0.05):
                    host.complete(channel, call, reply)
                    break
                time.sleep(0.01)
        except Exception as error:
            wrong = f"host {number}: {error}"
            break
    time.sleep(3)  # the stall time-out is 1 s
    try:
        Host(target.control).close()
    except Exception as error:
        wrong = f"after the stall time-out: {error}"
    target.claim(wrong is None or "after" not in wrong, f"an honest host is refused: {wrong}")
    return {"hosts": len(held), "refused meanwhile": wrong or "none"}


# ---- connections and descriptors

def many_connections(target):
    """More connections from one address than one may have: another address still gets in."""
    held = connect_many(600, target.service)
    try:
        with Connection(target.service, source="127.0.0.3") as honest:
            entered = honest.ready(3)
    except (Closed, TimeoutError):
        entered = False
    target.claim(entered, f"{len(held)} connections of one address keep another address out")
    return {"connections": len(held)}


def no_descriptors(target):
    """More connections than droverd has descriptors: no spinning, and the ones that are open are served."""
    held = connect_many(300, target.service)
    begin = time.monotonic(), cpu_of(target.engine)
    time.sleep(target.pick(1, 3))
    share = (cpu_of(target.engine) - begin[1]) / (time.monotonic() - begin[0])
    # The victims cost some; a spinning thread costs a whole core.
    target.claim(share < 0.6, f"droverd without descriptors uses {share:.2f} s of CPU a second")
    for connection in held:
        connection.close()
    entered = held_for(3, lambda: Connection(target.service).ready(1))
    target.claim(entered, "no connection is taken after the others have closed")
    return {"CPU s/s": round(share, 2), "connections": len(held)}


def cpu_of(process):
    with open(f"/proc/{process}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def slow_scraper(target):
    """A scraper that sends half a request, and one that does not read: others get their metrics."""
    held = []
    for begin in (b"", b"GET /met", b"GET /metrics HTTP/1.1\r\n\r\n"):
        scraper = socket.create_connection(http2.split_address(target.metrics))
        scraper.sendall(begin)
        held.append(scraper)
    time.sleep(0.2)
    try:
        with urllib.request.urlopen(f"http://{target.metrics}/metrics", timeout=2) as answer:
            served = b"drover_" in answer.read()
    except OSError as error:
        served = False
        print(error)
    target.claim(served, "a slow scraper keeps another one waiting for more than 2 s")


def counter(target, name):
    """The sum of a metric's series."""
    with urllib.request.urlopen(f"http://{target.metrics}/metrics", timeout=10) as answer:
        lines = answer.read().decode().splitlines()
    return sum(float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith(name))


def base64url(text):
    return base64.urlsafe_b64encode(text).rstrip(b"=")


def forged_tokens(target, addresses=10, path="/forged.Tokens/Call"):
    """Tokens of the right form, for the right audience, with a signature that is as long as it should be: each another
    one, so that each is to be verified, by the costliest algorithm. All of them end in a refusal."""
    begun = base64url(b'{"alg":"ES384"}') + b"." + base64url(
        b'{"iss":"hostile","aud":"service","exp":%d}' % (time.time() + 600)) + b"."
    held = [connect_many(1, target.service, f"127.0.1.{number + 1}")[0] for number in range(addresses)]
    left, first = {connection: b"" for connection in held}, dict.fromkeys(held, 1)  # unsent bytes, the next stream
    sent, end = 0, time.monotonic() + target.pick(0.7, 5)
    while time.monotonic() < end:
        for connection in held:
            if not left[connection]:
                left[connection] = b"".join(
                    request(stream, path, b"",
                            literal(b"authorization", b"Bearer " + begun + base64url(os.urandom(96))))
                    for stream in streams(30, first[connection]))
                first[connection] += 60
                sent += 30
            taken, closed = connection.offer(left[connection], 0.05, reading=True)
            left[connection] = left[connection][taken:]
            target.claim(not closed, "a connection was closed for wrong tokens")
    refused = counter(target, 'drover_auth_calls_total{result="signature"}') + counter(
        target, 'drover_auth_calls_total{result="too_many"}')
    verified = counter(target, "drover_auth_verifications_total")
    target.claim(refused > 0 and verified > 0, "no token was refused for its signature")
    target.claim(counter(target, 'drover_auth_calls_total{result="accepted"}') == 0, "a forged token was taken")
    return {"tokens": sent, "refused": int(refused), "verified": int(verified)}


CALM = Bound(private=48 * MIB)
CALLS_PER_ADDRESS = 4000
HOLDING = ("--http2.stall_timeout_ms=60000", "--dispatch.wait_ms=500")  # the attack is not over after a second

# The victims' methods need no token. The key's other half is nowhere.
TOKENS = (f"--auth.issuers=main iss=hostile audiences=service keys={pathlib.Path(__file__).parent / 'token_key.pem'}",
          "--auth.rules=*=off; /forged.*=require")

CASES = [
    Case("bin_expansion", bin_expansion, CALM),
    Case("plain_metadata", plain_metadata, Bound(private=256 * MIB)),
    Case("metadata_of_many_addresses", metadata_of_many_addresses, Bound(private=400 * MIB), only_long=True),
    Case("metadata_without_memory", plain_metadata, Bound(victims_fail=True), data=8 * MIB),
    Case("headers_without_end", headers_without_end, CALM),
    Case("continuation_flood", continuation_flood, CALM),
    Case("refused_streams_unread", refused_streams_unread, CALM),
    Case("reset_flood", reset_flood, CALM),
    Case("window_update_flood", frame_flood(window_update(1, 1)), CALM),
    Case("connection_window_update_flood", frame_flood(window_update(0, 1)), CALM),
    Case("priority_flood", frame_flood(priority(1)), CALM),
    Case("unknown_frame_flood", frame_flood(frame(0xBE, 0, 1, b"nothing")), CALM),
    Case("ping_flood", frame_flood(frame(http2.PING, 0, 0, bytes(8))), CALM),
    Case("settings_flood", frame_flood(frame(http2.SETTINGS, 0, 0, struct.pack(">HI", INITIAL_WINDOW_SIZE, 65535))),
         CALM),
    Case("empty_data_flood", frame_flood(data(3)), CALM),
    Case("made_you_reset", made_you_reset, CALM),
    Case("reopened_connections", reopened_connections, CALM,
         flags=(f"--limits.max_calls_per_address={CALLS_PER_ADDRESS}",)),
    Case("costly_requests", costly_requests, Bound(private=64 * MIB)),
    Case("bombs", bombs, Bound(private=256 * MIB)),
    Case("forged_tokens", forged_tokens, Bound(private=64 * MIB), flags=TOKENS),
    # As if each address had a right to all the time that it can get.
    Case("forged_tokens_without_a_rate", forged_tokens, Bound(private=64 * MIB),
         flags=TOKENS + ("--auth.wrong_token_rate=10000000",)),
    Case("unread_replies", unread_replies, Bound(private=64 * MIB)),
    Case("trickled_windows", trickled_windows, Bound(private=64 * MIB), only_long=True),
    Case("window_zero", window_zero, Bound(private=128 * MIB), payload=20_000,
         flags=HOLDING + ("--channel.tx_bytes=16MiB",)),
    Case("announced_lengths", announced_lengths, CALM, payload=100_000, flags=HOLDING),
    Case("regions_pinned", regions_pinned, CALM),
    Case("many_connections", many_connections, CALM, flags=("--limits.max_connections=500", "--limits.max_connections_per_address=250")),
    Case("no_descriptors", no_descriptors, CALM, descriptors=160),
    Case("slow_scraper", slow_scraper, CALM),
]
