// EchoSink: a CallSink for tests and for measuring the transport alone. Answers a request with its own bytes, its x-
// metadata as initial and its y- metadata as trailing metadata; "x-status: N" ends the call with status N and the
// message "status N". Paths: "/hold" is never answered (until the test says so), "/missing" is UNIMPLEMENTED,
// "/stream" is a stream each way: each message comes back, and the call ends when the client half-closes. "/collect" is
// a stream of requests: the answer is all of them, one behind the other. Of "/early" the metadata "early: bird" goes
// out at once, and the answer when the test says so.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/metrics.h"
#include "engine/call/call.h"

namespace drover::engine {

class EchoSink : public CallSink {
 public:
  EchoSink(ReplySink& replies, ThreadMetrics& metrics) : replies_(replies), metrics_(metrics) {}
  virtual ~EchoSink() {
    for (Echo* echo : spare_) delete echo;
  }

  Status open(Call& call) override {
    if (call.path == "/missing") return {StatusCode::kUnimplemented, "unknown method " + std::string(call.path)};
    if (call.path != last_path_) {
      last_metrics_ = metrics_.method(call.path);
      last_path_ = call.path;
    }
    last_authority = call.authority;
    last_peer = call.peer->address;
    spare_.reserve(spare_.size() + static_cast<size_t>(open_calls) + 1);  // to end a call takes no memory
    Echo* echo;
    if (spare_.empty()) {
      echo = new Echo();
    } else {
      echo = spare_.back();
      spare_.pop_back();
    }
    echo->early = call.path == "/early";
    echo->hold = echo->early || call.path == "/hold";
    echo->collects = call.path == "/collect";
    call.reply_streams = call.path == "/stream";
    call.request_streams = echo->streams = call.reply_streams || echo->collects;
    call.metrics = last_metrics_;
    call.max_request_bytes = max_request_bytes;
    call.dispatch = echo;
    ++open_calls;
    last_begun = &call;
    last_deadline_ns = call.deadline_ns;
    return {};
  }
  void start(Call& call) override {
    if (!static_cast<Echo*>(call.dispatch)->streams) std::abort();
    ++started;
    streams_.push_back(&call);
  }
  std::span<char> message_buffer(Call& call, size_t size, size_t received) override {
    auto& echo = *static_cast<Echo*>(call.dispatch);
    if (echo.in_buffer != (received > 0)) std::abort();
    if (no_memory) return {};
    echo.bytes.resize(received == 0 ? std::min(size, first_buffer) : std::min(size, 2 * received));
    buffered += received == 0;
    echo.in_buffer = true;
    return echo.bytes;
  }
  bool waits(const Call&) const override { return hold; }
  void message(Call& call, std::string_view wire, More) override {
    auto& echo = *static_cast<Echo*>(call.dispatch);
    if (echo.streams) return stream_message(call, wire);
    if (!echo.in_buffer) echo.bytes.assign(wire);
    ++completed;
    if (echo.hold) {
      held.push_back(&call);
      if (echo.early) send_headers(call);
    } else {
      answer(call);
    }
  }
  void half_close(Call& call) override {
    if (!static_cast<Echo*>(call.dispatch)->streams) std::abort();
    ++half_closed;
    if (static_cast<Echo*>(call.dispatch)->collects) return answer(call);
    Reply reply;
    replies_.reply(call, reply);
  }
  // Tells the transport that the host is done with so many messages of a stream.
  void consume(Call& call, size_t messages) {
    auto& echo = *static_cast<Echo*>(call.dispatch);
    for (; messages != 0; --messages) {
      const size_t size = echo.unconsumed.front();
      echo.unconsumed.pop_front();
      replies_.consumed(call, 1, size);
    }
  }
  // One message of the oldest stream that has any.
  void consume_any() {
    for (Call* call : streams_) {
      if (static_cast<Echo*>(call->dispatch)->unconsumed.empty()) continue;
      return consume(*call, 1);
    }
  }
  // The next message of a reply that streams.
  void send(Call& call, std::string_view bytes) {
    auto& echo = *static_cast<Echo*>(call.dispatch);
    auto& step = echo.steps.emplace_back();
    step.bytes = bytes;
    step.piece = {step.bytes.data(), step.bytes.size()};
    Reply reply;
    reply.ends = false;
    reply.has_message = true;
    reply.message = {&step.piece, 1};
    reply.message_size = bytes.size();
    reply.compress = wish;
    reply.as_it_is = as_they_are;
    if (!replies_.reply(call, reply)) return;
    if (call.dispatch == &echo && !echo.steps.empty()) echo.steps.pop_back();
  }
  // Initial metadata in front of the answer.
  void send_headers(Call& call) {
    initial_ = {{"early", "bird"}};
    Reply reply;
    reply.initial = initial_;
    reply.ends = false;
    reply.compress = wish;
    if (!replies_.reply(call, reply)) std::abort();
  }
  void answer(Call& call) {
    auto& echo = *static_cast<Echo*>(call.dispatch);
    Reply reply;
    std::string message;
    initial_.clear();
    trailing_.clear();
    for (const Header& header : call.metadata) {
      if (header.first == "x-status") {
        reply.code = static_cast<StatusCode>(std::atoi(header.second.c_str()));
        message = "status " + header.second;
      } else if (header.first.starts_with("x-")) {
        initial_.push_back(header);
      } else if (header.first.starts_with("y-")) {
        trailing_.push_back(header);
      }
    }
    reply.status_message = message;
    reply.initial = initial_;
    reply.trailing = trailing_;
    reply.has_message = reply.code == StatusCode::kOk;
    echo.piece = {echo.bytes.data(), echo.bytes.size()};
    reply.message = {&echo.piece, 1};
    reply.message_size = echo.bytes.size();
    reply.compress = wish;
    replies_.reply(call, reply);
  }
  void abandon(Call& call) override {
    ++abandoned;
    end(call);
  }
  void reply_sent(Call& call) override {
    auto& echo = *static_cast<Echo*>(call.dispatch);
    if (!echo.steps.empty()) {
      ++steps_sent;
      return echo.steps.pop_front();
    }
    ++sent;
    end(call);
  }

