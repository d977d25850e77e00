"""The echo benchmark over TLS 1.3 (AES-128-GCM, an ECDSA P-256 certificate): Drover beside gRPC C++'s two servers, in
one run, as run_echo.py measures it.

Writes tls.json (rows of {case, metric, unit, drover, peer, peer_name, ratio}) and tls_run.json (every measurement).
"""

import json
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import echo_report as report  # noqa: E402
import run_echo  # noqa: E402
from echo_servers import EchoServer, ServerFailed  # noqa: E402

CASES = [run_echo.Case("unary-32B-tls", "Echo/Unary", "unary-32B", 10, 20, False)]
METRICS = {"rate": "rps", "cpu_total": "cpu_total", "cpu_host": "cpu_host", "cpu_engine": "cpu_engine", "p50": "p50",
           "p99": "p99"}
GOAL = 1 / 3  # of grpc-async's CPU


class TlsBench(run_echo.Bench):
    def __init__(self, args):
        self.key, self.certificate = args.out_dir / "tls.key", args.out_dir / "tls.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                        "-days", "7", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost",
                        "-keyout", self.key, "-out", self.certificate], check=True, capture_output=True)
        super().__init__(args)

    def _choose_cases(self):
        return CASES

    def server(self, case, name, program):
        return EchoServer(name, run_echo.find_program(self.build_dir, program), self.args.server_cpu, self.log_dir,
                          self.args.busy_loop_ns, has_engine=name == run_echo.DROVER[0],
                          more=["--key", self.key, "--certificate", self.certificate])

    def load_command(self, case, server, *more):
        return super().load_command(case, server, "--tls", *more)

    def rows(self):
        rows = []
        for case, servers in self.results.items():
            for metric, measured in METRICS.items():
                drover = report.median_of(servers[self.system], measured)
                for name in self.peer_names:
                    theirs = "cpu_total" if metric.startswith("cpu_") else measured
                    peer = report.median_of(servers[name], theirs)
                    rows.append({"case": case, "metric": metric, "unit": report.UNITS[measured], "drover": drover,
                                 "peer": peer, "peer_name": name, "ratio": drover / peer})
        return rows

    def write(self, rows):
        run = {"machine": run_echo.machine(), "notes": self.notes(), "measurements": self.raw}
        (self.args.out_dir / "tls.json").write_text(json.dumps(rows, indent=1) + "\n")
        (self.args.out_dir / "tls_run.json").write_text(json.dumps(run, indent=1) + "\n")
        for row in rows:
            goal = f"  goal {GOAL:.2f}" if (row["metric"], row["peer_name"]) == ("cpu_total", "grpc-async") else ""
            print(f"{row['case']:14} {row['metric']:10} {row['drover']:10.2f} {row['peer']:10.2f} {row['unit']:4}"
                  f" {row['peer_name']:14} {row['ratio']:.3f}{goal}")
        print("\n".join(run["notes"]))


def main():
    args = run_echo.parse_arguments()
    try:
        bench = TlsBench(args)
        os.sched_setaffinity(0, {args.client_cpu})
        bench.run()
        bench.write(bench.rows())
    except (run_echo.Stop, ServerFailed, subprocess.SubprocessError, OSError) as error:
        sys.exit(f"run_tls.py: {error}")


if __name__ == "__main__":
    main()
