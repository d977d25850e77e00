// Picks one of N requests, in turn: the first at or behind the one after the last that was taken. A request that stays
// is taken after at most N - 1 others. The pick may change until it is taken.
`include "drover_assert.svh"
module drover_rr_arbiter #(
    parameter int unsigned N = 4
) (
    input  logic         clk_i,
    input  logic         rst_ni,
    input  logic [N-1:0] valid_i,
    input  logic         take_i,  // the pick, if there is one
    output logic [N-1:0] pick_o   // one-hot; zero without a request
);
  logic [N-1:0] turn_q, behind;
  assign behind = valid_i & ~(turn_q - 1'b1);
  assign pick_o = behind != '0 ? behind & (~behind + 1'b1) : valid_i & (~valid_i + 1'b1);
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) turn_q <= N'(1);
    else if (take_i && valid_i != '0) turn_q <= N'({pick_o, pick_o} >> (N - 1));
  end

  `DROVER_ASSERT_ONEHOT0(PicksOne, pick_o)
  `DROVER_ASSERT(PicksWhatIsOffered, (pick_o & ~valid_i) == '0 && (pick_o == '0) == (valid_i == '0))
endmodule
