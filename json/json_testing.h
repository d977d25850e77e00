// For the tests of the JSON mapping: the test messages' schema images, built from the descriptors of protobuf C++'s own
// classes for them, and objects that are read from JSON, wire bytes or the peer's messages.
#pragma once

#include <google/protobuf/message.h>

#include <set>
#include <string>

#include "json/json.h"
#include "json/testdata/mapping.pb.h"
#include "json/testdata/mapping2.pb.h"
#include "message/operations.h"
#include "schema/image_builder.h"
#include "schema/image_load.h"
#include "testing/test_object.h"
#include "testing/test_schema.h"

namespace drover::json::testing {

using drover::testing::die;

// The files that `file` imports, then the file itself.
inline void add_with_imports(const google::protobuf::FileDescriptor* file, std::set<std::string>* seen,
                             google::protobuf::FileDescriptorSet* set) {
  if (!seen->insert(file->name()).second) return;
  for (int i = 0; i < file->dependency_count(); ++i) add_with_imports(file->dependency(i), seen, set);
  auto* proto = set->add_file();
  file->CopyTo(proto);
  file->CopyJsonNameTo(proto);
}

inline schema::OwnedImage image_of(std::initializer_list<const google::protobuf::FileDescriptor*> files) {
  google::protobuf::FileDescriptorSet set;
  std::set<std::string> seen;
  for (const auto* file : files) add_with_imports(file, &seen, &set);
  const schema::BuildResult built = schema::build_image(set);
  if (!built.ok()) die(built.error);
  schema::OwnedImage image;
  const schema::LoadResult loaded = schema::OwnedImage::load(built.image, &image);
  if (!loaded.ok()) die(schema::load_message(loaded));
  return image;
}

inline const schema::Image& test_image() {
  static const auto* image =
      new schema::OwnedImage(image_of({jt::Mapping::descriptor()->file(), jt2::Mapping::descriptor()->file()}));
  return image->image();
}

inline schema::MessageType type_named(std::string_view name, const schema::Image& image = test_image()) {
  const int64_t index = image.find_message(name.data(), name.size());
  if (index < 0) die(std::string(name));
  return {&image, static_cast<uint32_t>(index)};
}

class Object : public drover::testing::TestObject {
 public:
  explicit Object(const schema::MessageType& type) : TestObject(type) {}
  explicit Object(std::string_view name) : Object(type_named(name)) {}

  Result parse(std::string_view text, const ParseOptions& options = {}) {
    return json::parse(type(), text, options, get());
  }
  // The text; after an error, its message.
  std::string print(const PrintOptions& options = {}) const {
    std::string out;
    const Result result = json::print(type(), *get(), options, &out);
    return result.ok() ? out : to_string(result);
  }
  std::string text() const { return message::debug_text(type(), *get(), {.one_line = true}); }
  bool equals(const Object& other) const { return message::equal(type(), *get(), *other.get()); }
};

// `text` parsed and printed again, or the error.
inline std::string through(std::string_view name, std::string_view text, const ParseOptions& options = {}) {
  Object object(name);
  const Result result = object.parse(text, options);
  return result.ok() ? object.print() : to_string(result);
}
inline std::string through(std::string_view text, const ParseOptions& options = {}) {
  return through("jt.Mapping", text, options);
}

}  // namespace drover::json::testing
