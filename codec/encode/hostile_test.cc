// The encoder on objects that another process writes to. The object lies in a region between two pages that cannot
// be read: whatever is scribbled over it, encoding ends with a message or an error, and never reads outside.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <atomic>
#include <random>
#include <thread>

#include "message/raw.h"
#include "object/map.h"
#include "object/repeated.h"
#include "testing/every_schema.h"
#include "testing/hex.h"
#include "testing/long_runs.h"
#include "testing/random_message.h"
#include "testing/test_object.h"

namespace drover {
namespace {

using testing::every_schema;
using testing::from_hex;
using testing::TestObject;

constexpr size_t kPage = 4096;

class GuardedRegion {
 public:
  explicit GuardedRegion(size_t size) : size_((size + kPage - 1) / kPage * kPage) {
    void* all = mmap(nullptr, size_ + 2 * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED) std::abort();
    base_ = static_cast<char*>(all) + kPage;
    if (mprotect(base_, size_, PROT_READ | PROT_WRITE) != 0) std::abort();
  }
  ~GuardedRegion() { munmap(base_ - kPage, size_ + 2 * kPage); }
  char* base() { return base_; }
  size_t size() const { return size_; }
  Bounds bounds() const { return {base_, size_}; }

 private:
  char* base_;
  size_t size_;
};

// A linear copy of the object that ends where the region ends.
class HostileObject {
 public:
  explicit HostileObject(const TestObject& from)
      : size_(message::linearized_size(from.type(), *from.get())), region_(size_), type_(from.type()) {
    Arena arena(heap_block_source(), region_.base() + region_.size() - size_, size_);
    object_ = message::deep_copy_into(type_, *from.get(), &arena);
    if (!arena.only_initial_block()) std::abort();
  }
  std::string encode(EncodeOptions options = {}) {
    Bounds bounds = region_.bounds();
    options.bounds = &bounds;
    Encoded encoded;
    EncodeResult result = drover::encode(type_, object_, options, &encoded);
    if (!result.ok()) return "error: " + to_string(result);
    std::string bytes(encoded.size(), '\0');
    encoded.copy_to(bytes.data());
    return bytes;
  }
  // The memory of the object itself, and of all of the copy.
  char* field(uint32_t number) { return object_->drover_bytes() + type_.find_field(number)->offset; }
  char* begin() { return region_.base() + region_.size() - size_; }
  size_t size() const { return size_; }
  GuardedRegion& region() { return region_; }
  Message* object() { return object_; }

