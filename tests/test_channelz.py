"""Channelz by a stock client: what it sees of Drover is what it sees of gRPC C++; and whose servers and sockets a client
of an engine with several hosts sees."""

import os
import socket
import ssl
import subprocess
import sys
import time

import grpc
import pytest

from certificates import Authority
from conftest import TESTS
from processes import wait_for

SERVICE = "grpc.channelz.v1.Channelz"
# gRPC C++ has no setting that the environment of Drover's runs changes.
KINDS = ["drover"] + ([] if os.environ.get("DROVER_ENGINE_IO") else ["grpc"])


@pytest.fixture(scope="session")
def messages(build_dir):
    """The service's messages, made by grpcio-tools from the engine's .proto file, under a name of their own."""
    out = build_dir / "tests" / "python_channelz"
    out.mkdir(parents=True, exist_ok=True)
    text = (TESTS.parent / "engine" / "channelz" / "proto" / "grpc" / "channelz" / "v1" / "channelz.proto").read_text()
    (out / "ask_channelz.proto").write_text(text.replace("package grpc.channelz.v1;", "package ask.channelz;"))
    subprocess.run([sys.executable, "-m", "grpc_tools.protoc", f"-I{out}", f"--python_out={out}", "ask_channelz.proto"],
                   check=True)
    sys.path.insert(0, str(out))
    import ask_channelz_pb2
    return ask_channelz_pb2


def connection_to(address):
    """A channel with a connection of its own."""
    return grpc.insecure_channel(address, options=[("grpc.use_local_subchannel_pool", 1)])


class Channelz:
    def __init__(self, channel, messages):
        self.channel, self.messages = channel, messages

    def ask(self, name, **fields):
        request = getattr(self.messages, name + "Request")(**fields)
        reply = getattr(self.messages, name + "Response")
        return self.channel.unary_unary(f"/{SERVICE}/{name}", request_serializer=type(request).SerializeToString,
                                        response_deserializer=reply.FromString)(request, timeout=20)

    def servers(self):
        reply = self.ask("GetServers")
        assert reply.end
        return list(reply.server)

    def server(self):
        (server,) = self.servers()
        return server

    def connections(self, server, **page):
        """All sockets of a server, by pages."""
        refs, start = [], 0
        while True:
            reply = self.ask("GetServerSockets", server_id=server.ref.server_id, start_socket_id=start, **page)
            refs += reply.socket_ref
            if reply.end:
                return [self.ask("GetSocket", socket_id=ref.socket_id).socket for ref in refs]
            assert reply.socket_ref, "a page that is not the last has something"
            start = reply.socket_ref[-1].socket_id + 1

    def connection_of(self, server, peer):
        """The socket whose client has that address, as ServerContext::peer spells it."""
        port = int(peer.rsplit(":", 1)[1])
        (found,) = [one for one in self.connections(server) if one.remote.tcpip_address.port == port]
        return found


def calls_of(channel, stubs):
    return stubs[1].TestServiceStub(channel), stubs[1].StreamServiceStub(channel)


def peer_of(channel, stubs):
    return calls_of(channel, stubs)[0].Metadata(stubs[0].MetadataRequest(), timeout=20).peer


def age(timestamp):
    """Seconds from a Timestamp to now."""
    return time.time() - timestamp.seconds - timestamp.nanos / 1e9


@pytest.fixture(params=KINDS)
def served(request, make_server, messages, stubs):
    """(kind, server, Channelz, a channel for calls)."""
    server = make_server(request.param, "--channelz")
    with connection_to(server.address) as asks, connection_to(server.address) as calls:
        yield request.param, server, Channelz(asks, messages), calls


def test_a_server_has_an_id_and_its_listening_socket(served):
    kind, server, channelz, _ = served
    first = channelz.server()
    assert first.ref.server_id > 0
    assert channelz.ask("GetServer", server_id=first.ref.server_id).server.ref == first.ref
    assert channelz.server().ref == first.ref
    (listening,) = first.listen_socket
    found = channelz.ask("GetSocket", socket_id=listening.socket_id).socket
    assert found.ref.socket_id == listening.socket_id
    # gRPC C++ shows the port that was asked for: 0, any.
    assert found.local.tcpip_address.port == (server.port if kind == "drover" else 0)
    assert found.local.tcpip_address.ip_address == socket.inet_aton("127.0.0.1")


