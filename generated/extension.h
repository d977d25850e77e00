// Typed access to extensions, as protobuf C++ spells it: `m.SetExtension(pkg::my_ext, 5)`.
//
// An object holds its extensions as unknown fields, that is as bytes; each accessor scans them, so that reading costs
// one pass over the object's unknown bytes, and what is read is a value and no reference into the message:
//
//   protobuf C++                          Drover
//   const Sub& GetExtension(id)           Sub GetExtension(id)               a copy; ReadExtension(id, &sub) reuses one
//   const std::string& GetExtension(id)   ExtensionString GetExtension(id)   a view of the message's own bytes
//   Sub* MutableExtension(id)             ExtensionEditor<Sub>               written back at the end of the expression
//
// MutableExtension and AddExtension return an editor that can only be used in the expression that asked for it
// (`m.MutableExtension(id)->set_x(5);`); naming it does not compile. What needs more than one statement takes a copy,
// changes it, and sets it.
//
// An extension that is set anew takes the place of its first occurrence, or stands in front of the first field of a
// higher number. Occurrences of another wire type, and numbers that a closed enum does not know, are unknown fields
// and stay. Extensions of a message set are read and written as its items. Ownership and thread-safety: as the
// message's. A message or packed extension whose bytes are malformed is there, with what could be decoded.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "generated/generated_message.h"
#include "message/message.h"
#include "message/unknown_records.h"
#include "object/arena.h"
#include "object/repeated.h"
#include "schema/message_type.h"

namespace drover {

// A string extension's value: a view of bytes in the message, valid until the message changes; not NUL-terminated.
class ExtensionString : public std::string_view {
 public:
  ExtensionString() = default;
  ExtensionString(std::string_view bytes) : std::string_view(bytes) {}
  operator std::string() const { return std::string(data(), size()); }
  std::string str() const { return std::string(data(), size()); }
  friend std::string operator+(const ExtensionString& a, std::string_view b) { return concatenate(a, b); }
  friend std::string operator+(std::string_view a, const ExtensionString& b) { return concatenate(a, b); }
};

namespace extension {

// Which extension of which message.
struct Of {
  const schema::MessageType& extendee;
  const schema::MessageType& extension;
  const schema::FieldEntry& field() const { return extension.fields()[0]; }
};

// The `index`-th occurrence, or the last one (kLast). False if it is absent.
inline constexpr int kLast = -1;
bool find_occurrence(const Of& of, const Message& message, int index, message::UnknownRecord* out);
int count_occurrences(const Of& of, const Message& message);

// Merges the `index`-th occurrence, or all of them (kAll), into `out`. False if it is absent or malformed.
inline constexpr int kAll = -1;
bool read_message(const Of& of, const Message& message, int index, const schema::MessageType& type, Message* out);

// Writes a string's or message's bytes as the `index`-th occurrence; kAll: in place of all; kAdd: behind the last.
inline constexpr int kAdd = -2;
void write_value(const Of& of, Message* message, int index, std::string_view bytes);
void write_message(const Of& of, Message* message, int index, const schema::MessageType& type, const Message& value);
void clear(const Of& of, Message* message);
// For code that has filled a message of the extension's own type, whose only field is the extension (a parser of text,
// a dynamic user): the field replaces the extension in `message`.
void write_field(const Of& of, Message* message, const Message& object);

// One decoded extension as a field of an object: a scalar, or a repeated field of any kind.
class Decoded {
 public:
  Decoded(const Of& of, const Message& message);
  Decoded(const Decoded&) = delete;
  Decoded& operator=(const Decoded&) = delete;
  bool present() const;
  // The field, ready to be changed.
  char* field();
  const char* field() const { return object_ + offset_; }
  void set_present();
  void clear();
  // Puts the field into `to`, in place of what it had.
  void write(const Of& of, Message* to) const;

