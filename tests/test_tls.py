"""TLS with stock clients: one-way and mutual, names, versions, protocols, reloading, and what gRPC C++ shows of a peer.

What holds for gRPC C++ too runs against both servers: `kind` is drover or grpc.
"""

import concurrent.futures
import os
import pathlib
import signal
import socket
import ssl
import subprocess
import time

import grpc
import pytest

from certificates import RSA, Authority

KINDS = ["drover", "grpc"]
SERVERS = "DNS:localhost,DNS:shop.example,IP:127.0.0.1"


@pytest.fixture(scope="session")
def authority(tmp_path_factory):
    made = Authority(tmp_path_factory.mktemp("tls"))
    made.sign("server", alternative=SERVERS)
    made.sign("mail", alternative="DNS:mail.example,DNS:*.mail.example")
    made.sign("rsa", alternative=SERVERS, kind=RSA)
    made.sign("client", subject="/O=Drover/OU=Tests/CN=alice",
              alternative="DNS:alice.example,URI:spiffe://drover.test/alice,email:alice@drover.test,IP:192.0.2.7")
    made.sign("plain_client", subject="/CN=bob")
    return made


@pytest.fixture(scope="session")
def stranger(tmp_path_factory):
    made = Authority(tmp_path_factory.mktemp("stranger"), "stranger")
    made.sign("client", subject="/CN=mallory")
    return made


def pair_of(authority, name):
    return ["--key", str(authority.key(name)), "--certificate", str(authority.pem(name))]


def channel_to(server, roots, key=None, chain=None, name="localhost", options=()):
    credentials = grpc.ssl_channel_credentials(roots.read_bytes(), key.read_bytes() if key else None,
                                               chain.read_bytes() if chain else None)
    return grpc.secure_channel(server.address, credentials,
                               options=[("grpc.ssl_target_name_override", name), *options])


def echo(channel, stubs, text="hello", timeout=5):
    messages, services = stubs
    return services.TestServiceStub(channel).Echo(messages.EchoRequest(text=text), timeout=timeout).text


def metadata_of(channel, stubs):
    messages, services = stubs
    return services.TestServiceStub(channel).Metadata(messages.MetadataRequest(), timeout=5)


def python_context(authority, protocols=("h2",)):
    context = ssl.create_default_context(cafile=str(authority.pem()))
    if protocols:
        context.set_alpn_protocols(list(protocols))
    return context


def connect(server, context, name="localhost"):
    return context.wrap_socket(socket.create_connection(("127.0.0.1", server.port), 5), server_hostname=name)


def common_name(peer):
    return dict(part for parts in peer.getpeercert()["subject"] for part in parts)["commonName"]


def refused(channel, stubs):
    with pytest.raises(grpc.RpcError) as caught:
        echo(channel, stubs, timeout=3)
    return caught.value.code() in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)


# ---- calls

@pytest.mark.parametrize("kind", KINDS)
def test_a_stock_client_calls_over_tls(make_server, authority, stubs, kind):
    server = make_server(kind, *pair_of(authority, "server"))
    with channel_to(server, authority.pem()) as channel:
        assert echo(channel, stubs) == "hello"
        reply = metadata_of(channel, stubs)
        assert not reply.authenticated and reply.identity_name == ""
        auth = {pair.key: pair.value for pair in reply.auth}
        assert auth["transport_security_type"] == b"ssl"
        assert auth["security_level"] == b"TSI_PRIVACY_AND_INTEGRITY"
        assert auth["ssl_session_reused"] == b"false"


def test_large_messages_and_many_calls_arrive_as_they_were_sent(make_server, authority, stubs):
    messages, services = stubs
    server = make_server("drover", *pair_of(authority, "server"))
    with channel_to(server, authority.pem(), options=[("grpc.max_receive_message_length", -1)]) as channel:
        stub = services.TestServiceStub(channel)
        body = bytes(i * 7 % 251 for i in range(3_500_000))
        assert stub.Echo(messages.EchoRequest(payload=body), timeout=20).payload == body
        size = 40_000_000
        assert len(stub.Sized(messages.SizedRequest(size=size), timeout=30).payload) == size
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            bodies = [body[:1 + i * 1009 % 70_000] for i in range(400)]
            replies = pool.map(lambda b: stub.Echo(messages.EchoRequest(payload=b), timeout=20).payload, bodies)
            assert list(replies) == bodies


