// A subject of the codec benchmark: one message in one implementation (Drover, protobuf C++, upb), with the
// operations on it that are timed. A subject keeps its memory (arenas, buffers) from call to call, in the way that is
// best for its implementation. Thread-safety: none.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/codec/bench_message.h"

namespace drover::bench {

struct Operation {
  std::string implementation;  // "drover", "protobuf", "upb"
  std::string metric;          // "decode_copy", ...
  // Does it so many times; false if it failed.
  std::function<bool(int times)> run;
};

class Subject {
 public:
  virtual ~Subject() = default;
  virtual std::vector<Operation> operations() = 0;
  // Decoded from the message's bytes and encoded again, by each way of decoding and encoding that is timed. An empty
  // result: there was an error.
  virtual std::vector<std::string> round_trips() = 0;
};

// Null where the implementation cannot take the message: no generated class, no upb in this build.
std::unique_ptr<Subject> drover_subject(const BenchMessage& message);
std::unique_ptr<Subject> protobuf_subject(const BenchMessage& message);
std::unique_ptr<Subject> upb_subject(const BenchMessage& message);

// What upb was built from; empty if this build has none.
std::string upb_version();

// Room for what any of the messages decodes to; more is taken from the heap.
inline constexpr size_t kArenaBytes = 16 << 20;

}  // namespace drover::bench
