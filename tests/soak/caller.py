"""A process of callers: threads that make random calls with stock channels, round by round.

    caller.py STUBS SEED NAME TARGETS      TARGETS: JSON, [{name, address, roots, threads, intercepted}]

stdin: "begin ROUND" and "end" in turn; the end of stdin is the end. stdout, a JSON object a line: a "call" for each call
that did not end as planned, and at the end of a round one "thread" for each thread with all that it did. A call's ident is
NAME.THREAD.ROUND.NUMBER, its numbers count from 0.
"""
import json
import random
import sys
import threading
import time

import grpc

from kinds import KINDS, Caller, Wrong

# The least back-off is also the longest that an attempt to connect may take.
OPTIONS = [("grpc.initial_reconnect_backoff_ms", 50), ("grpc.min_reconnect_backoff_ms", 5000),
           ("grpc.max_reconnect_backoff_ms", 200), ("grpc.use_local_subchannel_pool", 1), ("grpc.enable_retries", 0),
           ("grpc.max_receive_message_length", -1)]


def channel_to(target):
    if not target["roots"]:
        return grpc.insecure_channel(target["address"], options=OPTIONS)
    with open(target["roots"], "rb") as file:
        return grpc.secure_channel(target["address"], grpc.ssl_channel_credentials(file.read()), options=OPTIONS)


class Reports:
    def __init__(self, out):
        self.out, self.lock = out, threading.Lock()

    def __call__(self, **report):
        with self.lock:
            self.out.write(json.dumps(report) + "\n")
            self.out.flush()


class CallerThread:
    """One after the other; a new channel now and then."""

    def __init__(self, seed, name, target, reports, generated):
        self.name, self.target, self.reports, self.generated = name, target, reports, generated
        self.rng = random.Random(f"{seed}/{name}")
        self.channel = None

    def run_round(self, number, ending):
        counts, took, pids, made = {}, {}, set(), 0
        while not ending.is_set():
            if self.channel is None or self.rng.random() < 0.005:
                self.renew()
            kind = self.rng.choices(list(KINDS), [kind.weight for kind in KINDS.values()])[0]
            caller = Caller(self.stubs, self.rng, f"{self.name}.{number}.{made}", self.target.get("intercepted", False))
            made += 1
            began = time.monotonic()
            status, details, wrong = self.call(kind, caller)
            ended = time.monotonic()
            pids.add(caller.pid)
            key = f"{kind} {status}"
            counts[key] = counts.get(key, 0) + 1
            took.setdefault(kind, []).append(round(ended - began, 5)) if status == "OK" else None
            planned = status in KINDS[kind].planned or status == "CANCELLED" and caller.cancelled
            if wrong or not planned or caller.done > 1:
                self.reports(what="call", target=self.target["name"], ident=caller.ident, kind=kind, began=began,
                             ended=ended, status=status, details=details, wrong=wrong, done=caller.done)
            elif status not in ("OK", "AS_ASKED"):  # a handler may have seen it, or not
                self.reports(what="unsure", ident=caller.ident)
            elif not KINDS[kind].noted:
                self.reports(what="unsure", ident=caller.ident)
            if status == "UNAVAILABLE":
                time.sleep(0.02)
        self.reports(what="thread", target=self.target["name"], thread=self.name, round=number, made=made, counts=counts,
                     took=took, pids=sorted(pids - {0}))

    @staticmethod
    def call(kind, caller):
        try:
            return *KINDS[kind].call(caller), ""
        except Wrong as wrong:
            return "WRONG", "", str(wrong)
        except Exception as error:  # the soak's own fault, or the client library's: never swallowed
            return "WRONG", "", f"{type(error).__name__}: {error}"

    def renew(self):
        messages, services = self.generated
        if self.channel is not None:
            self.channel.close()
        self.channel = channel_to(self.target)
        self.stubs = (messages, services.TestServiceStub(self.channel), services.StreamServiceStub(self.channel))


def main():
    folder, seed, name, targets = sys.argv[1], sys.argv[2], sys.argv[3], json.loads(sys.argv[4])
    sys.path.insert(0, folder)
    import testing_pb2
    import testing_pb2_grpc

    reports = Reports(sys.stdout)
    callers = [CallerThread(seed, f"{name}{i}t{n}", target, reports, (testing_pb2, testing_pb2_grpc))
               for i, target in enumerate(targets) for n in range(target["threads"])]
    ending, threads = threading.Event(), []
    for line in sys.stdin:
        words = line.split()
        if words[0] == "begin":
            ending.clear()
            threads = [threading.Thread(target=caller.run_round, args=(int(words[1]), ending)) for caller in callers]
            for thread in threads:
                thread.start()
        else:
            ending.set()
            for thread in threads:
                thread.join()
            reports(what="round over")


if __name__ == "__main__":
    main()
