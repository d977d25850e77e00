// IdxdCopy against a device of the test's own: a thread behind a portal in plain memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <random>
#include <thread>

#include "codec/copy/best_copy.h"
#include "codec/copy/idxd_queue.h"
#include "codec/preserialize/preserialize.h"
#include "testing/every_schema.h"
#include "testing/hex.h"
#include "testing/test_object.h"

#if defined(__x86_64__) && __has_include(<linux/idxd.h>)
#include <linux/idxd.h>

namespace drover {
namespace {

using ::testing::HasSubstr;

// What becomes of a descriptor.
struct Fate {
  uint8_t status = DSA_COMP_SUCCESS;
  uint32_t bytes_completed = 0;  // of a fault
  uint8_t result = 0;
};

class Device {
 public:
  explicit Device(uint32_t capacity) : capacity_(capacity), thread_([this] { work(); }) {}
  ~Device() {
    {
      std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  // The next descriptors' fates, in turn; behind the last all succeed.
  void expect(std::vector<Fate> fates) {
    std::lock_guard lock(mutex_);
    fates_.assign(fates.begin(), fates.end());
  }
  void hold(bool held) {
    std::lock_guard lock(mutex_);
    held_ = held;
    changed_.notify_all();
  }
  uint32_t most() {
    std::lock_guard lock(mutex_);
    return most_;
  }
  uint32_t taken() {
    std::lock_guard lock(mutex_);
    return taken_;
  }

  // The portal is the device itself.
  static bool submit(void* portal, const dsa_hw_desc& descriptor) {
    auto* device = static_cast<Device*>(portal);
    std::lock_guard lock(device->mutex_);
    if (device->waiting_.size() >= device->capacity_) return false;
    device->waiting_.push_back(descriptor);
    ++device->taken_;
    device->most_ = std::max(device->most_, static_cast<uint32_t>(device->waiting_.size()));
    device->changed_.notify_all();
    return true;
  }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return stopped_ || (!held_ && !waiting_.empty()); });
      if (waiting_.empty() || held_) return;
      dsa_hw_desc descriptor = waiting_.front();
      Fate fate;
      if (!fates_.empty()) {
        fate = fates_.front();
        fates_.pop_front();
      }
      complete(descriptor, fate);
      waiting_.pop_front();
    }
  }
  static void complete(const dsa_hw_desc& descriptor, const Fate& fate) {
    EXPECT_EQ(static_cast<int>(descriptor.opcode), DSA_OPCODE_MEMMOVE);
    auto* record = reinterpret_cast<dsa_completion_record*>(static_cast<uintptr_t>(descriptor.completion_addr));
    EXPECT_EQ(descriptor.completion_addr % 32, 0u);
    size_t copied = fate.status == DSA_COMP_SUCCESS ? descriptor.xfer_size : fate.bytes_completed;
    copied = std::min<size_t>(copied, descriptor.xfer_size);
    std::memcpy(reinterpret_cast<void*>(static_cast<uintptr_t>(descriptor.dst_addr)),
                reinterpret_cast<const void*>(static_cast<uintptr_t>(descriptor.src_addr)), copied);
    record->bytes_completed = fate.bytes_completed;
    record->result = fate.result;
    __atomic_store_n(&record->status, fate.status, __ATOMIC_RELEASE);
  }

  const uint32_t capacity_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<dsa_hw_desc> waiting_;
  std::deque<Fate> fates_;
  uint32_t most_ = 0, taken_ = 0;
  bool held_ = false, stopped_ = false;
  std::thread thread_;
};

constexpr uint64_t kMaxTransfer = 1 << 20;

std::string random_bytes(size_t size) {
  static std::mt19937_64 random(7);
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  return bytes;
}

class Idxd : public ::testing::Test {
 protected:
  explicit Idxd(uint32_t limit = 0) : queue("wq0.0", &device, &Device::submit, kMaxTransfer, limit) {}

  void copies(const std::string& from) {
    std::string to(from.size(), '\0');
    engine->copy(to.data(), from.data(), from.size());
    engine->wait();
    EXPECT_TRUE(to == from) << from.size() << " bytes";
  }

  Device device{128};
  IdxdQueue queue;
  std::unique_ptr<IdxdCopy> engine = IdxdCopy::make(&queue);
};

