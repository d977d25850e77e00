"""The `drover` command from end to end: files in, files out, exit codes, and a call of the greeter example."""

import fcntl
import json
import os
import pty
import re
import signal
import socket
import struct
import subprocess
import termios
import threading
from concurrent import futures

import grpc
import pytest

from certificates import Authority
from conftest import TESTS

ROOT = TESTS.parent
EVERY = ["--proto", str(ROOT / "codec" / "testdata" / "every.proto")]
GREETER = ["--proto", str(ROOT / "examples" / "greeter" / "helloworld.proto")]


@pytest.fixture
def drover(build_dir, tmp_path):
    def run(*arguments, stdin=b"", code=0):
        program = build_dir / "cli" / "drover"
        done = subprocess.run([str(program), *map(str, arguments)], input=stdin, capture_output=True, cwd=tmp_path,
                              timeout=120)
        assert done.returncode == code, done.stderr.decode()
        return done

    return run


def read_varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def split_delimited(data):
    messages, at = [], 0
    while at < len(data):
        size, at = read_varint(data, at)
        messages.append(data[at:at + size])
        at += size
    assert at == len(data)
    return messages


# ---- help and usage

def test_help_names_every_command_and_each_has_help(drover):
    text = drover("--help").stdout.decode()
    for command in ("gen", "convert", "image", "call"):
        assert command in text
        assert "--proto" in drover(command, "--help").stdout.decode()
    assert re.match(r"drover \d+\.\d+\.\d+", drover("--version").stdout.decode())


@pytest.mark.parametrize("arguments", [(), ("nonsense",), ("gen", "--nonsense"), ("gen",), ("image",),
                                       ("convert", *EVERY), ("gen", "--workload", "other"),
                                       ("gen", *EVERY, "--random-schema", "1")])
def test_a_wrong_command_line_ends_with_2_and_says_why(drover, arguments):
    assert drover(*arguments, code=2).stderr


# ---- gen

def test_the_same_seed_gives_the_same_messages_in_every_format(drover):
    arguments = ["gen", *EVERY, "-m", "Every", "-n", "5", "--seed", "9", "-q", "-o", "-"]
    lines = drover(*arguments, "--format", "hex").stdout.decode().split()
    assert len(lines) == 5 and len(set(lines)) == 5
    wires = [bytes.fromhex(line) for line in lines]
    assert split_delimited(drover(*arguments, "--format", "delimited").stdout) == wires
    assert drover(*arguments, "--format", "hex").stdout.decode().split() == lines
    documents = drover(*arguments, "--format", "json").stdout.decode().splitlines()
    assert [type(json.loads(document)) for document in documents] == [dict] * 5
    other = [*arguments[:-5], "--seed", "10", "-q", "-o", "-", "--format", "hex"]
    assert drover(*other).stdout.decode().split() != lines


def test_files_hold_the_messages_and_their_schema(drover, tmp_path):
    table = drover("gen", *GREETER, "-n", "3", "--size", "500", "-o", "out").stdout.decode()
    out = tmp_path / "out"
    assert sorted(p.name for p in out.iterdir()) == sorted(
        [f"helloworld.Hello{kind}.{i}.bin" for kind in ("Request", "Reply") for i in range(3)] + ["schema.fds"])
    assert all(len(p.read_bytes()) == 500 for p in out.glob("*.bin"))
    assert re.search(r"wire bytes +3,000", table)
    text = drover("convert", "--descriptor-set", out / "schema.fds", "-m", "HelloReply",
                  out / "helloworld.HelloReply.0.bin").stdout
    assert len(json.loads(text)["message"]) > 400


def test_protoc_reads_what_gen_writes(drover, tmp_path):
    drover("gen", *EVERY, "-m", "Every", "-n", "20", "--odd", "200", "--unknown", "300", "-o", "out", "-q")
    for path in (tmp_path / "out").glob("*.bin"):
        subprocess.run(["protoc", f"-I{ROOT}", "--decode=t.Every", "codec/testdata/every.proto"],
                       input=path.read_bytes(), capture_output=True, check=True, cwd=ROOT)


