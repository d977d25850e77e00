"""A client on raw HTTP/2 frames (RFC 9113, RFC 7541): what it sends need not be allowed, and it need not read.

    connection = Connection(address, source="127.0.0.2")
    connection.send(headers(1, request_block("/pkg.Service/Method")) + data(1, grpc_message(b""), END_STREAM))
    for frame in connection.frames(seconds=2): ...

Frames are made as bytes, so that an attack may join a million of them before it sends. A connection that the server
has closed raises Closed. Header blocks are literals and indices by hand; responses' blocks are not decoded.
"""
import select
import socket
import struct
import time
from typing import NamedTuple

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = range(10)
END_STREAM, ACK, END_HEADERS, PADDED = 0x1, 0x1, 0x4, 0x8
HEADER_TABLE_SIZE, ENABLE_PUSH, MAX_CONCURRENT_STREAMS, INITIAL_WINDOW_SIZE, MAX_FRAME_SIZE = 1, 2, 3, 4, 5
NO_ERROR, PROTOCOL_ERROR, INTERNAL_ERROR, FLOW_CONTROL_ERROR = 0, 1, 2, 3
REFUSED_STREAM, CANCEL, ENHANCE_YOUR_CALM = 7, 8, 11
MOST = 2**31 - 1


class Closed(Exception):
    """The server has closed the connection."""


class Frame(NamedTuple):
    type: int
    flags: int
    stream: int
    payload: bytes


# ---- frames as bytes

def frame(kind, flags=0, stream=0, payload=b""):
    return struct.pack(">IBI", len(payload) << 8 | kind, flags, stream) + payload


def settings(values=()):
    return frame(SETTINGS, 0, 0, b"".join(struct.pack(">HI", key, value) for key, value in dict(values).items()))


def headers(stream, block, flags=END_HEADERS):
    return frame(HEADERS, flags, stream, block)


def data(stream, payload=b"", flags=0):
    return frame(DATA, flags, stream, payload)


def reset(stream, code=CANCEL):
    return frame(RST_STREAM, 0, stream, struct.pack(">I", code))


def window_update(stream, increment):
    return frame(WINDOW_UPDATE, 0, stream, struct.pack(">I", increment))


def priority(stream, parent=0, weight=16):
    return frame(PRIORITY, 0, stream, struct.pack(">IB", parent, weight))


# ---- header blocks

def integer(value, bits, pattern=0):
    """RFC 7541, 5.1: `value` behind a prefix of `bits` bits, under the bits of `pattern`."""
    most = (1 << bits) - 1
    if value < most:
        return bytes([pattern | value])
    out, value = bytearray([pattern | most]), value - most
    while value >= 128:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def indexed(index):
    return integer(index, 7, 0x80)


NEWEST = 62  # the index of the dynamic table's latest entry


def literal(name, value, index=False):
    """A field spelled out; `index`: it goes to the dynamic table. `name`: bytes, or the index of one."""
    pattern, bits = (0x40, 6) if index else (0x00, 4)
    front = integer(name, bits, pattern) if isinstance(name, int) else (
        bytes([pattern]) + integer(len(name), 7) + name)
    return front + integer(len(value), 7) + value


def request_block(path, *fields):
    """The block of a gRPC request. `fields`: blocks, such as literal(...)."""
    return (indexed(3) + indexed(6) + literal(4, path.encode()) + literal(1, b"attacker") +
            literal(31, b"application/grpc") + literal(b"te", b"trailers") + b"".join(fields))


def grpc_message(message, announced=None):
    return struct.pack(">BI", 0, len(message) if announced is None else announced) + message


def request(stream, path, message=b"", *fields):
    return headers(stream, request_block(path, *fields)) + data(stream, grpc_message(message), END_STREAM)


def streams(count, first=1):
    """Identifiers of `count` streams that a client opens."""
    return range(first, first + 2 * count, 2)


def bytes_field(number, value):
    return varint(number << 3 | 2) + varint(len(value)) + value


def varint_field(number, value):
    return varint(number << 3) + varint(value)


def varint(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out) + bytes([value])


# ---- a connection

