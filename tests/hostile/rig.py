"""An engine under attack: droverd, two victim hosts with a stock client each, and an attacker in a process of its own.

    victim client --> droverd <-- victim host "service"        the client's calls that are attacked
    victim client -->         <-- victim host "neighbour"      another host's calls
    attacker      -->                                          TCP from 127.0.0.2, or the control socket

The attacker is a fork of low priority: what it costs the victims is the engine's doing, not the machine's. Where
latency counts, it has only CPU time that nothing else wants (SCHED_IDLE): a real attacker has a machine of its own.
Beside other tests that would be too little for its attack. It leaves when its function returns. The function takes a
Target and may return notes, a dictionary; what it finds wrong it says through Target.claim, or by an exception.
"""
import multiprocessing
import os
import pathlib
import resource
import signal
import subprocess
import tempfile
import time
import traceback
from dataclasses import dataclass, field

from certificates import Authority
from judge import Bound, Measured, is_back, violations
from measure import Sampler, Victims, allocated, mapped_regions, sample
from processes import REFUSED, ServerProcess, free_port, wait_for

SERVICE = "/drover.testing.TestService/"


@dataclass
class Target:
    """What an attacker knows, and how it reports."""
    service: str  # 127.0.0.1:PORT of the host that is attacked
    neighbour: str  # of another host
    control: str  # unix:PATH
    metrics: str  # 127.0.0.1:PORT
    engine: int  # its process
    build: pathlib.Path
    folder: pathlib.Path  # for files of the attack
    long: bool
    seed: int = 1
    found: list = field(default_factory=list)

    def claim(self, holds, otherwise):
        """A condition of this attack's own."""
        if not holds:
            self.found.append(otherwise)

    def pick(self, short, long):
        return long if self.long else short


@dataclass(frozen=True)
class Case:
    """One attack: a line of the tables in client_attacks.py and host_attacks.py."""
    name: str
    attack: object  # function of a Target
    bound: Bound = Bound()
    flags: tuple = ()  # of droverd, besides COMMON
    payload: int = 32  # bytes of the victims' requests and replies
    descriptors: int | None = None  # RLIMIT_NOFILE of droverd
    data: int | None = None  # bytes that droverd may allocate beyond what it has when it is ready (RLIMIT_DATA)
    tls: bool = False  # the service is behind TLS
    only_long: bool = False
    open: str = ""  # why the engine does not hold yet; empty: it does
    open_slow: bool = False  # of an open case: it takes too long to show this in the short form, which leaves it out
    open_long: bool = False  # of an open case: the short form holds, and is run unmarked

    def engine(self):
        """What an engine must have been started with to take this case; sorts."""
        return self.flags, self.payload, self.descriptors or 0, self.data or 0, self.tls


# Short time-outs, so that a case needs no minute. A case's own flags win.
COMMON = ("--http2.stall_timeout_ms=1000", "--http2.handshake_timeout_ms=2000", "--log.level=warn")


def flags_of(case):
    own = {flag.partition("=")[0] for flag in case.flags}
    return [*(flag for flag in COMMON if flag.partition("=")[0] not in own), *case.flags]


