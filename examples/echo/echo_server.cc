// An echo server on gRPC's callback API, unary and as a stream. The same source builds against gRPC C++ and against
// Drover: which of the two it is depends on the include path alone. --busy-loop-ns makes every call spin, as a stand-in
// for business logic.

#include <grpcpp/grpcpp.h>

#include <unistd.h>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>

#include "echo.grpc.pb.h"

namespace {

using drover::examples::echo::Echo;
using drover::examples::echo::EchoMessage;
using drover::examples::echo::EchoStream;
using drover::examples::echo::LargeMessage;
using drover::examples::echo::MediumMessage;
using drover::examples::echo::SmallMessage;

class EchoService final : public Echo::CallbackService {
 public:
  explicit EchoService(std::chrono::nanoseconds busy_loop) : busy_loop_(busy_loop) {}

  grpc::ServerUnaryReactor* Unary(grpc::CallbackServerContext* context, const EchoMessage* request,
                                  EchoMessage* reply) override {
    return echo(context, request, reply);
  }
  grpc::ServerUnaryReactor* Small(grpc::CallbackServerContext* context, const SmallMessage* request,
                                  SmallMessage* reply) override {
    return echo(context, request, reply);
  }
  grpc::ServerUnaryReactor* Medium(grpc::CallbackServerContext* context, const MediumMessage* request,
                                   MediumMessage* reply) override {
    return echo(context, request, reply);
  }
  grpc::ServerUnaryReactor* Large(grpc::CallbackServerContext* context, const LargeMessage* request,
                                  LargeMessage* reply) override {
    return echo(context, request, reply);
  }

 private:
  template <class Message>
  grpc::ServerUnaryReactor* echo(grpc::CallbackServerContext* context, const Message* request, Message* reply) {
    if (busy_loop_.count() > 0) spin();
    *reply = *request;
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }

  void spin() const {
    const auto end = std::chrono::steady_clock::now() + busy_loop_;
    while (std::chrono::steady_clock::now() < end) {
    }
  }

  const std::chrono::nanoseconds busy_loop_;
};

// One call that streams both ways: reads a message, writes it, and so on until the client half-closes.
class StreamReactor final : public grpc::ServerBidiReactor<EchoMessage, EchoMessage> {
 public:
  StreamReactor() { StartRead(&message_); }

  void OnReadDone(bool ok) override {
    if (!ok) return Finish(grpc::Status::OK);
    StartWrite(&message_);
  }
  void OnWriteDone(bool ok) override {
    if (!ok) return Finish(grpc::Status::CANCELLED);
    StartRead(&message_);
  }
  void OnDone() override { delete this; }

 private:
  EchoMessage message_;
};

class EchoStreamService final : public EchoStream::CallbackService {
 public:
  grpc::ServerBidiReactor<EchoMessage, EchoMessage>* Stream(grpc::CallbackServerContext*) override {
    return new StreamReactor();
  }
};

struct Flags {
  std::string address = "127.0.0.1:50051";
  long busy_loop_ns = 0;
  std::string key;  // with a certificate: TLS
  std::string certificate;
};

std::string read_file(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::shared_ptr<grpc::ServerCredentials> credentials(const Flags& flags) {
  if (flags.certificate.empty()) return grpc::InsecureServerCredentials();
  grpc::SslServerCredentialsOptions options;
  options.pem_key_cert_pairs = {{read_file(flags.key), read_file(flags.certificate)}};
  return grpc::SslServerCredentials(options);
}

// Takes "--name value" and "--name=value"; false after telling what was wrong.
bool parse_flags(int argc, char** argv, Flags* flags) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view arg = argv[i];
    const size_t equals = arg.find('=');
    const std::string_view name = arg.substr(0, equals);
    std::string_view value;
    if (equals != std::string_view::npos) {
      value = arg.substr(equals + 1);
    } else if (i + 1 < argc) {
      value = argv[++i];
    }
    if (name == "--address" && !value.empty()) {
      flags->address = value;
    } else if (name == "--key" && !value.empty()) {
      flags->key = value;
    } else if (name == "--certificate" && !value.empty()) {
      flags->certificate = value;
    } else if (name == "--busy-loop-ns") {
      const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), flags->busy_loop_ns);
      if (error != std::errc() || end != value.data() + value.size() || flags->busy_loop_ns < 0) {
        std::cerr << "--busy-loop-ns: \"" << value << "\" is not a number of nanoseconds\n";
        return false;
      }
    } else {
      std::cerr << "usage: " << argv[0]
                << " [--address HOST:PORT] [--busy-loop-ns N] [--key FILE --certificate FILE]\n";
      return false;
    }
  }
  return true;
}

int stop_pipe[2];

void on_stop_signal(int) {
  const char byte = 0;
  [[maybe_unused]] const ssize_t written = write(stop_pipe[1], &byte, 1);
}

// Server::Shutdown takes locks, so that a signal handler may not call it: the handler wakes this thread instead.
void wait_for_stop_signal() {
  char byte;
  while (read(stop_pipe[0], &byte, 1) < 0 && errno == EINTR) {
  }
}

}  // namespace

int main(int argc, char** argv) {
  Flags flags;
  if (!parse_flags(argc, argv, &flags)) return 2;
  if (pipe(stop_pipe) != 0) {
    std::cerr << "pipe: " << std::strerror(errno) << "\n";
    return 1;
  }
  std::signal(SIGTERM, on_stop_signal);
  std::signal(SIGINT, on_stop_signal);

  EchoService service{std::chrono::nanoseconds(flags.busy_loop_ns)};
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort(flags.address, credentials(flags), &port);
  EchoStreamService stream_service;
  builder.RegisterService(&service);
  builder.RegisterService(&stream_service);
  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr || port == 0) {
    std::cerr << "cannot listen on " << flags.address << "\n";
    return 1;
  }
  std::cerr << "echo_server listens on " << flags.address << " (port " << port << ")" << std::endl;
  wait_for_stop_signal();
  server->Shutdown();
  server->Wait();
  return 0;
}
