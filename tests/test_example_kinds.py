"""The examples of examples/kinds and the greeters: each built on Drover and on gRPC C++, and called alike by the stock
Python client. examples/README.md lists them by kind."""

import base64
import contextlib
import re
import socket
import subprocess
import sys
import time

import grpc
import pytest

from certificates import Authority
from conftest import TESTS
from processes import wait_for
from test_stock_clients import example

PATIENCE = 15  # seconds of a call


@pytest.fixture(scope="session")
def kinds(build_dir):
    """kinds_pb2, made by grpcio-tools."""
    out = build_dir / "tests" / "kinds_python"
    out.mkdir(parents=True, exist_ok=True)
    folder = TESTS.parent / "examples" / "kinds"
    subprocess.run([sys.executable, "-m", "grpc_tools.protoc", f"-I{folder}", f"--python_out={out}", "kinds.proto"],
                   check=True)
    sys.path.insert(0, str(out))
    import kinds_pb2
    return kinds_pb2


class Desk:
    """A stub of kinds.Desk on a channel."""

    def __init__(self, kinds, channel):
        answer = {"request_serializer": kinds.Question.SerializeToString,
                  "response_deserializer": kinds.Answer.FromString}
        self.ask = channel.unary_unary("/kinds.Desk/Ask", **answer)
        self.listen = channel.unary_stream("/kinds.Desk/Listen", **answer)
        self.talk = channel.stream_stream("/kinds.Desk/Talk", **answer)
        self.now = channel.unary_unary("/kinds.Clock/Now", **answer)


@pytest.fixture(params=["drover", "grpc"])
def program(request, build_dir):
    """program(NAME): the server's file, built on Drover or on gRPC C++."""
    def find(name, folder="kinds"):
        within = build_dir / "examples" / folder
        return within / name if request.param == "drover" else within / "clients" / f"{name}_grpc"
    return find


@pytest.fixture
def desk(program, kinds):
    """desk(NAME): a Desk of that server."""
    with contextlib.ExitStack() as open_ones:
        def serve(name):
            address = open_ones.enter_context(example(program(name)))
            return Desk(kinds, open_ones.enter_context(grpc.insecure_channel(address)))
        yield serve


@pytest.mark.parametrize("name", ["greeter_server", "greeter_callback_server", "greeter_queue_server"])
def test_a_greeter_of_each_api_greets(program, name):
    with example(program(name, "greeter")) as address, grpc.insecure_channel(address) as channel:
        hello = channel.unary_unary("/helloworld.Greeter/SayHello")
        assert hello(b"\x0a\x03you", timeout=PATIENCE) == b"\x0a\x09Hello you"
        with pytest.raises(grpc.RpcError) as error:
            hello(b"", timeout=PATIENCE)
        assert error.value.code() == grpc.StatusCode.INVALID_ARGUMENT


def test_metadata_go_both_ways(desk, kinds):
    reply, call = desk("metadata_server").ask.with_call(
        kinds.Question(text="why"), metadata=(("x-a", "1"), ("x-b-bin", b"\x01"), ("x-a", "2"), ("other", "0")),
        timeout=PATIENCE)
    assert sorted(reply.text.rstrip(";").split(";")) == ["x-a=1", "x-a=2", "x-b-bin=\x01"] and reply.number == 3
    assert dict(call.initial_metadata())["x-desk"] == "seven"
    assert dict(call.trailing_metadata())["x-digest-bin"] == b"\x00\xffwhy"


def test_a_deadline_ends_the_call_and_the_handler_can_refuse_before(desk, kinds):
    ask = desk("deadline_server").ask
    assert ask(kinds.Question(number=5), timeout=PATIENCE).text == "done"
    with pytest.raises(grpc.RpcError) as error:
        ask(kinds.Question(number=20_000), timeout=0.3)
    assert error.value.code() == grpc.StatusCode.DEADLINE_EXCEEDED
    with pytest.raises(grpc.RpcError) as error:
        ask(kinds.Question(text="sure", number=60_000), timeout=PATIENCE)
    assert error.value.code() == grpc.StatusCode.FAILED_PRECONDITION


def test_a_cancelled_stream_stops_at_the_server(desk, kinds):
    server = desk("cancellation_server")
    answers = server.listen(kinds.Question(), timeout=PATIENCE)
    assert [next(answers).number for _ in range(3)] == [1, 2, 3]
    assert server.ask(kinds.Question(), timeout=PATIENCE).text == "busy"
    answers.cancel()
    wait_for(lambda: server.ask(kinds.Question(), timeout=PATIENCE) == kinds.Answer(number=1, text="idle"))