class Rig:
    """One engine with its victims; may take several attacks, as long as it holds."""

    def __init__(self, build, stubs, case, form):
        self.form = form
        self.folder = tempfile.TemporaryDirectory(prefix="drover-hostile-")
        self.build = build
        self.hosts, self.victims, self.sampler = [], None, None
        self.broken = False
        try:
            self.start(build, stubs, case)
        except BaseException:
            self.stop()
            raise

    def start(self, build, stubs, case):
        folder = pathlib.Path(self.folder.name)
        self.control = f"unix:{folder}/engine.sock"
        self.metrics = f"127.0.0.1:{free_port()}"
        self.log = open(folder / "engine.log", "w+")

        service = f"127.0.0.1:{free_port()}"
        flags, roots = flags_of(case), ""
        if os.geteuid() != 0:
            flags += ["--engine.core_dumps=on"]  # or the sampler may not read the engine's /proc/PID/maps
        if case.tls:
            authority = Authority(folder / "tls")
            key, certificate = authority.sign("server", alternative="DNS:localhost,IP:127.0.0.1")
            roots = str(authority.pem())
            flags += [f"--tls.certificate={certificate}", f"--tls.key={key}", f"--tls.listen={service}"]

        def limit():
            if case.descriptors:
                resource.setrlimit(resource.RLIMIT_NOFILE, (case.descriptors, case.descriptors))

        self.engine = subprocess.Popen(
            [build / "engine" / "droverd", f"--engine.control_socket={self.control}",
             f"--metrics.address={self.metrics}", *flags],
            stdout=self.log, stderr=self.log, env=self.form.environment(), preexec_fn=limit)
        wait_for(lambda: (folder / "engine.sock").exists() or self.engine.poll() is not None, 20, "the control socket")
        if self.engine.poll() is not None:
            raise AssertionError("droverd did not start: " + (folder / "engine.log").read_text())
        for address in (service, "127.0.0.1:0"):
            self.hosts.append(ServerProcess(build / "tests" / "test_server", address=address,
                                            env={**self.form.environment(), "DROVER_ENGINE": self.control,
                                                 "DROVER_WORKERS": "1"}))
        self.victims = Victims(stubs, {"service": (self.hosts[0].address, case.payload),
                                       "neighbour": (self.hosts[1].address, case.payload)}, roots={"service": roots})
        self.victims.wait_until_calling()
        if case.data:
            most = allocated(self.engine.pid) + case.data
            resource.prlimit(self.engine.pid, resource.RLIMIT_DATA, (most, most))
        self.sampler = Sampler(self.engine.pid)
        self.measure_quiet()

    def measure_quiet(self):
        """The victims' latency, and what the engine spends on them, without an attack."""
        time.sleep(0.5 if self.form.long else 0.1)
        begin = time.monotonic()
        time.sleep(4 if self.form.long else 0.3)
        self.quiet_from, self.quiet_to = begin, time.monotonic()

    def target(self, case):
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.folder.name))
        return Target(self.hosts[0].address, self.hosts[1].address, self.control, self.metrics, self.engine.pid,
                      self.build, folder, self.form.long)

    def stop(self):
        for thing in (self.victims, self.sampler):
            if thing is not None:
                thing.stop()
        for host in self.hosts:
            host.kill()
        if hasattr(self, "engine"):
            self.engine.kill()
            self.engine.wait()
            self.log.close()
        self.folder.cleanup()

    # ---- one attack
    def run(self, case):
        start, regions = sample(self.engine.pid), mapped_regions(self.engine.pid)
        target = self.target(case)
        begin = time.monotonic()
        says, notes = run_attacker(case.attack, target, self.form.timed, 240 if self.form.long else 60)
        left = time.monotonic()
        bound = self.form.bound(case.bound)
        back_after, end = self.wait_back(bound, start, left)
        if self.alive():
            wait_for(lambda: self.victims.finished_since(left) or not self.alive(), 20, "the victims' calls")
            # The control thread unmaps the regions of hosts that are gone when every thread has let go.
            wait_until(lambda: mapped_regions(self.engine.pid) <= regions, left + bound.back_seconds)
        return self.measured(start, begin, left, end, back_after, regions,
                             says + self.ended_hosts() + self.refusals(), notes)

    def ended_hosts(self):
        """No attack on the engine may end a host."""
        return [f"a victims' host has ended: exit status {host.process.returncode}; it said: {last_lines(host.stderr())}"
                for host in self.hosts if host.process.poll() is not None]

    def refusals(self):
        """What the sandbox refused is missing in its table: no attack makes the engine ask for more."""
        return [line for line in (pathlib.Path(self.folder.name) / "engine.log").read_text().splitlines()
                if REFUSED in line]

    def alive(self):
        return self.engine.poll() is None

    def ending(self):
        """Empty while droverd runs."""
        if self.alive():
            return ""
        log = (pathlib.Path(self.folder.name) / "engine.log").read_text(errors="replace")
        return f"exit status {self.engine.returncode}; its log ends in: {last_lines(log)}"

    def wait_back(self, bound, start, left):
        """(seconds until the memory was back, or None; the last sample)."""
        while (now := sample(self.engine.pid)) is not None and self.alive():
            took = time.monotonic() - left
            if is_back(bound, start, now):
                return took, now
            if took > bound.back_seconds:
                return None, now
            time.sleep(0.05)
        return None, start

    def measured(self, start, begin, left, end, back_after, regions, says, notes):
        over = time.monotonic()
        samples = self.sampler.between(begin, over) or [start]
        names = self.victims.names
        quiet = {name: self.victims.latency(name, self.quiet_from, self.quiet_to) for name in names}
        attacked = {name: self.victims.latency(name, begin, over if not self.form.long else left) for name in names}
        result = Measured(start, max(s.private for s in samples), max(s.shared for s in samples), end, back_after,
                          quiet, attacked, ended=self.ending(), attack_says=says, notes=notes)
        result.regions_left = 0 if result.ended else mapped_regions(self.engine.pid) - regions
        result.cpu_share, result.cpu_per_call = self.cpu(begin, left)
        _, result.cpu_per_call_quiet = self.cpu(self.quiet_from, self.quiet_to)
        return result

    def cpu(self, begin, end):
        """The engine's CPU seconds a second, and per call of a victim, in that time."""
        samples = self.sampler.between(begin, end)
        if len(samples) < 2 or samples[-1].at == samples[0].at:
            return 0.0, 0.0
        spent = samples[-1].cpu - samples[0].cpu
        calls = sum(self.victims.latency(name, begin, end).calls for name in self.victims.names)
        return spent / (samples[-1].at - samples[0].at), spent / max(calls, 1)

    def judge(self, case):
        """(Measured, violations). An engine in another state than before takes no further attack."""
        self.broken = True  # until it is known to be sound
        measured = self.run(case)
        found = violations(measured, self.form.bound(case.bound), self.form.timed)
        self.broken = found != measured.attack_says
        return measured, found


def last_lines(log):
    """The last lines of a log; of a sanitizer's report the beginning, which says what and where."""
    lines = log.strip().splitlines()
    for at, line in enumerate(lines):
        if "ERROR: " in line or "runtime error: " in line:
            return " | ".join(lines[at:at + 25])
    return " | ".join(lines[-3:])


def wait_until(condition, end):
    while not condition() and time.monotonic() < end:
        time.sleep(0.05)


# ---- the attacker's process

def attacker_main(attack, target, timed, results):
    os.setsid()
    if timed:
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    else:
        os.nice(10)
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    notes = {}
    try:
        notes = attack(target) or {}
    except BaseException:
        target.found.append("the attack ended in " + traceback.format_exc(limit=-3).strip().replace("\n", " | "))
    results.send((target.found, notes))
    results.close()
    os._exit(0)


def run_attacker(attack, target, timed, seconds):
    """(what it found wrong, its notes) once the attacker is gone."""
    ours, theirs = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.get_context("fork").Process(target=attacker_main, args=(attack, target, timed, theirs))
    process.start()
    theirs.close()
    try:
        if not ours.poll(seconds):
            os.kill(process.pid, signal.SIGKILL)
            return [f"the attack did not end within {seconds} s"], {}
        return ours.recv()
    except EOFError:
        return ["the attacker's process died"], {}
    finally:
        process.join(10)
        ours.close()
