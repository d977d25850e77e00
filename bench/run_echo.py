"""The echo benchmark: Drover beside its peers, in one run, under the same load on the same cores.

For every case, and in every round, each server in turn is started on the server CPU, checked with one call, and loaded
by drover-load on the client CPU. CPU per request is the CPU time of the server's processes during the measured window
over the requests in that window. Medians over the rounds are compared; `ratio` is always drover / peer.

The peers are gRPC C++'s two servers; with --peers also tonic and grpc-go, which are built first (echo_peers.py).

With --set stream the calls are long and carry messages both ways: what is said of requests here is then true of
messages.

Writes echo.json (or stream.json, and so on) (rows of {case, metric, unit, drover, peer, peer_name, ratio}), echo.txt (the table), echo.png (the
chart) and echo_run.json (every measurement, the machine, the peers' versions). With --quick the table and chart of
`make demo`.
"""

import argparse
import collections
import json
import os
import pathlib
import platform
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import echo_peers  # noqa: E402
import echo_report as report  # noqa: E402
from echo_servers import EchoServer, ServerFailed  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent
PACKAGE = "/drover.examples.echo."
SEED = 1
RING_TIMEOUT_S = 120  # two spinning threads on a busy machine may take for ever
STRANGERS_LIMIT = 0.1  # cores; above it a measurement was disturbed by other processes

# What a case sends, with how many calls in flight. Cases with `published` use HyperProtoBench's messages if built.
Case = collections.namedtuple("Case", "name method body connections streams published messages", defaults=[0])
ECHO_CASES = [
    Case("unary-32B", "Echo/Unary", "unary-32B", 10, 20, False),
    Case("unary-32B-c100m1", "Echo/Unary", "unary-32B", 100, 1, False),
    Case("unary-32B-c1m1", "Echo/Unary", "unary-32B", 1, 1, False),
    Case("unary-1KiB", "Echo/Unary", "unary-1KiB", 10, 20, False),
    Case("hpb-845B", "Echo/Small", "small", 10, 20, True),
    Case("hpb-36KB", "Echo/Medium", "medium", 10, 4, True),
    Case("hpb-325KB", "Echo/Large", "large", 4, 4, True),
]
STREAM_CASES = [
    Case("stream-64B", "EchoStream/Stream", "stream-64B", 10, 1, False, 20),
    Case("stream-16KiB", "EchoStream/Stream", "stream-16KiB", 10, 1, False, 4),
]
QUICK_CASES = ["unary-32B", "unary-1KiB"]

# What --set chooses: the cases, the chart's title, the peers that have them.
CaseSet = collections.namedtuple("CaseSet", "cases title peers")
SETS = {
    "echo": CaseSet(ECHO_CASES, "Unary echo on one server core", [peer.name for peer in echo_peers.PEERS]),
    "stream": CaseSet(STREAM_CASES, "Echo on bidirectional streams, one server core", ["grpc-async", "grpc-callback"]),
}

QUEUE_PROGRAM = "echo_queue_server"  # the source of grpc-async on Drover
DROVER = ("drover", "echo_server")  # name and program; as with the peers', suffix _hpb for the published messages


class Stop(Exception):
    """The benchmark cannot go on; the message says why."""


class Progress:
    def __init__(self, steps):
        self._begin = time.monotonic()
        self._steps = steps
        self._step = 0

    def say(self, text):
        print(f"[{time.monotonic() - self._begin:6.1f} s] {text}", flush=True)

    def step(self, text):
        self._step += 1
        self.say(f"{self._step:3}/{self._steps} {text}")


def find_program(build_dir, name, required=True):
    """The program of that name that was built last, anywhere below the build directory's own folders, or a peer."""
    folders = [build_dir / folder for folder in ("bench", "examples", "channel", "engine", "host")] + [echo_peers.BIN]
    found = [path for folder in folders for path in folder.rglob(name) if path.is_file() and os.access(path, os.X_OK)]
    if not found and required:
        raise Stop(f"there is no {name} below {build_dir}: build it first (make build)")
    return max(found, key=lambda path: path.stat().st_mtime) if found else None


