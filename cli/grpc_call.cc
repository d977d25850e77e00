// The call itself.
#include "cli/grpc_call.h"

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

namespace drover::cli {
namespace {

const char* status_name(int code) {
  static constexpr const char* kNames[] = {
      "OK",        "CANCELLED",      "UNKNOWN",           "INVALID_ARGUMENT",   "DEADLINE_EXCEEDED",
      "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
      "ABORTED",   "OUT_OF_RANGE",   "UNIMPLEMENTED",     "INTERNAL",           "UNAVAILABLE",
      "DATA_LOSS", "UNAUTHENTICATED"};
  return code >= 0 && code < static_cast<int>(std::size(kNames)) ? kNames[code] : "unknown status";
}

using Metadata = std::multimap<grpc::string_ref, grpc::string_ref>;
std::vector<std::pair<std::string, std::string>> copy(const Metadata& metadata) {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const auto& [key, value] : metadata) {
    pairs.emplace_back(std::string(key.data(), key.size()), std::string(value.data(), value.size()));
  }
  return pairs;
}

std::shared_ptr<grpc::Channel> make_channel(const UnaryCall& call) {
  std::shared_ptr<grpc::ChannelCredentials> credentials = grpc::InsecureChannelCredentials();
  if (call.tls) {
    grpc::SslCredentialsOptions options;
    options.pem_root_certs = call.ca_certificates;
    credentials = grpc::SslCredentials(options);
  }
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  if (!call.authority.empty()) arguments.SetString(GRPC_ARG_DEFAULT_AUTHORITY, call.authority);
  if (call.tls && !call.authority.empty()) arguments.SetSslTargetNameOverride(call.authority);
  return grpc::CreateCustomChannel(call.target, credentials, arguments);
}

}  // namespace

UnaryReply call_unary(const UnaryCall& call, const std::string& request) {
  grpc::GenericStub stub(make_channel(call));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(call.deadline_ms));
  for (const auto& [key, value] : call.metadata) context.AddMetadata(key, value);
  grpc::Slice slice(request);
  grpc::ByteBuffer request_bytes(&slice, 1), response_bytes;
  grpc::CompletionQueue queue;
  auto reader = stub.PrepareUnaryCall(&context, call.method, request_bytes, &queue);
  reader->StartCall();
  grpc::Status status;
  reader->Finish(&response_bytes, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  queue.Next(&tag, &ok);
  UnaryReply reply;
  reply.status = status.error_code();
  reply.status_name = status_name(reply.status);
  reply.message = status.error_message();
  if (!status.error_details().empty()) reply.details_size = std::to_string(status.error_details().size()) + " bytes";
  reply.initial_metadata = copy(context.GetServerInitialMetadata());
  reply.trailing_metadata = copy(context.GetServerTrailingMetadata());
  std::vector<grpc::Slice> slices;
  if (status.ok() && response_bytes.Dump(&slices).ok()) {
    for (const grpc::Slice& part : slices)
      reply.response.append(reinterpret_cast<const char*>(part.begin()), part.size());
  }
  return reply;
}

}  // namespace drover::cli
