// A link between an engine and a memory: when a transaction that is issued now leaves, and when it arrives.
//
//   engine  ==[ up: requests, written bytes ]==>  one_way  ==>  memory
//           <==[ down: bytes read, pushed ]==   one_way   <==   processor
//
// Each direction is a pipe that keeps order. A transaction's bytes travel in packets of at most `payload_limit`, each
// of which takes `header` bytes more; a read's request is one header. `bandwidth` is the payload rate of full packets,
// as a link is usually measured. With headers it carries rate = bandwidth * (payload_limit + header) / payload_limit
// bytes a second. Transactions of one kind begin at least `interval` apart, and at most `writes_in_flight`
// (`reads_in_flight`) of them are between their beginning and their end:
//
//   a write   begins -> left (its last byte is on the way; it is ordered) -> arrived, one_way later: visible
//   a read    begins -> request arrives one_way later -> the memory's `access` -> first byte, one_way later -> done
//   a push    a posted store of the processor's into the engine: begins -> left -> arrived, one_way later
//
// So with k in flight, n writes of s bytes end n * max(interval, t, (t + one_way) / k) after they began, about, where
// t = (s + packets * header) / rate; sim/link_test.cc has the exact figures. Where the link has a TLB (sim/tlb.h: an
// IOMMU's, on the memory's side), what arrives waits for its pages' translations: writes stay in order behind one that
// waits, reads are answered in order. The model knows no contents and no SystemC; it is deterministic, and calls must
// come with times that do not go back. Thread-safety: one thread.
#pragma once

#include <cstdint>
#include <deque>

#include "sim/platform/tlb.h"
#include "sim/platform/units.h"

namespace drover::sim {

struct LinkConfig {
  Time one_way = 0;
  double bandwidth = 1e12;        // bytes/s of payload in full packets, each direction
  uint32_t header = 0;            // bytes a packet takes beyond its payload
  uint32_t payload_limit = 4096;  // bytes a packet carries at most
  Time interval = 0;              // between the beginnings of two transactions of a kind
  uint32_t writes_in_flight = 1024, reads_in_flight = 1024;
  Time access = 0;  // the memory's own: from a request's arrival to its first byte
  TlbConfig tlb = {};
};

// What a transaction waited for: before it began, or for its translation after it arrived.
struct LinkWaits {
  Time bandwidth = 0;  // earlier bytes in its direction
  Time interval = 0;   // the transaction rate
  Time in_flight = 0;  // the limit on transactions in flight
  Time tlb = 0;        // its own misses, or those of transactions of its kind in front of it
};

struct LinkCounters {
  uint64_t writes = 0, written_bytes = 0;
  uint64_t reads = 0, read_bytes = 0;
  uint64_t pushes = 0, pushed_bytes = 0;
  LinkWaits write_waits, read_waits;
  uint64_t tlb_misses = 0;
};

class Link {
 public:
  explicit Link(const LinkConfig& config);

  struct Write {
    Time begins, left, arrived;
  };
  // `address` is for the TLB alone.
  Write write(Time now, uint64_t bytes, uint64_t address);

  struct Read {
    Time begins, first, done;
  };
  Read read(Time now, uint64_t bytes, uint64_t address);

  // Not limited by the transaction rate or the number in flight: those are limits of the engine.
  Write push(Time now, uint64_t bytes);

  // How long `bytes` keep a direction busy.
  Time wire_time(uint64_t bytes) const;
  const LinkConfig& config() const { return config_; }
  LinkCounters counters() const;

 private:
  // The limits on transactions of one kind.
  struct Gate {
    Time next = 0;          // by the interval
    std::deque<Time> ends;  // of those in flight, ascending
  };
  Time pass(Gate& gate, Time now, Time free, uint32_t in_flight, LinkWaits* waits) const;
  Time header_time() const;

  LinkConfig config_;
  double picoseconds_a_byte_;
  Gate write_gate_, read_gate_;
  Time up_free_ = 0, down_free_ = 0;
  Time push_free_ = 0;
  Time written_ = 0;  // the last write's arrival
  Tlb tlb_;
  LinkCounters counters_;
};

}  // namespace drover::sim
