// Whether a stream keeps its words: what goes in comes out once, in the order in which it came, and nothing else does.
//
// It counts the words inside and follows one of them, whichever: mark_i is free, so a proof for the word that it marks
// is one for each word.
`include "drover_assert.svh"
module stream_order #(
    parameter int unsigned Width = 2,
    parameter int unsigned Capacity = 4,
    parameter bit Bypass = 1'b0,  // a word may come out in the cycle in which it goes in
    localparam int unsigned CountW = $clog2(Capacity + 2)
) (
    input  logic              clk_i,
    input  logic              rst_ni,
    input  logic              wvalid_i,
    input  logic              wready_i,
    input  logic [Width-1:0]  wdata_i,
    input  logic              rvalid_i,
    input  logic              rready_i,
    input  logic [Width-1:0]  rdata_i,
    input  logic              mark_i,  // the word that goes in now, if none is marked
    output logic [CountW-1:0] inside_o
);
  logic in, out, marked_q;
  logic [CountW-1:0] inside_q, ahead_q;  // ahead_q: words in front of the marked one
  logic [Width-1:0] word_q;
  assign in       = wvalid_i && wready_i;
  assign out      = rvalid_i && rready_i;
  assign inside_o = inside_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      inside_q <= '0;
      marked_q <= 1'b0;
      ahead_q  <= '0;
    end else begin
      inside_q <= inside_q + CountW'(in) - CountW'(out);
      if (marked_q) begin
        marked_q <= !(out && ahead_q == '0);
        ahead_q  <= ahead_q - CountW'(out);
      end else if (in && mark_i && !(out && inside_q == '0)) begin
        marked_q <= 1'b1;
        ahead_q  <= inside_q - CountW'(out);
      end
    end
  end
  always_ff @(posedge clk_i) begin
    if (!marked_q) word_q <= wdata_i;
  end

  `DROVER_ASSERT(HoldsNoMoreThanItsCapacity, inside_q <= CountW'(Capacity))
  `DROVER_ASSERT(TakesAWordWhileThereIsRoom, wready_i == (inside_q != CountW'(Capacity)))
  `DROVER_ASSERT(OffersAWordWhileItHasOne, rvalid_i == (inside_q != '0 || (Bypass && wvalid_i)))
  `DROVER_ASSERT(WordsComeOutInTheirOrder, !marked_q || ahead_q != '0 || rdata_i == word_q)
  `DROVER_ASSERT(WhatPassesIsTheWord, inside_q != '0 || !rvalid_i || rdata_i == wdata_i)
endmodule
