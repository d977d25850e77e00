// The runtime of generated classes. A program that uses messages without services needs this room, the rooms below it,
// and nothing else:
//
//   generated_message.h        MessageOf<T>, the base of every generated class
//   extension.h                ExtendableOf<T>, the base of a class with extension ranges, and typed extensions
//   accessors.h                what accessors call: presence, sub-messages, oneofs, defaults, enum names
//   include/google/protobuf/   protobuf's header names, for sources written for protobuf C++ (drover::protobuf_names)
//
// MessageOf<T>: the base of every generated class, `class Foo final : public MessageOf<Foo>`. It gives T the whole-
// message functions of protobuf C++ (parse, serialize, copy, merge, swap, print), all driven by T::drover_type().
//
// What a generated class T has to bring:
//   static const schema::MessageType& drover_type();     the message in the embedded, loaded image
//   fields laid out as docs/formats.md says, behind these 16 bytes; sizeof(T) == MessageEntry.object_size
//   T() { drover_construct(nullptr); }
//   explicit T(Arena* arena) { drover_construct(arena); }
//   T(const T& other) { drover_construct(nullptr); CopyFrom(other); }
//   T(T&& other) noexcept { drover_construct(nullptr); drover_move_from(other); }
//   T& operator=(const T& other) { CopyFrom(other); return *this; }
//   T& operator=(T&& other) noexcept { drover_move_from(other); return *this; }
// and no destructor: a T on the stack or heap frees its memory in ~MessageOf; one in an arena is never destroyed.
//
// Ownership: a T with no arena makes one at its first allocation and owns it. Errors: parse and serialize functions
// return false, as protobuf's do; `drover_merge` says why. Out of memory while copying on
// the heap ends the process, as std::bad_alloc would. Thread-safety: as a std::string's.
#pragma once

#include <cstring>
#include <istream>
#include <memory>
#include <new>
#include <ostream>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "codec/decode/decode.h"
#include "codec/encode/encode.h"
#include "message/message.h"
#include "message/operations.h"
#include "object/map.h"
#include "object/repeated.h"
#include "schema/message_type.h"

namespace drover {

namespace io {
class CodedInputStream;
class CodedOutputStream;
class ZeroCopyInputStream;
class ZeroCopyOutputStream;
}  // namespace io

// The untyped bodies, shared by all T (generated/generated_message.cc).
namespace generated {
void destroy(Message* message, size_t object_size);
void clear(const schema::MessageType& type, Message* message);
void copy_from(const schema::MessageType& type, Message* to, const Message& from);
void merge_from(const schema::MessageType& type, Message* to, const Message& from);
void move_from(const schema::MessageType& type, Message* to, Message* from);
void swap(const schema::MessageType& type, Message* a, Message* b);
DecodeResult merge_from_wire(const schema::MessageType& type, Message* to, std::string_view wire, bool alias);
bool check_initialized(const schema::MessageType& type, const Message& message, const char* what);
bool append_to_string(const schema::MessageType& type, const Message& message, std::string* out);
bool write_to_stream(const schema::MessageType& type, const Message& message, std::ostream* out);
bool write_to_array(const schema::MessageType& type, const Message& message, void* data, size_t capacity);
char* write_to_sized_array(const schema::MessageType& type, const Message& message, char* data);
bool write_to_file(const schema::MessageType& type, const Message& message, int fd);
bool write_to_zero_copy(const schema::MessageType& type, const Message& message, io::ZeroCopyOutputStream* out);
bool write_to_coded(const schema::MessageType& type, const Message& message, io::CodedOutputStream* out);
std::string read_all(std::istream* in);
void read_all(io::ZeroCopyInputStream* in, std::string* out);
// `size` bytes; false if the stream has fewer.
bool read_bounded(io::ZeroCopyInputStream* in, int size, std::string* out);
// Up to the limit or the end; false if the stream's limit of all bytes cut the message off.
bool read_coded(io::CodedInputStream* in, std::string* out);
// All that is left to read; false after an error.
bool read_file(int fd, std::string* out);
std::string missing_fields(const schema::MessageType& type, const Message& message);
std::string_view full_name(const schema::MessageType& type);
void print(std::string_view text);
}  // namespace generated

template <class T>
class MessageOf : public Message {
 public:
  // ---- the empty message that unset sub-message fields show
  static const T& default_instance() {
    static const T* instance = new T();  // never destroyed: other statics may still refer to it
    return *instance;
  }
  T* New(Arena* arena = nullptr) const { return Arena::CreateMessage<T>(arena); }

  std::string GetTypeName() const { return std::string(generated::full_name(T::drover_type())); }
  static std::string_view FullMessageName() { return generated::full_name(T::drover_type()); }
  // The arena that the message was made in; null if it, or the message that it is a part of, is on the stack or heap.
  Arena* GetArena() const { return users_arena(drover_owner_word()); }

