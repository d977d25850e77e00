"""drover-load against a real gRPC C++ server: right replies count, everything else is told and ends in failure.

Usage: drover_load_test.py DROVER_LOAD DROVER_ECHO_BODY GRPC_ASYNC_SERVER
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from echo_servers import EchoServer  # noqa: E402

LOAD, ECHO_BODY, SERVER = sys.argv[1:4]
SIZES = {"unary-32B": 34, "unary-1KiB": 1027, "small": 845, "medium": 36078, "large": 324753}
METHODS = {"unary-32B": "Unary", "unary-1KiB": "Unary", "small": "Small", "medium": "Medium", "large": "Large"}


class DroverLoad(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.server = EchoServer("grpc-async", SERVER, 0, self.folder)
        self.server.__enter__()
        self.addCleanup(self.server.stop)

    def body(self, kind, seed=1):
        path = self.folder / f"{kind}-{seed}"
        subprocess.run([ECHO_BODY, "--kind", kind, "--seed", str(seed), "-o", path], check=True)
        return path

    def load(self, method, body, *flags, service="Echo"):
        done = subprocess.run([LOAD, "--address", self.server.address, "--path",
                               f"/drover.examples.echo.{service}/{method}",
                               "--body-file", body, "--call-timeout", "20", *flags],
                              capture_output=True, text=True, timeout=60)
        return done.returncode, json.loads(done.stdout)

    def test_bodies_have_their_sizes_whatever_the_seed(self):
        for kind, size in SIZES.items():
            for seed in (1, 2, 3):
                self.assertEqual(self.body(kind, seed).stat().st_size, size, kind)

    def test_every_kind_of_message_comes_back_as_it_was_sent(self):
        for kind, method in METHODS.items():
            for hpack in ("indexed", "literal"):
                code, result = self.load(method, self.body(kind), "--requests", "200", "--connections", "3",
                                         "--streams", "10", "--hpack", hpack)
                self.assertEqual((code, result["requests"]), (0, 200), result)

    def test_calls_with_a_number_each_are_told_apart(self):
        code, result = self.load("Unary", self.body("unary-32B"), "--unique", "--requests", "5000", "--connections",
                                 "2", "--streams", "50")
        self.assertEqual((code, result["requests"]), (0, 5000), result)

    def test_messages_of_streams_come_back_in_order(self):
        for streams, messages in ((1, 1), (1, 100), (20, 7)):
            code, result = self.load("Stream", self.body("unary-32B"), "--unique", "--requests", "5000",
                                     "--connections", "2", "--streams", str(streams), "--messages", str(messages),
                                     service="EchoStream")
            self.assertEqual((code, result["requests"]), (0, 5000), result)

    def test_an_unknown_method_is_an_error_and_not_a_success(self):
        code, result = self.load("Nothing", self.body("small"), "--requests", "5")
        self.assertEqual(code, 1)
        self.assertEqual((result["requests"], list(result["errors"])), (0, ["12"]))

    def test_a_reply_that_differs_from_the_request_is_a_failure(self):
        # Field 1 comes twice: the reply holds the last payload only.
        body = self.folder / "odd"
        body.write_bytes(b"\x0a\x02ab\x0a\x02cd")
        code, result = self.load("Unary", body, "--requests", "1")
        self.assertEqual(code, 1)
        self.assertIn("call: the reply is not what was expected", result["failures"])
        code, _ = self.load("Unary", body, "--requests", "1", "--expect", "any")
        self.assertEqual(code, 0)

    def test_a_server_that_is_not_there_is_a_failure(self):
        self.server.stop()
        code, result = self.load("Unary", self.body("unary-32B"), "--requests", "1")
        self.assertEqual(code, 1)
        self.assertTrue(result["failures"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
