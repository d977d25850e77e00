// The ports of rtl/nic/drover_nic.sv, but for clock and reset, by the half that they belong to. A port that is missing
// here does not compile where it is used.
#pragma once

// clang-format off
#define DROVER_HOST_PORTS(PORT)                                                                                       \
  PORT(mmio_awaddr_i) PORT(mmio_awid_i) PORT(mmio_awvalid_i) PORT(mmio_awready_o) PORT(mmio_wdata_i)                  \
  PORT(mmio_wstrb_i) PORT(mmio_wvalid_i) PORT(mmio_wready_o) PORT(mmio_bid_o) PORT(mmio_bresp_o) PORT(mmio_bvalid_o)  \
  PORT(mmio_bready_i) PORT(mmio_araddr_i) PORT(mmio_arid_i) PORT(mmio_arvalid_i) PORT(mmio_arready_o)                 \
  PORT(mmio_rdata_o) PORT(mmio_rid_o) PORT(mmio_rresp_o) PORT(mmio_rlast_o) PORT(mmio_rvalid_o) PORT(mmio_rready_i)   \
  PORT(host_araddr_o) PORT(host_arlen_o) PORT(host_arid_o) PORT(host_arsize_o) PORT(host_arburst_o)                   \
  PORT(host_aruser_o) PORT(host_arvalid_o) PORT(host_arready_i) PORT(host_rdata_i) PORT(host_rid_i)                   \
  PORT(host_rresp_i) PORT(host_rlast_i) PORT(host_rvalid_i) PORT(host_rready_o) PORT(host_awaddr_o)                   \
  PORT(host_awlen_o) PORT(host_awid_o) PORT(host_awsize_o) PORT(host_awburst_o) PORT(host_awvalid_o)                  \
  PORT(host_awready_i) PORT(host_wdata_o) PORT(host_wstrb_o) PORT(host_wlast_o) PORT(host_wvalid_o)                   \
  PORT(host_wready_i) PORT(host_bid_i) PORT(host_bresp_i) PORT(host_bvalid_i) PORT(host_bready_o) PORT(snoop_valid_i) \
  PORT(snoop_addr_i)
#define DROVER_NET_PORTS(PORT)                                                                                        \
  PORT(net_tx_tdata_o) PORT(net_tx_tkeep_o) PORT(net_tx_tlast_o) PORT(net_tx_tvalid_o) PORT(net_tx_tready_i)          \
  PORT(net_rx_tdata_i) PORT(net_rx_tkeep_i) PORT(net_rx_tlast_i) PORT(net_rx_tuser_i) PORT(net_rx_tvalid_i)           \
  PORT(net_rx_tready_o) PORT(table_araddr_o) PORT(table_arlen_o) PORT(table_arid_o) PORT(table_arsize_o)              \
  PORT(table_arburst_o) PORT(table_arvalid_o) PORT(table_arready_i) PORT(table_rdata_i) PORT(table_rid_i)             \
  PORT(table_rresp_i) PORT(table_rlast_i) PORT(table_rvalid_i) PORT(table_rready_o) PORT(table_awaddr_o)              \
  PORT(table_awlen_o) PORT(table_awid_o) PORT(table_awsize_o) PORT(table_awburst_o) PORT(table_awvalid_o)             \
  PORT(table_awready_i) PORT(table_wdata_o) PORT(table_wstrb_o) PORT(table_wlast_o) PORT(table_wvalid_o)              \
  PORT(table_wready_i) PORT(table_bid_i) PORT(table_bresp_i) PORT(table_bvalid_i) PORT(table_bready_o)
// clang-format on
