"""Server reflection by stock clients: what they see of Drover is what they see of gRPC C++, which has v1alpha only; and
several hosts behind one engine are seen together."""

import subprocess
import sys

import grpc
import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase

from conftest import TESTS
from processes import FLAVOURS

SERVICES = ["drover.testing.StreamService", "drover.testing.TestService"]
V1, V1ALPHA = "grpc.reflection.v1", "grpc.reflection.v1alpha"


@pytest.fixture(scope="session")
def reflection_stubs(build_dir):
    """{package: (messages, services)}: the clients of both versions, made by grpcio-tools from the engine's .proto files."""
    out = build_dir / "tests" / "python_reflection"
    out.mkdir(parents=True, exist_ok=True)
    protos = TESTS.parent / "engine" / "reflection" / "proto"
    made = {}
    for version in ("v1", "v1alpha"):
        # Under names of their own: grpcio-reflection has registered a v1alpha in the default pool.
        text = (protos / "grpc" / "reflection" / version / "reflection.proto").read_text()
        (out / f"ask_{version}.proto").write_text(text.replace(f"package grpc.reflection.{version};",
                                                               f"package ask.{version};"))
        subprocess.run([sys.executable, "-m", "grpc_tools.protoc", f"-I{out}", f"--python_out={out}",
                        f"ask_{version}.proto"], check=True)
    sys.path.insert(0, str(out))
    import ask_v1_pb2
    import ask_v1alpha_pb2
    made[V1], made[V1ALPHA] = ask_v1_pb2, ask_v1alpha_pb2
    return made


class Client:
    """Asks the server of a channel, by one version of the service."""

    def __init__(self, channel, package, messages):
        self.messages = messages
        self.call = channel.stream_stream(
            f"/{package}.ServerReflection/ServerReflectionInfo",
            request_serializer=messages.ServerReflectionRequest.SerializeToString,
            response_deserializer=messages.ServerReflectionResponse.FromString)

    def request(self, **fields):
        return self.messages.ServerReflectionRequest(**fields)

    def ask(self, *requests, timeout=20):
        return list(self.call(iter(requests), timeout=timeout))

    def one(self, **fields):
        (reply,) = self.ask(self.request(**fields))
        return reply

    def services(self):
        return [service.name for service in self.one(list_services="").list_services_response.service]


def kinds():
    """(flavour of the server ..., package): gRPC C++ 1.51 knows v1alpha only."""
    return [(flavour, package) for flavour in FLAVOURS for package in (V1, V1ALPHA)
            if flavour[0] == "drover" or package == V1ALPHA]


@pytest.fixture(params=kinds(), ids=lambda kind: "-".join(kind[0]) + "-" + kind[1].rsplit(".", 1)[1])
def client(request, make_server, reflection_stubs):
    flavour, package = request.param
    server = make_server(*flavour, "--reflection")
    with grpc.insecure_channel(server.address) as channel:
        client = Client(channel, package, reflection_stubs[package])
        client.kind, client.package, client.channel = flavour[0], package, channel
        yield client


def files_of(reply):
    files = [descriptor_pb2.FileDescriptorProto.FromString(file)
             for file in reply.file_descriptor_response.file_descriptor_proto]
    return {file.name: file for file in files}


def test_all_services_are_listed(client):
    own = [V1ALPHA + ".ServerReflection"]
    if client.kind == "drover":
        own.append(V1 + ".ServerReflection")
    assert sorted(client.services()) == sorted(SERVICES + own)


@pytest.mark.parametrize("symbol", [
    "drover.testing.TestService", "drover.testing.TestService.Echo", "drover.testing.EchoRequest",
    "drover.testing.EchoRequest.text", "drover.testing.StreamService"])
