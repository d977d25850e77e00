// CheckedRequest: a request object copied out of rx into private memory, with every pointer, size and count checked by
// its schema. With DROVER_HOST_CHECK_REQUESTS=1 handlers see such copies instead of rx.
//
//   object in rx  -- encode with bounds, each word read once -->  wire bytes  -- decode -->  object in private memory
//
// These are the two functions that stand up to hostile bytes everywhere else, and are fuzzed as such; what comes out is
// a well-formed object whatever the engine writes, and whenever it writes it.
// Thread-safety: none. The copy lives until clear() or the next copy().
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "codec/encode/encode.h"
#include "message/message.h"
#include "object/arena.h"
#include "object/region.h"
#include "schema/message_type.h"

namespace drover::host {

class CheckedRequest {
 public:
  // The object of that type at `offset`, where its own bytes are known to lie inside rx. Null: no object can be there,
  // `error` says what was wrong; or no memory.
  const Message* copy(const Region& region, const schema::MessageType& type, uint64_t offset, std::string* error);
  // Ends the copy; keeps a little memory for the next one.
  void clear();

  static constexpr size_t kKeptBytes = 64 << 10;

 private:
  bool reserve(size_t bytes);

  Encoded encoded_;
  std::unique_ptr<char[]> wire_;  // one byte more than the wire: the decoder ends strings with NULs
  size_t capacity_ = 0;
  Arena arena_;
};

}  // namespace drover::host
