// A server session beside a model: RapidCheck generates what a client sends, valid or not, and what the application
// answers; the model says, frame by frame, what must come of it. Then the same bytes go in again, cut at other places,
// and the outcome must be the same.
//
//   steps --resolved by the model--> frames --> Session --> events, frames sent
//                   |                                             |
//                 Model ---------- expected events, frames -------+--> equal?
#include "engine/http2/session_model_testing.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace drover::engine::http2 {
namespace {

constexpr uint32_t kSmallWindow = 100;

// One in `n`.
rc::Gen<bool> one_in(size_t n) { return rc::gen::weightedElement<bool>({{n - 1, false}, {1, true}}); }

// Most of them are what a client does that keeps to the rules, so that sequences last.
rc::Gen<Step> any_step() {
  auto which = rc::gen::weightedElement<Which>({{1, Which::kZero},
                                                {1, Which::kEven},
                                                {200, Which::kNext},
                                                {20, Which::kOver},
                                                {1000, Which::kOpen},
                                                {60, Which::kClosed},
                                                {6, Which::kPassedOver},
                                                {1, Which::kIdle}});
  auto does = rc::gen::weightedElement<Does>({{180, Does::kHeaders},
                                              {1, Does::kContinuation},
                                              {160, Does::kData},
                                              {30, Does::kReset},
                                              {30, Does::kSettings},
                                              {20, Does::kPing},
                                              {60, Does::kWindowUpdate},
                                              {3, Does::kGoaway},
                                              {30, Does::kPriority},
                                              {1, Does::kPushPromise},
                                              {12, Does::kUnknown},
                                              {80, Does::kAnswer}});
  auto block = rc::gen::weightedElement<Block>({{80, Block::kRequest},
                                                {40, Block::kWithLength},
                                                {20, Block::kAddsToTable},
                                                {5, Block::kFromTable},
                                                {60, Block::kTrailers},
                                                {10, Block::kUpperCase},
                                                {1, Block::kUndecodable}});
  auto number = rc::gen::weightedOneOf<uint32_t>(
      {{40, rc::gen::inRange<uint32_t>(1, 500)},
       {1, rc::gen::elementOf(std::vector<uint32_t>{0, kMaxWindow, kMaxWindow - 1000})}});
  auto size = rc::gen::weightedOneOf<uint32_t>(
      {{20, rc::gen::inRange<uint32_t>(0, 40)},
       {3, rc::gen::elementOf(std::vector<uint32_t>{kSmallWindow, kDefaultFrameSize})}});
  return rc::gen::build<Step>(
      rc::gen::set(&Step::does, does), rc::gen::set(&Step::which, which),
      rc::gen::set(&Step::choice, rc::gen::inRange<uint8_t>(0, 8)), rc::gen::set(&Step::block, block),
      rc::gen::set(&Step::end_stream, one_in(3)),
      rc::gen::set(&Step::finished, rc::gen::map(one_in(300), [](bool rare) { return !rare; })),
      rc::gen::set(&Step::pieces, rc::gen::inRange<uint8_t>(1, 4)), rc::gen::set(&Step::number, number),
      rc::gen::set(&Step::size, size),
      rc::gen::set(&Step::padding, rc::gen::weightedOneOf<uint8_t>(
                                       {{3, rc::gen::just<uint8_t>(0)}, {1, rc::gen::inRange<uint8_t>(0, 20)}})),
      rc::gen::set(&Step::wrong_size, one_in(300)), rc::gen::set(&Step::ack, one_in(12)));
}

// ---- Steps to frames.

struct SentFrame {
  FrameType type;
  uint8_t flags;
  uint32_t stream;
  std::string payload;

