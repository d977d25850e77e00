"""Attacks of hosts: processes that the control socket admits. CASES is the table."""
import os
import signal
import socket
import statistics
import struct
import time

import images
from client_attacks import CALM, echo_image, held_for
from drover_channel_format import (LINE_ARGUMENTS, LINE_CLOSE_TYPE, LINE_TYPE, MAX_RING_SLOTS, CompleteFlag,
                                   CompleteSlot, LineCloseSlot, LineFlag, LineSlot, ResponseSlotType, Slot)
from drover_object_format import Pointer
from host import ControlSocket, ControlType, Host, Refused, method
from http2 import INITIAL_WINDOW_SIZE, MOST, Connection, request, streams, window_update
from judge import Bound
from measure import MIB
from rig import SERVICE, Case


class Service:
    """An attacker's host that serves one method, with a client of its own that calls it."""

    def __init__(self, target, proto, reply, path="/hostile.Host/Call", tx_bytes=0):
        image = images.compiled(target.build, proto)
        self.layout, self.path = images.Layout(image), path
        index = self.layout.index(reply)
        self.host = Host(target.control, tx_bytes=tx_bytes)
        self.host.register(image, [method(path, index, index)])
        self.address = f"127.0.0.1:{self.host.listen('127.0.0.1:0')}"
        self.host.start()

    def take_calls(self, count):
        """`count` calls of a client that reads its replies: [(channel, CallSlot)]."""
        self.client = Connection(self.address, greeting={INITIAL_WINDOW_SIZE: MOST})
        self.client.send(window_update(0, MOST - 65535) +
                         b"".join(request(stream, self.path) for stream in streams(count)))
        taken = []
        for call in self.host.calls(5):
            taken.append(call)
            if len(taken) == count:
                return taken
        raise AssertionError(f"{len(taken)} of {count} calls came")

    def drain(self, size, seconds, silence):
        """Reads up to `size` bytes of what the client gets, for that long, or until nothing comes for a while."""
        end = time.monotonic() + seconds
        while size > 0 and time.monotonic() < end and self.client.read(silence, 1 << 20):
            size -= len(self.client.buffer)
            self.client.buffer.clear()

    # ---- objects
    def new(self, name):
        return self.host.reserve(self.layout.size(name))

    def set_repeated(self, at, name, number, target, count):
        self.host.words(at + self.layout.offset(name, number), target, count)

    def pointers(self, target, count):
        """An array of `count` pointers to one object."""
        at = self.host.reserve(count * Pointer.SIZE)
        self.host.write(at, struct.pack(f"<{count}q", *(target - at - Pointer.SIZE * i for i in range(count))))
        return at


def work_per_completion(target):
    """Completions that make the encoder look at 128 Mi absent fields, and have nearly no output."""
    fields = " ".join(f"bool f{number} = {number};" for number in range(1, 2001))
    service = Service(target, f"message Wide {{ oneof one {{ {fields} }} }} message Root {{ repeated Wide wide = 1; }}",
                      "Root")
    calls = service.take_calls(target.pick(8, 20))
    count = 60_000
    root = service.new("Root")
    service.set_repeated(root, "Root", 1, service.pointers(service.new("Wide"), count), count)
    for channel, call in calls:
        service.host.complete(channel, call, root)
    service.drain(MOST, target.pick(1, 4), 4)


def heap_per_completion(target):
    """Completions whose encoding is 500 MB of private memory each: the same packed numbers over and over."""
    service = Service(target, "message Numbers { repeated int32 value = 1; } message Root { repeated Numbers n = 1; }",
                      "Root")
    calls = service.take_calls(target.pick(2, 4))
    count, times = 1 << 20, 40
    root, numbers = service.new("Root"), service.new("Numbers")
    service.set_repeated(numbers, "Numbers", 1, service.host.put(b"\xff" * 4 * count), count)
    service.set_repeated(root, "Root", 1, service.pointers(numbers, times), times)
    for channel, call in calls:
        service.host.complete(channel, call, root)
    time.sleep(target.pick(1, 4))


