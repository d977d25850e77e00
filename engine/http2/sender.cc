#include "engine/http2/sender.h"

#include <algorithm>

#include "engine/http2/outbox.h"

namespace drover::engine::http2 {

namespace {

constexpr size_t kCopyBelow = SendBatch::kCopyBelow;

}  // namespace

void Sender::make_ready(Stream& stream) {
  if (stream.output_ == Stream::Output::kReady) return;
  stream.output_ = Stream::Output::kReady;
  stream.next_ready_ = nullptr;
  stream.previous_ready_ = last_;
  (last_ ? last_->next_ready_ : first_) = &stream;
  last_ = &stream;
}

void Sender::unlink(Stream& stream) {
  if (stream.output_ == Stream::Output::kReady) {
    (stream.previous_ready_ ? stream.previous_ready_->next_ready_ : first_) = stream.next_ready_;
    (stream.next_ready_ ? stream.next_ready_->previous_ready_ : last_) = stream.previous_ready_;
  }
  stream.output_ = Stream::Output::kNone;
}

void Sender::block(Stream& stream) {
  unlink(stream);
  stream.output_ = Stream::Output::kBlocked;
}

void Sender::send_headers(Stream& stream) {
  if (stream.local_closed_) return;
  stream.headers_pending_ = true;
  make_ready(stream);
}

void Sender::send_body(Stream& stream, std::string_view prefix, std::span<const Piece> pieces, size_t pieces_size) {
  if (stream.local_closed_) return;
  stream.body_.start(prefix.data(), prefix.size(), pieces, pieces_size);
  make_ready(stream);
}

void Sender::end(Stream& stream, bool with_trailers) {
  if (stream.local_closed_) return;
  stream.end_pending_ = true;
  stream.trailers_pending_ = with_trailers;
  make_ready(stream);
}

void Sender::drop(Stream& stream) {
  unlink(stream);
  if (waiting_ == &stream) waiting_ = nullptr;
  stream.headers_pending_ = stream.end_pending_ = stream.trailers_pending_ = false;
  stream.body_.drop();
  stream.local_closed_ = true;
}

bool Sender::add_window(Stream& stream, int64_t bytes) {
  if (!stream.send_.grow(bytes)) return false;
  if (stream.output_ == Stream::Output::kBlocked && stream.send_.bytes() > 0) make_ready(stream);
  return true;
}

bool Sender::wants_write() const {
  if (window_.bytes() > 0) return first_ != nullptr;
  for (const Stream* stream = first_; stream; stream = stream->next_ready_) {
    if (stream->headers_pending_ || stream->body_.left() == 0) return true;
  }
  return false;
}

bool Sender::produce(SendBatch& batch) {
  waiting_ = nullptr;  // once it is first again, all others have had their turn
  while (first_ && first_ != waiting_) {
    if (!batch.has_room()) return false;
    Stream& stream = *first_;
    if (produce_turn(stream, batch)) continue;
    if (!waiting_) waiting_ = &stream;
    unlink(stream);  // to the end of the list
    make_ready(stream);
  }
  return true;
}

// One turn. False: what is left waits for the connection's window. Otherwise the stream has gone to its place: out of
// the list, or to its end.
bool Sender::produce_turn(Stream& stream, SendBatch& batch) {
  if (stream.headers_pending_) {
    stream.headers_pending_ = false;
    stream.headers_sent_ = true;
    const bool only = stream.body_.left() == 0 && stream.end_pending_ && !stream.trailers_pending_;
    produce_block(stream, false, only, batch);
    if (only) {
      drop(stream);
      owner_.on_local_end(stream);
      return true;
    }
  }
  while (size_t left = stream.body_.left()) {
    if (window_.bytes() <= 0) return false;
    if (stream.send_.bytes() <= 0) {
      block(stream);
      return true;
    }
    auto window = static_cast<size_t>(std::min(window_.bytes(), stream.send_.bytes()));
    size_t size = std::min({left, window, static_cast<size_t>(max_frame_size_), kTurnBytes});
    const bool last = size == left && stream.end_pending_ && !stream.trailers_pending_;
    produce_data(stream, size, last, batch);
    if (last) {
      drop(stream);
      owner_.on_local_end(stream);
      return true;
    }
    if (size < left) {
      unlink(stream);
      make_ready(stream);
      return true;
    }
  }
  if (!stream.end_pending_) {
    unlink(stream);
    return true;
  }
  if (stream.trailers_pending_) {
    produce_block(stream, true, true, batch);
  } else {
    produce_data(stream, 0, true, batch);
  }
  drop(stream);
  owner_.on_local_end(stream);
  return true;
}

void Sender::produce_data(Stream& stream, size_t size, bool end_stream, SendBatch& batch) {
  char header[kFrameHeaderBytes];
  const uint8_t flags = end_stream ? kFlagEndStream : 0;
  FrameHeader{static_cast<uint32_t>(size), FrameType::kData, flags, stream.id_}.write(header);
  batch.append_copy(header, sizeof(header));
  window_.spend(static_cast<int64_t>(size));
  stream.send_.spend(static_cast<int64_t>(size));
  stream.body_.take(size, [&](const char* bytes, size_t count) {
    if (count < kCopyBelow) {
      batch.append_copy(bytes, count);
    } else {
      batch.append_reference(bytes, count);
    }
  });
}

void Sender::produce_block(Stream& stream, bool trailers, bool end_stream, SendBatch& batch) {
  scratch_.clear();
  FieldWriter writer(encoder_, scratch_);
  if (trailers) {
    handler_.write_trailers(stream, writer);
  } else {
    handler_.write_headers(stream, writer);
  }
  write_header_frames(stream.id_, scratch_, end_stream, max_frame_size_, batch);
}

}  // namespace drover::engine::http2
