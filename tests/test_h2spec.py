"""h2spec, whole, in cleartext and over TLS: every check of the official HTTP/2 conformance suite passes, but for the
exceptions that are named."""

import subprocess
import xml.etree.ElementTree

import pytest

from certificates import Authority
from conftest import TESTS

H2SPEC = TESTS.parent / "tools" / "go" / "bin" / "h2spec"

# RFC 7540's rules for stream dependencies. RFC 9113 dropped priorities, and the engine says so
# (SETTINGS_NO_RFC7540_PRIORITIES): dependencies are ignored, and so are wrong ones.
EXCEPTIONS = {
    "Sends HEADERS frame that depend on itself",
    "Sends PRIORITY frame that depend on itself",
}


@pytest.mark.skipif(not H2SPEC.exists(), reason="h2spec is absent: make setup installs it where there is a Go compiler")
@pytest.mark.parametrize("tls", [False, True], ids=["cleartext", "tls"])
def test_h2spec_passes_but_for_the_named_exceptions(make_server, tmp_path, tls):
    secure = []
    if tls:
        key, certificate = Authority(tmp_path).sign("server", alternative="DNS:localhost,IP:127.0.0.1")
        secure = ["--key", str(key), "--certificate", str(certificate)]
    server = make_server("drover", *secure)
    host, port = server.address.split(":")
    report = tmp_path / "h2spec.xml"
    done = subprocess.run(
        [H2SPEC, "-h", host, "-p", port, "-P", "/drover.testing.TestService/Echo", "--junit-report", report,
         *(["-t", "-k"] if tls else [])],
        capture_output=True, text=True, timeout=300)
    cases = list(xml.etree.ElementTree.parse(report).getroot().iter("testcase"))
    failed = {case.get("classname") for case in cases
              if case.find("failure") is not None or case.find("error") is not None or case.find("skipped") is not None}
    assert len(cases) == 145, done.stdout[-2000:]
    assert failed == EXCEPTIONS, done.stdout[-4000:]
