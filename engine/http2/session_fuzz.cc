// Fuzzes a server session against nghttp2's: the same bytes in, then the same requests, bodies, trailers and ends out,
// the same streams reset and for the same reason, and the same verdict on the connection. Input: frames, each behind
// four bytes (type, flags, stream, size); the payload follows. Bytes that are no whole frames are
// grpc_connection_fuzz's.
//
// Where the RFCs leave a choice, the two may differ. Each such case is described by its frame and by both outcomes,
// with the section that leaves it open: connection_choice and stream_choice. Everything else is a difference.
#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>
#include <string>

#include "engine/http2/session_testing.h"

using namespace drover::engine;
using namespace drover::engine::http2;

namespace {

constexpr uint32_t kStreamWindow = 1000;  // a few frames exhaust it

struct Request {
  std::string fields;
  std::string body;
  std::string trailers;
  bool ended = false;
  bool operator==(const Request&) const = default;
};

// What one side made of its input.
struct Outcome {
  std::map<uint32_t, Request> requests;
  std::map<uint32_t, ErrorCode> resets;  // the first RST_STREAM that it sent of each stream
  bool failed = false;
  ErrorCode code = ErrorCode::kNoError;

  // Whole frames that it sent.
  void sent(std::string_view bytes) {
    while (!bytes.empty()) {
      const FrameHeader header = FrameHeader::read(bytes.data());
      const char* payload = bytes.data() + kFrameHeaderBytes;
      if (header.type == FrameType::kRstStream) {
        resets.try_emplace(header.stream, static_cast<ErrorCode>(get_u32(payload)));
      } else if (header.type == FrameType::kGoaway) {
        failed = true;
        code = static_cast<ErrorCode>(get_u32(payload + 4));
      }
      bytes.remove_prefix(kFrameHeaderBytes + header.length);
    }
  }
};

class Ours {
 public:
  Ours() : endpoint(options()) { endpoint.hold = true; }

  void receive(std::string_view bytes) {
    endpoint.session->receive(bytes.data(), bytes.size());
    drain();
  }
  void answer(uint32_t id) {
    endpoint.respond(id, {{":status", "200"}}, "", {});
    drain();
  }
  bool in_header_block() const { return endpoint.session->header_block_since_ns() != 0; }

  Endpoint endpoint;
  Outcome outcome;

 private:
  static SessionOptions options() {
    SessionOptions options;
    options.max_concurrent_streams = 100;
    options.stream_window = options.max_stream_window = kStreamWindow;
    options.connection_window = options.max_connection_window = kDefaultWindow;
    options.max_header_bytes = 64 << 10;
    return options;
  }
  static std::string text_of(const TestFields& fields) {
    std::string text;
    for (const auto& [name, value] : fields) text += name + ": " + value + "\n";
    return text;
  }
  void drain() {
    outcome.sent(endpoint.take());
    for (const auto& [id, got] : endpoint.received) {
      outcome.requests[id] = {text_of(got.headers), got.body, text_of(got.trailers), got.ended};
    }
  }
};

class Theirs {
 public:
  Theirs() {
    nghttp2_session_callbacks* callbacks;
    nghttp2_session_callbacks_new(&callbacks);
    nghttp2_session_callbacks_set_on_header_callback(
        callbacks, [](nghttp2_session*, const nghttp2_frame* frame, const uint8_t* name, size_t name_size,
                      const uint8_t* value, size_t value_size, uint8_t, void* self) {
          std::string& block = static_cast<Theirs*>(self)->block_[id_of(frame)];
          block.append(reinterpret_cast<const char*>(name), name_size).append(": ");
          block.append(reinterpret_cast<const char*>(value), value_size).append("\n");
          return 0;
        });
    // Without this, it drops what is malformed and takes the rest. RFC 9113, 8.2.1: the message is malformed.
    nghttp2_session_callbacks_set_on_invalid_header_callback(
        callbacks,
        [](nghttp2_session*, const nghttp2_frame*, const uint8_t*, size_t, const uint8_t*, size_t, uint8_t,
           void*) -> int { return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE; });
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks,
                                                         [](nghttp2_session*, const nghttp2_frame* frame, void* self) {
                                                           static_cast<Theirs*>(self)->on_frame(*frame);
                                                           return 0;
                                                         });
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(
        callbacks, [](nghttp2_session*, uint8_t, int32_t id, const uint8_t* data, size_t size, void* self) {
          static_cast<Theirs*>(self)->outcome.requests[static_cast<uint32_t>(id)].body.append(
              reinterpret_cast<const char*>(data), size);
          return 0;
        });
    nghttp2_option* option;
    nghttp2_option_new(&option);
    nghttp2_option_set_no_auto_window_update(option, 1);
    // Budgets of its own, which RFC 9113, 10.5 leaves to each.
    nghttp2_option_set_max_settings(option, 1'000);
    nghttp2_option_set_max_continuations(option, 100'000);
    nghttp2_option_set_stream_reset_rate_limit(option, 100'000, 100'000);
    nghttp2_session_server_new2(&session_, callbacks, this, option);
    nghttp2_option_del(option);
    nghttp2_session_callbacks_del(callbacks);
    nghttp2_settings_entry settings[] = {{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, 100},
                                         {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, kStreamWindow}};
    nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, settings, std::size(settings));
  }
  ~Theirs() { nghttp2_session_del(session_); }

