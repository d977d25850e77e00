// One end of a connection for tests: a Session whose handler writes down what happens, and sends what the test says.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/http2/session.h"

namespace drover::engine::http2 {

using TestFields = std::vector<std::pair<std::string, std::string>>;

struct TestHead final : Head {
  TestHead(const HeadSummary& summary, const std::vector<Field>& fields_in, bool too_large_in)
      : Head(summary.content_length), too_large(too_large_in) {
    for (const Field& field : fields_in) fields.emplace_back(field.name, field.value);
  }
  size_t memory() const override {
    size_t bytes = sizeof(*this);
    for (const auto& [name, value] : fields) bytes += name.size() + value.size();
    return bytes;
  }
  TestFields fields;
  bool too_large;
};

struct TestStream final : Stream {
  TestFields headers;  // to send
  TestFields trailers;
  std::string body;
  Piece piece;
};

class Endpoint final : public SessionHandler {
 public:
  explicit Endpoint(SessionOptions options_in = {}) : options(options_in), scratch(options) {
    session = std::make_unique<Session>(options, scratch, *this, &now);
  }

  // Moves all that this end can send to `other`, in pieces of `step` bytes. True if there was something.
  bool send_to(Endpoint& other, size_t step = SIZE_MAX) {
    std::string bytes = take();
    for (std::string_view rest = bytes; !rest.empty();) {
      std::string piece(rest.substr(0, step));  // gone after each step
      rest.remove_prefix(piece.size());
      other.session->receive(piece.data(), piece.size());
    }
    return !bytes.empty();
  }
  std::string take() {
    std::string bytes;
    bool all;
    do {
      batch.clear();
      all = session->produce(batch);
      for (const iovec& part : batch.parts()) bytes.append(static_cast<char*>(part.iov_base), part.iov_len);
    } while (!all);
    return bytes;
  }
  static void pump(Endpoint& a, Endpoint& b, size_t step = SIZE_MAX) {
    while (true) {
      const bool there = a.send_to(b, step);
      const bool back = b.send_to(a, step);
      if (!there && !back) return;
    }
  }

  // Client.
  TestStream* request(TestFields headers, std::string body, TestFields trailers = {}) {
    auto* stream = new TestStream();
    stream->headers = std::move(headers);
    if (!session->open(*stream)) {
      delete stream;
      return nullptr;
    }
    streams[stream->id()].reset(stream);
    send(*stream, std::move(body), std::move(trailers));
    return stream;
  }
  // Headers, the body if there is one, the end.
  void send(TestStream& stream, std::string body, TestFields trailers) {
    stream.body = std::move(body);
    stream.trailers = std::move(trailers);
    stream.piece = {stream.body.data(), stream.body.size()};
    session->send_headers(stream);
    if (!stream.body.empty()) session->send_body(stream, {}, {&stream.piece, 1}, stream.body.size());
    session->end(stream, !stream.trailers.empty());
  }
  void respond(uint32_t id, TestFields headers, std::string body, TestFields trailers) {
    TestStream& stream = *streams.at(id);
    stream.headers = std::move(headers);
    send(stream, std::move(body), std::move(trailers));
  }

