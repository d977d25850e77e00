// The element stack: elements of repeated fields whose number is not known in advance, the innermost message's open run
// on top. An element is a scalar, or an address (40) and, of a String, its size (32). Where the run's array would lie.
module deser_open_run (
    input  logic        clk_i,
    input  logic        push_i,
    input  logic [71:0] wdata_i,
    input  logic        re_i,
    input  logic [deser_pkg::SpW-1:0] raddr_i,
    output logic [71:0] rdata_o,    // of index_o, one cycle after re_i
    output logic [deser_pkg::SpW-1:0] index_o,
    input  logic [deser_pkg::SpW-1:0] sp_i,
    input  logic [deser_pkg::SpW-1:0] base_i,
    input  logic [2:0]  kind_i,
    input  logic [deser_pkg::AddrW-1:0] top_addr_i,
    input  logic [12:0] ptr_i,
    output logic        full_o,
    output logic [deser_pkg::SpW-1:0] count_o,
    output logic [13:0] total_o,    // bytes in the chunk
    output logic        fits_o,
    output logic [deser_pkg::AddrW-1:0] array_o
);
  localparam int unsigned Log2 = deser_pkg::ElementsLog2;
  logic [deser_pkg::SpW-1:0] index_q;
  drover_sram_1r1w #(.Width(72), .Depth(1 << Log2)) u_elements (
      .clk_i, .we_i(push_i), .waddr_i(sp_i[Log2-1:0]), .wdata_i, .re_i, .raddr_i(raddr_i[Log2-1:0]), .rdata_o);
  always_ff @(posedge clk_i) if (re_i) index_q <= raddr_i;
  assign index_o = index_q;
  assign full_o  = sp_i[Log2];

  logic [16:0] bytes;
  always_comb begin
    count_o = sp_i - base_i;
    case (kind_i)
      3'd0: bytes = 17'(count_o);
      3'd2: bytes = 17'(count_o) << 2;
      deser_pkg::RunStrings: bytes = (17'(count_o) << 4) + 17'd8;
      default: bytes = 17'(count_o) << 3;
    endcase
    total_o = |bytes[16:13] ? 14'd8192 : {bytes[13:3] + 11'(|bytes[2:0]), 3'd0};
    fits_o  = total_o <= {1'b0, 13'd4096 - ptr_i};
    array_o = kind_i == deser_pkg::RunStrings ? top_addr_i + 40'd8 : top_addr_i;
  end
endmodule
