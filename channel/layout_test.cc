#include "channel/layout.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace drover {
namespace {

RegionLayout layout_of(const ChannelOptions& options) {
  std::string error;
  auto layout = RegionLayout::compute(options, &error);
  EXPECT_TRUE(layout) << error;
  return *layout;
}

TEST(Layout, NoTwoPartsOverlapAndNothingIsOutside) {
  for (uint32_t threads : {1u, 2u, 7u}) {
    for (uint32_t workers : {1u, 3u, 64u}) {
      for (uint32_t slots : {16u, 1024u}) {
        RegionLayout layout = layout_of({threads, workers, slots, 8192, 12288});
        RegionSizes sizes = layout.sizes();
        std::vector<Area> parts{{0, kRegionHeaderSize}, {sizes.rx, kRegionHeaderSize}};
        for (uint32_t e = 0; e < threads; ++e) parts.push_back({layout.engine_thread_shared(e), 64});
        for (uint32_t w = 0; w < workers; ++w) parts.push_back({layout.worker_shared(w), 64});
        for (uint32_t c = 0; c < layout.channels(); ++c) {
          parts.push_back({layout.requests_position(c), 64});
          parts.push_back({layout.responses_position(c), 64});
          for (const Area& area :
               {layout.requests_ring(c), layout.responses_ring(c), layout.rx_chunks(c), layout.tx_chunks(c)}) {
            parts.push_back(area);
          }
          // Who may write what: the engine's parts are in rx, the host's in tx.
          EXPECT_LT(layout.requests_ring(c).offset, sizes.rx);
          EXPECT_LT(layout.responses_position(c), sizes.rx);
          EXPECT_LT(layout.rx_chunks(c).offset, sizes.rx);
          EXPECT_GE(layout.responses_ring(c).offset, sizes.rx);
          EXPECT_GE(layout.requests_position(c), sizes.rx);
          // The engine may write the words that it wakes workers with, and nothing else of tx.
          uint64_t shared_end = sizes.rx + kRegionHeaderSize + sizes.tx_shared;
          EXPECT_GE(layout.requests_position(c), shared_end);
          EXPECT_GE(layout.responses_ring(c).offset, shared_end);
          EXPECT_EQ(layout.rx_chunks(c).offset % kChunkSize, 0u);
          EXPECT_EQ(layout.tx_chunks(c).offset % kChunkSize, 0u);
        }
        std::sort(parts.begin(), parts.end(), [](const Area& a, const Area& b) { return a.offset < b.offset; });
        for (size_t i = 0; i + 1 < parts.size(); ++i) {
          ASSERT_LE(parts[i].offset + parts[i].size, parts[i + 1].offset);
          ASSERT_EQ(parts[i].offset % 64, 0u);
        }
        ASSERT_EQ(parts.back().offset + parts.back().size, sizes.rx + sizes.tx);
        ASSERT_EQ(sizes.tx_shared % kRegionHeaderSize, 0u);
        ASSERT_LE(layout.worker_shared(workers - 1) + 64, sizes.rx + kRegionHeaderSize + sizes.tx_shared);
      }
    }
  }
}

TEST(Layout, AThreadsChunksAreItsChannelsChunks) {
  RegionLayout layout = layout_of({3, 4, 16, 8192, 4096});
  for (uint32_t e = 0; e < 3; ++e) {
    Area area = layout.rx_chunks_of_thread(e);
    EXPECT_EQ(area.offset, layout.rx_chunks(layout.channel(e, 0)).offset);
    Area last = layout.rx_chunks(layout.channel(e, 3));
    EXPECT_EQ(area.offset + area.size, last.offset + last.size);
  }
  Area all = layout.tx_chunks_of_host();
  EXPECT_EQ(all.offset, layout.tx_chunks(0).offset);
  EXPECT_EQ(all.offset + all.size, layout.sizes().rx + layout.sizes().tx);
}

TEST(Layout, OptionsOutOfRangeAreNamed) {
  struct Case {
    ChannelOptions options;
    const char* named;
  };
  const Case cases[] = {
      {{0, 1, 16, 4096, 4096}, "engine_threads is 0, expected 1 to 64"},
      {{65, 1, 16, 4096, 4096}, "engine_threads"},
      {{1, 0, 16, 4096, 4096}, "workers"},
      {{1, 1025, 16, 4096, 4096}, "workers"},
      {{1, 1, 8, 4096, 4096}, "ring_slots"},
      {{1, 1, 48, 4096, 4096}, "ring_slots is 48, expected a power of two"},
      {{1, 1, UINT32_MAX, 4096, 4096}, "ring_slots"},
      {{1, 1, 16, 0, 4096}, "rx_bytes"},
      {{1, 1, 16, 4096, 5000}, "tx_bytes is 5000, expected a multiple of 4096"},
      {{64, 1024, 16, UINT64_MAX & ~uint64_t{4095}, 4096}, "rx_bytes"},
  };
  for (const Case& c : cases) {
    std::string error;
    EXPECT_FALSE(RegionLayout::compute(c.options, &error));
    EXPECT_NE(error.find(c.named), std::string::npos) << error;
  }
}

TEST(Layout, TheHostReadsWhatTheEngineWroteAndRefusesAnythingElse) {
  ChannelOptions options{2, 2, 32, 16384, 8192};
  RegionLayout layout = layout_of(options);
  RegionError error;
  auto engine = Region::create(layout.sizes(), &error);
  ASSERT_TRUE(engine) << error.message;
  ASSERT_TRUE(layout.write(*engine));
  auto host = Region::attach(UniqueFd(::dup(engine->rx_fd())), UniqueFd(::dup(engine->tx_fd())), &error);
  ASSERT_TRUE(host) << error.message;
  std::string wrong;
  auto seen = RegionLayout::read(*host, &wrong);
  ASSERT_TRUE(seen) << wrong;
  EXPECT_EQ(seen->options(), options);
  EXPECT_EQ(seen->tx_chunks(3).offset, layout.tx_chunks(3).offset);

  // Every word of the record counts.
  char* record = engine->rx() + sizeof(RegionHeader);
  for (size_t at = 0; at < sizeof(LayoutRecord); at += 4) {
    if (at == offsetof(LayoutRecord, reserved)) continue;
    uint32_t word;
    std::memcpy(&word, record + at, 4);
    uint32_t changed = word ^ 0x2000;
    std::memcpy(record + at, &changed, 4);
    EXPECT_FALSE(RegionLayout::read(*host, &wrong)) << "byte " << at;
    EXPECT_FALSE(wrong.empty());
    std::memcpy(record + at, &word, 4);
  }
  EXPECT_TRUE(RegionLayout::read(*host, &wrong));
}

}  // namespace
}  // namespace drover
