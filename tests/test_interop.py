"""Clients in five languages against an interop server on Drover's host library, and on gRPC C++ beside it: gRPC's
official interop client (Go), without its cases of accounts in a cloud, and stock clients of a common set of cases
(tests/clients/README.md). `make test-interop` builds them.
"""

import shutil
import subprocess
import sys

import pytest

from certificates import Authority
from conftest import TESTS
from processes import ServerProcess
from relay import Relay

TOOLS, CLIENTS = TESTS.parent / "tools", TESTS / "clients"
CLIENT = TOOLS / "go" / "bin" / "interop_client"

CASES = [
    "empty_unary", "large_unary", "client_streaming", "server_streaming", "ping_pong", "empty_stream",
    "timeout_on_sleeping_server", "cancel_after_begin", "cancel_after_first_response", "status_code_and_message",
    "special_status_message", "custom_metadata", "unimplemented_method", "unimplemented_service", "pick_first_unary",
    "rpc_soak", "channel_soak", "orca_per_rpc", "orca_oob",
]
# Debian's gRPC C++ 1.51 has no load reports.
ONLY_DROVER = {"orca_per_rpc", "orca_oob"}
ARGUMENTS = {
    "orca_per_rpc": ["--service_config_json", '{"loadBalancingConfig":[{"test_backend_metrics_load_balancer":{}}]}'],
    "orca_oob": ["--service_config_json", '{"loadBalancingConfig":[{"test_backend_metrics_load_balancer":{}}]}'],
    "rpc_soak": ["--soak_iterations", "200", "--soak_num_threads", "4", "--soak_overall_timeout_seconds", "60"],
    "channel_soak": ["--soak_iterations", "48", "--soak_num_threads", "4", "--soak_overall_timeout_seconds", "60"],
}


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    made = Authority(tmp_path_factory.mktemp("certificates"))
    made.sign("server", alternative="DNS:localhost,IP:127.0.0.1")
    return made


@pytest.fixture(scope="module")
def servers(build_dir, authority):
    """Gives a server of that kind, with or without TLS, from its first use on."""
    running = {}

    def get(kind, secure):
        if (kind, secure) not in running:
            tls = ["--key", authority.key("server"), "--certificate", authority.pem("server")] if secure else []
            program = build_dir / "tests" / ("interop_server" if kind == "drover" else "interop_server_grpc")
            running[kind, secure] = ServerProcess(program, *map(str, tls), stock=kind != "drover")
        return running[kind, secure]

    yield get
    for server in running.values():
        server.kill() if server.stock else server.stop()


@pytest.mark.parametrize("secure", [False, True], ids=["cleartext", "tls"])
@pytest.mark.parametrize("kind", ["drover", "grpc"])
@pytest.mark.parametrize("case", CASES)
def test_the_official_client_is_content(servers, authority, kind, secure, case):
    if not CLIENT.exists():
        pytest.skip("no interop client: run `make test-interop`, with Go installed")
    if kind == "grpc" and case in ONLY_DROVER:
        pytest.skip("Debian's gRPC C++ 1.51 has no load reports")
    server = servers(kind, secure)
    tls = ["--use_tls", "--use_test_ca", "--ca_file", authority.pem(), "--server_host_override",
           "localhost"] if secure else []
    done = subprocess.run(
        [str(CLIENT), "--server_host", "127.0.0.1", "--server_port", str(server.port), "--test_case", case,
         *map(str, tls), *ARGUMENTS.get(case, [])], capture_output=True, text=True, timeout=90)
    assert done.returncode == 0, done.stderr[-2000:]


# The cases that all stock clients have.
COMMON = [
    "empty_unary", "large_unary", "client_streaming", "server_streaming", "ping_pong", "empty_stream",
    "status_code_and_message", "special_status_message", "custom_metadata", "cancel_after_begin",
    "cancel_after_first_response", "timeout_on_sleeping_server", "unimplemented_method", "unimplemented_service",
    "concurrent_unary", "concurrent_streams",
]


# Of these the test counts the bytes on the wire: each case sends zeros twice, compressed and then as they are. case:
# the direction that it compresses, and the bytes of what is not compressed.
COMPRESSED = {
    "client_compressed_unary": ("up", 271828),
    "client_compressed_streaming": ("up", 27182 + 45904),
    "server_compressed_unary": ("down", 92653),
    "server_compressed_streaming": ("down", 92653),
}
MUCH = 20_000  # bytes that handshakes, frames and compressed zeros do not reach


def python_client(build_dir):
    out = build_dir / "tests" / "interop_python"
    out.mkdir(parents=True, exist_ok=True)
    subprocess.run([sys.executable, "-m", "grpc_tools.protoc", f"-I{TESTS / 'interop'}", f"--python_out={out}",
                    f"--grpc_python_out={out}", "interop.proto"], check=True)
    return ["env", f"PYTHONPATH={out}", sys.executable, CLIENTS / "interop_client.py"]


def node_client(_):
    if shutil.which("node") is None or not (TOOLS / "node" / "node_modules" / "@grpc").exists():
        pytest.skip("no Node client: install node and npm, then run `make test-interop`")
    return ["node", CLIENTS / "interop_client.js"]


def java_client(_):
    built = TOOLS / "java"
    if not (built / ".installed").exists():
        pytest.skip("no Java client: install Maven and a JDK, 17 or later, then run `make test-interop`")
    return ["java", "-XX:TieredStopAtLevel=1", "-cp", f"{built / 'classes'}:{built / 'lib'}/*", "InteropClient"]


def rust_client(_):
    built = TOOLS / "rust"
    if not (built / ".installed").exists():
        pytest.skip("no Rust client: install Rust (rustup), then run `make test-interop`")
    return [built / "release" / "interop_client"]


STOCK = {"python": python_client, "node": node_client, "java": java_client, "rust": rust_client}


@pytest.fixture(scope="module")
def stock_client(build_dir):
    """Gives the command of a language's client."""
    made = {}

    def get(language):
        if language not in made:
            made[language] = [str(word) for word in STOCK[language](build_dir)]
        return made[language]

    return get


def run(command, port, case, secure, authority):
    # By name with TLS, since some clients send no address as the server's name.
    arguments = [f"localhost:{port}", case, str(authority.pem())] if secure else [f"127.0.0.1:{port}", case]
    done = subprocess.run([*command, *arguments], capture_output=True, text=True, timeout=90)
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.parametrize("secure", [False, True], ids=["cleartext", "tls"])
@pytest.mark.parametrize("kind", ["drover", "grpc"])
@pytest.mark.parametrize("case", COMMON)
@pytest.mark.parametrize("language", STOCK)
def test_a_stock_client_is_content(servers, authority, stock_client, language, kind, secure, case):
    run(stock_client(language), servers(kind, secure).port, case, secure, authority)


@pytest.mark.parametrize("secure", [False, True], ids=["cleartext", "tls"])
@pytest.mark.parametrize("kind", ["drover", "grpc"])
@pytest.mark.parametrize("case", COMPRESSED)
@pytest.mark.parametrize("language", STOCK)
def test_messages_are_compressed(servers, authority, stock_client, language, kind, secure, case):
    command = stock_client(language)
    relay = Relay(servers(kind, secure).address)
    try:
        run(command, relay.address.rpartition(":")[2], case, secure, authority)
    finally:
        relay.close()
    direction, plain = COMPRESSED[case]
    assert plain < getattr(relay, direction) < plain + MUCH
