"""Tokens (JWT) that the engine checks before a call reaches its service: stock clients, cleartext and TLS."""

import os
import pathlib
import signal
import socket
import subprocess
import time
import urllib.request

import grpc
import pytest

from certificates import Authority
from processes import wait_for
from tokens import ISSUER, Issuer, bearer

UNAUTHENTICATED, DENIED = grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.PERMISSION_DENIED
TEST, STREAM = "/drover.testing.TestService/", "/drover.testing.StreamService/"


@pytest.fixture(scope="session")
def issuer(tmp_path_factory):
    return Issuer(tmp_path_factory.mktemp("issuer"))


@pytest.fixture(scope="session")
def stranger(tmp_path_factory):
    return Issuer(tmp_path_factory.mktemp("stranger"))


@pytest.fixture
def serve(make_server, tmp_path):
    """serve(issuer, rules, more keys of [auth], ...): a server whose engine checks tokens."""

    def start(of, rules="", more="", issuer_more="", sections="", arguments=(), **options):
        config = tmp_path / "engine.toml"
        config.write_text(f'[auth]\nissuers = "main iss={ISSUER} keys={of.keys} audiences=shop{issuer_more}"\n'
                          f'rules = "{rules}"\n{more}\n{sections}')
        return make_server("drover", *arguments, env={"DROVER_CONFIG": str(config)}, **options)

    return start


def answer(channel, stubs, metadata=(), timeout=5):
    messages, services = stubs
    return services.TestServiceStub(channel).Metadata(messages.MetadataRequest(), timeout=timeout,
                                                      metadata=list(metadata))


def refusal(channel, stubs, metadata=()):
    """(status code, the class of the fault)."""
    with pytest.raises(grpc.RpcError) as caught:
        answer(channel, stubs, metadata)
    return caught.value.code(), caught.value.details().partition("(")[2].partition(")")[0]


def properties(reply):
    found = {}
    for pair in reply.auth:
        found.setdefault(pair.key, []).append(pair.value.decode())
    return found


def received(reply):
    return [(pair.key, pair.value) for pair in reply.received]


def test_only_good_tokens_reach_the_service(serve, stubs, issuer, stranger):
    server = serve(issuer)
    messages, services = stubs
    now = int(time.time())
    with grpc.insecure_channel(server.address) as channel:
        def wrong(**claims):
            return refusal(channel, stubs, bearer(issuer.token(**claims)))

        good = issuer.token()
        header, claims, signature = good.split(".")
        assert refusal(channel, stubs) == (UNAUTHENTICATED, "no_token")
        assert refusal(channel, stubs, [("authorization", "Basic YTpi")]) == (UNAUTHENTICATED, "no_token")
        assert refusal(channel, stubs, bearer(stranger.token(header={"alg": "ES256"}))) == (UNAUTHENTICATED, "signature")
        assert refusal(channel, stubs, bearer("nonsense")) == (UNAUTHENTICATED, "malformed")
        assert refusal(channel, stubs, bearer(good) + bearer(good)) == (UNAUTHENTICATED, "malformed")
        assert refusal(channel, stubs, bearer(f"eyJhbGciOiJub25lIn0.{claims}.{signature}")) == (UNAUTHENTICATED, "algorithm")
        assert refusal(channel, stubs, bearer(issuer.token(pad="x" * 8000))) == (UNAUTHENTICATED, "too_large")
        assert wrong(exp=now - 60) == (UNAUTHENTICATED, "expired")
        assert wrong(exp=None) == (UNAUTHENTICATED, "missing_claim")
        assert wrong(nbf=now + 60) == (UNAUTHENTICATED, "not_yet_valid")
        assert wrong(aud="bank") == (UNAUTHENTICATED, "audience")
        assert wrong(iss="https://evil.example/") == (UNAUTHENTICATED, "unknown_issuer")
        stats = services.TestServiceStub(channel).Stats(messages.StatsRequest(), timeout=5, metadata=bearer(good))
        assert stats.calls == 0  # nothing else came to the service
        assert answer(channel, stubs, bearer(good)).peer.startswith("ipv4:127.0.0.1:")


