// Both ends of a 512-bit AXI4-Stream: a source that sends packets of bytes, and a sink that collects them; each with
// random stalls. All beats of a packet but the last are full; an empty packet is one beat without bytes.
#pragma once

#include <verilated.h>

#include <cstring>
#include <deque>
#include <string>
#include <string_view>
#include <utility>

#include "rtl/testing/simulation.h"

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

class AxiStreamSource final : public Part {
 public:
  explicit AxiStreamSource(AxiStreamInput port, Stalls stalls = Stalls()) : port_(port), stalls_(stalls) {}

  // The bytes have to stay until the packet is sent. `holes`: bits of TKEEP that are cleared in every beat, against
  // the protocol.
  void send(std::string_view packet, uint64_t holes = 0) { packets_.push_back({packet, holes}); }
  bool idle() const { return packets_.empty(); }
  size_t packets_sent() const { return sent_; }

  void drive() override {
    if (!valid_ && !packets_.empty() && !stalls_.now()) {
      valid_ = true;
      std::string_view rest = packets_.front().bytes.substr(at_);
      size_t bytes = rest.size() < kBeatBytes ? rest.size() : kBeatBytes;
      std::memset(port_.tdata, 0xa5, kBeatBytes);  // what is not kept is no zero
      if (bytes != 0) std::memcpy(port_.tdata, rest.data(), bytes);
      *port_.tkeep = bytes == kBeatBytes ? ~uint64_t{0} : (uint64_t{1} << bytes) - 1;
      *port_.tkeep &= ~packets_.front().holes;
      *port_.tlast = rest.size() <= kBeatBytes;
    }
    *port_.tvalid = valid_;
  }
  void sample() override {
    if (!valid_ || !*port_.tready) return;
    valid_ = false;
    at_ += kBeatBytes;
    if (!*port_.tlast) return;
    at_ = 0;
    ++sent_;
    packets_.pop_front();
  }

 private:
  struct Packet {
    std::string_view bytes;
    uint64_t holes;
  };

  AxiStreamInput port_;
  Stalls stalls_;
  std::deque<Packet> packets_;
  size_t at_ = 0;
  size_t sent_ = 0;
  bool valid_ = false;
};

class AxiStreamSink final : public Part {
 public:
  explicit AxiStreamSink(AxiStreamOutput port, Stalls stalls = Stalls()) : port_(port), stalls_(stalls) {}

  size_t packets() const { return packets_.size(); }
  std::string take() {
    std::string packet = std::move(packets_.front());
    packets_.pop_front();
    return packet;
  }
  // A beat before the last that was not full, or bytes kept with a gap.
  bool protocol_broken() const { return broken_; }

  void drive() override { *port_.tready = !stalls_.now(); }
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

 private:
  AxiStreamOutput port_;
  Stalls stalls_;
  std::string packet_;
  std::deque<std::string> packets_;
  bool broken_ = false;
};

}  // namespace drover::rtl
