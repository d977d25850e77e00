#include "engine/http2/sender.h"

#include <algorithm>

#include "engine/http2/outbox.h"

namespace drover::engine::http2 {

void Sender::enqueue(Stream& stream, Stream::Output list) {
  if (stream.output_ == list) return;
  unlink(stream);
  stream.output_ = list;
  if (list == Stream::Output::kReady) ready_.push(stream);
  if (list == Stream::Output::kWaiting) waiting_.push(stream);
}

void Sender::unlink(Stream& stream) {
  if (stream.output_ == Stream::Output::kReady) ready_.remove(stream);
  if (stream.output_ == Stream::Output::kWaiting) waiting_.remove(stream);
  stream.output_ = Stream::Output::kNone;
}

void Sender::List::push(Stream& stream) {
  stream.next_ = nullptr;
  stream.previous_ = last;
  (last ? last->next_ : first) = &stream;
  last = &stream;
}

void Sender::List::remove(Stream& stream) {
  (stream.previous_ ? stream.previous_->next_ : first) = stream.next_;
  (stream.next_ ? stream.next_->previous_ : last) = stream.previous_;
}

void Sender::send_headers(Stream& stream) {
  if (stream.local_closed_) return;
  stream.headers_pending_ = true;
  enqueue(stream, Stream::Output::kReady);
}

void Sender::send_body(Stream& stream, std::string_view prefix, std::span<const Piece> pieces, size_t pieces_size) {
  if (stream.local_closed_) return;
  stream.body_.start(prefix.data(), prefix.size(), pieces, pieces_size);
  enqueue(stream, Stream::Output::kReady);
}

void Sender::end(Stream& stream, bool with_trailers) {
  if (stream.local_closed_) return;
  stream.end_pending_ = true;
  stream.trailers_pending_ = with_trailers;
  enqueue(stream, Stream::Output::kReady);
}

void Sender::drop(Stream& stream) {
  unlink(stream);
  stream.headers_pending_ = stream.end_pending_ = stream.trailers_pending_ = false;
  stream.body_.drop();
  stream.local_closed_ = true;
}

bool Sender::add_window(Stream& stream, int64_t bytes) {
  if (!stream.send_.grow(bytes)) return false;
  if (stream.output_ == Stream::Output::kBlocked && stream.send_.bytes() > 0) enqueue(stream, Stream::Output::kReady);
  return true;
}

bool Sender::produce(SendBatch& batch, uint64_t offset) {
  while (true) {
    // Those that wait for the connection's window have waited longest.
    Stream* stream = window_.bytes() > 0 && waiting_.first ? waiting_.first : ready_.first;
    if (!stream) return true;
    if (!batch.has_room()) return false;
    produce_turn(*stream, batch, offset);
  }
}

// One turn, after which the stream is where it belongs: at the end of a list, or in none.
void Sender::produce_turn(Stream& stream, SendBatch& batch, uint64_t offset) {
  if (stream.headers_pending_) {
    stream.headers_pending_ = false;
    stream.headers_sent_ = true;
    const bool all = stream.body_.left() == 0 && stream.end_pending_ && !stream.trailers_pending_;
    produce_block(stream, false, all, batch, offset);
    if (all) return finish(stream);
  }
  if (size_t left = stream.body_.left()) {
    if (window_.bytes() <= 0) return enqueue(stream, Stream::Output::kWaiting);
    if (stream.send_.bytes() <= 0) return enqueue(stream, Stream::Output::kBlocked);
    auto window = static_cast<size_t>(std::min(window_.bytes(), stream.send_.bytes()));
    size_t size = std::min({left, window, static_cast<size_t>(max_frame_size_), kTurnBytes});
    const bool all = size == left && stream.end_pending_ && !stream.trailers_pending_;
    produce_data(stream, size, all, batch, offset);
    if (all) return finish(stream);
    if (size < left) {
      unlink(stream);
      return enqueue(stream, Stream::Output::kReady);
    }
    if (!stream.end_pending_) {
      unlink(stream);
      return handler_.on_body_sent(stream);
    }
  }
  if (!stream.end_pending_) return unlink(stream);
  if (stream.trailers_pending_) {
    produce_block(stream, true, true, batch, offset);
  } else {
    produce_data(stream, 0, true, batch, offset);
  }
  finish(stream);
}

void Sender::finish(Stream& stream) {
  drop(stream);
  owner_.on_local_end(stream);
}

void Sender::produce_data(Stream& stream, size_t size, bool end_stream, SendBatch& batch, uint64_t offset) {
  char header[kFrameHeaderBytes];
  const uint8_t flags = end_stream ? kFlagEndStream : 0;
  ++data_frames_;
  FrameHeader{static_cast<uint32_t>(size), FrameType::kData, flags, stream.id_}.write(header);
  batch.append_copy(header, sizeof(header));
  window_.spend(static_cast<int64_t>(size));
  stream.send_.spend(static_cast<int64_t>(size));
  stream.body_.take(size, [&](const char* bytes, size_t count) {
    if (count < SendBatch::kCopyBelow) {
      batch.append_copy(bytes, count);
    } else {
      batch.append_reference(bytes, count);
    }
  });
  stream.produced_until_ = offset + batch.bytes();
}

void Sender::produce_block(Stream& stream, bool trailers, bool end_stream, SendBatch& batch, uint64_t offset) {
  ++blocks_;
  scratch_.clear();
  FieldWriter writer(encoder_, scratch_);
  if (trailers) {
    handler_.write_trailers(stream, writer);
  } else {
    handler_.write_headers(stream, writer);
  }
  write_header_frames(stream.id_, scratch_, end_stream, max_frame_size_, batch);
  stream.produced_until_ = offset + batch.bytes();
}

}  // namespace drover::engine::http2
