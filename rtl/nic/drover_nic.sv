// The NIC: its host half and its network half. docs/nic.md and docs/nic-network.md explain them.
//
//   host <== mmio_*, host_* ==> nic_host <== lines ==> nic_net <== net_* ==> network
//                                                        ^
//                                   table_* (host memory) +
module drover_nic #(
    parameter int unsigned Flows = 16,          // 1 to 64
    parameter int unsigned FlowLines = 32,      // of each flow's FIFOs to and from the host: 16, 32 or 64
    parameter int unsigned Connections = 1024,  // in the NIC's own table: a power of two
    parameter int unsigned Interface = 2,       // drover_nic_pkg::tx_interface_e
    parameter int unsigned Threading = 0,       // drover_nic_pkg::threading_e
    parameter int unsigned Transport = 1,       // drover_connection_pkg::transport_e
    parameter int unsigned Window = 16,         // lines in flight for each connection
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

    // The network: AXI4-Stream, a frame a beat.
    output logic [1023:0] net_tx_tdata_o,
    output logic [127:0]  net_tx_tkeep_o,
    output logic          net_tx_tlast_o,
    output logic          net_tx_tvalid_o,
    input  logic          net_tx_tready_i,
    input  logic [1023:0] net_rx_tdata_i,
    input  logic [127:0]  net_rx_tkeep_i,
    input  logic          net_rx_tlast_i,
    input  logic          net_rx_tuser_i,  // with tlast: the frame is damaged
    input  logic          net_rx_tvalid_i,
    output logic          net_rx_tready_o,

    // The connection table in host memory: AXI4 master.
    output logic [63:0]  table_araddr_o,
    output logic [7:0]   table_arlen_o,
    output logic [3:0]   table_arid_o,
    output logic [2:0]   table_arsize_o,
    output logic [1:0]   table_arburst_o,
    output logic         table_arvalid_o,
    input  logic         table_arready_i,
    input  logic [511:0] table_rdata_i,
    input  logic [3:0]   table_rid_i,
    input  logic [1:0]   table_rresp_i,
    input  logic         table_rlast_i,
    input  logic         table_rvalid_i,
    output logic         table_rready_o,
    output logic [63:0]  table_awaddr_o,
    output logic [7:0]   table_awlen_o,
    output logic [3:0]   table_awid_o,
    output logic [2:0]   table_awsize_o,
    output logic [1:0]   table_awburst_o,
    output logic         table_awvalid_o,
    input  logic         table_awready_i,
    output logic [511:0] table_wdata_o,
    output logic [63:0]  table_wstrb_o,
    output logic         table_wlast_o,
    output logic         table_wvalid_o,
    input  logic         table_wready_i,
    input  logic [3:0]   table_bid_i,
    input  logic [1:0]   table_bresp_i,
    input  logic         table_bvalid_i,
    output logic         table_bready_o
);
  logic [511:0] tx_line, rx_line;
  logic [FlowW-1:0] tx_flow, rx_flow;
  logic [1:0] rx_policy;
  logic tx_valid, tx_ready, rx_valid, rx_ready, rx_refused;
  logic [Flows-1:0] tx_room, rx_room;
  logic reg_req, reg_we, reg_ack;
  logic [15:0] reg_addr;
  logic [63:0] reg_wdata, reg_rdata;

  nic_host #(
      .Flows(Flows), .FlowLines(FlowLines), .Interface(Interface), .Threading(Threading), .Connections(Connections)
  ) u_host (
      .clk_i, .rst_ni,
      .mmio_awaddr_i, .mmio_awid_i, .mmio_awvalid_i, .mmio_awready_o, .mmio_wdata_i, .mmio_wstrb_i, .mmio_wvalid_i,
      .mmio_wready_o, .mmio_bid_o, .mmio_bresp_o, .mmio_bvalid_o, .mmio_bready_i, .mmio_araddr_i, .mmio_arid_i,
      .mmio_arvalid_i, .mmio_arready_o, .mmio_rdata_o, .mmio_rid_o, .mmio_rresp_o, .mmio_rlast_o, .mmio_rvalid_o,
      .mmio_rready_i, .host_araddr_o, .host_arlen_o, .host_arid_o, .host_arsize_o, .host_arburst_o, .host_aruser_o,
      .host_arvalid_o, .host_arready_i, .host_rdata_i, .host_rid_i, .host_rresp_i, .host_rlast_i, .host_rvalid_i,
      .host_rready_o, .host_awaddr_o, .host_awlen_o, .host_awid_o, .host_awsize_o, .host_awburst_o, .host_awvalid_o,
      .host_awready_i, .host_wdata_o, .host_wstrb_o, .host_wlast_o, .host_wvalid_o, .host_wready_i, .host_bid_i,
      .host_bresp_i, .host_bvalid_i, .host_bready_o, .snoop_valid_i, .snoop_addr_i,
      .tx_line_o(tx_line), .tx_flow_o(tx_flow), .tx_valid_o(tx_valid), .tx_ready_i(tx_ready), .tx_room_i(tx_room),
      .rx_line_i(rx_line), .rx_flow_i(rx_flow), .rx_policy_i(rx_policy), .rx_valid_i(rx_valid),
      .rx_ready_o(rx_ready), .rx_refused_o(rx_refused), .rx_room_o(rx_room), .reg_req_o(reg_req), .reg_we_o(reg_we),
      .reg_addr_o(reg_addr), .reg_wdata_o(reg_wdata), .reg_ack_i(reg_ack), .reg_rdata_i(reg_rdata));

  nic_net #(.Flows(Flows), .Connections(Connections), .Transport(Transport), .Window(Window)) u_net (
      .clk_i, .rst_ni,
      .net_tx_tdata_o, .net_tx_tkeep_o, .net_tx_tlast_o, .net_tx_tvalid_o, .net_tx_tready_i, .net_rx_tdata_i,
      .net_rx_tkeep_i, .net_rx_tlast_i, .net_rx_tuser_i, .net_rx_tvalid_i, .net_rx_tready_o, .table_araddr_o,
      .table_arlen_o, .table_arid_o, .table_arsize_o, .table_arburst_o, .table_arvalid_o, .table_arready_i,
      .table_rdata_i, .table_rid_i, .table_rresp_i, .table_rlast_i, .table_rvalid_i, .table_rready_o,
      .table_awaddr_o, .table_awlen_o, .table_awid_o, .table_awsize_o, .table_awburst_o, .table_awvalid_o,
      .table_awready_i, .table_wdata_o, .table_wstrb_o, .table_wlast_o, .table_wvalid_o, .table_wready_i,
      .table_bid_i, .table_bresp_i, .table_bvalid_i, .table_bready_o,
      .tx_line_i(tx_line), .tx_flow_i(tx_flow), .tx_valid_i(tx_valid), .tx_ready_o(tx_ready), .tx_room_o(tx_room),
      .rx_line_o(rx_line), .rx_flow_o(rx_flow), .rx_policy_o(rx_policy), .rx_valid_o(rx_valid),
      .rx_ready_i(rx_ready), .rx_refused_i(rx_refused), .rx_room_i(rx_room), .reg_req_i(reg_req), .reg_we_i(reg_we),
      .reg_addr_i(reg_addr), .reg_wdata_i(reg_wdata), .reg_ack_o(reg_ack), .reg_rdata_o(reg_rdata));
endmodule
