// Shared by the tests beside protobuf C++: arbitrary messages of any generated type, for RapidCheck, which shrinks
// failures field by field; and the difference of two messages.
//
// A message is generated as a list of steps, each of which sets (or adds to) one field through protobuf's
// reflection; RapidCheck shrinks the list and what each step sets. Sub-messages get a quarter of the size, so
// that recursive types end. Numbers have any count of bits, reals any bits at all, text is UTF-8 where the type
// demands it, open enums have undeclared values, and some fields are ones that the type does not know.
#pragma once

#include <google/protobuf/message.h>
#include <google/protobuf/unknown_field_set.h>
#include <google/protobuf/util/field_comparator.h>
#include <google/protobuf/util/message_differencer.h>
#include <rapidcheck.h>

#include <bit>
#include <cstdint>
#include <functional>
#include <limits>
#include <ostream>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace drover::testing {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Reflection;

// Map entries are unordered: only messages without map entries have one serialization.
enum class Maps { kNone, kSome };

using Step = std::function<void(google::protobuf::Message*)>;

inline Step all_of(std::vector<Step> steps) {
  return [steps = std::move(steps)](google::protobuf::Message* m) {
    for (const Step& step : steps) step(m);
  };
}

// ---- values

template <typename T>
rc::Gen<T> integers() {
  auto of_size = [](int size) { return rc::gen::resize(size, rc::gen::arbitrary<T>()); };
  return rc::gen::resize(rc::kNominalSize, rc::gen::mapcat(rc::gen::inRange(0, rc::kNominalSize + 1), of_size));
}

template <typename T>
rc::Gen<T> reals() {
  using Limits = std::numeric_limits<T>;
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  return rc::gen::oneOf(rc::gen::resize(rc::kNominalSize, rc::gen::arbitrary<T>()),
                        rc::gen::map(rc::gen::resize(rc::kNominalSize, rc::gen::arbitrary<Bits>()),
                                     [](Bits bits) { return std::bit_cast<T>(bits); }),
                        rc::gen::element(T{0}, T{-0.0}, Limits::infinity(), -Limits::infinity(), Limits::quiet_NaN(),
                                         Limits::denorm_min(), Limits::max(), Limits::lowest()));
}

// Any bytes; or UTF-8, of which every character is one to four bytes.
inline rc::Gen<std::string> strings(bool utf8) {
  auto character = rc::gen::elementOf(std::vector<std::string>{"a", "Z", " ", std::string(1, '\0'), "\x7f", "\u0080",
                                                               "\u00e9", "\u6f22", "\uffff", "\U0001f600"});
  auto byte =
      rc::gen::map(rc::gen::inRange(0, 256), [](int value) { return std::string(1, static_cast<char>(value)); });
  auto pieces = rc::gen::container<std::vector<std::string>>(utf8 ? character : byte);
  auto joined = rc::gen::map(std::move(pieces), [](const std::vector<std::string>& each) {
    std::string text;
    for (const std::string& piece : each) text += piece;
    return text;
  });
  return rc::gen::resize(rc::kNominalSize, std::move(joined));
}

inline rc::Gen<int> enum_numbers(const FieldDescriptor* field) {
  std::vector<int> declared;
  for (int i = 0; i < field->enum_type()->value_count(); ++i)
    declared.push_back(field->enum_type()->value(i)->number());
  return rc::gen::weightedOneOf<int>({{3, rc::gen::elementOf(declared)}, {1, integers<int>()}});
}

// ---- steps

template <typename T>
using Setter = void (Reflection::*)(google::protobuf::Message*, const FieldDescriptor*, T) const;

template <typename T>
rc::Gen<Step> step_of(const FieldDescriptor* f, Setter<T> set, Setter<T> add, rc::Gen<T> values) {
  Setter<T> put = f->is_repeated() ? add : set;
  return rc::gen::map(std::move(values), [f, put](T value) -> Step {
    return [f, put, value](google::protobuf::Message* m) { (m->GetReflection()->*put)(m, f, value); };
  });
}

rc::Gen<Step> any_steps(const Descriptor* type, Maps maps);
rc::Gen<Step> one_value(const FieldDescriptor* field, Maps maps);

inline rc::Gen<Step> sub_message(const FieldDescriptor* f, Maps maps) {
  auto content =
      f->is_map()
          ? rc::gen::map(rc::gen::pair(one_value(f->message_type()->map_key(), maps),
                                       one_value(f->message_type()->map_value(), maps)),
                         [](const std::pair<Step, Step>& entry) -> Step { return all_of({entry.first, entry.second}); })
          : rc::gen::scale(0.25, any_steps(f->message_type(), maps));
  return rc::gen::map(std::move(content), [f](const Step& fill) -> Step {
    return [f, fill](google::protobuf::Message* m) {
      const Reflection* r = m->GetReflection();
      fill(f->is_repeated() ? r->AddMessage(m, f) : r->MutableMessage(m, f));
    };
  });
}

