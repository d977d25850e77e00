// The element stack: elements of repeated fields whose number is not known in advance, those of the innermost message's
// open array on top; and where that array would lie.
/* verilator lint_off IMPORTSTAR */
import deser_pkg::*;  // here, and types by their full names: yosys reads it so
/* verilator lint_on IMPORTSTAR */
module deser_open_array (
    input  logic                              clk_i,
    input  logic                              push_i,
    input  logic [deser_pkg::ElementBits-1:0] wdata_i,  // element_t, or a scalar
    input  logic                              re_i,
    input  logic [deser_pkg::SpW-1:0]         raddr_i,
    input  logic [deser_pkg::SpW-1:0]         sp_i,
    input  deser_pkg::array_t                 array_i,
    input  logic [deser_pkg::AddressW-1:0]       top_addr_i,
    input  logic [12:0]                       ptr_i,
    output deser_pkg::array_place_t           place_o   // the element one cycle after re_i
);
  logic [deser_pkg::SpW-1:0] index_q;
  drover_sram_1r1w #(.Width(deser_pkg::ElementBits), .Depth(1 << deser_pkg::ElementsLog2)) u_elements (
      .clk_i, .we_i(push_i), .waddr_i(sp_i[deser_pkg::ElementsLog2-1:0]), .wdata_i, .re_i,
      .raddr_i(raddr_i[deser_pkg::ElementsLog2-1:0]), .rdata_o(place_o.element));
  always_ff @(posedge clk_i) if (re_i) index_q <= raddr_i;
  assign place_o.index = index_q;
  assign place_o.full  = sp_i[deser_pkg::ElementsLog2];

  logic [deser_pkg::SpW-1:0] count;
  logic [16:0] bytes;
  logic [13:0] total;
  assign count = sp_i - array_i.base;
  always_comb begin
    case (array_i.kind)
      ArrayBytes: bytes = 17'(count);
      ArrayWords: bytes = 17'(count) << 2;
      ArrayStrings: bytes = (17'(count) << 4) + 17'd8;  // an owner word in front
      default: bytes = 17'(count) << 3;
    endcase
    total = |bytes[16:13] ? 14'd8192 : {bytes[13:3] + 11'(|bytes[2:0]), 3'd0};
  end
  assign place_o.count = count;
  assign place_o.total = total;
  assign place_o.fits  = total <= {1'b0, 13'd4096 - ptr_i};
  assign place_o.array = array_i.kind == ArrayStrings ? top_addr_i + 40'd8 : top_addr_i;

  logic unused;
  assign unused = ^array_i;
endmodule