def test_streams_of_all_kinds_go_over_tls(make_server, authority, stubs):
    messages, services = stubs
    server = make_server("drover", *pair_of(authority, "server"))
    with channel_to(server, authority.pem(), options=[("grpc.max_receive_message_length", -1)]) as channel:
        stub = services.StreamServiceStub(channel)
        slow = stub.Spread(messages.SpreadRequest(count=60, size=1 << 20), timeout=60)  # is not read until the others are
        for count, size in ((0, 0), (1, 3 << 20), (2000, 10), (100, 20_000)):
            def items(count=count, size=size):
                return (messages.Item(number=number, payload=bytes(size)) for number in range(count))
            spread = list(stub.Spread(messages.SpreadRequest(count=count, size=size), timeout=30))
            assert [item.number for item in spread] == list(range(count))
            assert all(item.payload == b"s" * size for item in spread)
            summary = stub.Collect(items(), timeout=30)
            assert (summary.count, summary.bytes, summary.in_order) == (count, count * size, True)
            talked = list(stub.Talk(items(), timeout=30))
            assert [(item.number, len(item.payload)) for item in talked] == [(n, size) for n in range(count)]
        assert [item.number for item in slow] == list(range(60))
        cancelled = stub.Spread(messages.SpreadRequest(count=1000, size=1 << 20), timeout=30)
        next(cancelled)
        cancelled.cancel()
        assert echo(channel, stubs) == "hello"


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
@pytest.mark.parametrize("certificate", ["server", "rsa"])
def test_both_versions_are_spoken_with_both_kinds_of_key(make_server, authority, version, certificate):
    server = make_server("drover", *pair_of(authority, certificate))
    context = python_context(authority)
    context.minimum_version = context.maximum_version = version
    with connect(server, context) as peer:
        assert peer.selected_alpn_protocol() == "h2"
        peer.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0")
        assert peer.recv(9)[3] == 4  # SETTINGS


def test_sessions_are_resumed(make_server, authority):
    server = make_server("drover", *pair_of(authority, "server"))
    for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
        context = python_context(authority)
        context.minimum_version = context.maximum_version = version
        with connect(server, context) as peer:
            peer.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0")
            peer.recv(9)
            session = peer.session
        plain = socket.create_connection(("127.0.0.1", server.port), 5)
        with context.wrap_socket(plain, server_hostname="localhost", session=session) as peer:
            assert peer.session_reused


# ---- what is refused

def test_a_client_that_trusts_another_authority_makes_no_call(make_server, authority, stranger, stubs):
    server = make_server("drover", *pair_of(authority, "server"))
    with channel_to(server, stranger.pem()) as channel:
        assert refused(channel, stubs)
    with channel_to(server, authority.pem(), name="other.example") as channel:
        assert refused(channel, stubs)


@pytest.mark.parametrize("protocols", [(), ("http/1.1",)])
def test_without_alpn_h2_there_is_no_connection(make_server, authority, protocols):
    server = make_server("drover", *pair_of(authority, "server"))
    with pytest.raises((ssl.SSLError, ConnectionError)):
        connect(server, python_context(authority, protocols)).recv(1)


