// A FIFO of Depth words (a power of two) in memory that is read in the same cycle (distributed RAM on an FPGA).
//
// valid/ready on both sides; what is written in one cycle can be read in the next, or, with Bypass, in the same if
// nothing is in front of it. Neither side's ready depends on the other side's valid.
`include "drover_assert.svh"
module drover_fifo #(
    parameter int unsigned Width = 32,
    parameter int unsigned Depth = 16,
    parameter bit Bypass = 1'b0,
    localparam int unsigned PtrW = $clog2(Depth)
) (
    input  logic             clk_i,
    input  logic             rst_ni,
    input  logic             wvalid_i,
    output logic             wready_o,
    input  logic [Width-1:0] wdata_i,
    output logic             rvalid_o,
    input  logic             rready_i,
    output logic [Width-1:0] rdata_o,
    output logic [PtrW:0]    level_o
);
  (* ram_style = "distributed" *) logic [Width-1:0] mem[Depth];
  logic [PtrW:0] wptr_q, rptr_q;
  logic push, pop, past;

  assign level_o  = wptr_q - rptr_q;
  assign wready_o = !level_o[PtrW];
  assign past     = Bypass && level_o == '0;
  assign rvalid_o = level_o != '0 || (past && wvalid_i);
  assign rdata_o  = past ? wdata_i : mem[rptr_q[PtrW-1:0]];
  assign push     = wvalid_i && wready_o && !(past && rready_i);
  assign pop      = level_o != '0 && rready_i;

  always_ff @(posedge clk_i) begin
    if (push) mem[wptr_q[PtrW-1:0]] <= wdata_i;
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      wptr_q <= '0;
      rptr_q <= '0;
    end else begin
      if (push) wptr_q <= wptr_q + 1'b1;
      if (pop) rptr_q <= rptr_q + 1'b1;
    end
  end

  `DROVER_ASSERT(HoldsNoMoreThanItsDepth, level_o <= Depth[PtrW:0])
  if (!Bypass) begin : gen_hold
    `DROVER_ASSERT_HOLD(OutputHolds, rvalid_o, rready_i, rdata_o)
  end
endmodule