def sparse_tx(target):
    """Replies that refer to tx that the host has never written: the engine makes those pages, within a region's size."""
    proto, wanted = "message Blob { bytes payload = 1; }", 1 << 30
    while True:
        try:
            service = Service(target, proto, "Blob", tx_bytes=wanted)
            break
        except Refused:
            wanted //= 2
    calls = service.take_calls(4)
    size = wanted // 5
    blocks = os.fstat(service.host.fds[1]).st_blocks
    for channel, call in calls:
        blob = service.new("Blob")
        service.host.words(blob + service.layout.offset("Blob", 1), service.host.reserve(size, 4096), size)
        service.host.complete(channel, call, blob)
    service.drain(4 * size, 20, 2)
    made = (os.fstat(service.host.fds[1]).st_blocks - blocks) * 512
    target.claim(made < REGION, f"the engine made {made >> 20} MiB of the host's memory")
    return {"MiB made": made >> 20, "tx, MiB": wanted >> 20}


def second_host(target):
    """A host at the service's address, with its method: what is the first one's it does not get."""
    with Host(target.control) as host:
        host.register(echo_image(target), [method(SERVICE + "Echo")])
        try:
            host.listen(target.service)
            host.start()
        except Refused as refusal:
            return {"refused": str(refusal)[:80]}
        taken = sum(1 for _ in host.calls(target.pick(0.5, 3)))
        target.claim(taken == 0, f"the second host got {taken} of the first one's calls")


def largest_rings(target):
    """Rings of 2^20 slots, and thousands of answers that are all there at the same moment."""
    path, wanted = "/rings.R/Call", target.pick(5, 30)
    with Host(target.control, ring_slots=MAX_RING_SLOTS) as host:
        host.register(echo_image(target), [method(path)])
        address = f"127.0.0.1:{host.listen('127.0.0.1:0')}"
        host.start()
        clients = [Connection(address) for _ in range(wanted)]
        for client in clients:
            client.send(b"".join(request(stream, path) for stream in streams(1000)))
        calls = []
        for _, call in host.calls(10):
            calls.append(call)
            if len(calls) == 1000 * wanted:
                break
        host.push_all(0, [CompleteSlot(type=ResponseSlotType.COMPLETE, flags=CompleteFlag.FINISHED, call=call.call,
                                       generation=call.generation, tx_call=number + 1)
                          for number, call in enumerate(calls)])
        host.ring()
        time.sleep(target.pick(0.5, 3))
        return {"answers": len(calls)}


def attach(target, methods, listeners, image, prefix):
    host = Host(target.control, rx_bytes=65536, tx_bytes=65536)
    try:
        host.register(image, [method(f"{prefix}/M{number}") for number in range(methods)])
        ports = [host.listen("127.0.0.1:0") for _ in range(listeners)]
        host.start()
    except Refused:
        host.close()
        raise
    return host, ports


def attach_most(target, methods, listeners, image, prefix):
    """As many methods at so many addresses as the engine takes: half as many after each refusal."""
    while True:
        try:
            return *attach(target, methods, listeners, image, prefix), methods
        except Refused:
            methods //= 2
            if methods == 0:
                raise


def seconds_of_calls(address, path, count):
    with Connection(address) as connection:
        return statistics.median(connection.call(path, stream=stream)[1] for stream in streams(count))


def dead_hosts_routes(target):
    """65,536 methods on 16 addresses, then death: honest hosts get in, and unknown methods are answered as fast."""
    image = echo_image(target)
    host, _, methods = attach_most(target, 65_536, 16, image, "/routes.R")
    host.close()
    time.sleep(0.5)
    try:
        honest, ports = attach(target, 10, 1, image, prefix="/honest.H")
    except Refused as refusal:
        target.claim(False, f"an honest host is refused: {refusal}")
        return {}
    known = seconds_of_calls(target.service, SERVICE + "Echo", 30)
    unknown = seconds_of_calls(target.service, "/no.Such/Method", 30)
    target.claim(unknown < 5 * known + 0.02, f"an unknown method takes {unknown * 1e3:.1f} ms, a known one "
                                             f"{known * 1e3:.1f}")
    honest.close()
    return {"methods": methods, "unknown, ms": round(unknown * 1e3, 2), "known, ms": round(known * 1e3, 2)}