def test_error_details_say_what_is_wrong(desk, kinds):
    ask = desk("error_details_server").ask
    assert ask(kinds.Question(text="is it?"), timeout=PATIENCE).text == "yes"
    with pytest.raises(grpc.RpcError) as error:
        ask(kinds.Question(number=-1), timeout=PATIENCE)
    assert error.value.code() == grpc.StatusCode.INVALID_ARGUMENT
    details = kinds.Details.FromString(dict(error.value.trailing_metadata())["grpc-status-details-bin"])
    problems = []
    for one in details.details:
        problem = kinds.Problem()
        assert one.Unpack(problem)
        problems.append((problem.field, problem.why))
    assert details.code == 3 and problems == [("text", "is empty"), ("number", "is below zero")]


def test_who_waits_for_ready_is_answered_once_the_server_opens(desk, kinds):
    ask = desk("waiting_server").ask
    with pytest.raises(grpc.RpcError) as error:
        ask(kinds.Question(), timeout=PATIENCE)
    assert error.value.code() == grpc.StatusCode.UNAVAILABLE
    assert ask(kinds.Question(), timeout=PATIENCE, wait_for_ready=True).text == "open now"


def test_a_key_value_store_answers_each_key_of_a_stream(desk, kinds):
    keys = (kinds.Question(text=key) for key in ("oak", "elm", "rook"))
    assert [value.text for value in desk("lookup_server").talk(keys, timeout=PATIENCE)] == ["tree", "", "bird"]


def test_a_round_robin_client_reaches_both_servers(program, kinds):
    with example(program("balanced_server")) as first, example(program("balanced_server")) as second:
        options = [("grpc.lb_policy_name", "round_robin")]
        with grpc.insecure_channel(f"ipv4:{first},{second}", options=options) as channel:
            ask = Desk(kinds, channel).ask
            seen = set()
            wait_for(lambda: seen.add(ask(kinds.Question(), timeout=PATIENCE, wait_for_ready=True).number) or len(seen) == 2)


def test_two_services_share_an_address(desk, kinds):
    server = desk("multiplex_server")
    assert server.ask(kinds.Question(text="what"), timeout=PATIENCE).text == "you asked: what"
    assert abs(server.now(kinds.Question(), timeout=PATIENCE).number - time.time()) < 5


def test_a_caller_who_does_not_read_holds_up_his_writer_alone(desk, kinds):
    server, count = desk("flow_control_server"), 400
    answers = server.listen(kinds.Question(number=count), timeout=4 * PATIENCE)
    wait_for(lambda: server.ask(kinds.Question(), timeout=PATIENCE).number > 0)
    time.sleep(0.5)
    held = server.ask(kinds.Question(), timeout=PATIENCE).number
    time.sleep(0.3)
    assert server.ask(kinds.Question(), timeout=PATIENCE).number == held < count
    assert [answer.number for answer in answers] == list(range(count))


@pytest.mark.parametrize("mutual", [False, True], ids=["server", "mutual"])
def test_tls_shows_who_calls(program, kinds, tmp_path, mutual):
    authority = Authority(tmp_path / "tls")
    authority.sign("server", alternative="DNS:localhost,IP:127.0.0.1")
    authority.sign("carol")
    files = [str(authority.key("server")), str(authority.pem("server"))] + ([str(authority.pem())] if mutual else [])

    def read(path):
        return path.read_bytes()

    own = (read(authority.key("carol")), read(authority.pem("carol"))) if mutual else (None, None)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    process = subprocess.Popen([str(program("secure_server")), address, *files], stdout=subprocess.PIPE, text=True)
    try:
        process.stdout.readline()
        credentials = grpc.ssl_channel_credentials(read(authority.pem()), *own)
        with grpc.secure_channel(address, credentials) as channel:
            answer = Desk(kinds, channel).ask(kinds.Question(), timeout=PATIENCE)
        assert answer.text == ("carol" if mutual else "unknown")
        if mutual:
            with grpc.secure_channel(address, grpc.ssl_channel_credentials(read(authority.pem()))) as channel:
                with pytest.raises(grpc.RpcError) as error:
                    Desk(kinds, channel).ask(kinds.Question(), timeout=PATIENCE)
                assert error.value.code() == grpc.StatusCode.UNAVAILABLE
    finally:
        process.terminate()
        process.wait(15)


def test_a_load_report_comes_with_the_end_of_a_call(build_dir, tmp_path):
    """On Drover only: Debian's gRPC C++ 1.51 has no load reports."""
    body = tmp_path / "body"
    body.write_bytes(bytes(5))
    # gRPC's libraries keep the report to themselves: they give it to a policy of load balancing.
    with example(build_dir / "examples" / "kinds" / "load_report_server") as address:
        done = subprocess.run(
            ["nghttp", "-v", "-n", "-d", str(body), "-H:method: POST", "-H", "content-type: application/grpc",
             "-H", "te: trailers", f"http://{address}/kinds.Desk/Ask"], capture_output=True, text=True, timeout=60)
    found = re.search(r"endpoint-load-metrics-bin: ([\w+/]+)", done.stdout)
    assert found, done.stdout[-2000:]
    report = base64.b64decode(found.group(1) + "==")
    assert b"questions" in report and b"\x00\x00\x00\x00\x00\x00\xe0\x3f" in report  # 0.5