class Bench:
    def __init__(self, args):
        self.args = args
        self.build_dir = args.build_dir
        self.cases = self._choose_cases()
        self.rounds = args.rounds or (2 if args.quick else 5)
        self.warmup = args.warmup if args.warmup is not None else (0.4 if args.quick else 1.0)
        self.seconds = args.seconds or (1.5 if args.quick else 4.0)
        self.load = find_program(self.build_dir, "drover-load")
        self.published = not args.generated and (self.build_dir / "bench/hyperprotobench/bodies").is_dir()
        if args.hyperprotobench and not self.published:
            raise Stop(f"{self.build_dir} has no servers for the published messages: configure it with "
                       f"-DHYPERPROTOBENCH={args.hyperprotobench}")
        self.log_dir = args.out_dir / "logs"
        self.system = args.stand_in or DROVER[0]
        self.peers = [peer for peer in args.peers if peer.name != self.system]
        if not self.peers:
            raise Stop(f"there is no peer left to compare {self.system} with: give another with --peers")
        self.peer_names = [peer.name for peer in self.peers]
        started = [peer for peer in echo_peers.PEERS if peer in args.peers or peer.name == self.system]
        self.servers = [] if args.stand_in else [DROVER]
        self.servers += [(peer.name, peer.program) for peer in started]
        self.progress = Progress(len(self.cases) * len(self.servers) * self.rounds)
        echo_peers.build(started, self._proto_dirs(), args.jobs, self.progress.say)
        for case in self.cases:
            for name, program in self.servers:
                self.server(case, name, program)  # so that a missing program is known before the first measurement
        self.bodies = self._make_bodies()
        self.results = {case.name: {} for case in self.cases}
        self.raw = []
        self.failure = None

    def _choose_cases(self):
        cases = SETS[self.args.set].cases
        wanted = self.args.only or (QUICK_CASES if self.args.quick else [case.name for case in cases])
        return [case for case in cases if case.name in wanted]

    def _suffix(self, case):
        return "_hpb" if case.published and self.published else ""

    def _proto_dirs(self):
        """{suffix of the server programs: folder of their echo.proto}, of the chosen cases."""
        folders = {"": ROOT / "examples/echo", "_hpb": self.build_dir / "bench/hyperprotobench"}
        return {suffix: folders[suffix] for suffix in sorted({self._suffix(case) for case in self.cases})}

    def _make_bodies(self):
        folder = self.args.out_dir / "bodies"
        folder.mkdir(parents=True, exist_ok=True)
        bodies = {}
        for case in self.cases:
            if case.published and self.published:
                bodies[case.name] = self.build_dir / "bench/hyperprotobench/bodies" / case.body
                continue
            bodies[case.name] = folder / case.body
            subprocess.run([find_program(self.build_dir, "drover-echo-body"), "--kind", case.body, "--seed", str(SEED),
                            "-o", bodies[case.name]], check=True)
        return bodies

    def server(self, case, name, program):
        if name == DROVER[0] and self.args.queues:
            program = QUEUE_PROGRAM
        return EchoServer(name, find_program(self.build_dir, program + self._suffix(case)), self.args.server_cpu,
                          self.log_dir, self.args.busy_loop_ns, has_engine=name == DROVER[0])

    def load_command(self, case, server, *more):
        return [str(self.load), "--address", server.address, "--path", PACKAGE + case.method, "--body-file",
                str(self.bodies[case.name]), "--cpu", str(self.args.client_cpu),
                *(["--messages", str(case.messages)] if case.messages else []), *more]

    def check_one_call(self, case, server):
        done = subprocess.run(self.load_command(case, server, "--requests", "1", "--call-timeout", "10"),
                              capture_output=True, text=True, timeout=60)
        if done.returncode != 0:
            server.check_alive()
            raise Stop(f"{case.name}: {server.name} answers a single call wrongly:\n{done.stderr}"
                       f"  its log: {server.log_path}")

    def measure(self, case, server):
        """One measurement; CPU times are read when the client says that its window begins and ends."""
        command = self.load_command(case, server, "--connections", str(case.connections), "--streams",
                                    str(case.streams), "--warmup", str(self.warmup), "--duration", str(self.seconds),
                                    "--announce")
        samples = {}
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as client:
            try:
                for line in client.stdout:
                    if line.strip() not in ("begin", "end"):
                        break
                    samples[line.strip()] = (time.monotonic(), server.cpu_times(), self._busy_seconds())
                text = line + client.stdout.read()
                errors = client.stderr.read()
                code = client.wait()
            except BaseException:
                client.kill()
                raise
        if code != 0 or set(samples) != {"begin", "end"}:
            server.check_alive()
            raise Stop(f"{case.name}: the load on {server.name} failed (code {code}):\n{errors}"
                       f"  server's log: {server.log_path}")
        return self._measurement(json.loads(text), samples)

    @staticmethod
    def _measurement(load, samples):
        # Our samples lie a little after the window's edges: a rate of CPU time over a rate of requests is exact still.
        (begin, before, busy_before), (end, after, busy_after) = samples["begin"], samples["end"]
        per_request = {part: (after[part] - before[part]) / (end - begin) / load["rps"] * 1e6 for part in before}
        total = sum(per_request.values())
        server_cores = total * load["rps"] * 1e-6
        client_cores = load["client_cpu_seconds"] / load["seconds"]
        others = (busy_after - busy_before) / (end - begin) - server_cores - client_cores
        return {"rps": load["rps"], "p50": load["latency_us"]["p50"], "p99": load["latency_us"]["p99"],
                "cpu_total": total, "cpu_host": per_request["host"], "cpu_engine": per_request.get("engine", 0.0),
                "server_cores": server_cores, "client_cores": client_cores, "other_cores": max(0.0, others)}

    def _busy_seconds(self):
        """Busy time of the two CPUs in use: any excess over server and client belongs to other processes."""
        busy = 0
        for line in pathlib.Path("/proc/stat").read_text().splitlines():
            fields = line.split()
            if fields[0] in (f"cpu{self.args.server_cpu}", f"cpu{self.args.client_cpu}"):
                user, nice, system, _, _, irq, softirq, steal = map(int, fields[1:9])
                busy += user + nice + system + irq + softirq + steal
        return busy / os.sysconf("SC_CLK_TCK")

    def run(self):
        for round_ in range(1, self.rounds + 1):
            for case in self.cases:
                # Each round begins with another server, so that none always follows the same one.
                shift = round_ % len(self.servers)
                for name, program in self.servers[shift:] + self.servers[:shift]:
                    self._one(round_, case, name, program)

    def _one(self, round_, case, name, program):
        with self.server(case, name, program) as server:
            self.check_one_call(case, server)
            if self.args.h2load:
                measured = self.measure_with_h2load(case, server)
            else:
                measured = self.measure(case, server)
        self.results[case.name].setdefault(name, []).append(measured)
        self.raw.append({"round": round_, "case": case.name, "server": name, **measured})
        parts = f"{measured['cpu_host']:.2f} host + {measured['cpu_engine']:.2f} engine" if name == DROVER[0] else ""
        note = "  (client-bound)" if measured["client_cores"] > 0.97 and measured["server_cores"] < 0.97 else ""
        if measured["other_cores"] > STRANGERS_LIMIT:
            note += f"  (others took {measured['other_cores']:.2f} cores)"
        self.progress.step(f"round {round_}/{self.rounds}  {case.name:17} {name:14} {measured['rps']:10,.0f} req/s  "
                           f"CPU {measured['cpu_total']:8.2f} us {parts}  p99 {measured['p99']:8.0f} us{note}")

    def measure_with_h2load(self, case, server):
        """The same case under h2load: it ignores grpc-status (our one call before it did not) and checks no reply."""
        body = self.bodies[case.name].read_bytes()
        seconds, warmup = max(1, round(self.seconds)), max(1, round(self.warmup))  # h2load takes whole seconds
        framed = self.args.out_dir / "bodies" / f"{case.body}.framed"
        framed.write_bytes(b"\0" + len(body).to_bytes(4, "big") + body)
        command = ["taskset", "-c", str(self.args.client_cpu), "h2load", "-c", str(case.connections), "-m",
                   str(case.streams), "-D", str(seconds), "--warm-up-time", str(warmup), "-w", "24", "-W",
                   "30", "-d", str(framed), "-H", "content-type: application/grpc", "-H", "te: trailers",
                   f"http://{server.address}{PACKAGE}{case.method}"]
        # h2load does not say when its window begins: CPU is taken over its whole run, and so are the requests.
        before, begin = server.cpu_times(), time.monotonic()
        done = subprocess.run(command, capture_output=True, text=True)
        after, end = server.cpu_times(), time.monotonic()
        rate = re.search(r"finished in [\d.]+m?s, ([\d.]+) req/s", done.stdout)
        latency = re.search(r"time for request:\s+\S+\s+\S+\s+(\S+)", done.stdout)
        failed = re.search(r"(\d+) failed, (\d+) errored, (\d+) timeout", done.stdout)
        if done.returncode != 0 or not rate or not failed or any(int(n) for n in failed.groups()):
            raise Stop(f"{case.name}: h2load on {server.name} failed:\n{done.stdout}{done.stderr}")
        rps = float(rate.group(1))
        busy = {part: after[part] - before[part] for part in before}
        requests = rps * (seconds + warmup)
        per_request = {part: seconds / requests * 1e6 for part, seconds in busy.items()}
        mean = _to_us(latency.group(1)) if latency else float("nan")
        return {"rps": rps, "p50": mean, "p99": mean, "cpu_total": sum(per_request.values()),
                "cpu_host": per_request["host"], "cpu_engine": per_request.get("engine", 0.0),
                "server_cores": sum(busy.values()) / (end - begin), "client_cores": 0.0, "other_cores": 0.0}

    def ring_rows(self):
        """The ring's row, measured last; if it fails, the other measurements are still written."""
        program = find_program(self.build_dir, "ring_bench", required=False)
        if program is None:
            self.progress.say("ring: left out, there is no ring_bench in the build directory")
            return []
        path = self.args.out_dir / "ring.json"
        path.unlink(missing_ok=True)
        os.sched_setaffinity(0, range(os.cpu_count()))  # it pins its own threads
        try:
            subprocess.run([program, "--json", path], stdout=subprocess.DEVNULL, check=True, timeout=RING_TIMEOUT_S)
            ring = json.loads(path.read_text())
        except (subprocess.SubprocessError, OSError, ValueError) as error:
            self.failure = f"ring: {error}"
            self.progress.say(f"{self.failure}; its row is left out")
            return []
        self.progress.say(f"ring: round trip {ring['ring_rtt_ns']:.0f} ns, ping-pong {ring['ping_pong_rtt_ns']:.0f} ns")
        return [report.row("ring", "rtt", ring["ring_rtt_ns"], ring["ping_pong_rtt_ns"], "ping-pong")]

    def rows(self):
        rows = []
        for case in self.cases:
            servers = self.results[case.name]
            rows += report.rows_of_case(case.name, servers[self.system],
                                        {name: servers[name] for name in self.peer_names},
                                        rate="rate" if case.messages else "rps")
        return rows

    def write(self, rows):
        out = self.args.out_dir
        stem = "echo_h2load" if self.args.h2load else self.args.set
        table, chart = ("table.txt", "chart.png") if self.args.quick else (f"{stem}.txt", f"{stem}.png")
        notes = self.notes()
        text = report.table(rows, self.system, notes)
        (out / table).write_text(text)
        (out / f"{stem}.json").write_text(json.dumps(rows, indent=1) + "\n")
        run = {"machine": machine(), "peers": {peer.name: peer.versions() for peer in self.peers}, "notes": notes,
               "measurements": self.raw}
        (out / f"{stem}_run.json").write_text(json.dumps(run, indent=1) + "\n")
        written = [table, f"{stem}.json", f"{stem}_run.json"]
        if not self.args.no_chart:
            report.chart(out / chart, self.results, self.system, self.peer_names, SETS[self.args.set].title, notes[-1])
            written.append(chart)
        print("\n" + text)
        self.progress.say(f"written to {out}: {', '.join(written)}")

    def notes(self):
        client = "h2load (p50 and p99 are its mean)" if self.args.h2load else "drover-load"
        notes = []
        if self.args.stand_in:
            notes.append(f"NOT DROVER: {self.args.stand_in} stands in for it; no ratio here says anything about Drover.")
        if any(case.published for case in self.cases):
            notes.append("hpb-*: the published HyperProtoBench messages." if self.published else
                         "hpb-*: generated messages of HyperProtoBench's shape and sizes.")
        if self.args.busy_loop_ns:
            notes.append(f"Every call spins {self.args.busy_loop_ns} ns as business logic.")
        idle = [f"{case} {name}" for case, servers in self.results.items() for name, measured in servers.items()
                if report.median_of(measured, "server_cores") < 0.9]
        if idle and not self.args.h2load:
            notes.append("The server's core was under 90 % busy (bound by the client, or disturbed) in: "
                         + ", ".join(idle) + ".")
        disturbed = [run for run in self.raw if run["other_cores"] > STRANGERS_LIMIT]
        if disturbed:
            notes.append(f"{len(disturbed)} of {len(self.raw)} measurements were disturbed: other processes took over "
                         f"{STRANGERS_LIMIT:g} cores. Run again on an idle machine.")
        made_of = [", ".join(f"{part} {version}" for part, version in peer.versions().items()) for peer in self.peers]
        notes.append(f"Peers: {'; '.join(dict.fromkeys(made_of))}.")
        notes.append(f"Medians of {self.rounds} rounds of {self.seconds:g} s; server processes on CPU "
                     f"{self.args.server_cpu}, {client} on CPU {self.args.client_cpu}; {machine()['cpu']}, "
                     f"Linux {platform.release()}.")
        return notes


