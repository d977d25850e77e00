"""A mix of attacks: connections and hosts that take random steps, from one seed, for some seconds.

A client's step is a piece of wire, a pause, or reading; a host's step is a packet, a slot or bytes in tx. Nothing is
expected of any step: only the judge looks at the engine and at the victims.
"""
import random
import struct
import time

import http2
from client_attacks import WIDE_OPEN, echo_image
from drover_channel_format import CompleteSlot, FinishedSlot, ResponseSlotType, Slot
from drover_control_format import ControlType
from host import Host, Refused, method
from http2 import (CONTINUATION, END_HEADERS, END_STREAM, INITIAL_WINDOW_SIZE, MOST, NEWEST, Closed, Connection, data,
                   frame, grpc_message, headers, indexed, literal, priority, request, request_block, reset, streams,
                   varint_field, window_update)
from judge import Bound
from measure import MIB
from rig import SERVICE, Case

METHODS = ["Echo", "Sized", "Metadata", "Fail", "Unknown"]


class HostileClient:
    """One connection and its next stream."""

    def __init__(self, rng, addresses):
        self.rng, self.stream = rng, 1
        greeting = rng.choice([{}, WIDE_OPEN, {INITIAL_WINDOW_SIZE: 0}, {http2.MAX_FRAME_SIZE: 1 << 20}])
        self.connection = Connection(rng.choice(addresses), f"127.0.0.{rng.randint(2, 9)}", greeting=greeting,
                                     receive_buffer=rng.choice([None, 4096]), acknowledge=rng.random() < 0.7,
                                     preface=rng.random() < 0.95)

    def some(self, most):
        """`some` new streams, few or many."""
        count = self.rng.choice([1, 3, 20, most])
        first, self.stream = self.stream, self.stream + 2 * count
        return streams(count, first)

    def path(self):
        return SERVICE + self.rng.choice(METHODS)

    def call(self, stream):
        """A request with a number in it: for Sized the bytes of the reply. What the service itself can do in a second
        is its own affair, so that few replies are large and no handler sleeps."""
        return request(stream, self.path(), varint_field(1, 3_000_000 if self.rng.random() < 0.005 else 20))

    def old(self):
        return self.rng.randrange(1, max(self.stream, 2) + 2)

    # ---- steps: each gives wire bytes
    def calls(self):
        return b"".join(self.call(stream) for stream in self.some(200))

    def unfinished_calls(self):
        return b"".join(headers(stream, request_block(self.path())) +
                        data(stream, grpc_message(b"\x0a", announced=self.rng.choice([5, 100_000, 4 * MIB])))
                        for stream in self.some(200))

    def wide_headers(self):
        name = self.rng.choice([b"name", b"name-bin", b"n" * 1900 + b"-bin"])
        value = self.rng.choice([b",", b"v"]) * self.rng.choice([1, 500, 1900])
        entry = literal(name, value, index=True)
        return b"".join(headers(stream, request_block(self.path(), entry, *[indexed(NEWEST)] * self.rng.randint(0, 40)),
                                self.rng.choice([END_HEADERS, END_HEADERS | END_STREAM])) for stream in self.some(300))

    def endless_headers(self):
        stream = self.some(1)[0]
        return headers(stream, literal(b"name", b"v" * 1000), flags=0) + b"".join(
            frame(CONTINUATION, 0, stream, literal(b"name", bytes(self.rng.choice([0, 10, 9000]))))
            for _ in range(self.rng.choice([0, 10, 400])))

    def resets(self):
        return b"".join(headers(stream, request_block(self.path())) + reset(stream, self.rng.randrange(16))
                        for stream in self.some(2000))

    def overflowing_windows(self):
        return b"".join(self.call(stream) + window_update(stream, MOST) for stream in self.some(300))

    def small_frames(self):
        unit = self.rng.choice([window_update(0, 1), window_update(self.old(), 1), priority(self.old()),
                                frame(self.rng.randrange(10, 256), 0, self.old(), b"x"), data(self.old()),
                                frame(http2.PING, 0, 0, bytes(8)), frame(http2.SETTINGS),
                                http2.settings({INITIAL_WINDOW_SIZE: self.rng.choice([0, 65535, MOST])})])
        return unit * self.rng.choice([1, 100, 20_000])

    def garbage(self):
        return frame(self.rng.randrange(10), self.rng.randrange(256), self.old(),
                     self.rng.randbytes(self.rng.choice([0, 1, 4, 8, 300, 16_384])))

    STEPS = [calls, calls, unfinished_calls, wide_headers, endless_headers, resets, overflowing_windows, small_frames,
             small_frames, garbage]

    def step(self):
        """False once the connection is over."""
        if self.rng.random() < 0.3:
            self.connection.read(0.001, self.rng.choice([1, 1000, 1 << 20]))
            if self.rng.random() < 0.5:
                self.connection.take()
            return True
        wire = self.rng.choice(self.STEPS)(self)
        _, closed = self.connection.offer(wire, 0.01)
        return not closed and self.rng.random() < 0.97

    def end(self):
        self.connection.close()


