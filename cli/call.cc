// `drover call`: any method of a gRPC server, with JSON in and out, and what the server has: list, describe.
#include <algorithm>
#include <cstdio>
#include <thread>

#include "cli/call_schema.h"
#include "cli/command.h"
#include "cli/document_source.h"
#include "cli/file_io.h"
#include "cli/grpc_call.h"
#include "cli/json_messages.h"
#include "cli/printable.h"

namespace drover::cli {
namespace {

constexpr double kUnarySeconds = 10;

class Command {
 public:
  void add_options(CLI::App* app) {
    app->add_option("target", channel_.target, "host:port, unix:PATH or another gRPC name")->required();
    app->add_option("what", what_, "a method, package.Service/Method; or list, or describe")->required();
    app->add_option("name", name_, "list: of this service the methods; describe: this symbol")->type_name("NAME");
    app->add_option("-d,--data", data_,
                    "the request as JSON, several for a method whose requests stream; @FILE reads them from a file, @- "
                    "from stdin as they come; without it {}, or no request if requests stream")
        ->type_name("JSON");
    schema_.add_options(app);
    app->add_option("-H,--header", headers_,
                    "metadata to send, \"name: value\" (repeatable); of a name-bin the value is base64")
        ->type_name("HEADER")
        ->allow_extra_args(false);
    app->add_option("--deadline", seconds_,
                    "seconds until the call is given up; without it 10 for a unary method, and none for a stream")
        ->check(CLI::Range(0.001, 86400.0));
    app->add_flag("--tls", channel_.tls, "use TLS, with the system's certificates if --cacert names no others");
    app->add_option("--cacert,--ca", ca_file_, "certificates to trust, PEM (implies --tls)")->type_name("FILE");
    auto* certificate = app->add_option("--cert", certificate_file_, "our certificate chain, PEM (implies --tls)");
    auto* key = app->add_option("--key", key_file_, "its private key, PEM");
    certificate->type_name("FILE")->needs(key);
    key->type_name("FILE")->needs(certificate);
    app->add_flag("--insecure", insecure_, "do not check the server's certificate (implies --tls)");
    app->add_option("--authority,--servername", channel_.authority,
                    "the :authority, and the name that the server's certificate must have, instead of the target's")
        ->type_name("NAME");
    app->add_flag("--all-fields", all_fields_, "also print fields that have no presence and hold their default");
    app->add_flag("--one-line", one_line_, "print each reply on one line");
    app->add_flag("-v,--verbose", verbose_, "print the metadata that comes back, on stderr");
  }

  int run() {
    if (std::string error = prepare_channel(); !error.empty()) return fail("call", error);
    ByteChannel channel(channel_);
    CallOptions reflection = call_;
    reflection.deadline_ms = milliseconds(seconds_ != 0 ? seconds_ : kUnarySeconds);
    CallSchema schema(schema_, channel, reflection);
    if (what_ == "list" || what_ == "describe") {
      std::string text;
      Failure failure = what_ == "list" ? schema.list(name_, &text) : schema.describe(name_, &text);
      if (!failure) failure = {write_file("-", text), kFailed};
      return failure ? fail("call", with_hint(failure.text), failure.code) : kDone;
    }
    if (!name_.empty()) return fail("call", name_ + ": a method needs no name behind it", kUsage);
    const google::protobuf::MethodDescriptor* method = nullptr;
    if (Failure failure = schema.find_method(what_, &method)) {
      return fail("call", with_hint(failure.text), failure.code);
    }
    return call(channel, *method);
  }

 private:
  static int64_t milliseconds(double seconds) { return static_cast<int64_t>(seconds * 1000); }

  std::string prepare_channel() {
    if (std::string error = read_headers(); !error.empty()) return error;
    channel_.verify = !insecure_;
    channel_.tls |= insecure_ || !ca_file_.empty() || !certificate_file_.empty();
    const std::pair<const std::string*, std::string*> files[] = {{&ca_file_, &channel_.ca_certificates},
                                                                 {&certificate_file_, &channel_.certificate},
                                                                 {&key_file_, &channel_.private_key}};
    for (const auto& [path, text] : files) {
      if (path->empty()) continue;
      if (std::string error = read_file(*path, text); !error.empty()) return error;
      if (text->find("-----BEGIN ") == std::string::npos) return *path + ": expected PEM, with a line -----BEGIN ...";
    }
    return "";
  }

  std::string read_headers() {
    for (const std::string& header : headers_) {
      const size_t colon = header.find(':');
      if (colon == 0 || colon == std::string::npos) return "-H \"" + header + "\" is not \"name: value\"";
      const size_t begin = header.find_first_not_of(' ', colon + 1);
      std::string name = header.substr(0, colon), value = begin == std::string::npos ? "" : header.substr(begin);
      for (char& c : name) {
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c | 32);  // as HTTP/2 wants it
        const bool fits = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
        if (!fits) return "-H \"" + header + "\": a name has letters, digits, '-', '_' and '.'";
      }
      if (name.starts_with("grpc-")) return "-H \"" + header + "\": names that begin with grpc- are gRPC's own";
      if (name.ends_with("-bin")) {
        std::string bytes;
        if (!from_base64(value, &bytes)) return "-H \"" + header + "\": the value of a name-bin is base64";
        value = bytes;
      } else if (std::any_of(value.begin(), value.end(), [](char c) { return c < 0x20 || c > 0x7e; })) {
        return "-H \"" + header + "\": a value is printable ASCII; for other bytes use a name that ends in -bin";
      }
      call_.metadata.emplace_back(name, value);
    }
    return "";
  }

