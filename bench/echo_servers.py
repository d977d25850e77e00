"""Starting, watching and stopping the echo servers that the benchmarks compare.

A server runs pinned to one CPU. Drover's is two processes, the host (the program itself) and its engine (`droverd`,
the host's child), whose CPU times are told apart. Whatever way the benchmark ends, no server outlives it.
"""

import atexit
import ctypes
import os
import pathlib
import signal
import socket
import subprocess
import time

START_TIMEOUT_S = 15
STOP_TIMEOUT_S = 5
ENGINE_NAME = "droverd"
PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)


class ServerFailed(Exception):
    """A server did not come up, or died; the message holds its log."""


def _die_with_parent():
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def cpu_seconds(pid):
    """User and system time of all the process's threads, past and present, in seconds."""
    try:
        # The process's CPU clock (clock_getcpuclockid): nanoseconds, and it keeps the time of threads that have ended.
        return time.clock_gettime((~pid << 3) | 2)
    except OSError:
        pass
    try:
        tasks = pathlib.Path(f"/proc/{pid}/task").iterdir()
        return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) * 1e-9
    except (OSError, IndexError, ValueError):
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def processes():
    """(pid, parent's pid, name) of every process."""
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            stat = (entry / "stat").read_text()
        except OSError:
            continue  # it has just ended
        name = stat[stat.index("(") + 1:stat.rindex(")")]
        yield int(entry.name), int(stat.rpartition(")")[2].split()[1]), name


class EchoServer:
    """One run of a server program. Use as a context manager."""

    _running = []

    def __init__(self, name, program, cpu, log_dir, busy_loop_ns=0, has_engine=False, more=()):
        self.name = name
        self.program = pathlib.Path(program)
        self.cpu = cpu
        self.busy_loop_ns = busy_loop_ns
        self.has_engine = has_engine
        self.more = [str(argument) for argument in more]
        self.log_path = pathlib.Path(log_dir) / f"{name}.log"
        self.engine_pidfile = pathlib.Path(log_dir) / f"{name}.engine.pid"
        self.address = None
        self.engine_pid = None
        self._process = None

    def __enter__(self):
        self.log_path.parent.mkdir(parents=True, exist_ok=True)
        self.engine_pidfile.unlink(missing_ok=True)
        self.address = f"127.0.0.1:{free_port()}"
        command = ["taskset", "-c", str(self.cpu), str(self.program), "--address", self.address,
                   "--busy-loop-ns", str(self.busy_loop_ns), *self.more]
        environment = dict(os.environ, DROVER_ENGINE_CPUS=str(self.cpu), DROVER_HOST_CPUS=str(self.cpu),
                           DROVER_ENGINE_PIDFILE=str(self.engine_pidfile), GOMAXPROCS="1")  # one CPU, for Go's, too
        with open(self.log_path, "wb") as log:
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                             env=environment, start_new_session=True, preexec_fn=_die_with_parent)
        EchoServer._running.append(self)
        try:
            self._wait_until_ready()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_):
        self.stop()

    def cpu_times(self):
        """{"host": seconds, "engine": seconds}; without an engine only "host"."""
        self.check_alive()
        try:
            times = {"host": cpu_seconds(self._process.pid)}
            if self.engine_pid is not None:
                times["engine"] = cpu_seconds(self.engine_pid)
            return times
        except OSError as error:
            raise self._failed(f"its CPU time cannot be read ({error})") from error

    def check_alive(self):
        code = self._process.poll()
        if code is not None:
            raise self._failed(f"ended with code {code}")
        if self.engine_pid is not None and not pathlib.Path(f"/proc/{self.engine_pid}").exists():
            raise self._failed("its engine has ended")

    def stop(self):
        """SIGTERM to the server; SIGKILL to what is left of its process group and engine after a while."""
        if self not in EchoServer._running:
            return
        EchoServer._running.remove(self)
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            pass
        for kill, pid in ((os.killpg, self._process.pid), (os.kill, self.engine_pid)):
            if pid is None or (kill is os.kill and not self._is_engine(pid)):
                continue
            try:
                kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self._process.wait()

    def _is_engine(self, pid):
        return any(pid == other and name == ENGINE_NAME for other, _, name in processes())

    def _wait_until_ready(self):
        host, port = self.address.split(":")
        deadline = time.monotonic() + START_TIMEOUT_S
        while time.monotonic() < deadline:
            self.check_alive()
            try:
                socket.create_connection((host, int(port)), timeout=1).close()
                break
            except OSError:
                time.sleep(0.02)
        else:
            raise self._failed(f"does not listen on {self.address} after {START_TIMEOUT_S} s")
        if self.has_engine:
            self.engine_pid = self._find_engine(deadline)

    def _find_engine(self, deadline):
        while time.monotonic() < deadline:
            for pid, parent, name in processes():
                if name == ENGINE_NAME and parent == self._process.pid:
                    return pid
            try:
                pid = int(self.engine_pidfile.read_text())
                if self._is_engine(pid):
                    return pid
            except (OSError, ValueError):
                pass
            self.check_alive()
            time.sleep(0.02)
        raise self._failed(f"has no child {ENGINE_NAME} and wrote no DROVER_ENGINE_PIDFILE")

    def _failed(self, what):
        log = self.log_path.read_text(errors="replace").strip() if self.log_path.exists() else ""
        tail = "\n".join("    " + line for line in log.splitlines()[-30:]) or "    (empty)"
        return ServerFailed(f"{self.name} ({self.program}): {what}\n  its log, {self.log_path}:\n{tail}")

    @classmethod
    def stop_all(cls):
        for server in list(cls._running):
            server.stop()


atexit.register(EchoServer.stop_all)