 private:
  static constexpr size_t kLargest = 48;  // header, has-bits, and a field of at most 16 bytes
  Arena arena_;
  const schema::FieldEntry* field_;
  uint32_t offset_;
  alignas(8) char object_[kLargest];
};
// Adds one element to a repeated scalar.
void add_scalar(const Of& of, Message* message, const void* value);

template <typename V>
inline constexpr bool kIsString = std::is_same_v<V, std::string>;
template <typename V>
inline constexpr bool kIsScalar = std::is_arithmetic_v<V> || std::is_enum_v<V>;
// What a repeated extension is, decoded: enums as ints.
template <typename V>
using Container = std::conditional_t<std::is_enum_v<V>, RepeatedField<int>,
                                     std::conditional_t<std::is_arithmetic_v<V>, RepeatedField<V>,
                                                        RepeatedPtrField<std::conditional_t<kIsString<V>, String, V>>>>;
template <typename V>
using Result = std::conditional_t<kIsString<V>, ExtensionString, V>;

template <typename V>
V load(const char* at) {
  std::conditional_t<std::is_enum_v<V>, int32_t, V> stored;
  std::memcpy(&stored, at, sizeof(stored));
  return static_cast<V>(stored);
}

}  // namespace extension

// Names an extension of ExtendeeType whose values are V: a scalar, an enum, std::string, or a message class.
template <class ExtendeeType, typename V, bool kRepeated>
class ExtensionIdentifier {
 public:
  using Extendee = ExtendeeType;
  using Value = V;
  static constexpr bool kIsRepeated = kRepeated;

  constexpr ExtensionIdentifier(const schema::Image* image, uint32_t index, int number)
      : type_{image, index}, number_(number) {}
  int number() const { return number_; }
  // A message whose only field the extension is.
  const schema::MessageType& drover_type() const { return type_; }

  // What GetExtension says if the extension is not set.
  decltype(auto) default_value() const {
    const schema::FieldEntry& field = type_.fields()[0];
    if constexpr (extension::kIsScalar<V>) {
      uint64_t bits = type_.image->default_scalar(field);
      return extension::load<V>(reinterpret_cast<const char*>(&bits));
    } else if constexpr (extension::kIsString<V>) {
      schema::StringRef text = type_.image->default_string(field);
      return ExtensionString(std::string_view(text.data, text.size));
    } else {
      return V::default_instance();
    }
  }

 private:
  schema::MessageType type_;
  int number_;
};

// A value that is written back where it came from when the editor goes; see the head of this file.
template <typename V>
class ExtensionEditor {
 public:
  ExtensionEditor(const extension::Of& of, Message* message, int index, V&& value)
      : of_(of), message_(message), index_(index), value_(std::move(value)) {}
  ExtensionEditor(const ExtensionEditor&) = delete;
  ExtensionEditor& operator=(const ExtensionEditor&) = delete;
  ~ExtensionEditor() {
    if constexpr (extension::kIsString<V>) {
      extension::write_value(of_, message_, index_, value_);
    } else {
      extension::write_message(of_, message_, index_, V::drover_type(), value_);
    }
  }
  V* operator->() && DROVER_LIFETIME_BOUND { return &value_; }
  V& operator*() && DROVER_LIFETIME_BOUND { return value_; }

 private:
  extension::Of of_;
  Message* message_;
  int index_;
  V value_;
};

// A copy of a repeated extension: as a RepeatedField or RepeatedPtrField that cannot be changed.
template <typename V>
class RepeatedExtension {
  using Container = extension::Container<V>;

 public:
  using value_type = typename Container::value_type;
  using const_iterator = typename Container::const_iterator;
  RepeatedExtension(const extension::Of& of, const Message& message) : decoded_(of, message) {}

  int size() const { return field().size(); }
  bool empty() const { return field().empty(); }
  decltype(auto) Get(int i) const { return field().Get(i); }
  decltype(auto) operator[](int i) const { return field().Get(i); }
  decltype(auto) at(int i) const { return field().Get(i); }
  const_iterator begin() const DROVER_LIFETIME_BOUND { return field().begin(); }
  const_iterator end() const DROVER_LIFETIME_BOUND { return field().end(); }

