// A model of an HTTP/2 server (RFC 9113), for session_model_test: what must come of each frame that a client sends. It
// knows what the client can know: the states of streams, the windows as the frames sent tell them, whether HPACK's
// table is empty. It knows nothing of how Session is made.
//
// Where the RFC leaves a choice, it says what Session does: DATA of a closed stream is answered by STREAM_CLOSED unless
// we reset it, HEADERS of one that the peer closed end the connection (5.1).
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/http2/session_testing.h"

namespace drover::engine::http2 {

inline constexpr uint32_t kMaxStreams = 4;
inline constexpr uint32_t kHighestStream = 59;  // few enough that the session remembers how each has ended
inline constexpr int64_t kContentLength = 10;   // of Block::kWithLength

using Lines = std::vector<std::string>;

enum class Block : uint8_t { kRequest, kWithLength, kAddsToTable, kFromTable, kTrailers, kUpperCase, kUndecodable };

inline std::string bytes_of(Block block) {
  const std::string request(kRequestBlock);
  switch (block) {
    case Block::kRequest:
      return request;
    case Block::kWithLength:
      return request + std::string("\x0f\x0d\x02", 3) + "10";
    case Block::kAddsToTable:
      return request + "\x40\x01x\x01y";
    case Block::kFromTable:
      return request + "\xbe";
    case Block::kTrailers:
      return std::string("\0\x01x\x01y", 5);
    case Block::kUpperCase:
      return request + std::string("\0\x01X\x01y", 5);
    case Block::kUndecodable:
      return request + "\x80";
  }
  return {};
}

// Which stream a step is about, in terms of what has been: so sequences stay meaningful as they shrink.
enum class Which : uint8_t { kZero, kEven, kNext, kOver, kOpen, kClosed, kPassedOver, kIdle };

enum class Does : uint8_t {
  kHeaders,
  kContinuation,
  kData,
  kReset,
  kSettings,
  kPing,
  kWindowUpdate,
  kGoaway,
  kPriority,
  kPushPromise,
  kUnknown,
  kAnswer,  // the application's reply, of `size` bytes
};

struct Step {
  Does does;
  Which which;
  uint8_t choice;  // among the streams that `which` names
  Block block;
  bool end_stream;
  bool finished;    // of a header block: its last piece has END_HEADERS
  uint8_t pieces;   // of a header block
  uint32_t number;  // an increment, a window, an error code
  uint32_t size;    // of DATA or of an answer
  uint8_t padding;  // of DATA and HEADERS; 0: not padded
  bool wrong_size;  // of the frame
  bool ack;
};

inline std::ostream& operator<<(std::ostream& out, const Step& step) {
  static constexpr const char* kNames[] = {"HEADERS",  "CONTINUATION", "DATA",          "RST_STREAM",
                                           "SETTINGS", "PING",         "WINDOW_UPDATE", "GOAWAY",
                                           "PRIORITY", "PUSH_PROMISE", "unknown",       "answer"};
  static constexpr const char* kStreams[] = {"0", "even", "next", "one over", "open", "closed", "passed over", "idle"};
  return out << kNames[static_cast<int>(step.does)] << " of " << kStreams[static_cast<int>(step.which)] << '/'
             << int{step.choice} << " block " << static_cast<int>(step.block) << (step.end_stream ? " ends" : "")
             << (step.finished ? "" : " unfinished") << " pieces " << int{step.pieces} << " number " << step.number
             << " size " << step.size << " padding " << int{step.padding} << (step.wrong_size ? " wrong size" : "")
             << (step.ack ? " ack" : "");
}

class Model {
 public:
  enum class State : uint8_t { kOpen, kHalfClosed, kClosedByUs, kClosedByPeer, kPassedOver };
  struct Known {
    State state;
    int64_t receive = 0;  // what the client may send
    int64_t send = 0;     // what the server may send
    int64_t content_left = -1;
    size_t body = 0;
    bool answered = false;
    size_t answer_left = 0;
  };

  explicit Model(uint32_t stream_window) : stream_window_(stream_window) {}

