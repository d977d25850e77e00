// Server: a running service. Made by ServerBuilder::BuildAndStart. Thread-safe.
#pragma once

#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/support/config.h>
#include <grpcpp/support/time.h>

#include <chrono>
#include <memory>
#include <mutex>  // gRPC's header has it, and services rely on that

namespace drover::host {
class Runtime;
}

struct grpc_server;

namespace grpc {

class ServerBuilder;
class ServerInitializer;

class Server {
 public:
  // Shuts down if that has not happened, and waits for the handlers.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Returns once Shutdown has finished.
  void Wait();
  // No new calls; waits for the calls in flight. Not to be called from a signal handler or from a call's handler.
  void Shutdown();
  // The same; calls that have not ended by the deadline are cancelled. Handlers are still waited for.
  template <class T>
  void Shutdown(const T& deadline) {
    shutdown_until(Timespec2Timepoint(TimePoint<T>(deadline).raw_time()));
  }

  // Null if EnableDefaultHealthCheckService was not called.
  HealthCheckServiceInterface* GetHealthCheckService() const;
  grpc_server* c_server() { return nullptr; }

 private:
  friend class ServerBuilder;
  struct Parts;

  explicit Server(std::unique_ptr<Parts> parts);
  void shutdown_until(std::chrono::system_clock::time_point deadline);

  std::unique_ptr<Parts> parts_;
};

}  // namespace grpc
