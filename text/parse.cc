// Messages, fields, lists and maps.
#include <algorithm>
#include <charconv>

#include "codec/decode/install_decoder.h"
#include "message/extensions.h"
#include "message/text_name.h"
#include "text/parser.h"

namespace drover::text {

using schema::FieldEntry;
using schema::MessageType;

Result parse(const MessageType& type, std::string_view text, const ParseOptions& options, Message* message) {
  return Parser(text, options).run(type, message);
}

Result Parser::run(const MessageType& type, Message* object) {
  install_decoder();  // which extensions are checked with
  arena_ = arena_of(object->drover_owner());
  Open top{type, object->drover_bytes(), std::clamp(options_.depth_limit, 0, kMostDepth), 0, {}};
  if (fields(&top) && lexer_.kind() != TokenKind::kEnd) fail(Error::kSyntax, "a field");
  Result result = lexer_.result();
  if (result.ok() && !options_.allow_partial && !message::is_initialized(type, *object)) {
    std::vector<std::string> missing;
    message::find_missing(type, *object, &missing);
    result.error = missing.empty() ? Error::kDepthLimit : Error::kMissingRequired;  // too deep to be looked through
    if (!missing.empty()) result.path = missing.front();
  }
  return result;
}

// ---- messages

bool Parser::open(char* close) {
  *close = lexer_.is('<') ? '>' : '}';
  return lexer_.take('<') || lexer_.expect('{', "'{' or '<'");
}

bool Parser::message(const MessageType& type, char* object, int depth) {
  char close;
  if (!open(&close)) return false;
  if (depth <= 0) return too_deep();
  Open in{type, object, depth - 1, 0, {}};
  return fields(&in) && lexer_.expect(close, close == '}' ? "a field or '}'" : "a field or '>'");
}

bool Parser::fields(Open* in) {
  while (lexer_.kind() == TokenKind::kName || lexer_.kind() == TokenKind::kInteger || lexer_.is('[')) {
    if (!field(in)) return false;
  }
  return !lexer_.failed();
}

bool Parser::field(Open* in) {
  if (lexer_.is('[')) return bracketed(in);
  const size_t name_at = lexer_.offset();
  std::string_view name;
  if (!take_name(&name)) return false;
  uint32_t number;
  if (is_number(name, &number) && message::takes_extensions(in->type)) {
    const MessageType found = message::find_extension(in->type, number);
    if (found.image != nullptr) return extension(in, found, name_at);
  }
  const FieldEntry* known = find(in, name);
  if (known != nullptr) return known_field(in, *known, name_at);
  return unknown_name(*in, name, name_at);
}

// The name of no field, which has been taken.
bool Parser::unknown_name(const Open& in, std::string_view name, size_t name_at) {
  if (options_.allow_unknown_field) return skip_after_name(in.depth);
  const Scope scope(&path_, name);
  return lexer_.fail_at(Error::kUnknownField, std::string("a field of ") + in.type.full_name(), name_at);
}

bool Parser::take_name(std::string_view* name) {
  const bool numbers = options_.allow_field_number || options_.allow_unknown_field || options_.allow_unknown_extension;
  if (lexer_.kind() != TokenKind::kName && !(numbers && lexer_.kind() == TokenKind::kInteger)) {
    return fail(Error::kSyntax, "a field's name");
  }
  *name = lexer_.token();
  lexer_.next();
  return !lexer_.failed();
}

// Whether the name is a field's number, in decimal digits, and may be one.
bool Parser::is_number(std::string_view name, uint32_t* number) const {
  if (!options_.allow_field_number) return false;
  const auto [behind, error] = std::from_chars(name.data(), name.data() + name.size(), *number);
  return error == std::errc() && behind == name.data() + name.size();
}

const FieldEntry* Parser::find(Open* in, std::string_view name) {
  uint32_t number;
  if (is_number(name, &number)) return in->type.find_field(number);
  const FieldEntry* found = names_.find_field(in->type, name, &in->next);
  if (found != nullptr || !options_.allow_any_case) return found;
  return any_case_names_.find_field(in->type, name, &in->next);
}

void Parser::take_separator() {
  if (!lexer_.take(';')) lexer_.take(',');
}

// ---- a field's value

bool Parser::known_field(Open* in, const FieldEntry& field, size_t name_at) {
  const Scope scope(&path_, message::text_name(in->type, field));
  if (!may_set(*in, field, name_at) || !value(in->type, in->object, field, in->depth)) return false;
  take_separator();
  return !lexer_.failed();
}

bool Parser::may_set(const Open& in, const FieldEntry& field, size_t name_at) {
  if (options_.allow_overwrites || field.label != schema::kLabelSingular) return true;
  if (raw::present(in.object, field)) {
    return lexer_.fail_at(Error::kDuplicateField, "each singular field once", name_at);
  }
  if (field.case_offset == 0 || raw::load<uint32_t>(in.object + field.case_offset) == 0) return true;
  return lexer_.fail_at(Error::kDuplicateOneof, "one member of a oneof", name_at);
}

bool Parser::value(const MessageType& type, char* object, const FieldEntry& field, int depth) {
  if (schema::is_message_kind(field.kind)) {
    lexer_.take(':');
  } else if (!lexer_.expect(':', "':'")) {
    return false;
  }
  if (field.label == schema::kLabelSingular) return singular(type, object, field, depth);
  if (!lexer_.take('[')) return one_value(type, object, field, depth);
  if (lexer_.take(']')) return true;
  do {
    if (!one_value(type, object, field, depth)) return false;
  } while (lexer_.take(','));
  return lexer_.expect(']', "',' or ']'");
}

// One more value of a repeated field or map.
bool Parser::one_value(const MessageType& type, char* object, const FieldEntry& field, int depth) {
  if (field.label == schema::kLabelMap) return map_entry(type, object, field, depth);
  Scope scope(&path_);
  scope.set_index(raw::words(object, field.offset)->size);
  return element(type, object, field, depth);
}

bool Parser::singular(const MessageType& type, char* object, const FieldEntry& field, int depth) {
  if (schema::is_message_kind(field.kind)) {
    char* sub = raw::mutable_sub_object(type, object, field, arena_);
    return sub == nullptr ? no_memory() : message(type.sub(field), sub, depth);
  }
  if (schema::is_string_kind(field.kind)) {
    raw::mark_present(object, field);
    return string(field, reinterpret_cast<String*>(object + field.offset));
  }
  char bits[8];
  const Scalar read = scalar(type, field, bits);
  if (read != Scalar::kStored) return read == Scalar::kSkipped;
  raw::mark_present(object, field);
  std::memcpy(object + field.offset, bits, schema::kStorageOfKind[field.kind]);
  return true;
}

bool Parser::element(const MessageType& type, char* object, const FieldEntry& field, int depth) {
  if (schema::is_message_kind(field.kind) || schema::is_string_kind(field.kind)) {
    char* at = raw::append_element(type, object, field, arena_);
    if (at == nullptr) return no_memory();
    if (schema::is_message_kind(field.kind)) return message(type.sub(field), at, depth);
    return string(field, reinterpret_cast<String*>(at));
  }
  char bits[8];
  const Scalar read = scalar(type, field, bits);
  if (read != Scalar::kStored) return read == Scalar::kSkipped;
  char* at = raw::append_element(type, object, field, arena_);
  if (at == nullptr) return no_memory();
  std::memcpy(at, bits, schema::kStorageOfKind[field.kind]);
  return true;
}

// ---- maps

// An entry without a key or value has the default one, zero (a map's enum begins with it); of entries with the same key
// the last one counts.
bool Parser::map_entry(const MessageType& type, char* object, const FieldEntry& field, int depth) {
  const MessageType entry_type = type.sub(field);
  const FieldEntry &key = entry_type.fields()[0], &value = entry_type.fields()[1];
  Scope scope(&path_);
  char close;
  if (!open(&close)) return false;
  if (depth <= 0) return too_deep();
  char* entry = raw::new_object(entry_type, arena_);
  if (entry == nullptr) return no_memory();
  OpenEntry in{{entry_type, entry, depth - 1, 0, {}}};
  if (!entry_fields(&in, &scope) || !lexer_.expect(close, close == '}' ? "'}'" : "'>'")) return false;
  if (schema::is_message_kind(value.kind) && !in.set[1]) {
    char* sub = raw::new_object(entry_type.sub(value), arena_);
    if (sub == nullptr) return no_memory();
    raw::pointer(entry, value.offset)->set(sub);
  }
  auto* map = reinterpret_cast<MapBase*>(object + field.offset);
  return map->insert_entry(arena_, entry, key.offset, raw::map_key_kind(key)) || no_memory();
}

bool Parser::entry_value(const Open& in, const FieldEntry& field) {
  const Scope inside(&path_, in.type.image->name(field.name));
  return value(in.type, in.object, field, in.depth);
}

bool Parser::entry_fields(OpenEntry* in, Scope* scope) {
  Open& fields = in->fields;
  const FieldEntry& key = fields.type.fields()[0];
  while (lexer_.kind() == TokenKind::kName || lexer_.kind() == TokenKind::kInteger || lexer_.is('[')) {
    const size_t name_at = lexer_.offset();
    if (lexer_.is('[')) {
      if (!bracketed(&fields)) return false;
      continue;
    }
    std::string_view name;
    if (!take_name(&name)) return false;
    const FieldEntry* known = find(&fields, name);
    if (known == nullptr) {
      if (!unknown_name(fields, name, name_at)) return false;
      continue;
    }
    bool* set = &in->set[known == &key ? 0 : 1];
    if (*set && !options_.allow_overwrites) {
      return lexer_.fail_at(Error::kDuplicateField, "each singular field once", name_at);
    }
    if (!entry_value(fields, *known)) return false;
    *set = true;
    if (known == &key) scope->set_entry(fields.object, &key);
    take_separator();
  }
  return !lexer_.failed();
}

}  // namespace drover::text
