// Serves drover.testing.TestService and StreamService with gRPC C++'s own API; built once against Drover and once
// against gRPC C++, so that every cross-folder test also runs against the original.
//
//   test_server --address HOST:PORT [--callback | --queues]     prints "listening on PORT", serves until SIGTERM
//     [--key FILE --certificate FILE]...  TLS
//     [--client-ca FILE] [--clients N]    N: grpc_ssl_client_certificate_request_type
//     [--compress N] [--compress-level N] grpc_compression_algorithm, grpc_compression_level of replies
//     [--disable N]                       an algorithm that is not supported
//     [--largest N]                       bytes of a request; -1: any
//     [--argument NAME=NUMBER]            a channel argument
//     [--reflection]                      with server reflection
//     [--channelz]                        with channelz
//     [--interceptors]                    as interceptors.h has them
//     [--late-interceptors]               as late_interceptors.h has them
//     [--journal FILE]                    as journal.h has it
#include <grpcpp/ext/channelz_service_plugin.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>

#include "asked_for.h"
#include "interceptors.h"
#include "journal.h"
#include "late_interceptors.h"
#include "queue_service.h"
#include "stream_service.h"
#include "testing.grpc.pb.h"

namespace {

using drover::testing::EchoReply;
using drover::testing::EchoRequest;
using drover::testing::FailRequest;
using drover::testing::MetadataReply;
using drover::testing::MetadataRequest;
using drover::testing::SizedReply;
using drover::testing::SizedRequest;
using drover::testing::SleepReply;
using drover::testing::SleepRequest;
using drover::testing::StatsReply;
using drover::testing::StatsRequest;
using drover::testing::TestService;

std::atomic<int64_t> calls{0}, cancelled{0}, running{0};

void echo(const EchoRequest& request, EchoReply* reply) {
  ++calls;
  reply->set_payload(request.payload());
  reply->set_text(request.text());
  for (const auto& [key, value] : request.counts()) (*reply->mutable_counts())[key] = value;
  for (const auto& word : request.words()) reply->add_words(word);
  reply->set_pid(getpid());
}

template <class Context>
void sleep_for(Context* context, const SleepRequest& request, SleepReply* reply) {
  drover::testing::note(*context);
  ++calls;
  ++running;
  auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(request.millis());
  while (std::chrono::steady_clock::now() < end && !context->IsCancelled()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  if (context->IsCancelled()) ++cancelled;
  reply->set_cancelled(context->IsCancelled());
  --running;
}

grpc::Status fail(const FailRequest& request) {
  ++calls;
  // Another number is no value of the enumeration, and attackers send any.
  const bool known = request.code() >= grpc::OK && request.code() <= grpc::UNAUTHENTICATED;
  const auto code = known ? static_cast<grpc::StatusCode>(request.code()) : grpc::UNKNOWN;
  return grpc::Status(code, request.message(), request.details());
}

template <class Context>
void metadata(Context* context, const MetadataRequest& request, MetadataReply* reply) {
  ++calls;
  for (const auto& pair : request.initial()) context->AddInitialMetadata(pair.key(), pair.value());
  for (const auto& pair : request.trailing()) context->AddTrailingMetadata(pair.key(), pair.value());
  for (const auto& [key, value] : context->client_metadata()) {
    auto* pair = reply->add_received();
    pair->set_key(std::string(key.data(), key.size()));
    pair->set_value(std::string(value.data(), value.size()));
  }
  const auto auth = context->auth_context();
  for (const auto& [key, value] : *auth) {
    auto* pair = reply->add_auth();
    pair->set_key(std::string(key.data(), key.size()));
    pair->set_value(std::string(value.data(), value.size()));
  }
  reply->set_identity_name(auth->GetPeerIdentityPropertyName());
  for (const auto& value : auth->GetPeerIdentity()) reply->add_identity(std::string(value.data(), value.size()));
  reply->set_authenticated(auth->IsPeerAuthenticated());
  reply->set_peer(context->peer());
  auto left = context->deadline() - std::chrono::system_clock::now();
  auto millis = std::chrono::duration_cast<std::chrono::milliseconds>(left).count();
  reply->set_deadline_millis(millis > 1000LL * 3600 * 24 * 365 ? -1 : millis);
}

void sized(const SizedRequest& request, SizedReply* reply) {
  ++calls;
  std::string payload(static_cast<size_t>(request.size()), '\0');
  for (size_t i = 0; i < payload.size(); ++i) payload[i] = static_cast<char>('a' + i % 26);
  reply->set_payload(payload);
}

void stats(StatsReply* reply) {
  reply->set_pid(getpid());
  reply->set_calls(calls);
  reply->set_cancelled(cancelled);
  reply->set_running(running);
}

std::string read_file(const char* path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

[[noreturn]] void crash() {
  kill(getpid(), SIGKILL);
  std::abort();
}

class SyncService final : public TestService::Service {
  grpc::Status Echo(grpc::ServerContext* context, const EchoRequest* request, EchoReply* reply) override {
    drover::testing::note(*context);
    drover::testing::compress_as_asked(context);
    echo(*request, reply);
    return grpc::Status::OK;
  }
  grpc::Status Sleep(grpc::ServerContext* context, const SleepRequest* request, SleepReply* reply) override {
    sleep_for(context, *request, reply);
    return grpc::Status::OK;
  }
  grpc::Status Fail(grpc::ServerContext*, const FailRequest* request, EchoReply*) override { return fail(*request); }
  grpc::Status Metadata(grpc::ServerContext* context, const MetadataRequest* request, MetadataReply* reply) override {
    drover::testing::note(*context);
    metadata(context, *request, reply);
    return grpc::Status::OK;
  }
  grpc::Status Sized(grpc::ServerContext* context, const SizedRequest* request, SizedReply* reply) override {
    drover::testing::note(*context);
    drover::testing::compress_as_asked(context);
    sized(*request, reply);
    return grpc::Status::OK;
  }
  grpc::Status Stats(grpc::ServerContext*, const StatsRequest*, StatsReply* reply) override {
    stats(reply);
    return grpc::Status::OK;
  }
  grpc::Status Crash(grpc::ServerContext*, const StatsRequest*, StatsReply*) override { crash(); }
  grpc::Status Throw(grpc::ServerContext*, const StatsRequest*, StatsReply*) override {
    throw std::runtime_error("thrown by the handler");
  }
  grpc::Status Now(grpc::ServerContext*, const google::protobuf::Empty*, google::protobuf::Timestamp* reply) override {
    reply->set_seconds(std::time(nullptr));
    return grpc::Status::OK;
  }
};

class CallbackService final : public TestService::CallbackService {
  // Finishes on another thread, as services that wait for an event do.
  template <class Work>
  static grpc::ServerUnaryReactor* elsewhere(grpc::CallbackServerContext* context, Work work) {
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    std::thread([reactor, work] {
      work();
      reactor->Finish(grpc::Status::OK);
    }).detach();
    return reactor;
  }
  static grpc::ServerUnaryReactor* finish(grpc::CallbackServerContext* context, const grpc::Status& status) {
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(status);
    return reactor;
  }
  grpc::ServerUnaryReactor* Echo(grpc::CallbackServerContext* context, const EchoRequest* request,
                                 EchoReply* reply) override {
    drover::testing::note(*context);
    drover::testing::compress_as_asked(context);
    echo(*request, reply);
    return finish(context, grpc::Status::OK);
  }
  // Learns of cancellation by OnCancel, without polling.
  grpc::ServerUnaryReactor* Sleep(grpc::CallbackServerContext* context, const SleepRequest* request,
                                  SleepReply* reply) override {
    drover::testing::note(*context);
    class Sleeper final : public grpc::ServerUnaryReactor {
     public:
      Sleeper(int64_t millis, SleepReply* reply) : reply_(reply) {
        ++calls;
        ++running;
        std::thread([this, millis] {
          auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(millis);
          while (std::chrono::steady_clock::now() < end && !cancelled_) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
          }
          reply_->set_cancelled(cancelled_);
          --running;
          Finish(grpc::Status::OK);
          release();
        }).detach();
      }
      void OnCancel() override {
        ++cancelled;
        cancelled_ = true;
      }
      void OnDone() override { release(); }

     private:
      void release() {
        if (--users_ == 0) delete this;
      }
      std::atomic<int> users_{2};  // the thread and the runtime
      std::atomic<bool> cancelled_{false};
      SleepReply* reply_;
    };
    return new Sleeper(request->millis(), reply);
  }
  grpc::ServerUnaryReactor* Fail(grpc::CallbackServerContext* context, const FailRequest* request,
                                 EchoReply*) override {
    return finish(context, fail(*request));
  }
  grpc::ServerUnaryReactor* Metadata(grpc::CallbackServerContext* context, const MetadataRequest* request,
                                     MetadataReply* reply) override {
    drover::testing::note(*context);
    const int64_t early = drover::testing::early_millis(context);
    metadata(context, *request, reply);
    if (early == 0) return finish(context, grpc::Status::OK);
    // Sends its initial metadata, and the reply some time after that is done.
    class Early final : public grpc::ServerUnaryReactor {
     public:
      explicit Early(int64_t millis) : millis_(millis) { StartSendInitialMetadata(); }
      void OnSendInitialMetadataDone(bool ok) override {
        std::thread([this, ok] {
          drover::testing::pause(millis_);
          Finish(ok ? grpc::Status::OK : grpc::Status::CANCELLED);
        }).detach();
      }
      void OnDone() override { delete this; }

     private:
      const int64_t millis_;
    };
    return new Early(early);
  }
  grpc::ServerUnaryReactor* Sized(grpc::CallbackServerContext* context, const SizedRequest* request,
                                  SizedReply* reply) override {
    drover::testing::note(*context);
    drover::testing::compress_as_asked(context);
    return elsewhere(context, [request, reply] { sized(*request, reply); });
  }
  grpc::ServerUnaryReactor* Stats(grpc::CallbackServerContext* context, const StatsRequest*,
                                  StatsReply* reply) override {
    stats(reply);
    return finish(context, grpc::Status::OK);
  }
  grpc::ServerUnaryReactor* Crash(grpc::CallbackServerContext*, const StatsRequest*, StatsReply*) override { crash(); }
  grpc::ServerUnaryReactor* Throw(grpc::CallbackServerContext*, const StatsRequest*, StatsReply*) override {
    throw std::runtime_error("thrown by the handler");
  }
  grpc::ServerUnaryReactor* Now(grpc::CallbackServerContext* context, const google::protobuf::Empty*,
                                google::protobuf::Timestamp* reply) override {
    reply->set_seconds(std::time(nullptr));
    return finish(context, grpc::Status::OK);
  }
};

// The first call of each method of TestService, through that queue.
void request_calls(TestService::AsyncService* service, grpc::ServerCompletionQueue* queue) {
  using Service = TestService::AsyncService;
  using drover::testing::QueueUnary;
  auto serve = [&]<class Request, class Reply>(auto requester, auto work) {
    using Call = QueueUnary<Service, Request, Reply>;
    new Call(service, queue, requester, [work](grpc::ServerContext* context, const Request& request, Reply* reply) {
      return work(context, request, reply);
    });
  };
  serve.operator()<EchoRequest, EchoReply>(&Service::RequestEcho, [](auto* context, const auto& request, auto* reply) {
    drover::testing::compress_as_asked(context);
    echo(request, reply);
    return grpc::Status::OK;
  });
  new drover::testing::QueueSleep(service, queue, {calls, running, cancelled});
  serve.operator()<FailRequest, EchoReply>(&Service::RequestFail,
                                           [](auto*, const auto& request, auto*) { return fail(request); });
  serve.operator()<MetadataRequest, MetadataReply>(&Service::RequestMetadata,
                                                   [](auto* context, const auto& request, auto* reply) {
                                                     metadata(context, request, reply);
                                                     return grpc::Status::OK;
                                                   });
  serve.operator()<SizedRequest, SizedReply>(&Service::RequestSized,
                                             [](auto* context, const auto& request, auto* reply) {
                                               drover::testing::compress_as_asked(context);
                                               sized(request, reply);
                                               return grpc::Status::OK;
                                             });
  serve.operator()<StatsRequest, StatsReply>(&Service::RequestStats, [](auto*, const auto&, auto* reply) {
    stats(reply);
    return grpc::Status::OK;
  });
  serve.operator()<StatsRequest, StatsReply>(&Service::RequestCrash,
                                             [](auto*, const auto&, auto*) -> grpc::Status { crash(); });
  // The asynchronous API catches no exceptions: this status is what a synchronous handler that throws gets.
  serve.operator()<StatsRequest, StatsReply>(&Service::RequestThrow, [](auto*, const auto&, auto*) {
    return grpc::Status(grpc::StatusCode::UNKNOWN, "Unexpected error in RPC handling");
  });
  serve.operator()<google::protobuf::Empty, google::protobuf::Timestamp>(&Service::RequestNow,
                                                                         [](auto*, const auto&, auto* reply) {
                                                                           reply->set_seconds(std::time(nullptr));
                                                                           return grpc::Status::OK;
                                                                         });
}

}  // namespace

int main(int argc, char** argv) {
  std::string address = "127.0.0.1:0";
  bool callback = false, queues = false, interceptors = false, late_interceptors = false;
  grpc::SslServerCredentialsOptions tls;
  // gRPC C++ asks its plugins when a ServerBuilder is made.
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--channelz") == 0) grpc::channelz::experimental::InitChannelzService();
  }
  grpc::ServerBuilder builder;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--address") == 0 && i + 1 < argc) {
      address = argv[++i];
    } else if (std::strcmp(argv[i], "--callback") == 0) {
      callback = true;
    } else if (std::strcmp(argv[i], "--queues") == 0) {
      queues = true;
    } else if (std::strcmp(argv[i], "--interceptors") == 0) {
      interceptors = true;
    } else if (std::strcmp(argv[i], "--late-interceptors") == 0) {
      late_interceptors = true;
    } else if (std::strcmp(argv[i], "--key") == 0 && i + 1 < argc) {
      tls.pem_key_cert_pairs.push_back({read_file(argv[++i]), ""});
    } else if (std::strcmp(argv[i], "--certificate") == 0 && i + 1 < argc && !tls.pem_key_cert_pairs.empty()) {
      tls.pem_key_cert_pairs.back().cert_chain = read_file(argv[++i]);
    } else if (std::strcmp(argv[i], "--client-ca") == 0 && i + 1 < argc) {
      tls.pem_root_certs = read_file(argv[++i]);
    } else if (std::strcmp(argv[i], "--clients") == 0 && i + 1 < argc) {
      tls.client_certificate_request = static_cast<grpc_ssl_client_certificate_request_type>(std::atoi(argv[++i]));
    } else if (std::strcmp(argv[i], "--compress") == 0 && i + 1 < argc) {
      builder.SetDefaultCompressionAlgorithm(static_cast<grpc_compression_algorithm>(std::atoi(argv[++i])));
    } else if (std::strcmp(argv[i], "--compress-level") == 0 && i + 1 < argc) {
      builder.SetDefaultCompressionLevel(static_cast<grpc_compression_level>(std::atoi(argv[++i])));
    } else if (std::strcmp(argv[i], "--disable") == 0 && i + 1 < argc) {
      builder.SetCompressionAlgorithmSupportStatus(static_cast<grpc_compression_algorithm>(std::atoi(argv[++i])),
                                                   false);
    } else if (std::strcmp(argv[i], "--largest") == 0 && i + 1 < argc) {
      builder.SetMaxReceiveMessageSize(std::atoi(argv[++i]));
    } else if (std::strcmp(argv[i], "--argument") == 0 && i + 1 < argc) {
      const std::string argument = argv[++i];
      const size_t equals = argument.find('=');
      builder.AddChannelArgument(argument.substr(0, equals), std::atoi(argument.c_str() + equals + 1));
    } else if (std::strcmp(argv[i], "--journal") == 0 && i + 1 < argc) {
      if (!drover::testing::open_journal(argv[++i])) {
        std::cerr << "test_server: --journal " << argv[i] << ": " << std::strerror(errno) << "\n";
        return 1;
      }
    } else if (std::strcmp(argv[i], "--reflection") == 0) {
      grpc::reflection::InitProtoReflectionServerBuilderPlugin();
    } else if (std::strcmp(argv[i], "--channelz") == 0) {  // above
    } else {
      std::cerr << "usage: test_server [--address HOST:PORT] [--callback | --queues] [--key FILE --certificate FILE] "
                   "[--client-ca FILE] [--clients N] [--compress N] [--compress-level N] [--disable N] "
                   "[--largest N] [--argument NAME=NUMBER]... [--reflection] [--channelz] [--interceptors] "
                   "[--late-interceptors] [--journal FILE]\n";
      return 2;
    }
  }
  sigset_t ending;
  sigemptyset(&ending);
  sigaddset(&ending, SIGTERM);
  sigaddset(&ending, SIGINT);
  pthread_sigmask(SIG_BLOCK, &ending, nullptr);  // before any thread starts

  SyncService sync_service;
  CallbackService callback_service;
  drover::testing::SyncStreams sync_streams;
  drover::testing::CallbackStreams callback_streams;
  if (interceptors) drover::testing::add_interceptors(&builder);
  if (late_interceptors) drover::testing::add_late_interceptors(&builder);
  int port = 0;
  builder.AddListeningPort(
      address, tls.pem_key_cert_pairs.empty() ? grpc::InsecureServerCredentials() : grpc::SslServerCredentials(tls),
      &port);
  std::optional<drover::testing::QueueThreads> threads;
  if (queues) {
    threads.emplace(builder);
  } else if (callback) {
    builder.RegisterService(&callback_service);
    builder.RegisterService(&callback_streams);
  } else {
    builder.RegisterService(&sync_service);
    builder.RegisterService(&sync_streams);
  }
  std::unique_ptr<grpc::Server> server(builder.BuildAndStart());
  if (server == nullptr) {
    std::cerr << "test_server: cannot serve on " << address << ", port " << port << "\n";
    return 1;
  }
  if (threads) threads->run([&](grpc::ServerCompletionQueue* queue) { request_calls(&threads->calls, queue); });
  std::cout << "listening on " << port << std::endl;

  int signal_number = 0;
  sigwait(&ending, &signal_number);
  server->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(5));
  if (threads) threads->end();
  server->Wait();
  return 0;
}
