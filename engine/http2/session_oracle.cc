// Fuzzes a server session against nghttp2's: the same bytes in, then the same requests, bodies and ends out, and the
// same verdict on the connection. Input: frames, each behind four bytes (type, flags, stream, size); the payload
// follows. Bytes that are no whole frames are grpc_connection_fuzz's.
//
// Where RFC 9113 leaves a choice, the two may differ; `tolerated` names these.
#include <nghttp2/nghttp2.h>

#include <cstdlib>
#include <map>
#include <string>

#include "engine/http2/session_testing.h"

using namespace drover::engine;
using namespace drover::engine::http2;

namespace {

struct Request {
  std::string fields;
  std::string body;
  bool ended = false;
  bool reset = false;
  bool operator==(const Request&) const = default;
};
using Requests = std::map<uint32_t, Request>;

class Oracle {
 public:
  Oracle() {
    nghttp2_session_callbacks* callbacks;
    nghttp2_session_callbacks_new(&callbacks);
    nghttp2_session_callbacks_set_on_header_callback(
        callbacks, [](nghttp2_session*, const nghttp2_frame* frame, const uint8_t* name, size_t name_size,
                      const uint8_t* value, size_t value_size, uint8_t, void* self) {
          if (frame->headers.cat != NGHTTP2_HCAT_REQUEST) return 0;
          std::string& fields = static_cast<Oracle*>(self)->building[static_cast<uint32_t>(frame->hd.stream_id)];
          fields.append(reinterpret_cast<const char*>(name), name_size).append(": ");
          fields.append(reinterpret_cast<const char*>(value), value_size).append("\n");
          return 0;
        });
    nghttp2_session_callbacks_set_on_frame_recv_callback(
        callbacks, [](nghttp2_session*, const nghttp2_frame* frame, void* self_pointer) {
          auto* self = static_cast<Oracle*>(self_pointer);
          const auto id = static_cast<uint32_t>(frame->hd.stream_id);
          if (frame->hd.type == NGHTTP2_HEADERS && frame->headers.cat == NGHTTP2_HCAT_REQUEST) {
            self->requests[id].fields = self->building[id];
          }
          if ((frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA) &&
              (frame->hd.flags & NGHTTP2_FLAG_END_STREAM)) {
            self->requests[id].ended = true;
          }
          return 0;
        });
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(
        callbacks, [](nghttp2_session*, uint8_t, int32_t id, const uint8_t* data, size_t size, void* self) {
          static_cast<Oracle*>(self)->requests[static_cast<uint32_t>(id)].body.append(
              reinterpret_cast<const char*>(data), size);
          return 0;
        });
    nghttp2_session_callbacks_set_on_stream_close_callback(
        callbacks, [](nghttp2_session*, int32_t id, uint32_t, void* self) {
          static_cast<Oracle*>(self)->requests[static_cast<uint32_t>(id)].reset = true;
          return 0;
        });
    nghttp2_session_server_new(&session, callbacks, this);
    nghttp2_session_callbacks_del(callbacks);
    nghttp2_settings_entry settings[] = {{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, 100}};
    nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, settings, 1);
  }
  ~Oracle() { nghttp2_session_del(session); }

  void receive(std::string_view bytes) {
    if (failed) return;
    ssize_t n = nghttp2_session_mem_recv(session, reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
    if (n < 0) failed = true;
    const uint8_t* out;
    while ((n = nghttp2_session_mem_send(session, &out)) > 0) {
      if (out[3] == NGHTTP2_GOAWAY) {
        failed = true;
        code = static_cast<ErrorCode>(get_u32(reinterpret_cast<const char*>(out) + 13));
      }
    }
  }

  nghttp2_session* session;
  std::map<uint32_t, std::string> building;
  Requests requests;
  bool failed = false;
  ErrorCode code = ErrorCode::kNoError;
};

std::string text_of(const TestFields& fields) {
  std::string text;
  for (const auto& [name, value] : fields) text += name + ": " + value + "\n";
  return text;
}

Requests requests_of(const Endpoint& endpoint) {
  Requests requests;
  for (const auto& [id, got] : endpoint.received)
    requests[id] = {text_of(got.headers), got.body, got.ended, got.closed};
  return requests;
}

// Verdicts that differ though both keep to RFC 9113.
bool tolerated(FrameType type, const Endpoint& ours, const Oracle& theirs) {
  // nghttp2 decodes a header block as it comes; we, once it is whole.
  if (ours.session->header_block_since_ns() != 0) return true;
  // A malformed PRIORITY is an error of its stream (RFC 9113, 6.3); nghttp2 ends the connection.
  if (type == FrameType::kPriority) return true;
  // Frames of a stream that we reset are ignored, even behind its END_STREAM.
  if (theirs.code == ErrorCode::kStreamClosed) return true;
  // RFC 9113, 5.1.1: stream ids must ascend; nghttp2 ignores those that do not.
  if (ours.failure_text.starts_with("HEADERS of a stream that was passed over")) return true;
  // Of settings that a frame repeats, nghttp2 looks at the last; it knows extensions (RFC 8441) that we ignore.
  if (type == FrameType::kSettings) return true;
  // nghttp2 does not look into DATA of streams that have ended.
  return type == FrameType::kData &&
         (ours.failure_text == "padding longer than its frame" || ours.failure_text == "no pad length");
}

void forget_reset(Requests& requests) {
  std::erase_if(requests, [](const auto& one) { return one.second.reset; });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  SessionOptions options;
  options.max_concurrent_streams = 100;
  options.stream_window = options.max_stream_window = kDefaultWindow;
  options.connection_window = options.max_connection_window = kDefaultWindow;
  options.max_header_bytes = 64 << 10;
  Endpoint ours(options);
  Oracle theirs;
  auto receive = [&](const std::string& bytes) {
    ours.session->receive(bytes.data(), bytes.size());
    ours.take();
    theirs.receive(bytes);
  };
  receive(client_start());
  while (size >= 4) {
    const size_t n = std::min<size_t>(data[3], size - 4);
    const auto type = static_cast<FrameType>(data[0] % 12);
    const std::string_view payload(reinterpret_cast<const char*>(data + 4), n);
    receive(frame(type, data[1], data[2] % 16, payload));
    data += 4 + n;
    size -= 4 + n;
    if (ours.session->peer_goaway()) return 0;  // nghttp2 reads no more, if no stream is open
    if (ours.session->failed() != theirs.failed) {
      if (tolerated(type, ours, theirs)) return 0;
      std::fprintf(stderr, "ours: %d %s (%s); nghttp2: %d %s\n", ours.session->failed(),
                   error_name(ours.failure).c_str(), ours.failure_text.c_str(), theirs.failed,
                   error_name(theirs.code).c_str());
      std::abort();
    }
    if (theirs.failed) return 0;
    if (ours.session->header_block_since_ns() != 0) continue;  // as in tolerated()
    Requests mine = requests_of(ours);
    Requests expected = theirs.requests;
    forget_reset(mine);
    forget_reset(expected);
    if (mine != expected) {
      for (const auto& [id, r] : mine)
        std::fprintf(stderr, "ours %u %zu+%zu ended %d\n", id, r.fields.size(), r.body.size(), r.ended);
      for (const auto& [id, r] : expected)
        std::fprintf(stderr, "theirs %u %zu+%zu ended %d\n", id, r.fields.size(), r.body.size(), r.ended);
      std::abort();
    }
  }
  return 0;
}
