// Reflection: reading and editing any message field by field, driven by its schema image; for objects of types that
// were loaded at run time (schema/dynamic_schema.h) and for generated classes alike.
//
//   reflection::Object order = reflection::create(type, &arena);           // or reflection::of(&generated_message)
//   const schema::FieldEntry* name = order.find("name");
//   order.set<std::string_view>(*name, "pens");
//   for (const schema::FieldEntry& field : order.fields()) { if (order.has(field)) ... }
//
// A ConstObject or an Object is a type and a pointer: copied freely, valid as long as the object and its image. Values
// go by C++ type: int32_t (int32, sint32, sfixed32, enum), int64_t, uint32_t, uint64_t, float, double, bool, and
// std::string_view (string, bytes). Fields are named by their FieldEntry, which find() gives.
//
// Errors: what a program can only get wrong by mistake ends the process with a sentence: another type's field, another
// C++ type than the field's, an index out of range, a change of a received message, a number that a closed enum does
// not have. A view of a sub-message that is not set can be read, and is empty. Running out of memory ends the process,
// as in the accessors. Thread-safety: as the object's.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

#include "message/edit.h"
#include "message/message.h"
#include "message/operations.h"
#include "message/raw.h"
#include "object/map.h"
#include "object/repeated.h"

namespace drover::reflection {

using schema::FieldEntry;
using schema::FieldRange;
using schema::MessageType;

// The C++ type of a field's values; enums are int32.
enum class CppType : uint8_t { kNone, kInt32, kInt64, kUint32, kUint64, kFloat, kDouble, kBool, kString, kMessage };

inline constexpr CppType kCppTypeOfKind[schema::kKindCount] = {
    CppType::kNone,    CppType::kDouble,  CppType::kFloat,  CppType::kInt64,  CppType::kUint64,
    CppType::kInt32,   CppType::kUint64,  CppType::kUint32, CppType::kBool,   CppType::kString,
    CppType::kMessage, CppType::kMessage, CppType::kString, CppType::kUint32, CppType::kInt32,
    CppType::kInt32,   CppType::kInt64,   CppType::kInt32,  CppType::kInt64};
inline CppType cpp_type(const FieldEntry& field) { return kCppTypeOfKind[field.kind]; }

template <typename T>
inline constexpr CppType kCppTypeOf = std::is_same_v<T, int32_t>            ? CppType::kInt32
                                      : std::is_same_v<T, int64_t>          ? CppType::kInt64
                                      : std::is_same_v<T, uint32_t>         ? CppType::kUint32
                                      : std::is_same_v<T, uint64_t>         ? CppType::kUint64
                                      : std::is_same_v<T, float>            ? CppType::kFloat
                                      : std::is_same_v<T, double>           ? CppType::kDouble
                                      : std::is_same_v<T, bool>             ? CppType::kBool
                                      : std::is_same_v<T, std::string_view> ? CppType::kString
                                                                            : CppType::kNone;
template <typename T>
concept Value = kCppTypeOf<T> != CppType::kNone;

class ConstMap;
class Map;

// ---- reading
class ConstObject {
 public:
  ConstObject() = default;
  ConstObject(const MessageType& type, const Message* object)
      : type_(type), object_(object == nullptr ? nullptr : object->drover_bytes()) {}

  const MessageType& type() const { return type_; }
  // Null for a sub-message that is not set.
  const Message* message() const { return reinterpret_cast<const Message*>(object_); }
  explicit operator bool() const { return object_ != nullptr; }

  // ---- fields: all of them by ascending number; one by number, name or JSON name, null if it is unknown
  FieldRange fields() const { return type_.fields(); }
  const FieldEntry* find(uint32_t number) const { return type_.find_field(number); }
  const FieldEntry* find(std::string_view name) const;
  std::string_view name(const FieldEntry& field) const { return type_.image->name(field.name); }

  // True for a singular field that is set, or a list or map that is not empty. Without presence: a value that is not
  // zero.
  bool has(const FieldEntry& field) const;
  // Elements of a list or map.
  int size(const FieldEntry& field) const;

  // The value of a singular field, its default if it is not set; or of a list's element.
  template <Value T>
  T get(const FieldEntry& field) const {
    check(field, kCppTypeOf<T>, schema::kLabelSingular);
    if (object_ == nullptr || !set_or_zero(field)) return default_value<T>(field);
    return load<T>(object_ + field.offset);
  }
  template <Value T>
  T get(const FieldEntry& field, int index) const {
    check(field, kCppTypeOf<T>, schema::kLabelRepeated);
    return load<T>(element(field, index));
  }
  ConstObject sub(const FieldEntry& field) const;
  ConstObject sub(const FieldEntry& field, int index) const;
  ConstMap map(const FieldEntry& field) const;