// Sets a field, or adds one element to a repeated one.
inline rc::Gen<Step> one_value(const FieldDescriptor* f, Maps maps) {
  using R = Reflection;
  switch (f->cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return step_of(f, &R::SetInt32, &R::AddInt32, integers<int32_t>());
    case FieldDescriptor::CPPTYPE_INT64:
      return step_of(f, &R::SetInt64, &R::AddInt64, integers<int64_t>());
    case FieldDescriptor::CPPTYPE_UINT32:
      return step_of(f, &R::SetUInt32, &R::AddUInt32, integers<uint32_t>());
    case FieldDescriptor::CPPTYPE_UINT64:
      return step_of(f, &R::SetUInt64, &R::AddUInt64, integers<uint64_t>());
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return step_of(f, &R::SetDouble, &R::AddDouble, reals<double>());
    case FieldDescriptor::CPPTYPE_FLOAT:
      return step_of(f, &R::SetFloat, &R::AddFloat, reals<float>());
    case FieldDescriptor::CPPTYPE_BOOL:
      return step_of(f, &R::SetBool, &R::AddBool, rc::gen::arbitrary<bool>());
    case FieldDescriptor::CPPTYPE_ENUM:
      return step_of(f, &R::SetEnumValue, &R::AddEnumValue, enum_numbers(f));
    case FieldDescriptor::CPPTYPE_STRING: {
      bool checked = f->type() == FieldDescriptor::TYPE_STRING &&
                     f->file()->syntax() == google::protobuf::FileDescriptor::SYNTAX_PROTO3;
      return step_of(f, &R::SetString, &R::AddString, strings(checked));
    }
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return sub_message(f, maps);
  }
  return rc::gen::just(all_of({}));
}

inline rc::Gen<Step> unknown_field() {
  auto numbers = rc::gen::inRange(20'000, 20'010);  // no test message declares them
  auto varint = rc::gen::apply(
      [](int number, uint64_t value) -> Step {
        return [=](google::protobuf::Message* m) {
          m->GetReflection()->MutableUnknownFields(m)->AddVarint(number, value);
        };
      },
      numbers, integers<uint64_t>());
  auto bytes = rc::gen::apply(
      [](int number, const std::string& value) -> Step {
        return [=](google::protobuf::Message* m) {
          m->GetReflection()->MutableUnknownFields(m)->AddLengthDelimited(number, value);
        };
      },
      numbers, strings(false));
  return rc::gen::oneOf(std::move(varint), std::move(bytes));
}

// All steps of one message, its extensions included.
inline rc::Gen<Step> any_steps(const Descriptor* type, Maps maps) {
  std::vector<const FieldDescriptor*> fields = {nullptr};  // stands for an unknown one
  for (int i = 0; i < type->field_count(); ++i) {
    if (maps == Maps::kSome || !type->field(i)->is_map()) fields.push_back(type->field(i));
  }
  std::vector<const FieldDescriptor*> extensions;
  type->file()->pool()->FindAllExtensions(type, &extensions);
  fields.insert(fields.end(), extensions.begin(), extensions.end());
  auto one_field = [maps](const FieldDescriptor* field) {
    if (field == nullptr) return unknown_field();
    if (!field->is_repeated()) return one_value(field, maps);
    return rc::gen::scale(0.25, rc::gen::map(rc::gen::container<std::vector<Step>>(one_value(field, maps)), all_of));
  };
  auto steps = rc::gen::container<std::vector<Step>>(rc::gen::mapcat(rc::gen::elementOf(fields), one_field));
  return rc::gen::map(std::move(steps), all_of);
}

// ---- messages

// A message that RapidCheck can print.
template <typename Peer>
struct Shown {
  Peer message;
  friend std::ostream& operator<<(std::ostream& out, const Shown& shown) {
    return out << shown.message.GetTypeName() << " {\n" << shown.message.DebugString() << "}";
  }
};

// For use in a property: an arbitrary message of this type, as protobuf C++ reads it from the wire (of map entries with
// equal keys, the last counts). Required fields may be missing.
template <typename Peer>
Peer any_message(Maps maps) {
  auto made = rc::gen::map(any_steps(Peer::descriptor(), maps), [](const Step& fill) {
    Shown<Peer> shown;
    Peer built;
    fill(&built);
    RC_ASSERT(shown.message.ParsePartialFromString(built.SerializePartialAsString()));
    return shown;
  });
  return (*made).message;
}

// For tests that know fields only.
inline void clear_extensions(google::protobuf::Message* m) {
  const Reflection* r = m->GetReflection();
  std::vector<const FieldDescriptor*> fields;
  r->ListFields(*m, &fields);
  for (const FieldDescriptor* f : fields) {
    if (f->is_extension()) {
      r->ClearField(m, f);
    } else if (f->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE && f->is_repeated()) {
      for (int i = 0; i < r->FieldSize(*m, f); ++i) clear_extensions(r->MutableRepeatedMessage(m, f, i));
    } else if (f->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      clear_extensions(r->MutableMessage(m, f));
    }
  }
}

// The first difference in words, or an empty string. NaNs are equal.
inline std::string difference(const google::protobuf::Message& a, const google::protobuf::Message& b) {
  google::protobuf::util::DefaultFieldComparator comparator;
  comparator.set_treat_nan_as_equal(true);
  google::protobuf::util::MessageDifferencer differencer;
  differencer.set_field_comparator(&comparator);
  std::string words;
  differencer.ReportDifferencesToString(&words);
  return differencer.Compare(a, b) ? "" : "different: " + words;
}

}  // namespace drover::testing