def test_a_symbols_file_comes_with_all_that_it_imports(client, symbol):
    reply = client.one(file_containing_symbol=symbol, host="example")
    assert reply.valid_host == "example"
    assert reply.original_request.file_containing_symbol == symbol
    files = files_of(reply)
    assert set(files) == {"testing.proto", "google/protobuf/empty.proto", "google/protobuf/timestamp.proto"}
    assert [service.name for service in files["testing.proto"].service] == ["TestService", "StreamService"]
    assert not files["testing.proto"].HasField("source_code_info")


def test_files_are_found_by_name(client):
    assert list(files_of(client.one(file_by_filename="google/protobuf/empty.proto"))) == ["google/protobuf/empty.proto"]
    assert len(files_of(client.one(file_by_filename="testing.proto"))) == 3


def test_descriptors_are_those_of_protoc(client, stubs):
    expected = descriptor_pb2.FileDescriptorProto()
    stubs[0].DESCRIPTOR.CopyToProto(expected)
    found = files_of(client.one(file_by_filename="testing.proto"))["testing.proto"]
    # Generated code may have the names that JSON gives to fields, and another has not.
    for file in (expected, found):
        for message in file.message_type:
            for part in (message, *message.nested_type):
                for field in part.field:
                    field.ClearField("json_name")
    assert found == expected


@pytest.mark.parametrize("fields, code, message", [
    (dict(file_by_filename="nobody.proto"), 5, "File not found."),
    (dict(file_by_filename=""), 5, "File not found."),
    (dict(file_containing_symbol="drover.testing.Nobody"), 5, "Symbol not found."),
    (dict(file_containing_symbol=".drover.testing.TestService"), 5, "Symbol not found."),
    (dict(file_containing_symbol=""), 5, "Symbol not found."),
    (dict(file_containing_symbol="drover.testing.TestService.Echo.Echo"), 5, "Symbol not found."),
    (dict(file_containing_symbol="x" * 50000), 5, "Symbol not found."),
    (dict(file_containing_symbol="." * 50000), 5, "Symbol not found."),
    (dict(file_containing_extension=dict(containing_type="drover.testing.Item", extension_number=4)), 5,
     "Extension not found."),
    (dict(file_containing_extension=dict(containing_type="Nobody", extension_number=-1)), 5, "Type not found."),
    (dict(all_extension_numbers_of_type="Nobody"), 5, "Type not found."),
    (dict(all_extension_numbers_of_type="drover.testing.TestService"), 5, "Type not found."),
    (dict(), 12, "")])
def test_what_is_not_there_is_an_error_in_the_response(client, fields, code, message):
    reply = client.one(**fields)
    assert reply.WhichOneof("message_response") == "error_response"
    assert (reply.error_response.error_code, reply.error_response.error_message) == (code, message)
    assert reply.original_request == client.request(**fields)


def test_a_message_without_extensions_has_an_empty_list(client):
    reply = client.one(all_extension_numbers_of_type="drover.testing.Item").all_extension_numbers_response
    assert (reply.base_type_name, list(reply.extension_number)) == ("drover.testing.Item", [])


def test_many_requests_of_one_stream_are_answered_in_order(client):
    requests = [client.request(file_containing_symbol=f"drover.testing.{'Item' if i % 3 else i}") for i in range(3000)]
    replies = client.ask(*requests, timeout=60)
    assert [reply.original_request for reply in replies] == requests
    assert all(reply.HasField("file_descriptor_response") == (i % 3 != 0) for i, reply in enumerate(replies))


def test_the_reflection_service_describes_itself(client):
    files = files_of(client.one(file_containing_symbol=client.package + ".ServerReflection"))
    (file,) = files.values()
    assert [service.name for service in file.service] == ["ServerReflection"]


def test_bytes_that_are_no_request_end_the_call_and_no_other(client):
    raw = client.channel.stream_stream(f"/{client.package}.ServerReflection/ServerReflectionInfo")
    try:
        list(raw(iter([b"\xff\xff"]), timeout=20))
    except grpc.RpcError as error:
        assert error.code() == grpc.StatusCode.INTERNAL  # gRPC C++ ends the call in OK
    assert SERVICES[0] in client.services()