  std::string bytes() const { return frame(type, flags, stream, payload); }
};

std::string u32(uint32_t value) {
  std::string bytes(4, '\0');
  put_u32(bytes.data(), value);
  return bytes;
}

std::vector<SentFrame> header_frames(const Step& step, uint32_t id) {
  const auto first_flags =
      static_cast<uint8_t>((step.end_stream ? kFlagEndStream : 0) |
                           (step.padding > 0 || step.wrong_size ? kFlagPadded : 0) | (step.ack ? kFlagPriority : 0));
  if (step.wrong_size) return {{FrameType::kHeaders, first_flags, id, ""}};
  const std::string block = bytes_of(step.block);
  std::vector<SentFrame> frames;
  for (size_t i = 0; i < step.pieces; ++i) {
    const size_t begin = block.size() * i / step.pieces, end = block.size() * (i + 1) / step.pieces;
    frames.push_back({FrameType::kContinuation, 0, id, block.substr(begin, end - begin)});
  }
  SentFrame& first = frames.front();
  first.type = FrameType::kHeaders;
  first.flags = first_flags;
  if (step.ack) first.payload.insert(0, u32(id) + 'w');
  if (step.padding > 0) first.payload.insert(0, 1, static_cast<char>(step.padding)).append(step.padding, '\0');
  if (step.finished) frames.back().flags |= kFlagEndHeaders;
  return frames;
}

SentFrame data_frame(const Step& step, uint32_t id) {
  const uint8_t end = step.end_stream ? kFlagEndStream : 0;
  const auto padded = static_cast<uint8_t>(end | kFlagPadded);
  if (step.wrong_size && step.choice == 0) return {FrameType::kData, padded, id, ""};
  if (step.wrong_size && step.choice == 1) return {FrameType::kData, padded, id, "\x02x"};
  if (step.wrong_size) return {FrameType::kData, end, id, std::string(kDefaultFrameSize + 1, 'd')};
  if (step.padding == 0) return {FrameType::kData, end, id, std::string(step.size, 'd')};
  const std::string data(step.size - std::min<uint32_t>(step.size, step.padding + 1u), 'd');
  return {FrameType::kData, padded, id, static_cast<char>(step.padding) + data + std::string(step.padding, '\0')};
}

std::vector<SentFrame> frames_of(const Step& step, uint32_t id) {
  const std::string more(step.wrong_size ? 1 : 0, 'x');
  const uint8_t ack = step.ack ? kFlagAck : 0;
  switch (step.does) {
    case Does::kHeaders:
      return header_frames(step, id);
    case Does::kContinuation:
      return {{FrameType::kContinuation, static_cast<uint8_t>(step.finished ? kFlagEndHeaders : 0), id, ""}};
    case Does::kData:
      return {data_frame(step, id)};
    case Does::kReset:
      return {{FrameType::kRstStream, 0, id, u32(step.number % 14) + more}};
    case Does::kSettings:
      if (step.ack) return {{FrameType::kSettings, ack, 0 + id, more}};
      return {{FrameType::kSettings, 0, id, std::string("\0\4", 2) + u32(step.number) + more}};
    case Does::kPing:
      return {{FrameType::kPing, ack, id, "pingping" + more}};
    case Does::kWindowUpdate:
      return {{FrameType::kWindowUpdate, 0, id, u32(step.number) + more}};
    case Does::kGoaway:
      return {{FrameType::kGoaway, 0, id, step.wrong_size ? "short" : u32(0) + u32(0) + "why"}};
    case Does::kPriority:
      return {{FrameType::kPriority, 0, id, u32(id) + 'w' + (step.choice == 7 ? "x" : more)}};
    case Does::kPushPromise:
      return {{FrameType::kPushPromise, kFlagEndHeaders, id, u32(2) + bytes_of(step.block)}};
    case Does::kUnknown:
      return {{static_cast<FrameType>(0x20 + step.choice), ack, id, std::string(step.size % 100, 'u')}};
    case Does::kAnswer:
      break;
  }
  return {};
}

// ---- Both side by side.

SessionOptions options_of(uint32_t stream_window) {
  SessionOptions options;
  options.max_concurrent_streams = kMaxStreams;
  options.stream_window = options.max_stream_window = stream_window;
  options.connection_window = options.max_connection_window = kDefaultWindow;
  return options;
}

// What goes in between two answers of the application, and then the answer.
struct Segment {
  std::string bytes;
  uint32_t answered = 0;  // 0: the connection is over
  size_t size = 0;
};

class SideBySide {
 public:
  explicit SideBySide(uint32_t stream_window) : model_(stream_window), endpoint_(options_of(stream_window)) {
    endpoint_.hold = true;
    feed(client_start());
    endpoint_.take();
  }

  void step(const Step& step) {
    const std::optional<uint32_t> id = model_.resolve(step);
    if (!id) return;
    if (step.does == Does::kAnswer) return answer(*id, step.size);
    for (const SentFrame& sent : frames_of(step, *id)) {
      feed(sent.bytes());
      model_.receive(sent.type, sent.flags, sent.stream, sent.payload, step);
      compare();
    }
  }
  const std::vector<Segment>& segments() const { return segments_; }

 private:
  void feed(const std::string& bytes) {
    segments_.back().bytes += bytes;
    endpoint_.session->receive(bytes.data(), bytes.size());
  }
  void answer(uint32_t id, size_t size) {
    const Model::Known* stream = model_.open(id);
    if (!stream || stream->answered || model_.failed()) return;
    segments_.back().answered = id;
    segments_.back().size = size;
    segments_.emplace_back();
    endpoint_.respond(id, {{":status", "200"}}, std::string(size, 'a'), {});
    model_.answer(id, size);
    compare();
  }

