// ServerBuilder: what to serve and where. gRPC's class.
#pragma once

#include <grpc/compression.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/impl/drover_service.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/support/config.h>
#include <grpcpp/support/server_interceptor.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace drover::host {
class LoadReports;
struct Offer;
}  // namespace drover::host

namespace grpc {

namespace experimental {
class ServerMetricRecorder;
}

class ServerBuilder {
 public:
  ServerBuilder();
  virtual ~ServerBuilder();
  ServerBuilder(const ServerBuilder&) = delete;
  ServerBuilder& operator=(const ServerBuilder&) = delete;

  // "0.0.0.0:50051", "[::]:50051", "localhost:0", "unix:PATH", "unix-abstract:NAME" (both percent-decoded; a NAME may
  // hold %00). The port that was bound is stored to `selected_port` by BuildAndStart (0: it failed).
  ServerBuilder& AddListeningPort(const std::string& address, std::shared_ptr<ServerCredentials> credentials,
                                  int* selected_port = nullptr);
  // The service must outlive the server. With a host name, the service answers for that :authority only: not yet
  // there, BuildAndStart fails.
  ServerBuilder& RegisterService(Service* service);
  ServerBuilder& RegisterService(const std::string& host, Service* service);

  // The service that takes the calls of all methods that no service has, one of either kind; a further one is dropped,
  // which stderr says. It must outlive the server.
  ServerBuilder& RegisterAsyncGenericService(AsyncGenericService* service);
  ServerBuilder& RegisterCallbackGenericService(CallbackGenericService* service);

  // For a service with asynchronous methods. The queue outlives the server, which it must not be shut down before.
  std::unique_ptr<ServerCompletionQueue> AddCompletionQueue(bool is_frequently_polled = true);

  // Message sizes are bounded by the engine (4 MiB unless its configuration says otherwise): a size set here is handed
  // to an engine that this server starts, and has no effect on an engine that is there already.
  ServerBuilder& SetMaxReceiveMessageSize(int bytes);
  ServerBuilder& SetMaxSendMessageSize(int bytes);
  ServerBuilder& SetMaxMessageSize(int bytes) { return SetMaxReceiveMessageSize(bytes); }

  // Message sizes, compression, keep-alive, a connection's age and idle time, its concurrent streams and metadata size
  // have their effect, the last five on an engine that this server starts. Others are named once in the log.
  template <class T>
  ServerBuilder& AddChannelArgument(const std::string& name, const T& value) {
    return add_argument(name, argument_text(value));
  }
  ServerBuilder& SetResourceQuota(const ResourceQuota& quota);
  // Requests compressed by an algorithm that is not enabled are refused (UNIMPLEMENTED), and no reply is compressed by
  // it. All are enabled at first, as far as the engine's configuration allows (compression.algorithms).
  ServerBuilder& SetCompressionAlgorithmSupportStatus(grpc_compression_algorithm algorithm, bool enabled);
  // Of replies whose context says nothing. A level goes before an algorithm.
  ServerBuilder& SetDefaultCompressionLevel(grpc_compression_level level);
  ServerBuilder& SetDefaultCompressionAlgorithm(grpc_compression_algorithm algorithm);

  // Recorded. Drover's threads are set by DROVER_WORKERS and DROVER_MAX_THREADS; MAX_POLLERS bounds the latter.
  enum SyncServerOption { NUM_CQS, MIN_POLLERS, MAX_POLLERS, CQ_TIMEOUT_MSEC };
  ServerBuilder& SetSyncServerOption(SyncServerOption option, int value);

  class experimental_type {
   public:
    explicit experimental_type(ServerBuilder* builder) : builder_(builder) {}
    // Makers of the interceptors of each call (<grpcpp/support/server_interceptor.h>).
    void SetInterceptorCreators(
        std::vector<std::unique_ptr<experimental::ServerInterceptorFactoryInterface>> creators) {
      builder_->interceptor_creators_ = std::move(creators);
    }
    // As the free function of that name (ext/call_metric_recorder.h) says.
    void EnableCallMetricRecording(experimental::ServerMetricRecorder* server_metric_recorder = nullptr);

   private:
    ServerBuilder* builder_;
  };
  experimental_type experimental() { return experimental_type(this); }

  // As EnableCallMetricRecording (ext/call_metric_recorder.h) says.
  void drover_report_load(std::shared_ptr<const drover::host::LoadReports> reports) {
    load_reports_ = std::move(reports);
  }

  // As AddAdminServices (ext/admin_services.h) says.
  void drover_serve_channelz() { channelz_ = true; }

  // Null if something is wrong: what it is goes to stderr.
  virtual std::unique_ptr<Server> BuildAndStart();

 protected:
  std::shared_ptr<const drover::host::LoadReports> drover_load_reports() const { return load_reports_; }

 private:
  struct Port {
    std::string address;
    std::shared_ptr<ServerCredentials> credentials;
    int* selected = nullptr;
  };

  ServerBuilder& add_argument(const std::string& name, const std::string& value);
  static std::string argument_text(const std::string& value) { return value; }
  static std::string argument_text(const char* value) { return value; }
  static std::string argument_text(long value) { return std::to_string(value); }
  static std::string argument_text(const void*) { return "(pointer)"; }
  bool check(std::string* error) const;
  void ask_for_room(drover::host::Offer* offer) const;
  void offer_compression(drover::host::Offer* offer) const;
  bool takes_generic_service() const;
  void offer_methods(Server::Parts& parts, drover::host::Offer* offer) const;
  void prepare_queues(Server::Parts& parts, drover::host::Offer* offer) const;

  std::vector<Port> ports_;
  std::vector<Service*> services_;
  AsyncGenericService* async_generic_ = nullptr;  // at most one of these two
  CallbackGenericService* callback_generic_ = nullptr;
  std::vector<ServerCompletionQueue*> queues_;
  std::shared_ptr<const drover::host::LoadReports> load_reports_;
  std::vector<std::unique_ptr<experimental::ServerInterceptorFactoryInterface>> interceptor_creators_;
  std::string host_;
  int max_receive_bytes_ = 0;  // 0: not set; -1: no limit
  int max_send_bytes_ = 0;
  std::map<std::string, int> engine_arguments_;  // channel arguments that are flags of the engine
  int max_threads_ = 0;
  uint32_t disabled_compression_ = 0;  // 1 << grpc_compression_algorithm
  bool default_compression_level_set_ = false;
  grpc_compression_level default_compression_level_ = GRPC_COMPRESS_LEVEL_NONE;
  grpc_compression_algorithm default_compression_ = GRPC_COMPRESS_NONE;
  bool compresses_replies_ = true;
  bool channelz_ = false;
};

}  // namespace grpc