  // ---- whole-message changes
  void Clear() { generated::clear(T::drover_type(), this); }
  void CopyFrom(const T& other) { generated::copy_from(T::drover_type(), this, other); }
  void MergeFrom(const T& other) { generated::merge_from(T::drover_type(), this, other); }
  void Swap(T* other) { generated::swap(T::drover_type(), this, other); }
  void UnsafeArenaSwap(T* other) { Swap(other); }
  friend void swap(T& a, T& b) { a.Swap(&b); }

  // ---- parsing. The first three clear first; Partial: missing required fields are no error.
  bool ParseFromString(std::string_view wire) { return Clear(), MergeFromString(wire); }
  bool ParseFromArray(const void* data, int size) {
    return size >= 0 && ParseFromString({static_cast<const char*>(data), static_cast<size_t>(size)});
  }
  bool ParseFromIstream(std::istream* in) { return ParseFromString(generated::read_all(in)) && !in->bad(); }
  bool ParsePartialFromString(std::string_view wire) { return Clear(), MergePartialFromString(wire); }
  bool ParsePartialFromArray(const void* data, int size) {
    return size >= 0 && ParsePartialFromString({static_cast<const char*>(data), static_cast<size_t>(size)});
  }
  bool ParsePartialFromIstream(std::istream* in) {
    return ParsePartialFromString(generated::read_all(in)) && !in->bad();
  }
  bool ParseFromFileDescriptor(int fd) {
    std::string wire;
    return generated::read_file(fd, &wire) && ParseFromString(wire);
  }
  bool ParsePartialFromFileDescriptor(int fd) {
    std::string wire;
    return generated::read_file(fd, &wire) && ParsePartialFromString(wire);
  }
  bool ParseFromZeroCopyStream(io::ZeroCopyInputStream* in) {
    std::string wire;
    return generated::read_all(in, &wire), ParseFromString(wire);
  }
  bool ParsePartialFromZeroCopyStream(io::ZeroCopyInputStream* in) {
    std::string wire;
    return generated::read_all(in, &wire), ParsePartialFromString(wire);
  }
  bool ParseFromBoundedZeroCopyStream(io::ZeroCopyInputStream* in, int size) {
    return Clear(), MergeFromBoundedZeroCopyStream(in, size);
  }
  bool ParsePartialFromBoundedZeroCopyStream(io::ZeroCopyInputStream* in, int size) {
    return Clear(), MergePartialFromBoundedZeroCopyStream(in, size);
  }
  bool MergeFromBoundedZeroCopyStream(io::ZeroCopyInputStream* in, int size) {
    std::string wire;
    return generated::read_bounded(in, size, &wire) && MergeFromString(wire);
  }
  bool MergePartialFromBoundedZeroCopyStream(io::ZeroCopyInputStream* in, int size) {
    std::string wire;
    return generated::read_bounded(in, size, &wire) && MergePartialFromString(wire);
  }
  // Up to the innermost limit, or to the stream's end. A group's end is an error, not the message's end.
  bool ParseFromCodedStream(io::CodedInputStream* in) { return Clear(), MergeFromCodedStream(in); }
  bool ParsePartialFromCodedStream(io::CodedInputStream* in) { return Clear(), MergePartialFromCodedStream(in); }
  bool MergeFromCodedStream(io::CodedInputStream* in) {
    std::string wire;
    return generated::read_coded(in, &wire) && MergeFromString(wire);
  }
  bool MergePartialFromCodedStream(io::CodedInputStream* in) {
    std::string wire;
    return generated::read_coded(in, &wire) && MergePartialFromString(wire);
  }
  bool MergeFromString(std::string_view wire) {
    return MergePartialFromString(wire) && generated::check_initialized(T::drover_type(), *this, "parse");
  }
  bool MergePartialFromString(std::string_view wire) { return drover_merge(wire).ok(); }
  // Merges `wire`, and says what went wrong and where. The message keeps what was decoded before the error.
  DecodeResult drover_merge(std::string_view wire) {
    return generated::merge_from_wire(T::drover_type(), this, wire, false);
  }
  // The same, with strings that refer to `wire`, which has to live as long as the message's arena.
  DecodeResult drover_merge_aliasing(std::string_view wire) {
    return generated::merge_from_wire(T::drover_type(), this, wire, true);
  }