  void receive(std::string_view bytes) {
    if (nghttp2_session_mem_recv(session_, reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()) < 0) {
      outcome.failed = true;
    }
    drain();
  }
  void answer(uint32_t id) {
    const std::string name = ":status", value = "200";
    nghttp2_nv field = {reinterpret_cast<uint8_t*>(const_cast<char*>(name.data())),
                        reinterpret_cast<uint8_t*>(const_cast<char*>(value.data())), name.size(), value.size(), 0};
    nghttp2_submit_response(session_, static_cast<int32_t>(id), &field, 1, nullptr);
    drain();
  }
  // False behind a GOAWAY, once no stream is open: it ignores what comes.
  bool reads() const { return nghttp2_session_want_read(session_) != 0; }

  Outcome outcome;

 private:
  static uint32_t id_of(const nghttp2_frame* frame) { return static_cast<uint32_t>(frame->hd.stream_id); }

  void on_frame(const nghttp2_frame& frame) {
    const uint32_t id = id_of(&frame);
    if (frame.hd.type != NGHTTP2_HEADERS && frame.hd.type != NGHTTP2_DATA) return;
    Request& request = outcome.requests[id];
    if (frame.hd.type == NGHTTP2_HEADERS) {
      (frame.headers.cat == NGHTTP2_HCAT_REQUEST ? request.fields : request.trailers) = block_[id];
      block_.erase(id);
    }
    if (frame.hd.flags & NGHTTP2_FLAG_END_STREAM) request.ended = true;
  }
  void drain() {
    const uint8_t* out;
    ssize_t n;
    while ((n = nghttp2_session_mem_send(session_, &out)) > 0) {
      outcome.sent({reinterpret_cast<const char*>(out), static_cast<size_t>(n)});
    }
  }

  nghttp2_session* session_;
  std::map<uint32_t, std::string> block_;  // being received, by stream
};

struct Frame {
  FrameType type;
  uint8_t flags;
  uint32_t stream;
  std::string_view payload;

  bool has(uint8_t flag) const { return (flags & flag) != 0; }
  uint32_t first_u31() const { return payload.size() < 4 ? 0 : get_u31(payload.data()); }
  // Bytes in front of a header block: pad length, priority.
  size_t block_at() const { return (has(kFlagPadded) ? 1 : 0) + (has(kFlagPriority) ? kPriorityBytes : 0); }
  // Too short or too long for its type (RFC 9113, 4.2).
  bool wrong_size() const {
    switch (type) {
      case FrameType::kData:
        return has(kFlagPadded) && payload.empty();
      case FrameType::kHeaders:
        return payload.size() < block_at();
      case FrameType::kPriority:
        return payload.size() != kPriorityBytes;
      case FrameType::kRstStream:
      case FrameType::kWindowUpdate:
        return payload.size() != 4;
      case FrameType::kSettings:
        return payload.size() % kSettingBytes != 0 || (has(kFlagAck) && !payload.empty());
      case FrameType::kPushPromise:
        return payload.size() < (has(kFlagPadded) ? 5 : 4);
      case FrameType::kPing:
        return payload.size() != kPingBytes;
      case FrameType::kGoaway:
        return payload.size() < kGoawayBytes;
      case FrameType::kContinuation:
        return false;
    }
    return false;
  }
  bool data_with_wrong_padding() const {
    return type == FrameType::kData && has(kFlagPadded) &&
           (payload.empty() || static_cast<uint8_t>(payload[0]) >= payload.size());
  }
};

// What the peer has sent before the frame in question.
struct Sent {
  std::set<uint32_t> opened;            // by HEADERS
  std::set<uint32_t> ended;             // by END_STREAM or RST_STREAM
  uint32_t last_goaway = kMaxStreamId;  // its last stream

  bool passed_over(uint32_t id) const { return !opened.empty() && id < *opened.rbegin() && !opened.contains(id); }