 private:
  const Container& field() const { return *reinterpret_cast<const Container*>(decoded_.field()); }
  extension::Decoded decoded_;
};

// All elements at once, to be changed in one expression: `m.MutableRepeatedExtension(id)->RemoveLast();`
template <typename V>
class RepeatedExtensionEditor {
  using Container = extension::Container<V>;

 public:
  RepeatedExtensionEditor(const extension::Of& of, Message* message)
      : of_(of), message_(message), decoded_(of, *message) {}
  RepeatedExtensionEditor(const RepeatedExtensionEditor&) = delete;
  RepeatedExtensionEditor& operator=(const RepeatedExtensionEditor&) = delete;
  ~RepeatedExtensionEditor() { decoded_.write(of_, message_); }
  Container* operator->() && DROVER_LIFETIME_BOUND { return reinterpret_cast<Container*>(decoded_.field()); }
  Container& operator*() && DROVER_LIFETIME_BOUND { return *reinterpret_cast<Container*>(decoded_.field()); }

 private:
  extension::Of of_;
  Message* message_;
  extension::Decoded decoded_;
};

// The base of a generated class that has extension ranges.
template <class T>
class ExtendableOf : public MessageOf<T> {
  template <typename V, bool kRepeated>
  using Id = ExtensionIdentifier<T, V, kRepeated>;
  template <typename V>
  using Argument = std::conditional_t<extension::kIsScalar<V>, V,
                                      std::conditional_t<extension::kIsString<V>, std::string_view, const V&>>;

 public:
  // ---- singular
  template <typename V>
  bool HasExtension(const Id<V, false>& id) const {
    if constexpr (extension::kIsScalar<V>) {
      return extension::Decoded(of(id), *this).present();
    } else {
      message::UnknownRecord record;
      return extension::find_occurrence(of(id), *this, extension::kLast, &record);
    }
  }
  template <typename V>
  extension::Result<V> GetExtension(const Id<V, false>& id) const {
    if constexpr (extension::kIsScalar<V>) {
      extension::Decoded decoded(of(id), *this);
      return decoded.present() ? extension::load<V>(decoded.field()) : id.default_value();
    } else if constexpr (extension::kIsString<V>) {
      message::UnknownRecord record;
      bool found = extension::find_occurrence(of(id), *this, extension::kLast, &record);
      return found ? ExtensionString(record.value) : id.default_value();
    } else {
      V value;
      extension::read_message(of(id), *this, extension::kAll, V::drover_type(), &value);
      return value;
    }
  }
  // Into a message that the caller has. False if the extension is not set, or its bytes are malformed.
  template <typename V>
    requires(!extension::kIsScalar<V> && !extension::kIsString<V>)
  bool ReadExtension(const Id<V, false>& id, V* out) const {
    out->Clear();
    return extension::read_message(of(id), *this, extension::kAll, V::drover_type(), out);
  }
  template <typename V>
  void SetExtension(const Id<V, false>& id, std::type_identity_t<Argument<V>> value) {
    if constexpr (extension::kIsScalar<V>) {
      extension::Decoded decoded(of(id), *this);
      decoded.set_present();
      std::memcpy(decoded.field(), &value, sizeof(value));
      decoded.write(of(id), this);
    } else {
      write(id, extension::kAll, value);
    }
  }
  template <typename V>
    requires(!extension::kIsScalar<V>)
  ExtensionEditor<V> MutableExtension(const Id<V, false>& id) {
    return ExtensionEditor<V>(of(id), this, extension::kAll, V(GetExtension(id)));
  }
  template <typename V, bool kRepeated>
  void ClearExtension(const Id<V, kRepeated>& id) {
    extension::clear(of(id), this);
  }
  // A copy on the heap that the caller owns; null if the extension is not set.
  template <typename V>
    requires(!extension::kIsScalar<V> && !extension::kIsString<V>)
  [[nodiscard]] V* ReleaseExtension(const Id<V, false>& id) {
    return release_extension(id, nullptr);
  }
  // In the message's arena if it has one; as the other if not.
  template <typename V>
  V* UnsafeArenaReleaseExtension(const Id<V, false>& id) {
    return release_extension(id, users_arena(this->drover_owner_word()));
  }
  // Copies the value, and deletes it if it is on the heap.
  template <typename V>
    requires(!extension::kIsScalar<V> && !extension::kIsString<V>)
  void SetAllocatedExtension(const Id<V, false>& id, std::type_identity_t<V>* value) {
    if (value == nullptr) return ClearExtension(id);
    SetExtension(id, *value);
    if (value->GetArena() == nullptr) delete value;
  }
  template <typename V>
  void UnsafeArenaSetAllocatedExtension(const Id<V, false>& id, std::type_identity_t<V>* value) {
    SetAllocatedExtension(id, value);
  }