  // The stream that a step means; nothing where no stream fits.
  std::optional<uint32_t> resolve(const Step& step) const {
    switch (step.does) {
      case Does::kSettings:
      case Does::kPing:
      case Does::kGoaway:
        return step.which == Which::kEven ? 2 : 0;
      case Does::kHeaders:
        return resolve(step.which == Which::kNext && step.block == Block::kTrailers                      ? Which::kOpen
                       : step.which == Which::kOpen && step.block != Block::kTrailers && step.choice > 0 ? Which::kNext
                                                                                                         : step.which,
                       step.choice);
      case Does::kContinuation:
        if (block_of_ != 0) return block_of_;
        break;
      case Does::kWindowUpdate:
        if (step.which == Which::kNext) return 0;
        break;
      default:
        break;
    }
    const bool fresh = step.which == Which::kNext || step.which == Which::kOver;
    return resolve(fresh ? Which::kOpen : step.which, step.choice);
  }
  const Known* open(uint32_t id) const {
    auto found = streams_.find(id);
    return found != streams_.end() && is_open(found->second) ? &found->second : nullptr;
  }
  const std::map<uint32_t, Known>& streams() const { return streams_; }
  bool failed() const { return failed_; }
  // Nothing is left that the server could send.
  bool all_sent() const {
    return std::all_of(streams_.begin(), streams_.end(), [&](const auto& one) {
      const Known& stream = one.second;
      return !is_open(stream) || !stream.answered || (stream.answer_left > 0 && (stream.send <= 0 || send_ <= 0));
    });
  }

  // What the session must tell its handler, and send (RST_STREAM, GOAWAY, acknowledgements), since the last call.
  Lines take_events() { return std::exchange(events_, {}); }
  Lines take_frames() { return std::exchange(frames_, {}); }

  void receive(FrameType type, uint8_t flags, uint32_t id, std::string_view payload, const Step& step) {
    if (failed_) return;
    if (payload.size() > kDefaultFrameSize) return fail(ErrorCode::kFrameSizeError);
    if (block_of_ != 0 && (type != FrameType::kContinuation || id != block_of_)) return fail(ErrorCode::kProtocolError);
    switch (type) {
      case FrameType::kData:
        return data(flags, id, payload);
      case FrameType::kHeaders:
        if (id % 2 == 0) return fail(ErrorCode::kProtocolError);
        if (step.wrong_size) return fail(ErrorCode::kFrameSizeError);
        block_ends_ = (flags & kFlagEndStream) != 0;
        return piece(flags, id, step.block);
      case FrameType::kContinuation:
        if (block_of_ == 0) return fail(ErrorCode::kProtocolError);
        return piece(flags, id, block_);
      case FrameType::kRstStream:
        return reset(id, payload);
      case FrameType::kSettings:
        return settings(flags, id, payload);
      case FrameType::kPing:
        if (id != 0) return fail(ErrorCode::kProtocolError);
        if (payload.size() != kPingBytes) return fail(ErrorCode::kFrameSizeError);
        if (!(flags & kFlagAck)) frames_.push_back("PING acknowledged");
        return;
      case FrameType::kWindowUpdate:
        return window_update(id, payload);
      case FrameType::kGoaway:
        if (id != 0) return fail(ErrorCode::kProtocolError);
        if (payload.size() < kGoawayBytes) fail(ErrorCode::kFrameSizeError);
        return;
      case FrameType::kPriority:
        if (id == 0) return fail(ErrorCode::kProtocolError);
        if (payload.size() == kPriorityBytes) return;
        return idle(id) ? fail(ErrorCode::kFrameSizeError) : stream_error(id, ErrorCode::kFrameSizeError);
      case FrameType::kPushPromise:
        return fail(ErrorCode::kProtocolError);
    }
  }
  void answer(uint32_t id, size_t size) {
    streams_.at(id).answered = true;
    streams_.at(id).answer_left = size;
  }

  // Frames of the server's, which tell the model what the windows are. False: the server may not send that.
  bool sent_data(uint32_t id, size_t size, bool end) {
    auto found = streams_.find(id);
    if (found == streams_.end() || !is_open(found->second) || !found->second.answered) return false;
    Known& stream = found->second;
    const auto bytes = static_cast<int64_t>(size);
    if (size > stream.answer_left || (size > 0 && (bytes > stream.send || bytes > send_))) return false;
    stream.answer_left -= size;
    stream.send -= bytes;
    send_ -= bytes;
    if (end != (stream.answer_left == 0)) return false;
    if (end) answered(id);
    return true;
  }
  // HEADERS, with END_STREAM if there is no body.
  bool sent_headers(uint32_t id, bool end) {
    auto found = streams_.find(id);
    if (found == streams_.end() || !is_open(found->second) || !found->second.answered) return false;
    if (end != (found->second.answer_left == 0)) return false;
    if (end) answered(id);
    return true;
  }
  bool sent_window_update(uint32_t id, uint32_t increment) {
    if (id == 0) return (receive_ += increment) <= kDefaultWindow;
    auto found = streams_.find(id);
    return found != streams_.end() && (found->second.receive += increment) <= stream_window_;
  }

