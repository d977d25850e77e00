// The network's end of a NIC: frames leave in a beat, and come in as many as they need.
#pragma once

#include <algorithm>
#include <cstring>
#include <deque>
#include <functional>
#include <utility>

#include "rtl/model/nic_device.h"

namespace drover::rtl {

template <typename Top>
struct FramePort final : Part {
  static constexpr size_t kBeat = 128;
  explicit FramePort(Top* device, Stall line_stall = {}) : top(*device), stall(std::move(line_stall)) {}

  void drive() override {
    top.net_tx_tready_i = !held_back(stall);
    top.net_rx_tvalid_i = !in.empty();
    if (in.empty()) return;
    const NicFrame& frame = in.front();
    size_t bytes = std::min(kBeat, frame.size() - at);
    std::memset(&top.net_rx_tdata_i, 0xa5, kBeat);
    std::memcpy(&top.net_rx_tdata_i, frame.data() + at, bytes);
    for (size_t word = 0; word < kBeat / 32; ++word) {
      size_t some = bytes > 32 * word ? std::min<size_t>(bytes - 32 * word, 32) : 0;
      top.net_rx_tkeep_i[word] = some == 32 ? ~0u : (1u << some) - 1;
    }
    top.net_rx_tlast_i = at + bytes == frame.size();
    top.net_rx_tuser_i = 0;
  }
  void sample() override {
    if (top.net_tx_tvalid_o && top.net_tx_tready_i) send();
    if (!top.net_rx_tvalid_i || !top.net_rx_tready_o) return;
    at += kBeat;
    if (!top.net_rx_tlast_i) return;
    at = 0;
    in.pop_front();
  }
  void reset() override {
    in.clear();
    at = 0;
    top.net_tx_tready_i = top.net_rx_tvalid_i = 0;
  }
  void send() {
    size_t size = 0;
    for (size_t word = 0; word < kBeat / 32; ++word) size += __builtin_popcount(top.net_tx_tkeep_o[word]);
    NicFrame frame(size);
    std::memcpy(frame.data(), &top.net_tx_tdata_o, size);
    if (out) out(std::move(frame));
  }

  Top& top;
  Stall stall;
  std::function<void(NicFrame)> out;
  std::deque<NicFrame> in;
  size_t at = 0;  // of the frame in front
};

}  // namespace drover::rtl
