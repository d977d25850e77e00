// The host's half of the NIC: takes RPC lines (channel/channel.toml, LineSlot) from the flows' TX rings to the network
// half, and lines from the network half to the flows' RX rings. docs/nic.md explains it, rtl/nic/nic.toml defines its
// registers.
//
//                stores  +-----------+  lines   +-------+   scheduler
//   mmio_* ------------->| nic_store |--------->|       |
//      |                 +-----------+    or    |  TX   |------------> tx_*
//      |  registers      +-----------+          | FIFOs |
//      +---------------->| nic_fetch |--------->+-------+
//                 host_ar, host_r |   accepted
//                        +-----------+          +-------+
//   host_aw, host_w <----| nic_write |<---------|  RX   |<-- balancer -- rx_*
//                        +-----------+          | FIFOs |
//                                               +-------+
//
// Lines of one connection stay in their order, since a connection sends on one flow, and a flow's lines do. For the same
// reason lines of different messages of one connection never mix.
//
// rx_refused_o, in the cycle of a handshake, says that the line was not taken: its flow's FIFO was full, or the flow is
// disabled. A reliable transport does not acknowledge it, so that it comes again; else the line is lost (and counted). A
// line is never lost otherwise, unless the host disables its flow. rx_room_o: flows whose FIFO has room.
module nic_host #(
    parameter int unsigned Flows = 16,       // 1 to 64
    parameter int unsigned FlowLines = 32,   // of each flow's FIFOs: 8, 16, 32 or 64
    parameter int unsigned Interface = 2,    // drover_nic_pkg::tx_interface_e
    parameter int unsigned Threading = 0,    // drover_nic_pkg::threading_e
    localparam int unsigned FlowW = Flows > 1 ? $clog2(Flows) : 1
) (
    input  logic         clk_i,
    input  logic         rst_ni,

    // From the host: AXI4 slave, single beats.
    input  logic [19:0]  mmio_awaddr_i,
    input  logic [3:0]   mmio_awid_i,
    input  logic         mmio_awvalid_i,
    output logic         mmio_awready_o,
    input  logic [511:0] mmio_wdata_i,
    input  logic [63:0]  mmio_wstrb_i,
    input  logic         mmio_wvalid_i,
    output logic         mmio_wready_o,
    output logic [3:0]   mmio_bid_o,
    output logic [1:0]   mmio_bresp_o,
    output logic         mmio_bvalid_o,
    input  logic         mmio_bready_i,
    input  logic [19:0]  mmio_araddr_i,
    input  logic [3:0]   mmio_arid_i,
    input  logic         mmio_arvalid_i,
    output logic         mmio_arready_o,
    output logic [511:0] mmio_rdata_o,
    output logic [3:0]   mmio_rid_o,
    output logic [1:0]   mmio_rresp_o,
    output logic         mmio_rlast_o,
    output logic         mmio_rvalid_o,
    input  logic         mmio_rready_i,

    // To host memory: AXI4 master. Reads of id 0 are of TX rings, of id 1 of RX consumers' positions.
    output logic [63:0]  host_araddr_o,
    output logic [7:0]   host_arlen_o,
    output logic [3:0]   host_arid_o,
    output logic [2:0]   host_arsize_o,
    output logic [1:0]   host_arburst_o,
    output logic         host_aruser_o,   // may be served by, and stays in, the NIC's coherent cache
    output logic         host_arvalid_o,
    input  logic         host_arready_i,
    input  logic [511:0] host_rdata_i,
    input  logic [3:0]   host_rid_i,
    input  logic [1:0]   host_rresp_i,
    input  logic         host_rlast_i,
    input  logic         host_rvalid_i,
    output logic         host_rready_o,
    output logic [63:0]  host_awaddr_o,
    output logic [7:0]   host_awlen_o,
    output logic [3:0]   host_awid_o,
    output logic [2:0]   host_awsize_o,
    output logic [1:0]   host_awburst_o,
    output logic         host_awvalid_o,
    input  logic         host_awready_i,
    output logic [511:0] host_wdata_o,
    output logic [63:0]  host_wstrb_o,
    output logic         host_wlast_o,
    output logic         host_wvalid_o,
    input  logic         host_wready_i,
    input  logic [3:0]   host_bid_i,
    input  logic [1:0]   host_bresp_i,
    input  logic         host_bvalid_i,
    output logic         host_bready_o,
    // A line has left the NIC's coherent cache: the host wrote it, or the cache needed room.
    input  logic         snoop_valid_i,
    input  logic [63:6]  snoop_addr_i,

    // Lines to and from the network half.
    output logic [511:0]      tx_line_o,   // its sequence word is zero
    output logic [FlowW-1:0]  tx_flow_o,
    output logic              tx_valid_o,
    input  logic              tx_ready_i,
    input  logic [511:0]      rx_line_i,
    input  logic [FlowW-1:0]  rx_flow_i,   // the connection's
    input  logic [1:0]        rx_policy_i, // drover_nic_pkg::balance_policy_e
    input  logic              rx_valid_i,
    output logic              rx_ready_o,
    output logic              rx_refused_o,
    output logic [Flows-1:0]  rx_room_o,

    // The network half's registers: one request at a time, held until it is acknowledged.
    output logic         reg_req_o,
    output logic         reg_we_o,
    output logic [15:0]  reg_addr_o,
    output logic [63:0]  reg_wdata_o,
    input  logic         reg_ack_i,
    input  logic [63:0]  reg_rdata_i
);
endmodule
