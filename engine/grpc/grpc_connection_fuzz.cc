// Fuzzes a connection: arbitrary bytes, in arbitrary pieces, with time passing, a slow socket and replies that come
// late. Input: commands; each byte c says what to do next.
//   c < 0x1f            advance time by c * 100 ms and sweep; a slice of work on compressed messages
//   0x1f                replies are compressed in another way from now on
//   0x20 <= c < 0x40    the socket takes (c - 0x20) * 64 bytes, flush
//   0x40                answer the oldest held call, and consume a message of the oldest stream
//   0x41  the region fills up     0x42  and has room again
//   0x43                drain
//   0x80 <= c           (c - 0x7f) bytes follow that the peer sends; 0x44 <= c < 0x80: a well-formed frame whose
//                       header is made for them: type and flags from two bytes, stream from one, length c - 0x44
// Checked: no call is left open or ended twice, and memory (by the sanitizers).
#include <cstdlib>

#include "engine/base/log.h"
#include "engine/grpc/grpc_testing.h"

using namespace drover::engine;

namespace {

struct Input {
  const uint8_t* data;
  size_t size;
  uint8_t next() {
    if (size == 0) return 0;
    --size;
    return *data++;
  }
  std::string take(size_t n) {
    n = n < size ? n : size;
    std::string out(reinterpret_cast<const char*>(data), n);
    data += n;
    size -= n;
    return out;
  }
};

void run(Input input, Rig& rig) {
  rig.receive(std::string("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n") + std::string("\0\0\0\4\0\0\0\0\0", 9));
  while (input.size > 0 && !rig.connection->finished()) {
    uint8_t c = input.next();
    if (c == 0x1f) {
      rig.sink.wish = static_cast<Compress>((static_cast<int>(rig.sink.wish) + 2) % 6);
    } else if (c < 0x20) {
      rig.now += c * int64_t{100'000'000};
      rig.connection->sweep();
      rig.connection->work_on_messages(0);
    } else if (c < 0x40) {
      rig.writable += static_cast<size_t>(c - 0x20) * 64;
      rig.connection->flush();
      rig.sent.clear();
    } else if (c == 0x40) {
      rig.sink.consume_any();
      if (rig.sink.held.empty()) continue;
      Call* call = rig.sink.held.front();
      rig.sink.held.erase(rig.sink.held.begin());
      rig.sink.answer(*call);
    } else if (c == 0x41 || c == 0x42) {
      rig.sink.hold = c == 0x41;
      if (c == 0x42 && !rig.sink.held.empty()) rig.started(*rig.sink.held.front());
    } else if (c == 0x43) {
      rig.connection->drain();
    } else if (c < 0x80) {
      size_t size = c - 0x44u;
      uint8_t type = input.next(), flags = input.next(), stream = input.next();
      std::string frame{0, 0, static_cast<char>(size),  static_cast<char>(type % 11), static_cast<char>(flags), 0,
                        0, 0, static_cast<char>(stream)};
      std::string payload = input.take(size);
      payload.resize(size);
      rig.receive(frame + payload, type & 0x80 ? 7 : SIZE_MAX);
    } else {
      rig.receive(input.take(c - 0x7fu));
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static bool quiet = [] {
    drover::engine::log::open({"off", "text", ""});
    return true;
  }();
  (void)quiet;
  TransportOptions options = small_windows();
  options.max_concurrent_streams = 8;
  Rig rig(options);
  rig.sink.consumes = size % 3 != 0;
  rig.sink.max_request_bytes = 4096;
  rig.writable = 4096;
  rig.use_places = size % 2 == 1;
  run({data, size}, rig);
  rig.connection.reset();
  if (rig.sink.open_calls != 0 || !rig.sink.held.empty()) abort();
  return 0;
}
