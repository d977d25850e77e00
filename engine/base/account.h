// Accounts: what an engine thread holds and does on behalf of its clients, by principal.
//
//   engine thread --+-- address ---+-- connection
//                   |              +-- connection
//                   +-- address -----  connection
//
// A charge counts at an account and at every account above it, or is refused and counts nowhere. A refusal is the
// caller's to act upon: it refuses the call, copies instead of lending, or postpones. What is measured after the fact
// (a session's tables and queues) is never refused; the connection's owner looks at `over` and cuts connections off.
//
// An address is an IPv4 address, or the first 64 bits of an IPv6 address; all unix sockets are one. An account lives as
// long as a reference to it, or a call that is charged to it: calls that a host still runs stay charged after their
// connection has closed.
//
// Thread-safety: none; one engine thread. Charging does not allocate.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "engine/base/fair_queue.h"
#include "engine/base/metrics.h"
#include "engine/base/token_bucket.h"

namespace drover::engine {

enum class Resource : uint8_t {
  kMemory,     // bytes of heap
  kCalls,      // from open until the transport and the host are both done with them
  kArriving,   // bytes of rx, reserved by the announced length of messages that are still arriving, or wait there
  kLent,       // bytes of tx that replies refer to until the client has taken them
  kDecoding,   // work: bytes of header fields, decoded, a second; of addresses only
  kRequests,   // bytes of one host's rx that requests hold (engine/dispatch/rx_shares.h)
  kVerifying,  // work: signatures of tokens that were wrong, a second; of connections and addresses
};
inline constexpr size_t kResources = 7;
inline constexpr size_t kHeldResources = 4;  // those that accounts hold
const char* resource_name(Resource resource);

// The levels of accounts, from the widest.
enum class Level : uint8_t { kThread, kAddress, kConnection };
inline constexpr size_t kLevels = 3;
const char* level_name(Level level);

// kArriving and kLent have no limit of their own: one connection may take half of the memory in question, and one
// address three quarters.
struct AccountLimits {
  size_t memory = SIZE_MAX;
  size_t calls = SIZE_MAX;
};
struct LedgerLimits {
  AccountLimits& operator[](Level level) { return levels[static_cast<size_t>(level)]; }
  const AccountLimits& operator[](Level level) const { return levels[static_cast<size_t>(level)]; }

  std::array<AccountLimits, kLevels> levels;
  double decoding_rate = 1e18;     // of an address, bytes a second; a sixteenth of it at once
  double wrong_token_rate = 1e18;  // of an address, a second; as many at once; of a connection, half
};

class Ledger;

class Account {
 public:
  Account(const Account&) = delete;
  Account& operator=(const Account&) = delete;

  Level level() const { return level_; }
  const std::string& name() const { return name_; }  // of an address: "192.0.2.1"; else empty
  Account* parent() const { return parent_; }

  // False: over a limit here or above; nothing was charged.
  bool charge(Resource resource, size_t amount) {
    const auto r = static_cast<size_t>(resource);
    for (Account* one = this; one != nullptr; one = one->parent_) {
      if (amount > one->limits_[r] || one->held_[r] > one->limits_[r] - amount) [[unlikely]]
        return one->refuse(resource);
    }
    for (Account* one = this; one != nullptr; one = one->parent_) one->held_[r] += amount;
    return true;
  }
  // A call of a connection's account: as charge and release of one kCalls. The account stays until leave_call.
  bool enter_call() {
    Account &address = *parent_, &thread = *address.parent_;
    if (!has_room_for_call() || !address.has_room_for_call() || !thread.has_room_for_call()) [[unlikely]] {
      return charge(Resource::kCalls, 1);  // refused, and counted
    }
    ++held_[kCallsIndex];
    ++address.held_[kCallsIndex];
    ++thread.held_[kCallsIndex];
    return true;
  }
  void leave_call() {
    --parent_->parent_->held_[kCallsIndex];
    --parent_->held_[kCallsIndex];
    if (--held_[kCallsIndex] == 0 && references_ == 0) [[unlikely]]
      drop();
  }
  // As charge, of kArriving or kLent: the share of `whole` bytes of memory is the limit.
  bool charge_share(Resource resource, size_t amount, size_t whole);
  // For a resource that is counted elsewhere: something waits because this account holds too much of it.
  void count_refusal(Resource resource) { (void)refuse(resource); }
  // What was charged.
  void release(Resource resource, size_t amount) {
    const auto r = static_cast<size_t>(resource);
    for (Account* one = this; one != nullptr; one = one->parent_) one->held_[r] -= amount;
  }
  // Sets the part of kMemory that is measured rather than charged. Never refused.
  void measure(size_t bytes) {
    if (bytes == measured_) return;
    for (Account* one = this; one != nullptr; one = one->parent_) {
      one->held_[static_cast<size_t>(Resource::kMemory)] += bytes - measured_;  // modulo 2^64
    }
    measured_ = bytes;
  }
  size_t held(Resource resource) const { return held_[static_cast<size_t>(resource)]; }
  // SIZE_MAX: no limit.
  size_t limit(Resource resource) const { return limits_[static_cast<size_t>(resource)]; }
  // Work for a connection's address: bytes of header fields, decoded. False: more than the address may ask for.
  bool spend_decoding(size_t bytes, int64_t now_ns) {
    return parent_->decoding_.spend(now_ns, static_cast<double>(bytes)) || refuse(Resource::kDecoding);
  }
  // Before a signature of a token is verified for a connection and its address. False: too many of either were wrong.
  bool spend_verification(int64_t now_ns) {
    if (!verifying_.spend(now_ns)) return refuse(Resource::kVerifying);
    if (parent_->verifying_.spend(now_ns)) return true;
    verifying_.give_back();
    return parent_->refuse(Resource::kVerifying);
  }
  // It was right.
  void give_back_verification() {
    verifying_.give_back();
    parent_->verifying_.give_back();
  }
  // Of the engine thread's time, where it is scarce: an address's.
  FairQueue::Share& share() { return share_; }
  // The same of the time for large requests (engine/dispatch/long_parses.h).
  FairQueue::Share& parsing_share() { return parsing_share_; }
  // The same of the time for compressed messages (engine/grpc/message_coder.h).
  FairQueue::Share& coding_share() { return coding_share_; }
  // The widest account, from this one upwards, that holds more memory than its limit; null: all is well.
  Account* over();