@pytest.mark.parametrize("algorithm", ["RS256", "PS256", "ES256", "EdDSA", "HS256"])
def test_each_kind_of_key_is_taken(serve, stubs, tmp_path, algorithm):
    own = Issuer(tmp_path / "issuer", algorithm)
    server = serve(own, issuer_more=" algorithms=HS256" if algorithm == "HS256" else "")
    with grpc.insecure_channel(server.address) as channel:
        assert properties(answer(channel, stubs, bearer(own.token())))["jwt_sub"] == ["alice"]
        header, claims, signature = own.token().split(".")
        other = own.token(sub="mallory").split(".")[1]
        assert refusal(channel, stubs, bearer(f"{header}.{other}.{signature}")) == (UNAUTHENTICATED, "signature")


def test_the_service_learns_what_was_checked_and_nothing_else(serve, stubs, issuer):
    server = serve(issuer, more='claims = "tenant"')
    token = issuer.token(scope="read write", tenant="acme", secret="x")
    forged = [("jwt_sub", "root"), ("jwt_scope", "admin"), ("Bearer".lower(), "x")]
    with grpc.insecure_channel(server.address) as channel:
        for _ in range(3):  # the first call, and repeated heads
            reply = answer(channel, stubs, bearer(token) + forged)
            found = properties(reply)
            assert found["jwt_iss"] == [ISSUER] and found["jwt_sub"] == ["alice"] and found["jwt_aud"] == ["shop"]
            assert found["jwt_scope"] == ["read", "write"] and found["jwt_tenant"] == ["acme"]
            assert "jwt_secret" not in found
            assert found["transport_security_type"] == ["insecure"]
            assert not reply.authenticated
            names = [key for key, _ in received(reply)]
            assert "authorization" not in names and "jwt_sub" in names  # metadata is the client's to choose


def test_the_token_is_forwarded_if_configured(serve, stubs, issuer):
    server = serve(issuer, more='forward_token = "yes"')
    token = issuer.token()
    with grpc.insecure_channel(server.address) as channel:
        for _ in range(2):
            assert ("authorization", f"Bearer {token}") in [(k, v.decode() if isinstance(v, bytes) else v)
                                                           for k, v in received(answer(channel, stubs, bearer(token)))]


def test_rules_decide_by_method(serve, stubs, issuer, stranger):
    messages, services = stubs
    server = serve(issuer, f"{TEST}Echo=off; {TEST}Metadata=optional; {TEST}Sized=require scopes=big; "
                           f"{STREAM}*=require claims=tenant:acme")
    with grpc.insecure_channel(server.address) as channel:
        stub, streams = services.TestServiceStub(channel), services.StreamServiceStub(channel)

        def sized(**claims):
            return stub.Sized(messages.SizedRequest(size=3), timeout=5, metadata=bearer(issuer.token(**claims)))

        def code(call, *arguments, **more):
            with pytest.raises(grpc.RpcError) as caught:
                result = call(*arguments, timeout=5, **more)
                list(result)
            return caught.value.code()

        assert stub.Echo(messages.EchoRequest(text="x"), timeout=5).text == "x"
        assert stub.Echo(messages.EchoRequest(text="x"), timeout=5, metadata=bearer("nonsense")).text == "x"
        anonymous = answer(channel, stubs)
        assert "jwt_sub" not in properties(anonymous)
        assert properties(answer(channel, stubs, bearer(issuer.token())))["jwt_sub"] == ["alice"]
        assert refusal(channel, stubs, bearer(stranger.token(header={"alg": "ES256"}))) == (UNAUTHENTICATED, "signature")
        assert sized(scope="small big").payload == b"abc"
        assert code(stub.Sized, messages.SizedRequest(size=3), metadata=bearer(issuer.token(scope="small"))) == DENIED
        assert code(stub.Sized, messages.SizedRequest(size=3)) == UNAUTHENTICATED
        # A method that no rule names needs a token, also one that is not there.
        assert code(stub.Stats, messages.StatsRequest()) == UNAUTHENTICATED
        unknown = channel.unary_unary("/no.Such/Method")
        assert code(unknown, b"") == UNAUTHENTICATED
        assert code(unknown, b"", metadata=bearer(issuer.token())) == grpc.StatusCode.UNIMPLEMENTED
        # Streams, of all kinds.
        good, bad = bearer(issuer.token(tenant="acme")), bearer(issuer.token(tenant="other"))
        items = [messages.Item(number=number) for number in range(10)]
        assert len(list(streams.Spread(messages.SpreadRequest(count=10), timeout=5, metadata=good))) == 10
        assert streams.Collect(iter(items), timeout=5, metadata=good).count == 10
        assert len(list(streams.Talk(iter(items), timeout=5, metadata=good))) == 10
        assert code(streams.Spread, messages.SpreadRequest(count=10), metadata=bad) == DENIED
        assert code(streams.Collect, iter(items), metadata=bad) == DENIED
        assert code(streams.Talk, iter(items), metadata=bad) == DENIED
        assert code(streams.Talk, iter(items)) == UNAUTHENTICATED


