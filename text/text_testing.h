// For the tests of the text format: a schema with everything that the language has forms for, and the question whether
// Drover and protobuf C++ 3.21 say the same about a text.
#pragma once

#include <google/protobuf/any.pb.h>
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/text_format.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "testing/deterministic.h"
#include "testing/test_object.h"
#include "testing/test_schema.h"
#include "text/text.h"

namespace drover::text::testing {

using drover::testing::TestSchema;

// x.All of proto2, and y.All of proto3, which also holds the Any.
inline const TestSchema& text_schema() {
  static const TestSchema* const schema = [] {
    auto add = [](google::protobuf::FileDescriptorSet* files, const char* name, const char* text) {
      *files->add_file() = drover::testing::parse_proto(text).file(0);
      files->mutable_file(files->file_size() - 1)->set_name(name);
    };
    google::protobuf::FileDescriptorSet files;
    google::protobuf::Any::descriptor()->file()->CopyTo(files.add_file());
    add(&files, "x.proto", R"(syntax = "proto2"; package x;
      enum E { ZERO = 0; ONE = 1; NEGATIVE = -5; }
      message All {
        optional int32 i32 = 1; optional uint32 u32 = 2; optional sint64 i64 = 3; optional fixed64 u64 = 4;
        optional float real32 = 5; optional double real64 = 6; optional bool flag = 7; optional string s = 8;
        optional bytes b = 9; optional E e = 10; optional group Group = 11 { optional int32 i32 = 1; }
        repeated group Many = 12 { optional int32 i32 = 1; optional All all = 2; }
        optional All all = 13; repeated All alls = 14; repeated int32 i32s = 15; repeated string ss = 16;
        repeated E es = 17; map<string, int32> to_i32 = 18; map<int32, All> to_all = 19; map<bool, E> to_e = 20;
        oneof choice { int32 one = 21; string two = 22; All three = 23; }
        optional Set set = 24; optional CamelCase camelCase = 25; optional Needy needy = 26;
        extensions 100 to 200;
      }
      message CamelCase { optional int32 someNumber = 1; }
      message Needy { required int32 needed = 1; }
      extend All { optional int32 number = 100; repeated string texts = 101; optional E ext_e = 102;
                   repeated sint32 packed = 103 [packed = true]; }
      message Scope {
        extend All { optional All inside = 110; repeated Scope grouped = 111; }
        extend Set { optional Scope item = 1000; }
        optional int32 a = 1;
      }
      message Set { option message_set_wire_format = true; extensions 4 to max; })");
    add(&files, "y.proto", R"(syntax = "proto3"; package y; import "google/protobuf/any.proto";
      enum E { ZERO = 0; ONE = 1; }
      message All {
        int32 i32 = 1; optional int32 maybe = 2; string s = 3; bytes b = 4; E e = 5; float real32 = 6;
        repeated E es = 7; repeated string ss = 8; All all = 9; map<string, string> to_s = 10;
        google.protobuf.Any any = 11; repeated google.protobuf.Any anys = 12; map<uint64, All> to_all = 13;
        oneof choice { bool one = 14; All two = 15; }
      })");
    return new TestSchema(files);
  }();
  return *schema;
}

class Object : public drover::testing::TestObject {
 public:
  explicit Object(const schema::MessageType& type) : TestObject(type) {}
  explicit Object(const std::string& name) : TestObject(text_schema().type(name)) {}

  Result parse(std::string_view text, const ParseOptions& options = {}) {
    return text::parse(type(), text, options, get());
  }
  std::string print(const PrintOptions& options = {.one_line = true}) const {
    return to_string(type(), *get(), options);
  }
};

// `text` parsed and printed again, or the error.
inline std::string through(const std::string& name, std::string_view text, const ParseOptions& options = {}) {
  Object object(name);
  const Result result = object.parse(text, options);
  return result.ok() ? object.print() : to_string(result);
}

// ---- the peer

class FirstError : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int, int, const std::string& message) override {
    if (text_.empty()) text_ = message;
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// Empty if the peer takes the text, else its first error. It has no setter for allow_unknown_enum.
inline std::string peer_parse(const std::string& text, const ParseOptions& options,
                              google::protobuf::Message* message) {
  FirstError error;
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&error);
  parser.AllowPartialMessage(options.allow_partial);
  parser.AllowUnknownField(options.allow_unknown_field);
  parser.AllowUnknownExtension(options.allow_unknown_extension);
  parser.AllowCaseInsensitiveField(options.allow_any_case);
  parser.AllowFieldNumber(options.allow_field_number);
  parser.SetRecursionLimit(options.depth_limit);
  const bool good =
      options.allow_overwrites ? parser.MergeFromString(text, message) : parser.ParseFromString(text, message);
  return good ? "" : error.text().empty() ? "refused" : error.text();
}

// Whether a bracket holds a type URL that 3.21 does not take: of another domain, or with other characters.
inline bool has_foreign_url(std::string_view text) {
  for (size_t at = text.find('['); at != text.npos; at = text.find('[', at + 1)) {
    const std::string_view inside = text.substr(at + 1, text.find(']', at) - at - 1);
    if (inside.find('/') != inside.npos && !inside.starts_with("type.googleapis.com/x.") &&
        !inside.starts_with("type.googleapis.com/y.") && !inside.starts_with("type.googleapis.com/google.")) {
      return true;
    }
  }
  return false;
}

