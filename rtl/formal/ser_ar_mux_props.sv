// Proof of ser_ar_mux: a request that a reader has been told of as taken went out, as its own, in that cycle; and what
// is offered to the port stays until it is taken (ser_ar_mux's own assertion). Readers hold their requests.
`include "drover_assert.svh"
module ser_ar_mux_props (
    input logic                                   clk_i,
    input logic                                   rst_ni,
    input logic [3:0]                             valid_i,
    input logic [3:0][drover_axi_pkg::ArBits-1:0] ar_i,
    input logic                                   ar_ready_i
);
  logic [3:0] ready, taken;
  logic ar_valid;
  logic [drover_axi_pkg::ArBits-1:0] ar;
  logic [1:0] id;
  ser_ar_mux u_mux (
      .clk_i, .rst_ni, .valid_i, .ready_o(ready), .ar_i, .ar_valid_o(ar_valid), .ar_ready_i, .ar_o(ar), .ar_id_o(id));
  assign taken = valid_i & ready;

  `DROVER_ASSUME_RESET_FIRST
  logic [3:0] as_its_own;
  for (genvar i = 0; i < 4; i++) begin : gen_reader
    stream_holds #(.Width(drover_axi_pkg::ArBits)) u_holds (
        .clk_i, .rst_ni, .valid_i(valid_i[i]), .ready_i(ready[i]), .data_i(ar_i[i]));
    assign as_its_own[i] = ar_valid && ar_ready_i && id == 2'(i) && ar == ar_i[i];
  end
  `DROVER_ASSERT(WhatWasTakenWentOut, (taken & ~as_its_own) == '0)
  `DROVER_ASSERT(OffersWhileAReaderAsks, ar_valid == (valid_i != '0))
  `DROVER_ASSERT_ONEHOT0(TakesOneAtATime, taken)
  `DROVER_ASSERT(WhatThePortTookIsSomeones, !(ar_valid && ar_ready_i) || taken != '0)
endmodule
