// Interceptors of a server: ServerBuilder::experimental().SetInterceptorCreators takes factories, which make one for
// each call. gRPC's classes.
//
//   received:  the factories' last interceptor first      sent:  the first one first
#pragma once

#include <grpcpp/support/interceptor.h>

namespace drover::host {
class Interception;
}

namespace grpc {

class ServerContextBase;

namespace experimental {

// A call, as its interceptors see it; lives as long as they do.
class ServerRpcInfo {
 public:
  enum class Type { UNARY, CLIENT_STREAMING, SERVER_STREAMING, BIDI_STREAMING };

  ServerRpcInfo(const ServerRpcInfo&) = delete;
  ServerRpcInfo& operator=(const ServerRpcInfo&) = delete;

  const char* method() const { return method_; }  // "/package.Service/Method"
  Type type() const { return type_; }
  ServerContextBase* server_context() { return context_; }

 private:
  friend class drover::host::Interception;
  ServerRpcInfo() = default;

  const char* method_ = "";
  Type type_ = Type::UNARY;
  ServerContextBase* context_ = nullptr;
};

class ServerInterceptorFactoryInterface {
 public:
  virtual ~ServerInterceptorFactoryInterface() = default;
  // Deleted after the call; null: none for this call. Calls may ask for theirs at the same time.
  virtual Interceptor* CreateServerInterceptor(ServerRpcInfo* info) = 0;
};

}  // namespace experimental
}  // namespace grpc
