"""Addresses to listen on, by the stock Python client: what AddListeningPort takes is what gRPC C++ takes."""

import os

import grpc
import pytest

PATIENCE = 15  # seconds of a call

KINDS = ["drover"] if os.environ.get("DROVER_ENGINE_IO") else ["drover", "grpc"]


@pytest.fixture(params=KINDS)
def serve(request, make_server):
    """serve(ADDRESS, ARGUMENT ...): a server that listens there, on Drover or on gRPC C++."""
    def start(address, *arguments, **options):
        return make_server(request.param, *arguments, address=address, **options)
    start.kind = request.param
    return start


def echo(stubs, target, text="x"):
    messages, services = stubs
    with grpc.insecure_channel(target) as channel:
        return services.TestServiceStub(channel).Echo(messages.EchoRequest(text=text), timeout=PATIENCE).text


@pytest.mark.parametrize("name", ["drover-{}", "drover%00abstract%00{}", "drover%20{}%00"])
def test_an_abstract_name_may_have_nuls(serve, stubs, name):
    address = "unix-abstract:" + name.format(f"{os.getpid()}-{serve.kind}")
    serve(address)
    assert echo(stubs, address) == "x"
    with pytest.raises(grpc.RpcError) as error:
        echo(stubs, address + "%00")
    assert error.value.code() == grpc.StatusCode.UNAVAILABLE
