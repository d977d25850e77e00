#include "engine/balance/balance_rules.h"

#include <sys/random.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "engine/balance/field_path.h"

namespace drover::engine {
namespace {

constexpr uint32_t kLeastBound = 100, kMostBound = 10'000;
constexpr size_t kSeedDigits = 32;

std::string_view trim(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

std::string_view next_part(std::string_view* text, char separator) {
  const std::string_view part = text->substr(0, text->find(separator));
  text->remove_prefix(std::min(text->size(), part.size() + 1));
  return trim(part);
}

std::string_view next_word(std::string_view* text) {
  *text = trim(*text);
  const std::string_view word = text->substr(0, text->find_first_of(" \t\r\n"));
  text->remove_prefix(word.size());
  return word;
}

bool fits(std::string_view pattern, std::string_view path) {
  if (!pattern.ends_with('*')) return pattern == path;
  pattern.remove_suffix(1);
  return path.starts_with(pattern);
}

// As HTTP/2 has gRPC's keys; gRPC keeps names that begin with "grpc-" to itself, and the engine does not see them.
bool is_metadata_key(std::string_view key) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
  };
  return !key.empty() && !key.starts_with("grpc-") && std::all_of(key.begin(), key.end(), plain);
}

std::string parse_patterns(std::string_view text, BalanceRule* rule) {
  while (!text.empty()) {
    const std::string_view pattern = next_part(&text, ',');
    const bool everything = pattern == "*";
    if (!everything && !pattern.starts_with('/')) {
      return "the pattern '" + std::string(pattern) +
             "' is no method; expected /package.Service/Method, a beginning of " + "it with a * behind it, or *";
    }
    if (pattern.substr(0, pattern.size() - 1).find('*') != std::string_view::npos) {
      return "the pattern '" + std::string(pattern) + "' has a * that is not at its end";
    }
    rule->patterns.emplace_back(pattern);
  }
  return "";
}

std::string parse_policy(std::string_view text, BalanceRule* rule) {
  if (text == "round-robin") return "";
  if (text == "least-outstanding") return rule->policy = BalanceRule::Policy::kLeastOutstanding, "";
  rule->policy = BalanceRule::Policy::kHash;
  if (text.starts_with("hash=metadata:")) {
    rule->metadata = text.substr(text.find(':') + 1);
    if (is_metadata_key(rule->metadata)) return "";
    return "'" + rule->metadata + "' is not a metadata key; expected lower-case letters, digits, _, - and ., and not " +
           "grpc- in front";
  }
  if (text.starts_with("hash=field:")) {
    rule->field = text.substr(text.find(':') + 1);
    return FieldPath::check(rule->field);
  }
  return "'" + std::string(text) +
         "' is not one of: round-robin, least-outstanding, hash=metadata:KEY, hash=field:PATH";
}

std::string parse_option(std::string_view text, BalanceRule* rule) {
  if (!text.starts_with("bound=")) return "'" + std::string(text) + "' is no option; expected bound=PERCENT";
  if (rule->policy != BalanceRule::Policy::kHash) return "bound= is an option of hash= only";
  const std::string_view number = text.substr(text.find('=') + 1);
  uint32_t percent = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), percent);
  if (error != std::errc() || end != number.data() + number.size() || percent < kLeastBound || percent > kMostBound) {
    return "'" + std::string(text) + "': expected a percentage of the hosts' mean load, " +
           std::to_string(kLeastBound) + " to " + std::to_string(kMostBound);
  }
  return rule->bound_percent = percent, "";
}

std::string parse_rule(std::string_view text, BalanceRule* rule) {
  std::string_view rest = text;
  if (std::string wrong = parse_patterns(next_word(&rest), rule); !wrong.empty()) return wrong;
  const std::string_view policy = next_word(&rest);
  if (policy.empty()) return "has no policy; expected PATTERN,PATTERN... POLICY";
  if (std::string wrong = parse_policy(policy, rule); !wrong.empty()) return wrong;
  for (rest = trim(rest); !rest.empty(); rest = trim(rest)) {
    if (std::string wrong = parse_option(next_word(&rest), rule); !wrong.empty()) return wrong;
  }
  return "";
}

bool parse_seed(std::string_view text, HashSeed* seed) {
  if (text.size() != kSeedDigits) return false;
  for (auto [part, word] : {std::pair{text.substr(0, kSeedDigits / 2), &seed->first},
                            std::pair{text.substr(kSeedDigits / 2), &seed->second}}) {
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), *word, 16);
    if (error != std::errc() || end != part.data() + part.size()) return false;
  }
  return true;
}

}  // namespace

BalanceRules::BalanceRules() {
  if (::getrandom(&seed_, sizeof seed_, 0) != sizeof seed_) std::abort();  // without it, keys could be aimed
}

std::string BalanceRules::parse(std::string_view rules, std::string_view seed, BalanceRules* out) {
  BalanceRules parsed;
  if (!seed.empty() && !parse_seed(seed, &parsed.seed_)) {
    return "dispatch.balance_seed: expected 32 hexadecimal digits, such as `openssl rand -hex 16` prints";
  }
  while (!trim(rules).empty()) {
    const std::string_view text = next_part(&rules, ';');
    if (text.empty()) continue;
    BalanceRule rule;
    if (std::string wrong = parse_rule(text, &rule); !wrong.empty()) {
      return "dispatch.balance: '" + std::string(text) + "': " + wrong;
    }
    parsed.rules_.push_back(std::move(rule));
  }
  *out = std::move(parsed);
  return "";
}

const BalanceRule* BalanceRules::find(std::string_view path) const {
  for (const BalanceRule& rule : rules_) {
    for (const std::string& pattern : rule.patterns) {
      if (fits(pattern, path)) return &rule;
    }
  }
  return nullptr;
}

uint64_t BalanceRules::node(std::string_view name, uint32_t seat) const {
  return key_hash(seed_, std::string(name) + '\0' + std::to_string(seat));
}

}  // namespace drover::engine
