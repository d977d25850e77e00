// TestSchema: one schema as a Drover image and as protobuf C++ messages, so that a test can ask both the same question.
// A schema that a test cannot use (text that does not parse, files that protobuf or the image builder refuses) ends the
// program: it is a mistake in the test. Thread-safety: const use from any thread.
#pragma once

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/message.h>

#include <memory>
#include <string>

#include "schema/image_load.h"
#include "schema/message_type.h"

namespace google::protobuf {
class DynamicMessageFactory;
}

namespace drover::testing {

[[noreturn]] void die(const std::string& what);

// One file, "test.proto", of .proto text without imports.
google::protobuf::FileDescriptorSet parse_proto(const std::string& text);

class TestSchema {
 public:
  explicit TestSchema(const std::string& proto_text) : TestSchema(parse_proto(proto_text)) {}
  // The peer's messages are dynamic ones.
  explicit TestSchema(google::protobuf::FileDescriptorSet files);
  // The file of a message that protobuf C++ has generated code for, without imports; the peer's messages are of the
  // generated classes.
  explicit TestSchema(const google::protobuf::Descriptor* generated);
  ~TestSchema();
  TestSchema(const TestSchema&) = delete;
  TestSchema& operator=(const TestSchema&) = delete;

  // By full name, as peer().
  schema::MessageType type(const std::string& name) const;
  // An empty message of the peer's.
  std::unique_ptr<google::protobuf::Message> peer(const std::string& name) const;
  const google::protobuf::FileDescriptorSet& files() const { return files_; }
  const schema::Image& image() const { return image_.image(); }
  bool proto3() const { return files_.file(0).syntax() == "proto3"; }

 private:
  google::protobuf::FileDescriptorSet files_;
  std::unique_ptr<google::protobuf::DescriptorPool> pool_;  // null: the generated pool
  std::unique_ptr<google::protobuf::DynamicMessageFactory> factory_;
  schema::OwnedImage image_;
};

}  // namespace drover::testing
