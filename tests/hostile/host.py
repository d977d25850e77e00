"""A host on the raw control socket and the raw region: packets, slots and objects by the generated formats.

    with Host(control) as host:                         connects, sends Hello, takes the Welcome
        host.register(image, [method("/a.B/C", ...)])
        port = host.listen("127.0.0.1:0")
        host.start()
        call = host.next_call()                         a CallSlot from any requests ring
        host.complete(call, response=offset)            a COMPLETE into that worker's responses ring

Nothing is checked on the way out. `drover_*_format` are the modules that tools/formats writes into the build.
"""
import array
import fcntl
import mmap
import os
import socket
import struct
import time

import drover_control_format
from drover_channel_format import (CallSlot, CompleteSlot, ConsumerPosition, LayoutRecord, RequestSlotType,
                                   ResponseSlotType, Slot)
from drover_control_format import (CONTROL_MAGIC, CONTROL_VERSION, MAX_CONTROL_FDS, MAX_CONTROL_PACKET, ControlCode,
                                   ControlHeader, ControlType, Detach, Drain, Draining, Error, Hello, HostStatus, Listen,
                                   Listening, Method, OpenConnection, RegisterImage, RegisterMethods, ServeLines, Start,
                                   Started, Welcome)
from drover_object_format import Meta, Words
from drover_region_format import CHUNK_SIZE, RegionHeader

BODIES = {kind: getattr(drover_control_format, "".join(part.capitalize() for part in kind.name.split("_")))
          for kind in ControlType}
SEALS = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL


class Refused(Exception):
    """The engine answered with an Error (`error`: its code and text), or hung up without one (None)."""

    def __init__(self, error):
        super().__init__(f"{error.code}: {error.text.decode()}" if error else "the engine has hung up")
        self.error = error


def packet(kind, body):
    return ControlHeader(CONTROL_MAGIC, CONTROL_VERSION, kind, len(body), 0).pack() + body


def memfd(content, seals=SEALS):
    fd = os.memfd_create("hostile-image", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    view = memoryview(content)
    while view:
        view = view[os.write(fd, view):]
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, seals)
    return fd


