// For the tests of FieldPath: messages with every kind of path, and what decoding says about a path.
#pragma once

#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "engine/balance/field_path.h"
#include "message/reflection.h"
#include "schema/proto_text.h"

namespace drover::engine {

inline const schema::OwnedImage& path_image() {
  static const schema::OwnedImage image = schema::image_of(R"(
    syntax = "proto2"; package p;
    message Every {
      optional string id = 1;
      optional int32 number = 2;
      optional Every inner = 3;
      optional group Group = 4 { optional fixed32 fixed = 1; optional uint64 big = 2; optional Every back = 3; }
      oneof choice { bytes text = 5; sint64 signed = 6; Every deep = 7; bool flag = 8; group Extra = 10 {
        optional sfixed64 wide = 1; } }
      repeated Every many = 9;
      optional double real = 20;
      optional bytes far = 70000;
      optional uint32 small = 21;
      optional float single = 22;
      optional sint32 zigzag = 23;
      map<string, int32> map = 24;
    })");
  return image;
}
inline const schema::OwnedImage& plain_image() {
  static const schema::OwnedImage image = schema::image_of(R"(
    syntax = "proto3"; package p;
    message Plain {
      string id = 1; int32 number = 2; optional int32 maybe = 3; Plain inner = 4;
      oneof choice { string text = 5; int64 count = 6; }
      bool flag = 7; bytes blob = 8; fixed32 fixed = 9;
    })");
  return image;
}
inline schema::MessageType path_type(const schema::OwnedImage& owned, std::string_view name) {
  return {&owned.image(), static_cast<uint32_t>(owned.image().find_message(name.data(), name.size()))};
}
inline schema::MessageType every_type() { return path_type(path_image(), "p.Every"); }
inline schema::MessageType plain_type() { return path_type(plain_image(), "p.Plain"); }

inline constexpr const char* kEveryPaths[] = {"id",
                                              "number",
                                              "inner.id",
                                              "inner.inner.number",
                                              "group.big",
                                              "group.fixed",
                                              "group.back.id",
                                              "text",
                                              "signed",
                                              "deep.id",
                                              "flag",
                                              "real",
                                              "far",
                                              "inner.group.big",
                                              "small",
                                              "single",
                                              "zigzag",
                                              "extra.wide",
                                              "deep.text",
                                              "inner.deep.flag",
                                              "deep.extra.wide"};
inline constexpr const char* kPlainPaths[] = {"id",           "number",      "maybe", "inner.id",
                                              "inner.number", "inner.maybe", "text",  "count",
                                              "flag",         "blob",        "fixed", "inner.inner.text"};

// What the decoded message has there, as FieldPath::find says it.
inline std::optional<FieldPath::Value> decoded_value(reflection::ConstObject object, std::string_view path) {
  for (;;) {
    const size_t dot = path.find('.');
    const schema::FieldEntry* field = object.find(path.substr(0, dot));
    if (field == nullptr || !object.has(*field)) return std::nullopt;
    if (dot != std::string_view::npos) {
      object = object.sub(*field);
      path.remove_prefix(dot + 1);
      continue;
    }
    FieldPath::Value value;
    object.visit(*field, [&value](auto got) {
      using Got = decltype(got);
      if constexpr (std::is_same_v<Got, std::string_view>) {
        value.is_text = true;
        value.text = got;
      } else if constexpr (std::is_floating_point_v<Got>) {
        std::memcpy(&value.number, &got, sizeof got);
      } else if constexpr (std::is_integral_v<Got>) {
        value.number = static_cast<uint64_t>(got);
      }
    });
    // A four-byte field is kept as its bits.
    if (field->kind == static_cast<uint8_t>(schema::Kind::kSfixed32)) value.number &= UINT32_MAX;
    return value;
  }
}

inline bool same(const std::optional<FieldPath::Value>& a, const std::optional<FieldPath::Value>& b) {
  if (a.has_value() != b.has_value()) return false;
  return !a || (a->is_text == b->is_text && a->text == b->text && a->number == b->number);
}

}  // namespace drover::engine
