// Proof of drover_fifo: every word once and in order, and the level is the number of words in it.
`include "drover_assert.svh"
module drover_fifo_props #(
    parameter int unsigned Width = 2,
    parameter int unsigned Depth = 4,
    parameter bit Bypass = 1'b0
) (
    input logic             clk_i,
    input logic             rst_ni,
    input logic             wvalid_i,
    input logic [Width-1:0] wdata_i,
    input logic             rready_i,
    input logic             mark_i
);
  localparam int unsigned CountW = $clog2(Depth + 2);
  logic wready, rvalid;
  logic [Width-1:0] rdata;
  logic [$clog2(Depth):0] level;
  logic [CountW-1:0] inside;
  drover_fifo #(.Width(Width), .Depth(Depth), .Bypass(Bypass)) u_fifo (
      .clk_i, .rst_ni, .wvalid_i, .wready_o(wready), .wdata_i, .rvalid_o(rvalid), .rready_i, .rdata_o(rdata),
      .level_o(level));
  stream_order #(.Width(Width), .Capacity(Depth), .Bypass(Bypass)) u_order (
      .clk_i, .rst_ni, .wvalid_i, .wready_i(wready), .wdata_i, .rvalid_i(rvalid), .rready_i, .rdata_i(rdata), .mark_i,
      .inside_o(inside));
  `DROVER_ASSUME_RESET_FIRST
  `DROVER_ASSERT(LevelIsWhatIsInside, CountW'(level) == inside)
endmodule
