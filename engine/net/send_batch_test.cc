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
    queue.take(batch, first);
    batch.clear();
    std::string scribble(1000, '!');
    batch.append_copy(scribble.data(), scribble.size());  // the queue's copies are its own
    Trickle sink;
    EXPECT_EQ(queue.write_to(sink), -1);
    while (!queue.empty()) {
      sink.room = random() % 200 + 1;
      ASSERT_GT(queue.write_to(sink), 0);
    }
    EXPECT_EQ(sink.got, expected.substr(first));
    EXPECT_EQ(queue.bytes(), 0u);
  }
}

}  // namespace
}  // namespace drover::engine
