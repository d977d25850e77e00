#include "engine/balance/field_path.h"

#include <algorithm>
#include <cstring>

#include "codec/wire.h"

namespace drover::engine {
namespace {

using schema::FieldEntry;
using schema::Kind;
using schema::MessageType;

constexpr size_t kMostGroups = 100;  // one in the other, as the decoder allows

const FieldEntry* find_by_name(const MessageType& type, std::string_view name) {
  for (const FieldEntry& field : type.fields()) {
    if (name == type.image->name(field.name)) return &field;
  }
  return nullptr;
}

uint32_t tag_of(const FieldEntry& field) { return wire::make_tag(field.number, field.wire_type); }

std::string_view next_name(std::string_view* path) {
  const std::string_view name = path->substr(0, path->find('.'));
  path->remove_prefix(std::min(path->size(), name.size() + 1));
  return name;
}

// A varint's bits as the field keeps them.
uint64_t number_of(uint8_t kind, uint64_t bits) {
  switch (static_cast<Kind>(kind)) {
    case Kind::kInt32:
    case Kind::kEnum:
      return static_cast<uint64_t>(int64_t{static_cast<int32_t>(bits)});
    case Kind::kUint32:
      return static_cast<uint32_t>(bits);
    case Kind::kSint32:
      return static_cast<uint64_t>(int64_t{wire::unzigzag32(static_cast<uint32_t>(bits))});
    case Kind::kSint64:
      return static_cast<uint64_t>(wire::unzigzag(bits));
    case Kind::kBool:
      return bits != 0 ? 1 : 0;
    default:
      return bits;
  }
}

}  // namespace

std::string FieldPath::check(std::string_view path) {
  const std::string wrong =
      "'" + std::string(path) + "' is not the path of a field; expected names such as customer.id";
  size_t levels = 0;
  for (std::string_view rest = path; !rest.empty() || levels == 0;) {
    const std::string_view name = next_name(&rest);
    const auto plain = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    };
    if (name.empty() || !std::all_of(name.begin(), name.end(), plain)) return wrong;
    if (++levels > kMostLevels) return wrong + ", " + std::to_string(kMostLevels) + " of them at most";
  }
  return path.ends_with('.') ? wrong : "";
}

std::optional<FieldPath> FieldPath::compile(const MessageType& root, std::string_view path, std::string* why) {
  if (*why = check(path); !why->empty()) return std::nullopt;
  FieldPath compiled;
  MessageType type = root;
  for (std::string_view rest = path; !rest.empty();) {
    const std::string_view name = next_name(&rest);
    const FieldEntry* field = find_by_name(type, name);
    const std::string at = std::string(type.full_name()) + "." + std::string(name);
    if (field == nullptr)
      return *why = std::string(type.full_name()) + " has no field " + std::string(name), std::nullopt;
    if (field->label != schema::kLabelSingular) return *why = at + " is repeated or a map", std::nullopt;
    if (schema::is_message_kind(field->kind) == rest.empty()) {
      return *why = at + (rest.empty() ? " is a message" : " is no message"), std::nullopt;
    }
    Level level;
    level.tag = tag_of(*field);
    level.kind = field->kind;
    level.presence = (field->flags & schema::kFieldFlagExplicitPresence) != 0 || field->case_offset != 0;
    for (const FieldEntry& other : type.fields()) {
      const bool rival = field->case_offset != 0 && other.case_offset == field->case_offset && &other != field;
      if (rival) level.rivals.push_back(tag_of(other));
    }
    std::sort(level.rivals.begin(), level.rivals.end());
    compiled.levels_.push_back(std::move(level));
    if (!rest.empty()) type = type.sub(*field);
  }
  return compiled;
}

// One find. Positions are null once the bytes turn out to be no message, or the tags are used up.
class FieldPath::Scan {
 public:
  Scan(const std::vector<Level>& levels, uint32_t tags) : levels_(levels), tags_(tags) {}

  // The fields of the message of that level, up to `end`, or up to the tag `end_group` if it is not 0.
  const char* message(const char* p, const char* end, size_t at, uint32_t end_group) {
    const Level& level = levels_[at];
    while (p != end) {
      uint32_t tag = 0;
      p = read_tag(p, end, &tag);
      if (p == nullptr) return nullptr;
      if ((tag & 7) == wire::kEndGroup) return tag == end_group ? p : fail();
      if (tag == level.tag) {
        p = at + 1 == levels_.size() ? value(p, end, level) : inner(p, end, at, tag);
      } else {
        if (std::binary_search(level.rivals.begin(), level.rivals.end(), tag)) found_ = false;
        p = skip(p, end, tag);
      }
      if (p == nullptr) return nullptr;
    }
    return end_group == 0 ? p : fail();
  }

  bool found() const { return found_ && !broken_; }
  const Value& result() const { return value_; }

