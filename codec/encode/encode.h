// encode: an object into wire bytes, driven by a schema image.
//
// One backward pass: a sub-message is written before its length, so that each word of the object is read exactly
// once and nobody who writes to it meanwhile can make a length and its content disagree. The result is a list of
// pieces: long strings, bytes and packed fixed-size fields are referred to where they lie, everything else is
// written into buffers of the Encoded, which are reused from call to call.
//
//   pieces:   [buffer ....][string in the object][buffer ..][string in the object][buffer .........]
//
// Fields go out in ascending order of their numbers, unknown fields behind them, map entries in insertion order:
// without maps, byte for byte what protobuf C++ writes.
//
// With Bounds the object is hostile: it lies in memory that another process can write. Nothing outside the bounds is
// read, whatever the object says; depth, output and work are bounded. The bytes that come out are then a well-formed
// message, with whatever values the host put there; its unknown fields' bytes are passed on as they are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "codec/encode/encode_types.h"
#include "message/message.h"
#include "schema/message_type.h"

namespace drover {

// "out_of_bounds in field 3 of pkg.Message"
std::string to_string(const EncodeResult& result);

// Where encoded bytes are. Reuse one for many calls: in the steady state none of them allocates. The pieces are valid
// until the next call with it, and as long as the object. Thread-safety: one thread at a time.
class Encoded {
 public:
  Encoded() = default;
  Encoded(const Encoded&) = delete;
  Encoded& operator=(const Encoded&) = delete;

  std::span<const Piece> pieces() const { return {first_piece_, static_cast<size_t>(pieces_end() - first_piece_)}; }
  size_t size() const { return size_; }
  // Copies all pieces, one behind the other, to `to`, which has room for size() bytes.
  void copy_to(char* to) const;
  // Memory that is kept for the next call.
  size_t buffer_bytes() const;

 private:
  friend class BackwardSink;
  struct Block {
    std::unique_ptr<char[]> bytes;
    size_t size;
  };
  Piece* pieces_begin() const { return pieces_.get(); }
  Piece* pieces_end() const { return pieces_.get() + piece_capacity_; }
  void set_pieces(Piece* first, size_t size) {
    first_piece_ = first;
    size_ = size;
  }
  // Makes room in front of *first, which moves along. False: out of memory.
  bool more_pieces(Piece** first);

  std::vector<Block> blocks_;
  std::unique_ptr<Piece[]> pieces_;  // filled from the end
  size_t piece_capacity_ = 0;
  Piece* first_piece_ = nullptr;
  size_t size_ = 0;
};

EncodeResult encode(const schema::MessageType& type, const Message* object, const EncodeOptions& options, Encoded* out);

// Encodes into `scratch`, then copies to [data, data + capacity); *written (may be null) becomes the number of bytes.
EncodeError encode_to_array(const schema::MessageType& type, const Message* object, const EncodeOptions& options,
                            Encoded* scratch, void* data, size_t capacity, size_t* written);

// How many bytes the object takes on the wire; 0 if it is nested too deeply. Trusted objects only.
size_t encoded_size(const schema::MessageType& type, const Message* object);

}  // namespace drover