class ControlSocket:
    def __init__(self, control, timeout=10):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(timeout)
        self.socket.connect(control.removeprefix("unix:"))

    def close(self):
        self.socket.close()

    def send(self, kind, body, fds=()):
        if not isinstance(body, bytes):
            body = body.pack()
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
        try:
            self.socket.sendmsg([packet(kind, body)], rights)
        except ConnectionError:
            self.receive()  # the Error that says why
            raise

    def receive(self):
        """(type, body, descriptors) of the next packet; Refused for an Error or a hang-up."""
        try:
            wire, rights, _, _ = self.socket.recvmsg(MAX_CONTROL_PACKET, socket.CMSG_SPACE(4 * MAX_CONTROL_FDS))
        except ConnectionError:
            wire, rights = b"", []
        if not wire:
            raise Refused(None)
        fds = array.array("i")
        for _, _, content in rights:
            fds.frombytes(content[:len(content) // 4 * 4])
        kind = ControlType(ControlHeader.unpack(wire).type)
        body = BODIES[kind].unpack(wire[ControlHeader.SIZE:])
        if kind == ControlType.ERROR:
            raise Refused(body)
        return kind, body, list(fds)

    def expect(self, wanted):
        """The next packet of that type; others, such as a Draining, are passed over."""
        while True:
            kind, body, fds = self.receive()
            if kind == wanted:
                return body, fds


class Host:
    def __init__(self, control, workers=1, ring_slots=0, rx_bytes=0, tx_bytes=0, name=b"hostile", map_region=True):
        self.control = ControlSocket(control)
        self.fds = []
        self.rx = self.tx = None
        self.control.send(ControlType.HELLO, Hello(os.getpid(), 0, name, [-1] * workers, ring_slots, rx_bytes, tx_bytes))
        try:
            self.welcome, self.fds = self.control.expect(ControlType.WELCOME)
        except BaseException:
            self.control.close()
            raise
        self.methods = 0
        if map_region:
            self.map()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """As a process that dies: the control socket hangs up without a Detach."""
        self.control.close()
        for view in (self.rx, self.tx):
            if view is not None:
                view.close()
        self.rx = self.tx = None
        for fd in self.fds:
            os.close(fd)
        self.fds = []

    def map(self):
        self.rx = mmap.mmap(self.fds[0], self.welcome.rx_size, mmap.MAP_SHARED, mmap.PROT_READ)
        self.tx = mmap.mmap(self.fds[1], self.welcome.tx_size, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)
        self.bells = self.fds[2:]
        self.layout = LayoutRecord.unpack(self.rx, RegionHeader.SIZE)
        channels = self.welcome.engine_threads * self.welcome.workers
        self.tails, self.heads = [0] * channels, [0] * channels
        self.free = self.layout.tx_chunks  # offset inside tx of memory that nothing uses; see put()
        self.next_tx_call = 1

    # ---- the control socket
    def register(self, image=None, methods=()):
        """One image, and methods over as many packets as they take."""
        if image is not None:
            fd = memfd(image)
            self.control.send(ControlType.REGISTER_IMAGE, RegisterImage(len(image)), [fd])
            os.close(fd)
        pending, size = [], 0
        for entry in [*methods, None]:
            if entry is None or size + len(entry.pack()) > MAX_CONTROL_PACKET - 64:
                if pending:
                    self.control.send(ControlType.REGISTER_METHODS, RegisterMethods(pending))
                pending, size = [], 0
            if entry is not None:
                pending.append(entry)
                size += len(entry.pack())

    def listen(self, address):
        """The port that the engine bound."""
        self.control.send(ControlType.LISTEN, Listen(address.encode()))
        return self.control.expect(ControlType.LISTENING)[0].port

    def start(self):
        self.control.send(ControlType.START, Start())
        self.control.expect(ControlType.STARTED)

    def detach(self):
        self.control.send(ControlType.DETACH, Detach())

    # ---- the region. A channel's index is engine thread * workers + worker.
    def ring_at(self, base, channel):
        return base + Slot.SIZE * self.layout.ring_slots * channel

    def poll(self, channel=0):
        """The next slot of a requests ring as bytes, or None."""
        slots = self.layout.ring_slots
        at = self.ring_at(self.layout.rx_rings, channel) + Slot.SIZE * (self.tails[channel] % slots)
        if struct.unpack_from("<I", self.rx, at)[0] != (self.tails[channel] // slots + 1) & 0xFFFFFFFF:
            return None
        slot = self.rx[at:at + Slot.SIZE]
        self.tails[channel] += 1
        self.publish(channel, self.tails[channel])
        return slot

    def publish(self, channel, position):
        """Says how far the requests ring is read; any number."""
        struct.pack_into("<Q", self.tx, self.layout.tx_positions + ConsumerPosition.SIZE * channel, position)

    def slots(self, seconds):
        """(channel, slot) as they come in that time."""
        end = time.monotonic() + seconds
        while True:
            found = False
            for channel in range(len(self.tails)):
                while (slot := self.poll(channel)) is not None:
                    found = True
                    yield channel, slot
            if time.monotonic() > end:
                return
            if not found:
                time.sleep(0.001)

    def calls(self, seconds):
        """(channel, CallSlot) as they come in that time."""
        kind = Slot.OFFSETS["type"]
        for channel, slot in self.slots(seconds):
            if slot[kind] == RequestSlotType.CALL:
                yield channel, CallSlot.unpack(slot)

    def push(self, channel, slot):
        """Puts a slot into a responses ring, whether there is room or not, and rings the engine thread."""
        slots = self.layout.ring_slots
        head = self.heads[channel]
        at = self.ring_at(self.layout.tx_rings, channel) + Slot.SIZE * (head % slots)
        wire = slot.pack()
        self.tx[at + 4:at + Slot.SIZE] = wire[4:]
        struct.pack_into("<I", self.tx, at, (head // slots + 1) & 0xFFFFFFFF)
        self.heads[channel] += 1

    def push_all(self, channel, slots):
        """Puts slots into a responses ring that has not gone round; the first appears last, so that all come at once."""
        head = self.heads[channel]
        at = self.ring_at(self.layout.tx_rings, channel) + Slot.SIZE * head
        content = bytearray(b"".join(struct.pack("<I", 1) + slot.pack()[4:] for slot in slots))
        content[:4] = bytes(4)
        self.tx[at:at + len(content)] = bytes(content)
        struct.pack_into("<I", self.tx, at, 1)
        self.heads[channel] += len(slots)

    def room(self, channel=0):
        """Slots of a responses ring that the engine has said it has taken."""
        taken = struct.unpack_from("<Q", self.rx, self.layout.rx_positions + ConsumerPosition.SIZE * channel)[0]
        return self.layout.ring_slots - (self.heads[channel] - taken)

    def push_while_room(self, channel, wires):
        """As many of these packed slots as there is room for; how many."""
        count = min(self.room(channel), len(wires))
        slots, base = self.layout.ring_slots, self.ring_at(self.layout.tx_rings, channel)
        for wire in wires[:count]:
            head = self.heads[channel]
            at = base + Slot.SIZE * (head % slots)
            self.tx[at + 4:at + Slot.SIZE] = wire[4:]
            struct.pack_into("<I", self.tx, at, (head // slots + 1) & 0xFFFFFFFF)
            self.heads[channel] += 1
        self.ring(channel // self.welcome.workers)
        return count

    # ---- RPC lines
    def serve_lines(self, name):
        """Before start()."""
        self.control.send(ControlType.SERVE_LINES, ServeLines(name, 0))

    def open_connection(self, name, worker=0):
        """The connection's number here, and None, or why not: the code."""
        self.control.send(ControlType.OPEN_CONNECTION, OpenConnection(1, worker, name))
        opened, _ = self.control.expect(ControlType.CONNECTION_OPENED)
        return (opened.connection, None) if opened.code == ControlCode.NONE else (None, opened.code)

    def ring(self, thread=0):
        os.write(self.bells[thread], struct.pack("<Q", 1))

    def complete(self, channel, call, response=0, status=0, trailer=0, flags=1):
        """COMPLETE with FINISHED; `response` is a region offset."""
        self.push(channel, CompleteSlot(0, ResponseSlotType.COMPLETE, flags, 0, 0, call.call, call.generation,
                                        self.next_tx_call, status, response, trailer))
        self.next_tx_call += 1
        self.ring(channel // self.welcome.workers)

    # ---- objects in tx. Offsets are region offsets: tx begins behind rx.
    def reserve(self, size, align=8):
        """The region offset of `size` bytes of tx that hold zeros as long as nothing is written there."""
        at = (self.free + align - 1) // align * align
        if at + size > self.welcome.tx_size:
            raise MemoryError(f"tx has {self.welcome.tx_size} bytes")
        self.free = at + size
        return self.welcome.rx_size + at

    def write(self, offset, content):
        at = offset - self.welcome.rx_size
        self.tx[at:at + len(content)] = content

    def put(self, content, align=8):
        offset = self.reserve(len(content), align)
        self.write(offset, content)
        return offset

    def words(self, at, target, size):
        """A String or Repeated at region offset `at` of `size` elements that lie at `target`."""
        self.write(at, Words(target - at, size, Meta.pack(borrowed=1, unterminated=1)).pack())


def method(path, request=0, response=0, image=0):
    return Method(path.encode(), image, request, image, response, 0)