@pytest.mark.parametrize("kind", sorted({flavour[0] for flavour in FLAVOURS}))
def test_the_stock_descriptor_database_makes_calls_possible(make_server, kind):
    server = make_server(kind, "--reflection")
    with grpc.insecure_channel(server.address) as channel:
        database = ProtoReflectionDescriptorDatabase(channel)
        assert set(SERVICES) < set(database.get_services())
        pool = descriptor_pool.DescriptorPool(database)
        method = pool.FindServiceByName("drover.testing.TestService").FindMethodByName("Echo")
        request, reply = map(message_factory.GetMessageClass, (method.input_type, method.output_type))
        call = channel.unary_unary("/drover.testing.TestService/Echo", request_serializer=request.SerializeToString,
                                   response_deserializer=reply.FromString)
        assert call(request(text="by reflection", counts={"a": 1})).text == "by reflection"


# ---- Drover alone

# (A program that links gRPC C++'s reflection has it, whether it asks for it or not.)
def test_a_server_that_does_not_ask_for_it_has_none(make_server, reflection_stubs):
    server = make_server("drover")
    with grpc.insecure_channel(server.address) as channel:
        with pytest.raises(grpc.RpcError) as error:
            Client(channel, V1ALPHA, reflection_stubs[V1ALPHA]).services()
        assert error.value.code() == grpc.StatusCode.UNIMPLEMENTED


@pytest.fixture
def drover_client(make_server, reflection_stubs):
    server = make_server("drover", "--reflection")
    with grpc.insecure_channel(server.address) as channel:
        client = Client(channel, V1, reflection_stubs[V1])
        client.server, client.channel = server, channel
        yield client


def test_a_request_of_more_than_64_kib_is_refused(drover_client):
    with pytest.raises(grpc.RpcError) as error:
        drover_client.one(file_by_filename="x" * 70000)
    assert error.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
    assert drover_client.services()


def resident(pid):
    with open(f"/proc/{pid}/status") as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith("VmRSS:"))


def test_clients_that_do_not_read_cost_no_more_memory_than_their_windows(drover_client, stubs):
    """200 streams, each with thousands of requests whose answers nobody reads, and another client is served."""
    before = resident(drover_client.server.engine_pid)
    requests = [drover_client.request(file_containing_symbol="drover.testing.TestService")] * 3000
    streams = [drover_client.call(iter(requests), timeout=60) for _ in range(200)]
    for stream in streams:
        next(stream)
    with grpc.insecure_channel(drover_client.server.address, options=[("grpc.use_local_subchannel_pool", 1)]) as other:
        echo = stubs[1].TestServiceStub(other).Echo
        for _ in range(50):
            assert echo(stubs[0].EchoRequest(text="still here"), timeout=20).text == "still here"
    assert resident(drover_client.server.engine_pid) - before < 100 << 20
    for stream in streams:
        stream.cancel()


def test_two_services_in_two_processes_on_one_port_are_seen_together(build_dir, make_server, reflection_stubs):
    first = make_server("drover", "--reflection")
    greeter = subprocess.Popen([str(build_dir / "examples" / "greeter" / "greeter_server"), first.address],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert greeter.stdout.readline().startswith("greeter listens on")
        with grpc.insecure_channel(first.address) as channel:
            client = Client(channel, V1, reflection_stubs[V1])
            both = SERVICES + ["grpc.health.v1.Health", "helloworld.Greeter"]
            for _ in range(10):
                assert set(both) < set(client.services())
                assert files_of(client.one(file_containing_symbol="helloworld.Greeter"))
                assert files_of(client.one(file_containing_symbol="drover.testing.TestService"))
            greeter.terminate()
            greeter.wait(20)
            assert "helloworld.Greeter" not in client.services()
            assert set(SERVICES) < set(client.services())
    finally:
        greeter.kill()
        greeter.wait()
