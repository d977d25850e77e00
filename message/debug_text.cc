// The text format (protobuf.dev/reference/protobuf/textformat-spec), printed as protobuf C++'s DebugString does.
#include <algorithm>
#include <cerrno>
#include <cfloat>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "message/extensions.h"
#include "message/operations.h"
#include "message/raw.h"
#include "object/map.h"
#include "object/repeated.h"

namespace drover::message {
namespace {

using schema::FieldEntry;
using schema::Kind;
using schema::MessageType;

std::string real_text(double value, int digits, int more_digits, bool is_float) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  char text[40];
  std::snprintf(text, sizeof(text), "%.*g", digits, value);
  errno = 0;  // protobuf treats a float so small that strtof reports underflow as inexact
  bool exact = is_float ? std::strtof(text, nullptr) == static_cast<float>(value) && errno == 0
                        : std::strtod(text, nullptr) == value;
  if (!exact) std::snprintf(text, sizeof(text), "%.*g", more_digits, value);
  return text;
}

// Whether a field could have been written as proto2's `group Name = 1 {...}`: its type is declared beside it, and it is
// named after its type. Any other delimited field is an edition's.
bool is_group(const MessageType& type, const FieldEntry& field) {
  if (static_cast<Kind>(field.kind) != Kind::kGroup) return false;
  std::string_view scope = type.full_name(), sub = type.sub(field).full_name(), name = type.image->name(field.name);
  if (sub.size() != scope.size() + 1 + name.size() || !sub.starts_with(scope) || sub[scope.size()] != '.') return false;
  return std::equal(name.begin(), name.end(), sub.end() - static_cast<ptrdiff_t>(name.size()),
                    [](char a, char b) { return a == (b >= 'A' && b <= 'Z' ? b - 'A' + 'a' : b); });
}

class Printer {
 public:
  Printer(const DebugTextOptions& options) : options_(options) {}
  std::string take() {
    if (options_.one_line && !out_.empty() && out_.back() == ' ') out_.pop_back();
    return std::move(out_);
  }

  void object(const MessageType& type, const char* from, int depth) {
    if (depth <= 0 || any(type, from, depth)) return;
    DecodedExtensions extensions(type, from, &finder_);
    auto next = extensions.extensions().begin(), last = extensions.extensions().end();
    for (const FieldEntry& field : type.fields()) {  // extensions stand among the fields, by number
      for (; next != last && next->type.fields()[0].number < field.number; ++next) extension(type, *next, depth);
      all_of_field(type, field, from, type.image->name(field.name), depth);
    }
    for (; next != last; ++next) extension(type, *next, depth);
    unknown_fields(extensions.unknown(), is_message_set(type), kUnknownDepth);
  }

 private:
  void line_end() { out_ += options_.one_line ? ' ' : '\n'; }
  void indent() {
    if (!options_.one_line) out_.append(static_cast<size_t>(level_) * 2, ' ');
  }
  void open(std::string_view name) {
    indent();
    out_ += name;
    out_ += " {";
    line_end();
    ++level_;
  }
  void close() {
    --level_;
    indent();
    out_ += '}';
    line_end();
  }
  void line(std::string_view name, std::string_view text) {
    indent();
    out_ += name;
    out_ += ": ";
    out_ += text;
    line_end();
  }

  // The content of a google.protobuf.Any of a known type; false if it has to be printed as an ordinary message.
  bool any(const MessageType& type, const char* from, int depth) {
    if (std::string_view(type.full_name()) != "google.protobuf.Any") return false;
    const FieldEntry *url_field = type.find_field(1), *value_field = type.find_field(2);
    DecodeWire decode_wire = installed_decoder.load(std::memory_order_acquire);
    if (url_field == nullptr || value_field == nullptr || decode_wire == nullptr) return false;
    if (!schema::is_string_kind(url_field->kind) || !schema::is_string_kind(value_field->kind)) return false;
    std::string_view url = reinterpret_cast<const String*>(from + url_field->offset)->view();
    size_t name_at = url.rfind('/') + 1;
    std::string_view prefix = url.substr(0, name_at);
    if (prefix != "type.googleapis.com/" && prefix != "type.googleprod.com/") return false;
    MessageType held = find_message(type.image, url.substr(name_at));
    if (held.image == nullptr) return false;
    Arena arena;
    auto* object = static_cast<Message*>(arena.allocate_zeroed(held.entry().object_size));
    if (object == nullptr) return false;
    *object->drover_owner() = reinterpret_cast<OwnerWord>(&arena);
    std::string_view value = reinterpret_cast<const String*>(from + value_field->offset)->view();
    if (!decode_wire(held, object, value, &arena) || !is_initialized(held, *object)) return false;
    open("[" + std::string(url) + "]");
    this->object(held, object->drover_bytes(), depth - 10);  // each level is decoded with all below it
    close();
    return true;
  }
  static MessageType find_message(const schema::Image* image, std::string_view name) {
    int64_t index = image->find_message(name.data(), name.size());
    return index >= 0 ? MessageType{image, static_cast<uint32_t>(index)} : find_registered_message(name);
  }

