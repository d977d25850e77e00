// EngineAnswer: one message that the engine answers a call with itself, as wire bytes in pieces. Immutable once made.
#pragma once

#include <cstddef>
#include <span>

#include "codec/encode/encode_types.h"

namespace drover::engine {

class EngineAnswer {
 public:
  virtual ~EngineAnswer() = default;
  // Valid while the answer lives.
  virtual std::span<const Piece> pieces() const = 0;
  virtual size_t size() const = 0;  // of all pieces together
  // Heap bytes of its own: what the call's account is charged with while the answer is on its way.
  virtual size_t memory() const = 0;
};

}  // namespace drover::engine
