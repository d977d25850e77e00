// The lines in flight: a large memory with one write and one read port, UltraRAM on an FPGA. Read data in the next cycle.
// Where a line is read in the cycle in which it is written, either the old or the new one comes. That happens only to
// lines that are acknowledged meanwhile: nic_net_tx reads a line before it knows that, and then does not use it.
module nic_net_kept #(
    parameter int unsigned Lines = 16384,
    localparam int unsigned AddrW = $clog2(Lines)
) (
    input  logic             clk_i,
    input  logic             we_i,
    input  logic [AddrW-1:0] waddr_i,
    input  logic [511:0]     wdata_i,
    input  logic             re_i,
    input  logic [AddrW-1:0] raddr_i,
    output logic [511:0]     rdata_o
);
  (* ram_style = "ultra" *) logic [511:0] mem[Lines];
  always_ff @(posedge clk_i) begin
    if (re_i) rdata_o <= mem[raddr_i];
    if (we_i) mem[waddr_i] <= wdata_i;
  end
endmodule