 private:
  static bool is_open(const Known& stream) { return stream.state <= State::kHalfClosed; }
  std::optional<uint32_t> resolve(Which which, uint32_t choice) const {
    auto one_of = [&](auto condition) -> std::optional<uint32_t> {
      std::vector<uint32_t> ids;
      for (const auto& [id, stream] : streams_) {
        if (condition(stream)) ids.push_back(id);
      }
      return ids.empty() ? std::nullopt : std::optional(ids[choice % ids.size()]);
    };
    auto fresh = [&](uint32_t id) { return id <= kHighestStream ? std::optional(id) : std::nullopt; };
    switch (which) {
      case Which::kZero:
        return 0;
      case Which::kEven:
        return 2 + 2 * choice;
      case Which::kNext:
        return fresh(next_);
      case Which::kOver:
        return fresh(next_ + 2);
      case Which::kIdle:
        return kHighestStream + 2 + 2 * choice;
      case Which::kOpen:
        return one_of([](const Known& stream) { return is_open(stream); });
      case Which::kClosed:
        return one_of([](const Known& stream) { return !is_open(stream) && stream.state != State::kPassedOver; });
      case Which::kPassedOver:
        return one_of([](const Known& stream) { return stream.state == State::kPassedOver; });
    }
    return std::nullopt;
  }
  bool idle(uint32_t id) const { return id % 2 == 0 || id >= next_; }
  size_t open_count() const {
    return static_cast<size_t>(
        std::count_if(streams_.begin(), streams_.end(), [](const auto& one) { return is_open(one.second); }));
  }

  void fail(ErrorCode code) {
    failed_ = true;
    frames_.push_back("GOAWAY " + error_name(code));
  }
  void close(uint32_t id, ErrorCode code, State state) {
    streams_.at(id).state = state;
    events_.push_back(std::to_string(id) + " closed " + error_name(code));
  }
  void send_reset(uint32_t id, ErrorCode code) {
    frames_.push_back("RST_STREAM " + std::to_string(id) + " " + error_name(code));
  }
  // 5.4.2. Of a stream that is closed, too.
  void stream_error(uint32_t id, ErrorCode code) {
    send_reset(id, code);
    Known& stream = streams_.at(id);
    if (is_open(stream)) return close(id, code, State::kClosedByUs);
    if (stream.state == State::kPassedOver) stream.state = State::kClosedByUs;
  }
  void answered(uint32_t id) {
    const bool whole = streams_.at(id).state == State::kHalfClosed;
    if (!whole) send_reset(id, ErrorCode::kNoError);  // 8.1: the rest of the request is not wanted
    close(id, ErrorCode::kNoError, whole ? State::kClosedByPeer : State::kClosedByUs);
  }
  void remote_end(uint32_t id) {
    Known& stream = streams_.at(id);
    if (stream.content_left > 0) return stream_error(id, ErrorCode::kProtocolError);
    stream.state = State::kHalfClosed;
    events_.push_back(std::to_string(id) + " end");
  }

  // 6.1, 5.1, 6.9.
  void data(uint8_t flags, uint32_t id, std::string_view payload) {
    if ((flags & kFlagPadded) && payload.empty()) return fail(ErrorCode::kFrameSizeError);
    const size_t overhead = (flags & kFlagPadded) ? 1 + static_cast<size_t>(static_cast<uint8_t>(payload[0])) : 0;
    if (overhead > payload.size()) return fail(ErrorCode::kProtocolError);
    const auto size = static_cast<int64_t>(payload.size());
    if (id == 0) return fail(ErrorCode::kProtocolError);
    if ((receive_ -= size) < 0) return fail(ErrorCode::kFlowControlError);
    if (idle(id)) return fail(ErrorCode::kProtocolError);
    Known& stream = streams_.at(id);
    if (stream.state == State::kClosedByUs) return;
    if (stream.state != State::kOpen) return stream_error(id, ErrorCode::kStreamClosed);
    const int64_t content = size - static_cast<int64_t>(overhead);
    if ((stream.receive -= size) < 0) return stream_error(id, ErrorCode::kFlowControlError);
    if (stream.content_left >= 0 && (stream.content_left -= content) < 0) {
      return stream_error(id, ErrorCode::kProtocolError);
    }
    stream.body += static_cast<size_t>(content);
    if (flags & kFlagEndStream) remote_end(id);
  }

