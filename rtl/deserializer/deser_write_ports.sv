// Sends bursts to the AXI4 write ports of host and engine memory, and gives their answers to the lanes.
//
// The data of a burst is its lane's next, up to the lane's last beat. It goes out in the order of the bursts, over both
// ports, and does not wait for the burst's address. A burst that goes nowhere is dropped and answered here, as refused.
`include "drover_assert.svh"
module deser_write_ports #(
    parameter int unsigned Lanes = 4,
    parameter int unsigned Bursts = 16,    // whose data is still to come
    parameter int unsigned Addresses = 4,  // that wait at each port
    localparam int unsigned OrderW = $clog2(Bursts),
    localparam int unsigned AddressesW = $clog2(Addresses)
) (
    input  logic              clk_i,
    input  logic              rst_ni,
    input  logic [deser_pkg::ChunkW-1:0] engine_base_i,
    input  logic              burst_valid_i,
    output logic              burst_ready_o,
    input  deser_pkg::burst_t burst_i,
    // of the lanes: data; answers of host memory, of engine memory
    input  logic [Lanes-1:0]  wvalid_i,
    output logic [Lanes-1:0]  wready_o,
    input  logic [Lanes-1:0][deser_pkg::WBits-1:0] w_i,
    output logic [Lanes-1:0][1:0] b_o,
    output logic [Lanes-1:0][1:0] b_fault_o,  // with b_o: it was refused
    output logic [12:0]       bursts_o,  // to the host, on their way
    // host memory
    output logic [63:0]       host_awaddr_o,
    output logic [7:0]        host_awlen_o,
    output logic [3:0]        host_awid_o,
    output logic              host_awvalid_o,
    input  logic              host_awready_i,
    output logic [511:0]      host_wdata_o,
    output logic [63:0]       host_wstrb_o,
    output logic              host_wlast_o,
    output logic              host_wvalid_o,
    input  logic              host_wready_i,
    input  logic [3:0]        host_bid_i,
    input  logic [1:0]        host_bresp_i,
    input  logic              host_bvalid_i,
    output logic              host_bready_o,
    // engine memory
    output logic [63:0]       hbm_awaddr_o,
    output logic [7:0]        hbm_awlen_o,
    output logic [3:0]        hbm_awid_o,
    output logic              hbm_awvalid_o,
    input  logic              hbm_awready_i,
    output logic [511:0]      hbm_wdata_o,
    output logic [63:0]       hbm_wstrb_o,
    output logic              hbm_wlast_o,
    output logic              hbm_wvalid_o,
    input  logic              hbm_wready_i,
    input  logic [3:0]        hbm_bid_i,
    input  logic [1:0]        hbm_bresp_i,
    input  logic              hbm_bvalid_i,
    output logic              hbm_bready_o
);
  localparam int unsigned PageRowW = deser_pkg::PageW - 6;  // of a row inside a page

  // ---- addresses; and the order of the bursts: whose data comes next, and where it goes
  typedef struct packed {
    deser_pkg::where_e where;
    logic [3:0]        lane;
  } order_t;
  order_t order_in, order;
  logic order_room, order_valid, order_pop, host_room, hbm_room, take;
  logic [OrderW:0] order_level;
  logic [AddressesW:0] host_level, hbm_level;
  assign order_in.where = burst_i.where;
  assign order_in.lane  = burst_i.lane;
  assign burst_ready_o  = order_room && host_room && hbm_room;
  assign take           = burst_valid_i && burst_ready_o;
  drover_fifo #(.Width($bits(order)), .Depth(Bursts)) u_order (
      .clk_i, .rst_ni, .wvalid_i(take), .wready_o(order_room), .wdata_i(order_in), .rvalid_o(order_valid),
      .rready_i(order_pop), .rdata_o(order), .level_o(order_level));

  // An address on a bus.
  typedef struct packed {
    logic [3:0]  id;
    logic [5:0]  len;  // beats, less one
    logic [63:0] addr;
  } host_aw_t;
  host_aw_t host_in, host_aw;
  assign host_in.id   = burst_i.lane;
  assign host_in.len  = burst_i.len;
  assign host_in.addr = {burst_i.frame, burst_i.row[PageRowW-1:0], 6'd0};
  drover_fifo #(.Width($bits(host_aw)), .Depth(Addresses)) u_host_aw (
      .clk_i, .rst_ni, .wvalid_i(take && burst_i.where == deser_pkg::ToHost), .wready_o(host_room), .wdata_i(host_in),
      .rvalid_o(host_awvalid_o), .rready_i(host_awready_i), .rdata_o(host_aw), .level_o(host_level));
  assign host_awaddr_o = host_aw.addr;
  assign host_awlen_o  = 8'(host_aw.len);
  assign host_awid_o   = host_aw.id;

  typedef struct packed {
    logic [3:0]                 id;
    logic [5:0]                 len;
    logic [deser_pkg::RowW-1:0] row;
  } hbm_aw_t;
  hbm_aw_t hbm_in, hbm_aw;
  assign hbm_in.id  = burst_i.lane;
  assign hbm_in.len = burst_i.len;
  assign hbm_in.row = burst_i.row;
  drover_fifo #(.Width($bits(hbm_aw)), .Depth(Addresses)) u_hbm_aw (
      .clk_i, .rst_ni, .wvalid_i(take && burst_i.where == deser_pkg::ToEngine), .wready_o(hbm_room), .wdata_i(hbm_in),
      .rvalid_o(hbm_awvalid_o), .rready_i(hbm_awready_i), .rdata_o(hbm_aw), .level_o(hbm_level));
  // Engine memory counts from its own base.
  assign hbm_awaddr_o = {24'd0, hbm_aw.row, 6'd0} - {24'd0, engine_base_i, 12'd0};
  assign hbm_awlen_o  = 8'(hbm_aw.len);
  assign hbm_awid_o   = hbm_aw.id;

  // ---- data
  logic w_valid, w_ready, lane_in_flight;
  deser_pkg::w_t w;
  always_comb begin
    w_valid = 1'b0;
    w       = '0;
    for (int i = 0; i < Lanes; i++) begin
      if (order.lane == i[3:0]) begin
        w_valid = order_valid && wvalid_i[i];
        w       = w_i[i];
      end
    end
    // A burst that goes nowhere is answered here. It waits until the lane's earlier bursts have been answered, since
    // the lane takes answers in order.
    w_ready = order.where == deser_pkg::ToHost ? host_wready_i :
              order.where == deser_pkg::ToEngine ? hbm_wready_i : !lane_in_flight;
    for (int i = 0; i < Lanes; i++) wready_o[i] = order_valid && order.lane == i[3:0] && w_ready;
  end
  assign order_pop     = w_valid && w_ready && w.last;
  assign host_wvalid_o = w_valid && order.where == deser_pkg::ToHost;
  assign host_wdata_o  = w.data;
  assign host_wstrb_o  = w.strb;
  assign host_wlast_o  = w.last;
  assign hbm_wvalid_o  = w_valid && order.where == deser_pkg::ToEngine;
  assign hbm_wdata_o   = w.data;
  assign hbm_wstrb_o   = w.strb;
  assign hbm_wlast_o   = w.last;

  // ---- answers
  // Unanswered bursts of each lane to host and to engine memory: at most 1,024 and what the lane's FIFOs hold
  // (deser_writer).
  logic [10:0] in_flight_q[Lanes], hbm_in_flight_q[Lanes];
  logic [Lanes-1:0] host_answer, hbm_answer;  // to the lane; an unsolicited answer is ignored
  logic dropped;
  always_comb begin
    lane_in_flight = 1'b0;
    bursts_o       = 13'(order_level);
    for (int i = 0; i < Lanes; i++) begin
      bursts_o = bursts_o + 13'(in_flight_q[i]);
      if (order.lane == i[3:0] && in_flight_q[i] != '0) lane_in_flight = 1'b1;
      host_answer[i] = host_bvalid_i && host_bready_o && host_bid_i == i[3:0] && in_flight_q[i] != '0;
      hbm_answer[i]  = hbm_bvalid_i && hbm_bid_i == i[3:0] && hbm_in_flight_q[i] != '0;
    end
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      for (int i = 0; i < Lanes; i++) begin
        in_flight_q[i]     <= '0;
        hbm_in_flight_q[i] <= '0;
      end
    end else begin
      for (int i = 0; i < Lanes; i++) begin
        in_flight_q[i] <= in_flight_q[i] +
                          11'(order_pop && order.where == deser_pkg::ToHost && order.lane == i[3:0]) -
                          11'(host_answer[i]);
        hbm_in_flight_q[i] <= hbm_in_flight_q[i] +
                              11'(order_pop && order.where == deser_pkg::ToEngine && order.lane == i[3:0]) -
                              11'(hbm_answer[i]);
      end
    end
  end
  assign dropped       = order_pop && order.where == deser_pkg::ToNowhere;
  assign host_bready_o = !dropped;  // a lane takes one answer of each kind a cycle
  assign hbm_bready_o  = 1'b1;
  always_comb begin
    for (int i = 0; i < Lanes; i++) begin
      b_o[i][0]       = host_answer[i] || (dropped && order.lane == i[3:0]);
      b_o[i][1]       = hbm_answer[i];
      b_fault_o[i][0] = dropped || host_bresp_i != drover_axi_pkg::RespOkay;
      b_fault_o[i][1] = hbm_bresp_i != drover_axi_pkg::RespOkay;
    end
  end

  drover_axi_write_checks u_host_checks (
      .clk_i, .rst_ni, .awaddr_i(host_awaddr_o), .awlen_i(host_awlen_o), .awid_i(host_awid_o),
      .awvalid_i(host_awvalid_o), .awready_i(host_awready_i), .wdata_i(host_wdata_o), .wstrb_i(host_wstrb_o),
      .wlast_i(host_wlast_o), .wvalid_i(host_wvalid_o), .wready_i(host_wready_i));
  drover_axi_write_checks u_hbm_checks (
      .clk_i, .rst_ni, .awaddr_i(hbm_awaddr_o), .awlen_i(hbm_awlen_o), .awid_i(hbm_awid_o),
      .awvalid_i(hbm_awvalid_o), .awready_i(hbm_awready_i), .wdata_i(hbm_wdata_o), .wstrb_i(hbm_wstrb_o),
      .wlast_i(hbm_wlast_o), .wvalid_i(hbm_wvalid_o), .wready_i(hbm_wready_i));

  logic unused;
  assign unused = ^{host_level, hbm_level};
endmodule
