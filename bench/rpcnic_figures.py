"""The RpcNIC paper's figures on the simulated systems: which runs each needs, its claims, and its chart.

Each figure is a function that takes a Simulator (bench/reproduce_rpcnic.py) and gives (claims, a function that draws);
it raises Absent if what it needs is not there. Ratios are geometric means over the workload's messages. Where the
host's CPU plays a part a claim has two figures, for warm and for cold caches (cpu.caches).
"""

import collections
import math
import statistics

LATENCIES = ["70ns", "180ns", "400ns", "800ns", "1250ns"]
INTERVALS = ["8ns", "16ns", "24ns", "32ns"]  # rpcnic.toml has 16 ns, an assumption
SMALL_FIELDS = 1024  # bytes of a message's mean field; the paper's "small-sized fields" are below
IN_FLIGHT = "32"  # where a claim is of throughput
CACHES = ("warm", "cold")

# paper: None where it gives no figure; cold: None where the CPU has no part in it.
Claim = collections.namedtuple("Claim", "figure what paper unit warm cold why", defaults=("",))


class Absent(Exception):
    """What a figure needs is not there; the text says what."""


def geomean(values):
    values = [value for value in values if value > 0]
    return statistics.geometric_mean(values) if values else math.nan


def times(run, leg, figure="time_ns"):
    return {message["name"]: message[leg][figure] for message in run["messages"]}


def ratios(slow, fast):
    """By message: how many times as long `slow` takes."""
    return {name: slow[name] / fast[name] for name in slow if fast[name] > 0}


def by_bench(values):
    """[(bench, geometric mean)] of {message: value}."""
    groups = collections.defaultdict(list)
    for name, value in values.items():
        groups[name.split(".")[0]].append(value)
    return [(bench, geomean(group)) for bench, group in sorted(groups.items())]


def bars(axes, series):
    """Grouped bars: [(label, [(bench, value)])]."""
    width = 0.8 / len(series)
    for i, (label, values) in enumerate(series):
        axes.bar([x + i * width for x in range(len(values))], [value for _, value in values], width, label=label)
        axes.set_xticks([x + 0.4 - width / 2 for x in range(len(values))], [bench for bench, _ in values], fontsize=7)
    axes.axhline(1, color="grey", linewidth=0.5)
    axes.legend(fontsize=7)


def both(value):
    """(warm, cold) of a function of the caches."""
    return tuple(value(caches) for caches in CACHES)


def compared(sim, figure, what, paper, slow, fast, leg="send", why="", column="time_ns"):
    """The claim how many times as long (or as much CPU) `slow` takes, and its ratios by caches and message. A system is
    a name, or a name and settings."""
    values = {}
    for caches in CACHES:
        runs = [sim.start(system, caches) if isinstance(system, str) else sim.start(system[0], caches, **system[1])
                for system in (slow, fast)]
        values[caches] = ratios(*(times(run.result(), leg, column) for run in runs))
    claim = Claim(figure, what, paper, "x", *both(lambda caches: geomean(values[caches].values())), why)
    return claim, values


def series(label, values):
    return [(f"{label}, {caches}", by_bench(values[caches])) for caches in CACHES]


# ---- the figures

def figure2(sim):
    """Serialization of pointer-chasing hardware against the link's latency."""
    runs = [sim.start("protoacc-pcie", link__latency=latency) for latency in LATENCIES]
    curves = collections.defaultdict(list)
    for run in runs:
        for name, value in times(run.result(), "send").items():
            curves[name].append(value)
    growth = {name: curve[-1] / curve[0] for name, curve in curves.items()}

    def draw(axes):
        for name, curve in curves.items():
            axes.plot([float(latency[:-2]) for latency in LATENCIES], [value / curve[0] for value in curve], marker="o",
                      markersize=2, linewidth=0.7, label=name)
        axes.set_xlabel("latency of the link, ns")
        axes.set_ylabel("serialization time / at 70 ns")

    return [Claim("2", "NIC-only serialization, 1250 ns over 70 ns of latency", 3.4, "x", geomean(growth.values()),
                  None, "the paper has it of bench2, whose messages are not among the published ones")], draw


