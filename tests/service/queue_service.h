// drover.testing.TestService and StreamService in gRPC C++'s asynchronous API: each call is an object that goes on when
// one of its tags comes out of the queue.
#pragma once

#include <grpcpp/alarm.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "asked_for.h"
#include "journal.h"
#include "stream_service.h"
#include "testing.grpc.pb.h"

namespace drover::testing {

class QueueCall {
 public:
  struct Tag {
    QueueCall* call;
    bool done;  // of AsyncNotifyWhenDone
  };
  explicit QueueCall(grpc::ServerCompletionQueue* queue) : queue_(queue) { context_.AsyncNotifyWhenDone(&done_); }
  virtual ~QueueCall() = default;

  void proceed(const Tag& tag, bool ok) {
    if (!started_ && !ok) {
      delete this;  // the server is shutting down
      return;
    }
    if (!started_) {
      started_ = true;
      again();
      begin();
    } else if (tag.done) {
      over(context_.IsCancelled());
      release();
    } else if (finishing_) {
      release();
    } else {
      step(ok);
    }
  }

 protected:
  virtual void again() = 0;
  virtual void begin() = 0;
  virtual void step(bool /*ok*/) {}
  virtual void over(bool /*cancelled*/) {}
  void* finish_tag() {
    finishing_ = true;
    return &step_;
  }
  // step comes in that time.
  void pause_then_step(int64_t millis) {
    alarm_.Set(queue_, std::chrono::system_clock::now() + std::chrono::milliseconds(millis), &step_);
  }

  grpc::ServerCompletionQueue* const queue_;
  grpc::ServerContext context_;
  Tag step_{this, false}, done_{this, true};

 private:
  void release() {
    if (--users_ == 0) delete this;
  }
  grpc::Alarm alarm_;
  bool started_ = false, finishing_ = false;
  int users_ = 2;  // the tag of Finish, and that of the end
};

// Answers at once.
template <class Service, class Request, class Reply>
class QueueUnary final : public QueueCall {
 public:
  using Responder = grpc::ServerAsyncResponseWriter<Reply>;
  using Requester = void (Service::*)(grpc::ServerContext*, Request*, Responder*, grpc::CompletionQueue*,
                                      grpc::ServerCompletionQueue*, void*);
  using Work = std::function<grpc::Status(grpc::ServerContext*, const Request&, Reply*)>;

  QueueUnary(Service* service, grpc::ServerCompletionQueue* queue, Requester requester, Work work)
      : QueueCall(queue), service_(service), requester_(requester), work_(std::move(work)) {
    (service_->*requester_)(&context_, &request_, &responder_, queue, queue, &step_);
  }

 private:
  void again() override { new QueueUnary(service_, queue_, requester_, work_); }
  void begin() override {
    note(context_);
    early_ = early_millis(&context_);
    status_ = work_(&context_, request_, &reply_);
    if (early_ > 0) return responder_.SendInitialMetadata(&step_);
    responder_.Finish(reply_, status_, finish_tag());
  }
  // The initial metadata have gone, and then the time has passed.
  void step(bool ok) override {
    if (ok && early_ > 0) return pause_then_step(std::exchange(early_, 0));
    responder_.Finish(reply_, status_, finish_tag());
  }

  Service* const service_;
  const Requester requester_;
  const Work work_;
  Request request_;
  Reply reply_;
  grpc::Status status_;
  Responder responder_{&context_};
  int64_t early_ = 0;
};

// Looks once a millisecond, by an alarm.
class QueueSleep final : public QueueCall {
 public:
  struct Counters {
    std::atomic<int64_t>&calls, &running, &cancelled;
  };
  QueueSleep(TestService::AsyncService* service, grpc::ServerCompletionQueue* queue, Counters counters)
      : QueueCall(queue), service_(service), counters_(counters) {
    service_->RequestSleep(&context_, &request_, &responder_, queue, queue, &step_);
  }

 private:
  void again() override { new QueueSleep(service_, queue_, counters_); }
  void begin() override {
    note(context_);
    ++counters_.calls;
    ++counters_.running;
    end_ = std::chrono::steady_clock::now() + std::chrono::milliseconds(request_.millis());
    step(true);
  }
  void step(bool /*ok*/) override {
    if (!cancelled_ && std::chrono::steady_clock::now() < end_) return pause_then_step(1);
    --counters_.running;
    SleepReply reply;
    reply.set_cancelled(cancelled_);
    responder_.Finish(reply, grpc::Status::OK, finish_tag());
  }
  void over(bool cancelled) override {
    cancelled_ = cancelled;
    if (cancelled) ++counters_.cancelled;
  }

  TestService::AsyncService* const service_;
  const Counters counters_;
  SleepRequest request_;
  grpc::ServerAsyncResponseWriter<SleepReply> responder_{&context_};
  std::chrono::steady_clock::time_point end_;
  bool cancelled_ = false;
};

// ---- streams

class QueueStream : public QueueCall {
 public:
  QueueStream(StreamService::AsyncService* service, grpc::ServerCompletionQueue* queue)
      : QueueCall(queue), service_(service) {}

 protected:
  void begin() override {
    note(context_);
    ++stream_counters.running;
  }
  void over(bool cancelled) override {
    if (cancelled) ++stream_counters.cancelled;
    --stream_counters.running;
  }
  // True if step comes again after that time.
  bool pauses(int64_t millis) {
    if (std::exchange(paused_, !paused_) || millis <= 0) return paused_ = false;
    pause_then_step(millis);
    return true;
  }
  StreamService::AsyncService* const service_;