def test_a_token_that_expires_is_refused_on_an_open_connection(serve, stubs, issuer):
    server = serve(issuer, more="leeway_s = 0")
    token = issuer.token(exp=int(time.time()) + 2)
    with grpc.insecure_channel(server.address) as channel:
        assert answer(channel, stubs, bearer(token))
        time.sleep(2.1)
        assert refusal(channel, stubs, bearer(token)) == (UNAUTHENTICATED, "expired")


def test_keys_are_replaced_without_a_restart(serve, stubs, tmp_path):
    own = Issuer(tmp_path / "issuer")
    server = serve(own)
    before = own.token()
    with grpc.insecure_channel(server.address) as channel:
        assert answer(channel, stubs, bearer(before))
        good = own.keys.read_text()
        own.keys.write_text(good[:40])
        os.kill(server.engine_pid, signal.SIGHUP)
        wait_for(lambda: "token keys not reloaded" in server.stderr())
        assert answer(channel, stubs, bearer(before))
        own.new_key()
        os.kill(server.engine_pid, signal.SIGHUP)
        wait_for(lambda: "token keys reloaded" in server.stderr())
        # On the connection that is open, whose heads are known.
        assert refusal(channel, stubs, bearer(before)) == (UNAUTHENTICATED, "unknown_key")
        assert answer(channel, stubs, bearer(own.token()))


def test_tokens_and_certificates_go_together_over_tls(serve, stubs, issuer, tmp_path):
    authority = Authority(tmp_path / "tls")
    key, chain = authority.sign("server", alternative="DNS:localhost,IP:127.0.0.1")
    server = serve(issuer, arguments=["--key", str(key), "--certificate", str(chain)])
    token = issuer.token()
    credentials = grpc.composite_channel_credentials(
        grpc.ssl_channel_credentials(authority.pem().read_bytes()), grpc.access_token_call_credentials(token))
    with grpc.secure_channel(f"localhost:{server.port}", credentials) as channel:
        for _ in range(3):
            found = properties(answer(channel, stubs))
            assert found["transport_security_type"] == ["ssl"] and found["jwt_sub"] == ["alice"]
    with grpc.secure_channel(f"localhost:{server.port}",
                             grpc.ssl_channel_credentials(authority.pem().read_bytes())) as channel:
        assert refusal(channel, stubs) == (UNAUTHENTICATED, "no_token")
        assert properties(answer(channel, stubs, bearer(token)))["jwt_sub"] == ["alice"]


