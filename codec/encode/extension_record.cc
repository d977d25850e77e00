#include "codec/encode/extension_record.h"

#include <string>

#include "message/edit.h"
#include "message/extensions.h"
#include "message/raw.h"

namespace drover {

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

EncodeError append_extension(const MessageType& extendee, const MessageType& extension, const char* built,
                             Encoded* scratch, char* object, Arena* arena) {
  const schema::FieldEntry& only = extension.fields()[0];
  const bool item =
      message::is_message_set(extendee) && schema::is_message_kind(only.kind) && only.label == schema::kLabelSingular;
  const MessageType written = item ? extension.sub(only) : extension;
  const char* from = item ? raw::pointer(built, only.offset)->get() : built;
  if (const EncodeResult result = encode(written, reinterpret_cast<const Message*>(from), {}, scratch); !result.ok()) {
    return result.error;
  }
  std::string wire(scratch->size(), '\0');
  scratch->copy_to(wire.data());
  if (item) wire = message_set_item(only.number, wire);
  return raw::append_unknown(object, wire, arena) ? EncodeError::kOk : EncodeError::kOutOfMemory;
}

}  // namespace drover
