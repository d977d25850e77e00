// RpcThreadedServer: handlers for functions, and one thread for each port that serves them (Dagger's threaded server).
//
//   RpcThreadedServer server;
//   server.handle(kEcho, [](const Request& request, Response& response) { response.copy(request.arguments); ... });
//   BasicServerThread<RingPort> thread(&server, &port);
//   while (!stop) if (thread.serve(16) == 0) port.idle();
//
// A function has a number that both sides know (handle), or a name, by which clients ask for its number (add):
// generated services have names. A server that has named functions answers the questions itself, as function
// kDirectoryFunction.
//
// A handler runs on the thread that took its request. Requests are hostile input: a line that no sender makes is
// counted and dropped, a function without a handler is answered by kStatusUnimplemented. While the port has no room for
// a response, no further request is taken.
//
// Thread-safety: handle() before any thread serves; handlers may run on several threads at once; a ServerThread belongs
// to one thread. Ownership: server and port must outlive the thread's object. No allocation for messages of one line.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "channel/layout.h"
#include "host/lines/assemblies.h"
#include "host/lines/line_message.h"
#include "host/lines/port.h"
#include "host/lines/status.h"

namespace drover::lines {

struct Request {
  uint16_t connection, function;
  std::span<const std::byte> arguments;  // until the handler returns; aligned to 16 bytes
  uint32_t call = 0;                     // its number, which its connection does not use again for long
};

// What a handler answers: bytes, or a status.
class Response {
 public:
  // Room for `size` bytes, at most kMaxMessageBytes, which the handler fills. Null: too large.
  std::byte* reserve(size_t size) {
    if (size > kMaxMessageBytes) return nullptr;
    size_ = size;
    if (size <= short_.size()) return at_ = short_.data();
    if (long_.size() < size) long_.resize(size);
    return at_ = long_.data();
  }
  bool copy(std::span<const std::byte> bytes) {
    std::byte* to = reserve(bytes.size());
    if (bytes.size() <= short_.size()) {
      copy_arguments(to, bytes.data(), bytes.size());
    } else if (to != nullptr) {
      std::memcpy(to, bytes.data(), bytes.size());
    }
    return to != nullptr;
  }
  std::span<const std::byte> bytes() const { return {at_, size_}; }
  void clear() { size_ = 0, at_ = short_.data(); }

 private:
  alignas(16) std::array<std::byte, kLineArguments> short_;
  std::vector<std::byte> long_;
  std::byte* at_ = short_.data();
  size_t size_ = 0;
};

// What a client has to know of a function to call it: hashes of its name and of its messages' layouts (docs/lines.md).
struct FunctionId {
  uint64_t name, layout;
};

// Returns the call's status; with another than kStatusOk the response's bytes are not sent.
using Handler = std::function<uint16_t(const Request&, Response&)>;

class RpcThreadedServer {
 public:
  void handle(uint16_t function, Handler handler) {
    if (handlers_.size() <= function) handlers_.resize(function + size_t{1});
    handlers_[function] = std::move(handler);
  }
  // A function with a name, at the next number that is free. False: the server has that name, or 65,535 functions.
  bool add(const FunctionId& id, Handler handler) {
    size_t number = std::max<size_t>(handlers_.size(), kDirectoryFunction + 1);
    if (number > UINT16_MAX || named_.contains(id.name)) return false;
    named_.emplace(id.name, Named{id.layout, static_cast<uint16_t>(number)});
    handle(static_cast<uint16_t>(number), std::move(handler));
    return true;
  }
  uint16_t serve(const Request& request, Response& response) const {
    if (request.function >= handlers_.size() || !handlers_[request.function]) [[unlikely]] {
      return request.function == kDirectoryFunction && !named_.empty() ? tell(request, response) : kStatusUnimplemented;
    }
    return handlers_[request.function](request, response);
  }

 private:
  struct Named {
    uint64_t layout;
    uint16_t number;
  };

