// BalanceRules: how the calls of a method are spread over the hosts that serve it, by configuration (dispatch.balance).
//
//   /shop.Carts/* hash=metadata:user-id bound=125; /shop.Orders/Get hash=field:customer.id; /shop.* least-outstanding
//   ^patterns     ^policy               ^option
//
// Rules stand behind one another, with ";" between them; the first whose pattern fits the method counts. A pattern is a
// method ("/package.Service/Method") or the beginning of some, with "*" at its end; several are separated by commas.
// Thread-safety: read-only once parsed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/balance/key_hash.h"

namespace drover::engine {

struct BalanceRule {
  enum class Policy : uint8_t {
    kRoundRobin,        // the hosts take turns
    kLeastOutstanding,  // the host with the fewest calls under way
    kHash,              // the host that the key leads to
  };
  std::vector<std::string> patterns;
  Policy policy = Policy::kRoundRobin;
  // kHash: the key is one of them.
  std::string metadata;  // a metadata key
  std::string field;     // a field of the request, as FieldPath has it
  // kHash: a host takes no more than this percentage of the hosts' mean of calls under way; 0: any number.
  uint32_t bound_percent = 0;
};

class BalanceRules {
 public:
  // No rules, and a random seed.
  BalanceRules();
  // `seed`: 32 hexadecimal digits, or nothing for a random one. Returns what is wrong, or "".
  static std::string parse(std::string_view rules, std::string_view seed, BalanceRules* out);

  bool empty() const { return rules_.empty(); }
  // Null: no rule fits the method.
  const BalanceRule* find(std::string_view path) const;
  const HashSeed& seed() const { return seed_; }
  // What stands for a host in the hash: hosts of one name are told apart by their seats, 0 for the first. Another
  // process that takes the name and the seat gets the same keys.
  uint64_t node(std::string_view name, uint32_t seat) const;

 private:
  std::vector<BalanceRule> rules_;
  HashSeed seed_;
};

}  // namespace drover::engine
