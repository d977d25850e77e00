// Region: the memory that an engine and one host share (docs/formats.md, section 3).
//
//   base()                       base() + rx_size()
//   | rx: RegionHeader ...       | tx: RegionHeader ...              |
//     the engine writes,           the host writes, the engine can only
//     the host can only read       read, but for the pages behind the header
//                                  that `tx_shared` names
//
// Two memfds mapped side by side in one reserved address range, so that a self-relative pointer may lead from tx
// into rx. A *region offset* counts from base() and is the same on both sides, whatever the addresses are.
//
// Seals, in force from the moment `create` returns: neither memfd can shrink or grow, so no access inside the
// sizes that `create`/`attach` saw can fault; and only the holder of the engine's mapping can ever write rx
// (F_SEAL_FUTURE_WRITE: new writable mappings, mprotect and write() are refused by the kernel).
// `attach` sets the same seal on tx as soon as the host has mapped it. From then on only the host can write tx: the
// engine's mapping was made through a read-only descriptor, which mprotect cannot change.
//
// Thread-safety: a Region is immutable once made; its users synchronize access to the memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "object/region_format.h"
#include "object/unique_fd.h"

namespace drover {

struct RegionSizes {
  size_t rx = 0;  // bytes; a multiple of 4096, at least one header
  size_t tx = 0;
  // Bytes of tx behind its header that the engine may write, too: whole pages.
  size_t tx_shared = 0;
};

enum class RegionErrorCode {
  kOk,
  kBadSize,        // not a multiple of 4096, too small, or too large
  kSystem,         // memfd_create, ftruncate, mmap or fcntl failed: `os_error`
  kBadDescriptor,  // not a memfd
  kBadSeals,       // a seal that the format promises is missing
  kBadHeader,      // wrong magic, version, side, size or pair
};
const char* region_error_name(RegionErrorCode code);

struct RegionError {
  RegionErrorCode code = RegionErrorCode::kOk;
  int os_error = 0;
  std::string message;  // what was wrong, where, and what was expected
};

class Region {
 public:
  // Engine side: new zeroed memory with both headers written, sealed, mapped as the picture says.
  static std::optional<Region> create(const RegionSizes& sizes, RegionError* error);

  // Host side: checks descriptors, seals and headers, maps rx for reading and tx for writing, and seals tx against any
  // other writer. One attach a region. The descriptors are kept by the Region (moved in) and closed with it.
  static std::optional<Region> attach(UniqueFd rx, UniqueFd tx, RegionError* error);

  Region(Region&& other) noexcept;
  Region& operator=(Region&& other) noexcept;
  ~Region();

  char* base() const { return base_; }
  size_t size() const { return rx_size_ + tx_size_; }
  // rx: region offsets [0, rx_size). Writing through this pointer on the host side is a SIGSEGV.
  char* rx() const { return base_; }
  size_t rx_size() const { return rx_size_; }
  // tx: region offsets [rx_size, rx_size + tx_size).
  char* tx() const { return base_ + rx_size_; }
  size_t tx_size() const { return tx_size_; }
  bool in_rx(uint64_t offset) const { return offset < rx_size_; }
  bool writable_rx() const { return engine_side_; }

  // True if [pointer, pointer + size) lies inside the region.
  bool contains(const void* pointer, size_t bytes = 1) const {
    uint64_t at = reinterpret_cast<uintptr_t>(pointer) - reinterpret_cast<uintptr_t>(base_);
    return at < size() && bytes <= size() - at;
  }
  // The region offset of a pointer that lies inside the region.
  uint64_t offset_of(const void* pointer) const {
    return reinterpret_cast<uintptr_t>(pointer) - reinterpret_cast<uintptr_t>(base_);
  }
  // The bytes [offset, offset + size), or null if they are not all inside the region. Any values are safe.
  char* at(uint64_t offset, uint64_t bytes) const {
    return offset < size() && bytes <= size() - offset ? base_ + offset : nullptr;
  }
  // The same, and all of it in tx (what only a host has written), or all of it in rx (what only an engine has).
  char* at_tx(uint64_t offset, uint64_t bytes) const { return offset >= rx_size_ ? at(offset, bytes) : nullptr; }
  char* at_rx(uint64_t offset, uint64_t bytes) const {
    return offset < rx_size_ && bytes <= rx_size_ - offset ? base_ + offset : nullptr;
  }
  // Writes into tx's header page before a host has attached (the engine has no writable mapping of it).
  bool write_tx_header(uint64_t offset_in_page, const void* bytes, size_t count, RegionError* error) const;

  RegionHeader* rx_header() const { return reinterpret_cast<RegionHeader*>(rx()); }
  const RegionHeader* tx_header() const { return reinterpret_cast<const RegionHeader*>(tx()); }

  // For handing over with SCM_RIGHTS; owned by the Region.
  int rx_fd() const { return rx_fd_.get(); }
  int tx_fd() const { return tx_fd_.get(); }

  // Touches the pages of [offset, offset + size) now rather than in the first call; a hint, never fails.
  void prefault(uint64_t offset, uint64_t bytes) const;

 private:
  Region() = default;
  bool map(bool engine_side, size_t tx_shared, RegionError* error);
  bool map_part(char* at, size_t size, int access, int fd, const char* what, RegionError* error);

  char* base_ = nullptr;
  size_t rx_size_ = 0;
  size_t tx_size_ = 0;
  bool engine_side_ = false;
  UniqueFd rx_fd_;
  UniqueFd tx_fd_;
};

}  // namespace drover
