// The file that carries messages from a host to a freestanding program: schema images, and for each message its wire
// bytes and the result of the host's own codec. Little-endian; every part begins at a multiple of 8.
//
//   CasesHeader | image_count times: u64 size, image | case_count times: Case, wire bytes, encoded bytes
#pragma once

#include <cstddef>
#include <cstdint>

namespace drover::cases {

inline constexpr uint64_t kMagic = 0x3153455341435244;  // "DRCASES1"

struct CasesHeader {
  uint64_t magic;
  uint32_t image_count;
  uint32_t case_count;
};

struct Case {
  uint32_t image;
  uint32_t message;  // its index in the image
  uint32_t wire_size;
  uint32_t workload;  // 1: a message of the workload, whose instructions are counted; 0: one for its odd form
  uint32_t error;     // DecodeError
  uint32_t error_offset;
  uint32_t error_message;  // index in the image; with an error only
  uint32_t error_field;
  uint32_t encoded_size;  // without error: what the decoded object encodes to
  uint32_t zero;
};
static_assert(sizeof(Case) == 40);

inline size_t padded(size_t size) { return (size + 7) & ~size_t{7}; }

}  // namespace drover::cases
