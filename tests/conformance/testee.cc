// conformance_testee FILE: what the protobuf conformance runner tests. The runner starts it and sends requests to its
// standard input; each is answered on its standard output.
//
//   u32 length, little-endian | conformance.ConformanceRequest     ->     u32 length | conformance.ConformanceResponse
//
// FILE is the FileDescriptorSet of the suite's .proto files, which becomes a schema image when the testee starts:
// no code is generated, and requests and responses are objects of that image like the tests' messages themselves.
//
//   --dump DIR   keeps every binary payload of at most 4 KiB as DIR/<message>-<number>
#include <CLI/CLI.hpp>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>

#include "codec/encode.h"
#include "message/raw.h"
#include "object/map.h"
#include "object/repeated.h"
#include "schema/image_builder.h"
#include "schema/image_load.h"
#include "tests/conformance/test_case.h"

namespace drover::conformance {
namespace {

constexpr size_t kLargestDump = 4096;

[[noreturn]] void die(const std::string& what) {
  std::fprintf(stderr, "conformance_testee: %s\n", what.c_str());
  std::exit(1);
}

schema::OwnedImage load_schema(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), {}};
  google::protobuf::FileDescriptorSet set;
  if (!file || !set.ParseFromString(bytes)) die(path + ": not a FileDescriptorSet");
  schema::BuildResult built = schema::build_image(set);
  if (!built.ok()) die(path + ": " + built.error);
  schema::OwnedImage image;
  schema::LoadResult loaded = schema::OwnedImage::load(built.image, &image);
  if (!loaded.ok()) die(path + ": " + schema::load_message(loaded));
  return image;
}

std::optional<schema::MessageType> find_type(const schema::OwnedImage& image, std::string_view name) {
  int64_t index = image.image().find_message(name.data(), name.size());
  if (index < 0) return std::nullopt;
  return schema::MessageType{&image.image(), static_cast<uint32_t>(index)};
}

const schema::FieldEntry& field_of(const schema::MessageType& type, std::string_view name) {
  const schema::FieldEntry* field = type.image->find_field_by_name(type.entry(), name.data(), name.size());
  if (field == nullptr) die(std::string(type.full_name()) + " has no field " + std::string(name));
  return *field;
}

bool has(const Object& object, const char* name) {
  return raw::present(object.get()->drover_bytes(), field_of(object.type(), name));
}

std::string_view string_field(const Object& object, const char* name) {
  const schema::FieldEntry& field = field_of(object.type(), name);
  if (!raw::present(object.get()->drover_bytes(), field)) return {};
  return reinterpret_cast<const String*>(object.get()->drover_bytes() + field.offset)->view();
}

// The name of the value that an enum field holds: "PROTOBUF".
std::string enum_field(const Object& object, const char* name) {
  const schema::Image& image = *object.type().image;
  const schema::FieldEntry& field = field_of(object.type(), name);
  auto number = raw::load<int32_t>(object.get()->drover_bytes() + field.offset);
  const schema::EnumValueEntry* value = image.find_enum_value(image.enum_entry(field.sub), number);
  return value == nullptr ? std::to_string(number) : image.name(value->name);
}

const char* field_name(Outcome outcome) {
  switch (outcome) {
    case Outcome::protobuf_payload:
      return "protobuf_payload";
    case Outcome::json_payload:
      return "json_payload";
    case Outcome::parse_error:
      return "parse_error";
    case Outcome::serialize_error:
      return "serialize_error";
    case Outcome::runtime_error:
      return "runtime_error";
    case Outcome::skipped:
      break;
  }
  return "skipped";
}

class Testee {
 public:
  Testee(const schema::OwnedImage& image, std::string dump_directory)
      : image_(image),
        request_type_(type_named("conformance.ConformanceRequest")),
        response_type_(type_named("conformance.ConformanceResponse")),
        dump_directory_(std::move(dump_directory)) {}

  std::string answer(std::string_view wire) {
    Object request(request_type_);
    DecodeResult result = decode(request.type(), request.get(), wire, request.arena());
    if (!result.ok()) return respond({Outcome::runtime_error, "ConformanceRequest: " + to_string(result)});
    return respond(run_request(request));
  }