 private:
  bool paused_ = false;
};

class QueueSpread final : public QueueStream {
 public:
  QueueSpread(StreamService::AsyncService* service, grpc::ServerCompletionQueue* queue) : QueueStream(service, queue) {
    service_->RequestSpread(&context_, &request_, &writer_, queue, queue, &step_);
  }

 private:
  void again() override { new QueueSpread(service_, queue_); }
  void begin() override {
    QueueStream::begin();
    compress_as_asked(&context_);
    item_.set_payload(spread_payload(request_));
    next();
  }
  void step(bool ok) override {
    if (!ok) return writer_.Finish(grpc::Status::CANCELLED, finish_tag());
    if (pauses(request_.pause_millis())) return;
    next();
  }
  void next() {
    if (sent_ == request_.count()) return writer_.Finish(status_of(request_.code()), finish_tag());
    item_.set_number(sent_++);
    ++stream_counters.written;
    writer_.Write(item_, write_options(context_), &step_);
  }
  SpreadRequest request_;
  grpc::ServerAsyncWriter<Item> writer_{&context_};
  Item item_;
  int64_t sent_ = 0;
};

class QueueCollect final : public QueueStream {
 public:
  QueueCollect(StreamService::AsyncService* service, grpc::ServerCompletionQueue* queue) : QueueStream(service, queue) {
    service_->RequestCollect(&context_, &reader_, queue, queue, &step_);
  }

 private:
  void again() override { new QueueCollect(service_, queue_); }
  void begin() override {
    QueueStream::begin();
    if ((early_ = early_millis(&context_)) > 0) return reader_.SendInitialMetadata(&step_);
    reader_.Read(&item_, &step_);
  }
  void step(bool ok) override {
    if (std::exchange(early_, 0) > 0) return reader_.Read(&item_, &step_);
    if (ok && pauses(item_.pause_millis())) return;
    if (ok) {
      item_.set_pause_millis(0);
      collected_.add(item_);
      return reader_.Read(&item_, &step_);
    }
    Summary summary;
    collected_.show(&summary);
    reader_.Finish(summary, grpc::Status::OK, finish_tag());
  }
  grpc::ServerAsyncReader<Summary, Item> reader_{&context_};
  int64_t early_ = 0;
  Item item_;
  Collected collected_;
};

class QueueTalk final : public QueueStream {
 public:
  QueueTalk(StreamService::AsyncService* service, grpc::ServerCompletionQueue* queue, bool early)
      : QueueStream(service, queue), early_(early) {
    if (early) {
      service_->RequestEarly(&context_, &stream_, queue, queue, &step_);
    } else {
      service_->RequestTalk(&context_, &stream_, queue, queue, &step_);
    }
  }

 private:
  enum class Next { kRead, kGot, kWrote };

  void again() override { new QueueTalk(service_, queue_, early_); }
  void begin() override {
    QueueStream::begin();
    if (!early_) return step(true);
    context_.AddInitialMetadata("early", "bird");
    context_.AddTrailingMetadata("late", "owl");
    stream_.SendInitialMetadata(&step_);
  }
  void step(bool ok) override {
    if (next_ == Next::kRead) {
      next_ = Next::kGot;
      return stream_.Read(&item_, &step_);
    }
    if (!ok) return stream_.Finish(grpc::Status::OK, finish_tag());
    if (next_ == Next::kWrote) {
      ++stream_counters.written;
      next_ = Next::kRead;
      return step(true);
    }
    if (pauses(item_.pause_millis())) return;
    ++stream_counters.read;
    if (item_.code() != 0) return stream_.Finish(status_of(item_.code()), finish_tag());
    next_ = Next::kWrote;
    stream_.Write(item_, &step_);
  }
  const bool early_;
  grpc::ServerAsyncReaderWriter<Item, Item> stream_{&context_};
  Item item_;
  Next next_ = Next::kRead;
};

// The queues, and a thread for each.
class QueueThreads {
 public:
  static constexpr int kQueues = 2;

  QueueThreads(grpc::ServerBuilder& builder) {
    builder.RegisterService(&calls);
    builder.RegisterService(&streams);
    for (int i = 0; i < kQueues; ++i) queues.push_back(builder.AddCompletionQueue());
  }
  // `request` posts the first call of each method.
  void run(const std::function<void(grpc::ServerCompletionQueue*)>& request) {
    for (auto& queue : queues) {
      request(queue.get());
      new QueueSpread(&streams, queue.get());
      new QueueCollect(&streams, queue.get());
      new QueueTalk(&streams, queue.get(), false);
      new QueueTalk(&streams, queue.get(), true);
      using Stats = QueueUnary<StreamService::AsyncService, StatsRequest, StreamStatsReply>;
      new Stats(&streams, queue.get(), &StreamService::AsyncService::RequestStreamStats,
                [](auto*, const auto&, auto* reply) {
                  stream_counters.show(reply);
                  return grpc::Status::OK;
                });
      threads_.emplace_back([raw = queue.get()] {
        void* got = nullptr;
        bool ok = false;
        while (raw->Next(&got, &ok)) {
          auto* tag = static_cast<QueueCall::Tag*>(got);
          tag->call->proceed(*tag, ok);
        }
      });
    }
  }
  // After the server's Shutdown.
  void end() {
    for (auto& queue : queues) queue->Shutdown();
    for (std::thread& thread : threads_) thread.join();
  }

  TestService::AsyncService calls;
  StreamService::AsyncService streams;
  std::vector<std::unique_ptr<grpc::ServerCompletionQueue>> queues;

 private:
  std::vector<std::thread> threads_;
};

}  // namespace drover::testing
