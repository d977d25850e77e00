// CodedInputStream on hostile bytes: the same operations on an array and on a stream of small blocks have the same
// results, and read nothing outside of their limits (ASan).
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "streams/coded_input.h"
#include "streams/memory_streams.h"

namespace {

using drover::io::ArrayInputStream;
using drover::io::CodedInputStream;

struct Outcome {
  bool ok = false;
  uint64_t value = 0;
  std::string text;
  int position = 0;
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

class Reader {
 public:
  // `total`: the bytes that there are.
  Reader(CodedInputStream* in, int total) : in_(in), total_(total) {}

  Outcome step(uint8_t operation, uint8_t argument) {
    Outcome out;
    uint32_t small = 0;
    int size = 0;
    switch (operation % 14) {
      case 0:
        out.ok = in_->ReadVarint32(&small);
        out.value = out.ok ? small : 0;
        break;
      case 1:
        out.ok = in_->ReadVarint64(&out.value);
        break;
      case 2:
        out.ok = in_->ReadVarintSizeAsInt(&size);
        out.value = static_cast<uint64_t>(size);
        break;
      case 3:
        out.value = in_->ReadTag();
        out.ok = in_->ConsumedEntireMessage();
        break;
      case 4:
        out.ok = in_->ReadString(&out.text, argument * (argument > 200 ? 1'000'000 : 1));
        break;
      case 5:
        out.ok = in_->Skip(argument);
        break;
      case 6:
        limits_.push_back(in_->PushLimit(static_cast<int8_t>(argument)));
        break;
      case 7:
        if (limits_.empty()) break;
        in_->PopLimit(limits_.back());
        limits_.pop_back();
        break;
      case 8:
        out.ok = in_->ReadLittleEndian64(&out.value);
        if (!out.ok) out.value = 0;
        break;
      case 9:
        limits_.push_back(in_->ReadLengthAndPushLimit());
        break;
      case 10:
        limit_total(argument);
        out.value = static_cast<uint64_t>(in_->BytesUntilTotalBytesLimit());
        break;
      case 11:
        out.ok = look(&out.value);
        break;
      case 12:
        // Of one byte: a longer one has to be whole in the buffer, and buffers differ.
        out.ok = look(&out.value) && in_->ExpectTag(argument & 0x7f);
        break;
      default:
        // A stream does not know that it has ended; an array does.
        if (in_->ExpectAtEnd() && in_->ReadTag() != 0) std::abort();
    }
    out.position = in_->CurrentPosition();
    return out;
  }

 private:
  // Not to the end of the bytes: there a message is whole in an array, but perhaps not in a stream.
  void limit_total(uint8_t argument) {
    const int limit = in_->CurrentPosition() + 1 + argument;
    in_->SetTotalBytesLimit(limit == total_ ? limit + 1 : limit);
  }

  // The next byte, by way of the buffer.
  bool look(uint64_t* byte) {
    const void* data;
    int size;
    if (!in_->GetDirectBufferPointer(&data, &size)) return false;
    if (size <= 0 || size > total_ - in_->CurrentPosition()) std::abort();
    *byte = *static_cast<const uint8_t*>(data);
    last_ = static_cast<const uint8_t*>(data)[size - 1];  // ASan sees whether it is there
    return true;
  }

  CodedInputStream* in_;
  int total_;
  volatile uint8_t last_ = 0;
  std::vector<CodedInputStream::Limit> limits_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2 || size > 1 << 16) return 0;
  const int block = 1 + data[0] % 32;
  const size_t operations = std::min<size_t>(data[1], (size - 2) / 2);
  const uint8_t* program = data + 2;
  const std::vector<uint8_t> bytes(program + 2 * operations, data + size);
  const int count = static_cast<int>(bytes.size());
  CodedInputStream flat(bytes.data(), count);
  ArrayInputStream stream(bytes.data(), count, block);
  int position = 0;
  {
    CodedInputStream blocks(&stream);
    Reader a(&flat, count), b(&blocks, count);
    for (size_t i = 0; i < operations; ++i) {
      const Outcome one = a.step(program[2 * i], program[2 * i + 1]);
      const Outcome other = b.step(program[2 * i], program[2 * i + 1]);
      if (one != other || one.position > count) std::abort();
    }
    position = blocks.CurrentPosition();
  }
  if (stream.ByteCount() != position) std::abort();  // the rest was given back
  return 0;
}