 private:
  friend class Ledger;
  friend class AccountRef;

  Account(Ledger& ledger, Level level, std::string name, Account* parent, int64_t now_ns);
  ~Account() = default;
  static constexpr size_t kCallsIndex = static_cast<size_t>(Resource::kCalls);
  bool has_room_for_call() const { return held_[kCallsIndex] < limits_[kCallsIndex]; }
  static TokenBucket wrong_tokens(const LedgerLimits& limits, Level level, int64_t now_ns);
  bool refuse(Resource resource);
  void drop();

  Ledger& ledger_;
  Account* const parent_;  // referred to
  std::array<size_t, kResources> held_{};
  std::array<size_t, kResources> limits_;
  size_t measured_ = 0;
  TokenBucket decoding_, verifying_;
  FairQueue::Share share_;
  FairQueue::Share parsing_share_;
  FairQueue::Share coding_share_;
  uint32_t references_ = 0;
  const Level level_;
  const std::string name_;
};

// A counted reference; may be empty.
class AccountRef {
 public:
  AccountRef() = default;
  explicit AccountRef(Account* account) : account_(account) {
    if (account_ != nullptr) ++account_->references_;
  }
  AccountRef(const AccountRef& other) : AccountRef(other.account_) {}
  AccountRef(AccountRef&& other) noexcept : account_(std::exchange(other.account_, nullptr)) {}
  AccountRef& operator=(AccountRef other) noexcept {
    std::swap(account_, other.account_);
    return *this;
  }
  ~AccountRef() { reset(); }
  void reset() {
    Account* account = std::exchange(account_, nullptr);
    if (account == nullptr || --account->references_ != 0) return;
    if (account->level_ != Level::kConnection || account->held_[Account::kCallsIndex] == 0) account->drop();
  }
  Account* get() const { return account_; }
  Account* operator->() const { return account_; }
  explicit operator bool() const { return account_ != nullptr; }

 private:
  Account* account_ = nullptr;
};

// The accounts of one engine thread, and their metrics. Outlives every AccountRef.
class Ledger {
 public:
  Ledger(const LedgerLimits& limits, ThreadMetrics& metrics);
  ~Ledger();
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;

  // An account for a connection from that address. `now_ns`: CLOCK_MONOTONIC.
  AccountRef open_connection(const std::string& address, int64_t now_ns = 0);
  Account& thread() { return *thread_.get(); }
  size_t addresses() const { return addresses_.size(); }

  // Call about once a second: sets the gauges, and asks for a trim of the heap when much less is held than lately.
  void update();
  // A connection was closed because `of` held too much.
  void count_cut_off(Level of) { cut_off_[static_cast<size_t>(of)]->add(); }

 private:
  friend class Account;

  const LedgerLimits limits_;
  ThreadMetrics& metrics_;
  std::array<std::array<Counter*, kLevels>, kResources> refused_;
  std::array<Counter*, kLevels> cut_off_;
  std::array<Gauge*, kHeldResources> held_;
  std::map<std::string, Account*, std::less<>> addresses_;
  AccountRef thread_;
  size_t most_held_ = 0;  // bytes, since the last trim
};

}  // namespace drover::engine