  // Calls f(value) with a singular field's value or a list's element, as the field's C++ type has it.
  template <typename F>
  decltype(auto) visit(const FieldEntry& field, F f) const {
    return visit_with(field, f, [&]<typename T>() -> T {
      if constexpr (std::is_same_v<T, ConstObject>) {
        return sub(field);
      } else {
        return get<T>(field);
      }
    });
  }
  template <typename F>
  decltype(auto) visit(const FieldEntry& field, int index, F f) const {
    return visit_with(field, f, [&]<typename T>() -> T {
      if constexpr (std::is_same_v<T, ConstObject>) {
        return sub(field, index);
      } else {
        return get<T>(field, index);
      }
    });
  }

  // ---- oneofs are numbered in declaration order. The member that is set; null if no member is.
  int oneof_count() const { return type_.entry().oneof_count; }
  const FieldEntry* oneof_member(int oneof) const;
  // The oneof that the field is a member of; -1: not in a oneof.
  int oneof_of(const FieldEntry& field) const;

  // ---- enums: the name of a number, empty if it is unknown; the number of a name, false if it is unknown
  std::string_view enum_name(const FieldEntry& field, int32_t number) const;
  bool find_enum_value(const FieldEntry& field, std::string_view name, int32_t* number) const;

  // The wire bytes of the unknown fields.
  std::string_view unknown_fields() const { return object_ == nullptr ? "" : message()->drover_unknown(); }

 protected:
  void check(const FieldEntry& field, CppType cpp, uint8_t label) const {
    const FieldRange all = type_.fields();
    const auto position =
        static_cast<size_t>(reinterpret_cast<const char*>(&field) - reinterpret_cast<const char*>(all.first));
    if (position >= all.count * sizeof(FieldEntry) || cpp_type(field) != cpp || field.label != label) [[unlikely]] {
      misuse(field, cpp, label);
    }
  }
  [[noreturn]] void misuse(const FieldEntry& field, CppType cpp, uint8_t label) const;
  bool is_entry() const { return (type_.entry().flags & schema::kMessageFlagMapEntry) != 0; }
  // The stored value applies: the field is set, or its default is zero.
  bool set_or_zero(const FieldEntry& field) const {
    if (field.case_offset == 0 && field.default_value == 0) return true;
    return is_entry() || raw::present(object_, field);
  }
  const char* element(const FieldEntry& field, int index) const;

  template <Value T>
  static T load(const char* at) {
    if constexpr (std::is_same_v<T, std::string_view>) {
      return reinterpret_cast<const String*>(at)->view();
    } else if constexpr (std::is_same_v<T, bool>) {
      return *at != 0;
    } else {
      return raw::load<T>(at);
    }
  }
  template <Value T>
  T default_value(const FieldEntry& field) const {
    if constexpr (std::is_same_v<T, std::string_view>) {
      const schema::StringRef text = type_.image->default_string(field);
      return {text.data, text.size};
    } else {
      const uint64_t bits = type_.image->default_scalar(field);
      return load<T>(reinterpret_cast<const char*>(&bits));
    }
  }
  template <typename F, typename Read>
  static decltype(auto) visit_with(const FieldEntry& field, F& f, Read read) {
    switch (cpp_type(field)) {
      case CppType::kInt64:
        return f(read.template operator()<int64_t>());
      case CppType::kUint32:
        return f(read.template operator()<uint32_t>());
      case CppType::kUint64:
        return f(read.template operator()<uint64_t>());
      case CppType::kFloat:
        return f(read.template operator()<float>());
      case CppType::kDouble:
        return f(read.template operator()<double>());
      case CppType::kBool:
        return f(read.template operator()<bool>());
      case CppType::kString:
        return f(read.template operator()<std::string_view>());
      case CppType::kMessage:
        return f(read.template operator()<ConstObject>());
      default:
        return f(read.template operator()<int32_t>());
    }
  }

  MessageType type_;
  const char* object_ = nullptr;
};

// ---- editing
class Object : public ConstObject {
 public:
  Object() = default;
  Object(const MessageType& type, Message* object) : ConstObject(type, object) {}

  Message* message() const { return reinterpret_cast<Message*>(bytes()); }

