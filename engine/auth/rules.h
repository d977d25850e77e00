// Which calls need a token, and what it must say: auth.rules.
//
//   "/shop.Orders/Delete=require scopes=orders.write; /shop.Orders/*=require; /grpc.health.v1.Health/*=off; *=require"
//
// A pattern is a method's path, or its beginning and "*". The longest pattern that fits a path counts, in whatever
// order they stand; a path that none fits needs a token. Immutable once parsed; thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace drover::engine::auth {

struct Rule {
  enum class Need : uint8_t {
    kRequire,
    kOptional,  // a call without a token is anonymous; a token that comes must be good
    kOff,       // the engine does not look
  };
  std::string pattern;
  Need need = Need::kRequire;
  // Of a token, where there is one:
  std::vector<std::string> issuers;                         // by the names of auth.issuers, one of them; empty: any
  std::vector<std::string> scopes;                          // all of them
  std::vector<std::pair<std::string, std::string>> claims;  // all of them: the claim, or one item of it, is that text
};

class Rules {
 public:
  // Returns what is wrong with the text, or "".
  static std::string parse(std::string_view text, Rules* out);

  const Rule& find(std::string_view path) const;
  const std::vector<Rule>& all() const { return rules_; }

 private:
  std::vector<Rule> rules_;  // the longest pattern first; of the same length the exact one
  Rule otherwise_;           // kRequire
};

}  // namespace drover::engine::auth
