// One write and one read port, read data one cycle after the address; block RAM on an FPGA. A read of the address
// that is written in the same cycle gives the old word. Without re_i the read data stays.
module drover_sram_1r1w #(
    parameter int unsigned Width = 64,
    parameter int unsigned Depth = 1024,
    localparam int unsigned AddrW = $clog2(Depth)
) (
    input  logic             clk_i,
    input  logic             we_i,
    input  logic [AddrW-1:0] waddr_i,
    input  logic [Width-1:0] wdata_i,
    input  logic             re_i,
    input  logic [AddrW-1:0] raddr_i,
    output logic [Width-1:0] rdata_o
);
  (* ram_style = "block" *) logic [Width-1:0] mem[Depth];
  always_ff @(posedge clk_i) begin
    if (re_i) rdata_o <= mem[raddr_i];
    if (we_i) mem[waddr_i] <= wdata_i;
  end
endmodule
