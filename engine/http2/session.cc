#include "engine/http2/session.h"

#include <algorithm>

namespace drover::engine::http2 {

namespace {

// What is sent in pings of our own; the answers tell them apart.
constexpr std::string_view kBandwidthPing = "drover:b";
constexpr std::string_view kOwnersPing = "drover:p";

}  // namespace

Session::Session(const SessionOptions& options, SessionScratch& scratch, SessionHandler& handler, const int64_t* now_ns)
    : options_(options),
      scratch_(scratch),
      handler_(handler),
      now_ns_(now_ns),
      reader_(options.role == Role::kServer ? kPreface : std::string_view()),
      outbox_(options.max_queued_control_bytes),
      sender_(*this, handler, scratch.block),
      pings_(options.pings),
      bandwidth_(options.stream_window, options.max_stream_window),
      stream_window_(bandwidth_.window()),
      max_data_frame_(options.max_frame_size),
      heads_(std::make_shared<ByteBudget>(options.max_open_header_bytes)),
      control_frames_(options.control_frame_rate, 2 * options.control_frame_rate, *now_ns),
      resets_(options.reset_rate, options.reset_burst, *now_ns) {
  if (!server()) outbox_.raw(kPreface);
  outbox_.settings({{server() ? Setting::kNoRfc7540Priorities : Setting::kEnablePush, server() ? 1 : 0},
                    {Setting::kMaxConcurrentStreams, options.max_concurrent_streams},
                    {Setting::kInitialWindowSize, stream_window_},
                    {Setting::kMaxFrameSize, options.max_frame_size},
                    {Setting::kMaxHeaderListSize, options.max_header_bytes}});
  if (uint32_t increment = receive_.resize(options.connection_window)) outbox_.window_update(0, increment);
}

size_t Session::receive(const char* bytes, size_t size) {
  if (failed_) return size;
  const size_t taken = reader_.read(bytes, size, *this);
  if (reader_.bad_preface()) connection_error(ErrorCode::kProtocolError, "not an HTTP/2 connection");
  // Whatever queued them: answers and resets that the peer does not read end here.
  if (outbox_.over_budget()) connection_error(ErrorCode::kEnhanceYourCalm, "the answers to its frames are not read");
  return failed_ ? size : taken;
}

bool Session::produce(SendBatch& batch) {
  const size_t before = batch.bytes();
  outbox_.flush(batch);
  bool all = true;
  if (!failed_) {
    all = sender_.produce(batch, produced_ - before);
    outbox_.flush(batch);  // of streams that ended early
  }
  produced_ += batch.bytes() - before;
  return all;
}

// ---- Errors.

void Session::fail(ErrorCode code, std::string_view why) {
  if (failed_) return;
  failed_ = true;
  outbox_.goaway(last_served_stream_, code, why);
  handler_.on_failed(code, why);
}

void Session::abandon() {
  failed_ = true;
  size_t at = 0;
  while (Stream* stream = streams_.next(at)) close(*stream, ErrorCode::kCancel, true);
}

bool Session::connection_error(ErrorCode code, std::string_view why) {
  fail(code, why);
  return false;
}

bool Session::stream_error(Stream& stream, ErrorCode code) {
  reset(stream, code);
  return spend_reset();
}

// Resets a stream that the handler does not know.
bool Session::refuse(uint32_t id, ErrorCode code) {
  outbox_.rst_stream(id, code);
  if (!ended(id)) ended_[next_ended_++ % kRememberedEnds] = {id, true};
  return spend_reset();
}

bool Session::spend_control_frame(uint32_t tokens) {
  for (; tokens > 0; --tokens) {
    if (!control_frames_.spend(*now_ns_)) {
      return connection_error(ErrorCode::kEnhanceYourCalm, "too many frames without a call");
    }
  }
  return true;
}

bool Session::spend_reset() {
  return resets_.spend(*now_ns_) || connection_error(ErrorCode::kEnhanceYourCalm, "too many streams end early");
}

void Session::reset(Stream& stream, ErrorCode code) {
  // A client's stream whose headers have not left is idle for the peer: it need not hear of it.
  if (!failed_ && (server() || stream.headers_sent_)) outbox_.rst_stream(stream.id_, code);
  close(stream, code, true);
}

void Session::close(Stream& stream, ErrorCode code, bool by_us) {
  sender_.drop(stream);
  streams_.erase(stream);
  ended_[next_ended_++ % kRememberedEnds] = {stream.id_, by_us};
  if (current_ == &stream) current_ = nullptr;
  handler_.on_closed(stream, code);
}

bool Session::is_idle(uint32_t id) const {
  const bool by_peer = (id & 1) == (server() ? 1u : 0u);
  return by_peer ? id > last_peer_stream_ : server() || id >= next_stream_;
}

bool Session::opens_stream(uint32_t id) const { return server() && (id & 1) == 1 && id > last_peer_stream_; }

const Session::Ended* Session::ended(uint32_t id) const {
  for (const Ended& one : ended_) {
    if (one.id == id) return &one;
  }
  return nullptr;
}

// ---- Frames.

Take Session::take(const FrameHeader& header) {
  auto stop = [&](ErrorCode code, std::string_view why) {
    connection_error(code, why);
    return Take::kStop;
  };
  if (header.length > max_data_frame_) return stop(ErrorCode::kFrameSizeError, "a frame above the size limit");
  if (!settings_received_ && (header.type != FrameType::kSettings || header.has(kFlagAck))) {
    return stop(ErrorCode::kProtocolError, "the first frame is no SETTINGS");
  }
  if (block_ && (header.type != FrameType::kContinuation || header.stream != block_->stream)) {
    return stop(ErrorCode::kProtocolError, "a header block is interrupted");
  }
  switch (header.type) {
    case FrameType::kData:
      if (header.length == 0 && header.has(kFlagPadded)) return stop(ErrorCode::kFrameSizeError, "no pad length");
      return Take::kData;
    case FrameType::kPushPromise:  // clients may not push, and we do not let servers
      return stop(ErrorCode::kProtocolError, "PUSH_PROMISE");
    case FrameType::kHeaders:
    case FrameType::kPriority:
    case FrameType::kRstStream:
    case FrameType::kSettings:
    case FrameType::kPing:
    case FrameType::kWindowUpdate:
    case FrameType::kGoaway:
    case FrameType::kContinuation:
      if (header.length > std::max<size_t>(options_.max_frame_size, 2 * size_t{options_.max_header_bytes})) {
        return stop(ErrorCode::kEnhanceYourCalm, "a frame of this size that is not DATA");
      }
      if (header.type == FrameType::kHeaders && header_block_since_ns_ == 0) header_block_since_ns_ = *now_ns_;
      return Take::kWhole;
  }
  return spend_control_frame() ? Take::kSkip : Take::kStop;  // an extension frame
}

bool Session::on_frame(const FrameHeader& header, const char* payload) {
  switch (header.type) {
    case FrameType::kHeaders:
      return on_headers(header, payload);
    case FrameType::kContinuation:
      return on_continuation(header, payload);
    case FrameType::kRstStream:
      return on_rst_stream(header, payload);
    case FrameType::kSettings:
      return on_settings(header, payload);
    case FrameType::kPing:
      return on_ping(header, payload);
    case FrameType::kWindowUpdate:
      return on_window_update(header, payload);
    case FrameType::kGoaway:
      return on_goaway(header, payload);
    case FrameType::kPriority:
      if (header.stream == 0) return connection_error(ErrorCode::kProtocolError, "PRIORITY of no stream");
      if (header.length != kPriorityBytes) {
        if (Stream* stream = streams_.find(header.stream)) return stream_error(*stream, ErrorCode::kFrameSizeError);
        return is_idle(header.stream) ? connection_error(ErrorCode::kFrameSizeError, "a malformed PRIORITY")
                                      : refuse(header.stream, ErrorCode::kFrameSizeError);
      }
      return spend_control_frame();
    case FrameType::kData:
    case FrameType::kPushPromise:
      break;  // take() lets neither come here
  }
  return true;
}

// ---- DATA.

bool Session::on_data_begin(const FrameHeader& header, size_t padding) {
  if (header.stream == 0) return connection_error(ErrorCode::kProtocolError, "DATA of no stream");
  if (header.has(kFlagPadded) && padding >= header.length) {
    return connection_error(ErrorCode::kProtocolError, "padding longer than its frame");
  }
  if (!receive_.receive(header.length)) {
    return connection_error(ErrorCode::kFlowControlError, "DATA beyond the connection's window");
  }
  follow_bandwidth(header.length);
  data_end_stream_ = header.has(kFlagEndStream);
  data_consumed_ = false;
  current_ = streams_.find(header.stream);
  if (!current_ || current_->remote_closed_) {
    consume_connection(header.length);
    data_consumed_ = true;
    if (current_) {
      Stream& stream = *current_;
      return stream_error(stream, ErrorCode::kStreamClosed);
    }
    if (is_idle(header.stream)) return connection_error(ErrorCode::kProtocolError, "DATA of an idle stream");
    const Ended* end = ended(header.stream);
    if ((end && end->by_us) || header.stream > last_served_stream_) return header.length > 0 || spend_control_frame();
    return refuse(header.stream, ErrorCode::kStreamClosed);
  }
  Stream& stream = *current_;
  const uint32_t overhead = header.has(kFlagPadded) ? static_cast<uint32_t>(padding) + 1 : 0;
  const uint32_t data = header.length - overhead;
  ErrorCode error = ErrorCode::kNoError;
  if (!stream.head_received_) error = ErrorCode::kProtocolError;  // client: DATA in front of the response's headers
  if (stream.content_left_ >= 0 && (stream.content_left_ -= data) < 0) error = ErrorCode::kProtocolError;
  if (!stream.receive_.receive(header.length)) error = ErrorCode::kFlowControlError;
  if (error != ErrorCode::kNoError) {
    consume_connection(header.length);
    data_consumed_ = true;
    return stream_error(stream, error);
  }
  if (overhead > 0) {
    consume_connection(overhead);
    consume_stream(stream, overhead);
  }
  return data > 0 || data_end_stream_ || spend_control_frame();
}

bool Session::on_data(const char* bytes, size_t size) {
  if (current_) {
    handler_.on_data(*current_, bytes, size);
  } else if (!data_consumed_) {
    consume_connection(size);  // the handler reset the stream in the middle of the frame
  }
  return !failed_;
}

bool Session::on_data_end() {
  if (current_ && data_end_stream_) remote_end(*current_);
  return !failed_;
}

// ---- Header blocks.

bool Session::on_headers(const FrameHeader& header, const char* payload) {
  if (header.stream == 0) return connection_error(ErrorCode::kProtocolError, "HEADERS of no stream");
  if (!opens_stream(header.stream) && is_idle(header.stream)) {
    return connection_error(ErrorCode::kProtocolError, "HEADERS open a stream that they cannot");
  }
  const bool padded = header.has(kFlagPadded);
  const size_t begin = (padded ? 1 : 0) + (header.has(kFlagPriority) ? kPriorityBytes : 0);
  if (header.length < begin) return connection_error(ErrorCode::kFrameSizeError, "no pad length or priority fields");
  const size_t padding = padded ? static_cast<uint8_t>(payload[0]) : 0;
  if (padding > header.length - begin) {
    return connection_error(ErrorCode::kProtocolError, "padding longer than its frame");
  }
  const size_t end = header.length - padding;
  std::string_view fragment(payload + begin, end - begin);
  const bool end_stream = header.has(kFlagEndStream);
  if (header.has(kFlagEndHeaders)) {
    header_block_since_ns_ = 0;
    return on_block(header.stream, fragment, end_stream);
  }
  block_ = std::make_unique<PendingBlock>(PendingBlock{header.stream, end_stream, std::string(fragment)});
  return true;
}

bool Session::on_continuation(const FrameHeader& header, const char* payload) {
  if (!block_) return connection_error(ErrorCode::kProtocolError, "CONTINUATION without HEADERS");
  if (!spend_control_frame()) return false;
  // A block that is longer than any that we could take: not worth its decoding.
  if (block_->bytes.size() + header.length > 2 * static_cast<size_t>(options_.max_header_bytes)) {
    return connection_error(ErrorCode::kEnhanceYourCalm, "a header block above the size limit");
  }
  block_->bytes.append(payload, header.length);
  if (!header.has(kFlagEndHeaders)) return true;
  std::unique_ptr<PendingBlock> whole = std::move(block_);
  header_block_since_ns_ = 0;
  return on_block(whole->stream, whole->bytes, whole->end_stream);
}

bool Session::on_block(uint32_t id, std::string_view block, bool end_stream) {
  Stream* stream = streams_.find(id);
  if (!stream) return opens_stream(id) ? on_new_stream(id, block, end_stream) : on_block_of_ended(id, block);
  if (!server() && !stream->headers_sent_) {
    return connection_error(ErrorCode::kProtocolError, "a response to a request that was not sent");
  }
  current_ = stream;
  if (!stream->head_received_) return on_response_block(*stream, block, end_stream);
  return on_trailers(*stream, block, end_stream);
}

bool Session::decode(std::string_view block, BlockRange* variable_value) {
  scratch_.fields.clear();
  if (!decoder_.decode(block, scratch_.strings, scratch_.fields, options_.variable_field, variable_value)) {
    return connection_error(ErrorCode::kCompressionError, "a malformed header block");
  }
  constexpr size_t kFieldBytesAUnit = 512;
  scratch_.pace.spend(scratch_.fields.size() / kFieldBytesAUnit);
  return handler_.on_decoded(scratch_.fields.size()) ||
         connection_error(ErrorCode::kEnhanceYourCalm, "too much of header blocks a second");
}

// The block's meaning, from the cache or by decoding. Null: the block is malformed (or the connection has failed).
HeadRef Session::read_head(BlockKind kind, std::string_view block, std::string_view& variable) {
  const uint64_t version = decoder_.table_version();
  if (cache_) {
    Head* known = cache_->find(block, version, scratch_.strings.value, variable);
    if (known && legal_value(variable)) return HeadRef(known);
  }
  BlockRange variable_value;
  if (!decode(block, &variable_value)) return {};
  const FieldList& fields = scratch_.fields;
  variable = {};
  int variables = 0;
  size_t variable_at = HeadCache::kNoField;
  for (size_t i = 0; i < fields.fields().size(); ++i) {
    if (fields.fields()[i].name != options_.variable_field) continue;
    variable = fields.fields()[i].value;
    variable_at = i;
    ++variables;
  }
  const bool comparable = variables <= 1 && !fields.too_large() && legal_value(variable);
  HeadRef head;
  if (comparable && cache_) head = HeadRef(cache_->find_fields(fields.fields(), variable_at));
  if (!head) {
    HeadSummary summary = check_fields(kind, fields.fields());
    if (summary.malformed && !fields.too_large()) return {};
    if (kind == BlockKind::kResponse && summary.status < 200) return {};
    head = HeadRef(handler_.make_head(summary, fields.fields(), fields.too_large()));
    head.get()->charge_to(heads_);
    if (comparable) {
      if (!cache_) cache_ = std::make_unique<HeadCache>();
      cache_->remember_fields(fields.fields(), variable_at, head);
    }
  }
  const bool repeatable = variables == (variable_value.end != 0 ? 1 : 0);
  if (decoder_.table_version() == version && repeatable && !fields.too_large()) {
    if (!cache_) cache_ = std::make_unique<HeadCache>();
    cache_->remember(block, version, variable_value, head);
  }
  return head;
}

bool Session::on_new_stream(uint32_t id, std::string_view block, bool end_stream) {
  last_peer_stream_ = id;
  // The peer knows that what crosses our GOAWAY is not served. The block is decoded all the same, here and below.
  if (goaway_sent_) return decode(block, nullptr) && spend_control_frame();
  last_served_stream_ = id;
  if (streams_.count() >= options_.max_concurrent_streams) {
    return decode(block, nullptr) && refuse(id, ErrorCode::kRefusedStream);
  }
  std::string_view variable;
  HeadRef head = read_head(BlockKind::kRequest, block, variable);
  if (failed_) return false;
  if (!head) return refuse(id, ErrorCode::kProtocolError);
  if (heads_->over()) return refuse(id, ErrorCode::kEnhanceYourCalm);
  streams_.reserve();
  Stream* stream = handler_.new_stream();
  if (!stream) return refuse(id, ErrorCode::kRefusedStream);
  stream->id_ = id;
  stream->receive_ = ReceiveWindow(stream_window_);
  sender_.start(*stream);
  streams_.insert(*stream);
  current_ = stream;
  return on_first_block(*stream, std::move(head), variable, end_stream);
}

bool Session::on_first_block(Stream& stream, HeadRef head, std::string_view variable, bool end_stream) {
  stream.head_received_ = true;
  stream.head_ = head;
  stream.content_left_ = head.get()->content_length();
  handler_.on_headers(stream, *head.get(), variable);
  if (end_stream && current_) remote_end(*current_);
  return !failed_;
}

// Client.
bool Session::on_response_block(Stream& stream, std::string_view block, bool end_stream) {
  std::string_view variable;
  HeadRef head = read_head(BlockKind::kResponse, block, variable);
  if (failed_) return false;
  if (!head) {
    // An informational response is one that another follows; 101 and one that ends the stream are errors.
    HeadSummary summary = check_fields(BlockKind::kResponse, scratch_.fields.fields());
    const bool informational = !summary.malformed && summary.status < 200 && summary.status != 101 && !end_stream;
    return informational ? spend_control_frame() : stream_error(stream, ErrorCode::kProtocolError);
  }
  return on_first_block(stream, std::move(head), variable, end_stream);
}

bool Session::on_trailers(Stream& stream, std::string_view block, bool end_stream) {
  if (!decode(block, nullptr)) return false;
  if (stream.remote_closed_) return stream_error(stream, ErrorCode::kStreamClosed);
  const FieldList& fields = scratch_.fields;
  if (!end_stream || check_fields(BlockKind::kTrailers, fields.fields()).malformed) {
    return stream_error(stream, ErrorCode::kProtocolError);
  }
  if (fields.too_large()) return stream_error(stream, ErrorCode::kEnhanceYourCalm);
  handler_.on_trailers(stream, fields.fields());
  if (current_) remote_end(*current_);
  return !failed_;
}

// The block is decoded all the same: both sides' tables must go on alike.
bool Session::on_block_of_ended(uint32_t id, std::string_view block) {
  const Ended* end = ended(id);
  if (!end && id <= last_served_stream_) {
    return connection_error(ErrorCode::kProtocolError, "HEADERS of a stream that was passed over or ended long ago");
  }
  if (!decode(block, nullptr)) return false;
  if (end && !end->by_us) return connection_error(ErrorCode::kStreamClosed, "HEADERS of a closed stream");
  return spend_control_frame();
}

bool Session::remote_end(Stream& stream) {
  if (stream.content_left_ > 0) return stream_error(stream, ErrorCode::kProtocolError);
  stream.remote_closed_ = true;
  handler_.on_end(stream);
  if (current_ && current_->local_closed_) close(*current_, ErrorCode::kNoError, false);
  return !failed_;
}

// ---- Control frames.

bool Session::on_rst_stream(const FrameHeader& header, const char* payload) {
  if (header.length != 4) return connection_error(ErrorCode::kFrameSizeError, "a malformed RST_STREAM");
  if (header.stream == 0 || is_idle(header.stream)) {
    return connection_error(ErrorCode::kProtocolError, "RST_STREAM of an idle stream");
  }
  if (Stream* stream = streams_.find(header.stream)) {
    auto code = static_cast<ErrorCode>(get_u32(payload));
    const bool whole = stream->remote_closed_ && code == ErrorCode::kNoError;  // it wants no more of our body
    close(*stream, whole || code != ErrorCode::kNoError ? code : ErrorCode::kCancel, false);
  }
  return !failed_ && spend_reset();
}

bool Session::on_settings(const FrameHeader& header, const char* payload) {
  if (header.stream != 0) return connection_error(ErrorCode::kProtocolError, "SETTINGS of a stream");
  if (header.has(kFlagAck)) {
    if (header.length != 0) return connection_error(ErrorCode::kFrameSizeError, "a malformed SETTINGS");
    if (settings_unanswered_ == 0) return connection_error(ErrorCode::kProtocolError, "SETTINGS answered twice");
    --settings_unanswered_;
    return spend_control_frame();
  }
  if (header.length % kSettingBytes != 0) return connection_error(ErrorCode::kFrameSizeError, "a malformed SETTINGS");
  settings_received_ = true;
  uint32_t initial_window = sender_.initial_window();
  for (uint32_t at = 0; at < header.length; at += kSettingBytes) {
    const auto setting = static_cast<Setting>(get_u16(payload + at));
    const uint32_t value = get_u32(payload + at + 2);
    if (!apply_setting(setting, value)) return false;
    if (setting == Setting::kInitialWindowSize) initial_window = value;
  }
  if (initial_window != sender_.initial_window() && !apply_initial_window(initial_window)) return false;
  outbox_.settings_ack();
  return spend_control_frame();
}

bool Session::apply_setting(Setting setting, uint32_t value) {
  switch (setting) {
    case Setting::kHeaderTableSize:
      sender_.set_header_table(value);
      return true;
    case Setting::kEnablePush:
      if (value > (server() ? 1u : 0u)) return connection_error(ErrorCode::kProtocolError, "a malformed ENABLE_PUSH");
      return true;
    case Setting::kMaxConcurrentStreams:
      peer_max_streams_ = value;
      return true;
    case Setting::kInitialWindowSize:  // applied once a frame: apply_initial_window
      return value <= kMaxWindow || connection_error(ErrorCode::kFlowControlError, "an initial window above 2^31 - 1");
    case Setting::kMaxFrameSize:
      if (value < kDefaultFrameSize || value > kLargestFrameSize) {
        return connection_error(ErrorCode::kProtocolError, "a maximum frame size that is out of range");
      }
      sender_.set_max_frame_size(value);
      return true;
    case Setting::kMaxHeaderListSize:
      peer_max_header_list_ = std::min(value, kLargestSentHeaders);
      return true;
    case Setting::kNoRfc7540Priorities:
      return value <= 1 || connection_error(ErrorCode::kProtocolError, "a malformed NO_RFC7540_PRIORITIES");
  }
  return true;  // unknown settings are ignored
}

// Costs time for every open stream, and tokens accordingly.
bool Session::apply_initial_window(uint32_t value) {
  constexpr size_t kStreamsAToken = 64;
  const int64_t change = int64_t{value} - sender_.initial_window();
  sender_.set_initial_window(value);
  bool fits = true;
  streams_.each([&](Stream& stream) { fits = sender_.add_window(stream, change) && fits; });
  if (!fits) return connection_error(ErrorCode::kFlowControlError, "a window above 2^31 - 1");
  return spend_control_frame(static_cast<uint32_t>(streams_.count() / kStreamsAToken));
}

bool Session::on_ping(const FrameHeader& header, const char* payload) {
  if (header.stream != 0) return connection_error(ErrorCode::kProtocolError, "PING of a stream");
  if (header.length != kPingBytes) return connection_error(ErrorCode::kFrameSizeError, "a malformed PING");
  const std::string_view opaque(payload, kPingBytes);
  if (!header.has(kFlagAck)) {
    if (server() && !pings_.take(*now_ns_, sender_.sent() + outbox_.window_updates(), streams_.count() > 0)) {
      return connection_error(ErrorCode::kEnhanceYourCalm, "too_many_pings");  // gRPC clients know this text
    }
    outbox_.ping(opaque, true);
  } else if (opaque == kOwnersPing) {
    handler_.on_ping_answered();
  } else if (opaque == kBandwidthPing && bandwidth_.answered()) {
    stream_window_ = bandwidth_.window();
    outbox_.settings({{Setting::kInitialWindowSize, stream_window_}});
    ++settings_unanswered_;
    streams_.each([&](Stream& stream) { stream.receive_.resized_by_setting(stream_window_); });
    const uint64_t connection = std::min<uint64_t>(options_.max_connection_window, 4 * uint64_t{stream_window_});
    if (uint32_t increment = receive_.resize(static_cast<uint32_t>(connection))) outbox_.window_update(0, increment);
  }
  return spend_control_frame();
}

bool Session::on_goaway(const FrameHeader& header, const char* payload) {
  if (header.stream != 0) return connection_error(ErrorCode::kProtocolError, "GOAWAY of a stream");
  if (header.length < kGoawayBytes) return connection_error(ErrorCode::kFrameSizeError, "a malformed GOAWAY");
  peer_goaway_ = true;
  handler_.on_goaway(get_u31(payload), static_cast<ErrorCode>(get_u32(payload + 4)));
  return !failed_ && spend_control_frame();
}

bool Session::on_window_update(const FrameHeader& header, const char* payload) {
  if (header.length != 4) return connection_error(ErrorCode::kFrameSizeError, "a malformed WINDOW_UPDATE");
  const uint32_t increment = get_u31(payload);
  // What was sent to the peer pays for them (for its stream's window and the connection's), as does each call.
  if (window_updates_ < 2 * sender_.data_frames() + produced_ / kBytesAWindowUpdate + last_peer_stream_) {
    ++window_updates_;
  } else if (!spend_control_frame()) {
    return false;
  }
  if (header.stream == 0) {
    if (increment == 0) return connection_error(ErrorCode::kProtocolError, "a WINDOW_UPDATE of 0");
    return sender_.add_window(increment) || connection_error(ErrorCode::kFlowControlError, "a window above 2^31 - 1");
  }
  Stream* stream = streams_.find(header.stream);
  if (!stream) {
    if (is_idle(header.stream)) return connection_error(ErrorCode::kProtocolError, "WINDOW_UPDATE of an idle stream");
    return true;
  }
  if (increment == 0) return stream_error(*stream, ErrorCode::kProtocolError);
  return sender_.add_window(*stream, increment) || stream_error(*stream, ErrorCode::kFlowControlError);
}

// ---- Windows.

void Session::follow_bandwidth(uint32_t bytes) {
  if (bandwidth_.receive(bytes)) outbox_.ping(kBandwidthPing, false);
}

void Session::consume_stream(Stream& stream, uint32_t bytes) {
  if (stream.remote_closed_) return;
  if (uint32_t increment = stream.receive_.consume(bytes)) outbox_.window_update(stream.id_, increment);
}

void Session::consume_connection(uint64_t bytes) {
  if (uint32_t increment = receive_.consume(static_cast<uint32_t>(bytes))) outbox_.window_update(0, increment);
}

// ---- The owner's side.

bool Session::open(Stream& stream) {
  if (failed_ || goaway_sent_ || peer_goaway_ || next_stream_ > kMaxStreamId) return false;
  if (streams_.count() >= peer_max_streams_) return false;
  stream.id_ = next_stream_;
  next_stream_ += 2;
  stream.receive_ = ReceiveWindow(stream_window_);
  sender_.start(stream);
  streams_.insert(stream);
  return true;
}

void Session::on_local_end(Stream& stream) {
  if (stream.remote_closed_) return close(stream, ErrorCode::kNoError, false);
  if (!server()) return;
  // The reply ends before the request does: the client should stop sending (RFC 9113, 8.1).
  outbox_.rst_stream(stream.id_, ErrorCode::kNoError);
  close(stream, ErrorCode::kNoError, true);
}

void Session::allow_data_frames(uint32_t size) {
  if (size <= max_data_frame_ || failed_) return;
  max_data_frame_ = size;
  outbox_.settings({{Setting::kMaxFrameSize, size}});
  ++settings_unanswered_;
}

void Session::ping() { outbox_.ping(kOwnersPing, false); }

void Session::shutdown_notice() { outbox_.goaway(kMaxStreamId, ErrorCode::kNoError); }

void Session::goaway(ErrorCode code) {
  if (goaway_sent_ || failed_) return;
  goaway_sent_ = true;
  outbox_.goaway(last_served_stream_, code);
}

size_t Session::memory() const {
  size_t bytes =
      reader_.held() + decoder_.memory() + outbox_.memory() + sender_.memory() + streams_.memory() + heads_->held();
  if (cache_) bytes += cache_->memory();
  if (block_) bytes += sizeof(PendingBlock) + block_->bytes.capacity();
  return bytes;
}

void Session::shrink() { cache_.reset(); }

}  // namespace drover::engine::http2
