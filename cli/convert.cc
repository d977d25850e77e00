// `drover convert`: messages between wire bytes, hexadecimal digits, JSON and text format.
#include <cctype>

#include "cli/command.h"
#include "cli/file_io.h"
#include "cli/schema_source.h"
#include "codec/decode/decode.h"
#include "codec/encode/encode.h"
#include "json/json.h"
#include "message/operations.h"
#include "workload/value_tree.h"
#include "workload/wire_reader.h"

namespace drover::cli {
namespace {

class Command {
 public:
  void add_options(CLI::App* app) {
    schema_.add_options(app);
    app->add_option("-m,--message", message_, "the message type, by full name or its last parts")
        ->type_name("NAME")
        ->required();
    app->add_option("--from", from_,
                    "what the input is: binary, hex (one message), delimited (each with its length in "
                    "front, a varint), json")
        ->check(CLI::IsMember({"binary", "hex", "delimited", "json"}))
        ->capture_default_str();
    app->add_option("--to", to_, "what to write: binary, hex, delimited, json, text")
        ->check(CLI::IsMember({"binary", "hex", "delimited", "json", "text"}))
        ->capture_default_str();
    app->add_option("input", input_, "the file to read; - is stdin")->capture_default_str()->type_name("FILE");
    app->add_option("-o,--output", output_, "the file to write; - is stdout")->capture_default_str()->type_name("FILE");
    app->add_flag("--one-line", one_line_, "JSON and text on one line for each message");
    app->add_flag("--all-fields", all_fields_, "JSON: also fields that have no presence and hold their default");
    app->add_flag("--proto-names", proto_names_, "JSON: names as in the .proto, not in camelCase");
    app->add_flag("--ignore-unknown", ignore_unknown_, "JSON: skip fields that the message does not have");
    app->add_flag("--partial", partial_, "required fields may be missing");
  }

  int run() {
    if (std::string error = schema_.load(); !error.empty()) return fail("convert", error);
    if (std::string error = schema_.find_message(message_, &type_); !error.empty()) return fail("convert", error);
    std::string input, output;
    if (std::string error = read_file(input_, &input); !error.empty()) return fail("convert", error);
    if (from_ == "hex") {
      std::string bytes;
      if (!from_hex(input, &bytes)) return fail("convert", input_ + " is not pairs of hexadecimal digits");
      input = bytes;
    }
    if (std::string error = convert_all(input, &output); !error.empty()) return fail("convert", error);
    std::string error = write_file(output_, output);
    return error.empty() ? kDone : fail("convert", error);
  }

 private:
  std::string convert_all(std::string_view input, std::string* output) {
    if (from_ != "delimited") return convert(input, output);
    for (size_t at = 0, number = 1; at < input.size(); ++number) {
      workload::WireReader reader(input, at, input.size());
      uint64_t size = 0;
      std::string where = "message " + std::to_string(number) + " at byte " + std::to_string(at) + ": ";
      if (!reader.varint(&size) || size > input.size() - reader.position()) return where + "its length passes the end";
      std::string error = convert(input.substr(reader.position(), size), output);
      if (!error.empty()) return where + error;
      at = reader.position() + static_cast<size_t>(size);
    }
    return "";
  }

  std::string convert(std::string_view input, std::string* output) {
    Arena arena;
    auto* object = static_cast<Message*>(arena.allocate_zeroed(type_.entry().object_size));
    if (object == nullptr) return "out of memory";
    *object->drover_owner() = reinterpret_cast<OwnerWord>(&arena);
    if (std::string error = read(input, object, arena); !error.empty()) return error;
    if (!partial_ && !message::is_initialized(type_, *object)) {
      std::vector<std::string> paths;
      message::find_missing(type_, *object, &paths);
      std::string text = "required fields are missing (--partial takes it so):";
      for (const std::string& path : paths) text += " " + path;
      return text;
    }
    return write(object, output);
  }

  std::string read(std::string_view input, Message* object, Arena& arena) {
    if (from_ == "json") {
      json::ParseOptions options;
      options.ignore_unknown = ignore_unknown_;
      json::Result result = json::parse(type_, input, options, object);
      return result.ok() ? "" : json::to_string(result);
    }
    DecodeResult result = decode(type_, object, input, arena);
    return result.ok() ? "" : to_string(result);
  }

  std::string write(const Message* object, std::string* output) {
    if (to_ == "json") {
      json::PrintOptions options;
      options.indent = one_line_ ? 0 : 2;
      options.always_print_fields_without_presence = all_fields_;
      options.preserve_proto_field_names = proto_names_;
      json::Result result = json::print(type_, *object, options, output);
      if (!result.ok()) return json::to_string(result);
      *output += "\n";
      return "";
    }
    if (to_ == "text") {
      *output += message::debug_text(type_, *object, {.one_line = one_line_, .keep_utf8 = true});
      if (output->empty() || output->back() != '\n') *output += "\n";
      return "";
    }
    Encoded encoded;
    EncodeResult result = encode(type_, object, {}, &encoded);
    if (!result.ok()) return to_string(result);
    std::string bytes(encoded.size(), '\0');
    encoded.copy_to(bytes.data());
    if (to_ == "delimited") workload::append_varint(bytes.size(), output);
    *output += to_ == "hex" ? to_hex(bytes) + "\n" : bytes;
    return "";
  }

  SchemaSource schema_;
  std::string message_, from_ = "binary", to_ = "json", input_ = "-", output_ = "-";
  bool one_line_ = false, all_fields_ = false, proto_names_ = false, ignore_unknown_ = false, partial_ = false;
  schema::MessageType type_;
};

}  // namespace

void add_convert(CLI::App* app, Run* run) {
  auto command = std::make_shared<Command>();
  CLI::App* sub = app->add_subcommand("convert", "Convert messages between wire bytes, hex, JSON and text");
  command->add_options(sub);
  sub->callback([command, run] { *run = [command] { return command->run(); }; });
}

}  // namespace drover::cli
