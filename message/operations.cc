// Clear, move, compare and check: the operations that allocate nothing. Copying is in copy.cc, printing in
// debug_text.cc.
#include "message/operations.h"

#include <utility>

#include "message/clear.h"
#include "message/extensions.h"
#include "message/raw.h"
#include "object/map.h"
#include "object/repeated.h"

namespace drover::message {
namespace {

using schema::FieldEntry;
using schema::MessageType;

// ---- move

void rebase_object(const MessageType& type, char* object, int64_t delta) {
  auto rebase = [&](uint32_t offset) {
    auto* relative = raw::pointer(object, offset);
    if (relative->offset != 0) relative->offset -= delta;
  };
  rebase(offsetof(MessageHeader, unknown));
  for (const FieldEntry& field : type.fields()) {
    if (!raw::holds_its_slot(object, field)) continue;
    if (field.label == schema::kLabelSingular && !schema::is_string_kind(field.kind) &&
        !schema::is_message_kind(field.kind)) {
      continue;
    }
    rebase(field.offset);
    if (field.label == schema::kLabelMap) rebase(field.offset + sizeof(raw::Words));
  }
}

bool may_trade_owners(OwnerWord a, OwnerWord b) {
  bool a_own = a == 0 || (a & kOwnsArena) != 0, b_own = b == 0 || (b & kOwnsArena) != 0;
  return (a_own && b_own) || (a == b && a != kReceived);
}

}  // namespace

void clear(const MessageType& type, Message* object) {
  OwnerWord* owner = object->drover_owner();
  size_t size = type.entry().object_size;
  forget_terminated_copies(object, size);
  Arena* arena = *owner == 0 ? nullptr : arena_of(owner);
  if ((*owner & kOwnsArena) != 0) {
    arena->reset();
    arena = nullptr;
  }
  clear_content(type, object->drover_bytes(), arena);
}

void clear_field(const MessageType& type, Message* object, const FieldEntry& field) {
  char* bytes = object->drover_bytes();
  if (!raw::holds_its_slot(bytes, field)) return;
  forget_terminated_copies(bytes + field.offset, schema::field_storage(field.kind, field.label));
  Arena* arena = *object->drover_owner() == 0 ? nullptr : arena_of(object->drover_owner());
  clear_field_content(type, bytes, field, arena);
}

bool swap_in_place(const MessageType& type, Message* a, Message* b) {
  if (!may_trade_owners(a->drover_owner_word(), b->drover_owner_word())) return false;
  if (a == b) return true;
  size_t size = type.entry().object_size;
  forget_terminated_copies(a, size);
  forget_terminated_copies(b, size);
  char *x = a->drover_bytes(), *y = b->drover_bytes();
  for (size_t at = 0; at < size; at += 8) {  // object sizes are multiples of 8
    uint64_t word = raw::load<uint64_t>(x + at);
    raw::store(x + at, raw::load<uint64_t>(y + at));
    raw::store(y + at, word);
  }
  int64_t distance = y - x;
  rebase_object(type, x, -distance);
  rebase_object(type, y, distance);
  return true;
}

// ---- compare

namespace {

bool equal_objects(const MessageType& type, const char* a, const char* b, int depth);

bool equal_values(const MessageType& type, const FieldEntry& field, const char* a, const char* b, int depth) {
  if (schema::is_string_kind(field.kind)) {
    return reinterpret_cast<const String*>(a)->view() == reinterpret_cast<const String*>(b)->view();
  }
  if (!schema::is_message_kind(field.kind)) return std::memcmp(a, b, schema::kStorageOfKind[field.kind]) == 0;
  const char* x = reinterpret_cast<const raw::Pointer*>(a)->get();
  const char* y = reinterpret_cast<const raw::Pointer*>(b)->get();
  if (x == nullptr || y == nullptr) return x == y;
  return equal_objects(type.sub(field), x, y, depth);
}

bool equal_repeated(const MessageType& type, const FieldEntry& field, const char* a, const char* b, int depth) {
  const raw::Words *x = raw::words(a, 0), *y = raw::words(b, 0);
  if (x->size != y->size) return false;
  size_t stride = schema::kStorageOfKind[field.kind];
  for (uint32_t i = 0; i < x->size; ++i) {
    if (!equal_values(type, field, x->begin() + i * stride, y->begin() + i * stride, depth)) return false;
  }
  return true;
}

bool equal_maps(const MessageType& type, const FieldEntry& field, const char* a, const char* b, int depth) {
  auto *x = reinterpret_cast<const MapBase*>(a), *y = reinterpret_cast<const MapBase*>(b);
  if (x->size() != y->size()) return false;
  const MessageType entry = type.sub(field);
  const FieldEntry &key = entry.fields()[0], &value = entry.fields()[1];
  for (uint32_t i = 0; i < static_cast<uint32_t>(x->size()); ++i) {
    const char* mine = static_cast<const char*>(x->entry(i));
    MapKeyKind kind = raw::map_key_kind(key);
    int64_t found = y->find(MapBase::key_of(mine, key.offset, kind), key.offset, kind);
    if (found < 0) return false;
    const char* theirs = static_cast<const char*>(y->entry(static_cast<uint32_t>(found)));
    if (!equal_values(entry, value, mine + value.offset, theirs + value.offset, depth)) return false;
  }
  return true;
}

std::string_view unknown_bytes(const char* object) {
  auto* string = reinterpret_cast<const String*>(raw::pointer(object, offsetof(MessageHeader, unknown))->get());
  return string == nullptr ? std::string_view() : string->view();
}

bool equal_objects(const MessageType& type, const char* a, const char* b, int depth) {
  if (depth == 0) return false;
  for (const FieldEntry& field : type.fields()) {
    const char *x = a + field.offset, *y = b + field.offset;
    bool same;
    if (field.label == schema::kLabelMap) {
      same = equal_maps(type, field, x, y, depth - 1);
    } else if (field.label == schema::kLabelRepeated) {
      same = equal_repeated(type, field, x, y, depth - 1);
    } else {
      bool there = raw::present(a, field);
      same = there == raw::present(b, field) && (!there || equal_values(type, field, x, y, depth - 1));
    }
    if (!same) return false;
  }
  return unknown_bytes(a) == unknown_bytes(b);
}

// ---- required fields and unknown bytes: walks over all present sub-messages

// Calls visit(sub_type, sub_object, field, index or -1) for each; stops at false.
template <typename Visit>
bool for_each_sub(const MessageType& type, const char* object, Visit visit) {
  for (const FieldEntry& field : type.fields()) {
    if (!schema::is_message_kind(field.kind)) continue;
    const MessageType sub = type.sub(field);
    if (field.label == schema::kLabelSingular) {
      if (raw::present(object, field) && !visit(sub, raw::pointer(object, field.offset)->get(), field, -1))
        return false;
      continue;
    }
    const raw::Words* repeated = raw::words(object, field.offset);
    auto* pointers = reinterpret_cast<const raw::Pointer*>(repeated->begin());
    for (uint32_t i = 0; i < repeated->size; ++i) {
      if (!visit(sub, pointers[i].get(), field, static_cast<int64_t>(i))) return false;
    }
  }
  return true;
}

// An extension inside an extension costs as much depth as ten sub-messages, since each level decodes all below it.
constexpr int kExtensionDepth = 10;

// The messages among an object's extensions: visit(type of the extension, object with the extension as its field).
template <typename Visit>
bool for_each_extension(const MessageType& type, const char* object, ExtensionFinder* finder, Visit visit) {
  if (!takes_extensions(type)) return true;
  DecodedExtensions decoded(type, object, finder, DecodedExtensions::Which::kMayMissRequired);
  for (const DecodedExtensions::Extension& extension : decoded.extensions()) {
    if (!visit(extension.type, extension.object->drover_bytes())) return false;
  }
  return true;
}

// A walk in search of required fields that are missing.
struct RequiredWalk {
  static constexpr uint32_t kMessagesAtOnce = 2048;  // between two pauses