def test_the_built_in_workload_has_the_shape_it_claims(drover, tmp_path):
    table = drover("gen", "--workload", "hyperproto-like", "-o", "out").stdout.decode()
    sizes = sorted(p.stat().st_size for p in (tmp_path / "out").glob("*.bin"))
    assert (len(sizes), sizes[0], sizes[-1]) == (60, 17, 1600000)
    assert re.search(r"levels of messages: median / most +3 / 14", table)
    drover("gen", "--workload", "hyperproto-like", "--published", "-o", "published", "-q")
    assert len(list((tmp_path / "published").glob("*.bin"))) == 40


def test_hyperprotobench_is_read_from_a_directory(drover, tmp_path):
    files = drover("gen", *GREETER, "-o", "schema", "-q")
    assert files.returncode == 0
    descriptor = (tmp_path / "schema" / "schema.fds").read_bytes().replace(b"helloworld", b"hyperproto")
    for bench in ("bench0", "bench1", "bench3", "bench4"):
        (tmp_path / "hpb" / bench).mkdir(parents=True)
        (tmp_path / "hpb" / bench / "schema.fds").write_bytes(descriptor)
        (tmp_path / "hpb" / bench / "messages.bin").write_bytes(struct.pack("<I", 2) + b"M1" + struct.pack("<I", 0))
    error = drover("gen", "--hyperprotobench", "hpb", "--published", code=1).stderr.decode()
    assert "hpb/bench0: messages.bin has a message M1, schema.fds has none of that name" in error
    assert "schema.fds is missing" in drover("gen", "--hyperprotobench", "nowhere", code=1).stderr.decode()


def test_messages_of_a_random_schema_can_be_had(drover, tmp_path):
    drover("gen", "--random-schema", "5", "-n", "2", "-o", "out", "-q")
    assert (tmp_path / "out" / "schema.fds").stat().st_size > 100
    assert drover("image", "--descriptor-set", "out/schema.fds").stdout.startswith(b"schema image")


# ---- convert

def test_messages_survive_the_way_through_json(drover):
    wire = drover("gen", *EVERY, "-m", "Every", "--seed", "4", "-q", "-o", "-", "--format", "hex").stdout
    text = drover("convert", *EVERY, "-m", "Every", "--from", "hex", "--to", "json", stdin=wire).stdout
    assert isinstance(json.loads(text), dict)
    back = drover("convert", *EVERY, "-m", "Every", "--from", "json", "--to", "hex", stdin=text).stdout
    assert back == wire


def test_delimited_messages_become_lines(drover, tmp_path):
    drover("gen", *GREETER, "-m", "HelloRequest", "-n", "4", "-o", "out", "--format", "delimited", "-q")
    text = drover("convert", *GREETER, "-m", "HelloRequest", "--from", "delimited", "--one-line",
                  "out/helloworld.HelloRequest.delimited").stdout.decode()
    assert len([json.loads(line) for line in text.splitlines()]) == 4


def test_text_format_is_what_protoc_reads(drover):
    wire = drover("gen", *EVERY, "-m", "Maps", "--seed", "3", "-q", "-o", "-", "--format", "hex").stdout
    text = drover("convert", *EVERY, "-m", "Maps", "--from", "hex", "--to", "text", stdin=wire).stdout
    encoded = subprocess.run(["protoc", f"-I{ROOT}", "--encode=t.Maps", "codec/testdata/every.proto"], input=text,
                             capture_output=True, check=True, cwd=ROOT).stdout
    again = drover("convert", *EVERY, "-m", "Maps", "--to", "text", stdin=encoded).stdout
    assert sorted(again.split()) == sorted(text.split())


@pytest.mark.parametrize("arguments, stdin, expected", [
    (("-m", "Every", "--from", "hex"), b"0a", "in field 1 of t.Every"),
    (("-m", "Every", "--from", "hex"), b"xy", "is not pairs of hexadecimal digits"),
    (("-m", "Every", "--from", "json"), b'{"f5": "x"}', "in f5"),
    (("-m", "Every", "--from", "json"), b'{"nope": 1}', "nope"),
    (("-m", "Evrey",), b"", "no message Evrey; there is t.Every"),
    (("-m", "Required", "--from", "json"), b"{}", "required fields are missing (--partial takes it so): a"),
    (("-m", "Every", "--from", "delimited"), b"\x05ab", "message 1 at byte 0: its length passes the end"),
    (("-m", "Every", "nowhere.bin"), b"", "nowhere.bin: No such file"),
])
def test_a_wrong_input_ends_with_1_and_says_where(drover, arguments, stdin, expected):
    done = drover("convert", *EVERY, *arguments, stdin=stdin, code=1)
    assert expected in done.stderr.decode()
    assert done.stdout == b""


