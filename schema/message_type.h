// MessageType: one message of one schema image; what the codec, reflection and services pass around.
//
// Two words, copied freely; valid as long as the Image it points to.
#pragma once

#include "schema/image.h"

namespace drover::schema {

struct MessageType {
  const Image* image = nullptr;
  uint32_t index = 0;

  const MessageEntry& entry() const { return image->message(index); }
  const char* full_name() const { return image->name(entry().name); }
  FieldRange fields() const { return image->fields(entry()); }
  const FieldEntry* find_field(uint32_t number) const { return image->find_field(entry(), number); }
  // The type of a message or group field of this message.
  MessageType sub(const FieldEntry& field) const { return {image, field.sub}; }
};

}  // namespace drover::schema