  void compare() {
    Lines expected_events = model_.take_events();  // of the frame, in front of those of the answers that end
    Lines expected_frames = model_.take_frames();
    Lines frames;
    for (std::string bytes = endpoint_.take(); !bytes.empty();) {
      const FrameHeader header = FrameHeader::read(bytes.data());
      follow(header, bytes.substr(kFrameHeaderBytes, header.length), frames);
      bytes.erase(0, kFrameHeaderBytes + header.length);
    }
    for (std::string& line : model_.take_events()) expected_events.push_back(std::move(line));
    for (std::string& line : model_.take_frames()) expected_frames.push_back(std::move(line));
    const Lines events(endpoint_.events.begin() + static_cast<ptrdiff_t>(events_seen_), endpoint_.events.end());
    events_seen_ = endpoint_.events.size();
    RC_ASSERT(events == expected_events);
    RC_ASSERT(frames == expected_frames);
    RC_ASSERT(endpoint_.session->failed() == model_.failed());
    if (model_.failed()) return;
    RC_ASSERT(model_.all_sent());
    for (const auto& [id, stream] : model_.streams()) {
      if (model_.open(id)) RC_ASSERT(endpoint_.received[id].body.size() == stream.body);
    }
  }
  void follow(const FrameHeader& header, const std::string& payload, Lines& frames) {
    const bool end = header.has(kFlagEndStream);
    switch (header.type) {
      case FrameType::kHeaders:
        RC_ASSERT(model_.sent_headers(header.stream, end));
        break;
      case FrameType::kData:
        RC_ASSERT(model_.sent_data(header.stream, payload.size(), end));
        break;
      case FrameType::kWindowUpdate:
        RC_ASSERT(model_.sent_window_update(header.stream, get_u31(payload.data())));
        break;
      case FrameType::kRstStream:
        frames.push_back("RST_STREAM " + std::to_string(header.stream) + " " +
                         error_name(static_cast<ErrorCode>(get_u32(payload.data()))));
        break;
      case FrameType::kGoaway:
        frames.push_back("GOAWAY " + error_name(static_cast<ErrorCode>(get_u32(payload.data() + 4))));
        break;
      case FrameType::kSettings:
        frames.push_back("SETTINGS acknowledged");
        break;
      case FrameType::kPing:
        frames.push_back("PING acknowledged");
        break;
      default:
        RC_FAIL("a frame that a server does not send");
    }
  }

  Model model_;
  Endpoint endpoint_;
  std::vector<Segment> segments_{1};
  size_t events_seen_ = 0;
};

// All that comes of the segments if their bytes arrive in pieces; `next_piece` says how long each is.
template <typename NextPiece>
Lines outcome(uint32_t stream_window, const std::vector<Segment>& segments, NextPiece next_piece) {
  Endpoint endpoint(options_of(stream_window));
  endpoint.hold = true;
  Lines lines;
  for (const Segment& segment : segments) {
    for (std::string_view rest = segment.bytes; !rest.empty();) {
      const std::string piece(rest.substr(0, next_piece()));  // gone after each
      endpoint.session->receive(piece.data(), piece.size());
      rest.remove_prefix(piece.size());
    }
    lines.push_back(endpoint.take());
    // Less often than SideBySide, it takes what the session sends: a stream may be refused that was open there.
    if (!endpoint.streams.contains(segment.answered)) continue;
    endpoint.respond(segment.answered, {{":status", "200"}}, std::string(segment.size, 'a'), {});
    lines.push_back(endpoint.take());
  }
  lines.insert(lines.end(), endpoint.events.begin(), endpoint.events.end());
  for (const auto& [id, received] : endpoint.received) lines.push_back(received.body);
  return lines;
}

rc::Gen<uint32_t> stream_window() { return rc::gen::elementOf(std::vector<uint32_t>{kSmallWindow, kDefaultWindow}); }

TEST(SessionModel, PredictsWhatComesOfEveryFrame) {
  EXPECT_TRUE(rc::check([] {
    SideBySide both(*stream_window());
    for (const Step& step : *rc::gen::scale(4, rc::gen::container<std::vector<Step>>(any_step()))) both.step(step);
  }));
}

TEST(SessionModel, NothingDependsOnWhereBytesAreCut) {
  EXPECT_TRUE(rc::check([] {
    const uint32_t window = *stream_window();
    SideBySide both(window);
    for (const Step& step : *rc::gen::container<std::vector<Step>>(any_step())) both.step(step);
    const std::vector<Segment>& segments = both.segments();
    const Lines whole = outcome(window, segments, [] { return SIZE_MAX; });
    RC_ASSERT(outcome(window, segments, [] { return size_t{1}; }) == whole);
    const auto cuts = *rc::gen::nonEmpty(rc::gen::container<std::vector<size_t>>(rc::gen::inRange<size_t>(1, 40)));
    size_t next = 0;
    RC_ASSERT(outcome(window, segments, [&] { return cuts[next++ % cuts.size()]; }) == whole);
    // In two, at every position of the first bytes.
    const size_t positions = std::min<size_t>(segments.front().bytes.size(), 200);
    for (size_t at = 1; at < positions; ++at) {
      bool first = true;
      RC_ASSERT(outcome(window, segments, [&] { return std::exchange(first, false) ? at : SIZE_MAX; }) == whole);
    }
  }));
}

}  // namespace
}  // namespace drover::engine::http2
