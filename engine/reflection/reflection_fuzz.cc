// Descriptors and requests of any bytes: u16 size of the descriptors, the descriptors, the request. What is found must
// lie in the descriptors, and an answer has as many bytes as it says.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "engine/reflection/reflection_answer.h"

using namespace drover::engine;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  std::string_view rest(reinterpret_cast<const char*>(data) + 2, size - 2);
  const size_t split = std::min<size_t>(static_cast<size_t>(data[0] | data[1] << 8), rest.size());
  std::string error;
  auto files = DescriptorIndex::make(std::string(rest.substr(0, split)), &error);
  if (files == nullptr) {
    if (error.empty()) std::abort();
    files = DescriptorIndex::make("", &error);
  }
  const ReflectionSource source{std::move(files), {"a.B"}};
  const ReflectionSource* sources[] = {&reflection_itself(), &source};
  auto answer = ReflectionAnswer::make(rest.substr(split), sources);
  if (answer == nullptr) return 0;
  size_t bytes = 0;
  uint64_t sum = 0;
  for (const drover::Piece& piece : answer->pieces()) {
    bytes += piece.size;
    for (size_t i = 0; i < piece.size; ++i) sum += static_cast<uint8_t>(piece.data[i]);
  }
  if (bytes != answer->size() || sum == UINT64_MAX) std::abort();
  return 0;
}
