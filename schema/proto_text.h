// For tests: .proto source in a string, parsed into a FileDescriptorSet, and built into an image.
#pragma once

#include <google/protobuf/compiler/parser.h>
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <utility>

#include "schema/image_builder.h"
#include "schema/image_load.h"

namespace drover::schema {

class ParseErrors : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line, int column, const std::string& message) override {
    ADD_FAILURE() << line + 1 << ":" << column + 1 << ": " << message;
  }
};

// `files` are pairs of a file's name and its text.
inline google::protobuf::FileDescriptorSet parse_protos(
    std::initializer_list<std::pair<const char*, const char*>> files) {
  google::protobuf::FileDescriptorSet set;
  for (const auto& [name, text] : files) {
    google::protobuf::io::ArrayInputStream stream(text, static_cast<int>(std::char_traits<char>::length(text)));
    ParseErrors errors;
    google::protobuf::io::Tokenizer tokenizer(&stream, &errors);
    google::protobuf::compiler::Parser parser;
    auto* file = set.add_file();
    EXPECT_TRUE(parser.Parse(&tokenizer, file));
    file->set_name(name);
  }
  return set;
}

// The image of one file, loaded.
inline OwnedImage image_of(const char* text) {
  BuildResult built = build_image(parse_protos({{"test.proto", text}}));
  EXPECT_EQ(built.error, "");
  OwnedImage image;
  LoadResult result = OwnedImage::load(built.image, &image);
  EXPECT_TRUE(result.ok()) << load_message(result);
  return image;
}

inline const MessageEntry& message_named(const OwnedImage& image, const std::string& name) {
  int64_t index = image.image().find_message(name.data(), name.size());
  EXPECT_GE(index, 0) << name;
  return image.image().message(static_cast<uint32_t>(index < 0 ? 0 : index));
}

inline const FieldEntry& field_named(const OwnedImage& image, const std::string& message, const std::string& name) {
  const FieldEntry* field = image.image().find_field_by_name(message_named(image, message), name.data(), name.size());
  EXPECT_NE(field, nullptr) << message << "." << name;
  static const FieldEntry kNone{};
  return field == nullptr ? kNone : *field;
}

}  // namespace drover::schema
