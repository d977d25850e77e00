// The two halves of a NIC as one verilated top: what rtl/nic/drover_nic.sv joins by wires is joined here, so that any
// interface and threading model can stand before either transport without a build of the whole for each. It has that
// module's ports, and takes the place of a verilated top in a Simulation. drover_nic_test compares it with the module,
// cycle by cycle.
//
// `Host` is a verilated nic_host, `Net` a nic_net with as many flows; the host half may remember more connections
// (nic_balancer) than the net half has. With the clock low both are evaluated until what crosses between them rests; as
// the clock rises, each sees what the other had before.
#pragma once

#include <verilated.h>

#include <cstring>
#include <type_traits>

#include "rtl/model/joined_nic_ports.h"

namespace drover::rtl {

// The halves; the bases of what refers to their ports.
template <typename Host, typename Net>
struct NicHalves {
  explicit NicHalves(VerilatedContext* context) : host(context, "host"), net(context, "net") {}
  Host host;
  Net net;
};

template <typename Host, typename Net>
class JoinedNic : private NicHalves<Host, Net> {
  using NicHalves<Host, Net>::host;
  using NicHalves<Host, Net>::net;

 public:
  explicit JoinedNic(VerilatedContext* context) : NicHalves<Host, Net>(context) {}

  CData clk_i = 0, rst_ni = 1;
#define DROVER_PORT(half, name) std::remove_reference_t<decltype(half::name)>& name
#define DROVER_HOST_PORT(name) DROVER_PORT(Host, name) = host.name;
#define DROVER_NET_PORT(name) DROVER_PORT(Net, name) = net.name;
  DROVER_HOST_PORTS(DROVER_HOST_PORT)
  DROVER_NET_PORTS(DROVER_NET_PORT)
#undef DROVER_NET_PORT
#undef DROVER_HOST_PORT
#undef DROVER_PORT

  void eval() {
    host.clk_i = net.clk_i = clk_i;
    host.rst_ni = net.rst_ni = rst_ni;
    host.eval();
    net.eval();
    if (clk_i != 0) return;
    while (true) {
      const bool to_host = bring_to_host();
      if (to_host) host.eval();
      if (!bring_to_net()) return;
      net.eval();
    }
  }
  void final() {
    host.final();
    net.final();
  }

 private:
  // True: something has changed.
  template <typename T>
  static bool bring(const T& from, T* to) {
    if (std::memcmp(&from, to, sizeof from) == 0) return false;
    std::memcpy(to, &from, sizeof from);
    return true;
  }
  bool bring_to_host() {
    bool any = bring(net.tx_ready_o, &host.tx_ready_i);
    any |= bring(net.tx_room_o, &host.tx_room_i);
    any |= bring(net.rx_line_o, &host.rx_line_i);
    any |= bring(net.rx_flow_o, &host.rx_flow_i);
    any |= bring(net.rx_policy_o, &host.rx_policy_i);
    any |= bring(net.rx_valid_o, &host.rx_valid_i);
    any |= bring(net.reg_ack_o, &host.reg_ack_i);
    any |= bring(net.reg_rdata_o, &host.reg_rdata_i);
    return any;
  }
  bool bring_to_net() {
    bool any = bring(host.tx_line_o, &net.tx_line_i);
    any |= bring(host.tx_flow_o, &net.tx_flow_i);
    any |= bring(host.tx_valid_o, &net.tx_valid_i);
    any |= bring(host.rx_ready_o, &net.rx_ready_i);
    any |= bring(host.rx_refused_o, &net.rx_refused_i);
    any |= bring(host.rx_room_o, &net.rx_room_i);
    any |= bring(host.reg_req_o, &net.reg_req_i);
    any |= bring(host.reg_we_o, &net.reg_we_i);
    any |= bring(host.reg_addr_o, &net.reg_addr_i);
    any |= bring(host.reg_wdata_o, &net.reg_wdata_i);
    return any;
  }
};

}  // namespace drover::rtl