 private:
  schema::MessageType type_named(const char* name) const {
    std::optional<schema::MessageType> type = find_type(image_, name);
    if (!type) die(std::string("the FileDescriptorSet lacks ") + name);
    return *type;
  }
  Answer run_request(const Object& request);
  std::string respond(const Answer& answer) const;
  void dump(const schema::MessageType& type, std::string_view payload);

  const schema::OwnedImage& image_;
  schema::MessageType request_type_;
  schema::MessageType response_type_;
  std::string dump_directory_;
  int dumped_ = 0;
};

Answer Testee::run_request(const Object& request) {
  std::string_view type_name = string_field(request, "message_type");
  // The first request asks which tests are known to fail: none.
  if (type_name == "conformance.FailureSet") return {Outcome::protobuf_payload, {}};
  std::optional<schema::MessageType> type = find_type(image_, type_name);
  if (!type) return {Outcome::runtime_error, "unknown message type " + std::string(type_name)};

  TestCase test{*type, Format::protobuf, {}, Format::protobuf};
  if (has(request, "protobuf_payload")) {
    test.payload = string_field(request, "protobuf_payload");
    if (!dump_directory_.empty()) dump(*type, test.payload);
  } else if (has(request, "json_payload")) {
    test.input = Format::json;
    test.payload = string_field(request, "json_payload");
  } else {
    return {Outcome::skipped, "the input is neither protobuf nor JSON"};
  }
  std::string output = enum_field(request, "requested_output_format");
  if (output != "PROTOBUF" && output != "JSON") return {Outcome::skipped, "no output as " + output};
  test.output = output == "JSON" ? Format::json : Format::protobuf;
  test.ignore_unknown_json = enum_field(request, "test_category") == "JSON_IGNORE_UNKNOWN_PARSING_TEST";
  return run(test);
}

std::string Testee::respond(const Answer& answer) const {
  Object response(response_type_);
  const schema::FieldEntry& field = field_of(response_type_, field_name(answer.outcome));
  char* bytes = response.get()->drover_bytes();
  reinterpret_cast<String*>(bytes + field.offset)->assign_in(&response.arena(), answer.text);
  raw::store<uint32_t>(bytes + field.case_offset, field.number);
  Encoded encoded;
  EncodeResult result = encode(response_type_, response.get(), {}, &encoded);
  if (!result.ok()) die("ConformanceResponse: " + to_string(result));
  std::string wire(encoded.size(), '\0');
  encoded.copy_to(wire.data());
  return wire;
}

void Testee::dump(const schema::MessageType& type, std::string_view payload) {
  if (payload.size() > kLargestDump) return;
  std::string name = std::string(type.full_name()) + "-" + std::to_string(dumped_++);
  std::ofstream(std::filesystem::path(dump_directory_) / name, std::ios::binary) << payload;
}

// Reads until the runner closes its end.
void serve(Testee* testee) {
  unsigned char prefix[4];
  std::string wire;
  while (std::fread(prefix, 1, 4, stdin) == 4) {
    uint32_t size = 0;
    std::memcpy(&size, prefix, 4);
    wire.resize(size);
    if (std::fread(wire.data(), 1, size, stdin) != size) die("the runner stopped inside a request");
    std::string response = testee->answer(wire);
    auto response_size = static_cast<uint32_t>(response.size());
    std::memcpy(prefix, &response_size, 4);
    std::fwrite(prefix, 1, 4, stdout);
    std::fwrite(response.data(), 1, response.size(), stdout);
    if (std::fflush(stdout) != 0) die("the runner takes no response");
  }
}

}  // namespace
}  // namespace drover::conformance

int main(int argc, char** argv) {
  CLI::App app("The program that the protobuf conformance runner tests Drover with.");
  std::string descriptors, dump_directory;
  app.add_option("FILE", descriptors, "FileDescriptorSet of the suite's .proto files")->required();
  app.add_option("--dump", dump_directory, "keep the binary payloads in this directory");
  CLI11_PARSE(app, argc, argv);
  drover::schema::OwnedImage image = drover::conformance::load_schema(descriptors);
  drover::conformance::Testee testee(image, dump_directory);
  drover::conformance::serve(&testee);
  return 0;
}