  void add(const Frame& frame) {
    const bool opens = frame.stream % 2 == 1 && (opened.empty() || frame.stream > *opened.rbegin());
    if (frame.type == FrameType::kHeaders && opens) opened.insert(frame.stream);
    const bool may_end = frame.type == FrameType::kHeaders || frame.type == FrameType::kData;
    if ((may_end && frame.has(kFlagEndStream)) || frame.type == FrameType::kRstStream) ended.insert(frame.stream);
    if (frame.type == FrameType::kGoaway) last_goaway = frame.first_u31();
  }
};

bool settings_choice(const Frame& frame, const Outcome& ours, const Outcome& theirs, std::string_view why) {
  std::set<uint32_t> seen;
  bool repeated = false, other_extension = false, priorities = false;
  for (size_t at = 0; at + kSettingBytes <= frame.payload.size(); at += kSettingBytes) {
    const uint32_t id = get_u16(frame.payload.data() + at);
    const uint32_t value = get_u32(frame.payload.data() + at + 2);
    repeated |= !seen.insert(id).second;
    other_extension |= id == NGHTTP2_SETTINGS_ENABLE_CONNECT_PROTOCOL && value > 1;
    priorities |= id == NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES && value == 1;
  }
  // 6.5.3: values are processed in their order. nghttp2 looks at the last of those with the same identifier.
  if (repeated && ours.failed) return true;
  // 6.5.2: unknown settings are ignored; RFC 8441 is unknown to us.
  if (other_extension && theirs.code == ErrorCode::kProtocolError) return true;
  // RFC 9218, 2.1: a change of this setting after the first SETTINGS may be an error.
  if (priorities && theirs.code == ErrorCode::kProtocolError) return true;
  // 6.9.2: a stream's window that grows too large by SETTINGS ends the connection. nghttp2 resets the stream.
  return ours.code == ErrorCode::kFlowControlError && why == "a window above 2^31 - 1" && !theirs.failed;
}

// A header block of stream `id`.
bool block_choice(uint32_t id, const Sent& before, const Outcome& ours, const Outcome& theirs, bool differs) {
  using enum ErrorCode;
  // 5.1, half-closed (remote): an error of the stream; 5.4.1 lets nghttp2 make it one of the connection. We decode the
  // block first: a compression error weighs more (4.3).
  const bool ended = before.ended.contains(id);
  if (ended && theirs.code == kStreamClosed) return !ours.failed || ours.code == kCompressionError;
  // The peer ended a stream that was open for us alone (stream_choice).
  if (ended && differs && ours.code == kStreamClosed && !theirs.failed) return true;
  // 5.1.1: stream identifiers ascend. nghttp2 decodes, and ignores, blocks of those that do not.
  return before.passed_over(id) && ours.code == kProtocolError && (!theirs.failed || theirs.code == kCompressionError);
}

// Whether the RFCs leave both verdicts on the connection open; they differ. Sections are RFC 9113's. `differs`: so did
// the stream's fate before.
bool connection_choice(const Frame& frame, const Sent& before, const Outcome& ours, const Outcome& theirs,
                       std::string_view why, bool differs) {
  using enum ErrorCode;
  const bool only_ours = ours.failed && !theirs.failed;
  const bool only_theirs = theirs.failed && !ours.failed;
  // 4.2 asks for FRAME_SIZE_ERROR. nghttp2 says PROTOCOL_ERROR where the pad length is missing; and of two rules that
  // a frame breaks, either may be seen first. session_test and session_model_test know our codes.
  auto size_or_protocol = [](ErrorCode code) { return code == kFrameSizeError || code == kProtocolError; };
  if (frame.wrong_size() && size_or_protocol(ours.code) && size_or_protocol(theirs.code)) return true;
  switch (frame.type) {
    case FrameType::kData:
      // 5.1 and 5.4.1: see block_choice.
      if (before.ended.contains(frame.stream) && theirs.code == kStreamClosed) {
        return only_theirs || frame.data_with_wrong_padding();
      }
      // 6.1: padding is checked in any state. nghttp2 does not look into DATA of streams that are over.
      return only_ours && frame.data_with_wrong_padding();
    case FrameType::kHeaders:
      if (block_choice(frame.stream, before, ours, theirs, differs)) return true;
      // 5.3.2: priorities are deprecated, and their rules of RFC 7540 gone. nghttp2 looks for cycles.
      return frame.has(kFlagPriority) && theirs.code == kProtocolError && frame.payload.size() >= frame.block_at() &&
             get_u31(frame.payload.data() + frame.block_at() - kPriorityBytes) == frame.stream;
    case FrameType::kContinuation:
      return block_choice(frame.stream, before, ours, theirs, differs);
    case FrameType::kPriority:
      // 6.3: a wrong size is an error of the stream (5.4.1 as above); 5.3.2 as above.
      return only_theirs && (frame.wrong_size() ? theirs.code == kFrameSizeError
                                                : theirs.code == kProtocolError && frame.first_u31() == frame.stream);
    case FrameType::kSettings:
      return settings_choice(frame, ours, theirs, why);
    case FrameType::kGoaway:
      // 6.8: the peer must not raise it, and may name our streams alone; nothing says what is to be done if it does.
      return only_theirs && theirs.code == kProtocolError &&
             (frame.first_u31() > before.last_goaway || frame.first_u31() % 2 == 1);
    case FrameType::kWindowUpdate:
      // 6.9: an increment of 0 is an error of the stream (5.4.1 as above).
      return only_theirs && frame.stream != 0 && frame.first_u31() == 0 && theirs.code == kProtocolError;
    case FrameType::kRstStream:
    case FrameType::kPushPromise:
    case FrameType::kPing:
      return false;
  }
  return false;
}

size_t count_of(const TestFields& fields, std::string_view name) {
  return static_cast<size_t>(
      std::count_if(fields.begin(), fields.end(), [&](const auto& f) { return f.first == name; }));
}

bool has_scheme_of_http(const TestFields& fields) {
  for (const auto& [name, value] : fields) {
    std::string lower = value;
    for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<uint8_t>(c)));
    if (name == ":scheme" && (lower == "http" || lower == "https")) return true;
  }
  return false;
}

