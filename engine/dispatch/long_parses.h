// LongParses: the requests of one engine thread whose parsing takes longer than one turn may give to a client.
//
//   begin --> parsed at once, for kAtOnceNs --> over
//               '--> suspended --> serve: slices of later turns --> over --> given to its worker
//
//   FairQueue --+-- an address --+-- a connection: its requests, one behind the other
//               |                '-- a connection
//               '-- an address
//
// Addresses share the time of these turns as FairQueue has it, whatever their requests cost. Of a connection one
// request is suspended at a time, with a stack of its own, which the connection is charged with (kMemory); others wait
// behind it as wire bytes, which it is charged with as well. So a connection holds one stack, and an address as many as
// it has connections and `limits.address_memory` allows.
//
// A host whose memory is written stays pinned; if it is gone meanwhile, the parse is stopped.
// Thread-safety: none; one engine thread. What is parsed at once allocates nothing in the steady state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>

#include "engine/base/clock.h"
#include "engine/base/fair_queue.h"
#include "engine/dispatch/host_links.h"
#include "engine/dispatch/long_parse.h"

namespace drover::engine {

class LongParses {
 public:
  struct Options {
    int64_t at_once_ns = 300'000;  // of the turn that a request comes in
    int64_t serve_ns = 500'000;    // of each later turn, for all of them
  };
  // Smaller requests are parsed in one piece: at 25 ns a byte, which is about the most, within 0.8 ms.
  static constexpr size_t kLeastBytes = 32 << 10;

  LongParses(const Options& options, HostLinks& links) : options_(options), links_(links) {}
  ~LongParses();
  LongParses(const LongParses&) = delete;
  LongParses& operator=(const LongParses&) = delete;

  enum class Begun : uint8_t {
    kOver,      // *built is the result
    kLater,     // state.parse goes on with it
    kNoMemory,  // over the account's budget, or none
  };
  // The wire bytes must stay until it is over or dropped. Throws std::bad_alloc; then nothing has changed.
  Begun begin(const LongParse::Request& request, BuiltRequest* built);
  // Ends the call's parse, if it has one.
  void drop(CallState& state) {
    if (state.parse != nullptr) [[unlikely]]
      drop_parse(state);
  }

  // Once a turn: goes on with them, and calls finish(CallState&, LongParse&) -> bool for those that are over or whose
  // host is gone. The call has no parse then. False: the worker has no room, and finish is to be called again.
  template <typename Finish>
  bool serve(Finish finish) {
    if (lines_.empty() && over_.first == nullptr) [[likely]]
      return false;
    step_all();
    bool did = false;
    for (uint32_t left = over_.size; left != 0 && over_.first != nullptr; --left) {
      std::unique_ptr<LongParse> parse(over_.first);
      over_.remove(*parse);
      CallState& state = *parse->request().state;
      state.parse = nullptr;
      if (finish(state, *parse)) {
        did = true;
        end(std::move(parse));
      } else {
        state.parse = parse.get();
        over_.push(*parse.release());
      }
    }
    return did || busy();
  }
  // serve() has something to do at once.
  bool busy() const { return !queue_.empty(); }
  // Whether any is over whose worker has no room.
  bool any_over() const { return over_.first != nullptr; }
  uint32_t size() const { return size_; }            // suspended, or behind others
  uint64_t suspended() const { return suspended_; }  // so far

 private:
  struct List {
    LongParse* first = nullptr;
    LongParse* last = nullptr;
    uint32_t size = 0;
    void push(LongParse& parse);
    void remove(LongParse& parse);
  };
  // A connection that has any.
  struct Line : FairQueue::Member {
    List parses;
  };

  std::unique_ptr<LongParse> spare();
  void end(std::unique_ptr<LongParse> parse);
  void drop_parse(CallState& state);
  void step_all();
  bool step(LongParse& parse, int64_t until_ns);
  static void count(LongParse& parse);
  static bool charge(LongParse& parse);
  static void discharge(LongParse& parse);
  void leave_line(Account* payer);

  const Options options_;
  HostLinks& links_;
  std::unordered_map<Account*, Line> lines_;
  FairQueue queue_;
  FairQueue::Share uncharged_share_;  // of calls without an account
  List over_;
  uint32_t size_ = 0;
  uint64_t suspended_ = 0;
  std::unique_ptr<LongParse> spare_;  // with its stack
};

}  // namespace drover::engine
