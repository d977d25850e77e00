// The guide to a town through completion queues: each call is an object that goes from state to state as its tags come.
// CMakeLists.txt builds it twice, as places_queue_server on Drover and as places_queue_server_grpc on gRPC C++.
//
//   places_queue_server [ADDRESS]      ADDRESS is 0.0.0.0:50052 unless given; SIGTERM ends it in order
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <csignal>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "places.grpc.pb.h"
#include "town.h"

using grpc::ServerCompletionQueue;
using grpc::ServerContext;
using grpc::Status;
using places::Note;
using places::Place;
using places::Places;
using places::Rectangle;
using places::Spot;
using places::WalkSummary;

namespace {

constexpr int kThreads = 2;  // with a queue each

Town town;

// A call, and the tag of its operations, of which one at a time is underway.
class Call {
 public:
  Call(Places::AsyncService* service, ServerCompletionQueue* queue) : service_(service), queue_(queue) {}
  virtual ~Call() = default;

  void proceed(bool ok) {
    switch (state_) {
      case State::kRequested:
        if (!ok) break;  // the server is shutting down
        again();
        return begin();
      case State::kServing:
        return step(ok);
      case State::kFinishing:
        break;
    }
    delete this;
  }

 protected:
  enum class State { kRequested, kServing, kFinishing };

  // Another object of this kind, for the next client.
  virtual void again() = 0;
  virtual void begin() = 0;
  virtual void step(bool ok) = 0;

  Places::AsyncService* const service_;
  ServerCompletionQueue* const queue_;
  ServerContext context_;
  State state_ = State::kRequested;
};

class Look final : public Call {
 public:
  Look(Places::AsyncService* service, ServerCompletionQueue* queue) : Call(service, queue) {
    service_->RequestLook(&context_, &spot_, &responder_, queue_, queue_, this);
  }

 private:
  void again() override { new Look(service_, queue_); }
  void begin() override {
    state_ = State::kFinishing;
    if (const Place* found = town.at(spot_)) {
      responder_.Finish(*found, Status::OK, this);
    } else {
      responder_.FinishWithError(Status(grpc::StatusCode::NOT_FOUND, "there is nothing at this spot"), this);
    }
  }
  void step(bool) override {}

  Spot spot_;
  grpc::ServerAsyncResponseWriter<Place> responder_{&context_};
};

class Search final : public Call {
 public:
  Search(Places::AsyncService* service, ServerCompletionQueue* queue) : Call(service, queue) {
    service_->RequestSearch(&context_, &area_, &writer_, queue_, queue_, this);
  }

 private:
  void again() override { new Search(service_, queue_); }
  void begin() override {
    found_ = town.inside(area_);
    state_ = State::kServing;
    step(true);
  }
  void step(bool ok) override {
    if (ok && written_ < found_.size()) return writer_.Write(*found_[written_++], this);
    state_ = State::kFinishing;
    writer_.Finish(ok ? Status::OK : Status::CANCELLED, this);
  }

  Rectangle area_;
  grpc::ServerAsyncWriter<Place> writer_{&context_};
  std::vector<const Place*> found_;
  size_t written_ = 0;
};

class Walk final : public Call {
 public:
  Walk(Places::AsyncService* service, ServerCompletionQueue* queue) : Call(service, queue) {
    service_->RequestWalk(&context_, &reader_, queue_, queue_, this);
  }

 private:
  void again() override { new Walk(service_, queue_); }
  void begin() override {
    state_ = State::kServing;
    reader_.Read(&spot_, this);
  }
  void step(bool ok) override {
    if (ok) {
      walk_.add(town, spot_);
      return reader_.Read(&spot_, this);
    }
    state_ = State::kFinishing;
    reader_.Finish(walk_.summary(), Status::OK, this);
  }

  Spot spot_;
  WalkSoFar walk_;
  grpc::ServerAsyncReader<WalkSummary, Spot> reader_{&context_};
};

class Talk final : public Call {
 public:
  Talk(Places::AsyncService* service, ServerCompletionQueue* queue) : Call(service, queue) {
    service_->RequestTalk(&context_, &stream_, queue_, queue_, this);
  }

 private:
  void again() override { new Talk(service_, queue_); }
  void begin() override {
    state_ = State::kServing;
    read();
  }
  void read() {
    reading_ = true;
    stream_.Read(&note_, this);
  }
  void step(bool ok) override {
    if (!ok) {
      state_ = State::kFinishing;
      return stream_.Finish(reading_ ? Status::OK : Status::CANCELLED, this);
    }
    if (reading_) {
      before_ = town.leave(note_);
      written_ = 0;
      reading_ = false;
    }
    if (written_ == before_.size()) return read();
    stream_.Write(before_[written_++], this);
  }

  Note note_;
  std::vector<Note> before_;
  size_t written_ = 0;
  bool reading_ = false;
  grpc::ServerAsyncReaderWriter<Note, Note> stream_{&context_};
};

void serve(Places::AsyncService* service, ServerCompletionQueue* queue) {
  new Look(service, queue);
  new Search(service, queue);
  new Walk(service, queue);
  new Talk(service, queue);
  void* tag = nullptr;
  bool ok = false;
  while (queue->Next(&tag, &ok)) static_cast<Call*>(tag)->proceed(ok);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string address = argc > 1 ? argv[1] : "0.0.0.0:50052";
  sigset_t ending;
  sigemptyset(&ending);
  sigaddset(&ending, SIGTERM);
  sigaddset(&ending, SIGINT);
  pthread_sigmask(SIG_BLOCK, &ending, nullptr);  // before any thread starts

  Places::AsyncService service;
  grpc::ServerBuilder builder;
  builder.AddListeningPort(address, grpc::InsecureServerCredentials());
  builder.RegisterService(&service);
  std::vector<std::unique_ptr<ServerCompletionQueue>> queues;
  for (int i = 0; i < kThreads; ++i) queues.push_back(builder.AddCompletionQueue());
  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (!server) {
    std::cerr << "cannot listen on " << address << std::endl;
    return 1;
  }
  std::cout << "places listens on " << address << std::endl;

  std::vector<std::thread> threads;
  for (auto& queue : queues) threads.emplace_back(serve, &service, queue.get());
  int number = 0;
  sigwait(&ending, &number);
  server->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(1));
  for (auto& queue : queues) queue->Shutdown();
  for (std::thread& thread : threads) thread.join();
  return 0;
}
