// The properties of a peer's identity as CallMetadata::identity has them (channel.toml), packed into one text: each is
// the u32 length of its name, the u32 length of its value, the name, the value.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace drover {

// The properties of a connection without TLS, as gRPC C++ shows them.
inline constexpr std::pair<std::string_view, std::string_view> kCleartextProperties[] = {
    {"transport_security_type", "insecure"}, {"security_level", "TSI_SECURITY_NONE"}};

// `properties`: a range of pairs of names and values.
template <typename Properties>
std::string pack_identity(const Properties& properties) {
  std::string packed;
  for (const auto& [name, value] : properties) {
    const uint32_t sizes[2] = {static_cast<uint32_t>(name.size()), static_cast<uint32_t>(value.size())};
    packed.append(reinterpret_cast<const char*>(sizes), sizeof sizes);
    packed += name;
    packed += value;
  }
  return packed;
}

inline std::string cleartext_identity() { return pack_identity(kCleartextProperties); }

// Views of `packed`, which the caller has copied out of shared memory. False: it is malformed.
inline bool unpack_identity(std::string_view packed, std::vector<std::pair<std::string_view, std::string_view>>* out) {
  while (!packed.empty()) {
    uint32_t sizes[2];
    if (packed.size() < sizeof sizes) return false;
    std::memcpy(sizes, packed.data(), sizeof sizes);
    packed.remove_prefix(sizeof sizes);
    if (packed.size() < sizes[0] || packed.size() - sizes[0] < sizes[1]) return false;
    out->emplace_back(packed.substr(0, sizes[0]), packed.substr(sizes[0], sizes[1]));
    packed.remove_prefix(size_t{sizes[0]} + sizes[1]);
  }
  return true;
}

}  // namespace drover
