#include "message/extensions.h"

#include <algorithm>
#include <cstring>
#include <mutex>

#include "message/raw.h"
#include "object/map.h"
#include "object/repeated.h"

namespace drover::message {
namespace {

using schema::FieldEntry;
using schema::Image;
using schema::MessageType;

std::atomic<RegisteredImage*>& first_image() {
  static constinit std::atomic<RegisteredImage*> first{nullptr};
  return first;
}
std::mutex& registration() {
  static auto* mutex = new std::mutex();  // outlives every static object
  return *mutex;
}

std::string entry_prefix(const MessageType& extendee) { return std::string("[") + extendee.full_name() + ":"; }

MessageType find_in(const Image* image, const std::string& name) {
  int64_t index = image->find_message(name.data(), name.size());
  return index < 0 ? MessageType() : MessageType{image, static_cast<uint32_t>(index)};
}

// The entries of one extendee's extensions stand together, since messages ascend by name. Visits each until
// visit(type) is true.
template <typename Visit>
bool for_each_extension(const Image* image, const std::string& prefix, Visit visit) {
  uint32_t low = 0, high = image->message_count();
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (image->name(image->message(middle).name) < std::string_view(prefix)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  for (; low < image->message_count(); ++low) {
    MessageType type{image, low};
    if (std::strncmp(type.full_name(), prefix.c_str(), prefix.size()) != 0) break;
    if (visit(type)) return true;
  }
  return false;
}

uint32_t number_of(const MessageType& extension) { return extension.fields()[0].number; }

// The first that `find(image)` finds, in the type's own image and then in all others.
template <typename Find>
MessageType find_anywhere(const Image* own, Find find) {
  MessageType found = find(own);
  for (auto* at = RegisteredImage::first(); at != nullptr && found.image == nullptr; at = at->next()) {
    if (at->image() != own) found = find(at->image());
  }
  return found;
}

}  // namespace

RegisteredImage::RegisteredImage(const Image* image) : image_(image) {
  std::lock_guard<std::mutex> lock(registration());
  next_ = first_image().load(std::memory_order_relaxed);
  first_image().store(this, std::memory_order_release);
}

RegisteredImage::~RegisteredImage() {
  std::lock_guard<std::mutex> lock(registration());
  RegisteredImage* before = nullptr;
  RegisteredImage* at = first_image().load(std::memory_order_relaxed);
  for (; at != this; at = at->next_) before = at;
  if (before == nullptr) {
    first_image().store(next_, std::memory_order_release);
  } else {
    before->next_ = next_;
  }
}

const RegisteredImage* RegisteredImage::first() { return first_image().load(std::memory_order_acquire); }

MessageType find_extension(const MessageType& extendee, uint32_t number) {
  std::string name = entry_prefix(extendee) + std::to_string(number) + "]";
  return find_anywhere(extendee.image, [&](const Image* image) { return find_in(image, name); });
}

namespace {

// Visits the extensions in all images until visit(type) is true; returns that type.
template <typename Visit>
MessageType find_extension_by(const MessageType& extendee, Visit visit) {
  std::string prefix = entry_prefix(extendee);
  return find_anywhere(extendee.image, [&](const Image* image) {
    MessageType found;
    for_each_extension(image, prefix, [&](const MessageType& type) {
      bool same = visit(type);
      if (same) found = type;
      return same;
    });
    return found;
  });
}

std::string_view full_name_of(const MessageType& extension) {
  return extension.image->name(extension.fields()[0].name);
}

}  // namespace

MessageType find_extension(const MessageType& extendee, std::string_view full_name) {
  return find_extension_by(extendee, [&](const MessageType& type) { return full_name_of(type) == full_name; });
}

MessageType ExtensionFinder::find(const MessageType& extendee, uint32_t number, bool all) {
  auto [at, added] = by_number_.try_emplace(&extendee.entry());
  std::vector<MessageType>& known = at->second;
  if (added) {
    find_extension_by(extendee, [&](const MessageType& type) {
      known.push_back(type);
      return false;
    });
    std::sort(known.begin(), known.end(),
              [](const MessageType& a, const MessageType& b) { return number_of(a) < number_of(b); });
  }
  auto found = std::lower_bound(known.begin(), known.end(), number,
                                [](const MessageType& a, uint32_t b) { return number_of(a) < b; });
  if (found == known.end() || number_of(*found) != number) return {};
  return all || (found->entry().flags & schema::kMessageFlagRequiredBelow) != 0 ? *found : MessageType();
}

MessageType ExtensionFinder::find_printed(const MessageType& extendee, std::string_view name) {
  auto [at, added] = by_name_.try_emplace(&extendee.entry());
  std::map<std::string_view, MessageType>& known = at->second;
  if (added) {
    find_extension_by(extendee, [&](const MessageType& type) {
      known.emplace(full_name_of(type), type);
      known.emplace(extension_print_name(extendee, type), type);
      return false;
    });
  }
  auto found = known.find(name);
  return found == known.end() ? MessageType() : found->second;
}

MessageType find_registered_message(std::string_view full_name) {
  for (auto* at = RegisteredImage::first(); at != nullptr; at = at->next()) {
    int64_t index = at->image()->find_message(full_name.data(), full_name.size());
    if (index >= 0) return {at->image(), static_cast<uint32_t>(index)};
  }
  return {};
}

std::string_view extension_print_name(const MessageType& extendee, const MessageType& extension) {
  const FieldEntry& field = extension.fields()[0];
  std::string_view name = extension.image->name(field.name);
  if (!is_message_set(extendee) || !schema::is_message_kind(field.kind)) return name;
  std::string_view message = extension.sub(field).full_name();
  return name.substr(0, name.rfind('.')) == message ? message : name;
}

bool is_occurrence(const FieldEntry& extension, const UnknownRecord& record) {
  if (record.number != extension.number) return false;
  if (record.wire_type == extension.wire_type) return true;
  bool packable = extension.label == schema::kLabelRepeated && !schema::is_string_kind(extension.kind) &&
                  !schema::is_message_kind(extension.kind);
  return packable && record.wire_type == kWireLength;
}

DecodedExtensions::DecodedExtensions(const MessageType& type, const char* object, ExtensionFinder* finder,
                                     Which which) {
  auto* unknown = reinterpret_cast<const String*>(raw::pointer(object, offsetof(MessageHeader, unknown))->get());
  if (unknown == nullptr) return;
  all_ = unknown->view();
  if (takes_extensions(type) && !all_.empty()) decode(type, finder, which);
}

void DecodedExtensions::decode(const MessageType& type, ExtensionFinder* finder, Which which) {
  DecodeWire decode_wire = installed_decoder.load(std::memory_order_acquire);
  if (decode_wire == nullptr) return;
  no_extensions_ = false;
  UnknownRecords records(all_, is_message_set(type));
  UnknownRecord record;
  while (records.next(&record)) {
    MessageType found = finder->find(type, record.number, which == Which::kAll);
    if (found.image == nullptr || !add(found, record, decode_wire)) rest_ += record.bytes;
  }
  rest_ += all_.substr(records.position());
  std::erase_if(extensions_, [](const Extension& e) {  // a closed enum may have none of the values
    const FieldEntry& field = e.type.fields()[0];
    return field.label == schema::kLabelSingular && !raw::present(e.object->drover_bytes(), field);
  });
}

// The type id of an item may be too large for a tag: its message is decoded as it stands.
void DecodedExtensions::decode_item(const MessageType& found, Message* object, const UnknownRecord& record,
                                    DecodeWire decode_wire) {
  const FieldEntry& field = found.fields()[0];
  const MessageType sub = found.sub(field);
  raw::Pointer* pointer = raw::pointer(object->drover_bytes(), field.offset);
  if (pointer->get() == nullptr) {
    void* memory = arena_.allocate_zeroed(sub.entry().object_size);
    if (memory == nullptr) fatal("out of memory for an extension");
    *static_cast<Message*>(memory)->drover_owner() = reinterpret_cast<OwnerWord>(&arena_);
    pointer->set(memory);
  }
  decode_wire(sub, reinterpret_cast<Message*>(pointer->get()), record.value, &arena_);
}

// False if the record turns out not to be the extension.
bool DecodedExtensions::add(const MessageType& found, const UnknownRecord& record, DecodeWire decode_wire) {
  const FieldEntry& field = found.fields()[0];
  if (!is_occurrence(field, record)) return false;
  if (record.item && (field.label != schema::kLabelSingular || !schema::is_message_kind(field.kind))) return false;
  auto at = std::lower_bound(extensions_.begin(), extensions_.end(), record.number,
                             [](const Extension& e, uint32_t number) { return number_of(e.type) < number; });
  if (at == extensions_.end() || number_of(at->type) != record.number) {
    void* memory = arena_.allocate_zeroed(found.entry().object_size);
    if (memory == nullptr) fatal("out of memory for an extension");
    at = extensions_.insert(at, {found, static_cast<Message*>(memory)});
    *at->object->drover_owner() = reinterpret_cast<OwnerWord>(&arena_);
  }
  size_t unknown = at->object->drover_unknown().size();
  if (record.item) {
    decode_item(found, at->object, record, decode_wire);
  } else {
    decode_wire(found, at->object, record.bytes, &arena_);
  }
  rest_ += at->object->drover_unknown().substr(unknown);
  return true;
}

}  // namespace drover::message
