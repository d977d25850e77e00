// Message: the header in front of every object's fields (docs/formats.md, section 2), and the base class of every
// generated message. It holds the 16 bytes of MessageHeader and has no virtual functions, so that an object is valid in
// every process that maps it. Operations are driven by a schema image: message/operations.h, codec/decode/decode.h,
// codec/encode/encode.h.
//
// Members begin with drover_ so that a field of any name can have its accessor in the derived class.
#pragma once

#include <new>

#include "object/offset_ptr.h"
#include "object/owner.h"
#include "object/string.h"

namespace drover {

class Message {
 public:
  Message(const Message&) = delete;
  Message& operator=(const Message&) = delete;

  OwnerWord* drover_owner() { return &drover_header_.owner; }
  OwnerWord drover_owner_word() const { return drover_header_.owner; }

  // The wire bytes of the unknown fields, in order of arrival.
  std::string_view drover_unknown() const {
    const String* unknown = drover_unknown_string();
    return unknown == nullptr ? std::string_view() : unknown->view();
  }
  const String* drover_unknown_string() const {
    if (drover_header_.unknown == 0) return nullptr;
    return reinterpret_cast<const String*>(reinterpret_cast<const char*>(&drover_header_.unknown) +
                                           drover_header_.unknown);
  }
  void drover_set_unknown_string(const String* unknown) {
    drover_header_.unknown = unknown == nullptr ? 0
                                                : reinterpret_cast<const char*>(unknown) -
                                                      reinterpret_cast<const char*>(&drover_header_.unknown);
  }

  // The object's memory, for code that uses a schema image's offsets.
  char* drover_bytes() { return reinterpret_cast<char*>(this); }
  const char* drover_bytes() const { return reinterpret_cast<const char*>(this); }

 protected:
  Message() = default;
  ~Message() = default;

  MessageHeader drover_header_{};
};

static_assert(sizeof(Message) == 16);

}  // namespace drover
