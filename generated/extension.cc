// Reads and rewrites the records of one extension among an object's unknown bytes.
#include "generated/extension.h"

#include "codec/decode/decode.h"
#include "codec/encode/encode.h"
#include "message/extensions.h"
#include "message/raw.h"
#include "object/map.h"
#include "object/repeated.h"

namespace drover::extension {
namespace {

using message::UnknownRecord;
using message::UnknownRecords;

UnknownRecords records_of(const Of& of, const Message& message) {
  return UnknownRecords(message.drover_unknown(), message::is_message_set(of.extendee));
}

std::string encoded(const schema::MessageType& type, const Message* object) {
  Encoded out;
  if (!encode(type, object, {}, &out).ok()) fatal("an extension is nested too deeply or larger than 2 GiB - 1");
  std::string bytes(out.size(), '\0');
  out.copy_to(bytes.data());
  return bytes;
}

void append_tag(std::string* out, uint32_t number, uint32_t wire_type) {
  message::append_varint(out, uint64_t{number} << 3 | wire_type);
}

// A string's or message's content as a record: a field, a group, or an item of a message set.
std::string make_record(const Of& of, std::string_view content) {
  std::string out;
  uint32_t number = of.field().number;
  if (of.field().wire_type == message::kWireStartGroup) {
    append_tag(&out, number, message::kWireStartGroup);
    out += content;
    append_tag(&out, number, message::kWireEndGroup);
    return out;
  }
  bool item = message::is_message_set(of.extendee);
  if (item) {
    message::append_varint(&out, message::kItemStart);
    message::append_varint(&out, message::kItemTypeId);
    message::append_varint(&out, number);
  }
  message::append_varint(&out, item ? message::kItemMessage : number << 3 | message::kWireLength);
  message::append_varint(&out, content.size());
  out += content;
  if (item) message::append_varint(&out, message::kItemEnd);
  return out;
}

void set_unknown(Message* message, std::string_view bytes) {
  Arena* arena = arena_of(message->drover_owner());
  auto* string = const_cast<String*>(message->drover_unknown_string());
  if (string == nullptr) {
    if (bytes.empty()) return;
    string = static_cast<String*>(arena->allocate_zeroed(sizeof(String)));
    if (string == nullptr) fatal("out of memory for an extension");
    message->drover_set_unknown_string(string);
  }
  string->assign_in(arena, bytes);
}

// The bytes [begin, end) of the unknown fields make room for `record`.
void splice(Message* message, size_t begin, size_t end, std::string_view record) {
  std::string_view old = message->drover_unknown();
  if (old.size() + record.size() > String::kMaxSize) fatal("unknown fields grow past 2 GiB - 1");
  auto* string = const_cast<String*>(message->drover_unknown_string());
  if (string != nullptr && begin == old.size()) {
    string->append_in(arena_of(message->drover_owner()), record);
    return;
  }
  std::string bytes;
  bytes.reserve(old.size() + record.size());
  bytes.append(old.substr(0, begin)).append(record).append(old.substr(end));
  set_unknown(message, bytes);
}

// Where an extension's records stand, and where one would go that is new.
struct Places {
  int count = 0;
  size_t last_begin = 0, last_end = 0;
  size_t in_order = 0;  // in front of the first record of a higher number
};
Places places_of(const Of& of, const Message& message) {
  Places places;
  UnknownRecords records = records_of(of, message);
  UnknownRecord record;
  bool passed = false;
  for (size_t begin = 0; records.next(&record); begin = records.position()) {
    passed |= record.number > of.field().number;
    if (!passed) places.in_order = records.position();
    if (!message::is_occurrence(of.field(), record)) continue;
    ++places.count;
    places.last_begin = begin;
    places.last_end = records.position();
  }
  return places;
}

// `record` stands where the first occurrence was, or where it belongs by number; all occurrences are gone.
void replace_all(const Of& of, Message* message, std::string_view new_record) {
  Places places = places_of(of, *message);
  if (places.count == 0) {
    if (!new_record.empty()) splice(message, places.in_order, places.in_order, new_record);
    return;
  }
  if (places.count == 1) return splice(message, places.last_begin, places.last_end, new_record);
  std::string bytes;
  UnknownRecords records = records_of(of, *message);
  UnknownRecord record;
  bool placed = false;
  while (records.next(&record)) {
    bool occurrence = message::is_occurrence(of.field(), record);
    if (!occurrence) bytes += record.bytes;
    if (occurrence && !placed) bytes += new_record;
    placed |= occurrence;
  }
  bytes += message->drover_unknown().substr(records.position());
  set_unknown(message, bytes);
}

void add(const Of& of, Message* message, std::string_view record) {
  Places places = places_of(of, *message);
  size_t at = places.count != 0 ? places.last_end : places.in_order;
  splice(message, at, at, record);
}

// Whether elements can follow those of a packed record.
bool is_whole(const schema::FieldEntry& field, std::string_view packed) {
  if (field.wire_type != message::kWireVarint) return packed.size() % schema::kStorageOfKind[field.kind] == 0;
  int length = 0;
  for (char c : packed) {
    if (++length > 10) return false;
    if (static_cast<uint8_t>(c) < 0x80) length = 0;
  }
  return length == 0;
}

// Merges what a record holds.
bool merge(const UnknownRecord& record, const schema::MessageType& type, Message* out) {
  return decode(type, out, record.value, *arena_of(out->drover_owner())).ok();
}

}  // namespace

bool find_occurrence(const Of& of, const Message& message, int index, UnknownRecord* out) {
  UnknownRecords records = records_of(of, message);
  UnknownRecord record;
  bool found = false;
  for (int seen = 0; records.next(&record);) {
    if (!message::is_occurrence(of.field(), record)) continue;
    *out = record;
    found = true;
    if (seen++ == index) return true;
  }
  return found && index == kLast;
}

int count_occurrences(const Of& of, const Message& message) { return places_of(of, message).count; }

bool read_message(const Of& of, const Message& message, int index, const schema::MessageType& type, Message* out) {
  UnknownRecord record;
  if (index != kAll) return find_occurrence(of, message, index, &record) && merge(record, type, out);
  UnknownRecords records = records_of(of, message);
  bool found = false, fine = true;
  while (records.next(&record)) {
    if (!message::is_occurrence(of.field(), record)) continue;
    found = true;
    fine &= merge(record, type, out);
  }
  return found && fine;
}

void write_value(const Of& of, Message* message, int index, std::string_view bytes) {
  std::string record = make_record(of, bytes);
  if (index == kAll) return replace_all(of, message, record);
  if (index == kAdd) return add(of, message, record);
  UnknownRecord old;
  if (!find_occurrence(of, *message, index, &old)) fatal("a repeated extension has no element of that index");
  auto begin = static_cast<size_t>(old.bytes.data() - message->drover_unknown().data());
  splice(message, begin, begin + old.bytes.size(), record);
}

void write_message(const Of& of, Message* message, int index, const schema::MessageType& type, const Message& value) {
  write_value(of, message, index, encoded(type, &value));
}

void clear(const Of& of, Message* message) {
  if (places_of(of, *message).count == 0) return;
  if ((of.field().flags & schema::kFieldFlagClosedEnum) == 0) return replace_all(of, message, {});
  Decoded decoded(of, *message);  // what the enum does not know is an unknown field, and stays
  decoded.clear();
  decoded.write(of, message);
}

Decoded::Decoded(const Of& of, const Message& message) : field_(&of.field()), offset_(field_->offset) {
  if (of.extension.entry().object_size > kLargest) fatal("an extension is larger than any field");
  std::memset(object_, 0, sizeof(object_));
  auto* object = reinterpret_cast<Message*>(object_);
  *object->drover_owner() = reinterpret_cast<OwnerWord>(&arena_);
  UnknownRecords records = records_of(of, message);
  UnknownRecord record;
  std::string_view run;  // occurrences that stand together
  auto decode_run = [&] {
    if (!run.empty()) decode(of.extension, object, run, arena_);
  };
  // A length-delimited one has not been checked: it may be malformed, which must not affect others.
  bool alone = true;
  while (records.next(&record)) {
    if (!message::is_occurrence(*field_, record)) continue;
    bool follows = !run.empty() && run.data() + run.size() == record.bytes.data();
    bool delimited = record.wire_type == message::kWireLength || record.wire_type == message::kWireStartGroup;
    if (follows && !alone && !delimited) {
      run = {run.data(), run.size() + record.bytes.size()};
      continue;
    }
    decode_run();
    run = record.bytes;
    alone = delimited;
  }
  decode_run();
}

bool Decoded::present() const { return raw::present(object_, *field_); }

char* Decoded::field() {
  if (field_->label != schema::kLabelSingular) {
    reinterpret_cast<RepeatedBase*>(object_ + offset_)->note_owner(reinterpret_cast<Message*>(object_)->drover_owner());
  }
  return object_ + offset_;
}

void Decoded::set_present() {
  if (field_->has_bit != schema::kNoHasBit) raw::set_has_bit(object_, field_->has_bit);
}

void Decoded::clear() {
  if (field_->has_bit != schema::kNoHasBit) raw::clear_has_bit(object_, field_->has_bit);
  if (field_->label != schema::kLabelSingular) reinterpret_cast<RepeatedBase*>(object_ + offset_)->set_raw_size(0);
}

void Decoded::write(const Of& of, Message* to) const {
  write_field(of, to, *reinterpret_cast<const Message*>(object_));
}

void write_field(const Of& of, Message* message, const Message& object) {
  if (!message::is_message_set(of.extendee)) return replace_all(of, message, encoded(of.extension, &object));
  const schema::FieldEntry& field = of.field();
  const char* sub =
      raw::present(object.drover_bytes(), field) ? raw::pointer(object.drover_bytes(), field.offset)->get() : nullptr;
  if (sub == nullptr) return clear(of, message);
  write_message(of, message, kAll, of.extension.sub(field), *reinterpret_cast<const Message*>(sub));
}

void add_scalar(const Of& of, Message* message, const void* value) {
  // One element as a record of its own; if the extension is packed, the last record takes it in.
  alignas(8) char object[48] = {};
  Arena arena;
  raw::store(object, reinterpret_cast<OwnerWord>(&arena));
  const schema::FieldEntry& field = of.field();
  size_t storage = schema::kStorageOfKind[field.kind];
  auto* repeated = reinterpret_cast<RepeatedBase*>(object + field.offset);
  if (!repeated->reserve_in(&arena, 1, storage, RepeatedBase::Elements::kScalars)) fatal("out of memory");
  std::memcpy(repeated->raw_data(), value, storage);
  repeated->set_raw_size(1);
  std::string record = encoded(of.extension, reinterpret_cast<const Message*>(object));
  Places places = places_of(of, *message);
  if ((field.flags & schema::kFieldFlagPacked) == 0 || places.count == 0) return add(of, message, record);
  UnknownRecord last, element;
  find_occurrence(of, *message, kLast, &last);
  if (last.wire_type != message::kWireLength || !is_whole(field, last.value)) return add(of, message, record);
  UnknownRecords(record).next(&element);
  std::string joined = make_record(of, std::string(last.value).append(element.value));
  splice(message, places.last_begin, places.last_end, joined);
}

}  // namespace drover::extension