def test_old_versions_are_refused(make_server, authority):
    server = make_server("drover", *pair_of(authority, "server"))
    done = subprocess.run(["openssl", "s_client", "-connect", server.address, "-tls1_1", "-alpn", "h2", "-cipher",
                           "ALL:@SECLEVEL=0"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=20)
    assert done.returncode != 0 and "alert" in done.stderr, done.stderr


def test_cleartext_at_a_tls_port_and_tls_at_a_cleartext_port_end(make_server, authority, stubs):
    server = make_server("drover", *pair_of(authority, "server"))
    with grpc.insecure_channel(server.address) as channel:
        assert refused(channel, stubs)
    plain = make_server("drover")
    with channel_to(plain, authority.pem()) as channel:
        assert refused(channel, stubs)
    assert "does not speak TLS" in server.stderr()


def test_renegotiation_ends_the_connection(make_server, authority):
    server = make_server("drover", *pair_of(authority, "server"))
    with subprocess.Popen(["openssl", "s_client", "-connect", server.address, "-tls1_2", "-alpn", "h2"],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as client:
        time.sleep(1)
        client.stdin.write(b"R\n")
        client.stdin.flush()
        assert client.wait(10) is not None
    assert "renegotiation" in server.stderr()


# ---- clients' certificates

@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("client", ["client", "plain_client"])
def test_a_client_with_a_certificate_is_known_to_the_service(make_server, authority, stubs, kind, client):
    server = make_server(kind, *pair_of(authority, "server"), "--client-ca", str(authority.pem()), "--clients", "4")
    with channel_to(server, authority.pem(), authority.key(client), authority.pem(client)) as channel:
        reply = metadata_of(channel, stubs)
    assert reply.authenticated
    if client == "client":
        assert reply.identity_name == "x509_subject_alternative_name"
        assert list(reply.identity) == [b"alice.example", b"spiffe://drover.test/alice", b"alice@drover.test",
                                        b"192.0.2.7"]
    else:
        assert (reply.identity_name, list(reply.identity)) == ("x509_common_name", [b"bob"])


@pytest.mark.parametrize("client", [None, "client", "plain_client"])
def test_the_auth_context_is_that_of_grpc(make_server, authority, stubs, client):
    seen = {}
    for kind in KINDS:
        server = make_server(kind, *pair_of(authority, "server"), "--client-ca", str(authority.pem()),
                             "--clients", "2")
        key, chain = (authority.key(client), authority.pem(client)) if client else (None, None)
        with channel_to(server, authority.pem(), key, chain) as channel:
            reply = metadata_of(channel, stubs)
        seen[kind] = [(pair.key, pair.value) for pair in reply.auth], reply.identity_name, list(reply.identity)
    assert sorted(seen["drover"][0]) == sorted(seen["grpc"][0])
    assert seen["drover"][1:] == seen["grpc"][1:]


def test_the_auth_context_of_cleartext_is_that_of_grpc(make_server, stubs):
    seen = {}
    for kind in KINDS:
        with grpc.insecure_channel(make_server(kind).address) as channel:
            reply = metadata_of(channel, stubs)
        seen[kind] = [(pair.key, pair.value) for pair in reply.auth], reply.identity_name, reply.authenticated
    assert seen["drover"] == seen["grpc"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("clients, none, known, unknown", [
    (0, True, True, True), (1, True, True, True), (2, True, True, False), (3, False, True, True),
    (4, False, True, False)])
def test_who_may_call_by_client_certificate_request(make_server, authority, stranger, stubs, kind, clients, none, known,
                                                    unknown):
    server = make_server(kind, *pair_of(authority, "server"), "--client-ca", str(authority.pem()),
                         "--clients", str(clients))
    for may, keeper in ((none, None), (known, authority), (unknown, stranger)):
        key, chain = (keeper.key("client"), keeper.pem("client")) if keeper else (None, None)
        with channel_to(server, authority.pem(), key, chain) as channel:
            if may:
                assert echo(channel, stubs) == "hello"
            else:
                assert refused(channel, stubs)


# ---- several certificates, other certificates

def test_the_certificate_is_chosen_by_name(make_server, authority):
    server = make_server("drover", *pair_of(authority, "server"), *pair_of(authority, "mail"))
    for name, expected in (("shop.example", "server"), ("mail.example", "mail"), ("in.mail.example", "mail")):
        with connect(server, python_context(authority), name) as peer:
            assert common_name(peer) == expected
    context = python_context(authority)
    context.check_hostname = False
    with connect(server, context, "unknown.example") as peer:
        assert common_name(peer) == "server"


def configured(make_server, authority, folder, *flags, **options):
    """A server whose host asks for cleartext, with an engine that serves TLS from files in `folder`."""
    folder.mkdir(exist_ok=True)
    for name in ("server.pem", "server.key"):
        (folder / name).write_bytes((authority.folder / name).read_bytes())
    config = folder / "engine.toml"
    config.write_text(f'[tls]\ncertificate = "{folder}/server.pem"\nkey = "{folder}/server.key"\n'
                      'listen = "127.0.0.1:*"\nreload_s = 1\n' + "".join(flag + "\n" for flag in flags))
    return make_server("drover", env={"DROVER_CONFIG": str(config)}, **options)


def replace(folder, authority, name):
    for suffix in ("key", "pem"):
        fresh = folder / f"fresh.{suffix}"
        fresh.write_bytes((authority.folder / f"{name}.{suffix}").read_bytes())
        os.replace(fresh, folder / f"server.{suffix}")


def seen_within(seconds, server, authority, expected):
    end = time.monotonic() + seconds
    context = python_context(authority)
    context.check_hostname = False
    while time.monotonic() < end:
        with connect(server, context) as peer:
            if common_name(peer) == expected:
                return True
        time.sleep(0.1)
    return False


def test_certificates_are_reloaded_and_broken_ones_are_not(make_server, authority, stubs, tmp_path):
    folder = tmp_path / "identity"
    server = configured(make_server, authority, folder)
    with channel_to(server, authority.pem()) as open_before:
        assert echo(open_before, stubs) == "hello"
        replace(folder, authority, "mail")
        assert seen_within(10, server, authority, "mail"), "files that change are read again"
        (folder / "server.pem").write_text("not a certificate")
        os.kill(server.engine_pid, signal.SIGHUP)
        time.sleep(2)
        assert seen_within(1, server, authority, "mail"), "broken files leave the old ones in use"
        replace(folder, authority, "server")
        os.kill(server.engine_pid, signal.SIGHUP)
        assert seen_within(5, server, authority, "server")
        assert echo(open_before, stubs) == "hello", "connections go on"
    assert "the old ones stay" in server.stderr()


def test_an_identity_of_the_configuration_serves_a_host_that_knows_no_tls(make_server, authority, stubs, tmp_path):
    server = configured(make_server, authority, tmp_path / "identity",
                        f'client_ca = "{authority.pem()}"', 'clients = "require"')
    with channel_to(server, authority.pem(), authority.key("client"), authority.pem("client")) as channel:
        assert metadata_of(channel, stubs).identity_name == "x509_subject_alternative_name"
    with channel_to(server, authority.pem()) as channel:
        assert refused(channel, stubs)


# ---- credentials that cannot be used

@pytest.mark.parametrize("spoil, said", [
    (lambda key, chain: (b"no key", chain), "the private key cannot be read"),
    (lambda key, chain: (key, b"no certificate"), "no certificate in PEM"),
    (lambda key, chain: (b"", chain), "without a private_key")])
def test_unusable_credentials_make_build_and_start_fail_with_a_reason(build_dir, authority, tmp_path, spoil, said):
    key, chain = spoil(authority.key("server").read_bytes(), authority.pem("server").read_bytes())
    (tmp_path / "key").write_bytes(key)
    (tmp_path / "chain").write_bytes(chain)
    done = subprocess.run([build_dir / "tests" / "test_server", "--address", "127.0.0.1:0", "--key", tmp_path / "key",
                           "--certificate", tmp_path / "chain"], capture_output=True, text=True, timeout=30)
    assert done.returncode == 1
    assert said in done.stderr and ", port 0" in done.stderr, done.stderr


def test_a_key_of_another_certificate_is_told(build_dir, authority):
    done = subprocess.run([build_dir / "tests" / "test_server", "--address", "127.0.0.1:0", "--key",
                           authority.key("mail"), "--certificate", authority.pem("server")],
                          capture_output=True, text=True, timeout=30)
    assert done.returncode == 1 and "is not that of its certificate" in done.stderr, done.stderr


def test_configuration_that_cannot_be_used_ends_droverd(build_dir, authority, tmp_path):
    done = subprocess.run([build_dir / "engine" / "droverd", f"--engine.control_socket=unix:{tmp_path}/c",
                           f"--tls.certificate={authority.pem()}", f"--tls.key={tmp_path}/absent"],
                          capture_output=True, text=True, timeout=10)
    assert done.returncode == 2 and "identity default" in done.stderr and "absent" in done.stderr, done.stderr