  void extension(const MessageType& extendee, const DecodedExtensions::Extension& found, int depth) {
    std::string name = "[" + std::string(extension_print_name(extendee, found.type)) + "]";
    all_of_field(found.type, found.type.fields()[0], found.object->drover_bytes(), name, depth - 10);
  }

  void all_of_field(const MessageType& type, const FieldEntry& field, const char* from, std::string_view name,
                    int depth) {
    const char* at = from + field.offset;
    if (field.label == schema::kLabelSingular) {
      bool entry = (type.entry().flags & schema::kMessageFlagMapEntry) != 0;
      if (entry || raw::present(from, field)) value(type, field, at, name, depth - 1);
      return;
    }
    const raw::Words* repeated = raw::words(at, 0);
    size_t stride = schema::kStorageOfKind[field.kind];
    if (field.label != schema::kLabelMap) {
      for (uint32_t i = 0; i < repeated->size; ++i) value(type, field, repeated->begin() + i * stride, name, depth - 1);
      return;
    }
    for (const char* entry : entries_by_key(type.sub(field), repeated)) value(type, field, entry, name, depth - 1);
  }

  // The addresses of the pointers to a map's entries, ascending by key.
  static std::vector<const char*> entries_by_key(const MessageType& entry, const raw::Words* entries) {
    std::vector<const char*> pointers;
    for (uint32_t i = 0; i < entries->size; ++i) pointers.push_back(entries->begin() + i * sizeof(raw::Pointer));
    const FieldEntry& key = entry.fields()[0];
    auto key_at = [&key](const char* pointer) {
      return reinterpret_cast<const raw::Pointer*>(pointer)->get() + key.offset;
    };
    std::sort(pointers.begin(), pointers.end(),
              [&](const char* a, const char* b) { return less(key, key_at(a), key_at(b)); });
    return pointers;
  }
  static bool less(const FieldEntry& key, const char* a, const char* b) {
    switch (static_cast<Kind>(key.kind)) {
      case Kind::kString:
        return reinterpret_cast<const String*>(a)->view() < reinterpret_cast<const String*>(b)->view();
      case Kind::kInt64:
      case Kind::kSint64:
      case Kind::kSfixed64:
        return raw::load<int64_t>(a) < raw::load<int64_t>(b);
      case Kind::kUint64:
      case Kind::kFixed64:
        return raw::load<uint64_t>(a) < raw::load<uint64_t>(b);
      case Kind::kUint32:
      case Kind::kFixed32:
        return raw::load<uint32_t>(a) < raw::load<uint32_t>(b);
      case Kind::kBool:
        return *a < *b;
      default:
        return raw::load<int32_t>(a) < raw::load<int32_t>(b);
    }
  }

  void value(const MessageType& type, const FieldEntry& field, const char* at, std::string_view name, int depth) {
    if (schema::is_message_kind(field.kind)) {
      const MessageType sub = type.sub(field);
      bool is_extension = (type.entry().flags & schema::kMessageFlagExtension) != 0;
      if (!is_extension && is_group(type, field)) {  // a group goes by its type's name
        name = sub.full_name();
        name.remove_prefix(name.rfind('.') + 1);
      }
      open(name);
      const char* object_at = reinterpret_cast<const raw::Pointer*>(at)->get();
      if (object_at != nullptr) object(sub, object_at, depth);
      close();
      return;
    }
    line(name, scalar_text(type, field, at));
  }

