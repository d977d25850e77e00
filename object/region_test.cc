#include "object/region.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <new>

#include "object/arena.h"
#include "object/offset_ptr.h"
#include "object/string.h"

namespace drover {
namespace {

constexpr RegionSizes kSizes{64 * 1024, 32 * 1024, 4096};

Region make_region() {
  RegionError error;
  auto region = Region::create(kSizes, &error);
  EXPECT_TRUE(region) << error.message;
  return std::move(*region);
}

// The effect of SCM_RIGHTS on a descriptor, without the other process.
UniqueFd duplicate(int fd) { return UniqueFd(::fcntl(fd, F_DUPFD_CLOEXEC, 0)); }

std::optional<Region> attach_to(const Region& engine, RegionError* error) {
  return Region::attach(duplicate(engine.rx_fd()), duplicate(engine.tx_fd()), error);
}

// Shaped like a generated message: header, has-bits, fields.
struct Node {
  MessageHeader header;
  uint32_t has[2];
  uint64_t number;
  String name;
  OffsetPtr<Node> next;
};

class AreaSource final : public BlockSource {
 public:
  AreaSource(char* begin, size_t size) : begin_(begin), size_(size) {}
  Block allocate_block(size_t min_size) override {
    if (min_size > size_) return {};
    Block block{begin_, size_};
    size_ = 0;
    return block;
  }
  void free_block(void*, size_t) override {}