# ---- image

def test_the_image_shows_where_fields_lie(drover, tmp_path):
    text = drover("image", *GREETER).stdout.decode()
    assert re.search(r"message helloworld\.HelloRequest: object of \d+ bytes", text)
    assert re.search(r"\n +1  name +string +singular +16  implicit +UTF-8 checked", text)
    drover("image", *GREETER, "-o", "greeter.img")
    assert (tmp_path / "greeter.img").read_bytes()[:4] == b"DRVI"
    assert drover("image", "--image", "greeter.img").stdout.decode() == text
    damaged = bytearray((tmp_path / "greeter.img").read_bytes())
    damaged[100] ^= 1
    (tmp_path / "damaged.img").write_bytes(damaged)
    assert "bad checksum" in drover("image", "--image", "damaged.img", code=1).stderr.decode()


# ---- call

@pytest.fixture
def greeter(build_dir):
    program = build_dir / "examples" / "greeter" / "greeter_server"
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    process = subprocess.Popen([str(program), address], stdout=subprocess.PIPE, text=True)
    try:
        assert "greeter listens" in process.stdout.readline()
        yield address
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(20)


def test_the_greeter_greets(drover, greeter):
    done = drover("call", greeter, "helloworld.Greeter/SayHello", *GREETER, "-d", '{"name": "world"}')
    assert json.loads(done.stdout) == {"message": "Hello world"}
    done = drover("call", greeter, "SayHello", *GREETER, "--one-line", "-d", "@-", "-v", "-H", "X-Trace: 1",
                  stdin=b'{"name": "stdin"}')
    assert done.stdout == b'{"message":"Hello stdin"}\n'


def test_a_call_that_fails_ends_with_3_and_the_status(drover, greeter, tmp_path):
    proto = tmp_path / "other.proto"
    proto.write_text((ROOT / "examples" / "greeter" / "helloworld.proto").read_text().replace("SayHello", "SayBye"))
    done = drover("call", greeter, "Greeter/SayBye", "--proto", proto, code=3)
    assert "UNIMPLEMENTED (12)" in done.stderr.decode()
    done = drover("call", "127.0.0.1:1", "Greeter/SayHello", *GREETER, code=3)
    assert "UNAVAILABLE (14)" in done.stderr.decode()


def test_a_call_is_not_made_with_a_request_that_does_not_fit(drover):
    done = drover("call", "127.0.0.1:1", "Greeter/SayHello", *GREETER, "-d", '{"nam": "x"}', code=1)
    assert "nam" in done.stderr.decode() and done.stdout == b""
    done = drover("call", "127.0.0.1:1", "Greeter/SayGoodbye", *GREETER, code=1)
    assert "there is helloworld.Greeter/SayHello" in done.stderr.decode()


# ---- call: by reflection, streams, TLS

@pytest.fixture
def test_service(make_server):
    return make_server("drover", "--reflection").address


def documents(text):
    """JSON values one behind the other."""
    decoder, found, text = json.JSONDecoder(), [], text.decode().strip()
    while text:
        value, end = decoder.raw_decode(text)
        found.append(value)
        text = text[end:].lstrip()
    return found


def test_a_server_is_called_by_what_it_says_of_itself(drover, greeter):
    for method in ("helloworld.Greeter/SayHello", "Greeter/SayHello", "SayHello", "/helloworld.Greeter/SayHello",
                   "helloworld.Greeter.SayHello"):
        done = drover("call", greeter, method, "-d", '{"name": "world"}')
        assert json.loads(done.stdout) == {"message": "Hello world"}
    done = drover("call", greeter, "Greter/SayHello", code=1)
    assert "no service Greter; there is helloworld.Greeter" in done.stderr.decode()
    done = drover("call", greeter, "Greeter/SayHallo", code=1)
    assert "there is helloworld.Greeter/SayHello" in done.stderr.decode()


