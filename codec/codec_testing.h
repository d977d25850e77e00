// For tests, fuzz targets and benchmarks of the codec: a schema from .proto text or from descriptors, as a Drover
// image and as protobuf C++ dynamic messages at once, so that both can be asked the same question.
#pragma once

#include <google/protobuf/compiler/parser.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/dynamic_message.h>
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "codec/decode/decode.h"
#include "codec/encode/encode.h"
#include "codec/testdata/every.pb.h"
#include "codec/testdata/implicit.pb.h"
#include "message/operations.h"
#include "schema/image_builder.h"
#include "schema/message_type.h"

namespace drover::testing {

class TestSchema {
 public:
  explicit TestSchema(const std::string& proto_text) {
    google::protobuf::io::ArrayInputStream input(proto_text.data(), static_cast<int>(proto_text.size()));
    google::protobuf::io::Tokenizer tokenizer(&input, nullptr);
    google::protobuf::compiler::Parser parser;
    google::protobuf::FileDescriptorSet set;
    auto* file = set.add_file();
    file->set_name("test.proto");
    if (!parser.Parse(&tokenizer, file)) die("the test's .proto text does not parse");
    build(set);
  }
  explicit TestSchema(const google::protobuf::FileDescriptorSet& set) { build(set); }
  // Of a message that protobuf C++ has generated code for; peer() then gives out the generated class.
  explicit TestSchema(const google::protobuf::Descriptor* generated) : generated_(true) {
    google::protobuf::FileDescriptorSet set;
    generated->file()->CopyTo(set.add_file());
    build(set);
  }

  schema::MessageType type(const std::string& name) const {
    int64_t index = image_.find_message(name.data(), name.size());
    if (index < 0) die(name.c_str());
    return {&image_, static_cast<uint32_t>(index)};
  }
  std::unique_ptr<google::protobuf::Message> peer(const std::string& name) const {
    const auto* pool = generated_ ? google::protobuf::DescriptorPool::generated_pool() : &pool_;
    const auto* descriptor = pool->FindMessageTypeByName(name);
    if (descriptor == nullptr) die(name.c_str());
    const auto* prototype = generated_ ? google::protobuf::MessageFactory::generated_factory()->GetPrototype(descriptor)
                                       : factory_.GetPrototype(descriptor);
    return std::unique_ptr<google::protobuf::Message>(prototype->New());
  }
  const google::protobuf::DescriptorPool& pool() const { return pool_; }

 private:
  struct Errors final : google::protobuf::DescriptorPool::ErrorCollector {
    void AddError(const std::string&, const std::string& element, const google::protobuf::Message*, ErrorLocation,
                  const std::string& message) override {
      text += element + ": " + message + "\n";
    }
    std::string text;
  };
  [[noreturn]] static void die(const char* what) {
    std::fprintf(stderr, "TestSchema: %s\n", what);
    std::abort();
  }
  void build(const google::protobuf::FileDescriptorSet& set) {
    for (const auto& file : set.file()) {
      Errors errors;
      if (pool_.BuildFileCollectingErrors(file, &errors) == nullptr) die(errors.text.c_str());
    }
    schema::BuildResult built = schema::build_image(set);
    if (!built.ok()) die(built.error.c_str());
    bytes_.resize((built.image.size() + 7) / 8);
    std::memcpy(bytes_.data(), built.image.data(), built.image.size());
    schema::LoadResult loaded = schema::Image::load(bytes_.data(), built.image.size(), &image_);
    if (!loaded.ok()) die(loaded.what);
  }

  bool generated_ = false;
  google::protobuf::DescriptorPool pool_;
  mutable google::protobuf::DynamicMessageFactory factory_;
  std::vector<uint64_t> bytes_;
  schema::Image image_;
};

// One object and its arena.
class TestObject {
 public:
  explicit TestObject(const schema::MessageType& type) : type_(type) {
    object_ = static_cast<Message*>(arena_.allocate_zeroed(type.entry().object_size));
    *object_->drover_owner() = reinterpret_cast<OwnerWord>(&arena_);
  }
  DecodeResult decode(std::string_view wire, const DecodeOptions& options = {}) {
    return drover::decode(type_, object_, wire, arena_, options);
  }
  DecodeResult decode(std::span<const std::string_view> pieces, const DecodeOptions& options = {}) {
    return drover::decode(type_, object_, pieces, arena_, options);
  }
  std::string encode(const EncodeOptions& options = {}) const {
    Encoded encoded;
    EncodeResult result = drover::encode(type_, object_, options, &encoded);
    if (!result.ok()) return "error: " + to_string(result);
    std::string bytes(encoded.size(), '\0');
    encoded.copy_to(bytes.data());
    return bytes;
  }
  std::string text() const { return message::debug_text(type_, *object_, {}); }
  Message* get() { return object_; }
  const Message* get() const { return object_; }
  Arena* arena() { return &arena_; }
  const schema::MessageType& type() const { return type_; }

 private:
  schema::MessageType type_;
  Arena arena_;
  Message* object_;
};

inline const TestSchema& every_schema() {
  static const TestSchema schema(t::Every::descriptor());
  return schema;
}
inline const TestSchema& implicit_schema() {
  static const TestSchema schema(t3::Implicit::descriptor());
  return schema;
}

// Bytes by their hexadecimal digits; blanks are skipped.
inline std::string from_hex(std::string_view digits) {
  std::string bytes;
  std::string pair;
  for (char c : digits) {
    if (c == ' ') continue;
    pair += c;
    if (pair.size() == 2) {
      bytes += static_cast<char>(std::stoi(pair, nullptr, 16));
      pair.clear();
    }
  }
  return bytes;
}

inline std::string to_hex(std::string_view bytes) {
  std::string text;
  for (char c : bytes) {
    char pair[4];
    std::snprintf(pair, sizeof(pair), "%02x ", static_cast<unsigned char>(c));
    text += pair;
  }
  return text;
}

}  // namespace drover::testing
