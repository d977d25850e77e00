#include "engine/binary_log/filter.h"

#include <charconv>
#include <utility>

namespace drover::engine::binary_log {
namespace {

bool is_name(std::string_view text) {
  for (const char c : text) {
    const bool fits =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
    if (!fits) return false;
  }
  return !text.empty();
}

// "h", "h:256" and the like, from the front of `text`. False: it is something else.
bool take_limit(char letter, std::string_view& text, uint64_t* limit) {
  if (!text.starts_with(letter)) return false;
  text.remove_prefix(1);
  *limit = kAll;
  if (!text.starts_with(':')) return true;
  text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *limit);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return true;
}

// "" or "{...}". What is not named in braces is not logged.
bool parse_limits(std::string_view text, Limits* limits) {
  if (text.empty()) return true;
  if (!text.starts_with('{') || !text.ends_with('}') || text.size() < 3) return false;
  text = text.substr(1, text.size() - 2);
  *limits = {0, 0};
  if (text.starts_with('h')) {
    if (!take_limit('h', text, &limits->header)) return false;
    if (text.empty()) return true;
    if (!text.starts_with(';')) return false;
    text.remove_prefix(1);
  }
  return take_limit('m', text, &limits->message) && text.empty();
}

// Behind the last slash; the rest must be a service's name.
bool split_method(std::string_view text, std::string_view* service, std::string_view* method) {
  const size_t slash = text.rfind('/');
  if (slash == std::string_view::npos) return false;
  *service = text.substr(0, slash);
  *method = text.substr(slash + 1);
  return is_name(*service) && (*method == "*" || is_name(*method));
}

constexpr const char* kExpected =
    "; expected *, package.Service/*, package.Service/Method, each perhaps with "
    "{h:BYTES;m:BYTES}, or -package.Service/Method";

}  // namespace

std::string Filter::parse(std::string_view text, Filter* filter) {
  *filter = Filter();
  while (!text.empty()) {
    const size_t comma = text.find(',');
    const std::string_view pattern = text.substr(0, comma);
    if (std::string wrong = filter->add(pattern); !wrong.empty()) return "'" + std::string(pattern) + "' " + wrong;
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
    if (text.empty()) return std::string("'' is not a pattern") + kExpected;
  }
  return "";
}

std::string Filter::add(std::string_view pattern) {
  if (pattern.starts_with('-')) return add_excluded(pattern.substr(1));
  const std::string_view name = pattern.substr(0, pattern.find('{'));
  Limits limits;
  if (!parse_limits(pattern.substr(name.size()), &limits)) return std::string("has wrong limits") + kExpected;
  if (name == "*") {
    if (std::exchange(has_default_, true)) return "is there twice";
    default_ = limits;
    return "";
  }
  std::string_view service, method;
  if (!split_method(name, &service, &method)) return std::string("is not a pattern") + kExpected;
  Rules& rules = method == "*" ? services_ : methods_;
  const bool is_new = rules.try_emplace(std::string(method == "*" ? service : name), Rule{true, limits}).second;
  return is_new ? "" : "is there twice";
}

std::string Filter::add_excluded(std::string_view name) {
  std::string_view service, method;
  if (!split_method(name, &service, &method) || method == "*") return std::string("is not a pattern") + kExpected;
  return methods_.try_emplace(std::string(name), Rule{false, {}}).second ? "" : "is there twice";
}

const Limits* Filter::find(std::string_view path) const {
  if (path.starts_with('/')) {
    path.remove_prefix(1);
    const auto of = [](const Rules& rules, std::string_view name) -> const Rule* {
      if (rules.empty()) return nullptr;
      const auto found = rules.find(name);
      return found == rules.end() ? nullptr : &found->second;
    };
    const Rule* rule = of(methods_, path);
    const size_t slash = path.rfind('/');
    if (rule == nullptr && slash != std::string_view::npos) rule = of(services_, path.substr(0, slash));
    if (rule != nullptr) return rule->logged ? &rule->limits : nullptr;
  }
  return has_default_ ? &default_ : nullptr;
}

}  // namespace drover::engine::binary_log