def own_address():
    """An address of this machine that is not loopback; None: it has none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            return None
        address = probe.getsockname()[0]
    return None if address.startswith("127.") else address


@pytest.mark.parametrize("choice", ["refuse", "allow"])
def test_tokens_in_cleartext_from_elsewhere_are_refused(serve, stubs, issuer, choice):
    address = own_address()
    if address is None:
        pytest.skip("this machine has no address but loopback")
    server = serve(issuer, more=f'cleartext = "{choice}"', address="0.0.0.0:0")
    with grpc.insecure_channel(f"{address}:{server.port}") as channel:
        if choice == "allow":
            assert answer(channel, stubs, bearer(issuer.token()))
        else:
            assert refusal(channel, stubs, bearer(issuer.token())) == (UNAUTHENTICATED, "cleartext")
            assert refusal(channel, stubs) == (UNAUTHENTICATED, "no_token")
    with grpc.insecure_channel(f"127.0.0.1:{server.port}") as channel:
        assert answer(channel, stubs, bearer(issuer.token()))


def test_without_configuration_a_token_is_the_services_own(make_server, stubs):
    server = make_server("drover")
    with grpc.insecure_channel(server.address) as channel:
        reply = answer(channel, stubs, bearer("anything"))
        assert "authorization" in [key for key, _ in received(reply)]
        assert not any(name.startswith("jwt_") for name in properties(reply))


def test_what_came_of_tokens_is_counted(serve, stubs, issuer):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        metrics = f"127.0.0.1:{probe.getsockname()[1]}"
    server = serve(issuer, sections=f'[metrics]\naddress = "{metrics}"\n')
    token = issuer.token()
    for _ in range(2):  # connections
        with grpc.insecure_channel(server.address) as channel:
            for _ in range(3):
                answer(channel, stubs, bearer(token))
            assert refusal(channel, stubs)[0] == UNAUTHENTICATED
    with urllib.request.urlopen(f"http://{metrics}/metrics", timeout=5) as scrape:
        lines = dict(line.rsplit(" ", 1) for line in scrape.read().decode().splitlines() if not line.startswith("#"))
    assert lines['drover_auth_calls_total{result="accepted"}'] == "6"
    assert lines['drover_auth_calls_total{result="no_token"}'] == "2"
    assert lines["drover_auth_verifications_total"] == "1"


@pytest.mark.parametrize("text, said", [
    ("main iss=x keys={keys}", "no audiences="),
    ("main iss=x keys={keys}.none audiences=*", "No such file"),
    ("main iss=x keys={folder}/nonsense audiences=*", "it has no keys"),
    ("main iss=x keys={folder}/private.pem audiences=*", "PRIVATE KEY"),
    ("main iss=x keys={keys} audiences=* algorithms=RS256", "fits the issuer's algorithms"),
])
def test_configuration_that_cannot_be_used_is_told(build_dir, issuer, text, said):
    (issuer.folder / "nonsense").write_text("nonsense")
    flag = "--auth.issuers=" + text.format(keys=issuer.keys, folder=issuer.folder)
    for arguments in ([], ["--check"]):
        done = subprocess.run([str(build_dir / "engine" / "droverd"), "--engine.control_socket=unix:@jwt-check",
                               *arguments, flag], capture_output=True, text=True, timeout=20)
        assert done.returncode == 2 and said in done.stderr and "auth.issuers" in done.stderr


def test_the_check_tells_what_is_risky_and_what_is_served(build_dir, issuer, tmp_path):
    secret = Issuer(tmp_path / "secret", "HS256")

    def check(of, more="", *flags):
        done = subprocess.run([str(build_dir / "engine" / "droverd"), "--check", "--engine.control_socket=unix:@jwt-check",
                               f"--auth.issuers=main iss=x keys={of.keys} audiences=*{more}", *flags],
                              capture_output=True, text=True, timeout=20)
        return done.returncode, done.stdout + done.stderr

    code, said = check(issuer)
    assert code == 0 and f"tokens of x, by the keys of {issuer.keys}" in said
    assert "without TLS" in check(issuer, "", "--auth.cleartext=allow")[1]
    assert check(secret, " algorithms=HS256")[0] == 0
    pathlib.Path(secret.keys).chmod(0o644)
    code, said = check(secret, " algorithms=HS256")
    assert code == 2 and "0644" in said
    assert "there is no issuer 'other'" in check(issuer, "", "--auth.rules=*=require issuers=other")[1]