def test_calls_of_a_server_are_counted_by_their_end(served, stubs):
    kind, _, channelz, channel = served
    calls, _ = calls_of(channel, stubs)
    before = channelz.server().data
    for i in range(5):
        calls.Echo(stubs[0].EchoRequest(text=str(i)), timeout=20)
    for _ in range(2):
        with pytest.raises(grpc.RpcError):
            calls.Fail(stubs[0].FailRequest(code=5, message="no"), timeout=20)
    left = calls.Sleep.future(stubs[0].SleepRequest(millis=200), timeout=20)
    # gRPC C++ counts the calls of channelz, too: one each time we look, which has begun and not ended.
    own = 0 if kind == "drover" else 1
    looks = [0]

    def data():
        looks[0] += own
        return channelz.server().data

    wait_for(lambda: data().calls_started == before.calls_started + 8 + looks[0])
    left.cancel()
    wait_for(lambda: data().calls_failed == before.calls_failed + 3)
    now = data()
    assert now.calls_started == before.calls_started + 8 + looks[0]
    assert now.calls_succeeded == before.calls_succeeded + 5 + looks[0]
    assert 0 <= age(now.last_call_started_timestamp) < 20


def test_a_connection_counts_streams_and_messages(served, stubs):
    _, server, channelz, channel = served
    peer = peer_of(channel, stubs)
    before = channelz.connection_of(channelz.server(), peer).data
    assert (before.streams_started, before.messages_received, before.messages_sent) == (1, 1, 1)
    calls, streams = calls_of(channel, stubs)
    for i in range(3):
        calls.Echo(stubs[0].EchoRequest(text=str(i)), timeout=20)
    with pytest.raises(grpc.RpcError):
        calls.Fail(stubs[0].FailRequest(code=5, message="no"), timeout=20)
    assert len(list(streams.Spread(stubs[0].SpreadRequest(count=10, size=10), timeout=20))) == 10
    assert streams.Collect((stubs[0].Item(number=i) for i in range(20)), timeout=20).count == 20
    endless = streams.Talk(stubs[0].Item(number=i, pause_millis=50) for i in range(1000))
    next(endless)
    endless.cancel()
    server_found = channelz.server()

    def data():
        return channelz.connection_of(server_found, peer).data

    wait_for(lambda: data().streams_failed == 1)
    now = data()
    assert now.streams_started == 1 + 3 + 1 + 1 + 1 + 1
    assert now.streams_succeeded == 7
    assert now.messages_received >= 1 + 3 + 1 + 1 + 20 + 1
    assert now.messages_sent >= 1 + 3 + 10 + 1 + 1
    for field in ("last_remote_stream_created_timestamp", "last_message_sent_timestamp",
                  "last_message_received_timestamp"):
        assert 0 <= age(getattr(now, field)) < 20, field
    assert not now.HasField("last_local_stream_created_timestamp")


def test_a_connection_has_both_addresses_and_goes_when_it_closes(served, stubs):
    _, server, channelz, _ = served
    with connection_to(server.address) as channel:
        peer = peer_of(channel, stubs)
        found = channelz.connection_of(channelz.server(), peer)
        assert found.local.tcpip_address.port == server.port
        assert found.local.tcpip_address.ip_address == socket.inet_aton("127.0.0.1")
        assert found.remote.tcpip_address.ip_address == socket.inet_aton("127.0.0.1")
    id_of_it = found.ref.socket_id

    def gone():
        try:
            channelz.ask("GetSocket", socket_id=id_of_it)
        except grpc.RpcError as error:
            return error.code() == grpc.StatusCode.NOT_FOUND
        return False

    wait_for(gone)


def test_what_is_not_there_is_not_found(served):
    kind, _, channelz, _ = served
    reply = channelz.ask("GetTopChannels")
    assert (len(reply.channel), reply.end) == (0, True)
    for name, field in (("GetServer", "server_id"), ("GetSocket", "socket_id"), ("GetChannel", "channel_id"),
                        ("GetSubchannel", "subchannel_id"), ("GetServerSockets", "server_id")):
        with pytest.raises(grpc.RpcError) as error:
            channelz.ask(name, **{field: 1 << 40})
        # gRPC C++ 1.51 ends GetServer and GetServerSockets in INTERNAL, "... returned null".
        allowed = [grpc.StatusCode.NOT_FOUND] + ([grpc.StatusCode.INTERNAL] if kind == "grpc" else [])
        assert error.value.code() in allowed, name


def test_sockets_come_in_pages(served, stubs):
    _, server, channelz, _ = served
    channels = [connection_to(server.address) for _ in range(7)]
    try:
        peers = {int(peer_of(channel, stubs).rsplit(":", 1)[1]) for channel in channels}
        found = channelz.connections(channelz.server(), max_results=2)
        assert peers <= {one.remote.tcpip_address.port for one in found}
        ids = [one.ref.socket_id for one in found]
        assert ids == sorted(set(ids))
    finally:
        for channel in channels:
            channel.close()


# ---- Drover alone

def test_a_server_that_does_not_ask_for_it_has_none(make_server, messages):
    server = make_server("drover")
    with connection_to(server.address) as channel, pytest.raises(grpc.RpcError) as error:
        Channelz(channel, messages).servers()
    assert error.value.code() == grpc.StatusCode.UNIMPLEMENTED


