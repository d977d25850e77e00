#include "compiler/lines_text.h"

#include <google/protobuf/descriptor.pb.h>

#include <cstdio>
#include <set>
#include <vector>

#include "compiler/fixed_text.h"

namespace drover::compiler {
namespace {

using google::protobuf::MethodDescriptor;
using google::protobuf::ServiceDescriptor;

const char* const kLines = "::drover::lines::";

// A method of this name would hide what a client has from ServiceClient.
const std::set<std::string>& client_names() {
  static const auto* names = new std::set<std::string>{
      "bind",          "begin_bind",     "bound",           "binding",    "flush",       "poll",
      "expire",        "idle",           "window",          "closed",     "counters",    "connection",
      "call_function", "begin_function", "finish_function", "call_batch", "outstanding", "begin_function_with"};
  return *names;
}

std::string hex(const std::string& text) {
  char out[32];
  std::snprintf(out, sizeof out, "0x%016llx", static_cast<unsigned long long>(layout_hash(text)));
  return out;
}

class FileLines {
 public:
  FileLines(const FileDescriptor* file, const schema::Schema& schema, const Options& options)
      : file_(file), options_(options), layouts_(&schema, options) {}

  LinesText text();

 private:
  void collect(const Descriptor* message);
  void order(const Descriptor* message);
  std::string check();
  std::string includes() const;
  std::string type_of(const Descriptor* message) {
    if (layouts_.find(message) != nullptr) return qualified_fixed(message, options_);
    uses_classes_ = true;
    return qualified(message, options_);
  }
  std::string service_text(const ServiceDescriptor* service);
  std::string client_calls(const MethodDescriptor* method, size_t place, const std::string& in, const std::string& out);