def dead_hosts_addresses(target):
    """Hosts that listen at 60 new addresses each and die: an honest host still finds room for its own."""
    image, refused = echo_image(target), None
    for number in range(20):
        try:
            attach(target, 1, 60, image, f"/addresses{number}.A")[0].close()
        except Refused as refusal:
            refused = str(refusal)
            break
    time.sleep(target.pick(0.5, 10))
    try:
        honest, _ = attach(target, 1, 1, image, "/honest.A")
        honest.close()
    except Refused as refusal:
        target.claim(False, f"an honest host finds no address: {refusal}")
    return {"hosts": number + 1, "refused": refused and refused[:60]}


def attach_listen_detach(target):
    """In a loop: nothing of a cycle may stay."""
    image = echo_image(target)
    methods = 16_000
    for cycle in range(target.pick(4, 30)):
        try:
            host, _, methods = attach_most(target, methods, 4, image, prefix=f"/cycle{cycle}.C")
        except Refused as refusal:
            return {"cycles": cycle, "refused": str(refusal)[:80]}  # until the engine has forgotten the others
        host.detach()
        host.close()
    return {"cycles": cycle + 1, "methods": methods}


def listen_on_file(target):
    """Listen on the path of a regular file, of a directory's entry that is not ours to delete."""
    file = target.folder / "precious"
    file.write_text("do not delete")
    with Host(target.control, map_region=False) as host:
        try:
            host.listen(f"unix:{file}")
            answer = "a socket"
        except Refused as refusal:
            answer = str(refusal)
    target.claim(file.is_file() and file.read_text() == "do not delete", f"the engine has deleted a file ({answer})")
    target.claim(answer != "a socket", "the engine listens where a file was")
    return {"answer": answer[:80]}


def another_attaches(target, seconds, what):
    """While the control thread has that work, another host gets its Welcome in time."""
    began = time.monotonic()
    try:
        with Host(target.control, map_region=False, rx_bytes=65536, tx_bytes=65536):
            took = time.monotonic() - began
    except (TimeoutError, Refused) as error:
        target.claim(False, f"{what}: no other host gets in: {error}")
        return {}
    target.claim(took < seconds, f"{what}: another host waited {took:.1f} s for its Welcome")
    return {"waited, s": round(took, 2)}


