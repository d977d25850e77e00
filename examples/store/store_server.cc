// A store of messages under the names of methods: a generic service, which takes calls of any name and never parses
// what they carry, beside an ordinary service. CMakeLists.txt builds it twice, as store_server on Drover and as
// store_server_grpc on gRPC C++.
//
//   store_server [ADDRESS]      ADDRESS is 0.0.0.0:50051 unless given; SIGTERM ends it in order
//
//   a call of /any/key with messages      keeps them, in place of those that were there, and answers with nothing
//   a call of /any/key without, or with   answers with what is kept, one message for each, or NOT_FOUND.
//   an empty one alone                    So a unary call fetches a single message, a stream any number.
//   /store.Keeper/Count                   how many keys there are, parsed and answered as usual

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>

#include <csignal>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "store.grpc.pb.h"

namespace {

using grpc::ByteBuffer;
using grpc::Status;

using Messages = std::vector<ByteBuffer>;

class Store {
 public:
  void keep(const std::string& key, Messages messages) {
    std::lock_guard<std::mutex> lock(mutex_);
    kept_[key] = std::make_shared<const Messages>(std::move(messages));
  }
  // Null: nothing is kept there.
  std::shared_ptr<const Messages> find(const std::string& key) const {
    std::lock_guard<std::mutex> lock(mutex_);
    auto found = kept_.find(key);
    return found == kept_.end() ? nullptr : found->second;
  }
  void count(const std::string& prefix, store::CountReply* reply) const {
    std::lock_guard<std::mutex> lock(mutex_);
    for (auto at = kept_.lower_bound(prefix); at != kept_.end() && at->first.rfind(prefix, 0) == 0; ++at) {
      reply->set_keys(reply->keys() + 1);
      for (const ByteBuffer& message : *at->second) {
        reply->set_bytes(reply->bytes() + static_cast<int64_t>(message.Length()));
      }
    }
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const Messages>> kept_;
};

// One call of any name: reads to the end, then keeps or fetches.
class Visit final : public grpc::ServerGenericBidiReactor {
 public:
  Visit(Store* store, const grpc::GenericCallbackServerContext& context) : store_(store), key_(context.method()) {
    StartRead(&message_);
  }

 private:
  void OnReadDone(bool ok) override {
    if (ok) {
      if (message_.Length() != 0) brought_.push_back(message_);
      StartRead(&message_);
      return;
    }
    if (!brought_.empty()) {
      store_->keep(key_, std::move(brought_));
      message_ = ByteBuffer(nullptr, 0);  // a unary client wants a message, if an empty one
      StartWriteAndFinish(&message_, grpc::WriteOptions(), Status::OK);
      return;
    }
    kept_ = store_->find(key_);
    if (kept_ == nullptr) {
      Finish(Status(grpc::StatusCode::NOT_FOUND, "nothing is kept at " + key_));
      return;
    }
    write_next();
  }
  void OnWriteDone(bool ok) override {
    if (ok) {
      write_next();
    } else {
      Finish(Status::CANCELLED);
    }
  }
  void OnDone() override { delete this; }

  void write_next() {
    if (written_ == kept_->size()) {
      Finish(Status::OK);
    } else {
      StartWrite(&(*kept_)[written_++]);
    }
  }

  Store* const store_;
  const std::string key_;
  ByteBuffer message_;
  Messages brought_;
  std::shared_ptr<const Messages> kept_;  // what is being fetched stays, whatever is kept meanwhile
  size_t written_ = 0;
};

class AnyName final : public grpc::CallbackGenericService {
 public:
  explicit AnyName(Store* store) : store_(store) {}

 private:
  grpc::ServerGenericBidiReactor* CreateReactor(grpc::GenericCallbackServerContext* context) override {
    return new Visit(store_, *context);
  }
  Store* const store_;
};

class KeeperService final : public store::Keeper::Service {
 public:
  explicit KeeperService(const Store* store) : store_(store) {}

 private:
  Status Count(grpc::ServerContext*, const store::CountRequest* request, store::CountReply* reply) override {
    store_->count(request->prefix(), reply);
    return Status::OK;
  }
  const Store* const store_;
};

}  // namespace

int main(int argc, char** argv) {
  const std::string address = argc > 1 ? argv[1] : "0.0.0.0:50051";
  sigset_t ending;
  sigemptyset(&ending);
  sigaddset(&ending, SIGTERM);
  sigaddset(&ending, SIGINT);
  pthread_sigmask(SIG_BLOCK, &ending, nullptr);  // before any thread starts

  Store store;
  AnyName any_name(&store);
  KeeperService keeper(&store);
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort(address, grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&keeper);
  builder.RegisterCallbackGenericService(&any_name);
  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (!server) {
    std::cerr << "cannot listen on " << address << std::endl;
    return 1;
  }
  std::cout << "store listens on " << port << std::endl;

  int number = 0;
  sigwait(&ending, &number);
  server->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(1));
  return 0;
}