  void piece(uint8_t flags, uint32_t id, Block block) {
    if (!(flags & kFlagEndHeaders)) {
      block_of_ = id;
      block_ = block;
      return;
    }
    block_of_ = 0;
    whole_block(id, block);
  }
  // False: 4.3.
  bool decodes(Block block) {
    if (block == Block::kUndecodable || (block == Block::kFromTable && !table_filled_)) return false;
    table_filled_ |= block == Block::kAddsToTable;
    return true;
  }
  void whole_block(uint32_t id, Block block) {
    auto found = streams_.find(id);
    if (found != streams_.end() && found->second.state == State::kPassedOver) {
      return fail(ErrorCode::kProtocolError);  // 5.1.1
    }
    const bool opens = found == streams_.end();
    for (; opens && next_ <= id; next_ += 2) streams_[next_] = {.state = State::kPassedOver};
    if (!decodes(block)) return fail(ErrorCode::kCompressionError);
    if (opens) return request(id, block);
    switch (found->second.state) {
      case State::kOpen:
        if (!block_ends_ || block != Block::kTrailers) return stream_error(id, ErrorCode::kProtocolError);
        return remote_end(id);
      case State::kHalfClosed:
        return stream_error(id, ErrorCode::kStreamClosed);
      case State::kClosedByPeer:
        return fail(ErrorCode::kStreamClosed);
      case State::kClosedByUs:
      case State::kPassedOver:
        return;
    }
  }
  void request(uint32_t id, Block block) {
    const bool full = open_count() >= kMaxStreams;
    const bool malformed = block == Block::kTrailers || block == Block::kUpperCase;
    Known& stream = streams_[id] = {.state = State::kClosedByUs};
    if (full) return send_reset(id, ErrorCode::kRefusedStream);
    if (malformed) return send_reset(id, ErrorCode::kProtocolError);
    stream.state = State::kOpen;
    stream.receive = stream_window_;
    stream.send = initial_window_;
    if (block == Block::kWithLength) stream.content_left = kContentLength;
    events_.push_back(std::to_string(id) + " headers");
    if (block_ends_) remote_end(id);
  }

  void reset(uint32_t id, std::string_view payload) {
    if (payload.size() != 4) return fail(ErrorCode::kFrameSizeError);
    if (id == 0 || idle(id)) return fail(ErrorCode::kProtocolError);
    Known& stream = streams_.at(id);
    if (!is_open(stream)) return;
    auto code = static_cast<ErrorCode>(get_u32(payload.data()));
    // The handler hears of a request that was broken off, whatever the code.
    if (code == ErrorCode::kNoError && stream.state == State::kOpen) code = ErrorCode::kCancel;
    close(id, code, State::kClosedByPeer);
  }

  void settings(uint8_t flags, uint32_t id, std::string_view payload) {
    if (id != 0) return fail(ErrorCode::kProtocolError);
    const bool ack = (flags & kFlagAck) != 0;
    if (payload.size() % kSettingBytes != 0 || (ack && !payload.empty())) return fail(ErrorCode::kFrameSizeError);
    if (ack) return std::exchange(acknowledged_, true) ? fail(ErrorCode::kProtocolError) : void();
    if (!payload.empty()) {  // INITIAL_WINDOW_SIZE
      const uint32_t window = get_u32(payload.data() + 2);
      if (window > kMaxWindow) return fail(ErrorCode::kFlowControlError);
      const int64_t change = int64_t{window} - initial_window_;
      initial_window_ = window;
      for (auto& [stream_id, stream] : streams_) {
        if (is_open(stream) && (stream.send += change) > kMaxWindow) return fail(ErrorCode::kFlowControlError);
      }
    }
    frames_.push_back("SETTINGS acknowledged");
  }

  void window_update(uint32_t id, std::string_view payload) {
    if (payload.size() != 4) return fail(ErrorCode::kFrameSizeError);
    const uint32_t increment = get_u31(payload.data());
    if (id == 0) {
      if (increment == 0) return fail(ErrorCode::kProtocolError);
      if ((send_ += increment) > kMaxWindow) fail(ErrorCode::kFlowControlError);
      return;
    }
    if (idle(id)) return fail(ErrorCode::kProtocolError);
    Known& stream = streams_.at(id);
    if (!is_open(stream)) return;
    if (increment == 0) return stream_error(id, ErrorCode::kProtocolError);
    if ((stream.send += increment) > kMaxWindow) stream_error(id, ErrorCode::kFlowControlError);
  }

  const uint32_t stream_window_;
  std::map<uint32_t, Known> streams_;  // all odd ones below next_
  uint32_t next_ = 1;
  int64_t receive_ = kDefaultWindow;
  int64_t send_ = kDefaultWindow;
  int64_t initial_window_ = kDefaultWindow;
  uint32_t block_of_ = 0;  // the stream of the block that has not ended
  Block block_ = Block::kRequest;
  bool block_ends_ = false;  // it has END_STREAM
  bool table_filled_ = false;
  bool acknowledged_ = false;
  bool failed_ = false;
  Lines events_;
  Lines frames_;
};

}  // namespace drover::engine::http2