def test_the_configuration_may_forbid_it(make_server, messages, tmp_path):
    config = tmp_path / "engine.toml"
    config.write_text('[channelz]\nshows = "nothing"\n')
    server = make_server("drover", "--channelz", env={"DROVER_CONFIG": str(config)})
    with connection_to(server.address) as channel, pytest.raises(grpc.RpcError) as error:
        Channelz(channel, messages).servers()
    assert error.value.code() == grpc.StatusCode.UNIMPLEMENTED


def test_windows_are_shown(make_server, messages):
    server = make_server("drover", "--channelz")
    with connection_to(server.address) as channel:
        channelz = Channelz(channel, messages)
        (found,) = channelz.connections(channelz.server())
        assert found.data.local_flow_control_window.value > 0
        assert found.data.remote_flow_control_window.value > 0


def test_tls_is_shown_with_both_certificates(make_server, messages, tmp_path_factory):
    authority = Authority(tmp_path_factory.mktemp("tls"))
    authority.sign("server", alternative="DNS:localhost")
    authority.sign("client", subject="/CN=alice")
    server = make_server("drover", "--channelz", "--key", str(authority.key("server")), "--certificate",
                         str(authority.pem("server")), "--client-ca", str(authority.pem()), "--clients", "4")
    credentials = grpc.ssl_channel_credentials(authority.pem().read_bytes(), authority.key("client").read_bytes(),
                                               authority.pem("client").read_bytes())
    with grpc.secure_channel(server.address, credentials,
                             options=[("grpc.ssl_target_name_override", "localhost")]) as channel:
        channelz = Channelz(channel, messages)
        (found,) = channelz.connections(channelz.server())

    def der(name):
        return ssl.PEM_cert_to_DER_cert(authority.pem(name).read_text().split("-----END CERTIFICATE-----")[0]
                                        + "-----END CERTIFICATE-----\n")

    assert found.security.tls.standard_name.startswith("TLS_")
    assert found.security.tls.local_certificate == der("server")
    assert found.security.tls.remote_certificate == der("client")


def test_several_engine_threads_are_seen_as_one(make_server, messages, stubs, tmp_path):
    config = tmp_path / "engine.toml"
    config.write_text("[engine]\nthreads = 3\n")
    server = make_server("drover", "--channelz", env={"DROVER_CONFIG": str(config)})
    channels = [connection_to(server.address) for _ in range(16)]
    try:
        peers = [peer_of(channel, stubs) for channel in channels]
        channelz = Channelz(channels[0], messages)
        found = channelz.server()
        wait_for(lambda: channelz.server().data.calls_succeeded == 16)
        ids = [one.ref.socket_id for one in channelz.connections(found, max_results=3)]
        assert len(ids) == 16 and ids == sorted(set(ids))
        assert len({number >> 2 & 255 for number in ids}) > 1, "the kernel spreads them over the threads"
        for channel in channels:  # from whichever thread it is asked
            asked = Channelz(channel, messages)
            assert {asked.connection_of(found, peer).data.streams_started > 0 for peer in peers} == {True}
    finally:
        for channel in channels:
            channel.close()


def test_a_second_host_of_the_user_is_seen_until_it_leaves(make_server, messages):
    first = make_server("drover", "--channelz")
    second = make_server("drover", address=first.address)  # it does not ask for channelz itself
    assert second.engine_pid is None, "they share an engine"
    with connection_to(first.address) as channel:
        channelz = Channelz(channel, messages)
        names = [server.ref.name for server in channelz.servers()]
        assert len(names) == 2 and str(first.process.pid) in names[0] and str(second.process.pid) in names[1]
        second.stop()
        wait_for(lambda: len(channelz.servers()) == 1)


def test_reflection_describes_it(make_server):
    from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase
    server = make_server("drover", "--channelz", "--reflection")
    with connection_to(server.address) as channel:
        database = ProtoReflectionDescriptorDatabase(channel)
        assert SERVICE in database.get_services()
        assert database.FindFileContainingSymbol(SERVICE).name == "grpc/channelz/v1/channelz.proto"


def test_a_flood_of_questions_delays_no_other_client_and_costs_little(make_server, messages, stubs):
    """Thousands of questions at once, of which many are left by their client."""
    server = make_server("drover", "--channelz")
    with connection_to(server.address) as asks, connection_to(server.address) as calls:
        channelz = Channelz(asks, messages)
        id_of_it = channelz.server().ref.server_id
        request = messages.GetServerSocketsRequest(server_id=id_of_it).SerializeToString()
        method = asks.unary_unary(f"/{SERVICE}/GetServerSockets")
        futures = [method.future(request, timeout=60) for _ in range(2000)]
        echo = calls_of(calls, stubs)[0].Echo
        for _ in range(50):
            assert echo(stubs[0].EchoRequest(text="still here"), timeout=20).text == "still here"
        for future in futures[::2]:
            future.cancel()
        for future in futures[1::2]:
            assert future.result(60)
        assert channelz.server()
