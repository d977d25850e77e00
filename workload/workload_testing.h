// For tests and fuzz targets: one schema as a Drover image and as protobuf C++ dynamic messages, and objects of it.
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
#include <span>
#include <string>

#include "codec/decode/decode.h"
#include "codec/encode/encode.h"
#include "schema/image_builder.h"
#include "schema/image_load.h"
#include "schema/message_type.h"

namespace drover::workload::testing {

[[noreturn]] inline void die(const std::string& what) {
  std::fprintf(stderr, "%s\n", what.c_str());
  std::abort();
}

inline google::protobuf::FileDescriptorSet parse_proto(const std::string& text) {
  google::protobuf::io::ArrayInputStream input(text.data(), static_cast<int>(text.size()));
  google::protobuf::io::Tokenizer tokenizer(&input, nullptr);
  google::protobuf::compiler::Parser parser;
  google::protobuf::FileDescriptorSet set;
  set.add_file()->set_name("test.proto");
  if (!parser.Parse(&tokenizer, set.mutable_file(0))) die("the test's .proto text does not parse: " + text);
  return set;
}

class PeerSchema {
 public:
  explicit PeerSchema(google::protobuf::FileDescriptorSet files) : files_(std::move(files)) {
    for (const auto& file : files_.file()) {
      if (pool_.BuildFile(file) == nullptr) die("protobuf refuses the schema: " + file.DebugString());
    }
    schema::BuildResult built = schema::build_image(files_);
    if (!built.ok()) die(built.error);
    schema::LoadResult loaded = schema::OwnedImage::load(built.image, &image_);
    if (!loaded.ok()) die(schema::load_message(loaded));
  }
  schema::MessageType type(const std::string& name) const {
    int64_t index = image_.image().find_message(name.data(), name.size());
    if (index < 0) die("no message " + name);
    return {&image_.image(), static_cast<uint32_t>(index)};
  }
  std::unique_ptr<google::protobuf::Message> peer(const std::string& name) const {
    const auto* descriptor = pool_.FindMessageTypeByName(name);
    if (descriptor == nullptr) die("no message " + name);
    return std::unique_ptr<google::protobuf::Message>(factory_.GetPrototype(descriptor)->New());
  }
  const google::protobuf::FileDescriptorSet& files() const { return files_; }

 private:
  google::protobuf::FileDescriptorSet files_;
  google::protobuf::DescriptorPool pool_;
  mutable google::protobuf::DynamicMessageFactory factory_;
  schema::OwnedImage image_;
};

// One object and its arena.
class Object {
 public:
  explicit Object(const schema::MessageType& type) : type_(type) {
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
  const schema::MessageType& type() const { return type_; }
  Message* get() { return object_; }
  Arena* arena() { return &arena_; }

 private:
  schema::MessageType type_;
  Arena arena_;
  Message* object_;
};

}  // namespace drover::workload::testing
