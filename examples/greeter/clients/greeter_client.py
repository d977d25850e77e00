"""A stock Python client of the greeter: grpcio, with stubs that grpcio-tools makes from helloworld.proto.

    python greeter_client.py ADDRESS [NAME...]

Prints the reply to each name; exits 1 at the first call that fails. The stubs go to a temporary directory, or to the
directory that GREETER_STUBS names.
"""

import os
import pathlib
import sys
import tempfile

import grpc
from grpc_tools import protoc


def load_stubs(directory):
    """Generates and imports helloworld_pb2 and helloworld_pb2_grpc."""
    protos = pathlib.Path(__file__).resolve().parent.parent
    os.makedirs(directory, exist_ok=True)
    arguments = ["protoc", f"-I{protos}", f"--python_out={directory}", f"--grpc_python_out={directory}"]
    if protoc.main(arguments + ["helloworld.proto"]) != 0:
        sys.exit("protoc refused helloworld.proto")
    sys.path.insert(0, str(directory))
    import helloworld_pb2
    import helloworld_pb2_grpc

    return helloworld_pb2, helloworld_pb2_grpc


def main(address, names):
    with tempfile.TemporaryDirectory() as scratch:
        messages, services = load_stubs(os.environ.get("GREETER_STUBS", scratch))
    with grpc.insecure_channel(address) as channel:
        greeter = services.GreeterStub(channel)
        for name in names:
            try:
                reply = greeter.SayHello(messages.HelloRequest(name=name), timeout=10)
            except grpc.RpcError as error:
                sys.exit(f"SayHello({name}) failed with {error.code().name}: {error.details()}")
            print(reply.message)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2:] or ["world"])
