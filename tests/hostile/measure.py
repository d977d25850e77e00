"""What the rig measures: an engine's memory, CPU time and descriptors over time, and the latencies of the victims."""
import os
import pathlib
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field

MIB = 1 << 20
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass
class Sample:
    at: float  # time.monotonic()
    private: int  # RssAnon in bytes: heap and stacks; the regions are memfds and are not in it
    shared: int  # RssShmem: pages of regions that the engine has touched
    cpu: float  # seconds, all threads
    descriptors: int


def mapped_regions(pid):
    """Distinct memfds that the process has mapped: two for each region."""
    try:
        lines = pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines()
    except OSError:
        return 0
    return len({line.split()[4] for line in lines if "/memfd:" in line})


def allocated(pid):
    """What RLIMIT_DATA bounds: private writable memory, stacks of threads included, touched or not."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmData:")[1].split()[0]) << 10


def sample(pid):
    """None once the process is gone."""
    try:
        status = pathlib.Path(f"/proc/{pid}/status").read_text()
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        descriptors = len(os.listdir(f"/proc/{pid}/fd"))
        kib = {line.split(":")[0]: int(line.split()[1]) for line in status.splitlines() if line.startswith("Rss")}
        return Sample(time.monotonic(), kib["RssAnon"] << 10, kib["RssShmem"] << 10,
                      (int(stat[11]) + int(stat[12])) / TICKS, descriptors)
    except (OSError, KeyError, IndexError):
        return None


class Sampler:
    """Samples of one process, every 20 ms, by a thread of its own."""

    PERIOD = 0.02

    def __init__(self, pid):
        self.pid = pid
        self.samples = [sample(pid)]
        self.ending = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        while not self.ending.wait(self.PERIOD):
            if (now := sample(self.pid)) is None:
                return
            self.samples.append(now)

    def between(self, begin, end):
        return [s for s in list(self.samples) if begin <= s.at <= end]

    def stop(self):
        self.ending.set()
        self.thread.join()


@dataclass
class Call:
    name: str
    began: float
    took: float
    status: str
    wrong: str


@dataclass
class Latency:
    calls: int = 0
    p50: float = 0.0  # seconds
    p99: float = 0.0
    worst: float = 0.0
    failures: list = field(default_factory=list)  # texts

    @classmethod
    def of(cls, calls):
        took = sorted(call.took for call in calls)
        failures = [f"{call.status} {call.wrong}".strip() for call in calls if call.status != "OK" or call.wrong]
        if not took:
            return cls()
        return cls(len(took), took[len(took) // 2], took[min(len(took) - 1, len(took) * 99 // 100)], took[-1], failures)


class Victims:
    """victim.py in a process of its own: stock clients that never stop calling."""

    def __init__(self, stubs, targets, period_ms=10, timeout=5, roots=None):
        """`targets`: {name: (address, payload bytes)}; `roots`: {name: file of root certificates}, of those behind TLS."""
        program = pathlib.Path(__file__).with_name("victim.py")
        self.process = subprocess.Popen(
            [sys.executable, "-B", program, stubs, str(period_ms), str(timeout),
             *(f"{name}={address}={payload}={(roots or {}).get(name, '')}" for name, (address, payload) in targets.items())],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.names = list(targets)
        self.calls = []
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        for line in self.process.stdout:
            name, began, took, status, wrong = line.rstrip("\n").split("\t")
            self.calls.append(Call(name, float(began), float(took), status, wrong))

    def wait_until_calling(self, seconds=10):
        """Until each victim has had answers, the first of which are slow."""
        end = time.monotonic() + seconds
        while any(sum(c.name == name and c.status == "OK" for c in list(self.calls)) < 5 for name in self.names):
            if time.monotonic() > end:
                raise AssertionError(f"the victims get no answers: {self.calls[-3:]}")
            time.sleep(0.02)

    def latency(self, name, begin, end):
        """Of the calls that were in progress in that time."""
        return Latency.of([c for c in list(self.calls)
                           if c.name == name and c.began <= end and c.began + c.took >= begin])

    def finished_since(self, at):
        """True once each victim has ended a call that it began after `at`: nothing of before is left out."""
        return all(any(c.name == name and c.began >= at for c in reversed(list(self.calls))) for name in self.names)

    def stop(self):
        self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.thread.join()