TEST_F(Idxd, CopiesWhatItIsGiven) {
  for (size_t size : {size_t{0}, size_t{1}, size_t{4095}, size_t{4096}, size_t{4097}, size_t{100'000}}) {
    copies(random_bytes(size));
  }
  EXPECT_EQ(device.taken(), 3u);
  EXPECT_EQ(engine->device_bytes(), 4096u + 4097 + 100'000);
  EXPECT_EQ(engine->processor_bytes(), 0u);
}

TEST_F(Idxd, CutsWhatIsMoreThanOneDescriptorCopies) {
  copies(random_bytes(3 * kMaxTransfer + 17));
  EXPECT_EQ(device.taken(), 4u);
}

TEST_F(Idxd, TheProcessorFinishesWhatAPageFaultBrokeOff) {
  uint8_t write_fault = DSA_COMP_PAGE_FAULT_NOBOF | DSA_COMP_STATUS_WRITE;
  device.expect({{DSA_COMP_PAGE_FAULT_NOBOF, 8192, 0}, {write_fault, 0, 0}});
  copies(random_bytes(20'000));
  EXPECT_EQ(engine->device_bytes(), 8192u);
  copies(random_bytes(20'000));
  EXPECT_EQ(engine->device_bytes(), 8192u);
  EXPECT_EQ(engine->processor_bytes(), 40'000u - 8192);
}

TEST_F(Idxd, TheProcessorDoesWhatTheDeviceRefuses) {
  // An impossible count, and a copy that went backwards, are rejected.
  device.expect({{DSA_COMP_XFER_ERANGE, 0, 0},
                 {DSA_COMP_PAGE_FAULT_NOBOF, 30'000, 0},
                 {DSA_COMP_PAGE_FAULT_NOBOF, 4096, 1},
                 {DSA_COMP_HW_ERR1, 4096, 0}});
  for (int i = 0; i < 4; ++i) copies(random_bytes(20'000));
  EXPECT_EQ(engine->device_bytes(), 0u);
  EXPECT_EQ(engine->processor_bytes(), 80'000u);
}

TEST_F(Idxd, MoreCopiesThanMayBeUnderWayAreAllDone) {
  device.hold(true);
  std::string from = random_bytes(200 * 5000), to(from.size(), '\0');
  for (size_t i = 0; i < 200; ++i) engine->copy(to.data() + i * 5000, from.data() + i * 5000, 5000);
  EXPECT_EQ(device.taken(), IdxdCopy::kUnderWay);
  device.hold(false);
  engine->wait();
  EXPECT_TRUE(to == from);
  EXPECT_EQ(engine->device_bytes() + engine->processor_bytes(), from.size());
  EXPECT_GT(engine->processor_bytes(), 0u);
}

class SmallIdxd : public Idxd {
 protected:
  SmallIdxd() : Idxd(3) {}
};

TEST_F(SmallIdxd, ADedicatedQueueIsNeverGivenMoreThanItHolds) {
  device.hold(true);
  std::unique_ptr<IdxdCopy> second = IdxdCopy::make(&queue);
  std::string from = random_bytes(12 * 5000), to(from.size(), '\0');
  for (size_t i = 0; i < 12; ++i) {
    (i % 2 == 0 ? engine : second)->copy(to.data() + i * 5000, from.data() + i * 5000, 5000);
  }
  EXPECT_EQ(device.most(), 3u);
  device.hold(false);
  engine->wait();
  second->wait();
  EXPECT_TRUE(to == from);
  EXPECT_EQ(engine->processor_bytes() + second->processor_bytes(), 9 * 5000u);
  copies(random_bytes(5000));  // there is room again
  EXPECT_EQ(device.taken(), 4u);
}

TEST(IdxdShared, WhatAFullQueueDoesNotTakeTheProcessorCopies) {
  Device device(2);
  IdxdQueue queue("wq0.1", &device, &Device::submit, kMaxTransfer, 0);
  std::unique_ptr<IdxdCopy> engine = IdxdCopy::make(&queue);
  device.hold(true);
  std::string from = random_bytes(10 * 5000), to(from.size(), '\0');
  for (size_t i = 0; i < 10; ++i) engine->copy(to.data() + i * 5000, from.data() + i * 5000, 5000);
  device.hold(false);
  engine->wait();
  EXPECT_TRUE(to == from);
  EXPECT_EQ(engine->processor_bytes(), 8 * 5000u);
}

TEST_F(Idxd, ManyThreadsShareAQueue) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([this, t] {
      std::unique_ptr<IdxdCopy> own = IdxdCopy::make(&queue);
      for (size_t i = 0; i < 50; ++i) {
        std::string from(5000 + 100 * i, static_cast<char>('a' + t)), to(from.size(), '\0');
        own->copy(to.data(), from.data(), from.size());
        own->wait();
        ASSERT_TRUE(to == from);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(Idxd, AStreamIsTheProcessorsByteForByte) {
  testing::TestObject object(testing::every_schema().type("t.Every"));
  std::string a(30'000, 'a'), b(4000, 'b');
  ASSERT_TRUE(object.decode(testing::from_hex("4a b0ea01") + a + testing::from_hex("62 a01f") + b).ok());
  std::vector<uint64_t> plain_memory(1 << 13), memory(1 << 13);
  PreserializedOutput plain{reinterpret_cast<char*>(plain_memory.data()), plain_memory.size() * 8};
  PreserializedOutput out{reinterpret_cast<char*>(memory.data()), memory.size() * 8};
  ASSERT_TRUE(preserialize(object.type(), object.get(), {}, &plain).ok());
  device.expect({{DSA_COMP_PAGE_FAULT_NOBOF, 12'288, 0}});
  BestCopy best(&queue, "the test's");
  ASSERT_TRUE(preserialize(object.type(), object.get(), {}, best, &out).ok());
  best.wait();
  EXPECT_EQ(device.taken(), 1u);
  EXPECT_TRUE(memory == plain_memory);
}

// ---- what the kernel says there is
class Sysfs : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/drover-idxd-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    root = name;
  }
  void TearDown() override { std::filesystem::remove_all(root); }
  void queue(const std::string& name, const std::vector<std::pair<std::string, std::string>>& files) const {
    std::filesystem::create_directories(root + "/" + name);
    for (const auto& [file, text] : files) std::ofstream(root + "/" + name + "/" + file) << text << "\n";
  }

  std::string root;
};

TEST_F(Sysfs, QueuesForUsersAreFoundDedicatedOnesFirst) {
  queue("dsa0", {{"state", "enabled"}});
  queue("wq0.0",
        {{"type", "user"}, {"state", "enabled"}, {"mode", "shared"}, {"size", "16"}, {"max_transfer_size", "2097152"}});
  queue("wq0.1", {{"type", "user"},
                  {"state", "enabled"},
                  {"mode", "dedicated"},
                  {"size", "32"},
                  {"max_transfer_size", "1048576"}});
  std::string why_not;
  std::vector<IdxdQueueInfo> found = find_idxd_queues(root, &why_not);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].name, "wq0.1");
  EXPECT_TRUE(found[0].dedicated);
  EXPECT_EQ(found[0].size, 32u);
  EXPECT_EQ(found[0].max_transfer, 1u << 20);
  EXPECT_FALSE(found[1].dedicated);
  EXPECT_EQ(why_not, "");
}

TEST_F(Sysfs, WhyAQueueIsNoneIsSaid) {
  queue("wq0.0", {{"type", "kernel"}, {"state", "enabled"}});
  queue("wq0.1", {{"type", "user"}, {"state", "disabled"}});
  queue("wq0.2", {{"type", "user"}, {"state", "enabled"}, {"mode", "shared"}, {"size", "none"}});
  std::string why_not;
  EXPECT_TRUE(find_idxd_queues(root, &why_not).empty());
  EXPECT_THAT(why_not, HasSubstr("wq0.0 is of type kernel"));
  EXPECT_THAT(why_not, HasSubstr("wq0.1 is disabled"));
  EXPECT_THAT(why_not, HasSubstr("wq0.2 holds no descriptors"));
  why_not.clear();
  EXPECT_TRUE(find_idxd_queues(root + "/none", &why_not).empty());
  EXPECT_THAT(why_not, HasSubstr("No such file or directory"));
}

TEST(BestCopy, SaysWhoCopies) {
  BestCopy& best = best_memcpy_engine();
  EXPECT_THAT(best.what(), ::testing::AnyOf(HasSubstr("Intel DSA, wq"), HasSubstr("the processor (")));
  EXPECT_EQ(&best, &best_memcpy_engine());
  std::string from = random_bytes(100'000), to(from.size(), '\0');
  best.copy(to.data(), from.data(), from.size());
  best.wait();
  EXPECT_TRUE(to == from);
}

}  // namespace
}  // namespace drover

#endif