  // Answers a client's FunctionQuestions.
  uint16_t tell(const Request& request, Response& response) const {
    const size_t count = request.arguments.size() / sizeof(FunctionQuestion);
    if (count == 0 || request.arguments.size() % sizeof(FunctionQuestion) != 0) return kStatusInvalidArgument;
    std::byte* to = response.reserve(count * sizeof(FunctionAnswer));
    for (size_t i = 0; i < count; ++i) {
      FunctionQuestion question;
      std::memcpy(&question, request.arguments.data() + i * sizeof question, sizeof question);
      FunctionAnswer answer{};
      auto known = named_.find(question.name);
      answer.found = static_cast<uint8_t>(FunctionFound::kUnknown);
      if (known != named_.end() && known->second.layout != question.layout) {
        answer.found = static_cast<uint8_t>(FunctionFound::kOtherLayout);
      } else if (known != named_.end()) {
        answer.found = static_cast<uint8_t>(FunctionFound::kKnown);
        answer.function = known->second.number;
      }
      std::memcpy(to + i * sizeof answer, &answer, sizeof answer);
    }
    return kStatusOk;
  }

  std::vector<Handler> handlers_;
  std::unordered_map<uint64_t, Named> named_;  // by the name's hash
};

struct ServerCounters {
  uint64_t calls = 0;
  uint64_t failed = 0;      // answered by another status than kStatusOk
  uint64_t malformed = 0;   // lines that no sender makes
  uint64_t incomplete = 0;  // requests of several lines that were dropped, because one of them is missing
  uint64_t too_many = 0;    // messages of several lines dropped for want of a place; lines that still come of them are
                            // of an incomplete one
};

struct ServerThreadOptions {
  uint32_t max_assemblies = 1024;  // messages of several lines under way (Assemblies)
};

template <Port P>
class BasicServerThread {
 public:
  BasicServerThread(const RpcThreadedServer* server, P* port, const ServerThreadOptions& options = {})
      : server_(*server), port_(*port), longer_(options.max_assemblies) {}

  // Takes at most `limit` lines and answers the calls among them. Returns the lines taken.
  uint32_t serve(uint32_t limit) {
    uint32_t taken = 0;
    Slot slot;
    while (taken < limit && finish_response() && port_.try_pop(slot)) {
      ++taken;
      take(line_view(slot));
    }
    if (taken != 0) {
      finish_response();
      port_.flush();
    }
    return taken;
  }
  const ServerCounters& counters() const { return counters_; }

 private:
  void take(const LineSlot& line) {
    if (!well_formed(line) || (line.flags & (kLineResponse | kLineFailed)) != 0) [[unlikely]] {
      if (line.type == kLineCloseType) {
        longer_.forget(line.connection);
      } else {
        ++counters_.malformed;
      }
      return;
    }
    if (line.index == 0 && (line.flags & kLineLast) != 0) [[likely]] {
      return answer(line, {reinterpret_cast<const std::byte*>(line.arguments), line.length});
    }
    const Assemblies::Taken taken = longer_.take(line);
    if (taken.incomplete) ++counters_.incomplete;
    if (taken.displaced) ++counters_.too_many;
    if (taken.whole) answer(line, taken.message);
  }

  void answer(const LineSlot& line, std::span<const std::byte> arguments) {
    ++counters_.calls;
    response_.clear();
    uint16_t status = server_.serve({line.connection, line.function, arguments, line.call}, response_);
    head_ = {line.connection, line.function, line.call, kLineResponse};
    if (status != kStatusOk) {
      ++counters_.failed;
      head_.function = status;
      head_.flags |= kLineFailed;
      response_.clear();
    }
    next_ = 0;
    lines_ = lines_of(response_.bytes().size());
    finish_response();
  }

  // Pushes what is left of the last response; false: the port has no room for all of it.
  bool finish_response() {
    for (; next_ < lines_; ++next_) {
      if (!port_.try_push(slot_view(line_of(head_, response_.bytes(), next_)))) return port_.flush(), false;
    }
    return true;
  }

  const RpcThreadedServer& server_;
  P& port_;
  Assemblies longer_;
  Response response_;  // the last one; its lines from next_ on are not yet pushed
  LineHead head_;
  uint32_t next_ = 0, lines_ = 0;
  ServerCounters counters_;
};

}  // namespace drover::lines
