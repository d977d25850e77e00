// Extensions: parsed into a temporary message as its only field, and kept as wire bytes in the object.
#include <utility>

#include "json/parser.h"
#include "json/well_known.h"
#include "message/extensions.h"

namespace drover::json {

using schema::MessageType;

namespace {

// An extension in a message set: an item with the message's bytes.
std::string message_set_item(uint32_t number, std::string_view content) {
  std::string item;
  message::append_varint(&item, message::kItemStart);
  message::append_varint(&item, message::kItemTypeId);
  message::append_varint(&item, number);
  message::append_varint(&item, message::kItemMessage);
  message::append_varint(&item, content.size());
  item += content;
  message::append_varint(&item, message::kItemEnd);
  return item;
}

}  // namespace

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
  const bool item = message::is_message_set(type) && schema::is_message_kind(only.kind);
  const MessageType written = item ? extension.sub(only) : extension;
  const char* from = item ? raw::pointer(built, only.offset)->get() : built;
  if (!encode(written, reinterpret_cast<const Message*>(from), {}, &encoded_).ok()) {
    return lexer_.fail_at(Error::kTooLarge, "an extension of at most 2 GiB - 1", name_at);
  }
  std::string wire(encoded_.size(), '\0');
  encoded_.copy_to(wire.data());
  if (item) wire = message_set_item(only.number, wire);
  return raw::append_unknown(object, wire, arena_) || no_memory();
}

}  // namespace drover::json
