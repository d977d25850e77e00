"""Other people's clients, as they are: gRPC C++, gRPC for Node and Go, and nghttp2's nghttp and h2load."""

import contextlib
import re
import shutil
import socket
import subprocess

import grpc
import pytest

from conftest import TESTS


@contextlib.contextmanager
def example(program, *arguments):
    """An example's server; gives its address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    process = subprocess.Popen([str(program), *arguments, address], stdout=subprocess.PIPE, text=True)
    process.stdout.readline()
    yield address
    process.terminate()
    process.wait(15)


@pytest.fixture(params=["greeter_server", "greeter_queue_server"])
def greeter(request, build_dir):
    """The greeter example under Drover, synchronous or through a completion queue; gives its address."""
    with example(build_dir / "examples" / "greeter" / request.param) as address:
        yield address


@pytest.mark.parametrize("server", ["greeter_guarded_server", "clients/greeter_guarded_server_grpc"])
def test_the_guarded_greeter_lets_in_calls_with_its_token_only(build_dir, server):
    with example(build_dir / "examples" / "greeter" / server) as address, grpc.insecure_channel(address) as channel:
        hello = channel.unary_unary("/helloworld.Greeter/SayHello")
        for metadata in ((), (("authorization", "Bearer sesame"),), (("authorization", "Bearer open Sesame"),)):
            with pytest.raises(grpc.RpcError) as error:
                hello(b"\x0a\x03you", metadata=metadata, timeout=10)
            assert error.value.code() == grpc.StatusCode.UNAUTHENTICATED
        reply = hello(b"\x0a\x03you", metadata=(("authorization", "Bearer open sesame"),), timeout=10)
        assert reply == b"\x0a\x09Hello you"


PLACES = ["places_server", "places_server --callback", "places_coroutine_server", "places_queue_server",
          "clients/places_server_grpc", "clients/places_server_grpc --callback", "clients/places_queue_server_grpc"]


@pytest.mark.parametrize("server", PLACES)
def test_the_places_example_says_the_same_on_drover_and_on_grpc(build_dir, server):
    folder = build_dir / "examples" / "places"
    program, *arguments = server.split()
    with example(folder / program, *arguments) as address:
        done = subprocess.run([str(folder / "clients" / "places_client_grpc"), address], capture_output=True, text=True,
                              timeout=30)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "look Fountain", "look there is nothing at this spot",
        "search Bakery", "search Fountain", "search Library", "search ends 0",
        "walk 0 4 spots, 2 places, 205 m",
        "talk first", "talk first", "talk second", "talk ends 0"]


def test_the_stock_cpp_client_is_served(greeter, build_dir):
    client = build_dir / "examples" / "greeter" / "clients" / "greeter_client_grpc"
    done = subprocess.run([str(client), greeter, "world", "käse"], capture_output=True, text=True, timeout=30)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[:2] == ["Hello world", "Hello käse"]


def test_the_health_service_answers_for_the_server_and_its_services(greeter):
    def request(service):
        return b"\x0a" + bytes([len(service)]) + service.encode() if service else b""

    with grpc.insecure_channel(greeter) as channel:
        check = channel.unary_unary("/grpc.health.v1.Health/Check")
        assert check(request(""), timeout=10) == b"\x08\x01"
        assert check(request("helloworld.Greeter"), timeout=10) == b"\x08\x01"
        with pytest.raises(grpc.RpcError) as error:
            check(request("no.Such"), timeout=10)
        assert error.value.code() == grpc.StatusCode.NOT_FOUND


def test_the_health_of_a_service_can_be_watched(greeter):
    with grpc.insecure_channel(greeter) as channel:
        watch = channel.unary_stream("/grpc.health.v1.Health/Watch")
        serving, unknown = watch(b"", timeout=30), watch(b"\x0a\x04none", timeout=30)
        assert next(serving) == b"\x08\x01"
        assert next(unknown) == b"\x08\x03"
        unknown.cancel()
        serving.cancel()
        many = [watch(b"", timeout=30) for _ in range(100)]
        assert all(next(call) == b"\x08\x01" for call in many)


@pytest.mark.parametrize("kind", ["drover", "grpc"])
def test_the_stock_node_client_is_served(make_server, kind):
    if shutil.which("node") is None or not (TESTS.parent / "tools" / "node" / "node_modules").exists():
        pytest.skip("node or its gRPC package is absent: make setup installs them for tests")
    server = make_server(kind)
    done = subprocess.run(["node", str(TESTS / "clients" / "node_client.js"), server.address,
                           str(TESTS / "service" / "testing.proto"), "300"],
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.strip() == "302 passed, 0 failed"


@pytest.mark.parametrize("kind", ["drover", "grpc"])
def test_the_stock_go_client_is_served(make_server, kind, tmp_path):
    client = TESTS.parent / "tools" / "go" / "bin" / "go_client"
    if not client.exists():
        pytest.skip("go_client is absent: make setup builds it where there is a Go compiler")
    descriptors = tmp_path / "testing.binpb"
    subprocess.run(["protoc", f"-I{TESTS / 'service'}", "--include_imports", f"--descriptor_set_out={descriptors}",
                    "testing.proto"], check=True)
    server = make_server(kind)
    done = subprocess.run([client, server.address, descriptors, "300"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.strip() == "304 passed, 0 failed"


@pytest.mark.parametrize("flags", [[], ["--window-bits=20", "--connection-window-bits=24"], ["--padding=100"],
                                   ["--max-concurrent-streams=1", "--header-table-size=0"]])
def test_nghttp_gets_its_reply(make_server, stubs, tmp_path, flags):
    messages, _ = stubs
    server = make_server("drover")
    body = messages.EchoRequest(payload=b"p" * 300_000).SerializeToString()
    file = tmp_path / "body"
    file.write_bytes(b"\0" + len(body).to_bytes(4, "big") + body)
    done = subprocess.run(
        ["nghttp", "-v", "-n", "-d", str(file), "-H:method: POST", "-H", "content-type: application/grpc",
         "-H", "te: trailers", *flags, f"http://{server.address}/drover.testing.TestService/Echo"],
        capture_output=True, text=True, timeout=60)
    assert "grpc-status: 0" in done.stdout, done.stdout[-2000:]
    received = [int(size) for size in re.findall(r"recv.*DATA frame <length=(\d+)", done.stdout)]
    assert sum(received) >= 300_005


def test_h2load_gets_an_answer_to_every_request(make_server, stubs, tmp_path):
    messages, _ = stubs
    server = make_server("drover")
    body = messages.EchoRequest(payload=b"x" * 30).SerializeToString()
    file = tmp_path / "body"
    file.write_bytes(b"\0" + len(body).to_bytes(4, "big") + body)
    done = subprocess.run(
        ["h2load", "-n", "20000", "-c", "10", "-m", "20", "-d", str(file), "-H", "content-type: application/grpc",
         "-H", "te: trailers", f"http://{server.address}/drover.testing.TestService/Echo"],
        capture_output=True, text=True, timeout=60)
    assert re.search(r"20000 succeeded, 0 failed, 0 errored, 0 timeout", done.stdout), done.stdout
