// host/include/grpcpp/impl/drover_service.h describes the calls into the host library: AddMethod once per method in the
// order of the .proto; SetDescriptors with the bytes of a FileDescriptorSet; MarkMethod... and RequestAsync... with a
// method's place in that order.
#include "compiler/service_text.h"

namespace drover::compiler {
namespace {

// A method in the words of gRPC's API.
struct MethodText {
  std::string name, path, types;  // types: "Request, Response"
  std::string kind;               // Unary, ClientStreaming, ServerStreaming, Bidi: part of MakeUnaryMethod and the like
  // What a handler gets besides its context; each begins with ", ". Without the parameters' names in the second form.
  std::string sync, sync_unnamed, callback_unnamed;
  std::string reactor;
  // RequestX: what the application's objects are, and their names; each ends with ", ".
  std::string async, async_names;
};

std::string in_comment(const std::string& name, bool hidden) { return hidden ? "/*" + name + "*/" : name; }

std::string sync_parameters(const MethodDescriptor* method, const std::string& request, const std::string& response,
                            bool hidden) {
  if (method->client_streaming() && method->server_streaming()) {
    return ", ::grpc::ServerReaderWriter<" + response + ", " + request + ">* " + in_comment("stream", hidden);
  }
  std::string first = method->client_streaming()
                          ? ", ::grpc::ServerReader<" + request + ">* " + in_comment("reader", hidden)
                          : ", const " + request + "* " + in_comment("request", hidden);
  return first + (method->server_streaming()
                      ? ", ::grpc::ServerWriter<" + response + ">* " + in_comment("writer", hidden)
                      : ", " + response + "* " + in_comment("response", hidden));
}

// `raw`: with bytes for both messages.
MethodText text_of(const MethodDescriptor* method, const Options& options, bool raw = false) {
  const std::string bytes = "::grpc::ByteBuffer";
  std::string request = raw ? bytes : qualified(method->input_type(), options);
  std::string response = raw ? bytes : qualified(method->output_type(), options);
  bool in = method->client_streaming(), out = method->server_streaming();
  MethodText text;
  text.name = method->name();
  text.path = "/" + method->service()->full_name() + "/" + method->name();
  text.types = request + ", " + response;
  text.kind = in && out ? "Bidi" : in ? "ClientStreaming" : out ? "ServerStreaming" : "Unary";
  text.sync = sync_parameters(method, request, response, false);
  text.sync_unnamed = sync_parameters(method, request, response, true);
  if (!in) text.callback_unnamed += ", const " + request + "* /*request*/";
  if (!out) text.callback_unnamed += ", " + response + "* /*response*/";
  text.reactor = in && out ? "ServerBidiReactor<" + text.types + ">"
                 : in      ? "ServerReadReactor<" + request + ">"
                 : out     ? "ServerWriteReactor<" + response + ">"
                           : "ServerUnaryReactor";
  std::string both = response + ", " + request;
  text.async = in && out ? "::grpc::ServerAsyncReaderWriter<" + both + ">* stream, "
               : in      ? "::grpc::ServerAsyncReader<" + both + ">* reader, "
               : out     ? request + "* request, ::grpc::ServerAsyncWriter<" + response + ">* writer, "
                         : request + "* request, ::grpc::ServerAsyncResponseWriter<" + response + ">* response, ";
  text.async_names = in && out ? "stream, " : in ? "reader, " : out ? "request, writer, " : "request, response, ";
  return text;
}

// The synchronous version, which derived classes replace by another one.
std::string sync_out_of_use(const MethodText& text) {
  return "    // The synchronous version is out of use in this class.\n    ::grpc::Status " + text.name +
         "(::grpc::ServerContext* /*context*/" + text.sync_unnamed +
         ") override {\n      return ::grpc::Status(::grpc::StatusCode::UNIMPLEMENTED, \"\");\n    }\n";
}

// The beginning of a class that changes how the method is served, up to the end of its constructor.
std::string class_head(const std::string& name, const std::string& constructor) {
  return "  template <class BaseClass>\n  class " + name + " : public BaseClass {\n   public:\n    " + name + "() {" +
         constructor + "}\n    ~" + name + "() override = default;\n";
}

std::string async_class(const MethodDescriptor* method, const Options& options, bool raw = false) {
  MethodText text = text_of(method, options, raw);
  std::string name = (raw ? "WithRawMethod_" : "WithAsyncMethod_") + text.name, index = std::to_string(method->index());
  return class_head(name, std::string(raw ? " this->MarkMethodRaw(" : " this->MarkMethodAsync(") + index + "); ") +
         sync_out_of_use(text_of(method, options)) + "    void Request" + text.name +
         "(::grpc::ServerContext* context, " + text.async +
         "::grpc::CompletionQueue* new_call_cq,\n        ::grpc::ServerCompletionQueue* notification_cq, void* tag) " +
         "{\n      this->RequestAsync" + text.kind + (text.kind == "Bidi" ? "Streaming" : "") + "(" + index +
         ", context, " + text.async_names + "new_call_cq, notification_cq, tag);\n    }\n  };\n";
}

std::string callback_class(const MethodDescriptor* method, const Options& options, bool raw = false) {
  MethodText text = text_of(method, options, raw);
  std::string name = (raw ? "WithRawCallbackMethod_" : "WithCallbackMethod_") + text.name;
  return class_head(name, "\n      this->MarkMethodCallback(" + std::to_string(method->index()) +
                              ", ::grpc::internal::Make" + text.kind + "CallbackMethod<" + name + ", " + text.types +
                              ">(\n          " + literal(text.path) + ", &" + name + "::" + text.name +
                              ", this));\n    ") +
         sync_out_of_use(text_of(method, options)) + "    virtual ::grpc::" + text.reactor + "* " + text.name +
         "(::grpc::CallbackServerContext* /*context*/" + text.callback_unnamed +
         ") {\n      return nullptr;\n    }\n  };\n";
}

std::string generic_class(const MethodDescriptor* method, const Options& options) {
  MethodText text = text_of(method, options);
  return class_head("WithGenericMethod_" + text.name,
                    " this->MarkMethodGeneric(" + std::to_string(method->index()) + "); ") +
         sync_out_of_use(text) + "  };\n";
}

// The prefix of the class that serves the method synchronously, but with its messages as streams; empty: there is no
// such class.
std::string streamed_prefix(const MethodDescriptor* method) {
  if (method->client_streaming()) return "";
  return method->server_streaming() ? "WithSplitStreamingMethod_" : "WithStreamedUnaryMethod_";
}

std::string streamed_class(const MethodDescriptor* method, const Options& options) {
  MethodText text = text_of(method, options);
  std::string name = streamed_prefix(method) + text.name;
  bool split = method->server_streaming();
  std::string handler = "Streamed" + text.name;
  return class_head(name, "\n      this->MarkMethodStreamed(" + std::to_string(method->index()) +
                              ", ::grpc::internal::Make" + (split ? "SplitStreaming" : "StreamedUnary") + "Method<" +
                              name + ", " + text.types + ">(\n          " + literal(text.path) + ", &" + name +
                              "::" + handler + ", this));\n    ") +
         sync_out_of_use(text) + "    virtual ::grpc::Status " + handler +
         "(::grpc::ServerContext* context, ::grpc::" + (split ? "ServerSplitStreamer<" : "ServerUnaryStreamer<") +
         text.types + ">* " + (split ? "server_split_streamer" : "server_unary_streamer") + ") = 0;\n  };\n";
}

// "typedef A<B<Service>> Name;" of the classes with that prefix, of all methods for which `of` says so.
template <class Of>
std::string all_of_service(const ServiceDescriptor* service, const std::string& name, Of of) {
  std::string out = "  typedef ", closing;
  for (int i = 0; i < service->method_count(); ++i) {
    std::string prefix = of(service->method(i));
    if (prefix.empty()) continue;
    out += prefix + service->method(i)->name() + "<";
    closing += ">";
  }
  return out + "Service" + closing + " " + name + ";\n";
}

}  // namespace

std::string service_header(const ServiceDescriptor* service, const Options& options) {
  std::string name = resolve_keyword(service->name());
  std::string out = "class " + name + " final {\n public:\n" +
                    "  static constexpr char const* service_full_name() { return " + literal(service->full_name()) +
                    "; }\n\n  class Service : public ::grpc::Service {\n   public:\n    Service();\n" +
                    "    ~Service() override;\n";
  std::string methods;
  for (int i = 0; i < service->method_count(); ++i) {
    MethodText text = text_of(service->method(i), options);
    out += "    virtual ::grpc::Status " + text.name + "(::grpc::ServerContext* context" + text.sync + ");\n";
    const MethodDescriptor* method = service->method(i);
    methods += async_class(method, options) + callback_class(method, options) + generic_class(method, options) +
               async_class(method, options, true) + callback_class(method, options, true);
    if (!streamed_prefix(method).empty()) methods += streamed_class(method, options);
  }
  auto streamed = [](bool unary, bool split) {
    return [unary, split](const MethodDescriptor* method) {
      return (method->server_streaming() ? split : unary) ? streamed_prefix(method) : std::string();
    };
  };
  return out + "  };\n" + methods +
         all_of_service(service, "AsyncService", [](const MethodDescriptor*) { return "WithAsyncMethod_"; }) +
         all_of_service(service, "CallbackService", [](const MethodDescriptor*) { return "WithCallbackMethod_"; }) +
         "  typedef CallbackService ExperimentalCallbackService;\n" +
         all_of_service(service, "StreamedUnaryService", streamed(true, false)) +
         all_of_service(service, "SplitStreamedService", streamed(false, true)) +
         all_of_service(service, "StreamedService", streamed(true, true)) + "};\n\n";
}

std::string service_source(const ServiceDescriptor* service, const std::string& descriptors, const Options& options) {
  std::string scope = resolve_keyword(service->name()) + "::Service::";
  std::string out = scope + "Service() {\n  SetDescriptors(" + descriptors + ", sizeof " + descriptors + ");\n";
  std::string bodies;
  for (int i = 0; i < service->method_count(); ++i) {
    MethodText text = text_of(service->method(i), options);
    out += "  AddMethod(::grpc::internal::Make" + text.kind + "Method<Service, " + text.types + ">(\n      " +
           literal(text.path) + ", &Service::" + text.name + ", this));\n";
    bodies += "::grpc::Status " + scope + text.name + "(::grpc::ServerContext* /*context*/" + text.sync_unnamed +
              ") {\n  return ::grpc::Status(::grpc::StatusCode::UNIMPLEMENTED, \"\");\n}\n";
  }
  return out + "}\n" + scope + "~Service() = default;\n" + bodies + "\n";
}

}  // namespace drover::compiler
