// UdpAddress: an IP address and a UDP port, as a key of tables. Thread-safety: a value.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <functional>

namespace drover::engine {

struct UdpAddress {
  std::array<uint8_t, 16> ip{};  // IPv4: the first four
  uint16_t port = 0;
  uint8_t family = 0;  // 4 or 6

  bool operator==(const UdpAddress&) const = default;
  bool same_ip(const UdpAddress& other) const { return ip == other.ip && family == other.family; }
  uint64_t high() const { return word(0); }
  uint64_t low() const { return word(8); }
  uint64_t rest() const { return uint64_t{port} << 8 | family; }

  static UdpAddress from(const sockaddr_storage& storage) {
    UdpAddress address;
    if (storage.ss_family == AF_INET) {
      sockaddr_in in;
      std::memcpy(&in, &storage, sizeof in);
      std::memcpy(address.ip.data(), &in.sin_addr, 4);
      address.port = ntohs(in.sin_port);
      address.family = 4;
    } else if (storage.ss_family == AF_INET6) {
      sockaddr_in6 in;
      std::memcpy(&in, &storage, sizeof in);
      std::memcpy(address.ip.data(), &in.sin6_addr, 16);
      address.port = ntohs(in.sin6_port);
      address.family = 6;
    }
    return address;
  }
  socklen_t to(sockaddr_storage* storage) const {
    *storage = sockaddr_storage{};
    if (family == 4) {
      sockaddr_in in{};
      in.sin_family = AF_INET;
      in.sin_port = htons(port);
      std::memcpy(&in.sin_addr, ip.data(), 4);
      std::memcpy(storage, &in, sizeof in);
      return sizeof in;
    }
    sockaddr_in6 in{};
    in.sin6_family = AF_INET6;
    in.sin6_port = htons(port);
    std::memcpy(&in.sin6_addr, ip.data(), 16);
    std::memcpy(storage, &in, sizeof in);
    return sizeof in;
  }

 private:
  uint64_t word(size_t at) const {
    uint64_t value;
    std::memcpy(&value, ip.data() + at, sizeof value);
    return value;
  }
};

struct UdpAddressHash {
  size_t operator()(const UdpAddress& address) const {
    return (address.high() * 0x9e3779b97f4a7c15 ^ address.low()) * 0xff51afd7ed558ccd ^
           address.rest() * 0xc4ceb9fe1a85ec53;
  }
};

}  // namespace drover::engine
