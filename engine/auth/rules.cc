#include "engine/auth/rules.h"

#include <algorithm>
#include <optional>

#include "engine/auth/text_list.h"

namespace drover::engine::auth {
namespace {

std::optional<Rule::Need> parse_need(std::string_view text) {
  if (text == "require") return Rule::Need::kRequire;
  if (text == "optional") return Rule::Need::kOptional;
  if (text == "off") return Rule::Need::kOff;
  return std::nullopt;
}

std::string parse_condition(std::string_view word, Rule* rule) {
  const Setting setting(word);
  if (setting.key == "issuers" && !setting.value.empty()) {
    rule->issuers = strings(split(setting.value, ','));
  } else if (setting.key == "scopes" && !setting.value.empty()) {
    rule->scopes = strings(split(setting.value, ','));
  } else if (setting.key == "claims" && !setting.value.empty()) {
    for (std::string_view one : split(setting.value, ',')) {
      const size_t colon = one.find(':');
      if (colon == 0 || colon == std::string_view::npos) {
        return "auth.rules: '" + std::string(one) + "': expected claims=NAME:VALUE,NAME:VALUE";
      }
      rule->claims.emplace_back(one.substr(0, colon), one.substr(colon + 1));
    }
  } else {
    return "auth.rules: '" + std::string(word) + "': expected issuers=..., scopes=... or claims=...";
  }
  return "";
}

std::string parse_rule(std::string_view text, Rule* rule) {
  const std::vector<std::string_view> words = split(text, ' ');
  const Setting head(words[0]);
  const std::optional<Rule::Need> need = parse_need(head.value);
  if (!need) {
    return "auth.rules: '" + std::string(words[0]) + "': expected PATTERN=require, PATTERN=optional or PATTERN=off";
  }
  const size_t star = head.key.find('*');
  const bool path = head.key.starts_with('/') && head.key.size() > 1;
  if ((head.key != "*" && !path) || (star != std::string_view::npos && star + 1 != head.key.size())) {
    return "auth.rules: '" + std::string(head.key) + "': expected /package.Service/Method, /package.Service/* or *";
  }
  rule->pattern = head.key;
  rule->need = *need;
  for (size_t i = 1; i < words.size(); ++i) {
    if (std::string wrong = parse_condition(words[i], rule); !wrong.empty()) return wrong;
  }
  const bool conditions = !rule->issuers.empty() || !rule->scopes.empty() || !rule->claims.empty();
  if (conditions && rule->need == Rule::Need::kOff) {
    return "auth.rules: '" + rule->pattern + "': off looks at no token, so that it can have no conditions";
  }
  return "";
}

}  // namespace

std::string Rules::parse(std::string_view text, Rules* out) {
  out->rules_.clear();
  const std::string line = one_line(text);
  for (std::string_view one : split(line, ';')) {
    Rule rule;
    if (std::string wrong = parse_rule(one, &rule); !wrong.empty()) return wrong;
    for (const Rule& other : out->rules_) {
      if (other.pattern == rule.pattern) return "auth.rules: '" + rule.pattern + "' is given twice";
    }
    out->rules_.push_back(std::move(rule));
  }
  // "/a.B/C" before "/a.B/*", which has the same length.
  auto order = [](const Rule& rule) { return std::pair(rule.pattern.size(), !rule.pattern.ends_with('*')); };
  std::sort(out->rules_.begin(), out->rules_.end(), [&](const Rule& a, const Rule& b) { return order(a) > order(b); });
  return "";
}

const Rule& Rules::find(std::string_view path) const {
  for (const Rule& rule : rules_) {
    const std::string_view pattern = rule.pattern;
    if (pattern.ends_with('*') ? path.starts_with(pattern.substr(0, pattern.size() - 1)) : path == pattern) return rule;
  }
  return otherwise_;
}

}  // namespace drover::engine::auth