 private:
  char* begin_;
  size_t size_;
};

TEST(Region, ObjectsReadTheSameThroughTwoMappingsAtDifferentAddresses) {
  Region engine = make_region();
  RegionError error;
  auto host = attach_to(engine, &error);
  ASSERT_TRUE(host) << error.message;
  ASSERT_NE(engine.base(), host->base());

  AreaSource source(engine.rx() + kRegionHeaderSize, 16 * 1024);
  Arena arena(source);
  Node* previous = nullptr;
  for (uint64_t i = 0; i < 10; ++i) {
    Node* node = new (arena.allocate_zeroed(sizeof(Node))) Node{};
    node->number = i;
    node->name.assign_in(&arena, "the name of node " + std::to_string(i));
    node->next.set(previous);
    previous = node;
  }
  uint64_t offset = engine.offset_of(previous);

  for (const Region* side : {&engine, &*host}) {
    auto* node = reinterpret_cast<const Node*>(side->at(offset, sizeof(Node)));
    ASSERT_NE(node, nullptr);
    uint64_t expected = 10;
    for (; node != nullptr; node = node->next.get()) {
      --expected;
      EXPECT_TRUE(side->contains(node, sizeof *node));
      EXPECT_TRUE(side->contains(node->name.data(), node->name.size()));
      EXPECT_EQ(node->number, expected);
      EXPECT_EQ(node->name, "the name of node " + std::to_string(expected));
    }
    EXPECT_EQ(expected, 0u);
  }
}

TEST(Region, AResponseInTxMayPointIntoRx) {
  Region engine = make_region();
  RegionError error;
  auto host = attach_to(engine, &error);
  ASSERT_TRUE(host) << error.message;
  std::memcpy(engine.rx() + 8192, "request bytes", 14);
  auto* response = new (host->tx() + 4096) Node{};
  response->name.borrow(host->rx() + 8192, 13, true);
  auto* seen = reinterpret_cast<const Node*>(engine.at_tx(host->offset_of(response), sizeof(Node)));
  ASSERT_NE(seen, nullptr);
  EXPECT_EQ(seen->name, "request bytes");
  EXPECT_TRUE(engine.in_rx(engine.offset_of(seen->name.data())));
}

TEST(Region, TheHostCannotGetAWritableMappingOfRx) {
  Region engine = make_region();
  RegionError error;
  auto host = attach_to(engine, &error);
  ASSERT_TRUE(host) << error.message;
  EXPECT_EQ(::mmap(nullptr, kSizes.rx, PROT_READ | PROT_WRITE, MAP_SHARED, host->rx_fd(), 0), MAP_FAILED);
  EXPECT_NE(::mprotect(host->rx(), kSizes.rx, PROT_READ | PROT_WRITE), 0);
  EXPECT_EQ(::pwrite(host->rx_fd(), "x", 1, 5000), -1);
  EXPECT_NE(::fallocate(host->rx_fd(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096), 0);
  UniqueFd reopened(::open(("/proc/self/fd/" + std::to_string(host->rx_fd())).c_str(), O_RDWR | O_CLOEXEC));
  if (reopened) {
    EXPECT_EQ(::mmap(nullptr, kSizes.rx, PROT_WRITE, MAP_SHARED, reopened.get(), 0), MAP_FAILED);
    EXPECT_EQ(::pwrite(reopened.get(), "x", 1, 5000), -1);
  }
  EXPECT_FALSE(host->writable_rx());
  // The engine's own mapping stays writable, and the host sees what it writes.
  engine.rx()[5000] = 'y';
  EXPECT_EQ(host->rx()[5000], 'y');
}

TEST(RegionDeath, WritingRxOnTheHostSideIsAFault) {
  Region engine = make_region();
  RegionError error;
  auto host = attach_to(engine, &error);
  ASSERT_TRUE(host) << error.message;
  EXPECT_DEATH(*static_cast<volatile char*>(host->rx() + 5000) = 1, "");
}

TEST(Region, TheEngineWritesThePartOfTxThatIsSharedAndNoOther) {
  Region engine = make_region();
  RegionError error;
  auto host = attach_to(engine, &error);
  ASSERT_TRUE(host) << error.message;
  engine.tx()[kRegionHeaderSize] = 'e';
  engine.tx()[kRegionHeaderSize + kSizes.tx_shared - 1] = 'f';
  EXPECT_EQ(host->tx()[kRegionHeaderSize], 'e');
  host->tx()[kRegionHeaderSize] = 'h';
  EXPECT_EQ(engine.tx()[kRegionHeaderSize], 'h');
  host->tx()[9000] = 'r';
  EXPECT_EQ(engine.tx()[9000], 'r');
  EXPECT_EQ(host->tx_header()->magic, kRegionMagic);
}

TEST(RegionDeath, WritingTheHostsTxOnTheEngineSideIsAFault) {
  Region engine = make_region();
  for (size_t at : {size_t{0}, kRegionHeaderSize + kSizes.tx_shared, kSizes.tx - 1}) {
    EXPECT_DEATH(*static_cast<volatile char*>(engine.tx() + at) = 1, "");
  }
}

TEST(Region, OnceAHostHasAttachedTheEngineCannotGetAWritableMappingOfTx) {
  Region engine = make_region();
  RegionError error;
  auto host = attach_to(engine, &error);
  ASSERT_TRUE(host) << error.message;
  size_t rest = kRegionHeaderSize + kSizes.tx_shared;
  EXPECT_EQ(::mmap(nullptr, kSizes.tx, PROT_READ | PROT_WRITE, MAP_SHARED, engine.tx_fd(), 0), MAP_FAILED);
  EXPECT_NE(::mprotect(engine.tx() + rest, kSizes.tx - rest, PROT_READ | PROT_WRITE), 0);
  EXPECT_NE(::mprotect(engine.tx(), kRegionHeaderSize, PROT_READ | PROT_WRITE), 0);
  EXPECT_EQ(::pwrite(engine.tx_fd(), "x", 1, 9000), -1);
  EXPECT_NE(::fallocate(engine.tx_fd(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 8192, 4096), 0);
  EXPECT_FALSE(engine.write_tx_header(0, "x", 1, &error));
  // The host's own mapping stays writable, and no second host can have one.
  host->tx()[9000] = 'y';
  EXPECT_EQ(engine.tx()[9000], 'y');
  EXPECT_FALSE(attach_to(engine, &error));
  EXPECT_EQ(error.code, RegionErrorCode::kSystem);
}

TEST(Region, ASharedPartThatIsNotWholePagesInsideTxIsRefused) {
  for (size_t shared : {size_t{1}, size_t{4095}, kSizes.tx, SIZE_MAX - 4095}) {
    RegionError error;
    EXPECT_FALSE(Region::create({kSizes.rx, kSizes.tx, shared}, &error));
    EXPECT_EQ(error.code, RegionErrorCode::kBadSize);
  }
}

TEST(Region, NeitherSideCanShrinkOrGrowUnderTheOther) {
  Region engine = make_region();
  RegionError error;
  auto host = attach_to(engine, &error);
  ASSERT_TRUE(host) << error.message;
  for (int fd : {engine.rx_fd(), engine.tx_fd()}) {
    EXPECT_NE(::ftruncate(fd, 4096), 0);
    EXPECT_NE(::ftruncate(fd, 1 << 20), 0);
    EXPECT_NE(::fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), 0);  // the set of seals itself is final
  }
}

TEST(Region, OffsetsAreCheckedForAnyValues) {
  Region region = make_region();
  uint64_t size = region.size();
  EXPECT_EQ(region.at(0, 1), region.base());
  EXPECT_EQ(region.at(size - 1, 1), region.base() + size - 1);
  EXPECT_EQ(region.at(size - 1, 2), nullptr);
  EXPECT_EQ(region.at(size, 0), nullptr);
  EXPECT_EQ(region.at(UINT64_MAX, 1), nullptr);
  EXPECT_EQ(region.at(1, UINT64_MAX), nullptr);
  EXPECT_EQ(region.at(8, UINT64_MAX - 7), nullptr);
  EXPECT_EQ(region.at_tx(kSizes.rx - 1, 1), nullptr);
  EXPECT_EQ(region.at_tx(kSizes.rx, 1), region.tx());
  EXPECT_EQ(region.at_rx(kSizes.rx - 1, 1), region.rx() + kSizes.rx - 1);
  EXPECT_EQ(region.at_rx(kSizes.rx - 1, 2), nullptr);
  EXPECT_EQ(region.at_rx(kSizes.rx, 0), nullptr);
  EXPECT_EQ(region.at_rx(8, UINT64_MAX - 7), nullptr);
  EXPECT_FALSE(region.contains(region.base() - 1));
  EXPECT_FALSE(region.contains(region.base() + size));
  EXPECT_TRUE(region.contains(region.base(), size));
  EXPECT_FALSE(region.contains(region.base() + 1, size));
}

TEST(Region, SizesThatAreNotWholePagesAreRefused) {
  for (RegionSizes sizes : {RegionSizes{0, 4096}, RegionSizes{4096, 0}, RegionSizes{4097, 4096},
                            RegionSizes{kMaxRegionSize + 4096, 4096}}) {
    RegionError error;
    EXPECT_FALSE(Region::create(sizes, &error));
    EXPECT_EQ(error.code, RegionErrorCode::kBadSize);
    EXPECT_NE(error.message.find("4096"), std::string::npos);
  }
}

TEST(Region, AttachRefusesWhatTheEngineDidNotSeal) {
  Region engine = make_region();
  RegionError error;
  UniqueFd loose(::memfd_create("loose", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(::ftruncate(loose.get(), kSizes.rx), 0);
  EXPECT_FALSE(Region::attach(duplicate(loose.get()), duplicate(engine.tx_fd()), &error));
  EXPECT_EQ(error.code, RegionErrorCode::kBadSeals);
  EXPECT_FALSE(Region::attach(UniqueFd(::open("/dev/null", O_RDWR | O_CLOEXEC)), duplicate(engine.tx_fd()), &error));
  EXPECT_EQ(error.code, RegionErrorCode::kBadDescriptor);
  EXPECT_FALSE(Region::attach(UniqueFd(), UniqueFd(), &error));
  EXPECT_EQ(error.code, RegionErrorCode::kBadDescriptor);
}

TEST(Region, AttachRefusesHeadersThatDoNotBelongTogether) {
  Region a = make_region();
  Region b = make_region();
  RegionError error;
  EXPECT_FALSE(Region::attach(duplicate(a.rx_fd()), duplicate(b.tx_fd()), &error));
  EXPECT_EQ(error.code, RegionErrorCode::kBadHeader);
  EXPECT_FALSE(Region::attach(duplicate(a.tx_fd()), duplicate(a.rx_fd()), &error));  // tx is not sealed as rx is
  EXPECT_EQ(error.code, RegionErrorCode::kBadSeals);
  a.rx_header()->version = 2;
  EXPECT_FALSE(attach_to(a, &error));
  EXPECT_EQ(error.code, RegionErrorCode::kBadHeader);
  EXPECT_NE(error.message.find("version is 2, expected 1"), std::string::npos) << error.message;
}

TEST(Region, AMovedRegionKeepsItsMapping) {
  Region first = make_region();
  char* base = first.base();
  Region second = std::move(first);
  EXPECT_EQ(second.base(), base);
  EXPECT_EQ(first.base(), nullptr);  // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(first.at(0, 1), nullptr);
  second.prefault(0, second.size());
  second.prefault(123, 456);
  second.prefault(UINT64_MAX, 1);
  Region third = make_region();
  third = std::move(second);
  EXPECT_EQ(third.base(), base);
  EXPECT_EQ(third.rx_header()->magic, kRegionMagic);
}

}  // namespace
}  // namespace drover
