"""The attacker's two halves do honest work, too: otherwise an attack that the engine ignores would seem to be held."""
import pytest

import http2
import images
from host import Host, Refused, method
from http2 import ACK, RST_STREAM, SETTINGS, Connection
from measure import sample
from rig import SERVICE, Case


@pytest.fixture
def target(rigs, long_form):
    case = Case("honest", None)
    return rigs(case).target(case)


def test_a_call_on_raw_frames_is_answered(target):
    with Connection(target.service) as connection:
        reply, took = connection.call(SERVICE + "Echo", http2.bytes_field(1, b"payload"))
    assert reply is not None and b"payload" in reply and took < 5


def test_the_engine_acknowledges_settings_and_pings(target):
    with Connection(target.service) as connection:
        connection.send(http2.request(1, SERVICE + "Echo"))
        kinds = [(f.type, f.flags & ACK) for f in connection.frames(1)]
        assert (SETTINGS, 0) in kinds and (SETTINGS, ACK) in kinds
        assert connection.ping()


def test_a_broken_frame_is_noticed_by_its_goaway(target):
    with Connection(target.service) as connection:
        connection.send(http2.data(0, b"on stream 0"))
        assert connection.goaway_code() == http2.PROTOCOL_ERROR


def test_streams_beyond_the_limit_are_refused(target):
    with Connection(target.service) as connection:
        block = http2.request_block(SERVICE + "Sleep")
        connection.send(b"".join(http2.headers(stream, block) for stream in http2.streams(1010)))
        codes = [f.payload[-1] for f in connection.frames(1) if f.type == RST_STREAM]
        assert codes == [http2.REFUSED_STREAM] * 10


@pytest.mark.parametrize("value, wire", [(10, "0a"), (31, "1f00"), (1337, "1f9a0a")])
def test_integers_are_written_as_rfc_7541_shows(value, wire):
    assert http2.integer(value, 5).hex() == wire


def test_a_host_by_hand_serves_a_call(target):
    image = images.compiled(target.build, "message Blob { bytes payload = 1; }")
    layout = images.Layout(image)
    with Host(target.control) as host:
        host.register(image, [method("/by.Hand/Call")])
        port = host.listen("127.0.0.1:0")
        host.start()
        client = Connection(f"127.0.0.1:{port}")
        client.send(http2.request(1, "/by.Hand/Call"))
        channel, call = next(host.calls(5))
        blob, text = host.reserve(layout.size("Blob")), host.put(b"made by hand")
        host.words(blob + layout.offset("Blob", 1), text, 12)
        host.complete(channel, call, blob)
        body = b"".join(f.payload for f in client.frames(2, lambda f: f.stream and f.flags & 1) if f.type == http2.DATA)
        assert body == http2.grpc_message(http2.bytes_field(1, b"made by hand"))
        client.close()


def test_a_refusal_names_its_code(target):
    with pytest.raises(Refused) as refused:
        Host(target.control, ring_slots=17)
    assert "power of two" in str(refused.value)


def test_an_image_by_hand_is_taken(target):
    image = images.of_empty_messages([0, 2, 5], b"a\0aa\0aaa\0")
    with Host(target.control) as host:
        host.register(image, [method("/by.Image/Call", 0, 2)])
        host.start()


def test_the_engine_is_measured(target):
    now = sample(target.engine)
    assert now.private > 100 << 10 and now.shared > 0 and now.descriptors > 10 and now.cpu >= 0
