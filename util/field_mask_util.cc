#include "util/field_mask_util.h"

#include <algorithm>

#include "message/operations.h"
#include "object/owner.h"
#include "util/paths.h"

namespace drover::util {
namespace {

using google::protobuf::FieldMask;
using reflection::ConstObject;
using reflection::CppType;
using reflection::Object;
using schema::FieldEntry;
using schema::MessageType;

// Parts of a path that counts: the objects that it names are at most this deep.
constexpr size_t kMostParts = message::kMaxDepth - 1;

// By its name in the .proto, not by its JSON name; null: `type` has no such field.
const FieldEntry* field_named(const MessageType& type, std::string_view name) {
  return type.image->find_field_by_name(type.entry(), name.data(), name.size());
}
bool is_message(const FieldEntry& field) { return schema::is_message_kind(field.kind); }
bool is_singular_message(const FieldEntry& field) { return is_message(field) && field.label == schema::kLabelSingular; }

// ---- names. Field names are ASCII.
bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }

bool to_camel_case(std::string_view name, std::string* out) {
  bool after_underscore = false;
  for (const char c : name) {
    if (is_upper(c)) return false;
    if (after_underscore && !is_lower(c)) return false;
    if (c != '_') out->push_back(after_underscore ? static_cast<char>(c - 'a' + 'A') : c);
    after_underscore = c == '_';
  }
  return !after_underscore;
}

bool to_snake_case(std::string_view name, std::string* out) {
  for (const char c : name) {
    if (c == '_') return false;
    if (is_upper(c)) out->push_back('_');
    out->push_back(is_upper(c) ? static_cast<char>(c - 'A' + 'a') : c);
  }
  return true;
}

// ---- merging
void merge_entry(const ConstObject& source, const FieldEntry& source_value, const Object& entry,
                 const FieldEntry& value) {
  if (is_message(value)) {
    const Object sub = entry.mutable_sub(value);
    sub.clear();
    message::merge(sub.type(), sub.message(), *source.sub(source_value).message());
    return;
  }
  source.visit(source_value, [&](auto got) {
    if constexpr (!std::is_same_v<decltype(got), ConstObject>) entry.set(value, got);
  });
}

void merge_map(const reflection::ConstMap& source, const reflection::Map& to) {
  for (int i = 0; i < source.size(); ++i) {
    const ConstObject entry = source.entry(i);
    entry.visit(source.key_field(), [&](auto key) {
      if constexpr (std::integral<decltype(key)> || std::is_same_v<decltype(key), std::string_view>) {
        merge_entry(entry, source.value_field(), to.insert(reflection::MapKeyValue(key)), to.value_field());
      }
    });
  }
}

void merge_list(const ConstObject& source, const FieldEntry& field, const Object& to) {
  for (int i = 0; i < source.size(field); ++i) {
    source.visit(field, i, [&](auto got) {
      if constexpr (std::is_same_v<decltype(got), ConstObject>) {
        const Object added = to.add_sub(field);
        message::merge(added.type(), added.message(), *source.sub(field, i).message());
      } else {
        to.add(field, got);
      }
    });
  }
}

void merge_field(const ConstObject& source, const FieldEntry& field, const FieldMaskUtil::MergeOptions& options,
                 const Object& to) {
  if (field.label != schema::kLabelSingular) {
    if (options.replace_repeated_fields()) to.clear(field);
    if (field.label == schema::kLabelRepeated) return merge_list(source, field, to);
    if (source.size(field) != 0) merge_map(source.map(field), to.mutable_map(field));
  } else if (is_message(field)) {
    if (options.replace_message_fields()) to.clear(field);
    if (!source.has(field)) return;
    const Object sub = to.mutable_sub(field);
    message::merge(sub.type(), sub.message(), *source.sub(field).message());
  } else if (!source.has(field)) {
    to.clear(field);
  } else {
    source.visit(field, [&](auto got) {
      if constexpr (!std::is_same_v<decltype(got), ConstObject>) to.set(field, got);
    });
  }
}

void merge_path(ConstObject source, std::string_view path, const FieldMaskUtil::MergeOptions& options, Object to) {
  const std::vector<std::string_view> parts = split(path, '.');
  if (parts.size() > kMostParts) return;
  for (size_t i = 0; i < parts.size(); ++i) {
    const FieldEntry* field = field_named(source.type(), parts[i]);
    if (field == nullptr) return;
    if (i + 1 == parts.size()) return merge_field(source, *field, options, to);
    if (!is_singular_message(*field)) return;
    source = source.sub(*field);
    to = to.mutable_sub(*field);
  }
}

// ---- trimming
class Trimmer {
 public:
  Trimmer(const Paths& paths, bool keep_required) : paths_(paths), keep_required_(keep_required) {}

  // Clears what is not in the mask, below the path `prefix` ("", or with a dot at its end). Objects `depth` levels
  // below `object` are still looked through.
  bool trim(const Object& object, const std::string& prefix, int depth) const {
    bool changed = false;
    for (const FieldEntry& field : object.fields()) {
      const std::string path = prefix + std::string(object.name(field));
      if (paths_.has(path)) continue;
      if (depth > 0 && paths_.has_inside(path)) {
        if (!is_singular_message(field) || !object.has(field)) continue;
        changed |= trim(object.mutable_sub(field), path + '.', depth - 1);
      } else if (keep_required_ && is_required(field)) {
        if (is_message(field) && object.has(field)) changed |= keep_required_of(object.mutable_sub(field), depth - 1);
      } else if (object.has(field)) {
        object.clear(field);
        changed = true;
      }
    }
    return changed;
  }

