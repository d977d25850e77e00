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

#include "message/message.h"
#include "schema/message_type.h"

namespace drover {

enum class EncodeError : uint8_t {
  ok = 0,
  out_of_bounds,  // something in the object leads outside the bounds
  misaligned,     // an object or array that is not aligned to its elements
  depth_limit,    // nested deeper than EncodeOptions::depth_limit; a cycle ends so too
  too_large,      // more than max_bytes of output
  too_much_work,  // far more fields looked at than the output explains: the same sub-objects over and over
  out_of_memory,
  missing_required,  // only with check_required
  null_element,      // a repeated message field or map with a null pointer in it
  no_room,           // encode_to_array: the array is too small
};
const char* encode_error_name(EncodeError error);

// The memory that a hostile object may lie in.
struct Bounds {
  const char* base = nullptr;
  size_t size = 0;
};

struct Piece {
  const char* data;
  size_t size;
};

struct EncodeOptions {
  const Bounds* bounds = nullptr;  // null: the object is trusted
  size_t max_bytes = 0x7fffffff;
  // With bounds: how many fields may be looked at beyond a few for each byte of output. A sparse object looks at many
  // fields for few bytes; what is more than the memory of the object explains is the same sub-objects over and over.
  uint64_t work_allowance = 1 << 20;
  // How deep messages may nest below the outermost.
  int depth_limit = 1000;
  // From this size on strings, bytes and packed fixed-size fields are referred to, not copied.
  size_t reference_threshold = 256;
  bool check_required = false;
};

struct EncodeResult {
  EncodeError error = EncodeError::ok;
  size_t size = 0;                // bytes of all pieces together; 0 after an error
  const char* message_name = "";  // the message that was being written: full name, lives as long as the image
  uint32_t field_number = 0;      // 0: none
  bool ok() const { return error == EncodeError::ok; }
};
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
