// The other side of a valid/ready stream, as a proof takes it: what it offers stays, unchanged, until it is taken.
`include "drover_assert.svh"
module stream_holds #(
    parameter int unsigned Width = 1
) (
    input logic             clk_i,
    input logic             rst_ni,
    input logic             valid_i,
    input logic             ready_i,
    input logic [Width-1:0] data_i
);
  `DROVER_ASSUME_HOLD(OfferHolds, valid_i, ready_i, data_i)
endmodule
