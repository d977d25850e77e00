// The text format (protobuf.dev/reference/protobuf/textformat-spec), printed as protobuf C++'s DebugString does.
#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <string>
#include <vector>

#include "message/extensions.h"
#include "message/operations.h"
#include "message/raw.h"
#include "message/text_name.h"
#include "message/text_value.h"
#include "object/map.h"
#include "object/repeated.h"

namespace drover::message {
namespace {

using schema::FieldEntry;
using schema::Kind;
using schema::MessageType;

class Printer {
 public:
  explicit Printer(const TextOptions& options) : options_(options), level_(std::max(options.initial_indent, 0)) {}
  std::string take() { return std::move(out_); }

  void object(const MessageType& type, const char* from, int depth) {
    if (depth <= 0 || (options_.expand_any && any(type, from, depth))) return;
    DecodedExtensions extensions(type, from, &finder_);
    auto next = extensions.extensions().begin(), last = extensions.extensions().end();
    for (const FieldEntry& field : type.fields()) {  // extensions stand among the fields, by number
      for (; next != last && next->type.fields()[0].number < field.number; ++next) extension(type, *next, depth);
      all_of_field(type, field, from, text_name(type, field), depth);
    }
    for (; next != last; ++next) extension(type, *next, depth);
    if (!options_.hide_unknown) unknown_fields(extensions.unknown(), is_message_set(type), kUnknownDepth);
  }

 private:
  void line_end() { out_ += options_.one_line ? ' ' : '\n'; }
  void indent() {
    const int levels = !options_.one_line ? level_ : out_.empty() ? std::max(options_.initial_indent, 0) : 0;
    out_.append(static_cast<size_t>(levels) * 2, ' ');
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
    DecodeWire decode_wire = installed_decoder.load(std::memory_order_acquire);
    if (decode_wire == nullptr || !is_any(type)) return false;
    const FieldEntry *url_field = type.find_field(1), *value_field = type.find_field(2);
    std::string_view url = reinterpret_cast<const String*>(from + url_field->offset)->view();
    std::string_view prefix = url.substr(0, url.rfind('/') + 1);
    if (prefix != "type.googleapis.com/" && prefix != "type.googleprod.com/") return false;
    MessageType held = find_any_type(options_.resolver, *type.image, url);
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

  void extension(const MessageType& extendee, const DecodedExtensions::Extension& found, int depth) {
    std::string name = "[" + std::string(extension_print_name(extendee, found.type)) + "]";
    all_of_field(found.type, found.type.fields()[0], found.object->drover_bytes(), name, depth - 10);
  }

  void all_of_field(const MessageType& type, const FieldEntry& field, const char* from, std::string_view name,
                    int depth) {
    const char* at = from + field.offset;
    const std::string number = options_.field_numbers ? std::to_string(field.number) : std::string();
    if (options_.field_numbers) name = number;
    if (field.label == schema::kLabelSingular) {
      bool entry = (type.entry().flags & schema::kMessageFlagMapEntry) != 0;
      if (entry || raw::present(from, field)) value(type, field, at, name, depth - 1);
      return;
    }
    const raw::Words* repeated = raw::words(at, 0);
    size_t stride = schema::kStorageOfKind[field.kind];
    const bool is_number = !schema::is_message_kind(field.kind) && !schema::is_string_kind(field.kind);
    if (options_.short_repeated && is_number && repeated->size != 0) return short_list(type, field, repeated, name);
    if (field.label != schema::kLabelMap) {
      for (uint32_t i = 0; i < repeated->size; ++i) value(type, field, repeated->begin() + i * stride, name, depth - 1);
      return;
    }
    for (const char* entry : entries_by_key(type.sub(field), repeated)) value(type, field, entry, name, depth - 1);
  }

  void short_list(const MessageType& type, const FieldEntry& field, const raw::Words* repeated, std::string_view name) {
    std::string list = "[";
    for (uint32_t i = 0; i < repeated->size; ++i) {
      if (i != 0) list += ", ";
      append_text_value(type, field, repeated->begin() + i * schema::kStorageOfKind[field.kind], options_, &list);
    }
    line(name, list + "]");
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
      open(name);
      const char* object_at = reinterpret_cast<const raw::Pointer*>(at)->get();
      if (object_at != nullptr) object(type.sub(field), object_at, depth);
      close();
      return;
    }
    std::string text;
    append_text_value(type, field, at, options_, &text);
    line(name, text);
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
          std::string text;
          append_quoted(record.value, false, &text);
          line(name, text);
        }
    }
  }

  ExtensionFinder finder_;
  const TextOptions& options_;
  std::string out_;
  int level_;
};

}  // namespace

void print_text(const MessageType& type, const Message& object, const TextOptions& options, std::string* out) {
  Printer printer(options);
  printer.object(type, object.drover_bytes(), kMaxDepth);
  *out += printer.take();
}

std::string debug_text(const MessageType& type, const Message& object, const TextOptions& options) {
  std::string text;
  print_text(type, object, options, &text);
  if (options.one_line && !text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

}  // namespace drover::message
