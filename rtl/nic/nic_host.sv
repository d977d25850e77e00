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
`include "drover_assert.svh"
module nic_host #(
    parameter int unsigned Flows = 16,       // 1 to 64
    parameter int unsigned FlowLines = 32,   // of each flow's FIFOs: 16, 32 or 64
    parameter int unsigned Interface = 2,    // drover_nic_pkg::tx_interface_e
    parameter int unsigned Threading = 0,    // drover_nic_pkg::threading_e
    parameter int unsigned Connections = 1024,  // whose numbers the network half gives: a power of two
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
    input  logic [Flows-1:0]  tx_room_i,   // flows that may send four lines
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
  localparam logic [3:0] IdLines = 4'd0, IdPositions = 4'd1;  // of reads
  nic_pkg::soft_t config_words;
  logic [Flows-1:0] tx_on, rx_on, tx_start, rx_start, tx_busy, rx_busy, direct;
  logic [Flows-1:0][2:0] tx_stop, rx_stop;
  logic [Flows-1:0][63:0] status;
  logic [nic_pkg::Counters-1:0][6:0] tx_events, rx_events;
  logic [nic_pkg::Counters-1:0][47:0] counters;

  // ---- the host's stores and loads
  logic write, write_error, write_whole, read, read_done, read_error, store, ring, window_read;
  logic [19:0] write_addr, read_addr;
  logic [511:0] write_line, read_line, window_line;
  logic [63:0] write_strb, write_word, table_word;
  logic [nic_pkg::FlowBits-1:0] store_flow, window_flow, table_flow, table_read_flow;
  logic [1:0] table_field, table_read_field;
  logic table_we;
  nic_slave u_slave (
      .clk_i, .rst_ni, .awaddr_i(mmio_awaddr_i), .awid_i(mmio_awid_i), .awvalid_i(mmio_awvalid_i),
      .awready_o(mmio_awready_o), .wdata_i(mmio_wdata_i), .wstrb_i(mmio_wstrb_i), .wvalid_i(mmio_wvalid_i),
      .wready_o(mmio_wready_o), .bid_o(mmio_bid_o), .bresp_o(mmio_bresp_o), .bvalid_o(mmio_bvalid_o),
      .bready_i(mmio_bready_i), .araddr_i(mmio_araddr_i), .arid_i(mmio_arid_i), .arvalid_i(mmio_arvalid_i),
      .arready_o(mmio_arready_o), .rdata_o(mmio_rdata_o), .rid_o(mmio_rid_o), .rresp_o(mmio_rresp_o),
      .rlast_o(mmio_rlast_o), .rvalid_o(mmio_rvalid_o), .rready_i(mmio_rready_i), .write_o(write),
      .write_addr_o(write_addr), .write_line_o(write_line), .write_strb_o(write_strb), .write_word_o(write_word),
      .write_whole_o(write_whole), .write_error_i(write_error), .read_o(read), .read_addr_o(read_addr),
      .read_done_i(read_done), .read_error_i(read_error), .read_line_i(read_line));
  nic_registers #(.Flows(Flows), .FlowLines(FlowLines), .Interface(Interface), .Threading(Threading)) u_registers (
      .clk_i, .rst_ni, .write_i(write), .write_addr_i(write_addr), .write_word_i(write_word),
      .write_whole_i(write_whole), .write_error_o(write_error), .read_i(read), .read_addr_i(read_addr),
      .read_done_o(read_done), .read_error_o(read_error), .read_line_o(read_line), .soft_o(config_words), .tx_on_o(tx_on),
      .rx_on_o(rx_on), .tx_start_o(tx_start), .rx_start_o(rx_start), .ring_o(ring), .store_o(store),
      .store_flow_o(store_flow), .window_read_o(window_read), .window_flow_o(window_flow), .window_line_i(window_line),
      .table_we_o(table_we), .table_flow_o(table_flow), .table_field_o(table_field),
      .table_read_flow_o(table_read_flow), .table_read_field_o(table_read_field), .table_word_i(table_word),
      .status_i(status), .counters_i(counters), .reg_req_o, .reg_we_o, .reg_addr_o, .reg_wdata_o, .reg_ack_i,
      .reg_rdata_i);
  for (genvar f = 0; f < Flows; f++) begin : gen_status
    drover_nic_pkg::flow_status_t of_flow;
    always_comb begin
      of_flow = '0;
      of_flow.tx_busy = tx_busy[f];
      of_flow.rx_busy = rx_busy[f];
      of_flow.direct  = direct[f];
      of_flow.tx_stop = drover_nic_pkg::flow_stop_e'(tx_stop[f]);
      of_flow.rx_stop = drover_nic_pkg::flow_stop_e'(rx_stop[f]);
    end
    assign status[f] = of_flow;
  end

  logic [3:0][nic_pkg::FlowBits-1:0] tx_ring_flow;
  logic [1:0][nic_pkg::FlowBits-1:0] rx_ring_flow;
  drover_nic_pkg::ring_register_t tx_ring_0, tx_ring_1, tx_ring_2, tx_ring_3, rx_ring_0, rx_ring_1;
  logic [nic_pkg::FlowBits-1:0] tx_position_flow, rx_position_flow;
  logic [63:0] tx_position, rx_position;
  nic_flow_table #(.Flows(Flows)) u_table (
      .clk_i, .we_i(table_we), .flow_i(table_flow), .field_i(table_field), .word_i(write_word),
      .read_flow_i(table_read_flow), .read_field_i(table_read_field), .word_o(table_word), .tx_flow_i(tx_ring_flow),
      .tx_ring_0_o(tx_ring_0), .tx_ring_1_o(tx_ring_1), .tx_ring_2_o(tx_ring_2), .tx_ring_3_o(tx_ring_3),
      .tx_position_flow_i(tx_position_flow), .tx_position_o(tx_position), .rx_flow_i(rx_ring_flow),
      .rx_ring_0_o(rx_ring_0), .rx_ring_1_o(rx_ring_1), .rx_position_flow_i(rx_position_flow),
      .rx_position_o(rx_position));

  // ---- lines
  logic fetch_valid, fetch_ready, fetch_cached, look_valid, look_ready;
  drover_axi_pkg::ar_t fetch;
  logic [63:0] look_addr;
  drover_axi_pkg::r_t r;
  logic position_valid, position_ready, burst_valid, burst_ready, pop;
  nic_pkg::job_t position_job, burst_job;
  logic [1:0] done;
  logic [nic_pkg::FlowBits-1:0] done_flow, pop_flow, tx_flow;
  logic done_error;
  logic [511:0] rx_line;
  nic_tx #(.Flows(Flows), .FlowLines(FlowLines), .Interface(Interface), .Threading(Threading)) u_tx (
      .clk_i, .rst_ni, .soft_i(config_words), .on_i(tx_on), .start_i(tx_start), .store_i(store), .ring_i(ring),
      .store_flow_i(store_flow), .store_slot_i(write_addr[11:6]), .store_line_i(write_line),
      .store_strb_i(write_strb), .store_word_i(write_word), .window_read_i(window_read), .window_flow_i(window_flow),
      .window_slot_i(read_addr[11:6]), .window_line_o(window_line), .ring_flow_o(tx_ring_flow), .ring_0_i(tx_ring_0),
      .ring_1_i(tx_ring_1), .ring_2_i(tx_ring_2), .ring_3_i(tx_ring_3), .position_flow_o(tx_position_flow),
      .position_address_i(tx_position), .ar_valid_o(fetch_valid), .ar_ready_i(fetch_ready), .ar_o(fetch),
      .ar_cached_o(fetch_cached), .r_valid_i(host_rvalid_i && host_rid_i == IdLines), .r_i(r), .snoop_valid_i,
      .snoop_tag_i(snoop_addr_i[6+:nic_pkg::TagBits]), .job_valid_o(position_valid), .job_ready_i(position_ready),
      .job_o(position_job), .done_i(done[0]), .done_flow_i(done_flow), .done_error_i(done_error), .tx_line_o,
      .tx_flow_o(tx_flow), .tx_valid_o, .tx_ready_i, .tx_room_i, .busy_o(tx_busy), .direct_o(direct), .stop_o(tx_stop),
      .events_o(tx_events));
  nic_rx #(.Flows(Flows), .FlowLines(FlowLines), .Connections(Connections)) u_rx (
      .clk_i, .rst_ni, .soft_i(config_words), .on_i(rx_on), .start_i(rx_start), .line_i(rx_line_i),
      .flow_i(nic_pkg::FlowBits'(rx_flow_i)), .policy_i(rx_policy_i), .valid_i(rx_valid_i), .refused_o(rx_refused_o),
      .room_o(rx_room_o), .ring_flow_o(rx_ring_flow), .ring_0_i(rx_ring_0), .ring_1_i(rx_ring_1),
      .position_flow_o(rx_position_flow), .position_address_i(rx_position), .ar_valid_o(look_valid),
      .ar_ready_i(look_ready), .ar_addr_o(look_addr), .r_valid_i(host_rvalid_i && host_rid_i == IdPositions),
      .r_error_i(r.error || !r.last), .r_word_i(r.data[63:0]), .job_valid_o(burst_valid), .job_ready_i(burst_ready),
      .job_o(burst_job), .pop_i(pop), .pop_flow_i(pop_flow), .line_o(rx_line), .done_i(done[1]),
      .done_flow_i(done_flow), .done_error_i(done_error), .busy_o(rx_busy), .stop_o(rx_stop), .events_o(rx_events));
  assign tx_flow_o  = tx_flow[FlowW-1:0];
  assign rx_ready_o = 1'b1;

  // ---- host memory
  nic_read_port u_read_port (
      .clk_i, .rst_ni, .fetch_valid_i(fetch_valid), .fetch_ready_o(fetch_ready), .fetch_i(fetch),
      .fetch_cached_i(fetch_cached), .look_valid_i(look_valid), .look_ready_o(look_ready), .look_addr_i(look_addr),
      .araddr_o(host_araddr_o), .arlen_o(host_arlen_o), .arid_o(host_arid_o), .arcached_o(host_aruser_o),
      .arvalid_o(host_arvalid_o), .arready_i(host_arready_i));
  assign host_arsize_o  = drover_axi_pkg::SizeFullWidth;
  assign host_arburst_o = drover_axi_pkg::BurstIncr;
  assign host_rready_o  = 1'b1;
  assign r.error = host_rresp_i != drover_axi_pkg::RespOkay;
  assign r.last  = host_rlast_i;
  assign r.data  = host_rdata_i;

  nic_write_port u_write_port (
      .clk_i, .rst_ni, .job_valid_i({burst_valid, position_valid}), .job_ready_o({burst_ready, position_ready}),
      .position_i(position_job), .burst_i(burst_job), .pop_o(pop), .pop_flow_o(pop_flow), .line_i(rx_line),
      .done_o(done), .done_flow_o(done_flow), .done_error_o(done_error), .awaddr_o(host_awaddr_o),
      .awlen_o(host_awlen_o), .awvalid_o(host_awvalid_o), .awready_i(host_awready_i), .wdata_o(host_wdata_o),
      .wlast_o(host_wlast_o), .wvalid_o(host_wvalid_o), .wready_i(host_wready_i),
      .berror_i(host_bresp_i != drover_axi_pkg::RespOkay), .bvalid_i(host_bvalid_i), .bready_o(host_bready_o));
  assign host_awid_o    = '0;
  assign host_awsize_o  = drover_axi_pkg::SizeFullWidth;
  assign host_awburst_o = drover_axi_pkg::BurstIncr;
  assign host_wstrb_o   = '1;

  nic_counters u_counters (.clk_i, .rst_ni, .events_i(tx_events | rx_events), .counters_o(counters));

  drover_axi_write_checks u_checks (
      .clk_i, .rst_ni, .awaddr_i(host_awaddr_o), .awlen_i(host_awlen_o), .awid_i(host_awid_o),
      .awvalid_i(host_awvalid_o), .awready_i(host_awready_i), .wdata_i(host_wdata_o), .wstrb_i(host_wstrb_o),
      .wlast_i(host_wlast_o), .wvalid_i(host_wvalid_o), .wready_i(host_wready_i));
  `DROVER_ASSERT_HOLD(ReadHolds, host_arvalid_o, host_arready_i,
                      ({host_aruser_o, host_arid_o, host_arlen_o, host_araddr_o}))
  `DROVER_ASSERT(ReadStaysInside4K,
                 !host_arvalid_o || {3'd0, host_araddr_o[11:6]} + {1'b0, host_arlen_o} < 9'd64)
  `DROVER_ASSERT(PackageAgreesWithTheFormats,
                 32'd1 << nic_pkg::FlowBits == drover_nic_pkg::MaxFlows &&
                 nic_pkg::IndexBits == 32'(drover_nic_pkg::MaxRingLog) &&
                 nic_pkg::SequenceAt == 8 * 32'(drover_channel_pkg::LineSlotSequenceAt) &&
                 nic_pkg::Counters == 32'(drover_nic_pkg::NicCountersBytes / 8))
  `DROVER_ASSERT_HOLD(LineHolds, tx_valid_o, tx_ready_i, ({tx_flow_o, tx_line_o}))

  logic unused;
  assign unused = ^{tx_flow, host_bid_i, snoop_addr_i};
endmodule
