// conformance_testee FILE: the program under the protobuf conformance runner's test. The runner starts it and sends
// requests to its standard input; each is answered on its standard output.
//
//   u32 length, little-endian | conformance.ConformanceRequest     ->     u32 length | conformance.ConformanceResponse
//
// FILE is the FileDescriptorSet of the suite's .proto files, which is loaded when the testee starts: no code is
// generated, and requests and responses are objects of that schema like the tests' messages themselves.
//
//   --dump DIR   keeps every binary payload of at most 4 KiB as DIR/<message>-<number>
#include <CLI/CLI.hpp>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>

#include "codec/encode/encode.h"
#include "message/reflection.h"
#include "schema/dynamic_schema.h"
#include "tests/conformance/test_case.h"

namespace drover::conformance {
namespace {

constexpr size_t kLargestDump = 4096;

[[noreturn]] void die(const std::string& what) {
  std::fprintf(stderr, "conformance_testee: %s\n", what.c_str());
  std::exit(1);
}

schema::DynamicSchema load_schema(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), {}};
  if (!file) die(path + ": cannot be read");
  schema::DynamicSchema schema;
  std::string error = schema::DynamicSchema::load(bytes, &schema);
  if (!error.empty()) die(path + ": " + error);
  return schema;
}

const schema::FieldEntry& field_of(const reflection::ConstObject& object, std::string_view name) {
  const schema::FieldEntry* field = object.find(name);
  if (field == nullptr) die(std::string(object.type().full_name()) + " has no field " + std::string(name));
  return *field;
}

bool has(const reflection::ConstObject& object, const char* name) { return object.has(field_of(object, name)); }

std::string_view string_field(const reflection::ConstObject& object, const char* name) {
  return object.get<std::string_view>(field_of(object, name));
}

// The name of the value that an enum field holds: "PROTOBUF".
std::string_view enum_field(const reflection::ConstObject& object, const char* name) {
  const schema::FieldEntry& field = field_of(object, name);
  return object.enum_name(field, object.get<int32_t>(field));
}

const char* field_name(Outcome outcome) {
  switch (outcome) {
    case Outcome::kProtobufPayload:
      return "protobuf_payload";
    case Outcome::kJsonPayload:
      return "json_payload";
    case Outcome::kTextPayload:
      return "text_payload";
    case Outcome::kParseError:
      return "parse_error";
    case Outcome::kSerializeError:
      return "serialize_error";
    case Outcome::kRuntimeError:
      return "runtime_error";
    case Outcome::kSkipped:
      break;
  }
  return "skipped";
}

class Testee {
 public:
  Testee(const schema::DynamicSchema& schema, std::string dump_directory)
      : schema_(schema),
        request_type_(type_named("conformance.ConformanceRequest")),
        response_type_(type_named("conformance.ConformanceResponse")),
        dump_directory_(std::move(dump_directory)) {}

  std::string answer(std::string_view wire) {
    Object request(request_type_);
    DecodeResult result = decode(request.type(), request.get(), wire, request.arena());
    if (!result.ok()) return respond({Outcome::kRuntimeError, "ConformanceRequest: " + to_string(result)});
    return respond(run_request(reflection::ConstObject(request.type(), request.get())));
  }

 private:
  schema::MessageType type_named(const char* name) const {
    std::optional<schema::MessageType> type = schema_.find_message(name);
    if (!type) die(std::string("the FileDescriptorSet lacks ") + name);
    return *type;
  }
  Answer run_request(const reflection::ConstObject& request);
  std::string respond(const Answer& answer) const;
  void dump(const schema::MessageType& type, std::string_view payload);

  const schema::DynamicSchema& schema_;
  schema::MessageType request_type_;
  schema::MessageType response_type_;
  std::string dump_directory_;
  int dumped_ = 0;
};

Answer Testee::run_request(const reflection::ConstObject& request) {
  std::string_view type_name = string_field(request, "message_type");
  // The first request asks which tests are known to fail: none.
  if (type_name == "conformance.FailureSet") return {Outcome::kProtobufPayload, {}};
  std::optional<schema::MessageType> type = schema_.find_message(type_name);
  if (!type) return {Outcome::kRuntimeError, "unknown message type " + std::string(type_name)};

  TestCase test{*type, Format::kProtobuf, {}, Format::kProtobuf};
  if (has(request, "protobuf_payload")) {
    test.payload = string_field(request, "protobuf_payload");
    if (!dump_directory_.empty()) dump(*type, test.payload);
  } else if (has(request, "json_payload")) {
    test.input = Format::kJson;
    test.payload = string_field(request, "json_payload");
  } else if (has(request, "text_payload")) {
    test.input = Format::kText;
    test.payload = string_field(request, "text_payload");
  } else {
    return {Outcome::kSkipped, "the input is neither protobuf, JSON nor the text format"};
  }
  std::string_view output = enum_field(request, "requested_output_format");
  if (output == "JSON") {
    test.output = Format::kJson;
  } else if (output == "TEXT_FORMAT") {
    test.output = Format::kText;
  } else if (output != "PROTOBUF") {
    return {Outcome::kSkipped, "no output as " + std::string(output)};
  }
  const schema::FieldEntry& print_unknown = field_of(request, "print_unknown_fields");
  test.print_unknown_fields = request.get<bool>(print_unknown);
  test.ignore_unknown_json = enum_field(request, "test_category") == "JSON_IGNORE_UNKNOWN_PARSING_TEST";
  return run(test);
}

std::string Testee::respond(const Answer& answer) const {
  Object response(response_type_);
  reflection::Object fields(response_type_, response.get());
  fields.set<std::string_view>(field_of(fields, field_name(answer.outcome)), answer.text);
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
  drover::schema::DynamicSchema schema = drover::conformance::load_schema(descriptors);
  drover::conformance::Testee testee(schema, dump_directory);
  drover::conformance::serve(&testee);
  return 0;
}