def quadratic_image(target):
    """An image whose names are the tails of one long string: each comparison reads megabytes."""
    messages, length = target.pick((60_000, 20 * MIB), (70_000, 32 * MIB))
    strings = b"a" * length + b"\0"
    names = [length - length // 2 - number for number in range(messages)]  # each longer than the one before
    image = images.of_empty_messages(names, strings)
    with Host(target.control, map_region=False, rx_bytes=65536, tx_bytes=65536) as host:
        host.register(image)
        time.sleep(0.1)
        return another_attaches(target, 3, f"an image of {len(image) >> 20} MiB")


def lingering_descriptor(target):
    """TCP sockets with SO_LINGER and unsent bytes, passed to the engine: their close may take as long as we like."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        ours, peers = [], []
        for _ in range(8):
            ours.append(socket.create_connection(server.getsockname()))
            peers.append(server.accept()[0])
            fill(ours[-1])
            ours[-1].setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 3))
        descriptors = [lingering.detach() for lingering in ours]
        control = ControlSocket(target.control)
        # The last close lingers. Who closes last is a race; the engine stands still so that it is the engine.
        os.kill(target.engine, signal.SIGSTOP)
        control.send(ControlType.DETACH, b"", descriptors)
        for descriptor in descriptors:
            os.close(descriptor)
        os.kill(target.engine, signal.SIGCONT)
        time.sleep(0.1)
        return another_attaches(target, 2.5, "passed sockets that linger")


def fill(connection):
    """Sends until nothing more fits."""
    connection.setblocking(False)
    try:
        while True:
            connection.send(bytes(1 << 16))
    except BlockingIOError:
        pass


def idle_hosts(target):
    """30 hosts of 1,024 workers that do nothing: they must not cost the calls of others."""
    image = echo_image(target)
    hosts = []
    for number in range(target.pick(10, 30)):
        host = Host(target.control, workers=1024, rx_bytes=4096, tx_bytes=4096, ring_slots=16, map_region=False)
        host.register(image, [method(f"/idle.I{number}/Call")])
        host.start()
        hosts.append(host)
    time.sleep(target.pick(0.5, 5))


def dead_hosts_method(target):
    """A method that only a dead host served: once the time to wait for it is over, the answer comes at once."""
    image = echo_image(target)
    host, ports = attach(target, 1, 1, image, prefix="/gone.G")
    host.close()
    address = f"127.0.0.1:{ports[0]}"
    time.sleep(3.5)
    with Connection(address) as connection:
        _, took = connection.call("/gone.G/M0", seconds=8)
    target.claim(took < 1.5, f"a call to a dead host's method took {took:.1f} s, long after its death")
    return {"answer, s": round(took, 2)}


def hostile_bell(target):
    """A host that rings an engine thread's eventfd all the time."""
    with Host(target.control) as host:
        host.register(echo_image(target), [method("/bell.B/Call")])
        host.start()
        end = time.monotonic() + target.pick(0.5, 4)
        while time.monotonic() < end:
            try:
                os.write(host.bells[0], struct.pack("<Q", 1))
            except BlockingIOError:
                pass


def impossible_positions(target):
    """A consumer position that cannot be: the host is detached, others notice nothing."""
    service = Service(target, "message Any { bytes payload = 1; }", "Any")
    service.take_calls(3)
    service.host.publish(0, 1 << 60)
    client = Connection(service.address)
    client.send(b"".join(request(stream, service.path) for stream in streams(400)))
    gone = held_for(3, lambda: hung_up(service.host))
    target.claim(gone, "a host with an impossible ring position stays attached")


def hung_up(host):
    host.control.socket.settimeout(0.01)
    try:
        host.control.receive()
        return False
    except TimeoutError:
        return False
    except (Refused, OSError):
        return True


LINES = b"hostile.Lines"


def line(connection, call=0, flags=LineFlag.LAST, index=0, length=LINE_ARGUMENTS):
    return LineSlot(0, LINE_TYPE, flags, 1, call, connection, index, length, bytes(LINE_ARGUMENTS)).pack()


def line_close(connection):
    return LineCloseSlot(0, LINE_CLOSE_TYPE, bytes(7), connection, bytes(50)).pack()


def lines_host(target, serves, ring_slots=1024):
    host = Host(target.control, ring_slots=ring_slots, rx_bytes=65536, tx_bytes=65536)
    if serves:
        host.serve_lines(LINES)
    host.start()
    return host


def floods_of_lines(target):
    """Both ends of 64 connections send as many lines as the rings take, and never read: requests of one line, messages
    that never end, answers to no call, with closes and new connections in between."""
    server, client = lines_host(target, True), lines_host(target, False)
    numbers = [number for number, _ in (client.open_connection(LINES) for _ in range(64)) if number is not None]
    target.claim(len(numbers) == 64, f"{len(numbers)} of 64 connections were opened")
    ends = list(numbers)  # one lane each, new: both hosts have the same numbers
    sent, refused, opened = 0, None, 0
    end = time.monotonic() + target.pick(1.5, 6)
    while time.monotonic() < end:
        requests = [line(number, call) for call in range(4) for number in numbers]
        endless = [line(number, 9, 0, index) for number in numbers[:8] for index in range(200)]
        answers = [line(number, call, LineFlag.RESPONSE | LineFlag.LAST) for call in range(8) for number in ends]
        sent += client.push_while_room(0, requests + endless) + server.push_while_room(0, answers)
        if client.room() > 0 and len(numbers) > 1:
            client.push_while_room(0, [line_close(numbers[-1])])
            numbers.pop()
        fresh, refused = client.open_connection(LINES)
        opened += fresh is not None
    target.claim(sent > 1000, f"only {sent} lines were taken")
    target.claim(not hung_up(server) and not hung_up(client), "a host that broke no rule of the lines was detached")
    server.close()
    client.close()
    return {"lines": sent, "connections opened meanwhile": opened, "then": refused}


def connections_in_a_loop(target):
    """Opened and closed as fast as the engine answers, by a client that reads and one that does not."""
    cycles = {}
    with lines_host(target, True) as server:
        for reads in (True, False):
            with lines_host(target, False) as client:
                count, refused, end = 0, None, time.monotonic() + target.pick(0.7, 3)
                while time.monotonic() < end and refused is None:
                    number, refused = client.open_connection(LINES)
                    if number is not None and client.push_while_room(0, [line(number), line_close(number)]) == 2:
                        count += 1
                    # The server answers each LINE_CLOSE by its own.
                    while (slot := server.poll()) is not None:
                        if slot[Slot.OFFSETS["type"]] == LINE_CLOSE_TYPE:
                            server.push_while_room(0, [line_close(LineCloseSlot.unpack(slot).connection)])
                    while reads and client.poll() is not None:
                        pass
                cycles["read" if reads else "not read"] = count
    target.claim(cycles["read"] > 20, f"only {cycles['read']} connections were opened and closed")
    return cycles


def lines_that_cannot_be(target):
    """Each line that no host may send ends the host that sent it, and the other end of its connection is told."""
    wrong = {
        "a connection of another's": lambda number: [line(number + 1)],
        "the last connection": lambda number: [line(65535)],
        "an answer of a client": lambda number: [line(number, flags=LineFlag.RESPONSE | LineFlag.LAST)],
        "an unknown flag": lambda number: [line(number, flags=LineFlag.LAST | 0x40)],
        "a length of 49": lambda number: [line(number, length=49)],
        "a last line without its flag": lambda number: [line(number, flags=0, index=255)],
        "two closes": lambda number: [line_close(number)] * 2,
        "closes of all numbers": lambda number: [line_close(each) for each in range(1000)],
    }
    ended, cycles, finish = 0, 0, time.monotonic() + target.pick(1.5, 6)
    with lines_host(target, True) as server:
        while cycles < len(wrong) or time.monotonic() < finish:
            what, wires = list(wrong.items())[cycles % len(wrong)]
            cycles += 1
            with lines_host(target, False) as client:
                number, refused = client.open_connection(LINES)
                if number is None:
                    target.claim(False, f"no connection: {refused}")
                    break
                client.push_while_room(0, wires(number))
                if held_for(3, lambda host=client: hung_up(host)):
                    ended += 1
                else:
                    target.claim(False, f"a host stays attached that sent {what}")
            told = [slot for _, slot in server.slots(0.02) if slot[Slot.OFFSETS["type"]] == LINE_CLOSE_TYPE]
            server.push_while_room(0, [line_close(LineCloseSlot.unpack(slot).connection) for slot in told])
        target.claim(not hung_up(server), "the server at the other end was detached, too")
    return {"hosts ended": ended}


REGION = 192 * MIB  # enough for the victims' hosts

CASES = [
    Case("work_per_completion", work_per_completion, CALM),
    Case("heap_per_completion", heap_per_completion, Bound(private=256 * MIB)),
    Case("heap_without_memory", heap_per_completion, Bound(victims_fail=True), data=256 * MIB),
    Case("sparse_tx", sparse_tx, Bound(private=64 * MIB, shared=REGION), flags=(f"--hosts.max_region_bytes={REGION}",)),
    Case("second_host", second_host, CALM, flags=("--hosts.sharing=first-come",)),
    Case("largest_rings", largest_rings, CALM),
    # Its 16 addresses and the honest host's stay open for hosts that come back.
    Case("dead_hosts_routes", dead_hosts_routes, Bound(private=192 * MIB, descriptors=24)),
    # The addresses of the dead stay open, until others need the room.
    Case("dead_hosts_addresses", dead_hosts_addresses, Bound(descriptors=1024 + 16), only_long=True),
    Case("attach_listen_detach", attach_listen_detach, Bound(private=192 * MIB)),
    Case("listen_on_file", listen_on_file, CALM),
    Case("quadratic_image", quadratic_image, Bound(private=256 * MIB)),
    Case("lingering_descriptor", lingering_descriptor, CALM),
    Case("idle_hosts", idle_hosts, Bound(private=256 * MIB, cpu_per_call=3.0),
         flags=("--engine.spin_us=0",)),
    Case("dead_hosts_method", dead_hosts_method, CALM, flags=("--dispatch.wait_ms=3000",)),
    Case("hostile_bell", hostile_bell, CALM),
    Case("impossible_positions", impossible_positions, CALM),
    Case("floods_of_lines", floods_of_lines, CALM),
    Case("connections_in_a_loop", connections_in_a_loop, CALM),
    Case("lines_that_cannot_be", lines_that_cannot_be, CALM),
]