def throughput(sim, system, message, caches="warm", **settings):
    """A future of a run with many of one message under way."""
    repeat = max(2, min(64, 262144 // max(1, message["wire_bytes"])))
    return sim.start(system, caches, message=message["name"], run__in_flight=IN_FLIGHT, run__repeat=str(repeat),
                     **settings)


def rate(future, leg):
    return future.result()[leg]["bytes_per_second"]


def figure5(sim):
    """One-shot DMA writes against field by field: deserialization throughput of each message."""
    alone = {message["name"]: message for message in
             sim.start("rpcnic", deserializer__one_shot="false").result()["messages"]}
    rates = {(name, interval): [throughput(sim, "rpcnic", message, link__interval=interval, **settings)
                                for settings in ({}, {"deserializer__one_shot": "false"})]
             for interval in INTERVALS for name, message in alone.items()}
    speedup = collections.defaultdict(dict)
    for (name, interval), (one_shot, by_field) in rates.items():
        speedup[interval][name] = rate(one_shot, "receive") / rate(by_field, "receive")
    field_bytes = {name: message["receive"]["dma_written_bytes"] / max(1, message["receive"]["dma_writes"])
                   for name, message in alone.items()}

    claims = []
    for interval in sorted(INTERVALS, key=lambda value: value != "16ns"):
        small, smallest = [[value for name, value in speedup[interval].items() if field_bytes[name] < limit]
                           for limit in (SMALL_FIELDS, 64)]
        if interval != "16ns":
            claims += [Claim("5", f"  a transaction each {interval}: all messages", None, "x",
                             geomean(speedup[interval].values()), None),
                       Claim("5", f"  a transaction each {interval}: below 1 KB", None, "x", geomean(small), None)]
            continue
        claims += [Claim("5", "one-shot over field by field, throughput", 2.2, "x",
                         geomean(speedup[interval].values()), None,
                         "the baseline writes each number, pointer and string, and has-bits once for an object, as "
                         "ProtoACC's hasbits writer does; large messages fill the link either way"),
                   Claim("5", "the same, messages whose fields' writes are below 1 KB on average", 3.1, "x",
                         geomean(small), None,
                         "the transaction rate decides, an assumption (one each 16 ns): see other rates below"),
                   Claim("5", "the same, below 64 B on average", None, "x", geomean(smallest), None)]

    def draw(axes):
        for interval in INTERVALS:
            axes.scatter([field_bytes[name] for name in speedup[interval]], list(speedup[interval].values()), s=8,
                         label=f"a transaction each {interval}")
        axes.set_xscale("log")
        axes.axhline(1, color="grey", linewidth=0.5)
        axes.set_xlabel("mean bytes of a field's write")
        axes.set_ylabel("throughput, one-shot / field by field")
        axes.legend(fontsize=7)

    return claims, draw


def figure6(sim):
    """Host CPU of serialization: protobuf's encoder, its long copies offloaded, and pre-serialization with these."""
    left = {}
    for what, system, engine in (("copies", "cpu-only", "true"), ("encoding", "rpcnic", "false"),
                                 ("both", "rpcnic", "true")):
        for caches in CACHES:
            encoder = sim.start("cpu-only", caches).result()
            other = sim.start(system, caches, serializer__memcpy_engine=engine).result()
            left[what, caches] = ratios(times(other, "send", "host_cpu_ns"), times(encoder, "send", "host_cpu_ns"))

    def draw(axes):
        bars(axes, [(f"{what} offloaded, {caches}", by_bench(left[what, caches]))
                    for what in ("copies", "both") for caches in CACHES])
        axes.set_ylabel("host CPU / CPU-only")

    def saved(what):
        return both(lambda caches: 100 * (1 - statistics.mean(left[what, caches].values())))

    return [Claim("6", "host CPU saved by offloading long copies, mean", 55, "%", *saved("copies"),
                  "strings from 4 KB on; 60 ns to hand one over is an assumption"),
            Claim("6", "host CPU saved by offloading copies and encoding, mean", 74, "%", *saved("both")),
            Claim("6", "host CPU left, geometric mean", 22, "%",
                  *both(lambda caches: 100 * geomean(left["both", caches].values())),
                  "short strings are copied by the CPU either way"),
            Claim("6", "the same, encoding offloaded and all copies made by the CPU", None, "%",
                  *both(lambda caches: 100 * geomean(left["encoding", caches].values())))], draw


def bounds(sim):
    """By caches: CPU-only's time over that of an engine that needs none, with a round trip, and with none."""
    results = {}
    for caches in CACHES:
        run = sim.start("cpu-only", caches).result()
        engine, pushed = {}, {}
        one_way = nanoseconds(run["keys"]["link.one_way"])
        for message in run["messages"]:
            time = message["send"]["time_ns"]
            rest = time - message["send"]["host_cpu_ns"]  # the doorbell, the read's round trip, the bytes
            engine[message["name"]] = time / rest
            pushed[message["name"]] = time / (rest - 2 * one_way)
        results[caches] = engine, pushed
    return results


def nanoseconds(text):
    return float(text.removesuffix("ns")) if text.endswith("ns") else float(text.removesuffix("us")) * 1000


def sending_rates(sim, fast):
    """By caches: the geometric mean over messages of `fast`'s throughput over CPU-only's, one host core in each."""
    messages = sim.start("cpu-only").result()["messages"]
    values = {}
    for caches in CACHES:
        futures = [[throughput(sim, system, message, caches) for system in ("cpu-only", fast)] for message in messages]
        values[caches] = geomean([rate(faster, "send") / rate(slower, "send") for slower, faster in futures])
    return both(lambda caches: values[caches])


def encoder_for(sim, claimed):
    """By caches: how many times as slow an encoder would make memory-affinity `claimed` times as fast as CPU-only."""
    def slowness(caches):
        cpu, affinity = (sim.start(system, caches).result() for system in ("cpu-only", "rpcnic"))
        time, work, fast = times(cpu, "send"), times(cpu, "send", "host_cpu_ns"), times(affinity, "send")
        low, high = 0.0, 1000.0
        for _ in range(60):
            middle = (low + high) / 2
            ratio = geomean([(time[name] + (middle - 1) * work[name]) / fast[name] for name in time])
            low, high = (middle, high) if ratio < claimed else (low, middle)
        return low
    return both(slowness)


def figure7(sim):
    """Serialization time: memory-affinity, NIC-only over PCIe, CPU-only."""
    over_nic, nic = compared(sim, "7", "memory-affinity over ProtoACC-PCIe", 2.3, "protoacc-pcie", "rpcnic",
                             why="long strings take the link's time either way")
    over_cpu, cpu = compared(sim, "7", "memory-affinity over CPU-only", 4.3, "cpu-only", "rpcnic",
                             why="both wait for the link; what the CPU takes beside it is below: see the bounds")
    claims = [over_nic, over_cpu]
    bound = bounds(sim)
    claims += [Claim("7", "  at most: an engine and a host that take no time, over CPU-only", None, "x",
                     *both(lambda caches: geomean(bound[caches][0].values())),
                     "the doorbell, one round trip for the stream, and the wire bytes remain"),
               Claim("7", "  at most: the same, pushed into the card, without a round trip", None, "x",
                     *both(lambda caches: geomean(bound[caches][1].values()))),
               Claim("7", "  the encoder that would make it 4.3x: its time over protobuf C++ 3.21's here", None, "x",
                     *encoder_for(sim, 4.3)),
               compared(sim, "7", "drover over ProtoACC-PCIe", None, "protoacc-pcie", "drover")[0],
               compared(sim, "7", "drover over CPU-only", None, "cpu-only", "drover")[0]]
    for fast, what in (("rpcnic", "memory-affinity"), ("drover", "drover")):
        core, _ = compared(sim, "7", f"{what} over CPU-only, messages/s that a host core's CPU time allows", None,
                           "cpu-only", fast, column="host_cpu_ns")
        claims += [core, Claim("7", f"{what} over CPU-only, throughput with one host core, {IN_FLIGHT} in flight", None,
                               "x", *sending_rates(sim, fast), "link and engine have to keep up")]

    def draw(axes):
        bars(axes, series("CPU-only", cpu) + series("ProtoACC-PCIe", nic))
        axes.set_ylabel("serialization time / memory-affinity's")

    return claims, draw


def figure8(sim):
    """The optimizations on a SmartNIC's Arm cores."""
    why = "cores.scale (2) and cores.dma (100 ns) are assumptions"
    plain, steps = compared(sim, "8a", "BF3 with pre-serialization over BF3", 1.58, "bf3", "bf3-memory-affinity",
                            why=why)
    engine, _ = compared(sim, "8a", "and with the copy engine, over that", 1.18, "bf3-memory-affinity", "bf3-dsa",
                         why="it saves CPU; time only where the CPU copies more slowly than the engine (cold caches)")
    claims = [plain, engine]
    messages = sim.start("bf3").result()["messages"]
    receive = {}
    for caches in CACHES:
        for slow, fast in (("bf3", "bf3-oneshot"), ("bf3-oneshot", "rpcnic")):
            futures = {message["name"]: [throughput(sim, system, message, "warm" if system == "rpcnic" else caches)
                                         for system in (slow, fast)] for message in messages}
            receive[slow, caches] = {name: rate(faster, "receive") / rate(slower, "receive")
                                     for name, (slower, faster) in futures.items()}
    for what, paper, slow, because in (
            ("BF3 one-shot over BF3, throughput", 1.78, "bf3", why),
            ("RpcNIC over BF3 one-shot, throughput", 5.9, "bf3-oneshot",
             "one core here; it decodes with protobuf C++")):
        claims.append(Claim("8b", what, paper, "x", *both(lambda caches: geomean(receive[slow, caches].values())),
                            because))

    def draw(axes):
        bars(axes, series("memory-affinity", steps))
        axes.set_ylabel("serialization: how many times as fast as BF3")

    return claims, draw


def figure9(sim):
    """The serializers on Dagger's coherent link."""
    claim, values = compared(sim, "9", "Dagger-RpcNIC over Dagger-ProtoACC", 2.9, "dagger-protoacc", "dagger-rpcnic",
                             why="long strings take the link's time either way")

    def draw(axes):
        bars(axes, series("Dagger-ProtoACC", values))
        axes.set_ylabel("serialization time / Dagger-RpcNIC's")

    return [claim], draw


def figure10(sim):
    """The RPC layer against an accelerator on the CPU's chip."""
    claims, drawn = [], []
    for clock, system, chip, paper_send in (("250 MHz", "rpcnic", "protoacc-onchip", 1.4),
                                            ("2 GHz", "rpcnic-2ghz", "protoacc-onchip-2ghz", 1.24)):
        for leg, what, paper, why in (
                ("receive", "RX", 1.0, "the baseline waits for a descriptor for every field, as ProtoACC does"),
                ("send", "TX", paper_send, "")):
            claim, values = compared(sim, "10", f"{what} of RpcNIC over on-chip, {clock}", paper, system, chip, leg,
                                     why)
            claims.append(claim)
            drawn.append((f"{what}, {clock}", by_bench(values["warm"])))
        no_reads = (chip, {"deserializer__protoacc": "false"})
        claims.append(compared(sim, "10", f"RX of RpcNIC over on-chip that reads no descriptors, {clock}", None, system,
                               no_reads, "receive")[0])
    claims += [compared(sim, "10", f"{what} of drover over on-chip, 250 MHz", None, "drover", "protoacc-onchip", leg)[0]
               for leg, what in (("receive", "RX"), ("send", "TX"))]

    def draw(axes):
        bars(axes, drawn)
        axes.set_ylabel("RpcNIC's time / on-chip's")

    return claims, draw


def own(sim):
    """Drover's own system beside rpcnic."""
    claims, drawn = [], []
    for leg, what, column in (("receive", "RX time", "time_ns"), ("send", "TX time", "time_ns"),
                              ("send", "host CPU of TX", "host_cpu_ns")):
        claim, values = compared(sim, "own", f"drover over rpcnic, {what}", None, "rpcnic", "drover", leg,
                                 column=column)
        claims.append(claim)
        claims += [Claim("own", f"  {bench}", None, "x", value, dict(by_bench(values["cold"]))[bench])
                   for bench, value in by_bench(values["warm"])]
        drawn.append((what, by_bench(values["warm"])))

    def draw(axes):
        bars(axes, drawn)
        axes.set_ylabel("rpcnic's / drover's")

    return claims, draw


FIGURES = {"2": figure2, "5": figure5, "6": figure6, "7": figure7, "8": figure8, "9": figure9, "10": figure10,
           "own": own}
