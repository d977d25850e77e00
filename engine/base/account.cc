#include "engine/base/account.h"

#include <algorithm>

#include "engine/base/heap.h"

namespace drover::engine {

namespace {

// Of the memory that kArriving or kLent takes, in quarters, by level. 0: no limit; the memory itself is one.
constexpr std::array<size_t, kLevels> kShareQuarters = {0, 3, 2};

// Of what may be decoded in a second, what may be at once; and by an address that is new, since there are many.
constexpr double kBurstPart = 16, kFirstPart = 256;
// The same of wrong tokens, of a second of which as many may come at once.
constexpr double kFirstTokensPart = 16;
// Of an address's rate, what one connection may use: others of the address, behind one proxy, keep as much.
constexpr double kConnectionTokensPart = 2;
constexpr size_t kTrimBytes = 8 << 20;
constexpr size_t kBytesACall = 2 << 10;  // about, in tables and pools

constexpr size_t index(Level level) { return static_cast<size_t>(level); }
constexpr size_t index(Resource resource) { return static_cast<size_t>(resource); }

}  // namespace

const char* resource_name(Resource resource) {
  switch (resource) {
    case Resource::kMemory:
      return "memory";
    case Resource::kCalls:
      return "calls";
    case Resource::kArriving:
      return "arriving";
    case Resource::kLent:
      return "lent";
    case Resource::kDecoding:
      return "decoding";
    case Resource::kRequests:
      return "requests";
    case Resource::kVerifying:
      return "verifying";
  }
  return "?";
}

const char* level_name(Level level) {
  switch (level) {
    case Level::kThread:
      return "thread";
    case Level::kAddress:
      return "address";
    case Level::kConnection:
      return "connection";
  }
  return "?";
}

// With a rate of 1, a connection has a burst of one token all the same.
TokenBucket Account::wrong_tokens(const LedgerLimits& limits, Level level, int64_t now_ns) {
  const double rate = limits.wrong_token_rate / (level == Level::kConnection ? kConnectionTokensPart : 1);
  return {rate, std::max(rate, 1.0), now_ns, std::max(rate / kFirstTokensPart, 1.0)};
}

Account::Account(Ledger& ledger, Level level, std::string name, Account* parent, int64_t now_ns)
    : ledger_(ledger),
      parent_(parent),
      decoding_(ledger.limits_.decoding_rate, ledger.limits_.decoding_rate / kBurstPart, now_ns,
                ledger.limits_.decoding_rate / kFirstPart),
      verifying_(wrong_tokens(ledger.limits_, level, now_ns)),
      level_(level),
      name_(std::move(name)) {
  limits_.fill(SIZE_MAX);
  limits_[index(Resource::kMemory)] = ledger.limits_[level].memory;
  limits_[index(Resource::kCalls)] = ledger.limits_[level].calls;
  if (parent_ != nullptr) ++parent_->references_;
}

// The last reference has gone, and the last call.
void Account::drop() {
  measure(0);
  if (level_ == Level::kAddress) ledger_.addresses_.erase(name_);
  AccountRef parent(parent_);
  if (parent_ != nullptr) --parent_->references_;  // ours; `parent` holds another
  delete this;
}

bool Account::refuse(Resource resource) {
  ledger_.refused_[index(resource)][index(level_)]->add();
  return false;
}

bool Account::charge_share(Resource resource, size_t amount, size_t whole) {
  const size_t r = index(resource);
  for (Account* one = this; one != nullptr; one = one->parent_) {
    const size_t quarters = kShareQuarters[index(one->level_)], limit = whole / 4 * quarters;
    if (quarters != 0 && (amount > limit || one->held_[r] > limit - amount)) return one->refuse(resource);
  }
  for (Account* one = this; one != nullptr; one = one->parent_) one->held_[r] += amount;
  return true;
}

Account* Account::over() {
  Account* widest = nullptr;
  const size_t r = index(Resource::kMemory);
  for (Account* one = this; one != nullptr; one = one->parent_) {
    if (one->held_[r] > one->limits_[r]) widest = one;
  }
  return widest;
}

Ledger::Ledger(const LedgerLimits& limits, ThreadMetrics& metrics) : limits_(limits), metrics_(metrics) {
  for (size_t r = 0; r < kResources; ++r) {
    const char* resource = resource_name(static_cast<Resource>(r));
    if (r < kHeldResources) {
      held_[r] = metrics.gauge("drover_client_held", "Memory (bytes) and calls that clients make the engine hold",
                               {{"resource", resource}});
    }
    for (size_t l = 0; l < kLevels; ++l) {
      refused_[r][l] = metrics.counter("drover_client_refused_total", "What was over the budget of a principal",
                                       {{"resource", resource}, {"principal", level_name(static_cast<Level>(l))}});
    }
  }
  for (size_t l = 0; l < kLevels; ++l) {
    cut_off_[l] = metrics.counter("drover_connections_cut_off_total",
                                  "Connections closed because a principal held more memory than its budget",
                                  {{"principal", level_name(static_cast<Level>(l))}});
  }
  thread_ = AccountRef(new Account(*this, Level::kThread, {}, nullptr, 0));
}

Ledger::~Ledger() {
  thread_.reset();
  for (const Gauge* gauge : held_) metrics_.remove(gauge);
  for (const Counter* counter : cut_off_) metrics_.remove(counter);
  for (const auto& levels : refused_) {
    for (const Counter* counter : levels) metrics_.remove(counter);
  }
}

AccountRef Ledger::open_connection(const std::string& address, int64_t now_ns) {
  auto known = addresses_.find(address);
  if (known == addresses_.end()) {
    auto* account = new Account(*this, Level::kAddress, address, thread_.get(), now_ns);
    known = addresses_.emplace(address, account).first;
  }
  return AccountRef(new Account(*this, Level::kConnection, {}, known->second, now_ns));
}

void Ledger::update() {
  for (size_t r = 0; r < kHeldResources; ++r) held_[r]->set(static_cast<int64_t>(thread_->held_[r]));
  const size_t held = thread_->held(Resource::kMemory) + kBytesACall * thread_->held(Resource::kCalls);
  most_held_ = std::max(most_held_, held);
  if (most_held_ - held < kTrimBytes) return;
  most_held_ = held;
  heap::want_trim();
}

}  // namespace drover::engine