class Connection:
    """One connection. `greeting`: settings that it announces. `receive_buffer`: bytes that the kernel may hold for it.
    `tls`: an SSLContext."""

    def __init__(self, address, source="127.0.0.2", greeting=(), receive_buffer=None, send_buffer=None,
                 preface=True, acknowledge=True, timeout=5, tls=None):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        if send_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, send_buffer)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.bind((source, 0))
        self.socket.settimeout(timeout)
        self.acknowledge = acknowledge
        self.buffer = bytearray()
        try:
            self.socket.connect(split_address(address))
            if tls is not None:
                self.socket = tls.wrap_socket(self.socket)
        except OSError as error:
            self.socket.close()
            raise Closed(str(error)) from error
        if preface:
            self.send(PREFACE + settings(greeting))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    def send(self, wire, timeout=5):
        """All of it; Closed if the server ends the connection, TimeoutError if it reads no more."""
        self.socket.settimeout(timeout)
        try:
            self.socket.sendall(wire)
        except (ConnectionError, BrokenPipeError) as error:
            raise Closed(str(error)) from error

    def offer(self, wire, seconds, reading=False):
        """Sends as much as the server takes in that time; (bytes taken, whether it has closed the connection).

        `reading`: takes what the server sends meanwhile, so that its GOAWAY arrives.
        """
        view, sent, end = memoryview(wire), 0, time.monotonic() + seconds
        self.socket.setblocking(False)
        while sent < len(view) and time.monotonic() < end:
            try:
                if reading:
                    self.read_now()
                sent += self.socket.send(view[sent:sent + (1 << 18)])
            except BlockingIOError:
                select.select([self.socket] * reading, [self.socket], [], max(0, end - time.monotonic()))
            except OSError:
                return sent, True
        return sent, False

    def frames(self, seconds, stop=lambda frame: False):
        """The frames that come until `stop` holds for one, the time is over, or the server closes the connection."""
        end = time.monotonic() + seconds
        while True:
            for found in self.take():
                yield found
                if stop(found):
                    return
            left = end - time.monotonic()
            if left <= 0 or not self.read(left):
                return

    def read_now(self):
        """What has come, of a socket that does not block."""
        try:
            self.buffer += self.socket.recv(1 << 18)
        except BlockingIOError:
            pass

    def read(self, seconds, size=1 << 18):
        """One read into the buffer; false at the end of the time or of the connection."""
        self.socket.settimeout(max(seconds, 0.001))
        try:
            got = self.socket.recv(size)
        except OSError:
            return False
        self.buffer += got
        return bool(got)

    def take(self):
        """The whole frames in the buffer; acknowledges SETTINGS if this client does so."""
        found, at = [], 0
        while len(self.buffer) - at >= 9:
            head, flags, stream = struct.unpack_from(">IBI", self.buffer, at)
            size = head >> 8
            if len(self.buffer) - at < 9 + size:
                break
            found.append(Frame(head & 255, flags, stream & MOST, bytes(self.buffer[at + 9:at + 9 + size])))
            at += 9 + size
            if found[-1].type == SETTINGS and not flags & ACK and self.acknowledge:
                try:
                    self.send(frame(SETTINGS, ACK))
                except (Closed, TimeoutError):
                    pass
        del self.buffer[:at]
        return found

    def goaway_code(self, seconds=5):
        """The error of the GOAWAY that comes; None without one."""
        for found in self.frames(seconds, lambda frame: frame.type == GOAWAY):
            if found.type == GOAWAY:
                return struct.unpack_from(">I", found.payload, 4)[0]
        return None

    def closed_within(self, seconds):
        """Reads and throws away until the server closes the connection."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self.socket.settimeout(left)
            try:
                if not self.socket.recv(1 << 18):
                    return True
            except TimeoutError:
                return False
            except OSError:
                return True
        return False

    def ready(self, seconds=5):
        """Waits for the server's SETTINGS: it has taken this connection in."""
        return any(found.type == SETTINGS for found in self.frames(seconds, lambda f: f.type == SETTINGS))

    def ping(self, seconds=5):
        """True once the server has answered: it has handled all that was sent before."""
        self.send(frame(PING, 0, 0, b"attacker"))
        return any(found.type == PING for found in self.frames(seconds, lambda f: f.type == PING and f.flags & ACK))

    def send_request(self, path, body, stream=1, seconds=10):
        """A request as large as it likes, within the windows that the server grants. True: all of it was sent."""
        self.send(headers(stream, request_block(path)))
        sent, whole = 0, 65_535
        initial, granted, told = 65_535, 0, False  # of the stream; told: the server has said how much it takes
        end = time.monotonic() + seconds
        while sent < len(body):
            for found in self.take():
                if found.type == SETTINGS and not found.flags & ACK:
                    if not told:
                        initial = dict(struct.iter_unpack(">HI", found.payload)).get(INITIAL_WINDOW_SIZE, initial)
                    told = True
                elif found.type == WINDOW_UPDATE:
                    grant = struct.unpack(">I", found.payload)[0]
                    whole += grant if found.stream == 0 else 0
                    granted += grant if found.stream == stream else 0
                    told = True
                elif found.type in (RST_STREAM, GOAWAY):
                    return False
            size = min(16_384, len(body) - sent, whole, initial + granted - sent if told else 0)
            if size > 0:
                self.send(data(stream, body[sent:sent + size], END_STREAM * (sent + size == len(body))))
                sent, whole = sent + size, whole - size
            elif not self.read(end - time.monotonic()):
                return False
        return True

    def call(self, path, message=b"", stream=1, seconds=10):
        """One call on a fresh stream: (the reply's message or None, seconds that it took)."""
        began = time.monotonic()
        self.send(request(stream, path, message))
        body = bytearray()
        ended = False
        for found in self.frames(seconds, lambda f: f.stream == stream and (
                f.type == RST_STREAM or f.flags & END_STREAM and f.type in (DATA, HEADERS))):
            if found.stream != stream:
                continue
            if found.type == DATA:
                body += found.payload
            ended |= bool(found.flags & END_STREAM) and found.type in (DATA, HEADERS)
        took = time.monotonic() - began
        return (bytes(body[5:]) if ended and len(body) >= 5 else None), took


def split_address(address):
    host, _, port = address.rpartition(":")
    return host, int(port)


def connect_many(count, address, source="127.0.0.2", **options):
    """Up to `count` connections: as many as the server and this process's descriptors allow."""
    made = []
    for _ in range(count):
        try:
            made.append(Connection(address, source, **options))
        except (Closed, TimeoutError, OSError):
            break
    return made