bool has_path_beyond_ascii(const std::string& fields) {
  const size_t at = fields.find(":path: ");
  if (at == std::string::npos) return false;
  const std::string path = fields.substr(at, fields.find('\n', at) - at);
  return std::any_of(path.begin(), path.end(), [](char c) { return static_cast<uint8_t>(c) >= 0x80; });
}

// Whether the RFCs leave both fates of a stream open; they differ.
bool stream_choice(uint32_t id, const Sent& sent, const Ours& ours, const Outcome& theirs) {
  auto reset_of = [id](const Outcome& outcome) {
    auto found = outcome.resets.find(id);
    return found == outcome.resets.end() ? ErrorCode::kNoError : found->second;
  };
  const ErrorCode our_reset = reset_of(ours.outcome), their_reset = reset_of(theirs);
  const Endpoint::Received got = [&] {
    auto found = ours.endpoint.received.find(id);
    return found == ours.endpoint.received.end() ? Endpoint::Received() : found->second;
  }();
  if (our_reset == ErrorCode::kNoError && their_reset == ErrorCode::kProtocolError) {
    // RFC 9110, 8.6: a content-length that is repeated with the same value may be taken, or refused.
    if (count_of(got.headers, "content-length") > 1) return true;
    // RFC 9113, 8.3.1: a scheme without a mandatory authority may come without one. nghttp2 asks for one always.
    if (!has_scheme_of_http(got.headers) && count_of(got.headers, ":authority") + count_of(got.headers, "host") == 0) {
      return true;
    }
    // RFC 9110, 6.5.1: these do not belong in trailers, and a recipient may ignore them there. nghttp2 takes them for
    // the request's own.
    if (count_of(got.trailers, "content-length") + count_of(got.trailers, "host") > 0) return true;
  }
  if (our_reset == ErrorCode::kProtocolError && their_reset == ErrorCode::kNoError) {
    // RFC 3986, 3.3: a path is ASCII. nghttp2 takes any byte above.
    auto request = theirs.requests.find(id);
    if (request != theirs.requests.end() && has_path_beyond_ascii(request->second.fields)) return true;
  }
  // RFC 9113, 5.1: frames of a closed stream may be answered by STREAM_CLOSED, or be discarded.
  if (our_reset == ErrorCode::kStreamClosed && (sent.passed_over(id) || sent.ended.contains(id))) return true;
  // RFC 9113, 6.9.2: SETTINGS change the windows of active streams. nghttp2's closed ones have windows, too, and are
  // reset when these grow too large.
  return got.closed && our_reset == ErrorCode::kNoError && their_reset == ErrorCode::kFlowControlError;
}

// RFC 9113, 10.5.1: a limit on the size of a field section is each side's own; nghttp2 has none here.
bool above_our_limit(uint32_t id, const Ours& ours) {
  auto found = ours.endpoint.received.find(id);
  if (ours.outcome.resets.contains(id)) return ours.outcome.resets.at(id) == ErrorCode::kEnhanceYourCalm;
  return found != ours.endpoint.received.end() && found->second.too_large;
}