 private:
  static bool is_required(const FieldEntry& field) { return (field.flags & schema::kFieldFlagRequired) != 0; }

  // A required message that no path names keeps its required fields; all of them, if it has none.
  static bool keep_required_of(const Object& object, int depth) {
    if (depth < 0 || object.type().entry().required_count == 0) return false;
    bool changed = false;
    for (const FieldEntry& field : object.fields()) {
      if (is_required(field)) {
        if (is_message(field) && object.has(field)) changed |= keep_required_of(object.mutable_sub(field), depth - 1);
      } else if (object.has(field)) {
        object.clear(field);
        changed = true;
      }
    }
    return changed;
  }

  const Paths& paths_;
  bool keep_required_;
};

template <typename Convert>
bool convert_paths(std::string_view path, Convert convert, std::string* out) {
  for (;;) {
    const size_t dot = path.find('.');
    if (!convert(path.substr(0, dot), out)) return false;
    if (dot == std::string_view::npos) return true;
    out->push_back('.');
    path.remove_prefix(dot + 1);
  }
}

}  // namespace

std::string FieldMaskUtil::ToString(const FieldMask& mask) {
  std::string text;
  for (const auto& path : mask.paths()) {
    if (&path != &mask.paths(0)) text += ',';
    text += std::string_view(path);
  }
  return text;
}

void FieldMaskUtil::FromString(std::string_view text, FieldMask* out) {
  out->Clear();
  for (const std::string_view path : split(text, ',')) out->add_paths(path);
}

bool FieldMaskUtil::ToJsonString(const FieldMask& mask, std::string* out) {
  out->clear();
  for (const auto& path : mask.paths()) {
    if (&path != &mask.paths(0)) out->push_back(',');
    if (!convert_paths(std::string_view(path), to_camel_case, out)) return false;
  }
  return true;
}

bool FieldMaskUtil::FromJsonString(std::string_view text, FieldMask* out) {
  out->Clear();
  for (const std::string_view path : split(text, ',')) {
    std::string name;
    if (!convert_paths(path, to_snake_case, &name)) return false;
    out->add_paths(name);
  }
  return true;
}

bool FieldMaskUtil::is_valid_path(const MessageType& type, std::string_view path) {
  MessageType current = type;
  bool may_go_on = true;
  for (const std::string_view part : split(path, '.')) {
    const FieldEntry* field = may_go_on ? field_named(current, part) : nullptr;
    if (field == nullptr) return false;
    may_go_on = is_singular_message(*field);
    if (may_go_on) current = current.sub(*field);
  }
  return true;
}

void FieldMaskUtil::add_path(const MessageType& type, std::string_view path, FieldMask* mask) {
  if (!is_valid_path(type, path)) fatal("a path is added to a FieldMask that the message does not have");
  mask->add_paths(path);
}

void FieldMaskUtil::add_field_number(const MessageType& type, int64_t number, FieldMask* mask) {
  const FieldEntry* field =
      number > 0 && number <= UINT32_MAX ? type.find_field(static_cast<uint32_t>(number)) : nullptr;
  if (field == nullptr) fatal("a FieldMask is made of a field number that the message does not have");
  mask->add_paths(type.image->name(field->name));
}

void FieldMaskUtil::add_all_fields(const MessageType& type, FieldMask* mask) {
  for (const FieldEntry& field : type.fields()) mask->add_paths(type.image->name(field.name));
}

void FieldMaskUtil::ToCanonicalForm(const FieldMask& mask, FieldMask* out) { Paths(mask).store(out); }

void FieldMaskUtil::Union(const FieldMask& a, const FieldMask& b, FieldMask* out) {
  Paths paths(a);
  for (const auto& path : b.paths()) paths.add(std::string_view(path));
  paths.store(out);
}

void FieldMaskUtil::Intersect(const FieldMask& a, const FieldMask& b, FieldMask* out) {
  Paths(a).intersection(Paths(b)).store(out);
}

void FieldMaskUtil::subtract(const MessageType& type, const FieldMask& a, const FieldMask& b, FieldMask* out) {
  Paths paths(a);
  for (const auto& path : b.paths()) {
    if (split(std::string_view(path), '.').size() <= kMostParts) paths.subtract(type, std::string_view(path));
  }
  paths.store(out);
}

bool FieldMaskUtil::IsPathInFieldMask(std::string_view path, const FieldMask& mask) {
  return std::any_of(mask.paths().begin(), mask.paths().end(), [&](const auto& one) {
    const std::string_view outer = one;
    return path.starts_with(outer) && (path.size() == outer.size() || path[outer.size()] == '.');
  });
}

void FieldMaskUtil::merge(const ConstObject& source, const FieldMask& mask, const MergeOptions& options,
                          const Object& destination) {
  if (source.message() == destination.message()) fatal("a message is merged into itself by a FieldMask");
  const Paths paths(mask);
  for (const std::string& path : paths.all()) merge_path(source, path, options, destination);
}

bool FieldMaskUtil::trim(const FieldMask& mask, const Object& message, const TrimOptions& options) {
  const Paths paths(mask);
  return !paths.empty() && Trimmer(paths, options.keep_required_fields()).trim(message, "", int{kMostParts} - 1);
}

}  // namespace drover::util
