"""Other stock clients of the soak: gRPC for Go and Node (tests/clients), and drover-load. Each runs again and again for a
round, as a program of its own, and is judged by what it says failed.
"""
import json
import pathlib
import random
import shutil
import subprocess
import threading
import time

from verdict import judge_guest, judge_load

TESTS = pathlib.Path(__file__).resolve().parents[1]
TOOLS = TESTS.parent / "tools"


class Guest:
    """One kind of client in a thread; `found` are its violations of the last round."""

    def __init__(self, name, rng, rigs):
        self.name, self.rng = name, rng
        self.targets = [(rig, target) for rig in rigs for target in rig.addresses if target not in rig.secure]
        self.runs, self.results, self.thread, self.ending = 0, [], None, threading.Event()

    def begin(self):
        self.results = []
        self.ending.clear()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        while not self.ending.is_set():
            rig, target = self.rng.choice(self.targets)
            began = time.monotonic()
            said = self.once(rig.addresses[target])
            self.results.append((rig, target, began, time.monotonic(), said))
            self.runs += 1
            self.ending.wait(self.rng.uniform(0.5, 3))

    def end(self, stalls):
        """Violations of the round."""
        self.ending.set()
        self.thread.join()
        return [text for rig, target, began, ended, said in self.results
                for text in self.judge(target, began, ended, said, rig.windows + stalls)]


class Program(Guest):
    """Ends with the line "N passed, M failed"; a line "failed: ..." on stderr for each failure."""

    def __init__(self, name, rng, rigs, command):
        super().__init__(name, rng, rigs)
        self.command = command

    def once(self, address):
        try:
            done = subprocess.run([*self.command[:-1], address, self.command[-1], "100"], capture_output=True, text=True,
                                  timeout=120)
        except subprocess.TimeoutExpired:
            return ["hangs: no end after 120 s"]
        complaints = [line for line in done.stderr.splitlines() if line.startswith("failed:")]
        if not done.stdout.strip().endswith(f"{len(complaints)} failed"):
            complaints.append(f"it ended with {done.returncode}: {done.stdout[-200:]} {done.stderr[-500:]}")
        return complaints

    def judge(self, target, began, ended, said, windows):
        return judge_guest(self.name, target, began, ended, said, windows)


class Load(Guest):
    """drover-load: a stream each way, each message compared with what was sent; or unary calls at a high rate."""

    def __init__(self, rng, rigs, program, folder):
        super().__init__("drover-load", rng, rigs)
        self.targets = [(rig, target) for rig in rigs for target in rig.addresses]
        self.secure = {rig.addresses[target] for rig in rigs for target in rig.secure}
        self.program, self.folder, self.calls = program, folder, 0
        payload = 40
        (folder / "item").write_bytes(bytes([0x12, payload]) + bytes(payload))  # Item.payload
        (folder / "size").write_bytes(b"\x08\x64")  # SizedRequest.size = 100

    def once(self, address):
        service = "/drover.testing."
        flags = self.rng.choice([
            ["--path", service + "StreamService/Talk", "--body-file", self.folder / "item", "--unique", "--messages", "4"],
            ["--path", service + "TestService/Sized", "--body-file", self.folder / "size", "--expect", "any"]])
        if address in self.secure:
            flags.append("--tls")
        done = subprocess.run(
            ["nice", self.program, "--address", address, *flags, "--tolerate-errors", "--connections", "2", "--streams", "4",
             "--duration", "1", "--warmup", "0"], capture_output=True, text=True, timeout=120)
        try:
            result = json.loads(done.stdout)
        except ValueError:
            result = {"errors": {}, "failures": {f"it ended with {done.returncode}: {done.stderr[-500:]}": 1},
                      "whole_run": {"succeeded": 0}}
        self.calls += result["whole_run"]["succeeded"]
        return result

    def judge(self, target, began, ended, said, windows):
        return judge_load(target, began, ended, said, windows)


def make_guests(seed, rigs, build, folder):
    """Those that are built here."""
    load = build / "bench" / "load" / "drover-load"
    guests = [Load(random.Random(f"{seed}/load"), rigs, load, folder)] if load.exists() else []
    go, node = TOOLS / "go" / "bin" / "go_client", TOOLS / "node" / "node_modules" / "@grpc"
    if go.exists():
        descriptors = folder / "testing.binpb"
        subprocess.run(["protoc", f"-I{TESTS / 'service'}", "--include_imports", f"--descriptor_set_out={descriptors}",
                        "testing.proto"], check=True)
        guests.append(Program("go_client", random.Random(f"{seed}/go"), rigs, [go, descriptors]))
    if shutil.which("node") and node.exists():
        guests.append(Program("node_client", random.Random(f"{seed}/node"), rigs,
                              ["node", TESTS / "clients" / "node_client.js", TESTS / "service" / "testing.proto"]))
    return guests
