// The frame reader, fed with the same bytes in pieces of every size, and with frames that are wrong.

#include "bench/load/frame.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace drover::bench {
namespace {

struct Seen {
  FrameType type;
  uint32_t stream;
  bool end_stream;
  std::vector<uint8_t> payload;
  bool operator==(const Seen&) const = default;
};

void append_frame(std::vector<uint8_t>* out, FrameType type, uint8_t flags, uint32_t stream,
                  const std::vector<uint8_t>& payload) {
  append_frame_header(out, payload.size(), type, flags, stream);
  out->insert(out->end(), payload.begin(), payload.end());
}

// Pieces of one DATA frame are joined again, up to `piece_size` bytes at a time being fed.
std::vector<Seen> read_in_pieces(const std::vector<uint8_t>& bytes, size_t piece_size) {
  FrameReader reader;
  std::vector<Seen> seen;
  size_t data_left = 0;
  for (size_t at = 0; at < bytes.size(); at += piece_size) {
    reader.feed(std::span(bytes).subspan(at, std::min(piece_size, bytes.size() - at)));
    Frame frame;
    FrameReader::Result result;
    while ((result = reader.next(&frame)) == FrameReader::Result::kFrame) {
      const bool end_stream = (frame.flags & kFlagEndStream) != 0;
      const bool joins = frame.type == FrameType::kData && data_left > 0;
      if (!joins) seen.push_back({frame.type, frame.stream, false, {}});
      seen.back().payload.insert(seen.back().payload.end(), frame.payload.begin(), frame.payload.end());
      seen.back().end_stream = end_stream;
      // Only the tests' DATA frames of 1000 bytes may come in pieces.
      data_left = frame.type == FrameType::kData && seen.back().payload.size() < 1000 && !end_stream ? 1 : 0;
    }
    EXPECT_EQ(result, FrameReader::Result::kNeedMore) << reader.error();
  }
  return seen;
}

TEST(FrameReader, SeesTheSameFramesHoweverTheBytesAreCut) {
  std::vector<uint8_t> text(1000);
  std::iota(text.begin(), text.end(), 0);
  const std::vector<uint8_t> block(40, 0x88);
  std::vector<uint8_t> bytes;
  append_frame(&bytes, FrameType::kSettings, 0, 0, {});
  append_frame(&bytes, FrameType::kHeaders, kFlagEndHeaders, 1, block);
  append_frame(&bytes, FrameType::kData, 0, 1, text);
  append_frame(&bytes, FrameType::kData, kFlagEndStream, 3, {});
  append_frame(&bytes, FrameType::kHeaders, kFlagEndHeaders | kFlagEndStream, 1, block);
  append_window_update(&bytes, 5, 77);
  const std::vector<Seen> expected = {
      {FrameType::kSettings, 0, false, {}},  {FrameType::kHeaders, 1, false, block},
      {FrameType::kData, 1, false, text},    {FrameType::kData, 3, true, {}},
      {FrameType::kHeaders, 1, true, block}, {FrameType::kWindowUpdate, 5, false, {0, 0, 0, 77}},
  };
  for (size_t piece = 1; piece < 80; ++piece) EXPECT_EQ(read_in_pieces(bytes, piece), expected) << piece;
  EXPECT_EQ(read_in_pieces(bytes, 1000), expected);
  EXPECT_EQ(read_in_pieces(bytes, bytes.size()), expected);
}

TEST(FrameReader, TakesPaddingAndPriorityOff) {
  std::vector<uint8_t> bytes;
  append_frame(&bytes, FrameType::kHeaders, kFlagPadded | kFlagPriority | kFlagEndHeaders, 1,
               {2, 0, 0, 0, 0, 16, 'a', 'b', 0, 0});
  append_frame(&bytes, FrameType::kData, kFlagPadded | kFlagEndStream, 1, {3, 'x', 0, 0, 0});
  FrameReader reader;
  reader.feed(bytes);
  Frame frame;
  ASSERT_EQ(reader.next(&frame), FrameReader::Result::kFrame);
  EXPECT_EQ(std::string(frame.payload.begin(), frame.payload.end()), "ab");
  ASSERT_EQ(reader.next(&frame), FrameReader::Result::kFrame);
  EXPECT_EQ(std::string(frame.payload.begin(), frame.payload.end()), "x");
  EXPECT_EQ(frame.flow_controlled, 5u);
  EXPECT_EQ(reader.next(&frame), FrameReader::Result::kNeedMore);
}

TEST(FrameReader, RefusesFramesThatAreTooLong) {
  std::vector<uint8_t> bytes;
  append_frame_header(&bytes, kDefaultFrameSize + 1, FrameType::kData, 0, 1);
  FrameReader reader;
  reader.feed(bytes);
  Frame frame;
  EXPECT_EQ(reader.next(&frame), FrameReader::Result::kError);
  EXPECT_STRNE(reader.error(), "");
}

TEST(FrameReader, RefusesPaddingAndPriorityThatDoNotFit) {
  const std::vector<std::pair<uint8_t, std::vector<uint8_t>>> wrong = {{kFlagPadded, {}},
                                                                       {kFlagPadded, {2, 0}},
                                                                       {kFlagPriority, {0, 0, 0, 0}},
                                                                       {kFlagPadded | kFlagPriority, {1, 0, 0}}};
  for (const auto& [flags, payload] : wrong) {
    std::vector<uint8_t> bytes;
    append_frame(&bytes, FrameType::kHeaders, flags, 1, payload);
    FrameReader reader;
    reader.feed(bytes);
    Frame frame;
    EXPECT_EQ(reader.next(&frame), FrameReader::Result::kError);
  }
}

TEST(FrameReader, SurvivesRandomBytes) {
  std::mt19937 random(11);
  for (int round = 0; round < 2000; ++round) {
    std::vector<uint8_t> bytes(random() % 600);
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random() % 3 == 0 ? random() : 0);
    FrameReader reader;
    Frame frame;
    FrameReader::Result result = FrameReader::Result::kNeedMore;
    for (size_t at = 0; at < bytes.size() && result != FrameReader::Result::kError;) {
      const size_t size = std::min<size_t>(1 + random() % 50, bytes.size() - at);
      reader.feed(std::span(bytes).subspan(at, size));
      at += size;
      while ((result = reader.next(&frame)) == FrameReader::Result::kFrame) {
        EXPECT_LE(frame.payload.size(), kDefaultFrameSize);
      }
    }
  }
}

TEST(FrameWriter, WritesSettingsAsTheRfcSays) {
  std::vector<uint8_t> bytes;
  const std::pair<Setting, uint32_t> settings[] = {{Setting::kInitialWindowSize, 0x01020304}};
  append_settings(&bytes, settings);
  EXPECT_EQ(bytes, (std::vector<uint8_t>{0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 4, 1, 2, 3, 4}));
}

}  // namespace
}  // namespace drover::bench
