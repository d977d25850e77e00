#include "object/region.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

namespace drover {
namespace {

constexpr int kSizeSeals = F_SEAL_SHRINK | F_SEAL_GROW;
constexpr int kWriterSeals = F_SEAL_FUTURE_WRITE | F_SEAL_SEAL;  // of rx by the engine, of tx by the host
constexpr int kRxSeals = kSizeSeals | kWriterSeals;
constexpr auto kRxSide = static_cast<uint16_t>(RegionSide::kRx), kTxSide = static_cast<uint16_t>(RegionSide::kTx);

bool fail(RegionError* error, RegionErrorCode code, std::string message, int os_error = 0) {
  if (error != nullptr) {
    if (os_error != 0) message += std::string(": ") + std::strerror(os_error);
    *error = {code, os_error, std::move(message)};
  }
  return false;
}

bool check_size(const char* side, size_t size, RegionError* error) {
  if (size >= kRegionHeaderSize && size <= kMaxRegionSize && size % kRegionHeaderSize == 0) return true;
  return fail(error, RegionErrorCode::kBadSize,
              std::string(side) + " has " + std::to_string(size) + " bytes, expected a multiple of 4096 from 4096 to " +
                  std::to_string(kMaxRegionSize));
}

UniqueFd make_memfd(const char* name, size_t size, RegionError* error) {
  // Kernels before 6.3 do not know the no-exec seal.
  UniqueFd fd(::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL));
  if (!fd && errno == EINVAL) fd.reset(::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd) {
    fail(error, RegionErrorCode::kSystem, std::string("memfd_create ") + name, errno);
  } else if (::ftruncate(fd.get(), static_cast<off_t>(size)) != 0) {
    fail(error, RegionErrorCode::kSystem, std::string("ftruncate ") + name + " to " + std::to_string(size), errno);
    fd.reset();
  }
  return fd;
}

bool seal(int fd, const char* side, int seals, RegionError* error) {
  if (::fcntl(fd, F_ADD_SEALS, seals) == 0) return true;
  return fail(error, RegionErrorCode::kSystem, std::string("cannot seal ") + side, errno);
}

bool check_seals(int fd, const char* side, int wanted, RegionError* error) {
  int seals = ::fcntl(fd, F_GET_SEALS);
  if (seals < 0) {
    return fail(error, RegionErrorCode::kBadDescriptor, std::string(side) + " is not a memfd", errno);
  }
  if ((seals & wanted) == wanted) return true;
  return fail(
      error, RegionErrorCode::kBadSeals,
      std::string(side) + " has seals " + std::to_string(seals) + ", expected at least " + std::to_string(wanted));
}

// A description of the same memfd that can only be read; empty where /proc is not mounted.
UniqueFd reopen_read_only(int fd) {
  return UniqueFd(::open(("/proc/self/fd/" + std::to_string(fd)).c_str(), O_RDONLY | O_CLOEXEC));
}

bool check_shared(const RegionSizes& sizes, RegionError* error) {
  if (sizes.tx_shared % kRegionHeaderSize == 0 && sizes.tx_shared <= sizes.tx - kRegionHeaderSize) return true;
  return fail(error, RegionErrorCode::kBadSize,
              "the shared part of tx has " + std::to_string(sizes.tx_shared) +
                  " bytes, expected a multiple of 4096, at most " + std::to_string(sizes.tx - kRegionHeaderSize));
}

bool file_size(int fd, const char* side, size_t* size, RegionError* error) {
  struct stat status;
  if (::fstat(fd, &status) != 0) {
    return fail(error, RegionErrorCode::kBadDescriptor, std::string(side) + " has no status", errno);
  }
  *size = status.st_size < 0 ? 0 : static_cast<size_t>(status.st_size);
  return check_size(side, *size, error);
}

bool check_header(const RegionHeader& header, const char* name, uint16_t side, size_t size, size_t peer_size,
                  RegionError* error) {
  auto wrong = [&](const char* what, uint64_t found, uint64_t expected) {
    return fail(error, RegionErrorCode::kBadHeader,
                std::string(name) + " header: " + what + " is " + std::to_string(found) + ", expected " +
                    std::to_string(expected));
  };
  if (header.magic != kRegionMagic) return wrong("magic", header.magic, kRegionMagic);
  if (header.version != kRegionVersion) return wrong("version", header.version, kRegionVersion);
  if (header.side != side) return wrong("side", header.side, side);
  if (header.size != size) return wrong("size", header.size, size);
  if (header.peer_size != peer_size) return wrong("peer size", header.peer_size, peer_size);
  return true;
}

}  // namespace