  std::string scalar_text(const MessageType& type, const FieldEntry& field, const char* at) {
    switch (static_cast<Kind>(field.kind)) {
      case Kind::kDouble:
        return real_text(raw::load<double>(at), DBL_DIG, DBL_DIG + 2, false);
      case Kind::kFloat:
        return real_text(raw::load<float>(at), FLT_DIG, FLT_DIG + 3, true);
      case Kind::kInt64:
      case Kind::kSint64:
      case Kind::kSfixed64:
        return std::to_string(raw::load<int64_t>(at));
      case Kind::kUint64:
      case Kind::kFixed64:
        return std::to_string(raw::load<uint64_t>(at));
      case Kind::kUint32:
      case Kind::kFixed32:
        return std::to_string(raw::load<uint32_t>(at));
      case Kind::kBool:
        return *at != 0 ? "true" : "false";
      case Kind::kString:
      case Kind::kBytes: {
        bool keep = options_.keep_utf8 && static_cast<Kind>(field.kind) == Kind::kString;
        return quoted(reinterpret_cast<const String*>(at)->view(), keep);
      }
      case Kind::kEnum: {
        int32_t number = raw::load<int32_t>(at);
        const auto* found = type.image->find_enum_value(type.image->enum_entry(field.sub), number);
        return found == nullptr ? std::to_string(number) : type.image->name(found->name);
      }
      default:
        return std::to_string(raw::load<int32_t>(at));
    }
  }

  static std::string quoted(std::string_view bytes, bool keep_utf8) {
    std::string text = "\"";
    for (char c : bytes) {
      auto byte = static_cast<unsigned char>(c);
      switch (c) {
        case '\n':
          text += "\\n";
          break;
        case '\r':
          text += "\\r";
          break;
        case '\t':
          text += "\\t";
          break;
        case '"':
          text += "\\\"";
          break;
        case '\'':
          text += "\\'";
          break;
        case '\\':
          text += "\\\\";
          break;
        default:
          if (byte < 0x20 || (byte >= 0x7f && !(keep_utf8 && byte >= 0x80))) {
            char octal[8];
            std::snprintf(octal, sizeof(octal), "\\%03o", byte);
            text += octal;
          } else {
            text += c;
          }
      }
    }
    return text + "\"";
  }

  // ---- unknown fields: by number. Bytes that could be a message are printed as one, so many levels deep.
  static constexpr int kUnknownDepth = 10;

  static bool is_message(std::string_view bytes, int depth) {
    UnknownRecords records(bytes);
    UnknownRecord record;
    while (records.next(&record)) {
      if (record.wire_type == kWireStartGroup && (depth <= 0 || !is_message(record.value, depth - 1))) return false;
    }
    return records.position() == bytes.size();
  }

  void unknown_message(const std::string& name, std::string_view bytes, int depth) {
    open(name);
    unknown_fields(bytes, false, depth);
    close();
  }

  void unknown_fields(std::string_view bytes, bool message_set, int depth) {
    UnknownRecords records(bytes, message_set);
    UnknownRecord record;
    while (records.next(&record)) unknown_field(record, depth);
  }

  void unknown_field(const UnknownRecord& record, int depth) {
    std::string name = std::to_string(record.number);
    char hex[24];
    uint64_t number = 0;
    switch (record.wire_type) {
      case kWireVarint:
        read_varint(record.value.data(), record.value.data() + record.value.size(), &number);
        line(name, std::to_string(number));
        break;
      case kWireFixed32:
        std::snprintf(hex, sizeof(hex), "0x%08" PRIx32, raw::load<uint32_t>(record.value.data()));
        line(name, hex);
        break;
      case kWireFixed64:
        std::snprintf(hex, sizeof(hex), "0x%016" PRIx64, raw::load<uint64_t>(record.value.data()));
        line(name, hex);
        break;
      case kWireStartGroup:
        if (depth > -kMaxDepth) unknown_message(name, record.value, depth - 1);
        break;
      default:
        if (!record.value.empty() && depth > 0 && is_message(record.value, depth)) {
          unknown_message(name, record.value, depth - 1);
        } else {
          line(name, quoted(record.value, false));
        }
    }
  }

  ExtensionFinder finder_;
  const DebugTextOptions& options_;
  std::string out_;
  int level_ = 0;
};

}  // namespace

std::string debug_text(const MessageType& type, const Message& object, const DebugTextOptions& options) {
  Printer printer(options);
  printer.object(type, object.drover_bytes(), kMaxDepth);
  return printer.take();
}

}  // namespace drover::message