  const Pause& pause;
  ExtensionFinder finder;
  uint32_t left = kMessagesAtOnce;
};

bool initialized(const MessageType& type, const char* object, RequiredWalk* walk, int depth) {
  if (--walk->left == 0) {
    walk->left = RequiredWalk::kMessagesAtOnce;
    if (!walk->pause()) return false;
  }
  const schema::MessageEntry& entry = type.entry();
  if ((entry.flags & schema::kMessageFlagRequiredBelow) == 0 && entry.required_count == 0) return true;
  if (entry.required_count != 0) {
    for (const FieldEntry& field : type.fields()) {
      if ((field.flags & schema::kFieldFlagRequired) != 0 && !raw::present(object, field)) return false;
    }
  }
  if (depth <= 0) return false;
  auto below = [&](const MessageType& sub, const char* at, const FieldEntry&, int64_t) {
    return initialized(sub, at, walk, depth - 1);
  };
  auto extension = [&](const MessageType& sub, const char* at) {
    return initialized(sub, at, walk, depth - kExtensionDepth);
  };
  return for_each_sub(type, object, below) && for_each_extension(type, object, &walk->finder, extension);
}

void missing(const MessageType& type, const char* object, const std::string& prefix, ExtensionFinder* finder, int depth,
             std::vector<std::string>* paths) {
  bool is_extension = (type.entry().flags & schema::kMessageFlagExtension) != 0;
  for (const FieldEntry& field : type.fields()) {
    if ((field.flags & schema::kFieldFlagRequired) != 0 && !raw::present(object, field)) {
      paths->push_back(prefix + type.image->name(field.name));
    }
  }
  if (depth <= 0) return;
  for_each_sub(type, object, [&](const MessageType& sub, const char* at, const FieldEntry& field, int64_t index) {
    std::string path = type.image->name(field.name);
    path = prefix + (is_extension ? "(" + path + ")" : path);
    if (index >= 0) path += "[" + std::to_string(index) + "]";
    missing(sub, at, path + ".", finder, depth - 1, paths);
    return true;
  });
  for_each_extension(type, object, finder, [&](const MessageType& sub, const char* at) {
    missing(sub, at, prefix, finder, depth - kExtensionDepth, paths);
    return true;
  });
}

// The unknown bytes that belong to known extensions.
std::string extension_bytes(const MessageType& type, std::string_view unknown, ExtensionFinder* finder) {
  std::string kept;
  UnknownRecords records(unknown, is_message_set(type));
  UnknownRecord record;
  while (records.next(&record)) {
    const MessageType extension = finder->find(type, record.number, true);
    if (extension.image != nullptr && is_occurrence(extension.fields()[0], record)) kept += record.bytes;
  }
  return kept;
}

void discard(const MessageType& type, char* object, ExtensionFinder* finder, int depth) {
  auto* unknown = reinterpret_cast<String*>(raw::pointer(object, offsetof(MessageHeader, unknown))->get());
  if (unknown != nullptr && takes_extensions(type) && !unknown->empty()) {
    std::string kept = extension_bytes(type, std::as_const(*unknown).view(), finder);
    unknown->assign_in(arena_of(reinterpret_cast<OwnerWord*>(object)), kept);
  } else {
    raw::store<int64_t>(object + offsetof(MessageHeader, unknown), 0);
  }
  if (depth == 0) return;
  for_each_sub(type, object, [&](const MessageType& sub, const char* at, const FieldEntry&, int64_t) {
    discard(sub, const_cast<char*>(at), finder, depth - 1);
    return true;
  });
}

}  // namespace

bool equal(const MessageType& type, const Message& a, const Message& b) {
  return equal_objects(type, a.drover_bytes(), b.drover_bytes(), kMaxDepth);
}

bool is_initialized(const MessageType& type, const Message& object, const Pause& pause) {
  RequiredWalk walk{pause, {}};
  return initialized(type, object.drover_bytes(), &walk, kMaxDepth);
}

void find_missing(const MessageType& type, const Message& object, std::vector<std::string>* paths) {
  ExtensionFinder finder;
  missing(type, object.drover_bytes(), "", &finder, kMaxDepth, paths);
}

void discard_unknown(const MessageType& type, Message* object) {
  if (object->drover_owner_word() == kReceived) fatal("a message received over a channel is read-only");
  ExtensionFinder finder;
  discard(type, object->drover_bytes(), &finder, kMaxDepth);
}

}  // namespace drover::message
