// Proof of deser_write_ports: what goes out over the AXI4 write ports is each burst's address, once and in order, and
// its data, all of its beats and no others; and each answer goes to a lane that waits for one.
//
// It follows one burst, whichever: mark_i is free, so a proof for the burst that it marks is one for each. Bursts are
// taken to stay inside 4 KB, and a lane to hold its beats and to mark the last one: deser_writer_props shows that, for
// its first cycles. Fewer than 2,000 bursts of a lane are taken to be unanswered. That what is offered stays, and that
// bursts are aligned and stay inside 4 KB, are drover_axi_write_checks's own assertions. Of data and addresses only some
// bits are free, as below: the proof's effort grows with them, what happens to them does not.
`include "drover_assert.svh"
module deser_write_ports_props #(
    parameter int unsigned Lanes = 2,
    parameter int unsigned Bursts = 2,
    parameter int unsigned Addresses = 2
) (
    input logic                  clk_i,
    input logic                  rst_ni,
    input logic                  mark_i,  // the burst that comes now, if none is marked
    input logic                  engine_base_i,
    input logic                  burst_valid_i,
    input logic [1:0]            where_i,
    input logic [3:0]            lane_i,
    input logic                  frame_i,
    input logic [2:0]            len_i,
    input logic [1:0]            chunk_i,
    input logic [2:0]            row_i,
    input logic [Lanes-1:0]      wvalid_i,
    input logic [Lanes-1:0]      wlast_i,
    input logic [Lanes-1:0][2:0] wdata_i,
    input logic                  host_awready_i,
    input logic                  host_wready_i,
    input logic [3:0]            host_bid_i,
    input logic [1:0]            host_bresp_i,
    input logic                  host_bvalid_i,
    input logic                  hbm_awready_i,
    input logic                  hbm_wready_i,
    input logic [3:0]            hbm_bid_i,
    input logic [1:0]            hbm_bresp_i,
    input logic                  hbm_bvalid_i
);
  localparam int unsigned InsideW = $clog2(Bursts + 2);
  localparam int unsigned AnswersW = 11;

  deser_pkg::burst_t burst;
  logic [5:0] len, row;
  assign len = {len_i[2], 3'b000, len_i[1:0]};
  assign row = {row_i[2], 3'b111, row_i[1:0]};
  logic [deser_pkg::ChunkW-1:0] engine_base;
  logic burst_ready;
  logic [Lanes-1:0][deser_pkg::WBits-1:0] w;
  logic [Lanes-1:0] wready;
  logic [Lanes-1:0][1:0] b, b_fault;
  logic [1:0][63:0] awaddr;  // host memory's, engine memory's
  logic [1:0][7:0] awlen;
  logic [1:0][3:0] awid;
  logic [1:0][511:0] wdata;
  logic [1:0][63:0] wstrb;
  logic [1:0] awvalid, awready, wlast, wvalid, w_ready;
  logic host_bready, hbm_bready;
  logic [12:0] bursts;
  assign engine_base = {26'd0, engine_base_i, 1'b0};
  assign burst.where = deser_pkg::where_e'(where_i);
  assign burst.lane  = lane_i;
  assign burst.frame = {frame_i, 42'd0};
  assign burst.len   = len;
  assign burst.row   = {26'd0, chunk_i, row};
  assign awready     = {hbm_awready_i, host_awready_i};
  assign w_ready     = {hbm_wready_i, host_wready_i};
  for (genvar i = 0; i < Lanes; i++) begin : gen_lane
    assign w[i] = {wlast_i[i], wdata_i[i][2], 63'd0, wdata_i[i][1], 510'd0, wdata_i[i][0]};
    stream_holds #(.Width(4)) u_holds (
        .clk_i, .rst_ni, .valid_i(wvalid_i[i]), .ready_i(wready[i]), .data_i({wlast_i[i], wdata_i[i]}));
  end
  deser_write_ports #(.Lanes(Lanes), .Bursts(Bursts), .Addresses(Addresses)) u_ports (
      .clk_i, .rst_ni, .engine_base_i(engine_base), .burst_valid_i, .burst_ready_o(burst_ready), .burst_i(burst),
      .wvalid_i, .wready_o(wready), .w_i(w), .b_o(b), .b_fault_o(b_fault), .bursts_o(bursts),
      .host_awaddr_o(awaddr[0]), .host_awlen_o(awlen[0]), .host_awid_o(awid[0]), .host_awvalid_o(awvalid[0]),
      .host_awready_i, .host_wdata_o(wdata[0]), .host_wstrb_o(wstrb[0]), .host_wlast_o(wlast[0]),
      .host_wvalid_o(wvalid[0]), .host_wready_i, .host_bid_i, .host_bresp_i, .host_bvalid_i,
      .host_bready_o(host_bready),
      .hbm_awaddr_o(awaddr[1]), .hbm_awlen_o(awlen[1]), .hbm_awid_o(awid[1]), .hbm_awvalid_o(awvalid[1]),
      .hbm_awready_i, .hbm_wdata_o(wdata[1]), .hbm_wstrb_o(wstrb[1]), .hbm_wlast_o(wlast[1]),
      .hbm_wvalid_o(wvalid[1]), .hbm_wready_i, .hbm_bid_i, .hbm_bresp_i, .hbm_bvalid_i, .hbm_bready_o(hbm_bready));

  // ---- what is under way
  logic [1:0] to;  // the burst that comes goes to host memory, to engine memory
  logic [Lanes-1:0] ends;
  logic in, out, marking, marked_q;
  logic [1:0] aw_out;
  logic [InsideW-1:0] inside_q;          // bursts whose data has not ended
  logic [1:0][InsideW-1:0] addresses_q;  // and whose address has not gone out
  assign to     = {where_i == 2'(deser_pkg::ToEngine), where_i == 2'(deser_pkg::ToHost)};
  assign in     = burst_valid_i && burst_ready;
  assign ends   = wvalid_i & wready & wlast_i;
  assign out    = ends != '0;
  assign aw_out = awvalid & awready;
  assign marking = in && mark_i && !marked_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      inside_q    <= '0;
      addresses_q <= '0;
    end else begin
      inside_q <= inside_q + InsideW'(in) - InsideW'(out);
      for (int p = 0; p < 2; p++)
        addresses_q[p] <= addresses_q[p] + InsideW'(in && to[p]) - InsideW'(aw_out[p]);
    end
  end

  // ---- the marked burst
  logic aw_left_q, w_left_q;  // its address is still to go out; its last beat
  logic [InsideW-1:0] aw_ahead_q, w_ahead_q;  // bursts in front of it
  logic [5:0] beats_q;                   // that it has had
  logic [1:0] to_q;
  logic [63:0] addr_q;
  logic [5:0] len_q;
  logic [3:0] lane_q;
  logic aw_turn, w_turn, w_offered, w_last;
  logic [2:0] w_bits;
  assign aw_turn = aw_left_q && aw_ahead_q == '0;
  assign w_turn  = w_left_q && w_ahead_q == '0;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      marked_q  <= 1'b0;
      aw_left_q <= 1'b0;
      w_left_q  <= 1'b0;
    end else begin
      marked_q <= marked_q || marking;  // once, at any time
      if (marking) begin
        aw_left_q <= to != '0;
        w_left_q  <= 1'b1;
      end else begin
        if ((aw_out & to_q) != '0 && aw_ahead_q == '0) aw_left_q <= 1'b0;
        if (out && w_ahead_q == '0) w_left_q <= 1'b0;
      end
    end
  end
  always_ff @(posedge clk_i) begin
    if (marking) begin
      aw_ahead_q <= to[0] ? addresses_q[0] - InsideW'(aw_out[0]) : addresses_q[1] - InsideW'(aw_out[1]);
      w_ahead_q  <= inside_q - InsideW'(out);
      beats_q    <= '0;
      to_q       <= to;
      len_q      <= len;
      lane_q     <= lane_i;
      addr_q     <= to[0] ? {frame_i, 49'd0, chunk_i, row, 6'd0}
                          : {50'd0, chunk_i, row, 6'd0} - {50'd0, engine_base_i, 13'd0};
    end else begin
      if ((aw_out & to_q) != '0 && aw_ahead_q != '0) aw_ahead_q <= aw_ahead_q - 1'b1;
      if (out && w_ahead_q != '0) w_ahead_q <= w_ahead_q - 1'b1;
      if (w_turn && (wvalid_i & wready) != '0) beats_q <= beats_q + 1'b1;
    end
  end
  always_comb begin
    w_offered = 1'b0;
    w_last    = 1'b0;
    w_bits    = '0;
    for (int i = 0; i < Lanes; i++) begin
      if (lane_q == 4'(i)) begin
        w_offered = wvalid_i[i];
        w_last    = wlast_i[i];
        w_bits    = wdata_i[i];
      end
    end
  end

  // ---- answers: bursts of each lane, to each memory, whose data has ended and that have not been answered
  logic [Lanes-1:0][1:0] waits, few, answered, sent;
  logic [1:0] b_valid, b_refused;
  logic [1:0][3:0] b_id;
  logic [Lanes-1:0] drops;  // what ends now went nowhere
  assign b_valid   = {hbm_bvalid_i && hbm_bready, host_bvalid_i && host_bready};
  assign b_refused = {hbm_bresp_i != '0, host_bresp_i != '0};
  assign b_id      = {hbm_bid_i, host_bid_i};
  for (genvar i = 0; i < Lanes; i++) begin : gen_answers
    assign drops[i] = ends[i] && (wvalid & w_ready) == '0;
    for (genvar p = 0; p < 2; p++) begin : gen_port
      logic [AnswersW-1:0] waits_q;
      assign waits[i][p]    = waits_q != '0;
      assign few[i][p]      = waits_q < AnswersW'(2000);
      assign sent[i][p]     = ends[i] && wvalid[p] && w_ready[p];
      assign answered[i][p] = b_valid[p] && b_id[p] == 4'(i) && waits[i][p];
      always_ff @(posedge clk_i or negedge rst_ni) begin
        if (!rst_ni) waits_q <= '0;
        else waits_q <= waits_q + AnswersW'(sent[i][p]) - AnswersW'(answered[i][p]);
      end
    end
  end

  `DROVER_ASSUME_RESET_FIRST
  `DROVER_ASSUME_HOLD(ConfigurationHolds, 1'b1, 1'b0, engine_base_i)
  `DROVER_ASSUME(BurstIsOfALane, !burst_valid_i || (lane_i < 4'(Lanes) && where_i != 2'd3))
  `DROVER_ASSUME(BurstIsInside4K, !burst_valid_i || {1'b0, row} + {1'b0, len} < 7'd64)
  `DROVER_ASSUME(BurstIsBehindTheBase, !(burst_valid_i && to[1]) || chunk_i[1] || !engine_base_i)
  `DROVER_ASSUME(FewAreUnanswered, few == '1)
  `DROVER_ASSUME(TheLastBeatIsTheLengths, !(w_turn && w_offered) || w_last == (beats_q == len_q))

  // The marked burst's port, and the other.
  logic port;
  logic [Lanes-1:0] lane;
  logic [InsideW-1:0] none;
  assign port = to_q[1];
  assign lane = Lanes'(1) << lane_q;
  assign none = '0;
  `DROVER_ASSERT(EachAddressInItsOrder, !(aw_turn && awvalid[port]) ||
                 (awaddr[port] == addr_q && awlen[port] == 8'(len_q) && awid[port] == lane_q))
  `DROVER_ASSERT(AnAddressForEachBurst, awvalid == {addresses_q[1] != none, addresses_q[0] != none})
  `DROVER_ASSERT(DataInTheOrderOfBursts, !w_turn || wvalid == (w_offered ? to_q : 2'd0))
  `DROVER_ASSERT(DataIsTheLanes, !(w_turn && wvalid[port]) || (wdata[port] == {w_bits[1], 510'd0, w_bits[0]} &&
                 wstrb[port] == {w_bits[2], 63'd0}))
  `DROVER_ASSERT(LastOnTheLastBeatOnly, !(w_turn && wvalid[port]) || wlast[port] == (beats_q == len_q))
  `DROVER_ASSERT(DataIsTakenWhereItGoes, !(w_turn && to_q != '0) || wready == (w_ready[port] ? lane : '0))
  `DROVER_ASSERT(NoOtherLanesDataIsTaken, !(w_turn && to_q == '0) || (wready & ~lane) == '0)
  `DROVER_ASSERT(NoDataWithoutABurst, inside_q != '0 || (wvalid == '0 && wready == '0))

  logic [Lanes-1:0] wrong_host, wrong_engine, early_drop, untold, invented;
  for (genvar i = 0; i < Lanes; i++) begin : gen_wrong
    assign wrong_host[i]   = b[i][0] != (answered[i][0] || drops[i]);
    assign wrong_engine[i] = b[i][1] != answered[i][1];
    assign early_drop[i]   = drops[i] && (waits[i][0] || answered[i][0]);
    assign untold[i]       = ((answered[i] & b_refused | {1'b0, drops[i]}) & ~b_fault[i]) != '0;
    assign invented[i]     = (b[i] & b_fault[i] & ~(b_refused & answered[i]) & ~{1'b0, drops[i]}) != '0;
  end
  `DROVER_ASSERT(AHostAnswerForEachBurst, wrong_host == '0)
  `DROVER_ASSERT(AnEngineAnswerForEachBurst, wrong_engine == '0)
  `DROVER_ASSERT(ADroppedBurstIsAnsweredInItsTurn, early_drop == '0)
  `DROVER_ASSERT(RefusalsAreToldOf, untold == '0 && invented == '0)

  logic unused;
  assign unused = ^bursts;
endmodule
