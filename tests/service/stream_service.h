// drover.testing.StreamService in gRPC C++'s synchronous and callback APIs.
#pragma once

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <thread>

#include "asked_for.h"
#include "journal.h"
#include "testing.grpc.pb.h"

namespace drover::testing {

struct StreamCounters {
  std::atomic<int64_t> running{0}, cancelled{0}, read{0}, written{0};

  void show(StreamStatsReply* reply) {
    reply->set_running(running);
    reply->set_cancelled(cancelled);
    reply->set_read(read);
    reply->set_written(written);
  }
};
inline StreamCounters stream_counters;

inline void pause(int64_t millis) {
  if (millis > 0) std::this_thread::sleep_for(std::chrono::milliseconds(millis));
}

inline grpc::Status status_of(int code) {
  return code == 0 ? grpc::Status::OK : grpc::Status(static_cast<grpc::StatusCode>(code), "as asked for");
}

// The payload of every item of Spread.
inline std::string spread_payload(const SpreadRequest& request) {
  std::string payload(request.tag());
  payload.resize(static_cast<size_t>(request.size()), 's');
  return payload;
}

// What Collect says.
class Collected {
 public:
  void add(const Item& item) {
    in_order_ = in_order_ && item.number() == count_;
    ++count_;
    const std::string_view payload(item.payload());
    bytes_ += static_cast<int64_t>(payload.size());
    for (const char c : payload) {
      low_ = (low_ + static_cast<unsigned char>(c)) % 65521;
      high_ = (high_ + low_) % 65521;
    }
    ++stream_counters.read;
    pause(item.pause_millis());
  }
  void show(Summary* summary) const {
    summary->set_count(count_);
    summary->set_bytes(bytes_);
    summary->set_in_order(in_order_);
    summary->set_adler(high_ << 16 | low_);
  }

 private:
  int64_t count_ = 0, bytes_ = 0;
  uint32_t low_ = 1, high_ = 0;  // of Adler-32
  bool in_order_ = true;
};

class SyncStreams final : public StreamService::Service {
  class Running {
   public:
    explicit Running(grpc::ServerContext* context) : context_(context) {
      ++stream_counters.running;
      note(*context);
    }
    ~Running() {
      if (context_->IsCancelled()) ++stream_counters.cancelled;
      --stream_counters.running;
    }

   private:
    grpc::ServerContext* context_;
  };

  grpc::Status Spread(grpc::ServerContext* context, const SpreadRequest* request,
                      grpc::ServerWriter<Item>* writer) override {
    Running running(context);
    compress_as_asked(context);
    const grpc::WriteOptions options = write_options(*context);
    Item item;
    item.set_payload(spread_payload(*request));
    for (int64_t i = 0; i < request->count(); ++i) {
      item.set_number(i);
      if (!writer->Write(item, options)) break;
      ++stream_counters.written;
      pause(request->pause_millis());
    }
    return status_of(request->code());
  }
  grpc::Status Collect(grpc::ServerContext* context, grpc::ServerReader<Item>* reader, Summary* summary) override {
    Running running(context);
    if (early_millis(context) > 0) reader->SendInitialMetadata();
    Collected collected;
    Item item;
    while (reader->Read(&item)) collected.add(item);
    collected.show(summary);
    return grpc::Status::OK;
  }
  grpc::Status Talk(grpc::ServerContext* context, grpc::ServerReaderWriter<Item, Item>* stream) override {
    return talk(context, stream);
  }
  grpc::Status Early(grpc::ServerContext* context, grpc::ServerReaderWriter<Item, Item>* stream) override {
    context->AddInitialMetadata("early", "bird");
    context->AddTrailingMetadata("late", "owl");
    stream->SendInitialMetadata();
    return talk(context, stream);
  }
  grpc::Status StreamStats(grpc::ServerContext*, const StatsRequest*, StreamStatsReply* reply) override {
    stream_counters.show(reply);
    return grpc::Status::OK;
  }

