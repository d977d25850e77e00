"""What the cross-folder tests share: servers as real processes, and stubs made by the stock generator."""

import os
import pathlib
import signal
import sys

import pytest

from processes import ServerProcess
from stubs import make_stubs

TESTS = pathlib.Path(__file__).resolve().parent


def pytest_addoption(parser):
    parser.addoption("--build-dir", default=str(TESTS.parent / "build" / "release"))


@pytest.fixture(scope="session")
def build_dir(request):
    return pathlib.Path(request.config.getoption("--build-dir")).resolve()


@pytest.fixture(scope="session")
def factor():
    """How many times as much a test is to do: as testing/long_runs.h has it."""
    return int(os.environ.get("DROVER_TEST_FACTOR", "1"))


@pytest.fixture(scope="session")
def stubs(build_dir):
    """(messages, services) of testing.proto, made by grpcio-tools."""
    sys.path.insert(0, make_stubs(build_dir))
    import testing_pb2
    import testing_pb2_grpc
    return testing_pb2, testing_pb2_grpc


@pytest.fixture
def make_server(build_dir):
    started = []

    def make(kind="drover", *arguments, name="test_server", **options):
        program = build_dir / "tests" / (name if kind == "drover" else f"{name}_grpc")
        server = ServerProcess(program, *arguments, stock=kind != "drover", **options)
        started.append(server)
        return server

    yield make
    for server in started:
        try:
            if server.stock:
                server.kill()  # gRPC 1.51 now and then takes 10 s to end
            else:
                server.stop()
                server.check_sandbox()
        finally:
            if server.engine_pid:
                try:
                    os.kill(server.engine_pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
