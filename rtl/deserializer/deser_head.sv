// The head of an unknown field, as it is kept: tag, then value or length, each in its shortest form. At most 15 bytes.
// The bytes behind a length are copied (deser_copy). Purely combinational.
/* verilator lint_off IMPORTSTAR */
import deser_pkg::*;  // here, and types by their full names: yosys reads it so
/* verilator lint_on IMPORTSTAR */
module deser_head (
    input  logic [28:0]  number_i,
    input  logic [2:0]   wire_type_i,
    input  logic [63:0]  value_i,
    output logic [119:0] bytes_o,
    output logic [4:0]   size_o
);
  logic [31:0] tag;
  logic [39:0] tag_bytes;
  logic [79:0] value_bytes;
  logic [2:0] tag_size;
  logic [3:0] value_size;
  always_comb begin
    tag      = {number_i, wire_type_i};
    tag_size = 3'd1;
    for (int i = 1; i < 5; i++) if ((tag >> (7 * i)) != '0) tag_size = 3'(i + 1);
    for (int i = 0; i < 5; i++) begin
      tag_bytes[8*i+:8] = {3'(i + 1) < tag_size, i == 4 ? {3'd0, tag[31:28]} : tag[7*i+:7]};
    end
    value_size = 4'd1;
    for (int i = 1; i < 10; i++) if ((value_i >> (7 * i)) != '0) value_size = 4'(i + 1);
    for (int i = 0; i < 10; i++) begin
      value_bytes[8*i+:8] = {4'(i + 1) < value_size, i == 9 ? {6'd0, value_i[63]} : value_i[7*i+:7]};
    end
    if (wire_type_i == WireFixed32 || wire_type_i == WireFixed64) begin
      value_bytes = {16'd0, value_i};
      value_size  = wire_type_i == WireFixed32 ? 4'd4 : 4'd8;
    end
    case (tag_size)
      3'd1: bytes_o = {32'd0, value_bytes, tag_bytes[7:0]};
      3'd2: bytes_o = {24'd0, value_bytes, tag_bytes[15:0]};
      3'd3: bytes_o = {16'd0, value_bytes, tag_bytes[23:0]};
      3'd4: bytes_o = {8'd0, value_bytes, tag_bytes[31:0]};
      default: bytes_o = {value_bytes, tag_bytes};
    endcase
    size_o = {2'd0, tag_size} + {1'b0, value_size};
  end
endmodule
