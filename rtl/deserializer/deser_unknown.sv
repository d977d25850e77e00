// A field that the type does not know: its shortest form, and its place in the String that gathers such fields. The
// String grows at the chunk's top as long as nothing else is put there. Purely combinational.
/* verilator lint_off IMPORTSTAR */
import deser_pkg::*;  // here, and types by their full names: yosys reads it so
/* verilator lint_on IMPORTSTAR */
module deser_unknown (
    input  deser_pkg::token_t         token_i,
    input  logic [12:0]               ptr_i,  // the chunk's top
    input  deser_pkg::unknown_t       unk_i,
    output deser_pkg::unknown_place_t place_o
);
  localparam logic [12:0] StringAndNul = 13'(drover_object_pkg::WordsBytes) + 13'd8;  // rounded up, with the NUL
  logic [12:0] old_end, begins;
  logic [31:0] payload;
  logic [13:0] wanted;
  logic [4:0] head_size;
  logic more;
  deser_head u_head (
      .number_i(token_i.number), .wire_type_i(token_i.wire_type), .value_i(token_i.value),
      .bytes_o(place_o.head_bytes), .size_o(head_size));
  assign old_end           = {1'b0, unk_i.at} + unk_i.size + StringAndNul;
  assign more              = unk_i.open && {old_end[12:3], 3'd0} == ptr_i;
  assign begins            = more ? {1'b0, unk_i.at} : ptr_i;
  assign payload           = token_i.wire_type == WireLength ? token_i.value[31:0] : 32'd0;
  assign wanted            = {1'b0, more ? unk_i.size : 13'd0} + 14'(head_size) + {2'd0, payload[11:0]};
  assign place_o.head_size = head_size;
  assign place_o.more      = more;
  assign place_o.wanted    = wanted;
  assign place_o.fits      = payload[31:12] == '0 &&
                             {1'b0, begins} + wanted + {1'b0, StringAndNul} <= 14'd4096;
  assign place_o.new_end   = begins + wanted[12:0] + StringAndNul;
  assign place_o.to        = unk_i.at + drover_object_pkg::WordsBytes[11:0] + unk_i.from[11:0];

  logic unused;
  assign unused = ^{old_end, unk_i, token_i};
endmodule
