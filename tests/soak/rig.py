"""The processes of a soak: engines, hosts, and those who kill them.

    steady   an engine that lives through all, with hosts that are killed or stopped: each alone, or one of two
    mortal   an engine that is killed or stopped again and again, with hosts that live through all
    child    a host with an engine of its own, either killed, or both at once

A Rig knows its targets (addresses), and tells by windows when calls of them may have failed.
"""
import os
import pathlib
import random
import signal
import subprocess
import threading
import time

import grpc

from processes import ServerProcess, free_port
from verdict import Window

SETTLE = 1.0  # seconds after which a target that is back must take calls
INTERCEPTORS = "--late-interceptors"  # of test_server
RECONNECT = 3.0  # the same where clients must connect again, with their back-off


class Host:
    def __init__(self, name, program, *arguments, target=None, env=None):
        self.name, self.program, self.arguments = name, program, arguments
        # glibc keeps memory for each thread that has called malloc: with one arena, what stays is what leaks.
        self.target, self.env = target or name, {"MALLOC_ARENA_MAX": "1", **(env or {})}
        self.server, self.pids, self.down = None, set(), False

    def start(self, address):
        if self.server is None:
            self.server = ServerProcess(self.program, *self.arguments, address=address, env=self.env)
        else:
            self.server.restart()
        self.pids.add(self.server.process.pid)
        self.down = False

    @property
    def pid(self):
        return self.server.process.pid

    def died(self):
        """A sentence, if it ended on its own."""
        if self.down or self.server is None or self.server.process.poll() is None or self.down:
            return ""
        return f"host {self.name} has ended: exit status {self.server.process.returncode}; {last_lines(self.server.stderr())}"


def last_lines(text):
    return " / ".join(text.splitlines()[-4:])


class Engine:
    """droverd as a service, in a folder of its own; several lives."""

    def __init__(self, name, build, folder, *flags):
        self.name, self.folder, self.down = name, pathlib.Path(folder), False
        self.folder.mkdir(parents=True)
        self.control = f"unix:{self.folder}/engine.sock"
        self.metrics = f"127.0.0.1:{free_port()}"
        self.command = [str(build / "engine" / "droverd"), f"--engine.control_socket={self.control}",
                        f"--metrics.address={self.metrics}", "--log.level=warn", *flags]
        self.log = open(self.folder / "engine.log", "a+")
        self.start()

    def start(self):
        self.process = subprocess.Popen(self.command, stdout=self.log, stderr=self.log)
        self.down = False

    @property
    def pid(self):
        return self.process.pid

    def died(self):
        if self.down or self.process.poll() is None or self.down:
            return ""
        return (f"engine {self.name} has ended: exit status {self.process.returncode}; "
                f"{last_lines((self.folder / 'engine.log').read_text(errors='replace'))}")

    def end(self):
        self.process.kill()
        self.process.wait()
        self.log.close()


class ChildEngine:
    """The droverd that a host starts, seen from outside. A restarted host is not its engine's parent: what it inherits
    from its first host, the address of its metrics, tells whose it is."""

    def __init__(self, name, host, metrics):
        self.name, self.host, self.metrics = name, host, metrics

    @property
    def pid(self):
        """Of the newest, where one is being replaced."""
        found = [pid for pid in all_engines() if f"DROVER_METRICS={self.metrics}" in environment_of(pid)]
        assert found, f"{self.name} has no engine"
        return max(found, key=started)

    def died(self):
        return ""


def all_engines():
    for entry in pathlib.Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and (entry / "comm").read_text() == "droverd\n":
                yield int(entry.name)
        except OSError:
            continue


def started(pid):
    """In clock ticks since the machine's start; 0: it is gone."""
    try:
        return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])
    except OSError:
        return 0


