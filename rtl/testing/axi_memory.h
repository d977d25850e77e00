// A memory behind a 512-bit AXI4 port: bytes in an array of the test's, with latency, a limit on transactions in flight
// and random stalls on every channel. Writes take effect when their beats arrive; responses come in order, `latency`
// cycles later. What breaks the protocol or leaves the array is counted and answered with SLVERR, and writes nothing.
#pragma once

#include <verilated.h>

#include <cstdint>
#include <cstring>
#include <deque>
#include <span>

#include "rtl/testing/simulation.h"

namespace drover::rtl {

struct AxiWritePort {
  const QData* awaddr;
  const CData* awlen;
  const CData* awid;
  const CData* awvalid;
  CData* awready;
  const VlWide<16>* wdata;
  const QData* wstrb;
  const CData* wlast;
  const CData* wvalid;
  CData* wready;
  CData* bid;
  CData* bresp;
  CData* bvalid;
  const CData* bready;
};
struct AxiReadPort {
  const QData* araddr;
  const CData* arlen;
  const CData* arid;
  const CData* arvalid;
  CData* arready;
  VlWide<16>* rdata;
  CData* rid;
  CData* rresp;
  CData* rlast;
  CData* rvalid;
  const CData* rready;
};
#define DROVER_AXI_WRITE_PORT(top, name)                                                              \
  ::drover::rtl::AxiWritePort {                                                                       \
    &(top).name##_awaddr_o, &(top).name##_awlen_o, &(top).name##_awid_o, &(top).name##_awvalid_o,     \
        &(top).name##_awready_i, &(top).name##_wdata_o, &(top).name##_wstrb_o, &(top).name##_wlast_o, \
        &(top).name##_wvalid_o, &(top).name##_wready_i, &(top).name##_bid_i, &(top).name##_bresp_i,   \
        &(top).name##_bvalid_i, &(top).name##_bready_o                                                \
  }
#define DROVER_AXI_READ_PORT(top, name)                                                             \
  ::drover::rtl::AxiReadPort {                                                                      \
    &(top).name##_araddr_o, &(top).name##_arlen_o, &(top).name##_arid_o, &(top).name##_arvalid_o,   \
        &(top).name##_arready_i, &(top).name##_rdata_i, &(top).name##_rid_i, &(top).name##_rresp_i, \
        &(top).name##_rlast_i, &(top).name##_rvalid_i, &(top).name##_rready_o                       \
  }

struct AxiTiming {
  uint32_t latency = 1;  // cycles from the request (a write's last beat) to the response
  uint32_t in_flight = 64;
  uint32_t stalls_of_256 = 0;
  uint64_t seed = 1;
  uint32_t refused_of_256 = 0;   // transactions that are answered with SLVERR, though nothing is wrong with them
  uint32_t no_rlast_of_256 = 0;  // reads whose last beat has no RLAST, against the protocol
  uint32_t unasked_of_256 = 0;   // cycles without a response in which a write is answered that nobody asked for
};
struct AxiCounts {
  uint64_t transactions = 0, beats = 0, bytes = 0, violations = 0, refused = 0;
};

inline bool axi_burst_ok(uint64_t address, uint32_t beats, uint64_t base, size_t size) {
  return address % 64 == 0 && address % 4096 + beats * 64 <= 4096 && address >= base && beats * 64 <= size &&
         address - base <= size - beats * 64;
}

// `base` is the bus address of bytes[0].
class AxiWriteMemory final : public Part {
 public:
  AxiWriteMemory(AxiWritePort port, std::span<char> bytes, AxiTiming timing = {}, uint64_t base = 0)
      : port_(port),
        bytes_(bytes),
        base_(base),
        timing_(timing),
        aw_stalls_(timing.stalls_of_256, timing.seed),
        w_stalls_(timing.stalls_of_256, timing.seed + 1),
        b_stalls_(timing.stalls_of_256, timing.seed + 2),
        refusals_(timing.refused_of_256, timing.seed + 3),
        unasked_(timing.unasked_of_256, timing.seed + 4) {}

  const AxiCounts& counts() const { return counts_; }
  bool idle() const { return bursts_.empty() && responses_.empty() && !b_valid_; }