void print(const char* whose, const Outcome& outcome, uint32_t id) {
  auto request = outcome.requests.find(id);
  auto reset = outcome.resets.find(id);
  std::fprintf(stderr, "%s: stream %u", whose, id);
  if (request != outcome.requests.end()) {
    const Request& r = request->second;
    std::fprintf(stderr, " %zu bytes, ended %d\n%s--\n%s", r.body.size(), r.ended, r.fields.c_str(),
                 r.trailers.c_str());
  }
  std::fprintf(stderr, " reset %s\n", reset == outcome.resets.end() ? "no" : error_name(reset->second).c_str());
}

class Comparison {
 public:
  Comparison() {
    const std::string start = client_start() + frame(FrameType::kSettings, kFlagAck, 0, "");
    ours_.receive(start);
    theirs_.receive(start);
  }

  // False: nothing more can be compared.
  bool step(const Frame& next) {
    const std::string bytes = frame(next.type, next.flags, next.stream, next.payload);
    ours_.receive(bytes);
    if (!theirs_.outcome.failed) theirs_.receive(bytes);
    const bool more = same_verdict(next);
    sent_.add(next);
    if (!more) return false;
    // nghttp2 decodes a block as it comes; we, once it is whole.
    if (!ours_.in_header_block()) {
      compare_streams();
      answer();
    }
    return theirs_.outcome.failed || theirs_.reads();
  }

 private:
  bool same_verdict(const Frame& next) {
    const Outcome& ours = ours_.outcome;
    const Outcome& theirs = theirs_.outcome;
    if (ours.failed == theirs.failed && ours.code == theirs.code) return !ours.failed;
    // An error of the block that nghttp2 finds before the block is whole: we must find it in the end, or else that
    // another frame comes in between.
    const bool early = theirs.code == ErrorCode::kCompressionError;
    if (early && !ours.failed && ours_.in_header_block()) return true;
    if (early && ours.code == ErrorCode::kProtocolError &&
        ours_.endpoint.failure_text == "a header block is interrupted") {
      return false;
    }
    if (connection_choice(next, sent_, ours, theirs, ours_.endpoint.failure_text, settled_.contains(next.stream))) {
      return false;
    }
    std::fprintf(stderr, "frame type %d flags %#x stream %u size %zu: ours %d %s (%s), nghttp2's %d %s\n",
                 static_cast<int>(next.type), next.flags, next.stream, next.payload.size(), ours.failed,
                 error_name(ours.code).c_str(), ours_.endpoint.failure_text.c_str(), theirs.failed,
                 error_name(theirs.code).c_str());
    std::abort();
  }

  void compare_streams() {
    for (uint32_t id = 1; id < 16; ++id) {
      if (settled_.contains(id) || same_stream(id)) continue;
      if (!stream_choice(id, sent_, ours_, theirs_.outcome) && !above_our_limit(id, ours_)) {
        print("ours", ours_.outcome, id);
        print("nghttp2's", theirs_.outcome, id);
        std::abort();
      }
      settled_.insert(id);
    }
  }
  bool same_stream(uint32_t id) const {
    auto equal = [id](const auto& a, const auto& b) {
      auto in_a = a.find(id), in_b = b.find(id);
      if (in_a == a.end() || in_b == b.end()) return in_a == a.end() && in_b == b.end();
      return in_a->second == in_b->second;
    };
    if (!equal(ours_.outcome.resets, theirs_.outcome.resets)) return false;
    // What had come of a stream that both reset is of no use to anyone.
    return ours_.outcome.resets.contains(id) || equal(ours_.outcome.requests, theirs_.outcome.requests);
  }

  // Every other stream is answered at its end, and closed thereby.
  void answer() {
    for (auto& [id, request] : ours_.outcome.requests) {
      if (id % 4 != 3 || !request.ended || settled_.contains(id) || ours_.endpoint.received[id].closed) continue;
      ours_.answer(id);
      theirs_.answer(id);
    }
  }

  Ours ours_;
  Theirs theirs_;
  Sent sent_;
  std::set<uint32_t> settled_;  // streams that may differ from here on
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Comparison comparison;
  while (size >= 4) {
    const size_t n = std::min<size_t>(data[3], size - 4);
    const std::string_view payload(reinterpret_cast<const char*>(data + 4), n);
    if (!comparison.step({static_cast<FrameType>(data[0] % 12), data[1], data[2] % 16u, payload})) return 0;
    data += 4 + n;
    size -= 4 + n;
  }
  return 0;
}