def environment_of(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/environ").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return []


class Rig:
    """Hosts by name, their addresses by target, and what may be done to them."""

    def __init__(self, name, seed, tls):
        self.name, self.tls, self.rng = name, tls, random.Random(f"{seed}/{name}")
        self.hosts, self.engines, self.addresses, self.windows, self.kills = [], [], {}, [], {}
        self.secure, self.intercepted, self.actions, self.found = set(), set(), [], []
        self.thread, self.ending = None, threading.Event()

    def add(self, host, secure=False):
        host.start(self.addresses.get(host.target, "127.0.0.1:0"))
        self.addresses.setdefault(host.target, host.server.address)
        if secure:
            self.secure.add(host.target)
        if INTERCEPTORS in host.arguments:
            self.intercepted.add(host.target)
        self.hosts.append(host)
        return host

    def pids(self):
        """{target: all processes that have served it}"""
        known = {}
        for host in self.hosts:
            known.setdefault(host.target, set()).update(host.pids)
        return known

    # ---- actions, each with its window
    def note(self, what, targets, began, settle):
        self.windows.append(Window(what, frozenset(targets), began, time.monotonic() + settle))

    def kill_host(self, host, number=signal.SIGKILL):
        """Its calls fail; where another host has the address, only those that it had."""
        began = time.monotonic()
        host.down = True
        host.server.process.send_signal(number)
        host.server.process.wait(30)
        shared = sum(other.target == host.target for other in self.hosts) > 1
        what = f"{signal.Signals(number).name} host {host.name}"
        if shared:
            if number == signal.SIGKILL:  # one that ends in order ends its calls, and another takes the new ones
                self.note(what, [host.target], began, SETTLE)
            time.sleep(0.3 * self.rng.random())
            host.start(self.addresses[host.target])
        else:
            time.sleep(0.3 * self.rng.random())
            host.start(self.addresses[host.target])
            self.note(what, [host.target], began, SETTLE if number == signal.SIGKILL else RECONNECT)
        return what

    def kill_engine(self, engine, number=signal.SIGKILL):
        began = time.monotonic()
        engine.down = True
        engine.process.send_signal(number)
        engine.process.wait(30)
        engine.start()
        for target in self.addresses:
            self.reach(target)
        what = f"{signal.Signals(number).name} engine {engine.name}"
        self.note(what, self.addresses, began, RECONNECT)
        return what

    def kill_child_engine(self, engine, host, both):
        began = time.monotonic()
        pid = engine.pid
        host.down = both
        if both:  # the host first: it would start another engine
            host.server.process.kill()
            host.server.process.wait(30)
        os.kill(pid, signal.SIGKILL)
        if both:
            host.start(self.addresses[host.target])
        self.reach(host.target)
        what = f"SIGKILL engine {'and host ' if both else ''}{engine.name}"
        self.note(what, [host.target], began, RECONNECT)
        return what

    def reach(self, target, seconds=60):
        """Until the target answers a call."""
        options = [("grpc.use_local_subchannel_pool", 1), ("grpc.max_reconnect_backoff_ms", 200),
                   ("grpc.initial_reconnect_backoff_ms", 50), ("grpc.min_reconnect_backoff_ms", 50)]
        path = "/drover.testing.TestService/Stats"
        end = time.monotonic() + seconds
        while True:
            with self.channel(target, options) as channel:
                try:
                    return channel.unary_unary(path)(b"", timeout=10, wait_for_ready=True)
                except grpc.RpcError as error:
                    if time.monotonic() > end:
                        raise AssertionError(f"{target} does not come back: {error.code().name} {error.details()}") from None
                    time.sleep(0.05)

    def channel(self, target, options=()):
        if target not in self.secure:
            return grpc.insecure_channel(self.addresses[target], options=options)
        return grpc.secure_channel(self.addresses[target], grpc.ssl_channel_credentials(self.tls.pem().read_bytes()),
                                   options=options)

    # ---- the killer's thread
    def begin(self, pause):
        """`pause`: seconds between two kills, on average."""
        self.ending.clear()
        self.thread = threading.Thread(target=self.run, args=(pause,))
        self.thread.start()

    def run(self, pause):
        while not self.ending.wait(self.rng.uniform(0.3, 1.7) * pause):
            action = self.rng.choice(self.actions)
            try:
                what = action()
                self.kills[what] = self.kills.get(what, 0) + 1
            except Exception as error:
                self.found.append(f"{self.name}: {type(error).__name__} after a kill: {error}")
                return

    def end_kills(self):
        self.ending.set()
        self.thread.join()

    def died(self):
        return [text for thing in self.hosts + self.engines if (text := thing.died())]

    def stop(self):
        for host in self.hosts:
            host.down = True
            if host.server is not None and host.server.process.poll() is None:
                host.server.kill()
        for engine in self.engines:
            if isinstance(engine, Engine):
                engine.end()
        for engine in self.engines:
            if isinstance(engine, ChildEngine):
                for pid in all_engines():
                    if f"DROVER_METRICS={engine.metrics}" in environment_of(pid):
                        os.kill(pid, signal.SIGKILL)


def make_rigs(build, folder, seed, tls, journal):
    """[steady, mortal, child]; `tls`: an Authority that has signed "server"."""
    server, own = build / "tests" / "test_server", ["--journal", str(journal)]
    secure = ["--key", str(tls.key("server")), "--certificate", str(tls.pem("server"))]

    steady = Rig("steady", seed, tls)
    engine = Engine("steady", build, folder / "steady")
    steady.engines.append(engine)
    env = {"DROVER_ENGINE": engine.control}
    steady.add(Host("steady/sync", server, *own, env=env))
    callback = steady.add(Host("steady/callback", server, *own, "--callback", *secure, env=env), secure=True)
    twins = [steady.add(Host(f"steady/queues {letter}", server, *own, "--queues", target="steady/queues", env=env))
             for letter in "ab"]
    late = steady.add(Host("steady/intercepted", server, *own, INTERCEPTORS, env=env))
    steady.actions = [lambda: steady.kill_host(late), lambda: steady.kill_host(late, signal.SIGTERM),
                      lambda: steady.kill_host(callback), lambda: steady.kill_host(callback, signal.SIGTERM),
                      lambda: steady.kill_host(steady.rng.choice(twins)),
                      lambda: steady.kill_host(steady.rng.choice(twins), signal.SIGTERM)]

    mortal = Rig("mortal", seed, tls)
    victim = Engine("mortal", build, folder / "mortal", "--engine.io=epoll")
    mortal.engines.append(victim)
    env = {"DROVER_ENGINE": victim.control}
    mortal.add(Host("mortal/sync", server, *own, env=env))
    mortal.add(Host("mortal/callback", server, *own, "--callback", *secure, env=env), secure=True)
    mortal.add(Host("mortal/queues", server, *own, "--queues", env={**env, "DROVER_HOST_CHECK_REQUESTS": "1"}))
    mortal.add(Host("mortal/intercepted sync", server, *own, INTERCEPTORS, env=env))
    mortal.add(Host("mortal/intercepted callback", server, *own, "--callback", INTERCEPTORS, env=env))
    mortal.add(Host("mortal/intercepted queues", server, *own, "--queues", INTERCEPTORS, env=env))
    mortal.actions = [lambda: mortal.kill_engine(victim), lambda: mortal.kill_engine(victim),
                      lambda: mortal.kill_engine(victim, signal.SIGTERM)]

    child = Rig("child", seed, tls)
    metrics = f"127.0.0.1:{free_port()}"
    host = child.add(Host("child/sync", server, *own, env={"DROVER_METRICS": metrics}))
    own_engine = ChildEngine("child", host, metrics)
    child.engines.append(own_engine)
    child.actions = [lambda: child.kill_host(host), lambda: child.kill_child_engine(own_engine, host, False),
                     lambda: child.kill_child_engine(own_engine, host, True)]
    return [steady, mortal, child]
