#include "util/paths.h"

#include <algorithm>

namespace drover::util {
namespace {

std::string joined(const std::vector<std::string_view>& parts) {
  std::string path;
  for (const std::string_view part : parts) {
    if (!path.empty()) path += '.';
    path += part;
  }
  return path;
}

bool is_inside(std::string_view path, std::string_view outer) {
  return path.size() > outer.size() && path[outer.size()] == '.' && path.starts_with(outer);
}

int rank(char c) { return c == '.' ? -1 : static_cast<unsigned char>(c); }

}  // namespace

bool PathOrder::operator()(std::string_view a, std::string_view b) const {
  const auto [at, other] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  if (at == a.end() || other == b.end()) return at == a.end() && other != b.end();
  return rank(*at) < rank(*other);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(separator));
    if (!part.empty()) parts.push_back(part);
    text.remove_prefix(std::min(text.size(), part.size() + 1));
  }
  return parts;
}

Paths::Paths(const google::protobuf::FieldMask& mask) {
  for (const auto& path : mask.paths()) add(std::string_view(path));
}

void Paths::add(std::string_view text) {
  const std::string path = joined(split(text, '.'));
  if (path.empty() || around(path) != paths_.end()) return;
  erase_inside(path);
  paths_.insert(path);
}

// By the order, the paths inside a path follow it directly and lie together.
Paths::Set::const_iterator Paths::first_inside(std::string_view path) const {
  const auto found = paths_.upper_bound(path);
  return found != paths_.end() && is_inside(*found, path) ? found : paths_.end();
}

bool Paths::has_inside(std::string_view path) const { return first_inside(path) != paths_.end(); }

void Paths::erase_inside(std::string_view path) {
  const auto begin = first_inside(path);
  if (begin == paths_.end()) return;
  auto end = begin;
  while (end != paths_.end() && is_inside(*end, path)) ++end;
  paths_.erase(begin, end);
}

// Between an outer path and `path` the order has only paths inside the outer one, and those are not in the set.
Paths::Set::const_iterator Paths::around(std::string_view path) const {
  auto found = paths_.upper_bound(path);
  if (found == paths_.begin()) return paths_.end();
  --found;
  return *found == path || is_inside(path, *found) ? found : paths_.end();
}

Paths Paths::intersection(const Paths& other) const {
  Paths both;
  for (const std::string& path : other.paths_) {
    if (around(path) != paths_.end()) {
      both.add(path);
      continue;
    }
    for (auto inside = first_inside(path); inside != paths_.end() && is_inside(*inside, path); ++inside) {
      both.add(*inside);
    }
  }
  return both;
}

void Paths::subtract(const schema::MessageType& type, std::string_view text) {
  const std::vector<std::string_view> parts = split(text, '.');
  if (parts.empty()) return;
  // The messages on the way; the path has to be one of `type`.
  std::vector<schema::MessageType> types;
  schema::MessageType current = type;
  for (size_t i = 0; i < parts.size(); ++i) {
    const schema::FieldEntry* field =
        current.image->find_field_by_name(current.entry(), parts[i].data(), parts[i].size());
    const bool message = field != nullptr && schema::is_message_kind(field->kind);
    if (field == nullptr || (!message && i + 1 != parts.size())) return;
    types.push_back(current);
    if (message) current = current.sub(*field);
  }
  const std::string path = joined(parts);
  const auto found = around(path);
  if (found == paths_.end()) return erase_inside(path);
  const std::string outer = *found;
  paths_.erase(found);
  const size_t outer_parts = split(outer, '.').size();
  std::string level = outer;
  for (size_t i = outer_parts; i < parts.size(); ++i) {
    for (const schema::FieldEntry& field : types[i].fields()) {
      const std::string_view name = types[i].image->name(field.name);
      if (name != parts[i]) paths_.insert(level + "." + std::string(name));
    }
    level += "." + std::string(parts[i]);
  }
}

void Paths::store(google::protobuf::FieldMask* mask) const {
  mask->Clear();
  for (const std::string& path : paths_) mask->add_paths(path);
}

}  // namespace drover::util
