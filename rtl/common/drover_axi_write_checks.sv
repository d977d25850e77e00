// Assertions on an AXI4 write port; synthesis sees an empty module.
//
// What is offered stays and does not change until it is taken; bursts are aligned to 64 bytes and stay inside 4 KB.
`include "drover_assert.svh"
/* verilator lint_off UNUSEDSIGNAL */
module drover_axi_write_checks #(
    parameter int unsigned DataW = 512
) (
    input logic         clk_i,
    input logic         rst_ni,
    input logic [63:0]  awaddr_i,
    input logic [7:0]   awlen_i,
    input logic [3:0]   awid_i,
    input logic         awvalid_i,
    input logic         awready_i,
    input logic [DataW-1:0]   wdata_i,
    input logic [DataW/8-1:0] wstrb_i,
    input logic         wlast_i,
    input logic         wvalid_i,
    input logic         wready_i
);
  `DROVER_ASSERT_HOLD(AddressHolds, awvalid_i, awready_i, ({awid_i, awlen_i, awaddr_i}))
  `DROVER_ASSERT_HOLD(BeatHolds, wvalid_i, wready_i, ({wlast_i, wstrb_i, wdata_i}))
  `DROVER_ASSERT(BurstIsAligned, !awvalid_i || awaddr_i[5:0] == '0)
  `DROVER_ASSERT(BurstStaysInside4K, !awvalid_i || {3'd0, awaddr_i[11:6]} + {1'b0, awlen_i} < 9'd64)
endmodule
/* verilator lint_on UNUSEDSIGNAL */