 private:
  const char* fail() { return broken_ = true, nullptr; }

  // Of 10 bytes at most. What is missing at the end is read as zeros, which end it behind `end`.
  const char* read_varint(const char* p, const char* end, uint64_t* out) {
    if (end - p >= wire::kMaxVarint) [[likely]] {
      p = wire::read_varint(p, out);
      return p != nullptr ? p : fail();
    }
    char copy[16] = {};
    const auto left = static_cast<size_t>(end - p);
    std::memcpy(copy, p, left);
    const char* behind = wire::read_varint(copy, out);
    const size_t size = behind != nullptr ? static_cast<size_t>(behind - copy) : SIZE_MAX;
    return size <= left ? p + size : fail();
  }
  const char* read_tag(const char* p, const char* end, uint32_t* tag) {
    if (tags_ == 0) return nullptr;
    --tags_;
    const auto first = static_cast<uint8_t>(*p);
    if (first < 0x80) [[likely]] {
      *tag = first;
      return first >= 8 ? p + 1 : fail();
    }
    char copy[16] = {};
    const auto left = std::min<size_t>(static_cast<size_t>(end - p), 5);
    std::memcpy(copy, p, left);
    const char* behind = wire::read_varint32(copy, tag);
    const size_t size = behind != nullptr ? static_cast<size_t>(behind - copy) : SIZE_MAX;
    return size <= left && *tag >= 8 ? p + size : fail();
  }
  const char* read_length(const char* p, const char* end, size_t* size) {
    uint64_t length = 0;
    p = read_varint(p, end, &length);
    if (p == nullptr) return nullptr;
    if (length > static_cast<uint64_t>(end - p)) return fail();
    *size = static_cast<size_t>(length);
    return p;
  }

  const char* inner(const char* p, const char* end, size_t at, uint32_t tag) {
    if ((tag & 7) == wire::kStartGroup) return message(p, end, at + 1, tag + 1);
    size_t size = 0;
    p = read_length(p, end, &size);
    return p == nullptr ? nullptr : message(p, p + size, at + 1, 0);
  }

  const char* value(const char* p, const char* end, const Level& level) {
    Value value;
    uint64_t bits = 0;
    size_t size = 0;
    switch (level.tag & 7) {
      case wire::kVarint:
        p = read_varint(p, end, &bits);
        if (p == nullptr) return nullptr;
        value.number = number_of(level.kind, bits);
        break;
      case wire::kLengthDelimited:
        p = read_length(p, end, &size);
        if (p == nullptr) return nullptr;
        value.is_text = true;
        value.text = {p, size};
        p += size;
        break;
      default:
        size = (level.tag & 7) == wire::kFixed32 ? 4 : 8;
        if (static_cast<size_t>(end - p) < size) return fail();
        std::memcpy(&value.number, p, size);
        p += size;
    }
    value_ = value;
    found_ = level.presence || (value.is_text ? !value.text.empty() : value.number != 0);
    return p;
  }

  const char* skip(const char* p, const char* end, uint32_t tag) {
    uint64_t ignored = 0;
    size_t size = 0;
    switch (tag & 7) {
      case wire::kVarint:
        return read_varint(p, end, &ignored);
      case wire::kLengthDelimited:
        p = read_length(p, end, &size);
        return p == nullptr ? nullptr : p + size;
      case wire::kFixed32:
      case wire::kFixed64:
        size = (tag & 7) == wire::kFixed32 ? 4 : 8;
        return static_cast<size_t>(end - p) < size ? fail() : p + size;
      case wire::kStartGroup:
        return skip_group(p, end, tag);
      default:
        return fail();
    }
  }

  const char* skip_group(const char* p, const char* end, uint32_t tag) {
    uint32_t ends[kMostGroups];
    size_t depth = 0;
    ends[depth++] = tag + 1;
    while (depth != 0) {
      if (p == end) return fail();
      p = read_tag(p, end, &tag);
      if (p == nullptr) return nullptr;
      if ((tag & 7) == wire::kEndGroup) {
        if (tag != ends[--depth]) return fail();
      } else if ((tag & 7) == wire::kStartGroup) {
        if (depth == kMostGroups) return fail();
        ends[depth++] = tag + 1;
      } else {
        p = skip(p, end, tag);
        if (p == nullptr) return nullptr;
      }
    }
    return p;
  }

  const std::vector<Level>& levels_;
  uint32_t tags_;
  bool found_ = false;
  bool broken_ = false;
  Value value_;
};

std::optional<FieldPath::Value> FieldPath::find(std::string_view wire, uint32_t most_tags) const {
  if (levels_.empty() || wire.empty()) return std::nullopt;
  Scan scan(levels_, most_tags);
  scan.message(wire.data(), wire.data() + wire.size(), 0, 0);
  if (!scan.found()) return std::nullopt;
  return scan.result();
}

}  // namespace drover::engine