 private:
  size_t size_;
  GuardedRegion region_;
  schema::MessageType type_;
  Message* object_;
};

struct Sample {
  Sample() : object(every_schema().type("t.Every")) {
    std::string wire = from_hex("28 01 4a 03 616263 5a 02 28 07 ca06 03 010203 ea06 01 61 ea06 01 62 fa06 02 28 01") +
                       from_hex("fa06 02 28 02 ca3e 10 01020304050607081112131415161718 f23f 02 6869");
    if (!object.decode(wire).ok()) std::abort();
  }
  TestObject object;
};

TEST(Hostile, ASoundObjectIsEncodedAsEver) {
  Sample sample;
  EXPECT_EQ(HostileObject(sample.object).encode(), sample.object.encode());
}

TEST(Hostile, PointersThatLeadOutsideAreErrors) {
  Sample sample;
  for (uint32_t number : {9u, 11u, 105u, 109u, 111u, 1001u}) {
    for (int64_t offset : {int64_t{1} << 40, -(int64_t{1} << 40), INT64_MAX & ~int64_t{7}, INT64_MIN, int64_t{1} << 62,
                           int64_t{8192}, int64_t{-8192}}) {
      HostileObject hostile(sample.object);
      raw::store(hostile.field(number), offset);
      EXPECT_TRUE(hostile.encode().starts_with("error: out_of_bounds in field " + std::to_string(number)))
          << number << " " << offset;
    }
  }
}

TEST(Hostile, SizesThatLeadOutsideAreErrors) {
  Sample sample;
  for (uint32_t number : {9u, 105u, 109u, 111u, 1001u}) {
    for (uint32_t size : {0xffffffffu, 0x80000000u, 5000u}) {
      HostileObject hostile(sample.object);
      raw::store(hostile.field(number) + 8, size);
      EXPECT_TRUE(hostile.encode().starts_with("error: out_of_bounds in field " + std::to_string(number)))
          << number << " " << size;
    }
  }
}

TEST(Hostile, MisalignedObjectsAndArraysAreErrors) {
  Sample sample;
  for (uint32_t number : {11u, 105u, 109u, 111u, 1001u}) {
    HostileObject hostile(sample.object);
    raw::store(hostile.field(number), raw::load<int64_t>(hostile.field(number)) - 2);
    EXPECT_EQ(hostile.encode().substr(0, 17), "error: misaligned") << number;
  }
}

TEST(Hostile, ANullElementIsAnError) {
  Sample sample;
  HostileObject hostile(sample.object);
  raw::store<int64_t>(raw::words(hostile.field(111), 0)->begin(), 0);
  EXPECT_EQ(hostile.encode(), "error: null_element in field 111 of t.Every");
}

TEST(Hostile, ACycleEndsAtTheDepthLimit) {
  Sample sample;
  HostileObject hostile(sample.object);
  raw::store<int64_t>(hostile.field(11), hostile.object()->drover_bytes() - hostile.field(11));
  EXPECT_EQ(hostile.encode().substr(0, 18), "error: depth_limit");
}

TEST(Hostile, SharedSubObjectsDoNotMultiplyTheOutput) {
  Sample sample;
  HostileObject hostile(sample.object);
  raw::Words* repeated = raw::words(hostile.field(111), 0);  // both elements lead back to the object itself
  auto* pointers = reinterpret_cast<raw::Pointer*>(repeated->begin());
  pointers[0].set(hostile.object());
  pointers[1].set(hostile.object());
  std::string result = hostile.encode({.max_bytes = 1 << 20, .depth_limit = 60});
  EXPECT_TRUE(result.starts_with("error: ")) << result.size();
}

TEST(Hostile, WorkIsBoundedByWhatIsWrittenWhateverMaxBytesIs) {
  // Thirty objects, each with the next one twice: a few bytes of output for each of a thousand million visits.
  std::string wire;
  for (int i = 0; i < 30; ++i) {
    std::string outer = "\xfa\x06";
    for (size_t left = wire.size(); left >= 0x80 || outer.size() == 2; left >>= 7) {
      outer.push_back(static_cast<char>((left & 0x7f) | (left >= 0x80 ? 0x80 : 0)));
      if (left >= 0x80 && left >> 7 < 0x80) outer.push_back(static_cast<char>(left >> 7));
    }
    wire = outer + wire + std::string("\xfa\x06\0", 3);
  }
  TestObject object(every_schema().type("t.Every"));
  ASSERT_TRUE(object.decode(wire).ok());
  HostileObject hostile(object);
  uint32_t offset = object.type().find_field(111)->offset;
  char* at = hostile.object()->drover_bytes();
  for (int i = 0; i < 30; ++i) {
    auto* pointers = reinterpret_cast<raw::Pointer*>(raw::words(at + offset, 0)->begin());
    char* next = reinterpret_cast<char*>(pointers) + raw::load<int64_t>(reinterpret_cast<char*>(pointers));
    pointers[1].set(reinterpret_cast<Message*>(next));
    at = next;
  }
  std::string result = hostile.encode({.max_bytes = 0x7fffffff});
  EXPECT_TRUE(result.starts_with("error: too_much_work")) << result.substr(0, 100);
}

// Counts its calls, and ends the encode with the last that it allows.
struct CountedPause {
  int allowed;
  int calls = 0;
  static bool pause(void* context) {
    auto& self = *static_cast<CountedPause*>(context);
    return ++self.calls <= self.allowed;
  }
};

// Messages, copied bytes, and bytes that are referred to: whatever a long encode does, it pauses now and then.
TEST(Hostile, ALongEncodePausesAndGoesOnOrEnds) {
  std::string messages, copied, referred;
  for (int i = 0; i < 5000; ++i) messages += from_hex("fa06 02 28 01");
  for (int i = 0; i < 3000; ++i) copied += from_hex("ea06 c801") + std::string(200, 'c');
  for (int i = 0; i < 2000; ++i) referred += from_hex("ea06 ac02") + std::string(300, 'r');
  for (const std::string& wire : {messages, copied, referred}) {
    TestObject object(every_schema().type("t.Every"));
    ASSERT_TRUE(object.decode(wire).ok());
    HostileObject hostile(object);
    CountedPause count{1 << 30};
    EXPECT_EQ(hostile.encode({.pause = CountedPause::pause, .pause_context = &count}), object.encode());
    EXPECT_GE(count.calls, 4);
    EXPECT_LE(count.calls, 2000);
    CountedPause stop{2};
    std::string ended = hostile.encode({.pause = CountedPause::pause, .pause_context = &stop});
    EXPECT_TRUE(ended.starts_with("error: too_much_work")) << ended.substr(0, 100);
    EXPECT_EQ(stop.calls, 3);
  }
}

TEST(Hostile, BuffersAreBoundedCountingThePiecesOfWhatIsReferredTo) {
  for (bool refer : {false, true}) {
    std::string wire;
    for (int i = 0; i < 4000; ++i) {
      wire += from_hex(refer ? "ea06 ac02" : "ea06 64") + std::string(refer ? 300 : 100, 'x');
    }
    TestObject object(every_schema().type("t.Every"));
    ASSERT_TRUE(object.decode(wire).ok());
    HostileObject hostile(object);
    EXPECT_EQ(hostile.encode({.max_buffer_bytes = 2 << 20}), wire);
    std::string refused = hostile.encode({.max_buffer_bytes = 100'000});
    EXPECT_TRUE(refused.starts_with("error: no_room")) << refused.substr(0, 100);
  }
}

TEST(Hostile, AnObjectOutsideTheBoundsIsNotRead) {
  Sample sample;
  HostileObject hostile(sample.object);
  Bounds bounds = hostile.region().bounds();
  Encoded encoded;
  for (const char* at : {bounds.base - 8, bounds.base + bounds.size, bounds.base + bounds.size - 8, bounds.base + 4}) {
    EXPECT_FALSE(
        encode(sample.object.type(), reinterpret_cast<const Message*>(at), {.bounds = &bounds}, &encoded).ok());
  }
}

TEST(Hostile, RandomDamageNeverMakesTheEncoderReadOutside) {
  std::mt19937_64 random(11);
  int fine = 0, refused = 0;
  for (int round = 0; round < 150 * testing::test_factor(); ++round) {
    const char* name = round % 3 == 0 ? "t.Maps" : "t.Every";
    auto message = every_schema().peer(name);
    testing::RandomMessages(random).fill(message.get(), 2);
    TestObject object(every_schema().type(name));
    ASSERT_TRUE(object.decode(message->SerializePartialAsString()).ok());
    HostileObject hostile(object);
    for (int damage = 0; damage < 30; ++damage) {
      size_t at = random() % hostile.size();
      char before[8];
      size_t count = std::min<size_t>(1 + random() % 8, hostile.size() - at);
      std::memcpy(before, hostile.begin() + at, count);
      for (size_t i = 0; i < count; ++i) {
        hostile.begin()[at + i] = static_cast<char>(random() % 3 == 0 ? random() : random() % 3 == 0 ? 0xff : 0);
      }
      std::string result = hostile.encode({.max_bytes = 1 << 22, .depth_limit = 90});
      ++(result.starts_with("error: ") ? refused : fine);
      if (random() % 2 == 0) std::memcpy(hostile.begin() + at, before, count);
    }
  }
  EXPECT_GT(fine, 100);
  EXPECT_GT(refused, 100);
}

TEST(Hostile, AWriterThatChangesLengthsMeanwhileNeverMakesABadMessage) {
  Sample sample;
  HostileObject hostile(sample.object);
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    std::mt19937_64 random(3);
    while (!stop.load(std::memory_order_relaxed)) {
      static constexpr uint32_t kNumbers[] = {9, 105, 109, 111, 1001};
      auto* size = reinterpret_cast<volatile uint32_t*>(hostile.field(kNumbers[random() % 5]) + 8);
      *size = static_cast<uint32_t>(random() % 4);
    }
  });
  for (int i = 0; i < 20000; ++i) {
    std::string result = hostile.encode();
    if (!result.starts_with("error: ")) {
      EXPECT_TRUE(every_schema().peer("t.Every")->ParsePartialFromString(result));
    }
  }
  stop = true;
  writer.join();
}

}  // namespace
}  // namespace drover
