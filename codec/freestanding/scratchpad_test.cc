// Decoding through a scratchpad and encoding from it, by a DMA engine that is as late and as unordered as it may be.
// That the bytes are right, on other machines too, is tests/freestanding's to show; this is about the layout, the
// limits and the errors.
#include "codec/freestanding/scratchpad_memory.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "codec/freestanding/codec.h"
#include "codec/freestanding/delayed_dma.h"
#include "codec/freestanding/fetched_memory.h"
#include "object/string.h"
#include "testing/every_schema.h"
#include "testing/hex.h"
#include "testing/random_message.h"
#include "testing/test_object.h"

namespace drover {
namespace {

using testing::every_schema;
using testing::from_hex;
using testing::TestObject;

constexpr uint64_t kBase = 0x100000000;

struct Device {
  explicit Device(size_t window_size = 4096, size_t host_size = 8192, uint32_t threshold = 64)
      : window(window_size / 8), host(host_size / 8), memory(dma, window.data(), window_size, threshold) {}
  DecodeResult decode(const schema::MessageType& type, const std::string& wire) {
    std::string_view piece = wire;
    return decode_to_host(*type.image, type.index, &piece, 1, area, memory);
  }
  char* bytes() { return reinterpret_cast<char*>(host.data()); }
  Message* object() { return reinterpret_cast<Message*>(host.data()); }

