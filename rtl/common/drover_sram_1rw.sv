// One port that reads the old word and writes bytes of a new one in the same cycle; block RAM on an FPGA. Read data
// one cycle after the address. A buffer of these is read and zeroed in one pass.
module drover_sram_1rw #(
    parameter int unsigned Width = 64,
    parameter int unsigned Depth = 64,
    localparam int unsigned AddrW = $clog2(Depth),
    localparam int unsigned Bytes = Width / 8
) (
    input  logic             clk_i,
    input  logic             en_i,
    input  logic [Bytes-1:0] be_i,
    input  logic [AddrW-1:0] addr_i,
    input  logic [Width-1:0] wdata_i,
    output logic [Width-1:0] rdata_o
);
  (* ram_style = "block" *) logic [Width-1:0] mem[Depth];
  always_ff @(posedge clk_i) begin
    if (en_i) begin
      rdata_o <= mem[addr_i];
      for (int i = 0; i < Bytes; i++) begin
        if (be_i[i]) mem[addr_i][8*i+:8] <= wdata_i[8*i+:8];
      end
    end
  end
endmodule
