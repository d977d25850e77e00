// What a session says to the protocol above it (gRPC), and asks of it. All calls come from within receive(), produce()
// or reset(), on one thread; the handler may call back into the session from any of them but the write_ ones.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "engine/http2/header_rules.h"
#include "engine/http2/hpack_encoder.h"
#include "engine/http2/stream.h"

namespace drover::engine::http2 {

// Where a handler writes the fields of one block.
class FieldWriter {
 public:
  FieldWriter(HpackEncoder& encoder, std::string& out) : encoder_(encoder), out_(out) { encoder_.begin(out_); }
  // `name` is lower case and legal, `value` legal; pseudo-header fields first.
  void field(std::string_view name, std::string_view value, Indexing indexing = Indexing::kPlain) {
    encoder_.field(name, value, indexing, out_);
  }
  // A whole field of the static table, such as kStaticStatus200.
  void constant(uint8_t index) { HpackEncoder::constant(index, out_); }
  // See HpackEncoder::usual.
  void usual(size_t number, const Field& usual_field) { encoder_.usual(number, usual_field, out_); }

 private:
  HpackEncoder& encoder_;
  std::string& out_;
};

class SessionHandler {
 public:
  // Server: the peer opens a stream. Null: there is no room; the stream is refused.
  virtual Stream* new_stream() = 0;
  // The meaning of a first header block. Called once for a block that the peer repeats. `fields` are valid during the
  // call; fields past the size limit were dropped (`too_large`).
  virtual Head* make_head(const HeadSummary& summary, const std::vector<Field>& fields, bool too_large) = 0;

  // The stream's first block, with the head made for it and the value of SessionOptions::variable_field ("" if absent;
  // valid during the call).
  virtual void on_headers(Stream& stream, Head& head, std::string_view variable) = 0;
  // Its last one. (Informational responses are dropped.)
  virtual void on_trailers(Stream& stream, const std::vector<Field>& fields) = 0;
  // Some of its body, valid until receive() returns. Each byte must be given back once, to its stream and to the
  // connection (Session::consume_stream, consume_connection), or to the connection alone.
  virtual void on_data(Stream& stream, const char* bytes, size_t size) = 0;
  // The peer has ended its side.
  virtual void on_end(Stream& stream) = 0;
  // The stream is over, and the session has forgotten it. Not kNoError: it was reset, by either side. What was
  // produced of it, by reference, may still be on its way to the kernel.
  virtual void on_closed(Stream& stream, ErrorCode code) = 0;

  // All of a body has been produced that is not the stream's last one: another may follow (Session::send_body).
  virtual void on_body_sent(Stream& stream) = 0;

  // Fields together larger than Session::max_send_header_bytes() would not reach the peer: do not send such blocks.
  virtual void write_headers(Stream& stream, FieldWriter& out) = 0;
  virtual void write_trailers(Stream& stream, FieldWriter& out) = 0;

  // A header block was decoded: `bytes` of fields, as SETTINGS_MAX_HEADER_LIST_SIZE counts. False: the peer asks for
  // more of it than it may; the connection ends.
  virtual bool on_decoded(size_t bytes) = 0;
  virtual void on_ping_answered() = 0;  // of Session::ping
  virtual void on_goaway(uint32_t last_stream, ErrorCode code) = 0;
  // The connection is broken, or breaks a rule; nothing more is read. A GOAWAY is queued.
  virtual void on_failed(ErrorCode code, std::string_view why) = 0;

 protected:
  ~SessionHandler() = default;
};

}  // namespace drover::engine::http2
