#include "testing/test_schema.h"

#include <google/protobuf/compiler/parser.h>
#include <google/protobuf/dynamic_message.h>
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "schema/image_builder.h"

namespace drover::testing {
namespace {

using google::protobuf::DescriptorPool;
using google::protobuf::FileDescriptorSet;

struct Errors final : DescriptorPool::ErrorCollector {
  void AddError(const std::string&, const std::string& element, const google::protobuf::Message*, ErrorLocation,
                const std::string& message) override {
    text += element + ": " + message + "\n";
  }
  std::string text;
};

schema::OwnedImage image_of(const FileDescriptorSet& files) {
  schema::BuildResult built = schema::build_image(files);
  if (!built.ok()) die(built.error);
  schema::OwnedImage image;
  schema::LoadResult loaded = schema::OwnedImage::load(built.image, &image);
  if (!loaded.ok()) die(schema::load_message(loaded));
  return image;
}

FileDescriptorSet file_of(const google::protobuf::Descriptor* generated) {
  FileDescriptorSet files;
  generated->file()->CopyTo(files.add_file());
  return files;
}

}  // namespace

void die(const std::string& what) {
  std::fprintf(stderr, "%s\n", what.c_str());
  std::abort();
}

FileDescriptorSet parse_proto(const std::string& text) {
  google::protobuf::io::ArrayInputStream input(text.data(), static_cast<int>(text.size()));
  google::protobuf::io::Tokenizer tokenizer(&input, nullptr);
  google::protobuf::compiler::Parser parser;
  FileDescriptorSet set;
  set.add_file()->set_name("test.proto");
  if (!parser.Parse(&tokenizer, set.mutable_file(0))) die("the test's .proto text does not parse: " + text);
  return set;
}

TestSchema::TestSchema(FileDescriptorSet files)
    : files_(std::move(files)),
      pool_(std::make_unique<DescriptorPool>()),
      factory_(std::make_unique<google::protobuf::DynamicMessageFactory>()),
      image_(image_of(files_)) {
  for (const auto& file : files_.file()) {
    Errors errors;
    if (pool_->BuildFileCollectingErrors(file, &errors) == nullptr) die("protobuf refuses the schema: " + errors.text);
  }
}

TestSchema::TestSchema(const google::protobuf::Descriptor* generated)
    : files_(file_of(generated)), image_(image_of(files_)) {}

TestSchema::~TestSchema() = default;

schema::MessageType TestSchema::type(const std::string& name) const {
  int64_t index = image().find_message(name.data(), name.size());
  if (index < 0) die("no message " + name);
  return {&image(), static_cast<uint32_t>(index)};
}

std::unique_ptr<google::protobuf::Message> TestSchema::peer(const std::string& name) const {
  const DescriptorPool* pool = pool_ != nullptr ? pool_.get() : DescriptorPool::generated_pool();
  const auto* descriptor = pool->FindMessageTypeByName(name);
  if (descriptor == nullptr) die("no message " + name);
  google::protobuf::MessageFactory* factory = factory_.get();
  if (factory == nullptr) factory = google::protobuf::MessageFactory::generated_factory();
  return std::unique_ptr<google::protobuf::Message>(factory->GetPrototype(descriptor)->New());
}

}  // namespace drover::testing