@pytest.mark.parametrize("kind", ["drover", "grpc"])
def test_grpc_cpp_is_asked_as_well(drover, make_server, kind):
    address = make_server(kind, "--reflection").address
    assert "drover.testing.TestService" in drover("call", address, "list").stdout.decode().split()
    done = drover("call", address, "TestService/Echo", "-d", '{"text": "both"}')
    assert json.loads(done.stdout)["text"] == "both"


def test_services_and_methods_are_listed_and_described(drover, greeter):
    assert drover("call", greeter, "list").stdout.decode().split() == [
        "grpc.health.v1.Health", "grpc.reflection.v1.ServerReflection", "grpc.reflection.v1alpha.ServerReflection",
        "helloworld.Greeter"]
    for name in ("helloworld.Greeter", "Greeter"):
        assert drover("call", greeter, "list", name).stdout == b"helloworld.Greeter/SayHello\n"
    text = drover("call", greeter, "describe", "helloworld.HelloRequest").stdout.decode()
    assert text.startswith("// helloworld.HelloRequest is a message, in helloworld.proto\nmessage HelloRequest {")
    assert "string name = 1;" in text
    assert "rpc SayHello(" in drover("call", greeter, "describe", "Greeter").stdout.decode()
    assert "is a method" in drover("call", greeter, "describe", "helloworld.Greeter/SayHello").stdout.decode()
    every = drover("call", greeter, "describe").stdout.decode()
    assert "service Health {" in every and "service Greeter {" in every
    done = drover("call", greeter, "describe", "helloworld.HelloRequst", code=1)
    assert "no symbol helloworld.HelloRequst; there is helloworld.HelloRequest" in done.stderr.decode()
    # The same of a schema at hand, without a server.
    assert drover("call", "127.0.0.1:1", "list", *GREETER).stdout == b"helloworld.Greeter\n"
    assert b"message HelloReply {" in drover("call", "127.0.0.1:1", "describe", "HelloReply", *GREETER).stdout


def test_a_server_without_reflection_says_what_to_do(drover, make_server):
    done = drover("call", make_server("drover").address, "TestService/Echo", code=3)
    assert "no reflection: name its schema by --proto FILE or --descriptor-set FILE" in done.stderr.decode()


def test_replies_that_stream_are_printed_one_by_one(drover, test_service):
    done = drover("call", test_service, "Spread", "-d", '{"count": 5, "size": 2}', "--one-line")
    replies = [json.loads(line) for line in done.stdout.splitlines()]
    assert [reply.get("number", "0") for reply in replies] == list("01234")
    assert all(len(reply["payload"]) == 4 for reply in replies)
    done = drover("call", test_service, "Spread", "-d", '{"count": 2, "code": 8}', code=3)
    assert len(documents(done.stdout)) == 2 and "RESOURCE_EXHAUSTED (8)" in done.stderr.decode()


def test_requests_that_stream_come_from_stdin_a_file_or_the_command_line(drover, test_service, tmp_path):
    lines = "".join('{"number": %d, "payload": "YWI="}\n' % i for i in range(1000))
    done = drover("call", test_service, "Collect", "-d", "@-", stdin=lines.encode())
    summary = json.loads(done.stdout)
    assert {key: summary[key] for key in ("count", "bytes", "inOrder")} == {"count": "1000", "bytes": "2000",
                                                                           "inOrder": True}
    (tmp_path / "items.json").write_text('{"number": 0}{\n"number": 1}')
    assert json.loads(drover("call", test_service, "Collect", "-d", "@items.json").stdout)["count"] == "2"
    assert json.loads(drover("call", test_service, "Collect", "-d", '{"number": 0} {"number": 1}{"number":2}').stdout)[
        "count"] == "3"
    assert "count" not in json.loads(drover("call", test_service, "Collect").stdout)
    done = drover("call", test_service, "Collect", "-d", '{"number": 0} {"numbr": 1}', code=1)
    assert "a request, a drover.testing.Item" in done.stderr.decode() and "numbr" in done.stderr.decode()
    done = drover("call", test_service, "Echo", "-d", "{}{}", code=1)
    assert "takes one request" in done.stderr.decode()