  const FileDescriptor* file_;
  const Options options_;
  FixedLayouts layouts_;
  std::vector<const Descriptor*> messages_;  // of the file, all
  std::vector<const Descriptor*> ordered_;   // of fixed shape, each behind those that it holds
  std::set<const Descriptor*> seen_;
  bool uses_classes_ = false;  // needs foo.pb.h
};

void FileLines::collect(const Descriptor* message) {
  messages_.push_back(message);
  for (int i = 0; i < message->nested_type_count(); ++i) collect(message->nested_type(i));
}

void FileLines::order(const Descriptor* message) {
  if (message->file() != file_ || layouts_.find(message) == nullptr || !seen_.insert(message).second) return;
  for (int i = 0; i < message->field_count(); ++i) {
    if (message->field(i)->message_type() != nullptr) order(message->field(i)->message_type());
    if (message->field(i)->enum_type() != nullptr) uses_classes_ = true;
  }
  ordered_.push_back(message);
}

// Options that cannot be, and names that two classes would have.
std::string FileLines::check() {
  std::set<std::string> taken;
  for (const Descriptor* message : messages_) taken.insert(class_name(message));
  for (int i = 0; i < file_->enum_type_count(); ++i) taken.insert(enum_type_name(file_->enum_type(i)));
  for (int i = 0; i < file_->service_count(); ++i) taken.insert(resolve_keyword(file_->service(i)->name()));
  auto clash = [&](const std::string& name) {
    return taken.insert(name).second ? "" : name + ": a class of this name is made for RPC lines";
  };
  for (const Descriptor* message : messages_) {
    std::string error = layouts_.check(message);
    if (error.empty() && layouts_.find(message) != nullptr) error = clash(fixed_class_name(message));
    if (!error.empty()) return error;
  }
  for (int i = 0; i < file_->service_count(); ++i) {
    if (!is_lines_service(file_->service(i), options_)) continue;
    std::string error = clash(file_->service(i)->name() + "Lines");
    if (!error.empty()) return error;
  }
  return {};
}

std::string FileLines::includes() const {
  std::string out =
      "#include <cstddef>\n#include <cstdint>\n#include <cstring>\n#include <span>\n#include <string_view>\n"
      "#include <utility>\n\n#include \"host/lines/service_client.h\"\n";
  if (uses_classes_) out += "#include \"" + options_.include_prefix + file_stem(file_) + ".pb.h\"\n";
  for (int i = 0; i < file_->dependency_count(); ++i) {
    const FileDescriptor* import = file_->dependency(i);
    if (import->name() == kOptionsFile || !has_lines(import, options_)) continue;
    out += "#include \"" + options_.include_prefix + file_stem(import) + ".lines.pb.h\"\n";
  }
  return out + "\n";
}

std::string FileLines::client_calls(const MethodDescriptor* method, size_t place, const std::string& in,
                                    const std::string& out) {
  const std::string l = kLines, at = std::to_string(place);
  const std::string name =
      client_names().count(method->name()) != 0 ? method->name() + "_" : resolve_keyword(method->name());
  return "    " + l + "Status " + name + "(const " + in + "& request, " + out +
         "* response, int64_t timeout_ns = 0) {\n      return this->call_function(" + at +
         ", request, response, timeout_ns);\n    }\n    " + l + "BeginResult Begin" + method->name() + "(const " + in +
         "& request, uint64_t tag, int64_t timeout_ns = 0) {\n      return this->begin_function(" + at +
         ", request, tag, timeout_ns);\n    }\n    static " + l + "Status Finish" + method->name() + "(const " + l +
         "CompletedCall& done, " + out +
         "* response) {\n      return Client::finish_function(done.status(), "
         "done.response(), response);\n    }\n    static " +
         l + "Status Finish" + method->name() + "(const " + l + "Completion& done, " + out +
         "* response) {\n      return Client::finish_function(done.status, done.response, response);\n    }\n"
         "    // callback(const Status&, const " +
         out + "&)\n    template <typename Callback>\n    " + l + "BeginResult Async" + method->name() + "(const " +
         in +
         "& request, Callback&& callback, int64_t timeout_ns = 0) {\n      return this->template begin_function_with<" +
         out + ">(" + at + ", request, std::forward<Callback>(callback), timeout_ns);\n    }\n    size_t " +
         method->name() + "Batch(std::span<const " + in + "> requests, std::span<" + out +
         "> responses,\n        std::span<" + l +
         "Status> statuses, int64_t timeout_ns = 0) {\n      return this->call_batch(" + at +
         ", requests, responses, statuses, timeout_ns);\n    }\n";
}

std::string FileLines::service_text(const ServiceDescriptor* service) {
  const std::string l = kLines, name = service->name() + "Lines";
  std::string functions, handlers, adding, calls;
  size_t place = 0;
  for (int i = 0; i < service->method_count(); ++i) {
    const MethodDescriptor* method = service->method(i);
    if (method->client_streaming() || method->server_streaming()) {
      handlers += "    // " + method->name() + " streams, which RPC lines do not carry.\n";
      continue;
    }
    const std::string in = type_of(method->input_type()), out = type_of(method->output_type());
    const std::string path = service->full_name() + "/" + method->name();
    const std::string layouts =
        layouts_.text_of(method->input_type()) + " -> " + layouts_.text_of(method->output_type());
    functions += "      {" + hex(path) + ", " + hex(layouts) + "},  // " + path + "\n";
    handlers += "    virtual uint16_t " + resolve_keyword(method->name()) + "(const " + in + "& /*request*/, " + out +
                "* /*response*/) {\n      return " + l + "kStatusUnimplemented;\n    }\n";
    adding += "      good &= server->add(kFunctions[" + std::to_string(place) + "], [this](const " + l +
              "Request& request, " + l + "Response& response) {\n        return " + l + "serve_message<" + in + ", " +
              out + ">(request, response, [this](const " + in + "& in, " + out + "* out) { return this->" +
              resolve_keyword(method->name()) + "(in, out); });\n      });\n";
    calls += client_calls(method, place++, in, out);
  }
  return "// The service " + service->full_name() + " as RPC lines.\nclass " + name + " final {\n public:\n" +
         "  static constexpr const char* service_full_name() { return " + literal(service->full_name()) + "; }\n\n" +
         "  // Of each function: the hashes of its name and of its messages' layouts.\n"
         "  static constexpr std::span<const " +
         l + "FunctionId> functions() { return {kFunctions, " + std::to_string(place) +
         "}; }\n\n"
         "  // Derive from it. A function returns the call's status, and may run on several threads at once.\n"
         "  class Service {\n   public:\n    Service() = default;\n    virtual ~Service() = default;\n" +
         "    Service(const Service&) = delete;\n    Service& operator=(const Service&) = delete;\n" + handlers +
         "    // Before the server serves, which this outlives. False: it has a function of such a name.\n"
         "    bool add_to(" +
         l + "RpcThreadedServer* server) {\n      bool good = true;\n" + adding +
         "      return good;\n    }\n  };\n\n" + "  template <" + l + "Port P>\n  class Client : public " + l +
         "ServiceClient<P> {\n   public:\n" + "    Client(P* port, uint16_t connection, const " + l +
         "RpcClientOptions& options = {})\n        : " + l +
         "ServiceClient<P>(port, connection, options, functions()) {}\n" + calls +
         "  };\n  // A client for each thread.\n  template <" + l + "Port P>\n  using ClientPool = " + l +
         "BasicRpcClientPool<P, Client<P>>;\n\n private:\n  static constexpr " + l + "FunctionId kFunctions[] = {\n" +
         functions + (place == 0 ? "      {0, 0}\n" : "") + "  };\n};\n\n";
}

LinesText FileLines::text() {
  for (int i = 0; i < file_->message_type_count(); ++i) collect(file_->message_type(i));
  std::string error = check();
  if (!error.empty()) return {{}, error};
  for (const Descriptor* message : messages_) order(message);
  std::string body;
  for (const Descriptor* message : ordered_) body += fixed_class(message, *layouts_.find(message), options_);
  for (int i = 0; i < file_->service_count(); ++i) {
    if (is_lines_service(file_->service(i), options_)) body += service_text(file_->service(i));
  }
  if (body.empty()) return {};
  std::string space = namespace_of(file_, options_);
  std::string open = space.empty() ? "" : "namespace " + space + " {\n\n";
  std::string close = space.empty() ? "" : "}  // namespace " + space + "\n";
  return {includes() + open + body + close, {}};
}

}  // namespace

LinesText lines_text(const FileDescriptor* file, const schema::Schema& schema, const Options& options) {
  if (!has_lines(file, options)) return {};
  return FileLines(file, schema, options).text();
}

}  // namespace drover::compiler