  int call(ByteChannel& channel, const google::protobuf::MethodDescriptor& method) {
    std::string error = schema_.find_message(method.input_type()->full_name(), &input_);
    if (error.empty()) error = schema_.find_message(method.output_type()->full_name(), &output_);
    if (error.empty()) error = documents_.open(data_);
    if (!error.empty()) return fail("call", error);
    std::string request;
    if (!method.client_streaming()) {
      if (error = only_request(&request); !error.empty()) return fail("call", error);
    }
    const bool streams = method.client_streaming() || method.server_streaming();
    call_.deadline_ms = milliseconds(seconds_ != 0 ? seconds_ : streams ? 0 : kUnarySeconds);
    const std::string path = "/" + method.service()->full_name() + "/" + method.name();
    const std::unique_ptr<ByteStream> stream = channel.open(path, call_);
    std::thread writer;
    if (method.client_streaming()) {
      writer = std::thread([this, &stream] { write_requests(*stream); });
    } else {
      stream->write(request);
      stream->writes_done();
    }
    const std::string wrong_reply = print_replies(*stream, method.server_streaming());
    const CallStatus status = stream->finish();
    documents_.stop();
    if (writer.joinable()) writer.join();
    if (verbose_) print_metadata("trailing", stream->trailing_metadata());
    if (!request_error_.empty()) return fail("call", request_error_);
    if (!wrong_reply.empty()) return fail("call", wrong_reply);
    if (extra_reply_) {
      return fail("call", "the server sends several replies to a method that has one; the first is printed",
                  kCallFailed);
    }
    if (!status.ok()) return fail("call", with_hint(status.text()), kCallFailed);
    if (!method.server_streaming() && replies_ == 0) {
      return fail("call", "the server ended the call with OK and no reply; expected one", kCallFailed);
    }
    return kDone;
  }

  std::string only_request(std::string* wire) {
    std::string document, more, error;
    if (!documents_.next(&document, &error)) document = "{}";
    if (error.empty() && documents_.next(&more, &error)) {
      error = "the method takes one request, and there is another one behind it: " + more.substr(0, 40);
    }
    return error.empty() ? json_to_wire(input_, "the request", document, wire) : error;
  }

  // On a thread of its own.
  void write_requests(ByteStream& stream) {
    std::string document, wire;
    while (documents_.next(&document, &request_error_)) {
      request_error_ = json_to_wire(input_, "a request", document, &wire);
      if (!request_error_.empty()) break;
      if (!stream.write(wire)) return;
    }
    if (!request_error_.empty()) return stream.cancel();
    stream.writes_done();
  }

  // Until the last, or a second one where there is to be one. Returns what is wrong with one. In both cases the call is
  // then cancelled.
  std::string print_replies(ByteStream& stream, bool several) {
    std::string wire;
    bool first = true;
    json::PrintOptions options;
    options.indent = one_line_ ? 0 : 2;
    options.always_print_fields_without_presence = all_fields_;
    while (true) {
      const bool more = stream.read(&wire);
      if (first && verbose_) print_metadata("initial", stream.initial_metadata());
      first = false;
      if (!more) return "";
      std::string text, error;
      extra_reply_ = !several && replies_++ != 0;
      if (!extra_reply_) {
        error = wire_to_json(output_, "the reply", wire, options, &text);
        if (error.empty()) error = write_file("-", text + "\n");
        if (error.empty()) continue;
      }
      stream.cancel();
      while (stream.read(&wire)) continue;
      return error;
    }
  }

  static void print_metadata(const char* which, const Metadata& metadata) {
    for (const auto& [key, value] : metadata) {
      const bool binary = key.ends_with("-bin");
      const std::string text = binary ? to_base64(value) : printable_line(value);
      std::fprintf(stderr, "%s %s: %s\n", which, printable_line(key).c_str(), text.c_str());
    }
  }

  // What to try, where the server's words tell it.
  std::string with_hint(const std::string& text) const {
    if (text.find("UNAVAILABLE") == std::string::npos) return text;
    auto says = [&text](const char* words) { return text.find(words) != std::string::npos; };
    if (!channel_.tls && (says("Socket closed") || says("closed") || says("reset"))) {
      return text + " (if the server speaks TLS, add --tls)";
    }
    if (channel_.tls && (says("handshake") || says("verif") || says("certificate") || says("WRONG_VERSION"))) {
      return text + " (TLS: --cacert names whom to trust, --authority the name in the certificate; does the server " +
             "speak TLS at all?)";
    }
    return text;
  }

  SchemaSource schema_;
  ChannelOptions channel_;
  CallOptions call_;
  DocumentSource documents_;
  std::string what_, name_, data_, ca_file_, certificate_file_, key_file_;
  std::string request_error_;  // of the writer, once it is joined
  std::vector<std::string> headers_;
  double seconds_ = 0;  // 0: not given
  uint64_t replies_ = 0;
  bool extra_reply_ = false;
  bool insecure_ = false, all_fields_ = false, one_line_ = false, verbose_ = false;
  schema::MessageType input_, output_;
};

}  // namespace

void add_call(CLI::App* app, Run* run) {
  auto command = std::make_shared<Command>();
  CLI::App* sub = app->add_subcommand(
      "call", "Call a method of a gRPC server, with JSON in and out; list its services, describe its messages");
  command->add_options(sub);
  sub->callback([command, run] { *run = [command] { return command->run(); }; });
}

}  // namespace drover::cli
