// What brackets name: extensions, parsed into a temporary message as its only field, and the content of Anys, parsed
// into a temporary message; both are kept as wire bytes in the object.
#include <utility>

#include "codec/encode/extension_record.h"
#include "message/extensions.h"
#include "text/parser.h"

namespace drover::text {

using schema::MessageType;

bool Parser::bracketed(Open* in) {
  const size_t name_at = lexer_.offset();
  std::string_view name;
  if (!lexer_.bracketed_name(&name)) return false;
  if (message::is_any(in->type)) return any(in, std::string(name), name_at);
  MessageType found;
  if (name.find('/') != std::string_view::npos) {
    return lexer_.fail_at(Error::kSyntax, "an extension's full name, without '/'", name_at);
  }
  if (message::takes_extensions(in->type)) found = extensions_.find_printed(in->type, name);
  return found.image == nullptr ? unknown_extension(*in, name, name_at) : extension(in, found, name_at);
}

bool Parser::unknown_extension(const Open& in, std::string_view name, size_t name_at) {
  if (options_.allow_unknown_field || options_.allow_unknown_extension) return skip_after_name(in.depth);
  const std::string text = "[" + std::string(name) + "]";
  const Scope scope(&path_, text);
  return lexer_.fail_at(Error::kUnknownExtension, std::string("an extension of ") + in.type.full_name(), name_at);
}

// The name has been read; `extension` is the type whose one field it is.
bool Parser::extension(Open* in, const MessageType& extension, size_t name_at) {
  const FieldEntry& only = extension.fields()[0];
  const std::string name = "[" + std::string(message::extension_print_name(in->type, extension)) + "]";
  const Scope scope(&path_, name);
  const bool singular = only.label == schema::kLabelSingular;
  if (singular && !options_.allow_overwrites && in->extensions.contains(only.number)) {
    return lexer_.fail_at(Error::kDuplicateField, "each singular field once", name_at);
  }
  Arena side;
  char* built = raw::new_object(extension, &side);
  if (built == nullptr) return no_memory();
  Arena* const outer = std::exchange(arena_, &side);
  const bool read = value(extension, built, only, in->depth);
  arena_ = outer;
  if (!read) return false;
  if (singular && raw::present(built, only)) in->extensions.insert(only.number);  // not if its value was skipped
  switch (append_extension(in->type, extension, built, &encoded_, in->object, arena_)) {
    case EncodeError::kOk:
      break;
    case EncodeError::kOutOfMemory:
      return no_memory();
    default:
      return lexer_.fail_at(Error::kTooLarge, "an extension of at most 2 GiB - 1", name_at);
  }
  take_separator();
  return !lexer_.failed();
}

bool Parser::any(Open* in, const std::string& url, size_t name_at) {
  const std::string name = "[" + url + "]";
  const Scope scope(&path_, name);
  const FieldEntry &url_field = *in->type.find_field(1), &value_field = *in->type.find_field(2);
  const MessageType content = message::find_any_type(options_.resolver, *in->type.image, url);
  if (content.image == nullptr) {
    return lexer_.fail_at(Error::kUnknownType, "a type URL, \"type.googleapis.com/\" and a known message's name",
                          name_at);
  }
  lexer_.take(':');
  Arena side;
  char* built = raw::new_object(content, &side);
  if (built == nullptr) return no_memory();
  Arena* const outer = std::exchange(arena_, &side);
  const bool read = message(content, built, in->depth);
  arena_ = outer;
  if (!read) return false;
  if (!options_.allow_overwrites && (raw::present(in->object, url_field) || raw::present(in->object, value_field))) {
    return lexer_.fail_at(Error::kDuplicateField, "the content of an Any once", name_at);
  }
  EncodeOptions encode_options;
  encode_options.check_required = !options_.allow_partial;
  const EncodeResult encoded = encode(content, reinterpret_cast<const Message*>(built), encode_options, &encoded_);
  if (encoded.error == EncodeError::kMissingRequired) {
    return lexer_.fail_at(Error::kMissingRequired, "all required fields", name_at);
  }
  if (!encoded.ok()) return lexer_.fail_at(Error::kTooLarge, "content of at most 2 GiB - 1", name_at);
  raw::mark_present(in->object, url_field);
  raw::mark_present(in->object, value_field);
  auto* bytes = reinterpret_cast<String*>(in->object + value_field.offset);
  if (!store_string(url, reinterpret_cast<String*>(in->object + url_field.offset))) return false;
  if (encoded.size == 0) {
    bytes->clear();
  } else {
    char* to = bytes->allocate_in(arena_, encoded.size);
    if (to == nullptr) return no_memory();
    encoded_.copy_to(to);
  }
  take_separator();
  return !lexer_.failed();
}

}  // namespace drover::text
