// The pre-serialized stream: golden bytes, and that what is made of it is byte for byte what the encoder writes.
#include "codec/preserialize/preserialize.h"

#include <gtest/gtest.h>

#include <random>

#include "codec/copy/modelled_copy.h"
#include "codec/preserialize/preserialize_handlers.h"
#include "testing/every_schema.h"
#include "testing/hex.h"
#include "testing/long_runs.h"
#include "testing/random_message.h"
#include "testing/test_object.h"
#include "testing/test_schema.h"
#include "workload/random_schema.h"

namespace drover {
namespace {

using testing::every_schema;
using testing::from_hex;
using testing::RandomMessages;
using testing::TestObject;
using testing::TestSchema;
using testing::to_hex;

struct Stream {
  explicit Stream(size_t size = 1 << 20) : memory(size / 8) {
    out.buffer = reinterpret_cast<char*>(memory.data());
    out.buffer_size = size;
  }
  std::string records() const { return {out.buffer, out.record_bytes}; }
  std::string payload() const { return {out.payload(), out.payload_bytes}; }
  std::string finish(std::string_view engine = {}, std::string_view host = {}) const {
    std::string wire, r = records(), p = payload();
    StreamError error = finish_preserialized(r, p, engine, host, &wire);
    return error == StreamError::kOk ? wire : std::string("error: ") + stream_error_name(error);
  }
  std::vector<uint64_t> memory;
  PreserializedOutput out;
};

std::string finish(const std::string& records, const std::string& payload = "") {
  std::string wire;
  StreamError error = finish_preserialized(records, payload, {}, {}, &wire);
  return error == StreamError::kOk ? to_hex(wire) : stream_error_name(error);
}

TEST(Preserialize, WritesTheseBytes) {
  TestObject golden(every_schema().type("t.Every"));
  ASSERT_TRUE(golden.decode(from_hex("18 05  28 01  4a 03 616263  5a 02 28 07  8801 0d  ea3e 02 0102")).ok());
  Stream stream;
  ASSERT_TRUE(preserialize(golden.type(), golden.get(), {}, &stream.out).ok());
  std::string records = stream.records();
  // Byte 3 of a head is the step's has-bit, which readers ignore.
  EXPECT_EQ(to_hex(records), to_hex(from_hex("0000 40 00 00000000"      // close
                                             "0100 4c 00 02000000"      // elements: two, as int32
                                             "02000000 01000000"        // the last comes first
                                             "ea3e 19 00 00000000"      // open p5 = 1005
                                             "8801 0b 0e f9ffffff"      // sint32 f17 = -7
                                             "0000 40 00 00000000"      // close
                                             "2800 02 04 07000000"      // int32 f5 = 7
                                             "5a00 18 3f 00000000"      // open f11
                                             "4a00 16 08 03000000"      // inline f9
                                             "6162630000000000"         //
                                             "2800 02 04 01000000"      // int32 f5 = 1
                                             "1800 06 02 00000000"      // int64 f3
                                             "0500000000000000"         // = 5
                                             "0000 00 00 00000000")));  // end
  EXPECT_EQ(stream.out.payload_bytes, 0u);
  EXPECT_EQ(stream.finish(), golden.encode());
}

TEST(Preserialize, LongStringsArePayloadInWireOrder) {
  TestObject object(every_schema().type("t.Every"));
  std::string a(300, 'a'), b(400, 'b');
  ASSERT_TRUE(object.decode(from_hex("4a ac02") + a + from_hex("62 9003") + b).ok());
  Stream stream;
  ASSERT_TRUE(preserialize(object.type(), object.get(), {}, &stream.out).ok());
  EXPECT_EQ(stream.payload(), a + b);
  EXPECT_EQ(stream.out.record_bytes, 24u);
  EXPECT_EQ(stream.finish(), object.encode());
}

TEST(Preserialize, WhatLiesInTheEnginesMemoryIsNotRead) {
  TestObject object(every_schema().type("t.Every"));
  ASSERT_TRUE(object.decode(from_hex("28 01 4a 03 616263 ca3e 08 0102030405060708")).ok());
  // The engine's memory stands where nothing can be read.
  PreserializeOptions options;
  options.engine = {uint64_t{1} << 62, 4096};
  auto lead = [&](uint32_t number, uint64_t place, uint32_t size) {
    char* at = object.get()->drover_bytes() + object.type().find_field(number)->offset;
    int64_t offset = static_cast<int64_t>(options.engine.base + place - reinterpret_cast<uintptr_t>(at));
    std::memcpy(at, &offset, 8);
    std::memcpy(at + 8, &size, 4);
  };
  lead(9, 5, 10);
  lead(1001, 32, 2);
  Stream stream;
  ASSERT_TRUE(preserialize(object.type(), object.get(), options, &stream.out).ok());
  std::string engine;
  for (int i = 0; i < 64; ++i) engine += static_cast<char>(i);
  EXPECT_EQ(to_hex(stream.finish(engine)),
            to_hex(from_hex("28 01 4a 0a") + engine.substr(5, 10) + from_hex("ca3e 10") + engine.substr(32, 16)));
  EXPECT_EQ(stream.finish(engine.substr(0, 47)), "error: out_of_bounds");
}

// An object whose bytes all lie in one block, as in a region that the engine may read.
struct RegionObject {
  explicit RegionObject(const TestObject& original)
      : memory(message::linearized_size(original.type(), *original.get()) / 8 + 1) {
    Arena arena(heap_block_source(), reinterpret_cast<char*>(memory.data()), memory.size() * 8);
    object = message::deep_copy_into(original.type(), *original.get(), &arena);
  }
  MemoryWindow window() const { return {reinterpret_cast<uintptr_t>(memory.data()), memory.size() * 8}; }
  std::string_view bytes() const { return {reinterpret_cast<const char*>(memory.data()), memory.size() * 8}; }
  std::vector<uint64_t> memory;
  Message* object;
};

TEST(Preserialize, LongStringsInTheHostsWindowAreReferredTo) {
  TestObject original(every_schema().type("t.Every"));
  std::string a(300, 'a'), b(20, 'b'), u(40, 'u');
  // Two strings, a packed fixed32 field, and an unknown field.
  ASSERT_TRUE(original
                  .decode(from_hex("4a ac02") + a + from_hex("62 14") + b +
                          from_hex("ca3e 10 01020304 05060708 090a0b0c 0d0e0f10") + from_hex("a2 c13e 28") + u)
                  .ok());
  RegionObject object(original);
  PreserializeOptions options{.host = object.window(), .reference_from = 16};
  Stream stream;
  ASSERT_TRUE(preserialize(original.type(), object.object, options, &stream.out).ok());
  EXPECT_EQ(stream.out.payload_bytes, 0u);
  EXPECT_EQ(stream.out.record_bytes, 4 * 16u + 8);  // four references and the end
  EXPECT_EQ(to_hex(stream.finish({}, object.bytes())), to_hex(original.encode()));
  EXPECT_EQ(stream.finish({}, object.bytes().substr(0, 64)), "error: out_of_bounds");
  // What is shorter, or ends outside, is copied.
  options.reference_from = 30;
  ASSERT_TRUE(preserialize(original.type(), object.object, options, &stream.out).ok());
  EXPECT_EQ(stream.out.record_bytes, 2 * 16u + 32 + 24 + 8);
  EXPECT_EQ(to_hex(stream.finish({}, object.bytes())), to_hex(original.encode()));
  options.host.size = object.window().size - 1;
  options.host.base += 1;
  ASSERT_TRUE(preserialize(original.type(), object.object, options, &stream.out).ok());
  EXPECT_EQ(to_hex(stream.finish({}, object.bytes().substr(1))), to_hex(original.encode()));
}

TEST(Preserialize, ABufferThatIsTooSmallIsAnErrorAndNothingIsWrittenBehindIt) {
  std::mt19937_64 random(5);
  auto message = every_schema().peer("t.Every");
  RandomMessages(random).fill(message.get(), 3);
  TestObject object(every_schema().type("t.Every"));
  ASSERT_TRUE(object.decode(message->SerializePartialAsString()).ok());
  Stream whole;
  ASSERT_TRUE(preserialize(object.type(), object.get(), {}, &whole.out).ok());
  size_t need = whole.out.record_bytes + whole.out.payload_bytes;
  for (size_t size = 0; size < need + 80; size += 8) {
    Stream stream(size + 64);
    std::memset(stream.out.buffer, 0x5a, size + 64);
    stream.out.buffer_size = size;
    EncodeResult result =
        preserialize(object.type(), object.get(), {.payload_threshold = size % 3 == 0 ? 4u : 256u}, &stream.out);
    EXPECT_TRUE(result.ok() || result.error == EncodeError::kNoRoom) << to_string(result);
    for (size_t i = size; i < size + 64; ++i) ASSERT_EQ(stream.out.buffer[i], 0x5a);
  }
}

TEST(Preserialize, LimitsAreTheEncoders) {
  TestObject nested(every_schema().type("t.Every"));
  ASSERT_TRUE(nested.decode(from_hex("5a 04 5a 02 28 01")).ok());
  Stream stream;
  EXPECT_TRUE(preserialize(nested.type(), nested.get(), {.depth_limit = 2}, &stream.out).ok());
  EXPECT_EQ(to_string(preserialize(nested.type(), nested.get(), {.depth_limit = 1}, &stream.out)),
            "depth_limit in field 11 of t.Every");
  TestObject required(every_schema().type("t.Required"));
  ASSERT_TRUE(required.decode(from_hex("08 01 12 02 08 02 1a 00")).ok());
  EXPECT_EQ(to_string(preserialize(required.type(), required.get(), {.check_required = true}, &stream.out)),
            "missing_required in field 1 of t.Required");
}

TEST(Preserialize, LongCopiesMayBeMadeByAnEngine) {
  TestObject object(every_schema().type("t.Every"));
  std::string a(3000, 'a'), b(4000, 'b');
  ASSERT_TRUE(object.decode(from_hex("4a b817") + a + from_hex("62 a01f") + b).ok());
  Stream stream;
  ModelledCopy engine;
  PreserializeOptions options;
  Preserializer<TrustedMemory, ModelledCopy> preserializer(*object.type().image, TrustedMemory(), engine, options,
                                                           &stream.out);
  ASSERT_TRUE(preserializer.run(object.get()->drover_bytes(), object.type().entry()));
  EXPECT_NE(stream.finish(), object.encode());
  EXPECT_EQ(engine.copies(), 2u);
  EXPECT_EQ(engine.bytes(), 7000u);
  engine.wait();
  EXPECT_EQ(stream.finish(), object.encode());
}

class PreserializeRandom : public ::testing::TestWithParam<int> {};

TEST_P(PreserializeRandom, MakesWhatTheEncoderWrites) {
  std::mt19937_64 random(static_cast<uint64_t>(GetParam()));
  TestSchema schema(workload::random_schema(static_cast<uint64_t>(GetParam())));
  const std::vector<std::string> names = workload::message_names(schema.files());
  Stream stream(8 << 20);
  for (int round = 0; round < 10; ++round) {
    const std::string& name = names[random() % names.size()];
    auto message = schema.peer(name);
    RandomMessages(random).fill(message.get(), 3);
    // As another type too: most fields are unknown then.
    const std::string& other = names[random() % names.size()];
    for (const std::string& as : {name, other}) {
      TestObject object(schema.type(as));
      if (!object.decode(message->SerializePartialAsString()).ok()) continue;
      for (size_t threshold : {size_t{0}, size_t{20}, size_t{256}, size_t{1} << 30}) {
        EncodeResult result = preserialize(object.type(), object.get(), {.payload_threshold = threshold}, &stream.out);
        if (result.error == EncodeError::kNoRoom && object.encode().size() > (1 << 20)) continue;
        ASSERT_TRUE(result.ok()) << to_string(result);
        ASSERT_EQ(to_hex(stream.finish()), to_hex(object.encode())) << as << " " << threshold;
      }
      RegionObject copy(object);
      PreserializeOptions options{.payload_threshold = 20, .host = copy.window(), .reference_from = 8};
      EncodeResult result = preserialize(object.type(), copy.object, options, &stream.out);
      if (result.error == EncodeError::kNoRoom && object.encode().size() > (1 << 20)) continue;
      ASSERT_TRUE(result.ok()) << to_string(result);
      ASSERT_EQ(to_hex(stream.finish({}, copy.bytes())), to_hex(object.encode())) << as;
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Seeds, PreserializeRandom, testing::seeds(12));

TEST(Preserialize, EveryAndMapsToo) {
  std::mt19937_64 random(99);
  Stream stream(8 << 20);
  for (int round = 0; round < 200; ++round) {
    const char* name = round % 2 == 0 ? "t.Every" : "t.Maps";
    auto message = every_schema().peer(name);
    RandomMessages(random).fill(message.get(), 3);
    TestObject object(every_schema().type(name));
    ASSERT_TRUE(object.decode(message->SerializePartialAsString()).ok());
    ASSERT_TRUE(preserialize(object.type(), object.get(), {.payload_threshold = 20}, &stream.out).ok());
    ASSERT_EQ(to_hex(stream.finish()), to_hex(object.encode()));
  }
}

TEST(Preserialize, AHostileObjectIsRefusedOrMadeAWellFormedMessageOf) {
  std::mt19937_64 random(11);
  int fine = 0, refused = 0;
  Stream stream;
  for (int round = 0; round < 200; ++round) {
    auto message = every_schema().peer("t.Every");
    RandomMessages(random).fill(message.get(), 2);
    TestObject original(every_schema().type("t.Every"));
    ASSERT_TRUE(original.decode(message->SerializePartialAsString()).ok());
    size_t size = message::linearized_size(original.type(), *original.get());
    std::unique_ptr<char[]> block(new char[size]);  // AddressSanitizer sees every read outside
    Arena arena(heap_block_source(), block.get(), size);
    Message* object = message::deep_copy_into(original.type(), *original.get(), &arena);
    for (int damage = 0; damage < 20; ++damage) {
      for (uint64_t n = 1 + random() % 8; n > 0; --n) {
        block[random() % size] = static_cast<char>(random() % 3 == 0 ? random() : random() % 3 == 0 ? 0xff : 0);
      }
      Bounds bounds{block.get(), size};
      EncodeResult result = preserialize(original.type(), object, {.bounds = &bounds, .depth_limit = 60}, &stream.out);
      Encoded encoded;
      EncodeResult expected =
          encode(original.type(), object, {.bounds = &bounds, .max_bytes = 1 << 20, .depth_limit = 60}, &encoded);
      ++(result.ok() ? fine : refused);
      if (result.error == EncodeError::kNoRoom || expected.error == EncodeError::kTooLarge) continue;
      ASSERT_EQ(to_string(result), to_string(expected));
      if (!result.ok()) continue;
      std::string bytes(encoded.size(), '\0');
      encoded.copy_to(bytes.data());
      ASSERT_EQ(to_hex(stream.finish()), to_hex(bytes));
    }
  }
  EXPECT_GT(fine, 20);
  EXPECT_GT(refused, 20);
}

TEST(PreserializedReader, SaysWhatIsWrong) {
  const std::string end = from_hex("0000000000000000");
  EXPECT_EQ(finish(end), "");
  EXPECT_EQ(finish(""), "truncated");
  EXPECT_EQ(finish(from_hex("2800020007000000") + end), "28 07 ");
  EXPECT_EQ(finish(from_hex("28000200070000")), "truncated");
  EXPECT_EQ(finish(from_hex("1800060000000000")), "truncated");
  EXPECT_EQ(finish(from_hex("4a00160009000000 6162636465666768") + end), "truncated");
  EXPECT_EQ(finish(from_hex("5a00180000000000") + end), "bad_nesting");
  EXPECT_EQ(finish(from_hex("0000400000000000") + end), "bad_nesting");
  EXPECT_EQ(finish(from_hex("0000520000000000") + end), "bad_record");
  EXPECT_EQ(finish(from_hex("0a004c0001000000") + end + end), "bad_record");
  EXPECT_EQ(finish(from_hex("4a00420002000000") + end, "x"), "out_of_bounds");
  EXPECT_EQ(finish(from_hex("4a00420001000000") + end, "x"), "4a 01 78 ");
  EXPECT_EQ(finish(from_hex("01004c00ffffffff") + end), "truncated");
}

}  // namespace
}  // namespace drover
