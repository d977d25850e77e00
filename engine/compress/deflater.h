// Deflater: compresses one message after the other, each in steps of bounded work.
//
//   begin(pieces) -> step() -> kMore, step() -> kMore ... -> kDone: take_output()    end(): ready for the next message
//                                                       '--> kGrew: it is not worth it
//
// The pieces may lie in memory that another process changes meanwhile: zlib reads each byte once, into its window, and
// whatever it reads gives a stream that can be decompressed.
// Thread-safety: none; one engine thread.
#pragma once

#include <zlib.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "codec/encode/encode_types.h"
#include "engine/base/account.h"
#include "engine/base/charged_buffer.h"
#include "engine/compress/compression.h"
#include "engine/compress/zlib_memory.h"

namespace drover::engine {

class Deflater {
 public:
  enum class Result : uint8_t {
    kMore,
    kDone,
    kGrew,      // it does not become smaller
    kNoMemory,  // none, or over the account's budget
  };
  static constexpr size_t kInBytes = 4 << 10;  // of the message, a step
  static constexpr int kUsualLevel = 6;        // zlib's and gRPC's

  Deflater() = default;
  ~Deflater();
  Deflater(const Deflater&) = delete;
  Deflater& operator=(const Deflater&) = delete;

  // A message of `size` bytes together, which stay where they are until the last step. `level`: zlib's, 1 to 9.
  // `account`: may be null; it stays until end(). False: no memory, or over the budget.
  bool begin(Compression compression, int level, std::span<const Piece> pieces, size_t size, Account* account);
  Result step();
  // Of the last begin or step.
  Result result() const { return result_; }
  // After kDone: smaller than the message. Valid until end().
  std::string_view output() const { return output_.bytes(); }
  // The same as a buffer that stays, charged to the account.
  ChargedBuffer take_output() { return std::move(output_); }
  // Gives back what it holds, but for zlib's state.
  void end();

  // Bytes that are kept between two messages.
  size_t memory() const { return memory_.bytes(); }

 private:
  bool make(Compression compression, int level);
  size_t next_input();
  Result next_step();

  ZlibMemory memory_;
  z_stream stream_{};
  bool made_ = false;
  Result result_ = Result::kMore;
  Compression compression_ = Compression::kNone;  // what stream_ was made for
  int level_ = 0;
  std::span<const Piece> pieces_;
  size_t at_ = 0;    // in the first of them
  size_t left_ = 0;  // bytes that zlib has not taken
  size_t most_ = 0;  // of output that is worth it
  ChargedBuffer output_;
};

}  // namespace drover::engine
