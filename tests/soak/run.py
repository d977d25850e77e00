#!/usr/bin/env python3
"""make soak MINUTES=n: every kind of call from several stock clients, with cancellations, while hosts and engines are
killed; every answer is checked, and at the end of each round everything must be back where it was (verdict.py).

    run.py --build-dir DIR [--minutes N] [--seed N] [--round SECONDS] [--json FILE]

A round: calls and kills; then no kill; then no call, until the engines have nothing left; then the journal of the handlers
and each process's memory are judged. Prints a line a round and a table at the end; ends with 1 if anything was violated.
The seed decides what is called and killed; when, the machine decides.
"""
import argparse
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parent / "hostile")]

import verdict  # noqa: E402
from certificates import Authority  # noqa: E402
from guests import make_guests  # noqa: E402
from measure import sample  # noqa: E402
from rig import make_rigs  # noqa: E402
from stubs import make_stubs  # noqa: E402
from verdict import LATE, MIB, Window  # noqa: E402

THREADS = 4  # callers of each target
SHOWN = 20  # violations of a round that are printed; --json has all


class Callers:
    """caller.py for one rig."""

    def __init__(self, folder, seed, rig):
        targets = [{"name": target, "address": address, "threads": THREADS,
                    "roots": str(rig.tls.pem()) if target in rig.secure else "", "intercepted": target in rig.intercepted}
                   for target, address in rig.addresses.items()]
        self.process = subprocess.Popen(
            [sys.executable, "-B", str(HERE / "caller.py"), str(folder), str(seed), rig.name, json.dumps(targets)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.calls, self.unsure, self.threads, self.over = [], set(), [], threading.Event()
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            report = json.loads(line)
            what = report.pop("what")
            if what == "call":
                self.calls.append(report)
                self.unsure.add(report["ident"])
            elif what == "unsure":
                self.unsure.add(report["ident"])
            elif what == "thread":
                self.threads.append(report)
            else:
                self.over.set()
        self.over.set()

    def tell(self, words):
        self.process.stdin.write(words + "\n")
        self.process.stdin.flush()

    def begin(self, number):
        self.calls, self.unsure, self.threads = [], set(), []
        self.over.clear()
        self.tell(f"begin {number}")

    def end(self, seconds=120):
        """False if a call is still without an end."""
        self.tell("end")
        return self.over.wait(seconds) and self.process.poll() is None

    def stop(self):
        self.process.stdin.close()
        self.process.wait(30)


class Watch(threading.Thread):
    """Deaths that nobody ordered, and times in which the machine stood still."""

    PERIOD, STALL = 0.1, 2.0

    def __init__(self, rigs):
        super().__init__(daemon=True)
        self.rigs, self.found, self.stalls, self.ending = rigs, [], [], threading.Event()

    def run(self):
        last = time.monotonic()
        while not self.ending.wait(self.PERIOD):
            now = time.monotonic()
            if now - last > self.STALL:
                self.stalls.append(Window("the machine stood still", frozenset(), last, now + 30, LATE))
            last = now
            for rig in self.rigs:
                self.found += [text for text in rig.died() if text not in self.found]


def scrape(address):
    with urllib.request.urlopen(f"http://{address}/metrics", timeout=10) as reply:
        lines = reply.read().decode().splitlines()
    return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in lines if not line.startswith("#")}


class Soak:
    def __init__(self, build, seed, folder):
        self.seed, self.folder = seed, pathlib.Path(folder)
        self.journal = self.folder / "journal"
        self.journal.touch()
        tls = Authority(self.folder / "tls")
        tls.sign("server", alternative="DNS:localhost,IP:127.0.0.1")
        self.rigs = []
        self.rigs = make_rigs(build, self.folder, seed, tls, self.journal)
        stubs = make_stubs(build)
        self.callers = [Callers(stubs, seed, rig) for rig in self.rigs]
        self.guests = make_guests(seed, self.rigs, build, self.folder)
        self.watch = Watch(self.rigs)
        self.watch.start()
        self.counts, self.took, self.excused, self.violations = {}, {}, 0, []
        self.memory = {}  # {label and pid: (first, last) sample}
        self.rounds = 0

    # ---- one round
    def round(self, seconds, pause):
        number = self.rounds = self.rounds + 1
        for caller in self.callers:
            caller.begin(number)
        for thing in self.guests:
            thing.begin()
        for rig in self.rigs:
            rig.begin(pause)
        time.sleep(seconds)
        for rig in self.rigs:
            rig.end_kills()
        time.sleep(1)
        found = []
        for rig, caller in zip(self.rigs, self.callers):
            if not caller.end():
                found.append(f"callers of {rig.name}: a call has no end, or they died")
        for guest in self.guests:
            found += guest.end(self.watch.stalls)
        found += self.judge(number) + self.rest()
        for text in found:
            if "ngine" in text and "metrics" in text or "is gone" in text:
                found += [f"{host.name} said: {host.server.stderr()[-1500:]}" for rig in self.rigs for host in rig.hosts
                          if rig.name == "child"]
                break
        self.violations += [f"round {number}: {text}" for text in found]
        return found

    def judge(self, number):
        found, made, unsure = [], {}, set()
        for rig, caller in zip(self.rigs, self.callers):
            texts, excused = verdict.judge_calls(caller.calls, rig.windows + self.watch.stalls)
            found += texts
            self.excused += excused
            unsure |= caller.unsure
            seen = {}
            for thread in caller.threads:
                made[thread["thread"]] = thread["made"]
                seen.setdefault(thread["target"], set()).update(thread["pids"])
                for key, count in thread["counts"].items():
                    self.counts[key] = self.counts.get(key, 0) + count
                for kind, times in thread["took"].items():
                    self.took.setdefault(kind, []).extend(times)
            found += verdict.judge_pids(seen, rig.pids()) + rig.found
            rig.found.clear()
        self.idle = self.until_idle()
        found += self.idle
        lines = self.journal.read_text().splitlines()
        os.truncate(self.journal, 0)
        found += verdict.judge_journal(number, made, unsure, lines)
        found += self.watch.found
        self.watch.found.clear()
        return found

    def until_idle(self, seconds=15):
        """Violations of what is left in the engines, after that time."""
        end = time.monotonic() + seconds
        while True:
            found = []
            for rig in self.rigs:
                for engine in rig.engines:
                    try:
                        found += verdict.judge_metrics(engine.name, scrape(engine.metrics))
                    except OSError as error:
                        found.append(f"engine {engine.name} gives no metrics: {error}")
            if not found or time.monotonic() > end:
                return found
            time.sleep(0.2)

    def rest(self):
        """Memory of every process, compared with its own first rest."""
        found = []
        for rig in self.rigs:
            for kind, things in (("engine", rig.engines), ("host", rig.hosts)):
                for thing in things:
                    try:
                        now = sample(thing.pid)
                    except AssertionError:
                        now = None
                    if now is None:
                        found.append(f"{kind} {thing.name} is gone")
                        continue
                    label = f"{kind} {thing.name} ({thing.pid})"
                    first = self.memory.setdefault(label, (now, now))[0]
                    self.memory[label] = (first, now)
                    found += verdict.judge_memory(label, first, now)
        return found

    def stop(self):
        self.watch.ending.set()
        self.watch.join()
        for caller in self.callers:
            caller.stop()
        for rig in self.rigs:
            rig.stop()

    # ---- the report
    def report(self):
        kills = {}
        for rig in self.rigs:
            kills.update(rig.kills)
        kinds = {}
        for key, count in self.counts.items():
            kind, status = key.split()
            kinds.setdefault(kind, {})[status] = count
        rows = {}
        for kind, statuses in sorted(kinds.items()):
            times = sorted(self.took.get(kind, []))
            rows[kind] = {"calls": sum(statuses.values()), "statuses": statuses,
                          "p50_ms": round(times[len(times) // 2] * 1e3, 2) if times else None,
                          "p99_ms": round(times[len(times) * 99 // 100] * 1e3, 2) if times else None}
        return {"seed": self.seed, "rounds": self.rounds, "kinds": rows, "excused": self.excused, "kills": kills,
                "stalls": len(self.watch.stalls),
                "guests": {guest.name: getattr(guest, "calls", guest.runs) for guest in self.guests},
                "memory_mib": {label: [round(first.private / MIB, 1), round(last.private / MIB, 1)]
                               for label, (first, last) in self.memory.items() if first is not last},
                "violations": self.violations}


def table(report):
    lines = [f"{'kind':16} {'calls':>8} {'p50 ms':>9} {'p99 ms':>9}  statuses"]
    for kind, row in report["kinds"].items():
        statuses = ", ".join(f"{name} {count}" for name, count in sorted(row["statuses"].items()))
        p50, p99 = ("-" if row[name] is None else f"{row[name]:.2f}" for name in ("p50_ms", "p99_ms"))
        lines.append(f"{kind:16} {row['calls']:8} {p50:>9} {p99:>9}  {statuses}")
    lines.append(f"excused by a kill in their window: {report['excused']}; times the machine stood still: {report['stalls']}")
    lines += [f"{count:5} x {what}" for what, count in sorted(report["kills"].items())]
    lines += [f"{name}: {count} {'calls or messages' if name == 'drover-load' else 'runs'}"
              for name, count in report["guests"].items()]
    lines += [f"{label}: {first} -> {last} MiB private" for label, (first, last) in report["memory_mib"].items()]
    return "\n".join(lines)


def soak(build, minutes, seed, round_seconds, out=sys.stdout):
    """The report; its "violations" are empty if all was well."""
    rng_pause = max(1.0, min(4.0, round_seconds / 5))
    with tempfile.TemporaryDirectory(prefix="drover-soak-") as folder:
        run = Soak(build, seed, folder)
        try:
            end = time.monotonic() + minutes * 60
            began = time.monotonic()
            while run.rounds < 2 or time.monotonic() < end:
                found = run.round(round_seconds, rng_pause)
                calls = sum(run.counts.values())
                print(f"round {run.rounds}: {time.monotonic() - began:.0f} s, {calls} calls, {run.excused} excused, "
                      f"{len(run.violations)} violations", file=out, flush=True)
                for text in found[:SHOWN]:
                    print(f"  VIOLATION {text}", file=out, flush=True)
            return run.report()
        finally:
            run.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build-dir", type=pathlib.Path, required=True)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--round", type=float, default=20, help="seconds of calls and kills between two rests")
    parser.add_argument("--json", type=pathlib.Path)
    arguments = parser.parse_args()
    seed = arguments.seed if arguments.seed is not None else random.SystemRandom().randrange(1 << 32)
    print(f"seed {seed}", flush=True)
    report = soak(arguments.build_dir.resolve(), arguments.minutes, seed, arguments.round)
    print(table(report))
    if arguments.json:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps(report, indent=1) + "\n")
    for text in report["violations"][:SHOWN]:
        print(f"VIOLATION {text}")
    print(f"{len(report['violations'])} violations, seed {seed}")
    return 1 if report["violations"] else 0


if __name__ == "__main__":
    sys.exit(main())
