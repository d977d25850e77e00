// HostRegistration: a host's messages before it serves: its Hello, schema images and methods. Makes its region and the
// HostAttachment that the engine threads will share.
//
// What a host sends is hostile: sizes and counts are bounded, schema images are copied before they are checked, and
// every refusal names the value. Thread-safety: none; the control thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "channel/control.h"
#include "channel/layout.h"
#include "engine/control/control_options.h"
#include "engine/dispatch/host_link.h"

namespace drover::engine {

// The descriptors of all hosts, those of hosts that have left included as long as an answer refers to them. It keeps a
// reference to each, so that no engine thread drops the last one: freeing them would take that thread's time.
// Thread-safety: none; the control thread. The references to what it keeps may be dropped by any thread.
class DescriptorTotals {
 public:
  // With their indexes.
  uint64_t bytes() const { return bytes_; }
  // Throws std::bad_alloc.
  void add(std::shared_ptr<const DescriptorIndex> index);
  // Its host has left.
  void leave(const DescriptorIndex* index);
  // Those of hosts that have left are waited for.
  bool waits() const;
  // Those that nothing refers to any more.
  std::vector<std::shared_ptr<const DescriptorIndex>> take_unused();

 private:
  struct Kept {
    std::shared_ptr<const DescriptorIndex> index;
    bool left = false;
  };
  std::vector<Kept> kept_;
  uint64_t bytes_ = 0;
};

// What all hosts have together, until their sessions have ended.
struct HostTotals {
  uint64_t region_bytes = 0;
  uint64_t routes = 0;  // of hosts that have said Start
  DescriptorTotals descriptors = {};
};

class HostRegistration {
 public:
  // `user`: whom the kernel names. `totals` outlives it.
  HostRegistration(const ControlOptions& options, HostTotals& totals, uid_t user)
      : options_(options), totals_(totals), user_(user) {}
  ~HostRegistration();
  HostRegistration(const HostRegistration&) = delete;
  HostRegistration& operator=(const HostRegistration&) = delete;

  // The steps, in this order. False: refused, `error` says why.
  bool greet(const Hello& hello, uint64_t id, int pid, uint32_t engine_threads, ControlError* error);
  bool add_image(const RegisterImage& image, int fd, ControlError* error);
  bool add_methods(const RegisterMethods& methods, ControlError* error);
  // The host asks for server reflection. Its services are listed from finish() on. One whose descriptors are larger
  // than is allowed is not described, but serves: the log says so.
  bool add_descriptors(const RegisterDescriptors& descriptors, int fd, ControlError* error);
  // The host asks for channelz at its addresses; clients there see what the host's user has.
  bool add_channelz(const ServeChannelz& serve, ControlError* error);
  bool add_line_name(const ServeLines& serve, ControlError* error);
  // Before an address is opened: whether the host may have it beside those that it has.
  bool check_address(const std::string& address, ControlError* error) const;
  // Charges the routes. No further methods will come: frees what only the checks needed. `seat`: as HostAttachment has
  // it. A method that has not the field which its rule names (dispatch.balance) serves, and the log says so.
  bool finish(uint32_t seat, ControlError* error);
  bool serves_lines(const std::string& name) const;
  bool has_method(const std::string& path) const { return paths_.contains(path); }

  // Of the methods registered so far.
  uint64_t path_bytes() const { return path_bytes_; }
  // Null before greet.
  const std::shared_ptr<HostAttachment>& attachment() const { return attachment_; }
  // Gives the attachment up; nothing else is called after it.
  std::shared_ptr<HostAttachment> release() { return std::move(attachment_); }
  // The descriptors that go with a Welcome: rx, tx, and a doorbell for each engine thread.
  std::vector<int> welcome_fds() const;

 private:
  bool check_method(const RegisterMethods::Method& method, ControlError* error) const;
  // Null: `why`; `too_large`: a bound is passed.
  std::shared_ptr<const DescriptorIndex> index(std::string set, std::string* why, bool* too_large);
  bool check_routes(size_t methods, size_t addresses, ControlError* error) const;
  void list_services();
  void check_balance() const;

  const ControlOptions& options_;
  HostTotals& totals_;
  const uid_t user_;
  uint64_t region_bytes_ = 0;  // charged to totals_
  uint64_t routes_ = 0;        // likewise
  std::shared_ptr<HostAttachment> attachment_;
  bool asks_for_reflection_ = false;
  std::shared_ptr<const DescriptorIndex> descriptors_;  // null: the host is not described
  const DescriptorIndex* counted_ = nullptr;            // in totals_
  std::unordered_set<std::string> paths_;
  uint64_t image_bytes_ = 0;
  uint64_t path_bytes_ = 0;
};

}  // namespace drover::engine
