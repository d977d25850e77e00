// A client of the key-value service that knows what each answer must be. It has keys of its own, so that it is their
// only writer. The same source runs on droverd's lanes and on a simulated NIC.
//
//   KeyValueLoad<LanePort> load(&client, {.number = 3});
//   while (load.ended() < calls && load.error().empty()) if (!load.step(outstanding)) client.idle();
//   load.finish();
//
// A Set writes the number of the key and how often the client has set it. Calls overtake each other where a network
// loses or reorders lines, so that a Get may see any Set that had begun when it ended, but none that was older than the
// last one answered before it began. Thread-safety: one thread.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "kv.lines.pb.h"

namespace lines_kv {

struct KeyValueLoadOptions {
  uint32_t number = 0;      // of this client: names its keys
  uint32_t keys = 64;       // at most 4096
  uint32_t set_every = 4;   // a Set each so many calls, a Get otherwise
  uint32_t scan_every = 0;  // a Scan each so many calls in place of a Get; 0: none
  int64_t timeout_ns = 0;   // of each call; 0: none. A call that expires is counted, and is no error
};

template <drover::lines::Port P>
class KeyValueLoad {
 public:
  using Client = KeyValueLines::Client<P>;
  using Status = drover::lines::Status;

  // `ended`: told of each call that ended well, with the time at which it began (port's clock).
  KeyValueLoad(
      P* port, Client* client, const KeyValueLoadOptions& options,
      std::function<void(int64_t began_ns)> ended = [](int64_t) {})
      : port_(*port), client_(*client), options_(options), ended_call_(std::move(ended)), keys_(options.keys) {}

  // Begins calls until `outstanding` are, and takes what has come. False: there was nothing to do.
  bool step(uint32_t outstanding) {
    bool any = false;
    while (error_.empty() && client_.outstanding() < outstanding && begin()) any = true;
    if (any) client_.flush();
    return client_.poll(64) != 0 || any;
  }
  // Waits for all calls to end.
  void finish() {
    while (client_.outstanding() != 0) {
      if (client_.poll(64) == 0) port_.idle();
    }
  }

  uint64_t begun() const { return begun_; }
  uint64_t ended() const { return ended_; }  // well
  uint64_t expired() const { return expired_; }
  const std::string& error() const { return error_; }  // the first

 private:
  struct Key {
    uint64_t begun = 0, answered = 0;  // Sets
  };
  using Text = std::array<char, 15>;

  std::string_view key_text(uint32_t key, Text* text) const {
    return {text->data(), static_cast<size_t>(std::snprintf(text->data(), text->size(), "c%05u/k%04u",
                                                            options_.number % 100'000, key))};
  }
  // What the `times`th Set of a key writes.
  std::string value_text(uint32_t key, uint64_t times) const {
    return std::to_string(options_.number % 100'000) + "." + std::to_string(key) + "=" + std::to_string(times);
  }

  bool begin() {
    const uint64_t call = begun_;
    const uint32_t key = static_cast<uint32_t>(call * 2654435761u >> 7) % options_.keys;
    drover::lines::BeginResult result;
    if (call % options_.set_every == 0) {
      result = begin_set(key);
    } else if (options_.scan_every != 0 && call % options_.scan_every == 1) {
      result = begin_scan();
    } else {
      result = begin_get(key);
    }
    if (result == drover::lines::BeginResult::kClosed) fail("the connection was closed");
    if (result != drover::lines::BeginResult::kOk) return false;
    ++begun_;
    return true;
  }

  drover::lines::BeginResult begin_set(uint32_t key) {
    Text text;
    const uint64_t times = keys_[key].begun + 1;
    SetRequestFixed request;
    if (!request.set_key(key_text(key, &text)) || !request.set_value(value_text(key, times))) {
      fail("a key or a value that does not fit");
    }
    auto result = client_.AsyncSet(
        request,
        [this, key, times, began = port_.now_ns()](const Status& status, const SetResponseFixed& response) {
          if (!good(status, began)) return;
          keys_[key].answered = std::max(keys_[key].answered, times);
          if (response.version() == 0 || response.version() > keys_[key].begun) fail("a version that cannot be");
        },
        options_.timeout_ns);
    if (result == drover::lines::BeginResult::kOk) keys_[key].begun = times;
    return result;
  }

  drover::lines::BeginResult begin_get(uint32_t key) {
    Text text;
    GetRequestFixed request;
    if (!request.set_key(key_text(key, &text))) fail("a key that does not fit");
    auto get_ended = [this, key, least = keys_[key].answered, began = port_.now_ns()](
                         const Status& status, const GetResponseFixed& response) {
      if (status.code == drover::lines::kStatusNotFound && least == 0) return (void)good({}, began);
      if (!good(status, began)) return;
      check_value(key, least, response.value());
    };
    return client_.AsyncGet(request, get_ended, options_.timeout_ns);
  }

  // The first keys of this client, as a message of any shape.
  drover::lines::BeginResult begin_scan() {
    constexpr uint32_t kLimit = 8;
    ScanRequest request;
    Text text;
    request.set_prefix(std::string(key_text(0, &text).substr(0, 7)));
    request.set_limit(kLimit);
    auto scan_ended = [this, began = port_.now_ns()](const Status& status, const ScanResponse& response) {
      if (!good(status, began)) return;
      std::string last;
      for (const ScanResponse::Entry& entry : response.entries()) {
        const std::string key(std::string_view(entry.key()));
        unsigned number = 0, at = 0;
        if (std::sscanf(key.c_str(), "c%05u/k%04u", &number, &at) != 2 || at >= options_.keys || key <= last) {
          return fail("a Scan gave the key " + key);
        }
        check_value(at, 0, entry.value());
        last = key;
      }
      if (response.entries_size() > static_cast<int>(kLimit)) fail("a Scan gave more than its limit");
    };
    return client_.AsyncScan(request, scan_ended, options_.timeout_ns);
  }

  // Whether the value is that of a Set from the `least`th on that has begun.
  void check_value(uint32_t key, uint64_t least, std::string_view value) {
    const size_t equals = value.find('=');
    const uint64_t times = equals == std::string_view::npos
                               ? 0
                               : std::strtoull(std::string(value.substr(equals + 1)).c_str(), nullptr, 10);
    if (times < std::max<uint64_t>(least, 1) || times > keys_[key].begun || value != value_text(key, times)) {
      fail("key " + std::to_string(key) + " has the value '" + std::string(value) + "'");
    }
  }

  bool good(const Status& status, int64_t began) {
    if (status.code == drover::lines::kStatusDeadlineExceeded && options_.timeout_ns != 0) {
      ++expired_;
      return false;
    }
    if (!status.ok()) {
      fail(std::string("a call ended in ") + drover::lines::status_name(status.code) + " " + status.reason);
      return false;
    }
    ++ended_;
    ended_call_(began);
    return true;
  }
  void fail(const std::string& what) {
    if (error_.empty()) error_ = what;
  }

  P& port_;
  Client& client_;
  const KeyValueLoadOptions options_;
  const std::function<void(int64_t)> ended_call_;
  std::vector<Key> keys_;
  uint64_t begun_ = 0, ended_ = 0, expired_ = 0;
  std::string error_;
};

}  // namespace lines_kv
