// The text format (protobuf.dev/reference/protobuf/textformat-spec), printed as protobuf C++'s DebugString does.
#include <algorithm>
#include <cfloat>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "message/operations.h"
#include "message/raw.h"

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
  bool exact = is_float ? std::strtof(text, nullptr) == static_cast<float>(value) : std::strtod(text, nullptr) == value;
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
    if (depth == 0) return;
    for (const FieldEntry& field : type.fields()) {
      const char* at = from + field.offset;
      if (field.label == schema::kLabelSingular) {
        bool entry = (type.entry().flags & schema::kMessageFlagMapEntry) != 0;
        if (entry || raw::present(from, field)) value(type, field, at, depth - 1);
        continue;
      }
      const raw::Words* repeated = raw::words(at, 0);
      for (uint32_t i = 0; i < repeated->size; ++i) {
        value(type, field, repeated->begin() + size_t{i} * schema::kStorageOfKind[field.kind], depth - 1);
      }
    }
    auto* unknown = reinterpret_cast<const String*>(raw::pointer(from, offsetof(MessageHeader, unknown))->get());
    if (unknown != nullptr) unknown_fields(unknown->view(), depth - 1);
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

  void value(const MessageType& type, const FieldEntry& field, const char* at, int depth) {
    std::string_view name = type.image->name(field.name);
    if (schema::is_message_kind(field.kind)) {
      const MessageType sub = type.sub(field);
      if (is_group(type, field)) {  // goes by its type's name
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

  // ---- unknown fields: by number; the bytes are well formed, decode wrote them
  static uint64_t read_varint(std::string_view* bytes) {
    uint64_t result = 0;
    for (int shift = 0; !bytes->empty() && shift < 70; shift += 7) {
      auto byte = static_cast<uint8_t>(bytes->front());
      bytes->remove_prefix(1);
      if (shift < 64) result |= uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) break;
    }
    return result;
  }

  void unknown_fields(std::string_view bytes, int depth) {
    while (!bytes.empty()) {
      uint64_t tag = read_varint(&bytes);
      std::string name = std::to_string(tag >> 3);
      switch (tag & 7) {
        case 0:
          line(name, std::to_string(read_varint(&bytes)));
          break;
        case 1:
        case 5: {
          size_t size = (tag & 7) == 1 ? 8 : 4;
          if (bytes.size() < size) return;
          uint64_t bits = size == 8 ? raw::load<uint64_t>(bytes.data()) : raw::load<uint32_t>(bytes.data());
          char hex[24];
          std::snprintf(hex, sizeof(hex), "0x%0*" PRIx64, static_cast<int>(size * 2), bits);
          line(name, hex);
          bytes.remove_prefix(size);
          break;
        }
        case 2: {
          uint64_t size = read_varint(&bytes);
          if (size > bytes.size()) return;
          line(name, quoted(bytes.substr(0, size), false));
          bytes.remove_prefix(size);
          break;
        }
        case 3:
          if (depth-- == 0) return;
          open(name);
          break;
        case 4:
          ++depth;
          close();
          break;
        default:
          return;
      }
    }
  }

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