def _to_us(text):
    value, unit = re.fullmatch(r"([\d.]+)(us|ms|s)", text).groups()
    return float(value) * {"us": 1, "ms": 1e3, "s": 1e6}[unit]


def machine():
    model = re.search(r"model name\s*:\s*(.+)", pathlib.Path("/proc/cpuinfo").read_text())
    return {"cpu": model.group(1) if model else platform.machine(), "cpus": os.cpu_count(),
            "kernel": platform.release(), "load_average": os.getloadavg()[0]}


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build-dir", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--out-dir", type=pathlib.Path, help="default: build/bench; with --quick build/demo")
    parser.add_argument("--hyperprotobench", type=pathlib.Path, metavar="DIR",
                        help="insist on the published messages of DIR, which the build must have been given too")
    parser.add_argument("--peers", type=echo_peers.choose, default=echo_peers.DEFAULT, metavar="all|NAME,...",
                        help=f"of {', '.join(peer.name for peer in echo_peers.PEERS)} (default: {echo_peers.DEFAULT})")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="compilers at once, where a peer is built")
    parser.add_argument("--quick", action="store_true", help="the demo's short version, about half a minute")
    parser.add_argument("--set", choices=SETS, default="echo", help="which cases (default: echo)")
    parser.add_argument("--only", action="append", metavar="CASE",
                        choices=[case.name for chosen in SETS.values() for case in chosen.cases])
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--seconds", type=float, help="measured seconds a round")
    parser.add_argument("--warmup", type=float, help="seconds before them")
    parser.add_argument("--server-cpu", type=int, default=0)
    parser.add_argument("--client-cpu", type=int, default=1)
    parser.add_argument("--busy-loop-ns", type=int, default=0, help="business logic of each call")
    parser.add_argument("--generated", action="store_true",
                        help="generated messages in the hpb cases even if the published ones were built")
    parser.add_argument("--queues", action="store_true",
                        help="Drover's server through a completion queue, in place of the callback API")
    parser.add_argument("--h2load", action="store_true", help="cross-check with h2load as the client")
    parser.add_argument("--stand-in", choices=[peer.name for peer in echo_peers.PEERS],
                        help="take a peer in Drover's place, to try the benchmark itself")
    parser.add_argument("--no-chart", action="store_true", help="do without matplotlib")
    args = parser.parse_args()
    if args.set != "echo" and (args.quick or args.h2load):
        parser.error("--quick and --h2load are of --set echo")
    missing = [peer.name for peer in args.peers if peer.name not in SETS[args.set].peers]
    if missing:
        parser.error(f"--set {args.set}: {', '.join(missing)} does not serve it")
    args.build_dir = args.build_dir.resolve()
    args.out_dir = (args.out_dir or ROOT / "build" / ("demo" if args.quick else "bench")).resolve()
    args.out_dir.mkdir(parents=True, exist_ok=True)
    return args


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    signal.signal(signal.SIGHUP, lambda *_: sys.exit(129))
    args = parse_arguments()
    try:
        if not args.no_chart:
            report.load_matplotlib()
        bench = Bench(args)
        # The benchmark's own few instructions run beside the client, never on the server's CPU.
        os.sched_setaffinity(0, {args.client_cpu})
        bench.run()
        bench.write(bench.rows() + (bench.ring_rows() if args.set == "echo" and not args.quick else []))
        if bench.failure:
            raise Stop(bench.failure)
    except ImportError as error:
        sys.exit(f"run_echo.py: {error}; use the venv that make setup makes, or --no-chart")
    except (Stop, ServerFailed, echo_peers.BuildFailed, subprocess.SubprocessError, OSError) as error:
        sys.exit(f"run_echo.py: {error}")
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