const char* region_error_name(RegionErrorCode code) {
  switch (code) {
    case RegionErrorCode::kOk:
      return "none";
    case RegionErrorCode::kBadSize:
      return "bad size";
    case RegionErrorCode::kSystem:
      return "system";
    case RegionErrorCode::kBadDescriptor:
      return "bad descriptor";
    case RegionErrorCode::kBadSeals:
      return "bad seals";
    case RegionErrorCode::kBadHeader:
      return "bad header";
  }
  return "unknown";
}

std::optional<Region> Region::create(const RegionSizes& sizes, RegionError* error) {
  if (!check_size("rx", sizes.rx, error) || !check_size("tx", sizes.tx, error) || !check_shared(sizes, error)) {
    return std::nullopt;
  }
  Region region;
  region.rx_size_ = sizes.rx;
  region.tx_size_ = sizes.tx;
  region.rx_fd_ = make_memfd("drover-rx", sizes.rx, error);
  if (!region.rx_fd_) return std::nullopt;
  region.tx_fd_ = make_memfd("drover-tx", sizes.tx, error);
  if (!region.tx_fd_ || !region.map(/*engine_side=*/true, sizes.tx_shared, error)) return std::nullopt;

  uint64_t id = 0;
  if (::getrandom(&id, sizeof id, 0) != sizeof id) {
    fail(error, RegionErrorCode::kSystem, "getrandom", errno);
    return std::nullopt;
  }
  *region.rx_header() = {kRegionMagic, kRegionVersion, kRxSide, sizes.rx, sizes.tx, id, {}};
  RegionHeader tx_header{kRegionMagic, kRegionVersion, kTxSide, sizes.tx, sizes.rx, id, {}};
  if (!region.write_tx_header(0, &tx_header, sizeof tx_header, error)) return std::nullopt;
  // Only now: our own writable mapping of rx has to exist before the seal that forbids any other. tx is open until the
  // host has mapped it.
  if (!seal(region.rx_fd(), "rx", kRxSeals, error) || !seal(region.tx_fd(), "tx", kSizeSeals, error)) {
    return std::nullopt;
  }
  return region;
}

std::optional<Region> Region::attach(UniqueFd rx, UniqueFd tx, RegionError* error) {
  Region region;
  region.rx_fd_ = std::move(rx);
  region.tx_fd_ = std::move(tx);
  // Seals before sizes: a sealed size stays true.
  if (!check_seals(region.rx_fd(), "rx", kRxSeals, error) || !check_seals(region.tx_fd(), "tx", kSizeSeals, error) ||
      !file_size(region.rx_fd(), "rx", &region.rx_size_, error) ||
      !file_size(region.tx_fd(), "tx", &region.tx_size_, error) || !region.map(/*engine_side=*/false, 0, error)) {
    return std::nullopt;
  }
  RegionHeader rx_header, tx_header;
  std::memcpy(&rx_header, region.rx(), sizeof rx_header);
  std::memcpy(&tx_header, region.tx(), sizeof tx_header);
  if (!check_header(rx_header, "rx", kRxSide, region.rx_size_, region.tx_size_, error) ||
      !check_header(tx_header, "tx", kTxSide, region.tx_size_, region.rx_size_, error)) {
    return std::nullopt;
  }
  if (rx_header.id != tx_header.id) {
    fail(error, RegionErrorCode::kBadHeader, "rx and tx are of two different regions");
    return std::nullopt;
  }
  if (!seal(region.tx_fd(), "tx", kWriterSeals, error)) return std::nullopt;
  return region;
}

