// From a NIC's AXI4 read port to a CoherentLink: a burst is a read for each of its lines, cached if the NIC says so.
// Lines of a burst come in order; bursts of one id do too, those of other ids may overtake them as a whole. The port is
// not ready while kBurstsWaiting bursts are under way.
#pragma once

#include <cstring>
#include <deque>
#include <span>
#include <vector>

#include "rtl/model/axi_memory.h"
#include "sim/platform/coherent_link.h"
#include "sim/platform/link.h"

namespace drover::sim {

class CoherentReadBridge final : public rtl::Part {
 public:
  static constexpr size_t kBurstsWaiting = 64;

  // Reads of `ring_id` are of rings.
  CoherentReadBridge(rtl::AxiReadPort port, const CData* cached, CData ring_id, CoherentLink* link, Link* dma,
                     std::span<const char> memory, const Time* now)
      : port_(port), cached_(cached), ring_id_(ring_id), link_(*link), dma_(*dma), memory_(memory), now_(*now) {}

  void drive() override {
    *port_.arready = bursts_.size() < kBurstsWaiting;
    if (!answering_) answering_ = choose();
    *port_.rvalid = answering_ && ready(bursts_[chosen_]);
    if (!*port_.rvalid) return;
    Burst& burst = bursts_[chosen_];
    if (!offered_) put_line(burst);
    offered_ = true;
    *port_.rid = burst.id;
    *port_.rresp = burst.ok ? rtl::kAxiOkay : rtl::kAxiSlaveError;
    *port_.rlast = burst.beat + 1 == burst.beats;
  }
  void sample() override {
    if (*port_.rvalid && *port_.rready) {
      offered_ = false;
      if (++bursts_[chosen_].beat == bursts_[chosen_].beats) {
        bursts_.erase(bursts_.begin() + static_cast<std::ptrdiff_t>(chosen_));
        answering_ = false;
      }
    }
    if (*port_.arvalid && !*port_.arready) ++stalls_;
    if (!*port_.arvalid || !*port_.arready) return;
    Burst burst{*port_.arid, 0, *port_.arlen + 1u, true, *port_.araddr, 0, {}};
    burst.ok = rtl::axi_burst_ok(burst.address, burst.beats, 0, memory_.size());
    violations_ += burst.ok ? 0 : 1;
    bool of_ring = burst.id == ring_id_;
    if (burst.ok && !of_ring)
      burst.done = dma_.read(now_, burst.beats * sizeof(CoherentLink::Line), burst.address).done;
    for (uint32_t i = 0; burst.ok && of_ring && i < burst.beats; ++i) {
      burst.tickets.push_back(link_.read(now_, *port_.araddr + i * sizeof(CoherentLink::Line), *cached_ != 0));
    }
    bursts_.push_back(std::move(burst));
  }
  void reset() override {
    bursts_.clear();
    answering_ = offered_ = false;
    *port_.arready = *port_.rvalid = 0;
  }

  uint64_t stalls() const { return stalls_; }  // cycles in which a request waited
  uint64_t violations() const { return violations_; }

 private:
  struct Burst {
    CData id;
    uint32_t beat, beats;
    bool ok;
    uint64_t address;
    Time done;                      // by DMA
    std::vector<uint64_t> tickets;  // of a ring's lines
  };
  bool ready(const Burst& burst) const {
    if (offered_ || !burst.ok) return true;
    return burst.tickets.empty() ? burst.done <= now_ : link_.done(burst.tickets[burst.beat]);
  }
  void put_line(const Burst& burst) {
    if (!burst.ok) {
      std::memset(port_.rdata, 0xee, sizeof(CoherentLink::Line));
    } else if (burst.tickets.empty()) {
      size_t at = burst.address + burst.beat * sizeof(CoherentLink::Line);
      std::memcpy(port_.rdata, memory_.data() + at, sizeof(CoherentLink::Line));
    } else {
      CoherentLink::Line line = link_.take(burst.tickets[burst.beat]);
      std::memcpy(port_.rdata, line.data(), line.size());
    }
  }
  // The oldest burst of any id whose first line is there.
  bool choose() {
    uint64_t ids = 0;
    for (size_t i = 0; i < bursts_.size(); ++i) {
      bool older = (ids >> bursts_[i].id & 1) != 0;
      ids |= uint64_t{1} << bursts_[i].id;
      if (older || !ready(bursts_[i])) continue;
      chosen_ = i;
      return true;
    }
    return false;
  }

  rtl::AxiReadPort port_;
  const CData* cached_;
  const CData ring_id_;
  CoherentLink& link_;
  Link& dma_;
  std::span<const char> memory_;
  const Time& now_;
  std::deque<Burst> bursts_;
  size_t chosen_ = 0;  // while `answering_`
  bool answering_ = false;
  bool offered_ = false;  // the beat on the port has been taken from the link
  uint64_t stalls_ = 0, violations_ = 0;
};

}  // namespace drover::sim
