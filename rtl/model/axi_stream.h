// Both ends of a 512-bit AXI4-Stream: a source that sends packets of bytes, and a sink that collects them. All beats of
// a packet but the last are full; an empty packet is one beat without bytes. send_beat() sends whatever a test wants.
#pragma once

#include <verilated.h>

#include <cstdint>
#include <cstring>
#include <deque>
#include <string>
#include <string_view>
#include <utility>

#include "rtl/model/simulation.h"

namespace drover::rtl {

inline constexpr size_t kBeatBytes = 64;

// The signals of one stream at a top; AXI_STREAM_PORT(top, rx) names rx_tdata_i and so on.
struct AxiStreamInput {
  VlWide<16>* tdata;
  QData* tkeep;
  CData* tlast;
  CData* tvalid;
  const CData* tready;
};
struct AxiStreamOutput {
  const VlWide<16>* tdata;
  const QData* tkeep;
  const CData* tlast;
  const CData* tvalid;
  CData* tready;
};
#define DROVER_AXI_STREAM_INPUT(top, name)                                                       \
  ::drover::rtl::AxiStreamInput {                                                                \
    &(top).name##_tdata_i, &(top).name##_tkeep_i, &(top).name##_tlast_i, &(top).name##_tvalid_i, \
        &(top).name##_tready_o                                                                   \
  }
#define DROVER_AXI_STREAM_OUTPUT(top, name)                                                      \
  ::drover::rtl::AxiStreamOutput {                                                               \
    &(top).name##_tdata_o, &(top).name##_tkeep_o, &(top).name##_tlast_o, &(top).name##_tvalid_o, \
        &(top).name##_tready_i                                                                   \
  }

// One beat as it stands on the wires: `keep` and `last` need not fit the bytes.
struct AxiBeat {
  std::string bytes;  // at most kBeatBytes; the rest is 0xa5
  uint64_t keep = ~uint64_t{0};
  bool last = false;
};

class AxiStreamSource final : public Part {
 public:
  explicit AxiStreamSource(AxiStreamInput port, Stall stall = {}) : port_(port), stall_(std::move(stall)) {}

  // The bytes have to stay until the packet is sent. `holes`: bits of TKEEP that are cleared in every beat, against the
  // protocol.
  void send(std::string_view packet, uint64_t holes = 0) { items_.push_back({packet, holes, false, {}}); }
  void send_beat(AxiBeat beat) { items_.push_back({{}, 0, true, std::move(beat)}); }
  bool idle() const { return items_.empty(); }
  size_t packets_sent() const { return sent_; }

  void drive() override {
    if (!valid_ && !items_.empty() && !held_back(stall_)) {
      valid_ = true;
      put_beat(items_.front());
    }
    *port_.tvalid = valid_;
  }
  void sample() override {
    if (!valid_ || !*port_.tready) return;
    valid_ = false;
    if (*port_.tlast) ++sent_;
    at_ += kBeatBytes;
    if (!items_.front().single && !*port_.tlast) return;
    at_ = 0;
    items_.pop_front();
  }
  // Forgets what has not been sent.
  void reset() override {
    items_.clear();
    at_ = 0;
    *port_.tvalid = valid_ = false;
  }

 private:
  struct Item {
    std::string_view packet;
    uint64_t holes;
    bool single;  // `beat` instead of a packet
    AxiBeat beat;
  };
  void put_beat(const Item& item) {
    std::string_view rest = item.single ? std::string_view(item.beat.bytes) : item.packet.substr(at_);
    size_t bytes = rest.size() < kBeatBytes ? rest.size() : kBeatBytes;
    std::memset(port_.tdata, 0xa5, kBeatBytes);  // bytes outside of tkeep are no zeros
    if (bytes != 0) std::memcpy(port_.tdata, rest.data(), bytes);
    uint64_t kept = bytes == kBeatBytes ? ~uint64_t{0} : (uint64_t{1} << bytes) - 1;
    *port_.tkeep = item.single ? item.beat.keep : kept & ~item.holes;
    *port_.tlast = item.single ? item.beat.last : rest.size() <= kBeatBytes;
  }

  AxiStreamInput port_;
  Stall stall_;
  std::deque<Item> items_;
  size_t at_ = 0;  // of the packet in front
  size_t sent_ = 0;
  bool valid_ = false;
};

class AxiStreamSink final : public Part {
 public:
  explicit AxiStreamSink(AxiStreamOutput port, Stall stall = {}) : port_(port), stall_(std::move(stall)) {}

  size_t packets() const { return packets_.size(); }
  std::string take() {
    std::string packet = std::move(packets_.front());
    packets_.pop_front();
    return packet;
  }
  // A beat before the last that was not full, or bytes kept with a gap.
  bool protocol_broken() const { return broken_; }

  void drive() override { *port_.tready = !held_back(stall_); }
  void sample() override {
    if (!*port_.tvalid || !*port_.tready) return;
    uint64_t keep = *port_.tkeep;
    size_t bytes = static_cast<size_t>(__builtin_popcountll(keep));
    if ((keep & (keep + 1)) != 0 || (!*port_.tlast && bytes != kBeatBytes)) broken_ = true;
    packet_.append(reinterpret_cast<const char*>(port_.tdata), bytes);
    if (!*port_.tlast) return;
    packets_.push_back(std::move(packet_));
    packet_.clear();
  }
  // Forgets all packets.
  void reset() override {
    packets_.clear();
    packet_.clear();
    *port_.tready = 0;
  }

 private:
  AxiStreamOutput port_;
  Stall stall_;
  std::string packet_;
  std::deque<std::string> packets_;
  bool broken_ = false;
};

}  // namespace drover::rtl
