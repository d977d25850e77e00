// MessageCoding: what a call has beside its CallStream once a message of it is compressed
// (engine/grpc/message_coder.h).
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "codec/encode/encode_types.h"
#include "engine/base/charged_buffer.h"
#include "engine/compress/deflater.h"
#include "engine/compress/inflater.h"

namespace drover::engine {

struct MessageCoding {
  // ---- the request
  ChargedBuffer collected;             // of a request that does not stream: the compressed message
  std::unique_ptr<Inflater> inflater;  // of the message that is being decompressed, or was
  std::string_view message;            // that waits; it may not be compressed, behind others that are
  bool request_waits = false;          // in the MessageCoder's list
  bool being_given = false;            // a message that was held, to the dispatcher

  // ---- the reply
  Compression reply_compression = Compression::kNone;
  std::unique_ptr<Deflater> deflater;  // of the message that is being compressed
  std::span<const Piece> pieces;       // of the message that waits,
  size_t size = 0;                     // and its bytes
  ChargedBuffer reply;                 // of a reply that does not stream: the message, compressed,
  Piece reply_piece{};                 // which refers to it
  bool reply_waits = false;            // in the MessageCoder's list
};

}  // namespace drover::engine
