// Cancellation: a stream that never ends by itself stops when its caller leaves. An ordinary gRPC C++ server;
// CMakeLists.txt builds it twice, as cancellation_server on Drover and as cancellation_server_grpc on gRPC C++.
//
//   cancellation_server [ADDRESS]
#include <grpcpp/grpcpp.h>

#include <atomic>
#include <chrono>
#include <iostream>
#include <memory>
#include <string>

#include <grpcpp/alarm.h>

#include "kinds.grpc.pb.h"

using kinds::Answer;
using kinds::Question;

std::atomic<int> listening{0}, left{0};

// An answer every ten milliseconds.
class Answers final : public grpc::ServerWriteReactor<Answer> {
 public:
  Answers() {
    ++listening;
    write();
  }
  void OnWriteDone(bool ok) override {
    if (!ok) return Finish(grpc::Status::CANCELLED);
    alarm_.Set(std::chrono::system_clock::now() + std::chrono::milliseconds(10), [this](bool /*ok*/) { write(); });
  }
  void OnCancel() override {
    ++left;
    cancelled_ = true;
  }
  void OnDone() override {
    --listening;
    delete this;
  }

 private:
  void write() {
    if (cancelled_) return Finish(grpc::Status::CANCELLED);
    answer_.set_number(answer_.number() + 1);
    StartWrite(&answer_);
  }
  std::atomic<bool> cancelled_{false};
  grpc::Alarm alarm_;
  Answer answer_;
};

class DeskService final : public kinds::Desk::CallbackService {
  grpc::ServerWriteReactor<Answer>* Listen(grpc::CallbackServerContext*, const Question*) override {
    return new Answers;
  }
  // How many have left, and "busy" while any listens.
  grpc::ServerUnaryReactor* Ask(grpc::CallbackServerContext* context, const Question*, Answer* answer) override {
    answer->set_number(left);
    answer->set_text(listening > 0 ? "busy" : "idle");
    auto* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
};

int main(int argc, char** argv) {
  const std::string address = argc > 1 ? argv[1] : "0.0.0.0:50051";
  DeskService service;
  grpc::ServerBuilder builder;
  builder.AddListeningPort(address, grpc::InsecureServerCredentials());
  builder.RegisterService(&service);
  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr) {
    std::cerr << "cannot listen on " << address << std::endl;
    return 1;
  }
  std::cout << "cancellation_server listens on " << address << std::endl;
  server->Wait();
  return 0;
}