def test_both_ways_at_once_while_stdin_is_open(build_dir, test_service):
    process = subprocess.Popen([str(build_dir / "cli" / "drover"), "call", test_service, "Talk", "-d", "@-", "--one-line"],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    for i in range(1, 4):
        process.stdin.write('{"number": %d}' % i)
        process.stdin.flush()
        assert json.loads(process.stdout.readline()) == {"number": str(i)}
    process.stdin.close()
    assert process.wait(20) == 0
    # The server ends the call while we could still write.
    process = subprocess.Popen([str(build_dir / "cli" / "drover"), "call", test_service, "Early", "-d", "@-"],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    process.stdin.write('{"code": 9}')
    process.stdin.flush()
    assert process.wait(20) == 3
    assert "FAILED_PRECONDITION (9)" in process.stderr.read()


def test_metadata_goes_both_ways_and_is_printed(drover, test_service):
    request = {"initial": [{"key": "first", "value": "MQ=="}], "trailing": [{"key": "last-bin", "value": "//79"}]}
    done = drover("call", test_service, "Metadata", "-v", "-d", json.dumps(request), "-H", "x-word: a b", "-H",
                  "X-Raw-Bin: AAEC")
    said = done.stderr.decode().splitlines()
    assert "initial first: 1" in said and "trailing last-bin: //79" in said
    received = {pair["key"]: pair.get("value", "") for pair in json.loads(done.stdout)["received"]}
    assert received["x-word"] == "YSBi" and received["x-raw-bin"] == "AAEC"
    for header, wrong in (("novalue", "is not"), ("a b: c", "a name has"), ("x-bin: ?", "base64"),
                          ("grpc-timeout: 1", "gRPC's own"), ("x: ä", "printable ASCII")):
        assert wrong in drover("call", test_service, "Metadata", "-H", header, code=1).stderr.decode()


def test_a_deadline_ends_a_stream(drover, test_service):
    done = drover("call", test_service, "Spread", "-d", '{"count": 1000, "pauseMillis": 100}', "--deadline", "0.5", code=3)
    assert "DEADLINE_EXCEEDED (4)" in done.stderr.decode()


def test_calls_by_tls(drover, make_server, tmp_path):
    authority = Authority(tmp_path, "ours")
    key, chain = authority.sign("server", alternative="DNS:service.test,DNS:localhost")
    client_key, client_chain = authority.sign("client")
    made = make_server("drover", "--reflection", "--key", key, "--certificate", chain, "--client-ca", authority.pem(),
                       "--clients", "2")
    echo = ["call", made.address, "TestService/Echo", "-d", '{"text": "secret"}', "--one-line"]
    for how in (["--cacert", authority.pem(), "--authority", "service.test"], ["--insecure"],
                ["--cacert", authority.pem(), "--servername", "localhost", "--cert", client_chain, "--key",
                 client_key], ["--insecure", "--cert", client_chain, "--key", client_key]):
        assert json.loads(drover(*echo, *how).stdout)["text"] == "secret"
    assert "UNAVAILABLE" in drover(*echo, "--cacert", authority.pem(), "--authority", "other.test",
                                   code=3).stderr.decode()
    assert "add --tls" in drover(*echo, code=3).stderr.decode()
    assert "--key" in drover(*echo, "--cert", client_chain, code=2).stderr.decode()
    (tmp_path / "no.pem").write_text("x")
    assert "expected PEM" in drover(*echo, "--cacert", tmp_path / "no.pem", code=1).stderr.decode()


# ---- call: servers that mean no good

ESCAPES = "\x1b[2J\u009bm\n"
SHOWN = "\\x1b[2J\\xc2\\x9bm\\x0a"


def field(number, value):
    """A length-delimited field of a message."""
    size, head = len(value), bytes([number << 3 | 2])
    while size >= 0x80:
        head, size = head + bytes([size & 0x7F | 0x80]), size >> 7
    return head + bytes([size]) + value


@pytest.fixture
def hostile():
    """Starts a server that calls `answer(method, request)` for the bytes of its replies."""
    servers = []

    def start(answer):
        class Any(grpc.GenericRpcHandler):
            def service(self, details):
                def serve(requests, context):
                    for request in requests:
                        yield from answer(details.method, request, context)
                return grpc.stream_stream_rpc_method_handler(serve)

        server = grpc.server(futures.ThreadPoolExecutor(2), handlers=[Any()], options=[
            ("grpc.max_send_message_length", -1)])
        port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        servers.append(server)
        return f"127.0.0.1:{port}"

    yield start
    for server in servers:
        server.stop(0).wait()


def test_what_a_server_says_does_not_reach_the_terminal(drover, hostile):
    def answer(method, request, context):
        if "reflection" not in method:
            context.set_trailing_metadata([("x-bin", b"\x1b")])
            context.abort(grpc.StatusCode.INTERNAL, f"all {ESCAPES} well")
        if request.startswith(b"\x3a"):  # list
            yield field(6, b"".join(field(1, field(1, (name + ESCAPES).encode())) for name in ("a.B", "c.D")))
        else:
            yield field(7, field(2, f"no {ESCAPES}".encode()))

    address = hostile(answer)
    assert drover("call", address, "list").stdout.decode() == f"a.B{SHOWN}\nc.D{SHOWN}\n"
    said = drover("call", address, "list", "x.Y", code=1).stderr.decode()
    assert said == f"drover call: no service x.Y; there is a.B{SHOWN}, c.D{SHOWN}\n"
    said = drover("call", address, "describe", "x.Y", code=1).stderr.decode()
    assert said == f"drover call: the server's reflection has no a.B{SHOWN}: no {SHOWN}\n"
    said = drover("call", address, "SayHello", *GREETER, code=3).stderr.decode()
    assert said == f"drover call: INTERNAL (13): all {SHOWN} well\n"


def test_a_unary_call_without_its_reply_has_failed(drover, hostile):
    replies = []
    address = hostile(lambda method, request, context: iter(replies))
    said = drover("call", address, "SayHello", *GREETER, code=3).stderr.decode()
    assert said == "drover call: the server ended the call with OK and no reply; expected one\n"
    replies.append(field(1, b"one"))
    assert json.loads(drover("call", address, "SayHello", *GREETER).stdout) == {"message": "one"}
    replies.append(field(1, b"two"))
    done = drover("call", address, "SayHello", *GREETER, code=3)
    assert json.loads(done.stdout) == {"message": "one"}
    assert "several replies to a method that has one" in done.stderr.decode()


def test_reflection_without_end_is_given_up(drover, hostile):
    count = 0

    def files(method, request, context):  # each imports another one
        nonlocal count
        count += 1
        yield field(4, field(1, field(1, b"%d" % count) + field(3, b"%d" % (count + 1)) + field(12, b"x" * (8 << 20))))

    said = drover("call", hostile(files), "describe", "x.Y", code=3).stderr.decode()
    assert "more than 65536 files or names, or 64 MiB" in said and count == 8
    many = field(6, field(1, field(1, b"a")) * 65537)
    said = drover("call", hostile(lambda *_: iter([many])), "list", code=3).stderr.decode()
    assert "more than 65536 files or names" in said
    large = field(6, field(1, field(1, b"a" * (65 << 20))))
    said = drover("call", hostile(lambda *_: iter([large])), "list", code=3).stderr.decode()
    assert "RESOURCE_EXHAUSTED (8)" in said


# ---- check

def test_a_configuration_without_fault_says_what_it_would_listen_on(drover, tmp_path):
    config = tmp_path / "engine.toml"
    config.write_text(f"""
[engine]
control_socket = "unix:{tmp_path}/engine.sock"
threads = 2
[metrics]
address = "127.0.0.1:9464"
[lines]
listen = "0.0.0.0:7000"
""")
    said = drover("check", config).stdout.decode()
    assert f"hosts attach at unix:{tmp_path}/engine.sock" in said
    assert "metrics at http://127.0.0.1:9464/metrics" in said
    assert "UDP 0.0.0.0:7000" in said and "2 engine threads" in said


def test_everything_that_is_wrong_with_a_configuration_is_told_with_its_line(drover, tmp_path):
    authority = Authority(tmp_path, "ours")
    key, chain = authority.sign("server", alternative="DNS:localhost")
    key.chmod(0o644)
    config = tmp_path / "engine.toml"
    config.write_text(f"""[engine]
thread = 2
cpus = "999"
control_socket = "unix:/no/such/directory/engine.sock"
io = "fast"
[limits]
max_request_bytes = "4MB"
max_connections = 0
[metrics]
address = "127.0.0.1"
[tls]
certificate = "{chain}"
key = "{key}"
client_ca = "/no/ca.pem"
clients = "require"
[hosts]
allow = "x=/a/b"
[extra]
key = 1
""")
    lines = drover("check", config, code=1).stderr.decode().splitlines()
    expected = [(2, "engine.thread: unknown key; [engine] has threads, cpus"),
                (5, "engine.io: 'fast' is not one of: auto, uring, epoll"),
                (7, "limits.max_request_bytes: '4MB': 'MB' is not a unit of bytes"),
                (8, "limits.max_connections: 0 is out of range; expected 1 to 1000000"),
                (19, "extra.key: unknown key; the sections are engine, channel"),
                (4, "engine.control_socket: the directory /no/such/directory: No such file or directory"),
                (10, "metrics.address: "), (17, "hosts.allow: "),
                (13, f"tls.key: {key}: a private key that others may read or change (mode 0644)"),
                (14, "tls.client_ca: /no/ca.pem: No such file or directory")]
    notes = [said for said in lines if said.startswith("note: ")]
    assert len(notes) == 1 and notes[0].startswith(f"note: {config}:3: engine.cpus: CPU 999; expected CPUs of this")
    lines = [said for said in lines if said not in notes]
    for line, what in expected:
        assert any(said.startswith(f"{config}:{line}: {what}") for said in lines), (line, what, lines)
    assert len(lines) == len(expected), lines


def test_flags_and_the_file_itself_are_checked_too(drover, tmp_path):
    config = tmp_path / "engine.toml"
    config.write_text("[engine]\nthreads = 1\n")
    said = drover("check", config, code=1).stderr.decode()
    assert said == f"{config}: engine.control_socket: it is missing; expected unix:PATH or unix:@NAME, here or as a flag\n"
    drover("check", config, "--", "--engine.control_socket=unix:@x")
    assert "--engine.threads: 0 is out of range" in drover(
        "check", config, "--", "--engine.control_socket=unix:@x", "--engine.threads=0", code=1).stderr.decode()
    config.write_text("[engine\n")
    assert f"{config}:1: " in drover("check", config, code=1).stderr.decode()
    assert "cannot read" in drover("check", tmp_path / "none.toml", code=1).stderr.decode()
    assert "--droverd" in drover("check", config, "--droverd", tmp_path / "none", code=1).stderr.decode()


def test_what_droverd_takes_is_a_note(drover, tmp_path):
    config = tmp_path / "engine.toml"
    config.write_text("[engine]\ncpus = \"999\"\n")
    done = drover("check", config, "--", "--engine.control_socket=unix:/run/drover/no-such-unit/engine.sock")
    notes = done.stderr.decode().splitlines()
    assert [note.split("; ")[0] for note in notes] == [
        "note: --engine.control_socket: engine.control_socket: the directory /run/drover/no-such-unit does not exist now",
        f"note: {config}:2: engine.cpus: CPU 999"]
    assert b"hosts attach at unix:/run/drover/no-such-unit/engine.sock" in done.stdout


def test_what_droverd_refuses_is_a_problem(drover, build_dir, tmp_path):
    config = tmp_path / "engine.toml"
    config.write_text("[engine]\ncontrol_socket = \"unix:@x\"\n[metrics]\naddress = \"::1:9464\"\n")
    assert f"{config}:4: metrics.address: '::1:9464' is not an address" in drover(
        "check", config, code=1).stderr.decode()
    done = drover("check", config, "--", "--print-config", code=1)
    assert b'control_socket = "unix:@x"' in done.stdout and b"metrics.address: " in done.stderr
    drover("check", config, "--", "--metrics.address=[::1]:9464")
    if os.geteuid() != 0:
        closed = tmp_path / "closed"
        closed.mkdir(mode=0o500)
        user = None
    else:  # who may write everywhere
        closed, user = "/usr", 65534
    try:
        done = subprocess.run([str(build_dir / "engine" / "droverd"), "--check",
                               f"--engine.control_socket=unix:{closed}/x.sock", f"--engine.pidfile={closed}/x.pid"],
                              capture_output=True, text=True, user=user, cwd="/")
    except PermissionError:
        pytest.skip("nobody may not run the engine of this build")
    assert done.returncode == 2
    for key in ("engine.control_socket", "engine.pidfile"):
        assert f"--{key}: {key}: the directory {closed}: Permission denied; expected one that this user may write" \
            in done.stderr


# ---- stat

@pytest.fixture
def busy(make_server, stubs):
    """A server that is called all the time, and where its engine serves metrics."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        metrics = f"127.0.0.1:{probe.getsockname()[1]}"
    server = make_server("drover", env={"DROVER_METRICS": metrics})
    done = threading.Event()

    def work():
        with grpc.insecure_channel(server.address) as channel:
            stub = stubs[1].TestServiceStub(channel)
            while not done.is_set():
                stub.Echo(stubs[0].EchoRequest(text="x" * 100))
                try:
                    stub.Fail(stubs[0].FailRequest(code=5))
                except grpc.RpcError:
                    pass

    thread = threading.Thread(target=work)
    thread.start()
    yield server, metrics
    done.set()
    thread.join()


def test_stat_says_what_an_engine_does(drover, busy):
    server, metrics = busy
    lines = drover("stat", metrics, "--json", "-n", 2, "-i", 1).stdout.splitlines()
    assert len(lines) == 2
    for line in lines:
        said = json.loads(line)
        methods = {method["method"]: method for method in said["methods"]}
        echo, fail = (methods[f"/drover.testing.TestService/{name}"] for name in ("Echo", "Fail"))
        assert echo["calls_per_s"] > 10 and echo["failed_per_s"] == 0
        assert abs(fail["failed_per_s"] - fail["calls_per_s"]) < 0.1 and fail["calls_per_s"] > 10
        assert 0 < echo["p50_s"] <= echo["p99_s"] < 10
        assert echo["request_bytes_per_s"] >= 100 * echo["calls_per_s"]
        assert abs(said["total"]["calls_per_s"] - sum(m["calls_per_s"] for m in said["methods"])) < 1
        assert said["engine_cores"] > 0 and said["connections"] >= 1
        (host,) = said["hosts"]
        assert host["pid"] == str(server.process.pid) and host["host"] == "test_server"
        assert host["cores"] >= 0 and host["region_bytes"] > 0


def test_stat_draws_tables_and_redraws_them_in_a_terminal(build_dir, drover, busy):
    _, metrics = busy
    said = drover("stat", metrics, "-n", 2, "-i", 0.3).stdout.decode()
    assert "\x1b" not in said and said.count("calls/s") == 2
    assert "/drover.testing.TestService/Echo" in said and "test_server" in said
    parent, child = pty.openpty()
    fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", 12, 120, 0, 0))
    process = subprocess.Popen([str(build_dir / "cli" / "drover"), "stat", metrics, "-n", "2", "-i", "0.3"], stdout=child)
    assert process.wait(20) == 0
    os.close(child)
    drawn = os.read(parent, 1 << 16).decode()
    os.close(parent)
    tables = drawn.split("\x1b[H\x1b[J")
    assert len(tables) == 3 and tables[0] == ""
    assert all(table.count("\n") <= 11 and "calls/s" in table for table in tables[1:])


def test_stat_without_an_engine_says_what_to_do(drover):
    said = drover("stat", "127.0.0.1:1", code=1).stderr.decode()
    assert "Connection refused" in said and "metrics.address, DROVER_METRICS" in said
    assert "is not HOST:PORT" in drover("stat", "nowhere", code=1).stderr.decode()
