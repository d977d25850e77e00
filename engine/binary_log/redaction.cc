#include "engine/binary_log/redaction.h"

#include <algorithm>

namespace drover::engine::binary_log {
namespace {

// The keys that A16 and its implementations name, and those that HTTP/2 and gRPC write themselves.
constexpr std::string_view kTransport[] = {"accept-encoding",   "connection", "content-encoding", "content-length",
                                           "content-type",      "host",       "lb-token",         "te",
                                           "transfer-encoding", "user-agent"};

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
}

}  // namespace

bool Redaction::Pattern::matches(std::string_view name) const {
  if (any_before && any_behind) return name.find(text) != std::string_view::npos;
  if (any_before) return name.ends_with(text);
  return any_behind ? name.starts_with(text) : name == text;
}

std::string Redaction::parse(std::string_view text, Redaction* redaction) {
  redaction->patterns_.clear();
  for (bool more = !text.empty(); more;) {
    std::string_view part = text.substr(0, text.find(','));
    more = part.size() != text.size();
    text.remove_prefix(part.size() + (more ? 1 : 0));
    const std::string whole(part);
    Pattern pattern{};
    if ((pattern.any_before = part.starts_with('*'))) part.remove_prefix(1);
    if (part.empty()) pattern.any_behind = pattern.any_before;
    if ((pattern.any_behind |= part.ends_with('*')) && !part.empty()) part.remove_suffix(1);
    const bool is_name = std::all_of(part.begin(), part.end(), is_name_character);
    if (!is_name || (part.empty() && !pattern.any_before)) {
      return "'" + whole + "' is no name of metadata; expected lower case, perhaps with a * at an end";
    }
    pattern.text = part;
    redaction->patterns_.push_back(std::move(pattern));
  }
  return "";
}

Redaction::Entry Redaction::of(std::string_view name) const {
  if (name.starts_with("grpc-")) return name == "grpc-trace-bin" ? Entry::kAlways : Entry::kLeftOut;
  if (name.starts_with(':') || std::find(std::begin(kTransport), std::end(kTransport), name) != std::end(kTransport)) {
    return Entry::kLeftOut;
  }
  const bool secret =
      std::any_of(patterns_.begin(), patterns_.end(), [&](const Pattern& pattern) { return pattern.matches(name); });
  return secret ? Entry::kRedacted : Entry::kLogged;
}

}  // namespace drover::engine::binary_log