  uint32_t max_request_bytes = 4u << 20;
  Compress wish = Compress::kNo;  // of replies
  bool as_they_are = false;       // messages of streams
  bool hold = false;
  bool no_memory = false;          // message_buffer refuses
  size_t first_buffer = SIZE_MAX;  // how much of a message message_buffer gives at first
  std::vector<Call*> held;
  bool consumes = true;  // messages of streams, at once
  bool echoes = true;    // messages of streams
  int started = 0, half_closed = 0, steps_sent = 0;
  std::vector<std::string> messages;  // of streams
  int open_calls = 0, completed = 0, abandoned = 0, sent = 0, buffered = 0;
  Call* last_begun = nullptr;
  int64_t last_deadline_ns = 0;
  std::string last_authority, last_peer;

 private:
  struct Echo {
    std::string bytes;
    Piece piece;
    bool in_buffer = false;
    bool hold = false;
    bool early = false;
    bool streams = false;
    bool collects = false;
    struct Step {
      std::string bytes;
      Piece piece;
    };
    std::deque<Step> steps;  // that the transport refers to
    std::deque<size_t> unconsumed;
  };
  void stream_message(Call& call, std::string_view wire) {
    auto& echo = *static_cast<Echo*>(call.dispatch);
    messages.emplace_back(wire);
    if (echo.collects) echo.bytes.append(wire);
    echo.unconsumed.push_back(wire.size());
    if (consumes) consume(call, 1);
    if (echoes && !echo.collects) send(call, wire);
  }

  void end(Call& call) {
    --open_calls;
    std::erase(held, &call);
    std::erase(streams_, &call);
    auto* echo = static_cast<Echo*>(call.dispatch);
    echo->in_buffer = echo->collects = false;
    echo->bytes.clear();
    echo->steps.clear();
    echo->unconsumed.clear();
    spare_.push_back(echo);
    call.dispatch = nullptr;
  }

  ReplySink& replies_;
  ThreadMetrics& metrics_;
  std::vector<Echo*> spare_;
  std::vector<Call*> streams_;  // open ones
  std::vector<Header> initial_, trailing_;
  std::string last_path_;
  MethodMetrics* last_metrics_ = nullptr;
};

}  // namespace drover::engine