  std::vector<uint64_t> window, host;
  HostArea area{kBase, host.size() * 8};
  DelayedDma dma{kBase, reinterpret_cast<char*>(host.data()), host.size() * 8, std::abort};
  ScratchpadMemory<DelayedDma> memory;
};

const raw::Words* words(Device& device, const schema::MessageType& type, uint32_t number) {
  return raw::words(device.bytes(), type.find_field(number)->offset);
}

// Field 9 of t.Every is a string, 11 a message, 111 repeated messages.
std::string with_string(const std::string& text) {
  std::string wire = "\x4a";
  char size[10];
  wire.append(size, wire::write_varint(size, text.size()));
  return wire + text;
}

TEST(Scratchpad, ShortMessagesReachTheHostInOneCommand) {
  Device device;
  schema::MessageType type = every_schema().type("t.Every");
  std::string wire = from_hex("28 01 4a 03 616263 5a 02 28 07 ca06 03 010203 fa06 02 28 01");
  ASSERT_TRUE(device.decode(type, wire).ok());
  EXPECT_EQ(device.dma.commands(), 1u);
  EXPECT_EQ(device.dma.bytes(), device.memory.window_used());
  EXPECT_EQ(device.object()->drover_owner_word(), kReceived);
  TestObject same(type);
  ASSERT_TRUE(same.decode(wire).ok());
  EXPECT_TRUE(message::equal(type, *device.object(), *same.get()));
}

TEST(Scratchpad, LongStringsGoStraightFromThePacketToTheEndOfTheArea) {
  Device device;
  schema::MessageType type = every_schema().type("t.Every");
  std::string text(100, 'x');
  ASSERT_TRUE(device.decode(type, with_string(text)).ok());
  EXPECT_EQ(device.dma.commands(), 2u);
  EXPECT_EQ(device.memory.placed_bytes(), 100u);
  const raw::Words* string = words(device, type, 9);
  EXPECT_EQ(string->begin(), device.bytes() + device.area.size - 100);
  EXPECT_EQ(std::string(string->begin(), string->size), text);
  EXPECT_TRUE(string->borrowed());
  EXPECT_FALSE(reinterpret_cast<const String*>(string)->terminated());
  EXPECT_STREQ(reinterpret_cast<const String*>(string)->c_str(), text.c_str());
}

TEST(Scratchpad, APlacedStringThatComesAgainIsReplaced) {
  Device device;
  schema::MessageType type = every_schema().type("t.Every");
  std::string wire = with_string(std::string(100, 'x')) + with_string("short") + with_string(std::string(90, 'y'));
  ASSERT_TRUE(device.decode(type, wire).ok());
  const raw::Words* string = words(device, type, 9);
  EXPECT_EQ(std::string_view(string->begin(), string->size), std::string(90, 'y'));
}

TEST(Scratchpad, AMapsKeysStayInTheWindowWhateverTheirLength) {
  Device device;
  schema::MessageType type = every_schema().type("t.Maps");
  const schema::FieldEntry* map = nullptr;
  for (const schema::FieldEntry& field : type.fields()) {
    if (type.sub(field).fields()[0].kind == static_cast<uint8_t>(schema::Kind::kString)) map = &field;
  }
  ASSERT_NE(map, nullptr);
  std::string entry = "\x0a\x50" + std::string(80, 'k'), wire;
  for (int i = 0; i < 2; ++i) {  // the second is found to be the same key
    char head[20];
    char* end = wire::write_varint(wire::write_varint(head, wire::make_tag(map->number, 2)), entry.size());
    wire.append(head, end).append(entry);
  }
  ASSERT_TRUE(device.decode(type, wire).ok());
  EXPECT_EQ(device.memory.placed_bytes(), 0u);
  EXPECT_EQ(raw::words(device.bytes(), map->offset)->size, 1u);
}

TEST(Scratchpad, WhatDoesNotFitIsOutOfMemory) {
  schema::MessageType type = every_schema().type("t.Every");
  uint32_t size = type.entry().object_size;
  std::string wire = with_string(std::string(100, 'x'));
  Device small_window(size - 8), small_area(4096, size - 8), no_room_for_bytes(4096, size + 96),
      exact(4096, size + 104);
  EXPECT_EQ(small_window.decode(type, "").error, DecodeError::kOutOfMemory);
  EXPECT_EQ(small_area.decode(type, "").error, DecodeError::kOutOfMemory);
  EXPECT_EQ(no_room_for_bytes.decode(type, wire).error, DecodeError::kOutOfMemory);
  EXPECT_EQ(exact.decode(type, wire).error, DecodeError::kOk);
  // Bytes were placed first, and objects run into them.
  Device crowded(4096, size + 104);
  std::string more = wire;
  for (int i = 0; i < 8; ++i) more += from_hex("fa06 02 28 01");
  EXPECT_EQ(crowded.decode(type, more).error, DecodeError::kOutOfMemory);
  Device misaligned;
  misaligned.area.address += 4;
  EXPECT_EQ(misaligned.decode(type, "").error, DecodeError::kOutOfMemory);
}

TEST(Scratchpad, TheNextMessageMayUseTheSameWindow) {
  Device device;
  schema::MessageType type = every_schema().type("t.Every");
  EXPECT_EQ(device.decode(type, with_string(std::string(20000, 'x'))).error, DecodeError::kOutOfMemory);
  EXPECT_EQ(device.decode(type, from_hex("4a 7f 61")).error, DecodeError::kLengthPastEnd);
  ASSERT_TRUE(device.decode(type, with_string("abc")).ok());
  EXPECT_EQ(reinterpret_cast<const String*>(words(device, type, 9))->view(), "abc");
}

TEST(Scratchpad, ErrorsAreThoseOfTheHost) {
  schema::MessageType type = testing::implicit_schema().type("t3.Implicit");
  std::mt19937 random(7);
  for (int i = 0; i < 2000; ++i) {
    std::string wire;
    for (unsigned n = random() % 60; n > 0; --n)
      wire += static_cast<char>(random() % 4 == 0 ? random() : random() % 32);
    Device device(1 << 15, 1 << 16);
    TestObject here(type);
    DecodeResult expected = here.decode(wire), result = device.decode(type, wire);
    ASSERT_EQ(to_string(result), to_string(expected)) << testing::to_hex(wire);
    if (result.ok()) {
      ASSERT_TRUE(message::equal(type, *device.object(), *here.get())) << testing::to_hex(wire);
    }
  }
}

// ---- encoding from the host's memory

struct Fetched {
  EncodeResult result;
  std::string bytes;
};

Fetched encode_by_dma(Device& device, const schema::MessageType& type, const EncodeOptions& options = {},
                      size_t piece_capacity = 0, size_t room = 1 << 16) {
  ObjectCache<DelayedDma, 32, 8> cache(device.dma);
  std::vector<char> buffer(room);
  std::vector<FixedPiece> pieces(piece_capacity);
  FixedOutput out;
  out.buffer = buffer.data();
  out.buffer_size = room;
  out.pieces = pieces.data();
  out.piece_capacity = piece_capacity;
  Fetched fetched;
  fetched.result = encode_from_host(*type.image, type.index, device.area.address, device.area, cache, options, &out);
  if (!fetched.result.ok()) return fetched;
  if (piece_capacity == 0) fetched.bytes.assign(out.begin, fetched.result.size);
  for (size_t i = 0; i < out.piece_count; ++i) {
    const FixedPiece& piece = out.first_piece[i];
    auto* bytes = piece.referred ? device.bytes() + (piece.address - kBase) : reinterpret_cast<char*>(piece.address);
    fetched.bytes.append(bytes, piece.size);
  }
  return fetched;
}

TEST(FetchedMemory, TheObjectIsEncodedFromTheHostsMemory) {
  Device device;
  schema::MessageType type = every_schema().type("t.Every");
  std::string wire = with_string(std::string(300, 'x')) + from_hex("5a 02 28 07 c806 01 c806 02 fa06 02 28 01");
  ASSERT_TRUE(device.decode(type, wire).ok());
  EXPECT_EQ(encode_by_dma(device, type).bytes, wire);
}

TEST(FixedSink, RefersWhilePiecesLastAndCopiesFromThenOn) {
  Device device;
  schema::MessageType type = every_schema().type("t.Every");
  std::string wire;
  for (int i = 0; i < 4; ++i) wire += from_hex("ea06 50") + std::string(80, static_cast<char>('a' + i));
  ASSERT_TRUE(device.decode(type, wire).ok());
  for (size_t capacity : {0, 1, 2, 3, 4, 5, 7, 9, 20}) {
    Fetched fetched = encode_by_dma(device, type, {.reference_threshold = 64}, capacity);
    EXPECT_TRUE(fetched.result.ok()) << capacity;
    EXPECT_EQ(fetched.bytes, wire) << capacity;
  }
}

TEST(FixedSink, TheSpareSufficesWhateverTheFields) {
  schema::MessageType types[] = {every_schema().type("t.Every"), every_schema().type("t.Maps")};
  std::string wires[] = {from_hex("53 54"), from_hex("53 28 01 54"), "", "", ""};
  for (int i = 0; i < 200; ++i) wires[2] += from_hex("c806 ffffffffffffffffff01 c806 01");
  for (const schema::FieldEntry& field : types[1].fields()) {  // entries without a value
    char head[10];
    wires[3].append(head, wire::write_varint(head, wire::make_tag(field.number, 2))).append(1, '\0');
  }
  for (uint32_t number = 1; number < 30; ++number) {  // packed, where that is what it is
    char head[10];
    wires[4]
        .append(head, wire::write_varint(head, wire::make_tag(100 + number, 2)))
        .append(from_hex("08 0102030405060708"));
  }
  for (const schema::MessageType& type : types) {
    for (const std::string& wire : wires) {
      Device device(1 << 16, 1 << 17);
      TestObject in_place(type);
      if (!in_place.decode(wire).ok() || !device.decode(type, wire).ok()) continue;
      std::string expected = in_place.encode();
      Fetched fetched = encode_by_dma(device, type, {}, 0, expected.size() + FixedOutput::kSpare);
      EXPECT_TRUE(fetched.result.ok()) << to_string(fetched.result) << " " << testing::to_hex(wire);
      EXPECT_EQ(fetched.bytes, expected);
    }
  }
}

TEST(FixedSink, TooSmallABufferAndTooManyBytesAreErrors) {
  Device device;
  schema::MessageType type = every_schema().type("t.Every");
  std::string wire = with_string(std::string(300, 'x'));
  ASSERT_TRUE(device.decode(type, wire).ok());
  for (size_t room = 0; room < wire.size(); ++room) {
    EXPECT_EQ(encode_by_dma(device, type, {}, 0, room).result.error, EncodeError::kNoRoom) << room;
  }
  EXPECT_TRUE(encode_by_dma(device, type, {}, 0, wire.size() + FixedOutput::kSpare).result.ok());
  EXPECT_EQ(encode_by_dma(device, type, {.max_bytes = 100}).result.error, EncodeError::kTooLarge);
  EXPECT_EQ(encode_by_dma(device, type, {.max_bytes = 100, .reference_threshold = 64}, 9).result.error,
            EncodeError::kTooLarge);
}

TEST(FetchedMemory, WhateverTheHostScribblesItEndsAsInPlace) {
  schema::MessageType type = every_schema().type("t.Every");
  std::string wire = from_hex("28 01 4a 03 616263 5a 02 28 07 ca06 03 010203 ea06 01 61 fa06 02 28 01 fa06 02 28 02") +
                     from_hex("f23f 02 6869") + with_string(std::string(100, 'x'));
  std::mt19937 random(3);
  int failed = 0;
  for (int i = 0; i < 4000; ++i) {
    Device device(4096, 4096);
    ASSERT_TRUE(device.decode(type, wire).ok());
    for (unsigned n = random() % 4 + 1; n > 0; --n) {
      device.bytes()[random() % device.memory.window_used()] = static_cast<char>(random());
    }
    Bounds bounds{device.bytes(), device.area.size};
    EncodeOptions options{.bounds = &bounds, .max_bytes = 1 << 15, .work_allowance = 2000, .depth_limit = 20};
    std::vector<char> buffer(1 << 16);
    FixedOutput out;
    out.buffer = buffer.data();
    out.buffer_size = buffer.size();
    EncodeResult expected = freestanding::encode(*type.image, type.index, device.bytes(), options, &out);
    Fetched fetched = encode_by_dma(device, type, options);
    ASSERT_EQ(to_string(fetched.result), to_string(expected)) << i;
    if (expected.ok()) {
      ASSERT_EQ(fetched.bytes, std::string(out.begin, expected.size)) << i;
    } else {
      ++failed;
    }
  }
  EXPECT_GT(failed, 100);
}

}  // namespace
}  // namespace drover