  // ---- repeated; indices are not checked, as in protobuf C++
  template <typename V>
  int ExtensionSize(const Id<V, true>& id) const {
    if constexpr (extension::kIsScalar<V>) {
      return GetRepeatedExtension(id).size();
    } else {
      return extension::count_occurrences(of(id), *this);
    }
  }
  template <typename V>
  extension::Result<V> GetExtension(const Id<V, true>& id, int index) const {
    if constexpr (extension::kIsScalar<V>) {
      return static_cast<V>(GetRepeatedExtension(id).Get(index));
    } else if constexpr (extension::kIsString<V>) {
      message::UnknownRecord record;
      extension::find_occurrence(of(id), *this, index, &record);
      return ExtensionString(record.value);
    } else {
      V value;
      extension::read_message(of(id), *this, index, V::drover_type(), &value);
      return value;
    }
  }
  template <typename V>
  void SetExtension(const Id<V, true>& id, int index, std::type_identity_t<Argument<V>> value) {
    if constexpr (extension::kIsScalar<V>) {
      MutableRepeatedExtension(id)->Set(index, value);
    } else {
      write(id, index, value);
    }
  }
  template <typename V>
    requires(!extension::kIsScalar<V>)
  ExtensionEditor<V> MutableExtension(const Id<V, true>& id, int index) {
    return ExtensionEditor<V>(of(id), this, index, V(GetExtension(id, index)));
  }
  template <typename V>
  void AddExtension(const Id<V, true>& id, std::type_identity_t<Argument<V>> value) {
    if constexpr (extension::kIsScalar<V>) {
      extension::add_scalar(of(id), this, &value);
    } else {
      write(id, extension::kAdd, value);
    }
  }
  template <typename V>
    requires(!extension::kIsScalar<V>)
  ExtensionEditor<V> AddExtension(const Id<V, true>& id) {
    return ExtensionEditor<V>(of(id), this, extension::kAdd, V());
  }
  template <typename V>
  RepeatedExtension<V> GetRepeatedExtension(const Id<V, true>& id) const {
    return RepeatedExtension<V>(of(id), *this);
  }
  template <typename V>
  RepeatedExtensionEditor<V> MutableRepeatedExtension(const Id<V, true>& id) {
    return RepeatedExtensionEditor<V>(of(id), this);
  }

 protected:
  ExtendableOf() = default;
  ~ExtendableOf() = default;

 private:
  template <typename V>
  V* release_extension(const Id<V, false>& id, Arena* arena) {
    if (!HasExtension(id)) return nullptr;
    V* released = Arena::CreateMessage<V>(arena);
    if (released == nullptr) fatal("out of memory for an extension");
    ReadExtension(id, released);
    ClearExtension(id);
    return released;
  }
  template <typename V, bool kRepeated>
  static extension::Of of(const Id<V, kRepeated>& id) {
    return {T::drover_type(), id.drover_type()};
  }
  template <typename V, bool kRepeated>
  void write(const Id<V, kRepeated>& id, int index, Argument<V> value) {
    if constexpr (extension::kIsString<V>) {
      extension::write_value(of(id), this, index, value);
    } else {
      extension::write_message(of(id), this, index, V::drover_type(), value);
    }
  }
};

}  // namespace drover
