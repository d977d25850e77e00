// One field's tag and the value or length behind it, from the 16 bytes at hand; without knowing the schema.
//
// With packed_i there is no tag: the bytes begin with a varint. Bytes behind the message have to be zero, as the
// software codec sees them. Purely combinational.
/* verilator lint_off IMPORTSTAR */
import deser_pkg::*;  // here, and types by their full names: yosys reads it so
/* verilator lint_on IMPORTSTAR */
module deser_token (
    input  logic [127:0] bytes_i,
    input  logic         packed_i,
    output deser_pkg::wire_field_t field_o
);
  logic [4:0] tag_more;
  logic [2:0] tag_size, wire_type;
  logic [3:0] varint_size;
  logic [4:0] size;
  logic tag_overlong, tag_high;
  logic [31:0] tag;
  logic [79:0] rest;
  logic [9:0] more;

  for (genvar i = 0; i < 5; i++) begin : gen_tag_more
    assign tag_more[i] = bytes_i[8*i+7];
  end
  always_comb begin
    tag_size       = 3'd1;
    tag            = {25'd0, bytes_i[6:0]};
    tag_overlong = &tag_more;
    tag_high     = 1'b0;
    if (tag_more[0]) begin
      tag_size    = 3'd2;
      tag[13:7]   = bytes_i[14:8];
      if (tag_more[1]) begin
        tag_size    = 3'd3;
        tag[20:14]  = bytes_i[22:16];
        if (tag_more[2]) begin
          tag_size    = 3'd4;
          tag[27:21]  = bytes_i[30:24];
          if (tag_more[3]) begin
            tag_size    = 3'd5;
            tag[31:28]  = bytes_i[35:32];
            tag_high  = |bytes_i[38:36];
          end
        end
      end
    end
    if (packed_i) tag_size = 3'd0;
    case (tag_size)
      3'd0: rest = bytes_i[79:0];
      3'd1: rest = bytes_i[8+:80];
      3'd2: rest = bytes_i[16+:80];
      3'd3: rest = bytes_i[24+:80];
      3'd4: rest = bytes_i[32+:80];
      default: rest = bytes_i[40+:80];
    endcase
  end
  assign wire_type = packed_i ? WireVarint : tag[2:0];

  for (genvar i = 0; i < 10; i++) begin : gen_more
    assign more[i] = rest[8*i+7];
  end
  always_comb begin
    varint_size = 4'd10;
    for (int i = 8; i >= 0; i--) if (!more[i]) varint_size = i[3:0] + 4'd1;
  end
  logic [63:0] varint, value;
  always_comb begin
    varint = '0;
    for (int i = 0; i < 9; i++) if (i[3:0] < varint_size) varint[7*i+:7] = rest[8*i+:7];
    if (varint_size == 4'd10) varint[63] = rest[72];
    case (wire_type)
      WireFixed64: value = rest[63:0];
      WireFixed32: value = {32'd0, rest[31:0]};
      default: value = varint;
    endcase
    case (wire_type)
      WireVarint, WireLength: size = {2'd0, tag_size} + {1'b0, varint_size};
      WireFixed64: size = {2'd0, tag_size} + 5'd8;
      WireFixed32: size = {2'd0, tag_size} + 5'd4;
      default: size = {2'd0, tag_size};
    endcase
  end
  assign field_o.number          = tag[31:3];
  assign field_o.wire_type       = wire_type;
  assign field_o.tag_size        = tag_size;
  assign field_o.size            = size;
  assign field_o.tag_overlong    = tag_overlong;
  assign field_o.tag_high        = tag_high;
  assign field_o.value           = value;
  assign field_o.varint_size     = varint_size;
  assign field_o.overlong        = &more;
  assign field_o.length_overlong = (&more[4:0]) || (&more[3:0] && |rest[38:36]);

  logic unused;
  assign unused = ^bytes_i;
endmodule