  void drive() override {
    *port_.awready = bursts_.size() + responses_.size() < timing_.in_flight && !aw_stalls_.now();
    *port_.wready = !bursts_.empty() && !w_stalls_.now();
    if (!b_valid_ && !responses_.empty() && responses_.front().due <= now_ && !b_stalls_.now()) {
      b_valid_ = true;
      *port_.bid = responses_.front().id;
      *port_.bresp = responses_.front().ok ? 0 : 2;
    }
    // Only for an id with nothing in flight: otherwise no device could tell it from an answer.
    if (!b_valid_ && bursts_.empty() && responses_.empty() && unasked_.now()) {
      responses_.push_back({now_, static_cast<CData>(now_ % 16), true});
    }
    *port_.bvalid = b_valid_;
  }
  void sample() override {
    ++now_;
    if (*port_.wvalid && *port_.wready) take_beat();
    if (*port_.awvalid && *port_.awready) {
      uint32_t beats = *port_.awlen + 1u;
      bool ok = axi_burst_ok(*port_.awaddr, beats, base_, bytes_.size());
      counts_.violations += ok ? 0 : 1;
      ++counts_.transactions;
      if (refusals_.now()) {
        ok = false;
        ++counts_.refused;
      }
      bursts_.push_back({*port_.awaddr, beats, *port_.awid, ok});
    }
    if (b_valid_ && *port_.bready) {
      b_valid_ = false;
      responses_.pop_front();
    }
  }

 private:
  struct Burst {
    uint64_t address;
    uint32_t beats;
    CData id;
    bool ok;
  };
  struct Response {
    uint64_t due;
    CData id;
    bool ok;
  };

  void take_beat() {
    Burst& burst = bursts_.front();
    ++counts_.beats;
    uint64_t strobes = *port_.wstrb;
    counts_.bytes += static_cast<uint64_t>(__builtin_popcountll(strobes));
    const char* data = reinterpret_cast<const char*>(port_.wdata);
    if (burst.ok) {
      char* to = bytes_.data() + (burst.address - base_);
      for (int i = 0; i < 64; ++i) {
        if ((strobes >> i & 1) != 0) to[i] = data[i];
      }
    }
    burst.address += 64;
    bool last = --burst.beats == 0;
    if (last != (*port_.wlast != 0)) ++counts_.violations;
    if (!last) return;
    responses_.push_back({now_ + timing_.latency, burst.id, burst.ok});
    bursts_.pop_front();
  }

  AxiWritePort port_;
  std::span<char> bytes_;
  uint64_t base_;
  AxiTiming timing_;
  Stalls aw_stalls_, w_stalls_, b_stalls_, refusals_, unasked_;
  std::deque<Burst> bursts_;
  std::deque<Response> responses_;
  uint64_t now_ = 0;
  bool b_valid_ = false;
  AxiCounts counts_;
};

class AxiReadMemory final : public Part {
 public:
  AxiReadMemory(AxiReadPort port, std::span<const char> bytes, AxiTiming timing = {}, uint64_t base = 0)
      : port_(port),
        bytes_(bytes),
        base_(base),
        timing_(timing),
        ar_stalls_(timing.stalls_of_256, timing.seed),
        r_stalls_(timing.stalls_of_256, timing.seed + 1),
        refusals_(timing.refused_of_256, timing.seed + 2),
        no_rlast_(timing.no_rlast_of_256, timing.seed + 3) {}

  const AxiCounts& counts() const { return counts_; }
  bool idle() const { return bursts_.empty(); }

  void drive() override {
    *port_.arready = bursts_.size() < timing_.in_flight && !ar_stalls_.now();
    if (!r_valid_ && !bursts_.empty() && bursts_.front().due <= now_ && !r_stalls_.now()) {
      r_valid_ = true;
      const Burst& burst = bursts_.front();
      if (burst.ok) {
        std::memcpy(port_.rdata, bytes_.data() + (burst.address - base_), 64);
      } else {
        std::memset(port_.rdata, 0xee, 64);
      }
      *port_.rid = burst.id;
      *port_.rresp = burst.ok ? 0 : 2;
      *port_.rlast = burst.beats == 1 && !no_rlast_.now();
    }
    *port_.rvalid = r_valid_;
  }
  void sample() override {
    ++now_;
    if (r_valid_ && *port_.rready) {
      r_valid_ = false;
      ++counts_.beats;
      counts_.bytes += 64;
      Burst& burst = bursts_.front();
      burst.address += 64;
      if (--burst.beats == 0) bursts_.pop_front();
    }
    if (*port_.arvalid && *port_.arready) {
      uint32_t beats = *port_.arlen + 1u;
      bool ok = axi_burst_ok(*port_.araddr, beats, base_, bytes_.size());
      counts_.violations += ok ? 0 : 1;
      ++counts_.transactions;
      if (refusals_.now()) {
        ok = false;
        ++counts_.refused;
      }
      bursts_.push_back({*port_.araddr, beats, *port_.arid, ok, now_ + timing_.latency});
    }
  }

 private:
  struct Burst {
    uint64_t address;
    uint32_t beats;
    CData id;
    bool ok;
    uint64_t due;
  };

  AxiReadPort port_;
  std::span<const char> bytes_;
  uint64_t base_;
  AxiTiming timing_;
  Stalls ar_stalls_, r_stalls_, refusals_, no_rlast_;
  std::deque<Burst> bursts_;
  uint64_t now_ = 0;
  bool r_valid_ = false;
  AxiCounts counts_;
};

}  // namespace drover::rtl
