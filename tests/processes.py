"""Servers as real processes: a test server and its droverd, if it has one of its own."""

import os
import signal
import socket
import subprocess
import tempfile
import threading
import time


def free_port():
    """Of 127.0.0.1; another process may take it meanwhile."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(condition, seconds=20, what="a condition"):
    """What condition() gives, once that is true."""
    end = time.monotonic() + seconds
    while not (got := condition()):
        assert time.monotonic() < end, f"waited in vain for {what}"
        time.sleep(0.02)
    return got


def _flavours():
    """The servers of the tests of calls: (kind, argument ...). Drover's settings in the environment change nothing about
    gRPC C++, which then is left out."""
    kinds = ["drover"]
    if not os.environ.get("DROVER_ENGINE_IO") and not os.environ.get("DROVER_HOST_CHECK_REQUESTS"):
        kinds.append("grpc")
    return [(kind, *arguments) for kind in kinds for arguments in ((), ("--callback",), ("--queues",))]


FLAVOURS = _flavours()


def children_of(pid):
    """Process ids of pid's children that run droverd."""
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/stat") as file:
                stat = file.read()
        except OSError:
            continue
        name = stat[stat.index("(") + 1:stat.rindex(")")]
        state, parent = stat[stat.rindex(")") + 2:].split()[:2]
        if int(parent) == pid and name == "droverd" and state != "Z":
            found.append(int(entry))
    return found


# What droverd logs when its sandbox refuses a system call that it made: a fault of engine/sandbox/system_calls.cc.
REFUSED = "the sandbox refused"


class ServerProcess:
    """A test server on a port of its own; `engine_pid` is its droverd, None for a stock server and for one that shares
    an engine."""

    def __init__(self, program, *arguments, address="127.0.0.1:0", env=None, stock=False):
        self.program = program
        self.stock = stock
        self.arguments = list(arguments)
        self.env = dict(os.environ, **(env or {}))
        self.log = tempfile.NamedTemporaryFile("w+", prefix="drover-test-", suffix=".log")
        self.start(address)

    def start(self, address):
        self.process = subprocess.Popen(
            [str(self.program), "--address", address, *self.arguments], stdout=subprocess.PIPE, stderr=self.log,
            text=True, env=self.env)
        line = self._first_line(20)
        assert line.startswith("listening on "), f"the server did not come up: {line!r}\n{self.stderr()}"
        self.port = int(line.split()[2])
        self.address = f"127.0.0.1:{self.port}"
        self.drain = threading.Thread(target=self.process.stdout.read, daemon=True)
        self.drain.start()
        engines = children_of(self.process.pid)
        self.engine_pid = engines[0] if engines else None

    def _first_line(self, seconds):
        result = []
        reader = threading.Thread(target=lambda: result.append(self.process.stdout.readline()), daemon=True)
        reader.start()
        reader.join(seconds)
        return result[0] if result else ""

    def stderr(self):
        with open(self.log.name) as file:
            return file.read()

    def check_sandbox(self):
        """No engine that wrote to this server's log was refused anything."""
        lines = [line for line in self.stderr().splitlines() if REFUSED in line]
        assert not lines, "\n".join(lines)

    def restart(self):
        """Another process of the same kind on the same port."""
        self.start(self.address)

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(15)
            except subprocess.TimeoutExpired:
                self.kill()
                raise AssertionError("the server did not end within 15 s of SIGTERM\n" + self.stderr())
        return self.process.returncode
