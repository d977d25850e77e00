// A subject of the codec benchmark: one message in one implementation (Drover, protobuf C++, upb), with the
// operations on it that are timed. A subject keeps its memory (arenas, buffers) from call to call, in the way that is
// best for its implementation. Thread-safety: none.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/codec/bench_message.h"

namespace drover::bench {

// Runs an operation that many times; false if it failed.
using Run = std::function<bool(int times)>;

struct Operation {
  std::string implementation;  // "drover", "protobuf", "upb"
  std::string metric;          // "decode_copy", ...
  Run run;
};

class Subject {
 public:
  virtual ~Subject() = default;
  virtual const char* implementation() const = 0;
  virtual std::vector<Operation> operations() = 0;
  // Decoded from the message's bytes and encoded again, by each way of decoding and encoding that is timed. An empty
  // result: there was an error.
  virtual std::vector<std::string> round_trips() = 0;
};

// Null if the implementation cannot handle the message: no generated class, or no upb in this build.
std::unique_ptr<Subject> drover_subject(const BenchMessage& message);
std::unique_ptr<Subject> protobuf_subject(const BenchMessage& message);
std::unique_ptr<Subject> upb_subject(const BenchMessage& message);
std::vector<std::unique_ptr<Subject>> all_subjects(const BenchMessage& message);

// Each operation does all the messages, one after the other; an implementation that cannot handle one of them is left
// out. Branch prediction learned on one message then helps less.
std::vector<Operation> mixed_operations(const std::vector<std::vector<Operation>>& of_messages);

// What upb was built from; empty if this build has none.
std::string upb_version();

// Memory that all subjects of an implementation use one after the other: an arena's first block, or an encoder's
// output. The speed of a copy depends on its address modulo the page size, and differs by several times for an unlucky
// pair of addresses. So each run gets the memory at another offset, and all implementations meet the unlucky ones
// alike.
class Workspace {
 public:
  explicit Workspace(size_t size) : memory_((size + kPlaces * kStep) / sizeof(CacheLine)), size_(size) {}
  // `size` bytes; at the next offset.
  char* next_place() {
    place_ = (place_ + 1) % kPlaces;
    return memory_.front().bytes + place_ * kStep;
  }
  size_t size() const { return size_; }

 private:
  struct alignas(64) CacheLine {
    char bytes[64];
  };
  static constexpr size_t kPlaces = 16;
  static constexpr size_t kStep = 4096 / kPlaces;

  std::vector<CacheLine> memory_;
  size_t size_;
  size_t place_ = 0;
};

// Room for any decoded message; more comes from the heap.
inline constexpr size_t kArenaBytes = 16 << 20;

}  // namespace drover::bench