// Whether a bracket holds a name with a part that begins with a digit. 3.21 takes it where it takes field numbers.
inline bool has_bracketed_number(std::string_view text) {
  for (size_t at = text.find('['); at != text.npos; at = text.find('[', at + 1)) {
    const size_t end = std::min(text.find(']', at), text.size());
    for (size_t i = at + 1; i < end; ++i) {
      const bool first = i == at + 1 || std::string_view(". /\n").find(text[i - 1]) != std::string_view::npos;
      if (first && text[i] >= '0' && text[i] <= '9') return true;
    }
  }
  return false;
}

// Whether an error of the peer's is about what brackets hold: no type that it knows, or other than names and dots.
inline bool is_about_brackets(std::string_view error) {
  const auto parts = {"Could not find type \"", "Expected identifier, got: ", "Expected \"/\", found ",
                      "Expected \"]\", found ", "Need space between",         "Already saw decimal point",
                      "must be in octal",       "must be integers",           "must be followed by"};
  return std::any_of(parts.begin(), parts.end(), [&](const char* part) { return error.find(part) != error.npos; });
}

// The differences that are meant. `ours` and `theirs`: what each says.
inline bool is_meant(std::string_view text, const ParseOptions& options, const Result& ours,
                     const std::string& theirs) {
  if (ours.ok()) {
    // 3.21 takes no byte order mark.
    if (text.starts_with("\xef\xbb\xbf") && theirs.find("non ascii codepoint 239") != theirs.npos) return true;
    // 3.21 takes a small x alone.
    if (text.find("\\X") != text.npos && theirs.find("Invalid escape sequence") != theirs.npos) return true;
    // 3.21 takes no separator and no empty list behind the name of an unknown field.
    if (options.allow_unknown_field &&
        (theirs.ends_with("got: ;") || theirs.ends_with("got: ,") || theirs.ends_with("unexpected token: ]"))) {
      return true;
    }
    // A group goes by its field's name, too, as in protobuf C++ from 27 on.
    if (theirs.find("has no field named \"") != theirs.npos) {
      const size_t from = theirs.find("named \"") + 7, to = theirs.find('"', from);
      return std::none_of(theirs.begin() + static_cast<ptrdiff_t>(from), theirs.begin() + static_cast<ptrdiff_t>(to),
                          [](char c) { return c >= 'A' && c <= 'Z'; });
    }
    return has_foreign_url(text) && is_about_brackets(theirs);
  }
  // 3.21 takes strings that its own parser then refuses on the wire, and surrogates and code points above U+10FFFF by
  // escapes.
  if (ours.error == Error::kBadUtf8) return true;
  // 3.21 does not count the content of an Any as a level.
  if (ours.error == Error::kDepthLimit && ours.path.find('/') != ours.path.npos) return true;
  // Required fields are not looked for below 99 levels of extensions.
  if (ours.error == Error::kDepthLimit && ours.line == 0) return true;
  if (ours.error == Error::kSyntax && ours.expected.starts_with("a full name")) return has_bracketed_number(text);
  const std::string_view escape = text.substr(ours.offset, 2);
  if (ours.error == Error::kSyntax && (escape == "\\u" || escape == "\\U")) return true;
  // A dynamic message of the peer's does not see a key or value that is zero.
  const bool in_entry = ours.path.ends_with(".key") || ours.path.ends_with(".value");
  return ours.error == Error::kDuplicateField && (in_entry || ours.path.ends_with("]"));
}

// Empty if both refuse the text, or both take it and read the same message; else what differs.
inline std::string disagreement(const TestSchema& schema, const std::string& name, const std::string& text,
                                const ParseOptions& options, bool* taken = nullptr) {
  Object object(schema.type(name));
  const Result ours = object.parse(text, options);
  const auto message = schema.peer(name);
  const std::string theirs = peer_parse(text, options, message.get());
  if (taken != nullptr) *taken = ours.ok();
  if (ours.ok() != theirs.empty()) {
    if (is_meant(text, options, ours, theirs)) return "";
    return ours.ok() ? "only the peer refuses it: " + theirs : "only Drover refuses it: " + to_string(ours);
  }
  if (!ours.ok()) return "";
  // Through Drover's objects, since a dynamic message of the peer's may keep map entries of one key apart.
  auto canonical = [&](const std::string& wire) {
    Object decoded(schema.type(name));
    if (!decoded.decode(wire).ok()) return "not decoded: " + wire;
    const auto again = schema.peer(name);
    return again->ParsePartialFromString(decoded.encode()) ? drover::testing::deterministic(*again) : "not read";
  };
  const std::string our_wire = canonical(object.encode()),
                    their_wire = canonical(drover::testing::deterministic(*message));
  if (our_wire == their_wire) return "";
  return "they read other messages: " + object.print() + "\n" + message->ShortDebugString();
}

}  // namespace drover::text::testing
