// Messages, fields, lists and maps. Scalars are in parse_scalar.cc.
#include <algorithm>

#include "codec/wire.h"
#include "json/parser.h"
#include "json/well_known.h"
#include "message/extensions.h"

namespace drover::json {

using schema::Kind;
using schema::MessageType;

Result parse(const MessageType& type, std::string_view text, const ParseOptions& options, Message* message) {
  return Parser(text, options).run(type, message);
}

Result Parser::run(const MessageType& type, Message* object) {
  arena_ = arena_of(object->drover_owner());
  Result result;
  if (message(type, object->drover_bytes(), std::clamp(options_.depth_limit, 0, kMostDepth)) && !lexer_.at_end()) {
    fail(Error::kSyntax, "the end of the text");
  }
  if (lexer_.failed()) {
    result.error = lexer_.error();
    result.offset = lexer_.error_offset();
    const std::string_view before = lexer_.text().substr(0, result.offset);
    result.line = 1 + static_cast<uint32_t>(std::count(before.begin(), before.end(), '\n'));
    result.column = static_cast<uint32_t>(before.size() - (before.rfind('\n') + 1)) + 1;  // npos + 1 is 0
    result.path = path_.text();
    result.expected = lexer_.expected();
  } else if (options_.check_required && !message::is_initialized(type, *object)) {
    std::vector<std::string> missing;
    message::find_missing(type, *object, &missing);
    result.error = Error::kMissingRequired;
    if (!missing.empty()) result.path = missing.front();
  }
  return result;
}

// ---- messages

bool Parser::message(const MessageType& type, char* object, int depth) {
  switch (well_known(type)) {
    case WellKnown::kNone:
      return fields(type, object, depth, false);
    case WellKnown::kAny:
      return any(type, object, depth);
    case WellKnown::kTimestamp:
      return time(type, object, false);
    case WellKnown::kDuration:
      return time(type, object, true);
    case WellKnown::kFieldMask:
      return field_mask(type, object);
    case WellKnown::kStruct:
      return map(type, object, *type.find_field(1), depth);
    case WellKnown::kValue:
      return value(type, object, depth);
    case WellKnown::kListValue:
      return list(type, object, *type.find_field(1), depth);
    case WellKnown::kWrapper:
      return singular(type, object, *type.find_field(1), depth);
  }
  return false;
}

namespace {

// The extension of `type` whose full name, in brackets, `name` is.
MessageType find_extension(const MessageType& type, std::string_view name) {
  if (!message::takes_extensions(type) || name.size() < 3 || name.front() != '[' || name.back() != ']') return {};
  return message::find_extension(type, name.substr(1, name.size() - 2));
}

}  // namespace

// With in_any, "@type" may stand among the fields, once.
bool Parser::fields(const MessageType& type, char* object, int depth, bool in_any) {
  if (lexer_.peek() != '{') return fail(Error::kWrongType, "an object");
  if (depth <= 0) return fail(Error::kDepthLimit, "less nesting");
  lexer_.take('{');
  if (lexer_.take('}')) return true;
  Seen seen(this, type.fields().size() + type.entry().oneof_count);
  std::set<uint32_t> seen_extensions;
  uint32_t next = 0;
  bool seen_type = false;
  do {
    std::string_view name;
    if (!lexer_.string(&name)) return false;
    const size_t name_at = lexer_.token();
    if (in_any && name == "@type") {
      if (!type_key(&seen_type, depth)) return false;
      continue;
    }
    const schema::FieldEntry* known = names_.find_field(type, name, &next);
    if (known == nullptr) {
      const MessageType found = find_extension(type, name);
      const bool read = found.image == nullptr ? unknown_field(type, name, depth)
                                               : extension(type, found, object, depth - 1, &seen_extensions);
      if (!read) return false;
      continue;
    }
    if (!lexer_.expect(':', "':'")) return false;
    const Scope scope(&path_, type.image->name(known->json_name));
    if (lexer_.peek() == 'n' && !takes_null(type, *known)) {
      if (!lexer_.literal("null")) return false;
      continue;
    }
    if (!mark_seen(type, *known, name_at, &seen) || !field(type, object, *known, depth - 1)) return false;
  } while (lexer_.take(','));
  return lexer_.expect('}', "',' or '}'");
}

// A name of no field.
bool Parser::unknown_field(const MessageType& type, std::string_view name, int depth) {
  if (!options_.ignore_unknown) {
    const Scope scope(&path_, name);
    return fail_at_token(Error::kUnknownField, std::string("a field of ") + type.full_name());
  }
  return lexer_.expect(':', "':'") && lexer_.skip_value(depth - 1);
}

// Null is a value only for a google.protobuf.Value and a NullValue; elsewhere the field stays as it is.
bool Parser::takes_null(const MessageType& type, const FieldEntry& field) const {
  if (field.label != schema::kLabelSingular) return false;
  if (schema::is_message_kind(field.kind)) return well_known(type.sub(field)) == WellKnown::kValue;
  return is_null_value(*type.image, field);
}

bool Parser::mark_seen(const MessageType& type, const FieldEntry& field, size_t name_at, Seen* seen) {
  if (!seen->mark(static_cast<size_t>(&field - type.fields().begin()))) {
    return lexer_.fail_at(Error::kDuplicateField, "each field once", name_at);
  }
  if (field.case_offset == 0) return true;
  const size_t oneof = (field.case_offset - schema::case_words_offset(type.entry())) / sizeof(uint32_t);
  if (seen->mark(type.fields().size() + oneof)) return true;
  return lexer_.fail_at(Error::kDuplicateOneof, "one member of a oneof", name_at);
}

bool Parser::field(const MessageType& type, char* object, const FieldEntry& field, int depth) {
  switch (field.label) {
    case schema::kLabelSingular:
      return singular(type, object, field, depth);
    case schema::kLabelRepeated:
      return list(type, object, field, depth);
    default:
      return map(type, object, field, depth);
  }
}

bool Parser::singular(const MessageType& type, char* object, const FieldEntry& field, int depth) {
  char* at = object + field.offset;
  if (schema::is_message_kind(field.kind)) {
    char* sub = raw::mutable_sub_object(type, object, field, arena_);
    return sub == nullptr ? no_memory() : message(type.sub(field), sub, depth);
  }
  if (schema::is_string_kind(field.kind)) {
    raw::mark_present(object, field);
    return string(field, reinterpret_cast<String*>(at));
  }
  if (field.kind == static_cast<uint8_t>(Kind::kEnum)) {
    int32_t number;
    switch (enum_value(type, field, &number)) {
      case EnumText::kFailed:
        return false;
      case EnumText::kIgnored:
        return true;
      case EnumText::kUnknownNumber:
        return unknown_enum(object, field, number);
      case EnumText::kStored:
        raw::mark_present(object, field);
        raw::store(at, number);
        return true;
    }
  }
  char bits[8];
  if (!scalar(field, bits)) return false;
  raw::mark_present(object, field);
  std::memcpy(at, bits, schema::kStorageOfKind[field.kind]);
  return true;
}

// ---- lists

bool Parser::list(const MessageType& type, char* object, const FieldEntry& field, int depth) {
  if (lexer_.peek() != '[') return fail(Error::kWrongType, "an array");
  if (depth <= 0) return fail(Error::kDepthLimit, "less nesting");
  lexer_.take('[');
  if (lexer_.take(']')) return true;
  Scope scope(&path_);
  int64_t index = 0;
  do {
    scope.set_index(index++);
    if (!element(type, object, field, depth - 1)) return false;
  } while (lexer_.take(','));
  return lexer_.expect(']', "',' or ']'");
}

bool Parser::element(const MessageType& type, char* object, const FieldEntry& field, int depth) {
  if (schema::is_message_kind(field.kind)) {
    if (lexer_.peek() == 'n' && well_known(type.sub(field)) != WellKnown::kValue) {
      return fail(Error::kWrongType, "no null in a list");
    }
    char* sub = raw::append_element(type, object, field, arena_);
    return sub == nullptr ? no_memory() : message(type.sub(field), sub, depth);
  }
  if (schema::is_string_kind(field.kind)) {
    if (lexer_.peek() != '"') return fail(Error::kWrongType, "a string");
    char* at = raw::append_element(type, object, field, arena_);
    return at == nullptr ? no_memory() : string(field, reinterpret_cast<String*>(at));
  }
  char bits[8];
  if (field.kind == static_cast<uint8_t>(Kind::kEnum)) {
    int32_t number;
    const EnumText became = enum_value(type, field, &number);
    if (became == EnumText::kFailed) return false;
    if (became == EnumText::kIgnored) return true;
    if (became == EnumText::kUnknownNumber) return unknown_enum(object, field, number);
    raw::store(bits, number);
  } else if (!scalar(field, bits)) {
    return false;
  }
  char* at = raw::append_element(type, object, field, arena_);
  if (at == nullptr) return no_memory();
  std::memcpy(at, bits, schema::kStorageOfKind[field.kind]);
  return true;
}

// ---- maps

bool Parser::map(const MessageType& type, char* object, const FieldEntry& field, int depth) {
  if (lexer_.peek() != '{') return fail(Error::kWrongType, "an object");
  if (depth <= 0) return fail(Error::kDepthLimit, "less nesting");
  lexer_.take('{');
  if (lexer_.take('}')) return true;
  // Entries that were there before may be replaced, each once; a key that comes twice in the text is refused.
  const auto old_entries = static_cast<uint32_t>(reinterpret_cast<MapBase*>(object + field.offset)->size());
  Seen seen(this, old_entries);
  Scope scope(&path_);
  do {
    scope.set_entry(nullptr, nullptr);
    if (!map_entry(type, object, field, depth - 1, old_entries, &seen, &scope)) return false;
  } while (lexer_.take(','));
  return lexer_.expect('}', "',' or '}'");
}

bool Parser::map_entry(const MessageType& type, char* object, const FieldEntry& field, int depth, uint32_t old_entries,
                       Seen* seen, Scope* scope) {
  const MessageType entry_type = type.sub(field);
  const FieldEntry &key = entry_type.fields()[0], &value = entry_type.fields()[1];
  const MapKeyKind key_kind = raw::map_key_kind(key);
  auto* map = reinterpret_cast<MapBase*>(object + field.offset);
  std::string_view text;
  if (!lexer_.string(&text)) return false;
  char* entry = raw::new_object(entry_type, arena_);
  if (entry == nullptr) return no_memory();
  if (!map_key(key, text, entry)) return false;
  scope->set_entry(entry, &key);
  const int64_t found = map->find(MapBase::key_of(entry, key.offset, key_kind), key.offset, key_kind);
  if (found >= 0 && (found >= old_entries || !seen->mark(static_cast<size_t>(found)))) {
    return fail_at_token(Error::kDuplicateKey, "each key once");
  }
  if (!lexer_.expect(':', "':'")) return false;
  char* at = entry + value.offset;
  if (lexer_.peek() == 'n' && !takes_null(entry_type, value)) return fail(Error::kWrongType, "no null in a map");
  if (schema::is_message_kind(value.kind)) {
    char* sub = raw::new_object(entry_type.sub(value), arena_);
    if (sub == nullptr) return no_memory();
    reinterpret_cast<raw::Pointer*>(at)->set(sub);
    if (!message(entry_type.sub(value), sub, depth)) return false;
  } else if (schema::is_string_kind(value.kind)) {
    if (!string(value, reinterpret_cast<String*>(at))) return false;
  } else if (value.kind == static_cast<uint8_t>(Kind::kEnum)) {
    int32_t number;
    const EnumText became = enum_value(entry_type, value, &number);
    if (became == EnumText::kFailed) return false;
    if (became == EnumText::kIgnored) return true;
    raw::store(at, number);
    if (became == EnumText::kUnknownNumber) return unknown_map_entry(entry_type, object, field, entry);
  } else if (!scalar(value, at)) {
    return false;
  }
  return map->insert_entry(arena_, entry, key.offset, key_kind) || no_memory();
}

bool Parser::map_key(const FieldEntry& key, std::string_view text, char* entry) {
  char* at = entry + key.offset;
  const auto kind = static_cast<Kind>(key.kind);
  if (kind == Kind::kString) return store_string(text, reinterpret_cast<String*>(at));
  if (kind == Kind::kBool) {
    if (text != "true" && text != "false") return fail_at_token(Error::kWrongType, "\"true\" or \"false\" as a key");
    *at = text == "true" ? 1 : 0;
    return true;
  }
  if (!is_number(text) || text.find_first_of(".eE") != std::string_view::npos) {
    return fail_at_token(Error::kWrongType, "an integer, in quotes, as a key");
  }
  return integer(kind, text, at);
}

// A closed enum's value that the schema does not know takes its whole entry to the unknown fields, as on the wire.
bool Parser::unknown_map_entry(const MessageType& entry, char* object, const FieldEntry& field, const char* added) {
  const EncodeResult encoded = encode(entry, reinterpret_cast<const Message*>(added), {}, &encoded_);
  if (!encoded.ok()) return fail_at_token(Error::kTooLarge, "an entry that can be kept");
  std::string wire(2 * wire::kMaxVarint, '\0');
  char* to = wire::write_varint(wire.data(), wire::make_tag(field.number, wire::kLengthDelimited));
  to = wire::write_varint(to, encoded_.size());
  wire.resize(static_cast<size_t>(to - wire.data()));
  const size_t header = wire.size();
  wire.resize(header + encoded_.size());
  encoded_.copy_to(wire.data() + header);
  return raw::append_unknown(object, wire, arena_) || no_memory();
}

}  // namespace drover::json
