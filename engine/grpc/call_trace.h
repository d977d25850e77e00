// The engine's part in the traces of a connection's calls: a span of a call that is sampled, and the metadata that its
// host gets instead of the client's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/call/call.h"
#include "engine/trace/tracer.h"

namespace drover::engine {

// Of one call; with its stream.
struct CallTrace {
  size_t memory() const { return bytes; }
  std::unique_ptr<trace::Span> span;
  std::vector<Header> metadata;  // the client's, but for the trace
  size_t bytes = 0;              // heap bytes, about
};

// Null: the call has no span, and its metadata stays. Before `call` is opened, with its path and metadata.
std::unique_ptr<CallTrace> begin_trace(trace::Tracer& tracer, const Call& call);

}  // namespace drover::engine
