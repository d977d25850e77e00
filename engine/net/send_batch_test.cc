#include "engine/net/send_batch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <random>
#include <string>

namespace drover::engine {
namespace {

class Trickle : public ByteSink {
 public:
  ssize_t write(const iovec* parts, size_t count) override {
    if (room == 0) {
      errno = EAGAIN;
      return -1;
    }
    size_t taken = 0;
    for (size_t i = 0; i < count && room > 0; ++i) {
      size_t n = std::min(room, parts[i].iov_len);
      got.append(static_cast<char*>(parts[i].iov_base), n);
      room -= n;
      taken += n;
    }
    return static_cast<ssize_t>(taken);
  }
  size_t room = 0;
  std::string got;
};

TEST(SendBatch, NeighbouringCopiesAreOnePart) {
  SendBatch batch;
  batch.append_copy("abc", 3);
  batch.append_copy("def", 3);
  EXPECT_EQ(batch.parts().size(), 1u);
  std::string large(5000, 'x');
  batch.append_reference(large.data(), large.size());
  batch.append_copy("ghi", 3);
  EXPECT_EQ(batch.parts().size(), 3u);
  EXPECT_EQ(batch.bytes(), 5009u);
  EXPECT_FALSE(batch.is_copied(batch.parts()[1]));
  EXPECT_TRUE(batch.is_copied(batch.parts()[2]));
}

TEST(SendBatch, AFrameLargerThanTheBufferStillFits) {
  SendBatch batch;
  std::string huge(SendBatch::kBuffer, 'h');
  batch.append_copy("a", 1);
  batch.append_copy(huge.data(), huge.size());
  EXPECT_EQ(batch.bytes(), huge.size() + 1);
  EXPECT_TRUE(batch.is_copied(batch.parts()[1]));
  EXPECT_EQ(0, std::memcmp(batch.parts()[1].iov_base, huge.data(), huge.size()));
}

TEST(SendBatch, SegmentsStandBesideEachOtherAndTheLastOneCanBeDropped) {
  SendBatch batch;
  batch.begin();
  batch.append_copy("first", 5);
  std::span<const iovec> first = batch.parts();
  batch.begin();
  EXPECT_TRUE(batch.parts().empty());
  batch.append_copy("second", 6);
  std::string huge(SendBatch::kBuffer, 'h');
  batch.append_copy(huge.data(), huge.size());
  EXPECT_EQ(batch.bytes(), 6 + huge.size());
  EXPECT_EQ(batch.parts().size(), 2u);
  batch.drop();
  EXPECT_EQ(batch.bytes(), 0u);
  batch.begin();
  batch.append_copy("third", 5);
  EXPECT_EQ(std::string(static_cast<char*>(first[0].iov_base), first[0].iov_len), "first");
  EXPECT_EQ(std::string(static_cast<char*>(batch.parts()[0].iov_base), 5), "third");
  EXPECT_TRUE(batch.is_copied(batch.parts()[0]));
}

TEST(UnsentQueue, WhateverTheSocketTakesTheBytesArriveInOrder) {
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    SendBatch batch;
    std::string expected;
    std::vector<std::string> referenced;
    referenced.reserve(20);
    for (int i = 0; i < 20; ++i) {
      std::string bytes(random() % 300 + 1, static_cast<char>('a' + i));
      expected += bytes;
      if (random() % 2) {
        batch.append_copy(bytes.data(), bytes.size());
      } else {
        referenced.push_back(std::move(bytes));
        batch.append_reference(referenced.back().data(), referenced.back().size());
      }
    }
    size_t first = random() % expected.size();
    UnsentQueue queue;
    queue.take(batch, batch.parts(), first);
    batch.clear();
    std::string scribble(1000, '!');
    batch.append_copy(scribble.data(), scribble.size());  // the queue's copies are its own
    Trickle sink;
    while (!queue.empty()) {
      sink.room = random() % 200 + 1;
      ssize_t taken = sink.write(queue.parts().data(), queue.parts().size());
      ASSERT_GT(taken, 0);
      queue.remove(static_cast<size_t>(taken));
    }
    EXPECT_EQ(sink.got, expected.substr(first));
    EXPECT_EQ(queue.bytes(), 0u);
  }
}

}  // namespace
}  // namespace drover::engine
