"""One judge for all attacks: what was measured beside what is allowed.

Memory, life, errors and the attack's own checks count always. Latency and CPU count where `timed` is set (the long
form), since they say nothing on a machine that has other work.
"""
from dataclasses import dataclass, field

from measure import MIB, Latency


@dataclass(frozen=True)
class Bound:
    """What one attack may cost."""
    private: int = 512 * MIB  # growth of the engine's private memory while it lasts
    shared: int | None = None  # growth of what the engine touches of the regions; None: not judged
    rest: float = 0.10  # of the start's private memory that may stay...
    rest_bytes: int = 16 * MIB  # ...and a constant: buffers that every engine keeps once it has worked
    back_seconds: float = 10.0
    descriptors: int = 16  # that may stay open
    victims_fail: bool = False  # their calls may, too: the machine's memory is gone
    latency_factor: float = 2.0  # of the quiet p99...
    latency_constant: float = 0.010  # ...and seconds
    cpu_per_call: float | None = None  # timed: the engine's CPU per call of a victim, as a multiple of quiet
    cpu_share: float | None = None  # engine CPU seconds a second while the attack lasts, quiet's included


@dataclass
class Measured:
    start: object  # Sample
    peak_private: int
    peak_shared: int
    end: object  # Sample, once the memory was back, or when the time for it was over
    back_after: float | None  # seconds; None: never
    quiet: dict  # name: Latency
    attacked: dict
    cpu_share: float = 0.0
    cpu_per_call_quiet: float = 0.0
    cpu_per_call: float = 0.0
    ended: str = ""  # how droverd has ended, if it has
    regions_left: int = 0  # memfds mapped now that were not at the start
    attack_says: list = field(default_factory=list)  # the attack's own findings, each a violation
    notes: dict = field(default_factory=dict)  # what it measured besides

    @property
    def growth(self):
        return self.peak_private - self.start.private


def mib(size):
    return f"{size / MIB:.1f} MiB"


def is_back(bound, start, now):
    return (now.private <= start.private * (1 + bound.rest) + bound.rest_bytes and
            now.descriptors <= start.descriptors + bound.descriptors)


def violations(measured, bound, timed):
    """Sentences; none: the engine held."""
    found = list(measured.attack_says)
    if measured.ended:
        return found + [f"droverd has ended: {measured.ended}"]
    if measured.growth > bound.private:
        found.append(f"private memory grew by {mib(measured.growth)}, at most {mib(bound.private)}")
    grown = measured.peak_shared - measured.start.shared
    if bound.shared is not None and grown > bound.shared:
        found.append(f"the engine touched {mib(grown)} more of the regions, at most {mib(bound.shared)}")
    if measured.back_after is None:
        found.append(f"{bound.back_seconds:.0f} s after the attacker left: {mib(measured.end.private)} private "
                     f"({mib(measured.start.private)} at the start), {measured.end.descriptors} descriptors "
                     f"({measured.start.descriptors})")
    if measured.regions_left > 0:
        found.append(f"{measured.regions_left} memfds of regions are still mapped")
    for name, latency in measured.attacked.items():
        if latency.failures and not bound.victims_fail:
            found.append(f"{len(latency.failures)} calls of {name} failed: {latency.failures[0]}")
        if latency.calls == 0:
            found.append(f"{name} made no call")
    if timed and not bound.victims_fail:
        found += timed_violations(measured, bound)
    return found


def timed_violations(measured, bound):
    found = []
    for name, latency in measured.attacked.items():
        most = measured.quiet.get(name, Latency()).p99 * bound.latency_factor + bound.latency_constant
        if latency.p99 > most:
            found.append(f"p99 of {name}: {latency.p99 * 1e3:.1f} ms, at most {most * 1e3:.1f}")
    if bound.cpu_share is not None and measured.cpu_share > bound.cpu_share:
        found.append(f"{measured.cpu_share:.2f} s of CPU a second, at most {bound.cpu_share:.2f}")
    if bound.cpu_per_call is not None and measured.cpu_per_call > bound.cpu_per_call * measured.cpu_per_call_quiet:
        found.append(f"{measured.cpu_per_call * 1e3:.2f} ms of CPU per call, at most {bound.cpu_per_call:.1f} times "
                     f"{measured.cpu_per_call_quiet * 1e3:.2f}")
    return found