bool Region::write_tx_header(uint64_t offset_in_page, const void* bytes, size_t count, RegionError* error) const {
  if (offset_in_page <= kRegionHeaderSize && count <= kRegionHeaderSize - offset_in_page &&
      ::pwrite(tx_fd(), bytes, count, static_cast<off_t>(offset_in_page)) == static_cast<ssize_t>(count)) {
    return true;
  }
  return fail(error, RegionErrorCode::kSystem, "cannot write tx's header", errno);
}

bool Region::map_part(char* at, size_t size, int access, int fd, const char* what, RegionError* error) {
  if (size == 0 ||
      ::mmap(at, size, access, MAP_SHARED | MAP_FIXED, fd, at < tx() ? at - rx() : at - tx()) != MAP_FAILED) {
    return true;
  }
  return fail(error, RegionErrorCode::kSystem, std::string("cannot map ") + what, errno);
}

bool Region::map(bool engine_side, size_t tx_shared, RegionError* error) {
  engine_side_ = engine_side;
  void* range = ::mmap(nullptr, size(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (range == MAP_FAILED) {
    return fail(error, RegionErrorCode::kSystem, "cannot reserve " + std::to_string(size()) + " bytes of addresses",
                errno);
  }
  base_ = static_cast<char*>(range);  // from here on the destructor unmaps all of it
  constexpr int kWritable = PROT_READ | PROT_WRITE;
  if (!engine_side) {
    return map_part(rx(), rx_size_, PROT_READ, rx_fd(), "rx", error) &&
           map_part(tx(), tx_size_, kWritable, tx_fd(), "tx", error);
  }
  UniqueFd read_only = reopen_read_only(tx_fd());
  return map_part(rx(), rx_size_, kWritable, rx_fd(), "rx", error) &&
         map_part(tx(), tx_size_, PROT_READ, read_only ? read_only.get() : tx_fd(), "tx", error) &&
         map_part(tx() + kRegionHeaderSize, tx_shared, kWritable, tx_fd(), "the shared part of tx", error);
}

void Region::prefault(uint64_t offset, uint64_t bytes) const {
#ifdef MADV_POPULATE_WRITE
  char* begin = at(offset, bytes);
  if (begin == nullptr) return;
  // Whole pages; the mapping begins on one.
  uint64_t skew = offset % kRegionHeaderSize;
  bool writable = engine_side_ == in_rx(offset);
  (void)::madvise(begin - skew, bytes + skew, writable ? MADV_POPULATE_WRITE : MADV_POPULATE_READ);
#else
  (void)offset, (void)bytes;
#endif
}

Region::Region(Region&& other) noexcept
    : base_(std::exchange(other.base_, nullptr)),
      rx_size_(std::exchange(other.rx_size_, 0)),
      tx_size_(std::exchange(other.tx_size_, 0)),
      engine_side_(other.engine_side_),
      rx_fd_(std::move(other.rx_fd_)),
      tx_fd_(std::move(other.tx_fd_)) {}

Region& Region::operator=(Region&& other) noexcept {
  if (this != &other) {
    if (base_ != nullptr) ::munmap(base_, size());
    base_ = std::exchange(other.base_, nullptr);
    rx_size_ = std::exchange(other.rx_size_, 0);
    tx_size_ = std::exchange(other.tx_size_, 0);
    engine_side_ = other.engine_side_;
    rx_fd_ = std::move(other.rx_fd_);
    tx_fd_ = std::move(other.tx_fd_);
  }
  return *this;
}

Region::~Region() {
  if (base_ != nullptr) ::munmap(base_, size());
}

}  // namespace drover
