#include <grpcpp/ext/channelz_service_plugin.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/support/status.h>

#include <algorithm>
#include <set>
#include <string>

#include "host/event_queue.h"
#include "host/generic_service.h"
#include "host/health/health_service.h"
#include "host/listen_address.h"
#include "host/log.h"
#include "host/queue_poller.h"
#include "host/reply_compression.h"
#include "host/runtime.h"
#include "host/server_parts.h"
#include "host/tls_offer.h"

namespace grpc {
namespace {

using drover::host::log;
using drover::host::LogLevel;

bool default_health_check_service = false;
bool server_reflection = false;
bool channelz_service = false;

}  // namespace

// Never destroyed: handlers may still return them while the process ends.
const Status& Status::OK = *new Status();
const Status& Status::CANCELLED = *new Status(StatusCode::CANCELLED, "");

void EnableDefaultHealthCheckService(bool enable) { default_health_check_service = enable; }
bool DefaultHealthCheckServiceEnabled() { return default_health_check_service; }

namespace reflection {

void InitProtoReflectionServerBuilderPlugin() { server_reflection = true; }

}  // namespace reflection

namespace channelz::experimental {

void InitChannelzService() { channelz_service = true; }

}  // namespace channelz::experimental

// ---- Server

Server::Server(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Server::~Server() { Shutdown(); }

void Server::Wait() { parts_->runtime->wait(); }

void Server::Shutdown() { shutdown_until(std::chrono::system_clock::time_point::max()); }

void Server::shutdown_until(std::chrono::system_clock::time_point deadline) {
  if (parts_->health != nullptr) {
    parts_->health->Shutdown();
    parts_->health->end_watches();
  }
  auto steady = std::chrono::steady_clock::time_point::max();
  if (deadline != std::chrono::system_clock::time_point::max()) {
    auto left = std::max(deadline - std::chrono::system_clock::now(), std::chrono::system_clock::duration::zero());
    constexpr auto kLongest = std::chrono::hours(24 * 365);
    steady = std::chrono::steady_clock::now() + std::min<std::chrono::system_clock::duration>(left, kLongest);
  }
  parts_->runtime->shutdown(steady);  // closes parts_->requests when no further call comes
}

HealthCheckServiceInterface* Server::GetHealthCheckService() const { return parts_->health.get(); }

// ---- ServerBuilder

ServerBuilder::ServerBuilder() = default;
ServerBuilder::~ServerBuilder() = default;

ServerBuilder& ServerBuilder::AddListeningPort(const std::string& address,
                                               std::shared_ptr<ServerCredentials> credentials, int* selected_port) {
  ports_.push_back({address, std::move(credentials), selected_port});
  return *this;
}

ServerBuilder& ServerBuilder::RegisterService(Service* service) {
  services_.push_back(service);
  return *this;
}

bool ServerBuilder::takes_generic_service() const {
  if (async_generic_ == nullptr && callback_generic_ == nullptr) return true;
  log(LogLevel::kError, "a server has one generic service: a further one is dropped");
  return false;
}

ServerBuilder& ServerBuilder::RegisterAsyncGenericService(AsyncGenericService* service) {
  if (takes_generic_service()) async_generic_ = service;
  return *this;
}

ServerBuilder& ServerBuilder::RegisterCallbackGenericService(CallbackGenericService* service) {
  if (takes_generic_service()) callback_generic_ = service;
  return *this;
}

ServerBuilder& ServerBuilder::RegisterService(const std::string& host, Service* service) {
  host_ = host;
  return RegisterService(service);
}

std::unique_ptr<ServerCompletionQueue> ServerBuilder::AddCompletionQueue(bool is_frequently_polled) {
  std::unique_ptr<ServerCompletionQueue> queue(new ServerCompletionQueue(is_frequently_polled));
  queues_.push_back(queue.get());
  return queue;
}

ServerBuilder& ServerBuilder::SetMaxReceiveMessageSize(int bytes) {
  max_receive_bytes_ = bytes < 0 ? -1 : bytes;
  return *this;
}

ServerBuilder& ServerBuilder::SetMaxSendMessageSize(int bytes) {
  max_send_bytes_ = bytes < 0 ? -1 : bytes;
  return *this;
}

ServerBuilder& ServerBuilder::SetResourceQuota(const ResourceQuota& quota) {
  if (quota.drover_max_threads() > 0) max_threads_ = quota.drover_max_threads();
  return *this;
}

ServerBuilder& ServerBuilder::SetSyncServerOption(SyncServerOption option, int value) {
  if (option == MAX_POLLERS && value > 0) max_threads_ = value;
  return *this;
}

ServerBuilder& ServerBuilder::add_argument(const std::string& name, const std::string& value) {
  if (name == GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH) return SetMaxReceiveMessageSize(std::atoi(value.c_str()));
  if (name == GRPC_ARG_MAX_SEND_MESSAGE_LENGTH) return SetMaxSendMessageSize(std::atoi(value.c_str()));
  const int number = std::atoi(value.c_str());
  if (name == GRPC_COMPRESSION_CHANNEL_DEFAULT_ALGORITHM) {
    return SetDefaultCompressionAlgorithm(static_cast<grpc_compression_algorithm>(number));
  }
  if (name == GRPC_COMPRESSION_CHANNEL_DEFAULT_LEVEL) {
    return SetDefaultCompressionLevel(static_cast<grpc_compression_level>(number));
  }
  if (name == GRPC_COMPRESSION_CHANNEL_ENABLED_ALGORITHMS_BITSET) {
    disabled_compression_ = ~static_cast<uint32_t>(number);
    return *this;
  }
  if (name == GRPC_ARG_ENABLE_PER_MESSAGE_COMPRESSION) {
    compresses_replies_ = number != 0;
    return *this;
  }
  if (!drover::host::engine_flag_of(name, number).empty()) {
    engine_arguments_[name] = number;
    return *this;
  }
  static std::set<std::string> said;
  if (said.insert(name).second) {
    log(LogLevel::kInfo, "channel argument %s has no effect on Drover; the engine's configuration may have its like",
        name.c_str());
  }
  return *this;
}

ServerBuilder& ServerBuilder::SetCompressionAlgorithmSupportStatus(grpc_compression_algorithm algorithm, bool enabled) {
  const uint32_t bit = algorithm < GRPC_COMPRESS_ALGORITHMS_COUNT ? uint32_t{1} << algorithm : 0;
  disabled_compression_ = enabled ? disabled_compression_ & ~bit : disabled_compression_ | bit;
  return *this;
}

ServerBuilder& ServerBuilder::SetDefaultCompressionLevel(grpc_compression_level level) {
  default_compression_level_ = level;
  default_compression_level_set_ = true;
  return *this;
}

ServerBuilder& ServerBuilder::SetDefaultCompressionAlgorithm(grpc_compression_algorithm algorithm) {
  default_compression_ = algorithm;
  return *this;
}

// Shared memory for the largest messages, unless the options have a size.
void ServerBuilder::ask_for_room(drover::host::Offer* offer) const {
  using drover::host::region_bytes_for;
  const drover::host::HostOptions& options = offer->options;
  offer->rx_bytes = options.rx_bytes != 0 ? options.rx_bytes : region_bytes_for(max_receive_bytes_, options.workers);
  const bool unlimited = max_receive_bytes_ < 0 || max_send_bytes_ < 0;  // replies are often as large as requests
  const int largest = unlimited ? -1 : std::max(max_receive_bytes_, max_send_bytes_);
  offer->tx_bytes = options.tx_bytes != 0 ? options.tx_bytes : region_bytes_for(largest, options.workers);
}

void ServerBuilder::offer_compression(drover::host::Offer* offer) const {
  using drover::host::reply_compression;
  auto disabled = [this](grpc_compression_algorithm one) { return (disabled_compression_ >> one & 1) != 0; };
  if (disabled(GRPC_COMPRESS_DEFLATE)) offer->method_flags |= drover::kMethodRefusesDeflate;
  if (disabled(GRPC_COMPRESS_GZIP)) offer->method_flags |= drover::kMethodRefusesGzip;
  offer->compression.off = !compresses_replies_;
  if (!compresses_replies_) return;
  offer->compression.standard = default_compression_level_set_ ? reply_compression(default_compression_level_)
                                                               : reply_compression(default_compression_);
}

bool ServerBuilder::check(std::string* error) const {
  if (services_.empty() && async_generic_ == nullptr && callback_generic_ == nullptr) {
    return *error = "no service is registered", false;
  }
  if (ports_.empty()) return *error = "no listening port was added", false;
  if (!host_.empty()) return *error = "services for one host name (" + host_ + ") are not there yet", false;
  std::set<std::string> paths;
  for (const Service* service : services_) {
    for (const internal::Method& method : service->drover_methods()) {
      if (!paths.insert(method.path).second) return *error = std::string(method.path) + " is registered twice", false;
    }
  }
  for (const Port& port : ports_) {
    if (port.credentials == nullptr) return *error = port.address + ": no credentials", false;
    const auto tls = port.credentials->drover_tls();
    if (tls != nullptr && !tls->wrong.empty()) return *error = port.address + ": " + tls->wrong, false;
  }
  return true;
}

// Connects completion queues and services. The threads in Next lead the calls if every method of the application is
// asynchronous; otherwise the crew does.
void ServerBuilder::prepare_queues(Server::Parts& parts, drover::host::Offer* offer) const {
  using Kind = internal::Method::Kind;
  auto is_async = [](const internal::Method& method) { return method.kind == Kind::kAsync; };
  if (std::none_of(offer->methods.begin(), offer->methods.end(), is_async)) return;
  offer->poller = std::make_shared<drover::host::QueuePoller>();
  // An interceptor may block before it returns, and so none of the application's threads serves the rings.
  offer->led_by_queues = !queues_.empty() && callback_generic_ == nullptr && offer->interceptors == nullptr;
  auto by_queue = [](const internal::Method& method) {
    return method.kind == Kind::kAsync || method.kind == Kind::kGeneric;
  };
  for (const Service* service : services_) {
    if (parts.health != nullptr && service == parts.health->service()) continue;  // its handlers do not block
    const auto& methods = service->drover_methods();
    if (!std::all_of(methods.begin(), methods.end(), by_queue)) offer->led_by_queues = false;
  }
  parts.requests =
      std::make_shared<drover::host::CallRequests>(offer->methods, offer->led_by_queues ? offer->poller : nullptr);
  offer->requests = parts.requests;
  uint32_t next = 0;
  for (Service* service : services_) service->drover_serve(parts.requests, &next);
  if (async_generic_ != nullptr) drover::host::GenericCalls::serve(*async_generic_, parts.requests, next);
  if (!offer->led_by_queues) return;
  offer->options.workers = 1;  // that the threads share
  for (ServerCompletionQueue* queue : queues_) queue->drover_events().join(offer->poller);
}

// The generic service's comes last, so that an engine knows the others before it.
void ServerBuilder::offer_methods(Server::Parts& parts, drover::host::Offer* offer) const {
  for (Service* service : services_) {
    for (const internal::Method& method : service->drover_methods()) {
      if (method.kind == internal::Method::Kind::kGeneric) continue;
      offer->methods.push_back(method);
      if (parts.health == nullptr) continue;
      std::string path = method.path;
      parts.health->SetServingStatus(path.substr(1, path.rfind('/') - 1), true);
    }
  }
  if (async_generic_ != nullptr) offer->methods.push_back(drover::host::GenericCalls::method(*async_generic_));
  if (callback_generic_ != nullptr) offer->methods.push_back(drover::host::GenericCalls::method(*callback_generic_));
}

std::unique_ptr<Server> ServerBuilder::BuildAndStart() {
  for (Port& port : ports_) {
    if (port.selected != nullptr) *port.selected = 0;
  }
  std::string error;
  auto fail = [&error]() -> std::unique_ptr<Server> {
    log(LogLevel::kError, "BuildAndStart: %s", error.c_str());
    return nullptr;
  };
  auto options = drover::host::HostOptions::from_environment(&error);
  if (!options || !check(&error)) return fail();
  if (max_threads_ > 0 && std::getenv("DROVER_MAX_THREADS") == nullptr) {
    options->max_threads = std::max(static_cast<uint32_t>(max_threads_), options->workers);
  }
  drover::host::add_limit_flags(max_receive_bytes_, max_send_bytes_, &*options);
  for (const auto& [name, value] : engine_arguments_) {
    options->engine_flags.push_back(drover::host::engine_flag_of(name, value));
  }

  auto parts = std::make_unique<Server::Parts>();
  if (DefaultHealthCheckServiceEnabled()) {
    parts->health = drover::host::make_health_service();
    if (parts->health != nullptr) services_.push_back(parts->health->service());
  }
  drover::host::Offer offer;
  offer.options = *options;
  offer.load_reports = load_reports_;
  std::vector<size_t> first_of_port;  // of ports_, in offer.addresses
  for (const Port& port : ports_) {
    drover::host::ListenAddresses listen = drover::host::listen_addresses(port.address);
    if (!listen.error.empty()) return error = listen.error, fail();
    first_of_port.push_back(offer.addresses.size());
    for (std::string& address : listen.all) {
      offer.addresses.push_back(std::move(address));
      offer.tls.push_back(port.credentials->drover_tls());
    }
  }
  offer_methods(*parts, &offer);
  offer.channelz = channelz_service || channelz_;
  if (server_reflection) offer.descriptors = drover::host::descriptors_of(services_);
  if (!interceptor_creators_.empty()) {
    offer.interceptors = std::make_shared<const drover::host::InterceptorFactories>(std::move(interceptor_creators_));
  }
  if (offer.methods.empty()) return error = "no service has a method", fail();
  offer_compression(&offer);
  prepare_queues(*parts, &offer);
  ask_for_room(&offer);
  std::vector<uint32_t> bound;
  parts->runtime = drover::host::Runtime::start(std::move(offer), &bound, &error);
  if (parts->runtime == nullptr) return fail();
  for (size_t i = 0; i < ports_.size(); ++i) {
    // gRPC gives 1 for an address that has no port.
    const uint32_t number = bound[first_of_port[i]];
    if (ports_[i].selected != nullptr) *ports_[i].selected = number == 0 ? 1 : static_cast<int>(number);
  }
  return std::unique_ptr<Server>(new Server(std::move(parts)));
}

}  // namespace grpc

namespace drover::host {

// A set is a sequence of files, each behind a tag of one byte and its length. Many services import the same files.
std::string descriptors_of(const std::vector<grpc::Service*>& services) {
  std::string set;
  std::set<std::string_view> seen;
  for (const grpc::Service* service : services) {
    std::string_view rest = service->drover_descriptors();
    while (!rest.empty()) {
      size_t size = 0, at = 1;
      for (int shift = 0;; shift += 7) {
        const auto byte = static_cast<unsigned char>(rest[at++]);
        size |= static_cast<size_t>(byte & 0x7f) << shift;
        if (byte < 0x80) break;
      }
      const std::string_view file = rest.substr(0, at + size);
      if (seen.insert(file).second) set.append(file);
      rest.remove_prefix(file.size());
    }
  }
  return set;
}

uint64_t region_bytes_for(int max_message_bytes, uint32_t workers) {
  constexpr uint64_t kStandard = 64 << 20;  // channel.rx_bytes and channel.tx_bytes
  constexpr uint64_t kBeside = 24 << 20;    // for other messages, and for what an object has beside its bytes
  uint64_t bytes = kMostRegionBytes / std::max<uint32_t>(workers, 1) / kChunkSize * kChunkSize;
  if (max_message_bytes >= 0) {
    bytes = std::min(bytes, ((2 * static_cast<uint64_t>(max_message_bytes) + kBeside) / kChunkSize + 1) * kChunkSize);
  }
  return bytes <= kStandard ? 0 : bytes;
}

void add_limit_flags(int max_receive_bytes, int max_send_bytes, HostOptions* options) {
  constexpr int kLargest = 0x7fffffff;
  auto add = [options](const char* flag, int bytes) {
    if (bytes == 0) return;
    options->engine_flags.push_back(std::string(flag) + "=" + std::to_string(bytes < 0 ? kLargest : bytes));
  };
  add("--limits.max_request_bytes", max_receive_bytes);
  add("--limits.max_response_bytes", max_send_bytes);
}

std::string engine_flag_of(const std::string& argument, int value) {
  struct Key {
    const char* argument;
    const char* key;
    int least, most;  // what the key takes
    int without_end;  // what INT_MAX, gRPC's word for "never", becomes
  };
  constexpr int kDay = 86'400'000, kNever = 0, kIntMax = 0x7fffffff;
  static constexpr Key kKeys[] = {
      {GRPC_ARG_KEEPALIVE_TIME_MS, "http2.keepalive_ms", 1, kDay, kNever},
      {GRPC_ARG_KEEPALIVE_TIMEOUT_MS, "http2.keepalive_timeout_ms", 1, kDay, kDay},
      {GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, "http2.ping_without_calls", 0, 1, 1},
      {GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, "http2.min_ping_interval_ms", 0, kDay, kDay},
      {GRPC_ARG_HTTP2_MAX_PING_STRIKES, "http2.max_ping_strikes", 0, 1000, 1000},
      {GRPC_ARG_MAX_CONNECTION_IDLE_MS, "http2.idle_timeout_ms", 1, kDay, kNever},
      {GRPC_ARG_MAX_CONNECTION_AGE_MS, "http2.max_connection_age_ms", 1, kIntMax, kNever},
      {GRPC_ARG_MAX_CONNECTION_AGE_GRACE_MS, "http2.max_connection_age_grace_ms", 1, kIntMax, kNever},
      {GRPC_ARG_MAX_CONCURRENT_STREAMS, "limits.max_concurrent_streams", 1, 1'000'000, 1'000'000},
      {GRPC_ARG_MAX_METADATA_SIZE, "limits.max_header_bytes", 256, 65'536, 65'536},
  };
  for (const Key& each : kKeys) {
    if (argument != each.argument) continue;
    const int taken = value == kIntMax ? each.without_end : std::clamp(value, each.least, each.most);
    return std::string("--") + each.key + "=" + std::to_string(taken);
  }
  return "";
}

}  // namespace drover::host
