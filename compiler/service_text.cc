// host/include/grpcpp/impl/drover_service.h describes the calls into the host library: AddMethod once per method in the
// order of the .proto, MarkMethodCallback with a method's place in that order.
#include "compiler/service_text.h"

namespace drover::compiler {
namespace {

bool is_unary(const MethodDescriptor* method) { return !method->client_streaming() && !method->server_streaming(); }

struct MethodNames {
  std::string name, request, response, path, types;
  std::string parameters(const std::string& context) const {
    return "(::grpc::" + context + "* context, const " + request + "* request, " + response + "* response)";
  }
  std::string unnamed(const std::string& context) const {
    return "(::grpc::" + context + "* /*context*/, const " + request + "* /*request*/, " + response + "* /*response*/)";
  }
};

MethodNames names_of(const MethodDescriptor* method, const Options& options) {
  MethodNames n;
  n.name = method->name();
  n.request = qualified(method->input_type(), options);
  n.response = qualified(method->output_type(), options);
  n.path = "/" + method->service()->full_name() + "/" + method->name();
  n.types = n.request + ", " + n.response;
  return n;
}

std::string callback_class(const MethodDescriptor* method, const Options& options) {
  MethodNames n = names_of(method, options);
  std::string name = "WithCallbackMethod_" + n.name;
  return "  template <class BaseClass>\n  class " + name + " : public BaseClass {\n   public:\n    " + name +
         "() {\n      this->MarkMethodCallback(" + std::to_string(method->index()) +
         ", ::grpc::internal::MakeUnaryCallbackMethod<" + name + ", " + n.types + ">(\n          " + literal(n.path) +
         ", &" + name + "::" + n.name + ", this));\n    }\n    ~" + name + "() override = default;\n" +
         "    // The synchronous version is out of use in this class.\n    ::grpc::Status " + n.name +
         n.unnamed("ServerContext") +
         " override {\n      return ::grpc::Status(::grpc::StatusCode::UNIMPLEMENTED, \"\");\n" +
         "    }\n    virtual ::grpc::ServerUnaryReactor* " + n.name + n.unnamed("CallbackServerContext") +
         " {\n      return nullptr;\n    }\n  };\n";
}

}  // namespace

std::vector<const MethodDescriptor*> streaming_methods(const ServiceDescriptor* service) {
  std::vector<const MethodDescriptor*> methods;
  for (int i = 0; i < service->method_count(); ++i) {
    if (!is_unary(service->method(i))) methods.push_back(service->method(i));
  }
  return methods;
}

std::string service_header(const ServiceDescriptor* service, const Options& options) {
  std::string name = resolve_keyword(service->name());
  std::string out = "class " + name + " final {\n public:\n" +
                    "  static constexpr char const* service_full_name() { return " + literal(service->full_name()) +
                    "; }\n\n  class Service : public ::grpc::Service {\n   public:\n    Service();\n" +
                    "    ~Service() override;\n";
  std::string callbacks, callback_service, closing;
  for (int i = 0; i < service->method_count(); ++i) {
    const MethodDescriptor* method = service->method(i);
    if (!is_unary(method)) {
      out += "    // " + method->name() + " streams, which Drover does not serve yet: callers get UNIMPLEMENTED.\n";
      continue;
    }
    MethodNames n = names_of(method, options);
    out += "    virtual ::grpc::Status " + n.name + n.parameters("ServerContext") + ";\n";
    callbacks += callback_class(method, options);
    callback_service += "WithCallbackMethod_" + n.name + "<";
    closing += ">";
  }
  return out + "  };\n" + callbacks + "  typedef " + callback_service + "Service" + closing +
         " CallbackService;\n};\n\n";
}

std::string service_source(const ServiceDescriptor* service, const Options& options) {
  std::string scope = resolve_keyword(service->name()) + "::Service::";
  std::string out = scope + "Service() {\n";
  std::string bodies;
  for (int i = 0; i < service->method_count(); ++i) {
    const MethodDescriptor* method = service->method(i);
    MethodNames n = names_of(method, options);
    if (!is_unary(method)) {
      out += "  AddMethod(::grpc::internal::MakeAbsentMethod(" + literal(n.path) + "));\n";
      continue;
    }
    out += "  AddMethod(::grpc::internal::MakeUnaryMethod<Service, " + n.types + ">(\n      " + literal(n.path) +
           ", &Service::" + n.name + ", this));\n";
    bodies += "::grpc::Status " + scope + n.name + n.unnamed("ServerContext") +
              " {\n  return ::grpc::Status(::grpc::StatusCode::UNIMPLEMENTED, \"\");\n}\n";
  }
  return out + "}\n" + scope + "~Service() = default;\n" + bodies + "\n";
}

}  // namespace drover::compiler