  // ---- serializing
  bool SerializeToString(std::string* out) const { return out->clear(), AppendToString(out); }
  bool SerializePartialToString(std::string* out) const { return out->clear(), AppendPartialToString(out); }
  // Into another message's field: `item.SerializeToString(reply->mutable_payload())`.
  bool SerializeToString(String* out) const { return serialize_into(out, true); }
  bool SerializePartialToString(String* out) const { return serialize_into(out, false); }
  std::string SerializeAsString() const {
    std::string out;
    if (!AppendToString(&out)) out.clear();
    return out;
  }
  std::string SerializePartialAsString() const {
    std::string out;
    if (!AppendPartialToString(&out)) out.clear();
    return out;
  }
  bool AppendToString(std::string* out) const {
    return generated::check_initialized(T::drover_type(), *this, "serialize") && AppendPartialToString(out);
  }
  bool AppendPartialToString(std::string* out) const {
    return generated::append_to_string(T::drover_type(), *this, out);
  }
  bool SerializeToArray(void* data, int size) const {
    return generated::check_initialized(T::drover_type(), *this, "serialize") && SerializePartialToArray(data, size);
  }
  bool SerializePartialToArray(void* data, int size) const {
    return size >= 0 && generated::write_to_array(T::drover_type(), *this, data, static_cast<size_t>(size));
  }
  bool SerializeToOstream(std::ostream* out) const {
    return generated::check_initialized(T::drover_type(), *this, "serialize") && SerializePartialToOstream(out);
  }
  bool SerializePartialToOstream(std::ostream* out) const {
    return generated::write_to_stream(T::drover_type(), *this, out);
  }
  bool SerializeToFileDescriptor(int fd) const {
    return generated::check_initialized(T::drover_type(), *this, "serialize") && SerializePartialToFileDescriptor(fd);
  }
  bool SerializePartialToFileDescriptor(int fd) const { return generated::write_to_file(T::drover_type(), *this, fd); }
  bool SerializeToZeroCopyStream(io::ZeroCopyOutputStream* out) const {
    return generated::check_initialized(T::drover_type(), *this, "serialize") && SerializePartialToZeroCopyStream(out);
  }
  bool SerializePartialToZeroCopyStream(io::ZeroCopyOutputStream* out) const {
    return generated::write_to_zero_copy(T::drover_type(), *this, out);
  }
  bool SerializeToCodedStream(io::CodedOutputStream* out) const {
    return generated::check_initialized(T::drover_type(), *this, "serialize") && SerializePartialToCodedStream(out);
  }
  bool SerializePartialToCodedStream(io::CodedOutputStream* out) const {
    return generated::write_to_coded(T::drover_type(), *this, out);
  }
  void SerializeWithCachedSizes(io::CodedOutputStream* out) const { SerializePartialToCodedStream(out); }
  // Into ByteSizeLong() bytes of room; returns the position behind what was written.
  uint8_t* SerializeWithCachedSizesToArray(uint8_t* target) const {
    return reinterpret_cast<uint8_t*>(
        generated::write_to_sized_array(T::drover_type(), *this, reinterpret_cast<char*>(target)));
  }
  size_t ByteSizeLong() const { return encoded_size(T::drover_type(), this); }
  int ByteSize() const { return static_cast<int>(ByteSizeLong()); }
  int GetCachedSize() const { return ByteSize(); }  // nothing is cached

  // ---- looking
  bool IsInitialized() const { return message::is_initialized(T::drover_type(), *this); }
  // The missing required fields' paths, "a.b, c[2].d".
  std::string InitializationErrorString() const { return generated::missing_fields(T::drover_type(), *this); }
  void FindInitializationErrors(std::vector<std::string>* errors) const {
    message::find_missing(T::drover_type(), *this, errors);
  }
  // Ends the process if a required field is missing.
  void CheckInitialized() const {
    if (!generated::check_initialized(T::drover_type(), *this, "use")) fatal("a message lacks required fields");
  }
  std::string DebugString() const { return message::debug_text(T::drover_type(), *this, {}); }
  std::string ShortDebugString() const { return message::debug_text(T::drover_type(), *this, {.one_line = true}); }
  std::string Utf8DebugString() const { return message::debug_text(T::drover_type(), *this, {.keep_utf8 = true}); }
  void PrintDebugString() const { generated::print(DebugString()); }
  // Wire bytes of the fields that the schema does not know.
  std::string_view unknown_fields() const { return drover_unknown(); }
  void DiscardUnknownFields() { message::discard_unknown(T::drover_type(), this); }
  int SpaceUsed() const { return static_cast<int>(SpaceUsedLong()); }
  size_t SpaceUsedLong() const { return message::linearized_size(T::drover_type(), *this); }
  // Drover's own: the same fields set to the same values (reals by their bits), the same entries in maps in any order,
  // the same unknown bytes.
  bool MessageEquals(const T& other) const { return message::equal(T::drover_type(), *this, other); }
  friend bool operator==(const T& a, const T& b) { return a.MessageEquals(b); }

  void CheckTypeAndMergeFrom(const T& other) { MergeFrom(other); }

 private:
  bool serialize_into(String* out, bool check) const {
    std::string wire;
    if (!(check ? AppendToString(&wire) : AppendPartialToString(&wire))) {
      out->clear();
      return false;
    }
    out->assign(wire);
    return true;
  }

 protected:
  MessageOf() = default;
  ~MessageOf() { generated::destroy(this, sizeof(T)); }

  // The body of every constructor of T: an empty message that allocates from `arena` (null: from its own).
  void drover_construct(Arena* arena) {
    static_assert(!std::is_polymorphic_v<T>, "an object has no virtual functions");
    std::memset(drover_bytes() + sizeof(Message), 0, sizeof(T) - sizeof(Message));
    drover_header_.owner = reinterpret_cast<OwnerWord>(arena);
  }
  // Takes over `other`'s content where both live in the same arena or own theirs; copies otherwise.
  void drover_move_from(T& other) {
    if (this != &other) generated::move_from(T::drover_type(), this, &other);
  }
};

}  // namespace drover
