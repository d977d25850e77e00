// Proof of drover_skid: every word once and in order, two words of room, and what is offered stays until it is taken
// (drover_skid's own OutputHolds).
`include "drover_assert.svh"
module drover_skid_props #(
    parameter int unsigned Width = 2
) (
    input logic             clk_i,
    input logic             rst_ni,
    input logic             wvalid_i,
    input logic [Width-1:0] wdata_i,
    input logic             rready_i,
    input logic             mark_i
);
  logic wready, rvalid;
  logic [Width-1:0] rdata;
  logic [1:0] inside;
  drover_skid #(.Width(Width)) u_skid (
      .clk_i, .rst_ni, .wvalid_i, .wready_o(wready), .wdata_i, .rvalid_o(rvalid), .rready_i, .rdata_o(rdata));
  stream_order #(.Width(Width), .Capacity(2)) u_order (
      .clk_i, .rst_ni, .wvalid_i, .wready_i(wready), .wdata_i, .rvalid_i(rvalid), .rready_i, .rdata_i(rdata), .mark_i,
      .inside_o(inside));
  logic was_taken_q;  // the reader took a word in the last cycle, or there was none
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) was_taken_q <= 1'b1;
    else was_taken_q <= rready_i || !rvalid;
  end
  `DROVER_ASSUME_RESET_FIRST
  `DROVER_ASSERT(AFastReaderNeverStopsTheWriter, !was_taken_q || wready)
endmodule
