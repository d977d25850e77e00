// Proof of nic_net_misses: frames leave in the order in which they came, each once; a frame of a connection of which one
// waits is told to wait; and only the first is asked about, tried, and leaves. The frame is a number and the bit that
// says whether it has a line, the rest of it is fixed. One frame, whichever, is followed.
`include "drover_assert.svh"
/* verilator lint_off IMPORTSTAR */
import nic_net_pkg::*;
/* verilator lint_on IMPORTSTAR */
module nic_net_misses_props #(
    parameter int unsigned Depth = 4
) (
    input logic       clk_i,
    input logic       rst_ni,
    input logic       push_i,
    input logic [1:0] in_number_i,
    input logic       has_line_i,
    input logic [1:0] look_number_i,
    input logic       go_i,
    input logic       drop_i,
    input logic       tried_i,
    input logic       leave_i,
    input logic       stay_i,
    input logic       mark_i
);
  localparam int unsigned CountW = $clog2(Depth) + 1;
  nic_net_pkg::received_t frame, first;
  logic full, waits, miss, first_has_line, try_first, trying, push, out;
  logic [511:0] first_line;
  always_comb begin
    frame = '0;
    frame.connection = {14'd0, in_number_i};
  end
  assign push = push_i && !full;
  nic_net_misses #(.Depth(Depth)) u_misses (
      .clk_i, .rst_ni, .push_i(push), .frame_i(frame), .has_line_i, .line_i('0), .full_o(full),
      .number_i({14'd0, look_number_i}), .waits_o(waits), .miss_o(miss), .frame_o(first), .has_line_o(first_has_line),
      .line_o(first_line), .go_i, .drop_i, .try_o(try_first), .tried_i, .leave_i, .stay_i, .trying_o(trying));

  // As the block says that it leaves: dropped when asked about, or done with when tried.
  logic under_way_q;
  assign out = miss && drop_i && !go_i || under_way_q && leave_i;
  `DROVER_ASSUME(OneAnswer, !(go_i && drop_i))
  `DROVER_ASSUME(OneEnd, !(leave_i && stay_i))
  logic marked_q, has_line_q;
  logic [CountW-1:0] inside_q, ahead_q;
  logic [1:0] number_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      under_way_q <= 1'b0;
      inside_q    <= '0;
      marked_q    <= 1'b0;
      ahead_q     <= '0;
    end else begin
      if (try_first && tried_i) under_way_q <= 1'b1;
      else if (leave_i || stay_i) under_way_q <= 1'b0;
      inside_q <= inside_q + CountW'(push) - CountW'(out);
      if (marked_q) begin
        marked_q <= !(out && ahead_q == '0);
        ahead_q  <= ahead_q - CountW'(out);
      end else if (push && mark_i) begin
        marked_q <= 1'b1;
        ahead_q  <= inside_q - CountW'(out);
      end
    end
  end
  always_ff @(posedge clk_i) begin
    if (!marked_q) begin
      number_q   <= in_number_i;
      has_line_q <= has_line_i;
    end
  end
  `DROVER_ASSUME_RESET_FIRST
  `DROVER_ASSERT(FramesComeInTheirOrder, !(marked_q && ahead_q == '0) ||
                                         first.connection == {14'd0, number_q} && first_has_line == has_line_q)
  `DROVER_ASSERT(OthersOfTheConnectionWait, !(marked_q && number_q == look_number_i) || waits)
  `DROVER_ASSERT(NothingWaitsInAnEmptyQueue, inside_q != '0 || !waits && !miss && !trying)
  `DROVER_ASSERT(IsFullWhenItIs, full == (inside_q == CountW'(Depth)))
  `DROVER_ASSERT(AsksOrTries, inside_q == '0 || miss != trying)
  logic unused;
  assign unused = ^{first, first_line};
endmodule