  Stream* new_stream() override { return refuse_streams ? nullptr : (fresh = std::make_unique<TestStream>()).get(); }
  bool on_decoded(size_t) override { return true; }
  Head* make_head(const HeadSummary& summary, const std::vector<Field>& fields, bool too_large) override {
    ++heads_made;
    return new TestHead(summary, fields, too_large);
  }
  void on_headers(Stream& stream, Head& head, std::string_view variable) override {
    if (fresh) streams[stream.id()] = std::move(fresh);
    auto& test_head = static_cast<TestHead&>(head);
    received[stream.id()].headers = test_head.fields;
    received[stream.id()].too_large = test_head.too_large;
    received[stream.id()].variable = variable;
    note(stream, "headers");
    if (reset_on_headers) session->reset(stream, ErrorCode::kCancel);
  }
  void on_trailers(Stream& stream, const std::vector<Field>& fields) override {
    for (const Field& field : fields) received[stream.id()].trailers.emplace_back(field.name, field.value);
  }
  void on_data(Stream& stream, const char* bytes, size_t size) override {
    uint32_t id = stream.id();
    received[id].body.append(bytes, size);
    if (hold) return;
    session->consume_stream(stream, static_cast<uint32_t>(size));
    session->consume_connection(size);
    if (reset_on_data) session->reset(stream, ErrorCode::kCancel);
  }
  void on_end(Stream& stream) override {
    received[stream.id()].ended = true;
    note(stream, "end");
    if (!echo) return;
    auto& mine = static_cast<TestStream&>(stream);
    mine.headers = {{":status", "200"}, {"x-echo", "yes"}};
    send(mine, received[stream.id()].body, {{"x-end", "yes"}});
  }
  void on_closed(Stream& stream, ErrorCode code) override {
    note(stream, "closed " + error_name(code));
    received[stream.id()].closed = true;
    received[stream.id()].code = code;
    closed.push_back(std::move(streams[stream.id()]));
    streams.erase(stream.id());
  }
  void on_body_sent(Stream& stream) override { note(stream, "body sent"); }
  void write_headers(Stream& stream, FieldWriter& out) override {
    for (const auto& [name, value] : static_cast<TestStream&>(stream).headers) out.field(name, value, Indexing::kAdd);
  }
  void write_trailers(Stream& stream, FieldWriter& out) override {
    for (const auto& [name, value] : static_cast<TestStream&>(stream).trailers) out.field(name, value);
  }
  void on_ping_answered() override { ++pings_answered; }
  void on_goaway(uint32_t last_stream, ErrorCode code) override { goaways.emplace_back(last_stream, code); }
  void on_failed(ErrorCode code, std::string_view why) override {
    failure = code;
    failure_text = why;
  }

  struct Received {
    TestFields headers;
    TestFields trailers;
    std::string variable;
    std::string body;
    bool too_large = false;  // fields are missing
    bool ended = false;
    bool closed = false;
    ErrorCode code = ErrorCode::kNoError;
  };

  int64_t now = 1'000'000'000;
  SessionOptions options;
  SessionScratch scratch;
  SendBatch batch;
  std::map<uint32_t, std::unique_ptr<TestStream>> streams;
  std::vector<std::unique_ptr<TestStream>> closed;  // their bodies may be on their way
  std::unique_ptr<TestStream> fresh;
  std::map<uint32_t, Received> received;
  std::vector<std::string> events;  // "1 headers", "1 end", "1 closed NO_ERROR"
  std::vector<std::pair<uint32_t, ErrorCode>> goaways;
  ErrorCode failure = ErrorCode::kNoError;
  std::string failure_text;
  int heads_made = 0;
  int pings_answered = 0;
  bool echo = false;
  bool hold = false;  // received bytes are not given back
  bool refuse_streams = false;
  bool reset_on_headers = false;
  bool reset_on_data = false;
  std::unique_ptr<Session> session;

 private:
  void note(const Stream& stream, const std::string& what) {
    events.push_back(std::to_string(stream.id()) + " " + what);
  }
};

// A frame as bytes.
inline std::string frame(FrameType type, uint8_t flags, uint32_t stream, std::string_view payload) {
  char header[kFrameHeaderBytes];
  FrameHeader{static_cast<uint32_t>(payload.size()), type, flags, stream}.write(header);
  return std::string(header, sizeof(header)).append(payload);
}
inline std::string client_start() { return std::string(kPreface) + frame(FrameType::kSettings, 0, 0, ""); }

// A request's header block of static fields and a literal: POST, http, "/", authority "h".
inline constexpr std::string_view kRequestBlock = "\x83\x86\x84\x01\x01h";

}  // namespace drover::engine::http2
