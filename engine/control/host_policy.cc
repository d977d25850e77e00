#include "engine/control/host_policy.h"

#include <algorithm>
#include <charconv>

namespace drover::engine {
namespace {

std::string_view trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// The part in front of the next `separator`, which goes with it.
std::string_view next_part(std::string_view* text, char separator) {
  std::string_view part = text->substr(0, text->find(separator));
  text->remove_prefix(std::min(text->size(), part.size() + 1));
  return trim(part);
}

bool matches(std::string_view pattern, std::string_view name) {
  if (!pattern.ends_with('*')) return pattern == name;
  pattern.remove_suffix(1);
  return name.starts_with(pattern);
}

}  // namespace

std::string HostPolicy::parse(std::string_view rules, HostPolicy* policy) {
  policy->rules_.clear();
  while (!trim(rules).empty()) {
    std::string_view text = next_part(&rules, ';');
    if (text.empty()) continue;
    std::string wrong = "hosts.allow: '" + std::string(text) + "' ";
    size_t equals = text.find('=');
    if (equals == std::string_view::npos) return wrong + "is not a rule; expected USER=PATTERN,PATTERN...";
    std::string_view user = trim(text.substr(0, equals)), patterns = text.substr(equals + 1);
    Rule rule;
    rule.anybody = user == "*";
    auto [end, error] = std::from_chars(user.data(), user.data() + user.size(), rule.user);
    if (!rule.anybody && (error != std::errc() || end != user.data() + user.size())) {
      return wrong + "begins with no user id; expected a number, or * for everybody";
    }
    while (!trim(patterns).empty()) {
      std::string_view pattern = next_part(&patterns, ',');
      if (pattern.empty()) return wrong + "has an empty pattern";
      if (pattern.substr(0, pattern.size() - 1).find('*') != std::string_view::npos) {
        return wrong + "has a * that is not at the end of its pattern";
      }
      rule.patterns.emplace_back(pattern);
    }
    if (rule.patterns.empty()) return wrong + "allows nothing; expected USER=PATTERN,PATTERN...";
    policy->rules_.push_back(std::move(rule));
  }
  return "";
}

bool HostPolicy::may_attach(uid_t user) const {
  return rules_.empty() ||
         std::any_of(rules_.begin(), rules_.end(), [user](const Rule& rule) { return rule.is_for(user); });
}

bool HostPolicy::allowed(uid_t user, std::string_view name) const {
  if (rules_.empty()) return true;
  for (const Rule& rule : rules_) {
    if (!rule.is_for(user)) continue;
    for (const std::string& pattern : rule.patterns) {
      if (matches(pattern, name)) return true;
    }
  }
  return false;
}

std::vector<uid_t> HostPolicy::users() const {
  std::vector<uid_t> users;
  for (const Rule& rule : rules_) {
    if (!rule.anybody) users.push_back(rule.user);
  }
  return users;
}

}  // namespace drover::engine
