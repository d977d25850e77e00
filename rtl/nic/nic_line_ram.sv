// Lines in block RAM, written by bytes: one write and one read a cycle, the line that is read in the next cycle. Without
// re_i it stays.
module nic_line_ram #(
    parameter int unsigned Depth = 512,
    localparam int unsigned AddrW = $clog2(Depth)
) (
    input  logic             clk_i,
    input  logic [63:0]      be_i,
    input  logic [AddrW-1:0] waddr_i,
    input  logic [511:0]     wdata_i,
    input  logic             re_i,
    input  logic [AddrW-1:0] raddr_i,
    output logic [511:0]     rdata_o
);
  (* ram_style = "block" *) logic [511:0] mem[Depth];
  always_ff @(posedge clk_i) begin
    if (re_i) rdata_o <= mem[raddr_i];
    for (int i = 0; i < 64; i++) begin
      if (be_i[i]) mem[waddr_i][8*i+:8] <= wdata_i[8*i+:8];
    end
  end
endmodule
