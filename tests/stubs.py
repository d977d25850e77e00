"""Stubs of testing.proto by the stock generator."""

import pathlib
import subprocess
import sys


def make_stubs(build_dir):
    """The folder with testing_pb2 and testing_pb2_grpc."""
    out = pathlib.Path(build_dir) / "tests" / "python"
    out.mkdir(parents=True, exist_ok=True)
    proto = pathlib.Path(__file__).resolve().parent / "service"
    subprocess.run([sys.executable, "-m", "grpc_tools.protoc", f"-I{proto}", f"--python_out={out}",
                    f"--grpc_python_out={out}", "testing.proto"], check=True)
    return str(out)
