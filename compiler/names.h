// The C++ names of descriptors: protobuf C++'s naming rules, so that sources build unchanged.
#pragma once

#include <google/protobuf/descriptor.h>

#include <string>

namespace drover::compiler {

using google::protobuf::Descriptor;
using google::protobuf::EnumDescriptor;
using google::protobuf::EnumValueDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::FileDescriptor;
using google::protobuf::OneofDescriptor;

// The options in --drover_opt.
struct Options {
  std::string namespace_prefix;  // "X" or "X::Y": everything generated lies in this namespace
  std::string include_prefix;    // "dir/": the files are written, and include each other, below it
  bool lines = false;            // all services also as RPC lines, without an option in the .proto
};

// Parses "key=value,key=value". Returns an empty string, or what is wrong.
std::string parse_options(const std::string& parameter, Options* out);

// A trailing underscore for C++'s keywords.
std::string resolve_keyword(const std::string& name);
// "foo_bar" -> "FooBar".
std::string camel_case(const std::string& name);

std::string file_stem(const FileDescriptor* file);                             // "dir/foo" of dir/foo.proto
std::string file_identifier(const FileDescriptor* file);                       // "dir_2ffoo", usable in an identifier
std::string namespace_of(const FileDescriptor* file, const Options& options);  // "X::pkg::sub", may be empty
std::string class_name(const Descriptor* message);                             // "Outer_Inner"
std::string enum_type_name(const EnumDescriptor* e);                           // "Outer_Inner"
std::string enum_constant(const EnumValueDescriptor* value);                   // "Outer_Inner_VALUE"
std::string qualified(const Descriptor* message, const Options& options);      // "::X::pkg::Outer_Inner"
std::string qualified(const EnumDescriptor* e, const Options& options);
std::string qualified(const EnumValueDescriptor* value, const Options& options);
std::string accessor_name(const FieldDescriptor* field);    // lower case, keywords resolved
std::string number_constant(const FieldDescriptor* field);  // "kFooBarFieldNumber"
std::string case_enum(const OneofDescriptor* oneof);        // "FooCase"
std::string case_constant(const FieldDescriptor* field);    // "kFooBar"
std::string case_not_set(const OneofDescriptor* oneof);     // "FOO_NOT_SET"

// A C++ string literal of these bytes, quotes included.
std::string literal(const std::string& bytes);
// A C++ expression of the default of a scalar or enum field.
std::string default_expression(const FieldDescriptor* field, const Options& options);

}  // namespace drover::compiler
