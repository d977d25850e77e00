// Extensions: parsed into a temporary message as its only field, and kept as wire bytes in the object.
#include <utility>

#include "codec/encode/extension_record.h"
#include "json/parser.h"
#include "json/well_known.h"
#include "message/extensions.h"

namespace drover::json {

using schema::MessageType;

// The name has been read; `extension` is the type whose one field it is.
bool Parser::extension(const MessageType& type, const MessageType& extension, char* object, int depth,
                       std::set<uint32_t>* seen) {
  const FieldEntry& only = extension.fields()[0];
  const size_t name_at = lexer_.token();
  if (!lexer_.expect(':', "':'")) return false;
  const Scope scope(&path_, extension.image->name(only.json_name));
  if (lexer_.peek() == 'n' && !takes_null(extension, only)) return lexer_.literal("null");
  if (!seen->insert(only.number).second) {
    return lexer_.fail_at(Error::kDuplicateField, "each extension once", name_at);
  }
  Arena side;
  char* built = raw::new_object(extension, &side);
  if (built == nullptr) return no_memory();
  Arena* const outer = std::exchange(arena_, &side);
  const bool read = field(extension, built, only, depth);
  arena_ = outer;
  if (!read) return false;
  switch (append_extension(type, extension, built, &encoded_, object, arena_)) {
    case EncodeError::kOk:
      return true;
    case EncodeError::kOutOfMemory:
      return no_memory();
    default:
      return lexer_.fail_at(Error::kTooLarge, "an extension of at most 2 GiB - 1", name_at);
  }
}

}  // namespace drover::json
