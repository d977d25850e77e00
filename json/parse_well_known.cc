// The forms of google.protobuf's well-known types that are not an object of their fields.
#include <algorithm>
#include <utility>

#include "json/parser.h"
#include "json/special_text.h"
#include "json/well_known.h"

namespace drover::json {

using schema::MessageType;

namespace {

// Sets a singular scalar field, whose storage is a T's.
template <typename T>
void set(char* object, const schema::FieldEntry& field, T value) {
  raw::mark_present(object, field);
  raw::store(object + field.offset, value);
}

}  // namespace

bool Parser::time(const MessageType& type, char* object, bool is_duration) {
  const char* expected = is_duration ? "a duration, \"1.5s\"" : "a time, \"2000-01-31T00:00:00Z\"";
  if (lexer_.peek() != '"') return fail(Error::kWrongType, expected);
  std::string_view text;
  if (!lexer_.string(&text)) return false;
  int64_t seconds;
  int32_t nanos;
  const bool good = is_duration ? read_duration(text, &seconds, &nanos) : read_timestamp(text, &seconds, &nanos);
  if (!good) return fail_at_token(Error::kBadValue, expected);
  const FieldEntry &seconds_field = *type.find_field(1), &nanos_field = *type.find_field(2);
  set(object, seconds_field, seconds);
  set(object, nanos_field, nanos);
  return true;
}

bool Parser::field_mask(const MessageType& type, char* object) {
  if (lexer_.peek() != '"') return fail(Error::kWrongType, "a string of field paths");
  std::string_view text;
  if (!lexer_.string(&text)) return false;
  const FieldEntry& paths = *type.find_field(1);
  std::string path;
  while (!text.empty()) {
    const size_t comma = text.find(',');
    const bool last = comma == std::string_view::npos;
    if (comma + 1 == text.size() || !read_mask_path(text.substr(0, comma), &path)) {
      return fail_at_token(Error::kBadValue, "paths in camelCase with commas between");
    }
    char* at = raw::append_element(type, object, paths, arena_);
    if (at == nullptr) return no_memory();
    if (!store_string(path, reinterpret_cast<String*>(at))) return false;
    text.remove_prefix(last ? text.size() : comma + 1);
  }
  return true;
}

bool Parser::value(const MessageType& type, char* object, int depth) {
  auto member = [&](uint32_t number) -> const FieldEntry& { return *type.find_field(number); };
  auto sub = [&](uint32_t number) {
    char* made = raw::mutable_sub_object(type, object, member(number), arena_);
    return made == nullptr ? no_memory() : message(type.sub(member(number)), made, depth);
  };
  const char c = lexer_.peek();
  switch (c) {
    case 'n':
      set(object, member(1), int32_t{0});
      return lexer_.literal("null");
    case 't':
    case 'f':
      return singular(type, object, member(4), depth);
    case '"':
      return singular(type, object, member(3), depth);
    case '{':
      return sub(5);
    case '[':
      return sub(6);
    default:
      if (!Lexer::starts_number(c)) return fail(Error::kSyntax, "a JSON value");
      return singular(type, object, member(2), depth);
  }
}

// ---- Any: {"@type": url, and the fields of that type}, or {"@type": url, "value": its own form}

bool Parser::any(const MessageType& type, char* object, int depth) {
  if (lexer_.peek() != '{') return fail(Error::kWrongType, "an object");
  if (depth <= 0) return fail(Error::kDepthLimit, "less nesting");
  const size_t begin = lexer_.offset();
  std::string url;
  bool empty = false;
  if (!any_url(depth, &url, &empty)) return false;
  if (empty) return true;
  const size_t url_at = lexer_.token();
  lexer_.rewind(begin);
  const MessageType content = find_any_type(options_.resolver, *type.image, url);
  if (content.image == nullptr) {
    return lexer_.fail_at(Error::kUnknownType, "a type URL, \"type.googleapis.com/\" and a known message's name",
                          url_at);
  }
  // The content is parsed into a temporary message, whose wire bytes go into the Any.
  Arena side;
  char* built = raw::new_object(content, &side);
  if (built == nullptr) return no_memory();
  Arena* const outer = std::exchange(arena_, &side);
  const bool read = well_known(content) == WellKnown::kNone ? fields(content, built, depth, true)
                                                            : any_content(content, built, depth);
  arena_ = outer;
  if (!read) return false;
  const FieldEntry &url_field = *type.find_field(1), &value_field = *type.find_field(2);
  raw::mark_present(object, url_field);
  if (!store_string(url, reinterpret_cast<String*>(object + url_field.offset))) return false;
  EncodeOptions encode_options;
  encode_options.check_required = options_.check_required;
  const EncodeResult encoded = encode(content, reinterpret_cast<const Message*>(built), encode_options, &encoded_);
  if (encoded.error == EncodeError::kMissingRequired) {
    return lexer_.fail_at(Error::kMissingRequired, "all required fields", begin);
  }
  if (!encoded.ok()) return lexer_.fail_at(Error::kTooLarge, "content of at most 2 GiB - 1", begin);
  auto* bytes = reinterpret_cast<String*>(object + value_field.offset);
  raw::mark_present(object, value_field);
  if (encoded.size == 0) return bytes->clear(), true;
  char* to = bytes->allocate_in(arena_, encoded.size);
  if (to == nullptr) return no_memory();
  encoded_.copy_to(to);
  return true;
}

// The "@type" of the object that comes next. It mostly is the first key; if not, the object is searched as far as its
// end, for what is nested in it as well, so that no byte is searched twice.
bool Parser::any_url(int depth, std::string* url, bool* empty) {
  const size_t begin = lexer_.offset();
  std::string_view text;
  lexer_.take('{');
  if (lexer_.take('}')) return *empty = true;
  if (!lexer_.string(&text)) return false;
  if (text != "@type") {
    auto by_object = [](const Lexer::TypeKey& a, const Lexer::TypeKey& b) {
      return a.object != b.object ? a.object < b.object : a.value < b.value;
    };
    if (begin >= type_keys_until_) {
      lexer_.rewind(begin);
      const auto old = static_cast<ptrdiff_t>(type_keys_.size());
      if (!lexer_.skip_value(depth, &type_keys_)) return false;
      type_keys_until_ = lexer_.offset();
      std::sort(type_keys_.begin() + old, type_keys_.end(), by_object);
    }
    const auto at = std::lower_bound(type_keys_.begin(), type_keys_.end(), Lexer::TypeKey{begin, 0}, by_object);
    if (at == type_keys_.end() || at->object != begin) {
      return lexer_.fail_at(Error::kUnknownType, "\"@type\" in an Any", begin);
    }
    lexer_.rewind(at->value);
  } else if (!lexer_.expect(':', "':'")) {
    return false;
  }
  if (lexer_.peek() != '"') return fail(Error::kWrongType, "a type URL");
  if (!lexer_.string(&text)) return false;
  *url = text;
  return true;
}

// Skips "@type", whose value any_url has read.
bool Parser::type_key(bool* seen_type, int depth) {
  if (*seen_type) return fail_at_token(Error::kDuplicateField, "\"@type\" once");
  *seen_type = true;
  return lexer_.expect(':', "':'") && lexer_.skip_value(depth);
}

// The content of an Any whose type has a form of its own: under "value".
bool Parser::any_content(const MessageType& type, char* object, int depth) {
  lexer_.take('{');
  bool seen_type = false, seen_value = false;
  do {
    std::string_view name;
    if (!lexer_.string(&name)) return false;
    if (name == "@type") {
      if (!type_key(&seen_type, depth)) return false;
      continue;
    }
    if (name != "value") {
      if (!unknown_field(type, name, depth)) return false;
      continue;
    }
    if (seen_value) return fail_at_token(Error::kDuplicateField, "\"value\" once");
    seen_value = true;
    if (!any_value(type, object, depth - 1)) return false;
  } while (lexer_.take(','));
  if (!seen_value) return fail(Error::kBadValue, "\"value\" in the Any");
  return lexer_.expect('}', "',' or '}'");
}

bool Parser::any_value(const MessageType& type, char* object, int depth) {
  const Scope scope(&path_, "value");
  return lexer_.expect(':', "':'") && message(type, object, depth);
}

}  // namespace drover::json
