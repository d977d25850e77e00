// Each operation of a call is a tag in its completion queue; a thread takes them out and wakes whom they are for.
#include "cli/grpc_call.h"

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_credentials_options.h>

#include <chrono>
#include <future>
#include <map>
#include <thread>

#include "cli/printable.h"
#include "cli/status_name.h"

namespace drover::cli {
namespace {

Metadata copy(const std::multimap<grpc::string_ref, grpc::string_ref>& metadata) {
  Metadata pairs;
  for (const auto& [key, value] : metadata) {
    pairs.emplace_back(std::string(key.data(), key.size()), std::string(value.data(), value.size()));
  }
  return pairs;
}

// gRPC 1.51 can leave the server unchecked with its experimental credentials only.
std::shared_ptr<grpc::ChannelCredentials> unchecked_tls(const ChannelOptions& options) {
  namespace tls = grpc::experimental;
  tls::TlsChannelCredentialsOptions credentials;
  credentials.set_verify_server_certs(false);
  credentials.set_check_call_host(false);
  credentials.set_certificate_verifier(std::make_shared<tls::NoOpCertificateVerifier>());
  if (!options.certificate.empty()) {
    std::vector<tls::IdentityKeyCertPair> pairs = {{options.private_key, options.certificate}};
    credentials.set_certificate_provider(std::make_shared<tls::StaticDataCertificateProvider>(pairs));
    credentials.watch_identity_key_cert_pairs();
  }
  return tls::TlsCredentials(credentials);
}

std::shared_ptr<grpc::ChannelCredentials> credentials_of(const ChannelOptions& options) {
  if (!options.tls) return grpc::InsecureChannelCredentials();
  if (!options.verify) return unchecked_tls(options);
  return grpc::SslCredentials({options.ca_certificates, options.private_key, options.certificate});
}

// 64 MiB a message (kMostReflectionBytes).
constexpr char kReflectionLimit[] =
    R"({"methodConfig": [{"maxResponseMessageBytes": 67108864, "name": [)"
    R"({"service": "grpc.reflection.v1.ServerReflection"}, {"service": "grpc.reflection.v1alpha.ServerReflection"}]}]})";

std::shared_ptr<grpc::Channel> make_channel(const ChannelOptions& options) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);  // of the methods that are called; reflection is bounded
  arguments.SetServiceConfigJSON(kReflectionLimit);
  if (!options.authority.empty()) arguments.SetString(GRPC_ARG_DEFAULT_AUTHORITY, options.authority);
  if (options.tls && !options.authority.empty()) arguments.SetSslTargetNameOverride(options.authority);
  return grpc::CreateCustomChannel(options.target, credentials_of(options), arguments);
}

class GenericStream final : public ByteStream {
 public:
  GenericStream(grpc::GenericStub& stub, const std::string& method, const CallOptions& options) {
    if (options.deadline_ms != 0) {
      context_.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(options.deadline_ms));
    }
    for (const auto& [key, value] : options.metadata) context_.AddMetadata(key, value);
    call_ = stub.PrepareCall(&context_, method, &queue_);
    events_ = std::thread([this] {
      void* tag = nullptr;
      bool ok = false;
      while (queue_.Next(&tag, &ok)) static_cast<Event*>(tag)->set_value(ok);
    });
    wait([this](Event* event) { call_->StartCall(event); });
  }
  ~GenericStream() override {
    if (!finished_) {
      context_.TryCancel();
      finish();
    }
    queue_.Shutdown();
    events_.join();
  }
  bool write(const std::string& message) override {
    grpc::Slice slice(message);
    grpc::ByteBuffer bytes(&slice, 1);
    return wait([&](Event* event) { call_->Write(bytes, event); });
  }
  void writes_done() override {
    wait([this](Event* event) { call_->WritesDone(event); });
  }
  bool read(std::string* message) override {
    grpc::ByteBuffer bytes;
    if (!wait([&](Event* event) { call_->Read(&bytes, event); })) return false;
    std::vector<grpc::Slice> slices;
    if (!bytes.Dump(&slices).ok()) return false;
    message->clear();
    for (const grpc::Slice& part : slices) message->append(reinterpret_cast<const char*>(part.begin()), part.size());
    return true;
  }
  Metadata initial_metadata() const override { return copy(context_.GetServerInitialMetadata()); }
  CallStatus finish() override {
    grpc::Status status;
    wait([&](Event* event) { call_->Finish(&status, event); });
    finished_ = true;
    return {status.error_code(), status_name(status.error_code()), status.error_message(),
            status.error_details().size()};
  }
  Metadata trailing_metadata() const override { return copy(context_.GetServerTrailingMetadata()); }
  void cancel() override { context_.TryCancel(); }

 private:
  using Event = std::promise<bool>;
  template <typename Start>
  bool wait(Start start) {
    Event event;
    std::future<bool> done = event.get_future();
    start(&event);
    return done.get();
  }

  grpc::ClientContext context_;
  grpc::CompletionQueue queue_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> call_;
  std::thread events_;
  bool finished_ = false;
};

}  // namespace

std::string CallStatus::text() const {
  std::string text = name + " (" + std::to_string(code) + ")";
  if (!message.empty()) text += ": " + printable_line(message);
  if (details_bytes != 0) text += " [" + std::to_string(details_bytes) + " bytes of error details]";
  return text;
}

struct ByteChannel::Parts {
  explicit Parts(const ChannelOptions& options) : stub(make_channel(options)) {}
  grpc::GenericStub stub;
};

ByteChannel::ByteChannel(const ChannelOptions& options) : parts_(std::make_unique<Parts>(options)) {}
ByteChannel::~ByteChannel() = default;

std::unique_ptr<ByteStream> ByteChannel::open(const std::string& method, const CallOptions& options) {
  return std::make_unique<GenericStream>(parts_->stub, method, options);
}

}  // namespace drover::cli
