// Fuzzes the parsers of gRPC's wire protocol: header values, and a request body that arrives cut at arbitrary places.
// The first bytes choose the cuts and the limit; what the assembler accepts must be exactly one well-formed message.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>

#include "engine/grpc/grpc_wire.h"

using namespace drover::engine;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 4) return 0;
  size_t step = data[0] % 40 + 1;
  uint32_t max_bytes = data[1] * 16u;
  auto encoding = static_cast<Encoding>(data[2] % 3);
  bool spill = data[3] & 1;
  std::string_view body(reinterpret_cast<const char*>(data) + 4, size - 4);

  parse_grpc_timeout(body);
  std::string scratch;
  append_percent_encoded(body, scratch);
  scratch.clear();
  append_base64_encoded(body, scratch);
  std::string back;
  if (!append_base64_decoded(scratch, back) || back != body) abort();
  split_binary_values(body, [](std::string&&) {});
  is_grpc_content_type(body);
  is_reserved_request_header(body);
  is_legal_response_metadata(body.substr(0, body.size() / 2), body.substr(body.size() / 2));

  RequestAssembler assembler;
  std::unique_ptr<char[]> memory;
  auto alloc = [&](size_t n, size_t received) {
    if (!memory != (received == 0) || n <= received || n > max_bytes) abort();
    const size_t size = std::min(n, 2 * received + 7);
    auto grown = std::make_unique<char[]>(size);
    std::copy_n(memory.get(), received, grown.get());
    memory = std::move(grown);
    return std::span(memory.get(), size);
  };
  std::string_view rest = body;
  while (!rest.empty()) {
    std::string_view piece = rest.substr(0, step);
    rest.remove_prefix(piece.size());
    if (!assembler.feed(piece.data(), piece.size(), max_bytes, encoding, alloc).ok()) return 0;
    if (spill) assembler.spill(alloc);
  }
  if (!assembler.finish().ok()) return 0;
  std::string_view message =
      assembler.is_view() ? assembler.view() : std::string_view(memory.get(), assembler.message_size());
  if (body.size() != kGrpcPrefixBytes + message.size() || body.substr(kGrpcPrefixBytes) != message) abort();
  return 0;
}
