"""The `drover` command from end to end: files in, files out, exit codes, and a call of the greeter example."""

import json
import re
import signal
import socket
import struct
import subprocess

import pytest

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
