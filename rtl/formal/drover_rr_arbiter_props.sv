// Proof of drover_rr_arbiter: at most one grant, only to who asks (its own assertions), and a request that stays is
// taken after at most N - 1 others.
`include "drover_assert.svh"
module drover_rr_arbiter_props #(
    parameter int unsigned N = 4,
    localparam int unsigned CountW = $clog2(N + 1)
) (
    input logic         clk_i,
    input logic         rst_ni,
    input logic [N-1:0] valid_i,
    input logic         take_i
);
  logic [N-1:0] pick;
  drover_rr_arbiter #(.N(N)) u_arbiter (.clk_i, .rst_ni, .valid_i, .take_i, .pick_o(pick));
  `DROVER_ASSUME_RESET_FIRST
  logic [N-1:0] in_time;
  for (genvar i = 0; i < N; i++) begin : gen_requester
    logic [CountW-1:0] others_q;  // taken while this one has been asking
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) others_q <= '0;
      else if (!valid_i[i] || (take_i && pick[i])) others_q <= '0;
      else if (take_i) others_q <= others_q + 1'b1;
    end
    assign in_time[i] = others_q < CountW'(N);
  end
  `DROVER_ASSERT(WaitsForAtMostTheOthers, in_time == '1)
endmodule