class HostileHost:
    """One attached host that answers some calls, rightly or not, and has a client of its own."""

    def __init__(self, rng, target, image, addresses):
        self.rng = rng
        place = rng.randrange(len(addresses))
        self.host = Host(target.control, workers=rng.choice([1, 2, 8]), rx_bytes=1 << 20, tx_bytes=1 << 20,
                         ring_slots=rng.choice([0, 16, 1024]))
        self.path = f"/random.R{rng.randrange(20)}/Call"
        self.host.register(image, [method(f"{self.path}{n}") for n in range(rng.choice([1, 100]))])
        # An address stays open for a host that comes back; so the hosts of a mix share a few.
        addresses[place] = f"127.0.0.1:{self.host.listen(addresses[place])}"
        self.host.start()
        self.client = Connection(addresses[place], greeting=WIDE_OPEN)
        self.client.send(b"".join(request(stream, f"{self.path}0") for stream in streams(rng.choice([1, 50]))))

    def step(self):
        rng, host = self.rng, self.host
        for channel, call in host.calls(0.005):
            if rng.random() < 0.3:
                continue  # never answered
            if rng.random() < 0.1:
                call.generation ^= 1
            at = host.welcome.rx_size + rng.randrange(0, host.welcome.tx_size, 8)
            if rng.random() < 0.5:
                host.write(at, rng.randbytes(min(64, host.welcome.rx_size + host.welcome.tx_size - at)))
            host.complete(channel, call, rng.choice([0, at, at, 1 << 60]), rng.choice([0, 0, 3, 99]),
                          rng.choice([0, 0, at]), rng.randrange(4))
        if rng.random() < 0.05:
            host.push(0, rng.choice([FinishedSlot(type=ResponseSlotType.FINISHED, call=rng.randrange(100)),
                                     CompleteSlot(type=ResponseSlotType.COMPLETE, call=rng.randrange(100)),
                                     Slot(type=rng.randrange(256), body=rng.randbytes(58))]))
            host.ring()
        if rng.random() < 0.05:
            host.publish(0, rng.choice([0, 1 << 40, rng.randrange(1000)]))
        if rng.random() < 0.03:
            host.control.send(rng.choice([*ControlType, 99]), rng.randbytes(rng.choice([0, 8, 300])))
        return rng.random() < 0.9

    def end(self):
        if self.rng.random() < 0.3:
            try:
                self.host.detach()
            except (OSError, Refused):
                pass
        self.client.close()
        self.host.close()


OVER = (Closed, Refused, OSError, struct.error)  # how a step may find that its peer is no more


class Mix:
    """Up to 30 connections and 3 hosts at a time, one random step after the other."""

    def __init__(self, target, seed):
        self.rng, self.target = random.Random(seed), target
        self.image = echo_image(target)
        self.addresses = ["127.0.0.1:0"] * 5
        self.peers, self.begun, self.hosts_begun, self.refused, self.steps = [], 0, 0, 0, 0

    def begin_one(self):
        hosts = sum(isinstance(peer, HostileHost) for peer in self.peers)
        try:
            if hosts < 3 and self.rng.random() < 0.2:
                self.peers.append(HostileHost(self.rng, self.target, self.image, self.addresses))
                self.hosts_begun += 1
            else:
                self.peers.append(HostileClient(self.rng, [self.target.service]))
            self.begun += 1
        except OVER:
            self.refused += 1
            time.sleep(0.01)

    def step(self):
        if len(self.peers) < 3 or len(self.peers) < 33 and self.rng.random() < 0.1:
            self.begin_one()
        if not self.peers:
            return
        peer = self.rng.choice(self.peers)
        self.steps += 1
        try:
            goes_on = peer.step()
        except OVER:
            goes_on = False
        if not goes_on:
            self.peers.remove(peer)
            peer.end()


def mix(seconds, seed):
    def attack(target):
        """Random steps for that long."""
        driver = Mix(target, seed)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            driver.step()
        target.claim(driver.begun > seconds and driver.hosts_begun > 0 and driver.steps > 20 * seconds,
                     f"only {driver.begun} peers and {driver.steps} steps: this is no attack")
        return {"seed": seed, "peers": driver.begun, "hosts": driver.hosts_begun, "refused": driver.refused, "steps": driver.steps}
    return attack


def case(seconds, seed):
    # The routes of its hosts, some 10,000, stay for hosts that come back.
    return Case(f"random_mix_{seed}", mix(seconds, seed), Bound(private=256 * MIB, rest_bytes=24 * MIB))


def case_without_memory(seconds, seed):
    """The same where droverd may allocate hardly more than it has at the start: it must live."""
    return Case(f"random_mix_without_memory_{seed}", mix(seconds, seed), Bound(victims_fail=True), data=4 * MIB)
