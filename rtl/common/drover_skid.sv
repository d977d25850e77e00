// A register stage for a valid/ready stream: outputs, ready included, come from flip-flops; full throughput.
`include "drover_assert.svh"
module drover_skid #(
    parameter int unsigned Width = 32
) (
    input  logic             clk_i,
    input  logic             rst_ni,
    input  logic             wvalid_i,
    output logic             wready_o,
    input  logic [Width-1:0] wdata_i,
    output logic             rvalid_o,
    input  logic             rready_i,
    output logic [Width-1:0] rdata_o
);
  logic [Width-1:0] data_q, spare_q;
  logic valid_q, spare_valid_q;

  assign wready_o = !spare_valid_q;
  assign rvalid_o = valid_q;
  assign rdata_o  = data_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      valid_q       <= 1'b0;
      spare_valid_q <= 1'b0;
    end else if (rready_i || !valid_q) begin
      valid_q       <= spare_valid_q || wvalid_i;
      spare_valid_q <= 1'b0;
    end else if (wvalid_i && wready_o) begin
      spare_valid_q <= 1'b1;
    end
  end
  always_ff @(posedge clk_i) begin
    if (rready_i || !valid_q) data_q <= spare_valid_q ? spare_q : wdata_i;
    else if (wready_o) spare_q <= wdata_i;
  end

  `DROVER_ASSERT_HOLD(OutputHolds, rvalid_o, rready_i, rdata_o)
  `DROVER_ASSERT(SpareOnlyBehindAWord, valid_q || !spare_valid_q)
endmodule
