#!/usr/bin/env python3
"""The demo: ordinary gRPC clients call a service whose RPC work runs in droverd; then one table beside gRPC C++.

`make demo` runs it, after the set-up and cmake's configure step. Logs go to build/demo/.
"""

import argparse
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
PYTHON = ROOT / ".venv/bin/python"
OUT = ROOT / "build/demo"
# The programs that the demo runs, and so builds.
TARGETS = ["droverd", "greeter_server", "greeter_client_grpc"]
ECHO_TARGETS = ["echo_server", "grpc_async_server", "grpc_callback_server", "drover-load", "drover-echo-body"]
START_SECONDS = 20


def heading(text):
    print(f"\n\033[1m== {text}\033[0m" if sys.stdout.isatty() else f"\n== {text}", flush=True)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def answers(port):
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
        return True
    except OSError:
        return False


def process_name(pid):
    """The name of a running process; empty once it has ended."""
    try:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return ""
    name, state = stat[stat.index("(") + 1:stat.rindex(")")], stat[stat.rindex(")") + 2]
    return "" if state in "ZX" else name


def descendants(pid):
    """The processes below pid, itself first."""
    found = [pid]
    for task in pathlib.Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            for child in task.read_text().split():
                found += descendants(int(child))
        except OSError:
            pass
    return found


def listening_inodes(port):
    inodes = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in pathlib.Path(table).read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and int(fields[1].rsplit(":", 1)[1], 16) == port:
                inodes.add(fields[9])
    return inodes


def holders_of(port, pids):
    """Those of pids that hold a socket listening on port."""
    wanted = {f"socket:[{inode}]" for inode in listening_inodes(port)}
    holders = []
    for pid in pids:
        for fd in pathlib.Path(f"/proc/{pid}/fd").glob("*"):
            try:
                if os.readlink(fd) in wanted:
                    holders.append(pid)
                    break
            except OSError:
                pass
    return holders


def stop(process):
    """Ends the service and whatever it started; the engine goes with its host, and is ended here if it does not."""
    family = descendants(process.pid)
    process.terminate()
    try:
        process.wait(timeout=5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    deadline = time.monotonic() + 5
    rest = [pid for pid in family[1:] if process_name(pid)]
    while rest and time.monotonic() < deadline:
        time.sleep(0.05)
        rest = [pid for pid in rest if process_name(pid)]
    for pid in rest:
        os.kill(pid, signal.SIGKILL)


def start_greeter(server, port, log):
    process = subprocess.Popen([server, f"127.0.0.1:{port}"], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        if answers(port):
            return process
        time.sleep(0.05)
    why = f"ended with code {process.poll()}" if process.poll() is not None else f"is silent after {START_SECONDS} s"
    stop(process)
    log.flush()
    sys.exit(f"demo: the greeter {why}; its log, {log.name}:\n" + pathlib.Path(log.name).read_text()[-2000:])


def call(title, command):
    print(f"\n{title}", flush=True)
    began = time.monotonic()
    try:
        result = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60)
    except subprocess.TimeoutExpired:
        raise SystemExit("demo: that client did not end within 60 s") from None
    for line in result.stdout.splitlines():
        print(f"    {line}")
    if result.returncode != 0:
        raise SystemExit(f"demo: that client failed with code {result.returncode}")
    print(f"    ({time.monotonic() - began:.2f} s, with the client's own start)", flush=True)


def greet(build):
    greeter = build / "examples/greeter"
    port = free_port()
    address = f"127.0.0.1:{port}"
    with open(OUT / "greeter.log", "w") as log:
        process = start_greeter(greeter / "greeter_server", port, log)
        try:
            family = descendants(process.pid)
            print("examples/greeter/greeter_server.cc, an ordinary gRPC C++ server source, now runs as:")
            for pid in family:
                role = "the engine: all RPC work" if process_name(pid) == "droverd" else "the host: business logic"
                print(f"    pid {pid:<8} {process_name(pid):<16} {role}")
            for pid in holders_of(port, family):
                print(f"    {address} is served by pid {pid}, {process_name(pid)}")
            call("stock Python client (grpcio):",
                 [PYTHON, ROOT / "examples/greeter/clients/greeter_client.py", address, "Python", "Ada", "Grace"])
            call("stock gRPC C++ client:", [greeter / "clients/greeter_client_grpc", address, "C++", "Barbara", "Edsger"])
        finally:
            stop(process)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build-dir", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--jobs", default=str(os.cpu_count()))
    parser.add_argument("--only-greeter", action="store_true", help="leave the comparison with gRPC C++ out")
    options = parser.parse_args()
    build = (ROOT / options.build_dir).resolve()
    OUT.mkdir(parents=True, exist_ok=True)
    targets = TARGETS + ([] if options.only_greeter else ECHO_TARGETS)

    heading(f"build: {' '.join(targets)}")
    subprocess.run(["cmake", "--build", build, "-j", options.jobs, "--target", *targets], check=True)
    heading("a gRPC service, split in two")
    greet(build)
    if not options.only_greeter:
        heading("the same echo service on gRPC C++ and on Drover, same client, same cores")
        subprocess.run([PYTHON, ROOT / "bench/run_echo.py", "--quick", "--build-dir", build], check=True)


if __name__ == "__main__":
    try:
        main()
    except subprocess.CalledProcessError as error:
        sys.exit(f"demo: `{' '.join(map(str, error.cmd))}` failed with code {error.returncode}")
    except KeyboardInterrupt:
        sys.exit("demo: interrupted")
