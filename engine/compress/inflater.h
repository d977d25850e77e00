// Inflater: decompresses one message after the other, each in steps of bounded work, into a buffer that grows.
//
//   begin(message) -> step() -> kMore, step() -> kMore ... -> kDone: output()      end(): ready for the next message
//
// The message comes from the network: its size once decompressed is bounded while it is decompressed, what it takes is
// charged to an account, and no step takes longer than about half a millisecond, also of blocks that give no output.
// Thread-safety: none; one engine thread.
#pragma once

#include <zlib.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "engine/base/account.h"
#include "engine/base/charged_buffer.h"
#include "engine/compress/compression.h"
#include "engine/compress/zlib_memory.h"

namespace drover::engine {

class Inflater {
 public:
  enum class Result : uint8_t {
    kMore,
    kDone,      // output() is the message
    kCorrupt,   // not such a stream, or its check value is wrong
    kCut,       // the message ends inside of the stream
    kTrailing,  // bytes behind the stream
    kTooLarge,  // more than the caller takes
    kNoMemory,  // none, or over the account's budget
  };
  // Of compressed and of decompressed bytes, a step.
  static constexpr size_t kInBytes = 2 << 10, kOutBytes = 64 << 10;

  Inflater() = default;
  ~Inflater();
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  // A message, of which at most `most` bytes are wanted. It stays where it is until the last step, or moved() says
  // where it is now. `account`: may be null; it stays until end(). False: no memory, or over the budget.
  bool begin(Compression compression, std::string_view message, size_t most, Account* account);
  void moved(const char* message) { message_ = {message, message_.size()}; }
  Result step();
  // Of the last begin or step.
  Result result() const { return result_; }
  // Valid until end().
  std::string_view output() const { return output_.bytes(); }
  // Gives back what it holds, but for zlib's state.
  void end();

  // Bytes that are kept between two messages.
  size_t memory() const { return memory_.bytes(); }

 private:
  Result next_step();
  Result result_of(int code, size_t took, size_t gave) const;

  ZlibMemory memory_;
  z_stream stream_{};
  bool made_ = false;
  Result result_ = Result::kMore;
  std::string_view message_;
  size_t at_ = 0;  // of the message: what zlib has taken
  size_t most_ = 0;
  ChargedBuffer output_;
};

}  // namespace drover::engine
