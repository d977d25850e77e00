"""What the soak allows. Pure functions over what was seen; each gives sentences, one a violation.

A call may fail only in a Window of its target: from a kill until the target serves again. Whatever a window allows, a wrong
answer, a second answer and a call without an end never are.
"""
from dataclasses import dataclass

MIB = 1 << 20
GONE = frozenset({"UNAVAILABLE"})
LATE = GONE | {"DEADLINE_EXCEEDED", "RESOURCE_EXHAUSTED"}  # a machine that stood still runs into time limits


@dataclass(frozen=True)
class Window:
    what: str  # "kill host steady/callback"
    targets: frozenset  # names; empty: all
    began: float  # time.monotonic()
    ended: float
    statuses: frozenset = GONE

    def covers(self, target, began, ended):
        return (not self.targets or target in self.targets) and began <= self.ended and ended >= self.began


def excuse(call, windows):
    """The window that allows the call's status, or None."""
    for window in windows:
        if call["status"] in window.statuses and window.covers(call["target"], call["began"], call["ended"]):
            return window
    return None


def judge_calls(calls, windows):
    """(sentences, how many were excused) of calls that did not end as planned."""
    found, excused = [], 0
    for call in calls:
        name = f"{call['kind']} {call['ident']} at {call['target']}"
        if call["wrong"]:
            found.append(f"{name}: {call['wrong']}")
        elif call["done"] > 1:
            found.append(f"{name}: ended {call['done']} times")
        elif excuse(call, windows) is not None:
            excused += 1
        elif call["status"] != "OK":
            found.append(f"{name}: {call['status']} ({call['details']}) after {call['ended'] - call['began']:.2f} s, "
                         f"{nearest(call, windows)}")
    return found, excused


def nearest(call, windows):
    """How far the next window of that target is, for who reads the report."""
    gaps = [(max(window.began - call["ended"], call["began"] - window.ended), window.what) for window in windows
            if not window.targets or call["target"] in window.targets]
    if not gaps:
        return "and no kill of its target"
    gap, what = min(gaps)
    return f"{gap:.2f} s from the nearest kill ({what})" if gap > 0 else f"within a window of '{what}'"


def judge_journal(number, made, unsure, lines):
    """`made`: {thread: calls of that round}; `unsure`: idents that a handler need not have seen; `lines`: the journal."""
    found, seen = [], set()
    for line in lines:
        thread, _, rest = line.partition(".")
        if thread not in made or rest.partition(".")[0] != str(number) or int(rest.partition(".")[2]) >= made[thread]:
            found.append(f"a handler got '{line}' in round {number}, which made no such call")
        elif line in seen:
            found.append(f"{line} was handled twice")
        seen.add(line)
    for thread, calls in made.items():
        found += [f"{ident} was answered, and no handler saw it" for ident in
                  (f"{thread}.{number}.{n}" for n in range(calls)) if ident not in seen and ident not in unsure]
    return found


def judge_pids(seen, known):
    """`seen`, `known`: {target: pids}: who answered, and which processes have served there."""
    return [f"calls of {target} were answered by process {pid}, which never served it" for target, pids in seen.items()
            for pid in sorted(pids - known.get(target, set()))]


def judge_guest(name, target, began, ended, complaints, windows):
    """A stock client's own program: `complaints` are the lines in which it tells what failed."""
    near = [window for window in windows if window.covers(target, began, ended)]
    unnamed = ("failed: fail", "failed: deadline", "failed: cancel", "failed: metadata")  # these lines have no status
    found = []
    for line in complaints:
        explained = near and ("navailable" in line or "UNAVAILABLE" in line or line.startswith(unnamed))
        late = any(window.statuses == LATE for window in near) and "eadline" in line.replace("DEADLINE", "Deadline")
        if not explained and not late:
            found.append(f"{name} at {target}: {line}")
    return found


BROKEN = ("connection: closed by the server", "connection: connect:", "connection: recv:", "connection: send:",
          "connection: not open after", "connection: TLS:", "call: its connection was lost", "connection: GOAWAY from the server")


def judge_load(target, began, ended, result, windows):
    """`result`: what drover-load prints."""
    near = [window for window in windows if window.covers(target, began, ended)]
    allowed = {"14"} if near else set()
    if any(window.statuses == LATE for window in near):
        allowed |= {"4", "8"}
    found = [f"drover-load at {target}: {count} calls ended in grpc-status {code}"
             for code, count in result["errors"].items() if code not in allowed]
    return found + [f"drover-load at {target}: {count} x {reason}" for reason, count in result["failures"].items()
                    if not (near and reason.startswith(BROKEN))]


# Gauges of the engine that are 0 when no client calls, and counters that stay 0 with honest clients and hosts.
IDLE = ("drover_host_calls_in_flight", "drover_waiting_calls", "drover_open_streams", "drover_reply_bytes",
        "drover_host_reply_bytes", "drover_region_rx_used_bytes", "drover_ring_depth")
NEVER = ("drover_failures_total", "drover_protocol_errors_total", "drover_connections_cut_off_total",
         "drover_client_refused_total")


def judge_metrics(engine, samples):
    """`samples`: {series: value} of an engine whose clients have nothing in progress."""
    return [f"{engine} is idle, and {series} is {value:g}" for series, value in samples.items()
            if value != 0 and series.partition("{")[0] in IDLE + NEVER or
            value != 0 and series.startswith('drover_client_held{resource="calls"')]


def judge_memory(label, first, last, rest=0.10, rest_bytes=16 * MIB, descriptors=16):
    """Samples (tests/hostile/measure.py) of one process, at quiet points."""
    found = []
    if last.private > first.private * (1 + rest) + rest_bytes:
        found.append(f"{label}: {last.private / MIB:.1f} MiB private, {first.private / MIB:.1f} MiB at its first rest")
    if last.descriptors > first.descriptors + descriptors:
        found.append(f"{label}: {last.descriptors} descriptors, {first.descriptors} at its first rest")
    return found
