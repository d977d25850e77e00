// `drover call`: a unary method of a gRPC server, with JSON in and out.
#include <cstdio>

#include "cli/command.h"
#include "cli/file_io.h"
#include "cli/grpc_call.h"
#include "cli/schema_source.h"
#include "codec/decode/decode.h"
#include "codec/encode/encode.h"
#include "json/json.h"

namespace drover::cli {
namespace {

class Command {
 public:
  void add_options(CLI::App* app) {
    app->add_option("target", call_.target, "host:port, unix:PATH or another gRPC name")->required();
    app->add_option("method", method_, "package.Service/Method")->required();
    app->add_option("-d,--data", data_, "the request as JSON; @FILE reads it from a file, @- from stdin; {} without it")
        ->type_name("JSON");
    schema_.add_options(app);
    app->add_option("-H,--header", headers_, "metadata to send, \"name: value\" (repeatable)")
        ->type_name("HEADER")
        ->allow_extra_args(false);
    app->add_option("--deadline", seconds_, "seconds until the call is given up")
        ->check(CLI::Range(0.001, 86400.0))
        ->capture_default_str();
    app->add_flag("--tls", call_.tls, "use TLS, with the system's certificates if --ca names no others");
    app->add_option("--ca", ca_file_, "certificates to trust, PEM (implies --tls)")->type_name("FILE");
    app->add_option("--authority", call_.authority, "the :authority (and TLS name) instead of the target's")
        ->type_name("NAME");
    app->add_flag("--all-fields", all_fields_, "also print fields that have no presence and hold their default");
    app->add_flag("--one-line", one_line_, "print the reply on one line");
    app->add_flag("-v,--verbose", verbose_, "print the metadata that comes back, on stderr");
  }

  int run() {
    std::string request;
    if (std::string error = prepare(&request); !error.empty()) return fail("call", error);
    UnaryReply reply = call_unary(call_, request);
    if (verbose_) {
      print_metadata("initial", reply.initial_metadata);
      print_metadata("trailing", reply.trailing_metadata);
    }
    if (reply.status != 0) {
      std::string text = reply.status_name + " (" + std::to_string(reply.status) + ")";
      if (!reply.message.empty()) text += ": " + reply.message;
      if (!reply.details_size.empty()) text += " [" + reply.details_size + " of error details]";
      return fail("call", text, kCallFailed);
    }
    std::string text;
    if (std::string error = print(reply.response, &text); !error.empty()) return fail("call", error);
    std::string error = write_file("-", text + "\n");
    return error.empty() ? kDone : fail("call", error);
  }

 private:
  std::string prepare(std::string* request) {
    if (std::string error = schema_.load(); !error.empty()) return error;
    const google::protobuf::MethodDescriptor* method = nullptr;
    if (std::string error = schema_.find_method(method_, &method); !error.empty()) return error;
    if (method->client_streaming() || method->server_streaming()) {
      return method->full_name() + " is a streaming method; only unary ones can be called";
    }
    call_.method = "/" + method->service()->full_name() + "/" + method->name();
    call_.deadline_ms = static_cast<int64_t>(seconds_ * 1000);
    if (std::string error = schema_.find_message(method->input_type()->full_name(), &input_); !error.empty())
      return error;
    if (std::string error = schema_.find_message(method->output_type()->full_name(), &output_); !error.empty()) {
      return error;
    }
    if (std::string error = read_headers(); !error.empty()) return error;
    if (!ca_file_.empty()) {
      call_.tls = true;
      if (std::string error = read_file(ca_file_, &call_.ca_certificates); !error.empty()) return error;
    }
    return read_request(request);
  }

  std::string read_headers() {
    for (const std::string& header : headers_) {
      size_t colon = header.find(':');
      if (colon == 0 || colon == std::string::npos) return "-H \"" + header + "\" is not \"name: value\"";
      size_t value = header.find_first_not_of(' ', colon + 1);
      std::string name = header.substr(0, colon);
      for (char& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c | 32) : c;  // as HTTP/2 wants it
      call_.metadata.emplace_back(name, value == std::string::npos ? "" : header.substr(value));
    }
    return "";
  }

  std::string read_request(std::string* request) {
    std::string text = data_;
    if (text.starts_with("@")) {
      if (std::string error = read_file(data_.substr(1), &text); !error.empty()) return error;
    }
    Arena arena;
    Message* object = make(input_, arena);
    json::Result parsed = json::parse(input_, text, {}, object);
    if (!parsed.ok()) return "the request, a " + std::string(input_.full_name()) + ": " + json::to_string(parsed);
    Encoded encoded;
    EncodeOptions options;
    options.check_required = true;
    EncodeResult result = encode(input_, object, options, &encoded);
    if (!result.ok()) return "the request: " + to_string(result);
    request->resize(encoded.size());
    encoded.copy_to(request->data());
    return "";
  }

  std::string print(std::string_view wire, std::string* text) {
    Arena arena;
    Message* object = make(output_, arena);
    DecodeResult decoded = decode(output_, object, wire, arena);
    if (!decoded.ok()) {
      return "the reply is no " + std::string(output_.full_name()) +
             " (another schema at the server?): " + to_string(decoded);
    }
    json::PrintOptions options;
    options.indent = one_line_ ? 0 : 2;
    options.always_print_fields_without_presence = all_fields_;
    json::Result printed = json::print(output_, *object, options, text);
    return printed.ok() ? "" : "the reply: " + json::to_string(printed);
  }

  static Message* make(const schema::MessageType& type, Arena& arena) {
    auto* object = static_cast<Message*>(arena.allocate_zeroed(type.entry().object_size));
    *object->drover_owner() = reinterpret_cast<OwnerWord>(&arena);
    return object;
  }

  static void print_metadata(const char* which, const std::vector<std::pair<std::string, std::string>>& metadata) {
    for (const auto& [key, value] : metadata) {
      bool binary = key.ends_with("-bin");
      std::fprintf(stderr, "%s %s: %s\n", which, key.c_str(), binary ? to_hex(value).c_str() : value.c_str());
    }
  }

  SchemaSource schema_;
  UnaryCall call_;
  std::string method_, data_ = "{}", ca_file_;
  std::vector<std::string> headers_;
  double seconds_ = 10;
  bool all_fields_ = false, one_line_ = false, verbose_ = false;
  schema::MessageType input_, output_;
};

}  // namespace

void add_call(CLI::App* app, Run* run) {
  auto command = std::make_shared<Command>();
  CLI::App* sub = app->add_subcommand("call", "Call a unary method of a gRPC server, with JSON in and out");
  command->add_options(sub);
  sub->callback([command, run] { *run = [command] { return command->run(); }; });
}

}  // namespace drover::cli