  // Sets a singular field, or a list's element; add appends to a list. Strings are copied. Of a map's entry only the
  // value can be set.
  template <Value T>
  void set(const FieldEntry& field, T value) const {
    check(field, kCppTypeOf<T>, schema::kLabelSingular);
    check_writable(field);
    if constexpr (std::is_same_v<T, int32_t>) check_enum(field, value);
    raw::mark_present(bytes(), field);
    store(bytes() + field.offset, value);
  }
  template <Value T>
  void set(const FieldEntry& field, int index, T value) const {
    check(field, kCppTypeOf<T>, schema::kLabelRepeated);
    check_writable(field);
    if constexpr (std::is_same_v<T, int32_t>) check_enum(field, value);
    store(const_cast<char*>(element(field, index)), value);
  }
  template <Value T>
  void add(const FieldEntry& field, T value) const {
    check(field, kCppTypeOf<T>, schema::kLabelRepeated);
    check_writable(field);
    if constexpr (std::is_same_v<T, int32_t>) check_enum(field, value);
    if constexpr (std::is_same_v<T, std::string_view>) {
      const std::string copy(value);  // which may be an element of this list
      store<std::string_view>(append(field), copy);
    } else {
      store(append(field), value);
    }
  }
  // The sub-message, made if it is not set; a list's; a new one behind the list's others.
  Object mutable_sub(const FieldEntry& field) const;
  Object mutable_sub(const FieldEntry& field, int index) const;
  Object add_sub(const FieldEntry& field) const;
  Map mutable_map(const FieldEntry& field) const;

  // Unsets a field of any label.
  void clear(const FieldEntry& field) const;
  // Unsets all fields, and drops the unknown ones.
  void clear() const;
  void clear_oneof(int oneof) const;
  void remove_last(const FieldEntry& list) const;
  void swap_elements(const FieldEntry& list, int a, int b) const;

  // Well-formed wire bytes of fields that the schema does not know, which go out behind the known ones.
  void add_unknown(std::string_view wire) const;
  void clear_unknown() const;

 private:
  char* bytes() const { return const_cast<char*>(object_); }
  Arena* arena() const { return arena_of(message()->drover_owner()); }
  void check_writable(const FieldEntry& field) const {
    const bool key = field.number == 1 && is_entry();
    if (object_ == nullptr || message()->drover_owner_word() == kReceived || key) [[unlikely]] {
      not_writable(field);
    }
  }
  [[noreturn]] void not_writable(const FieldEntry& field) const;
  void check_enum(const FieldEntry& field, int32_t number) const;
  char* append(const FieldEntry& field) const;
  template <Value T>
  void store(char* at, T value) const {
    if constexpr (std::is_same_v<T, std::string_view>) {
      reinterpret_cast<String*>(at)->assign_in(arena(), value);
    } else if constexpr (std::is_same_v<T, bool>) {
      *at = value ? 1 : 0;
    } else {
      raw::store(at, value);
    }
  }
};

// ---- maps
// A key, as the map's key field has it: `MapKeyValue(int32_t{5})`, `MapKeyValue("name")`.
class MapKeyValue {
 public:
  template <Value T>
    requires(!std::floating_point<T>)
  explicit MapKeyValue(T value) : cpp_(kCppTypeOf<T>) {
    if constexpr (std::is_same_v<T, std::string_view>) {
      key_.text = value;
    } else {
      std::memcpy(&key_.bits, &value, sizeof(value));
    }
  }
  explicit MapKeyValue(const char* text) : MapKeyValue(std::string_view(text)) {}

  CppType cpp_type() const { return cpp_; }
  const drover::MapKey& key() const { return key_; }

 private:
  CppType cpp_;
  drover::MapKey key_;
};

// The entries of a map field, in unspecified order. An entry is an object with the fields key_field() and
// value_field().
class ConstMap {
 public:
  ConstMap(const MessageType& entry, const MapBase* map) : entry_(entry), map_(map) {}

  const FieldEntry& key_field() const { return entry_.fields()[0]; }
  const FieldEntry& value_field() const { return entry_.fields()[1]; }
  int size() const { return map_ == nullptr ? 0 : map_->size(); }
  ConstObject entry(int index) const { return {entry_, static_cast<const Message*>(at(index))}; }
  // The key's entry; false (operator bool) if the key is absent.
  ConstObject find(const MapKeyValue& key) const;

 protected:
  void* at(int index) const;
  int64_t position(const MapKeyValue& key) const;

  MessageType entry_;
  const MapBase* map_;
};

class Map : public ConstMap {
 public:
  Map(const MessageType& entry, MapBase* map, Arena* arena) : ConstMap(entry, map), arena_(arena) {}

  Object mutable_entry(int index) const { return {entry_, static_cast<Message*>(at(index))}; }
  // The key's entry; created with an empty value if the key is absent.
  Object insert(const MapKeyValue& key) const;
  bool erase(const MapKeyValue& key) const;

 private:
  MapBase* map() const { return const_cast<MapBase*>(map_); }

  Arena* arena_;
};

// ---- where objects come from
// An empty object of any type, which lives and allocates in `arena`; null (false): out of memory.
Object create(const MessageType& type, Arena* arena);

template <typename T>
concept GeneratedMessage = std::derived_from<T, Message> && requires { T::drover_type(); };

template <GeneratedMessage T>
Object of(T* message) {
  return {T::drover_type(), message};
}
template <GeneratedMessage T>
ConstObject of(const T& message) {
  return {T::drover_type(), &message};
}

}  // namespace drover::reflection
