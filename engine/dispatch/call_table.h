// CallTable: the calls of one engine thread, by the index and generation that travel in the rings.
//
//   index 0 1 2 3 ...      blocks of 256 CallStates that never move; free ones form a last-in-first-out list
//   generation             counts how often the index was given out, so that a slot of an earlier call is not
//                          mistaken for this one's
//
// A CallState lives as long as either side needs it: the transport (until reply_sent or abandon) and the host (until
// it has completed and finished the call). It allocates nothing in the steady state.
// Thread-safety: none; one engine thread.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "channel/chunk_pool.h"
#include "codec/encode/encode.h"
#include "engine/base/timer_wheel.h"
#include "engine/call/call.h"

namespace drover::engine {

class HostLink;
class LongParse;
struct ReplyAccount;
struct Route;
struct StreamState;

struct FreeDeleter {
  void operator()(char* memory) const { std::free(memory); }
};

struct CallState {
  enum class Phase : uint8_t {
    kFree,
    kReceiving,  // begun; the request is not complete yet
    kWaiting,    // the request is complete; no host, or no host with room
    kParsing,    // the request is complete and large: `parse` is at it
    kRunning,    // a worker has it
    kReplied,    // `reply` was called; the transport is sending
    kOver,       // the transport has released it; the host has not
  };

  TimerNode timer;  // first member: a node's address is its CallState's
  Call* call = nullptr;
  Account* payer = nullptr;  // whom it is charged to, also after its connection has gone; null: it is not charged
  Route* route = nullptr;
  uint32_t index = 0;
  uint32_t generation = 0;
  Phase phase = Phase::kFree;

  // ---- the host that it was given to, or whose memory it uses; pinned while not null
  HostLink* host = nullptr;
  uint32_t lane = 0;
  uint32_t method = 0;  // its number at that host
  enum Owed : uint8_t {
    kComplete = 1,  // the host has not sent COMPLETE
    kFinished = 2,  // the host still reads the request
    kRelease = 4,   // tx_call is to be given back when the reply is out
    kSteps = 8,     // steps of the reply refer to the host's memory, or are to be given back (StreamState)
  };
  uint8_t owed = 0;               // of Owed: while anything is, the call keeps the host's memory
  bool cancelled : 1 = false;     // CANCEL is on its way
  bool headers_sent : 1 = false;  // of a reply that does not stream: its initial metadata, before it
  uint32_t tx_call = 0;
  uint64_t tx_bytes = 0;          // about how much memory that is
  RunList runs;                   // rx memory of `host`
  HostLink* rx_holder = nullptr;  // whose RxShares count `rx_held` bytes; pinned by the call or its parse
  size_t rx_held = 0;
  CallState* next_of_host = nullptr;  // HostCalls' list
  CallState** link_of_host = nullptr;

  // ---- the request's wire bytes while it is received or waits; in one of `runs`, or on the heap
  char* message = nullptr;
  size_t message_size = 0;
  size_t message_capacity = 0;  // of the buffer, with one byte behind the message
  size_t arriving = 0;          // charged while the message arrives into the region, and until its call is started
  std::unique_ptr<char, FreeDeleter> heap_message;

  LongParse* parse = nullptr;  // of the request, or of the oldest message of its input

  // ---- waiting
  CallState* next_waiting = nullptr;
  CallState* previous_waiting = nullptr;
  int64_t wait_until_ns = 0;   // 0: it has not waited yet
  uint32_t wanted_chunks = 0;  // a lower bound of the rx memory that it needs

  // ---- the reply, while the transport sends it
  Encoded* reply = nullptr;  // from the dispatcher's pool
  size_t reply_memory = 0;   // heap bytes that were charged for it
  size_t reply_lent = 0;     // bytes of tx that were charged
  Piece reply_copy{};        // where it was copied rather than lent
  std::unique_ptr<char, FreeDeleter> reply_bytes;
  ReplyAccount* reply_host = nullptr;  // with `reply`: the host that its memory is charged to

  StreamState* stream = nullptr;  // if the request or the reply streams
  uint32_t stream_flags = 0;      // of MethodFlag: which of them
};

class CallTable {
 public:
  CallTable() = default;
  CallTable(const CallTable&) = delete;
  CallTable& operator=(const CallTable&) = delete;

  // Makes the next take() succeed. Throws std::bad_alloc.
  void reserve() {
    if (free_.empty()) grow();
  }
  // A fresh CallState (phase kReceiving).
  CallState& take() {
    reserve();
    CallState& state = *at(free_.back());
    free_.pop_back();
    ++in_use_;
    state.phase = CallState::Phase::kReceiving;
    return state;
  }
  // Its runs, buffers and timer must have been released.
  void give_back(CallState& state) {
    state.phase = CallState::Phase::kFree;
    state.wait_until_ns = 0;
    ++state.generation;
    free_.push_back(state.index);
    --in_use_;
  }

  // The call of that index and generation, or null. Any values are safe.
  CallState* find(uint32_t index, uint32_t generation) {
    if (index >= size()) return nullptr;
    CallState* state = at(index);
    return state->generation == generation && state->phase != CallState::Phase::kFree ? state : nullptr;
  }

  // Frees blocks that a burst of calls has left behind. Call now and then; it may take time that grows with size().
  void shrink() {
    size_t keep = blocks_.size();
    if (blocks_.size() <= kKeptBlocks || in_use_ > size() / 4) return;
    while (keep > kKeptBlocks && is_free(*blocks_[keep - 1])) --keep;
    if (keep == blocks_.size()) return;
    const auto end = static_cast<uint32_t>(keep * kBlock);
    for (uint32_t i = end; i < size(); ++i) first_generation_ = std::max(first_generation_, at(i)->generation + 1);
    blocks_.resize(keep);
    std::erase_if(free_, [end](uint32_t index) { return index >= end; });
  }

  uint32_t size() const { return static_cast<uint32_t>(blocks_.size() * kBlock); }
  uint32_t in_use() const { return in_use_; }
  // index < size(); the state may be free.
  CallState* at(uint32_t index) { return &(*blocks_[index / kBlock])[index % kBlock]; }

 private:
  static constexpr uint32_t kBlock = 256;
  static constexpr size_t kKeptBlocks = 16;
  using Block = std::array<CallState, kBlock>;

  static bool is_free(const Block& block) {
    return std::all_of(block.begin(), block.end(), [](const auto& s) { return s.phase == CallState::Phase::kFree; });
  }
  void grow() {
    uint32_t first = size();
    free_.reserve(size() + kBlock);
    blocks_.push_back(std::make_unique<Block>());
    for (uint32_t i = kBlock; i-- > 0;) {
      at(first + i)->index = first + i;
      at(first + i)->generation = first_generation_;
      free_.push_back(first + i);
    }
  }

  std::vector<std::unique_ptr<Block>> blocks_;
  uint32_t first_generation_ = 1;  // above those of blocks that were freed
  std::vector<uint32_t> free_;
  uint32_t in_use_ = 0;
};

}  // namespace drover::engine