  static grpc::Status talk(grpc::ServerContext* context, grpc::ServerReaderWriter<Item, Item>* stream) {
    Running running(context);
    Item item;
    while (stream->Read(&item)) {
      ++stream_counters.read;
      if (item.code() != 0) return status_of(item.code());
      pause(item.pause_millis());
      if (!stream->Write(item)) break;
      ++stream_counters.written;
    }
    return grpc::Status::OK;
  }
};

class CallbackStreams final : public StreamService::CallbackService {
  // Counts a reactor's life; frees it behind OnDone.
  template <class Base>
  class Counted : public Base {
   public:
    Counted() { ++stream_counters.running; }
    void OnCancel() override { ++stream_counters.cancelled; }
    void OnDone() override {
      --stream_counters.running;
      delete this;
    }
  };

  class Spreader final : public Counted<grpc::ServerWriteReactor<Item>> {
   public:
    Spreader(const SpreadRequest* request, grpc::WriteOptions options) : request_(request), options_(options) {
      item_.set_payload(spread_payload(*request));
      next();
    }
    void OnWriteDone(bool ok) override {
      if (!ok) return Finish(grpc::Status::CANCELLED);
      ++stream_counters.written;
      pause(request_->pause_millis());
      next();
    }

   private:
    void next() {
      if (sent_ == request_->count()) return Finish(status_of(request_->code()));
      item_.set_number(sent_++);
      StartWrite(&item_, options_);
    }
    const SpreadRequest* request_;
    const grpc::WriteOptions options_;
    int64_t sent_ = 0;
    Item item_;
  };

  class Collector final : public Counted<grpc::ServerReadReactor<Item>> {
   public:
    Collector(Summary* summary, bool early) : summary_(summary) {
      if (early) StartSendInitialMetadata();
      StartRead(&item_);
    }
    void OnReadDone(bool ok) override {
      if (!ok) {
        collected_.show(summary_);
        return Finish(grpc::Status::OK);
      }
      collected_.add(item_);
      StartRead(&item_);
    }

   private:
    Summary* summary_;
    Collected collected_;
    Item item_;
  };

  class Talker final : public Counted<grpc::ServerBidiReactor<Item, Item>> {
   public:
    explicit Talker(bool early) {
      if (early) StartSendInitialMetadata();
      StartRead(&item_);
    }
    void OnReadDone(bool ok) override {
      if (!ok) return Finish(grpc::Status::OK);
      ++stream_counters.read;
      if (item_.code() != 0) return Finish(status_of(item_.code()));
      pause(item_.pause_millis());
      StartWrite(&item_);
    }
    void OnWriteDone(bool ok) override {
      if (!ok) return Finish(grpc::Status::CANCELLED);
      ++stream_counters.written;
      StartRead(&item_);
    }

   private:
    Item item_;
  };

  grpc::ServerWriteReactor<Item>* Spread(grpc::CallbackServerContext* context, const SpreadRequest* request) override {
    note(*context);
    compress_as_asked(context);
    return new Spreader(request, write_options(*context));
  }
  grpc::ServerReadReactor<Item>* Collect(grpc::CallbackServerContext* context, Summary* summary) override {
    note(*context);
    return new Collector(summary, early_millis(context) > 0);
  }
  grpc::ServerBidiReactor<Item, Item>* Talk(grpc::CallbackServerContext* context) override {
    note(*context);
    return new Talker(false);
  }
  grpc::ServerBidiReactor<Item, Item>* Early(grpc::CallbackServerContext* context) override {
    note(*context);
    context->AddInitialMetadata("early", "bird");
    context->AddTrailingMetadata("late", "owl");
    return new Talker(true);
  }
  grpc::ServerUnaryReactor* StreamStats(grpc::CallbackServerContext* context, const StatsRequest*,
                                        StreamStatsReply* reply) override {
    stream_counters.show(reply);
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
};

}  // namespace drover::testing
