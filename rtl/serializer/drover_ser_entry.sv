// Reads a FieldEntry of the schema image (docs/formats.md, section 1) for the walker: one of two in a line.
/* verilator lint_off IMPORTSTAR */
import drover_ser_pkg::*;  // here, and types by their full names: yosys reads it so
/* verilator lint_on IMPORTSTAR */
module drover_ser_entry (
  input  logic [drover_ser_pkg::LineBits-1:0] line_i,
  input  logic                                second_i,
  output drover_ser_walk_pkg::entry_t         entry_o
);
  logic [255:0] entry;
  logic [31:0] tag;
  logic [3:0] tag_size;
  logic [79:0] tag_bytes;
  logic [4:0] kind;
  logic in_pack;
  assign entry = second_i ? line_i[511:256] : line_i[255:0];
  assign kind = entry[68:64];
  assign in_pack = entry[79:72] == 8'd1 && entry[88];
  assign tag = {entry[28:0], in_pack ? 3'd2 : entry[82:80]};
  assign tag_size = drover_ser_pkg::varint_size({32'd0, tag});
  assign tag_bytes = drover_ser_pkg::varint_bytes({32'd0, tag}, tag_size);

  always_comb begin
    entry_o.field = '0;
    unique case (kind)
      5'd1, 5'd6, 5'd16: entry_o.field.op = RecFixed64;
      5'd2, 5'd7, 5'd15: entry_o.field.op = RecFixed32;
      5'd3, 5'd4:        entry_o.field.op = RecVarint64;
      5'd5, 5'd14:       entry_o.field.op = RecInt32;
      5'd8:              entry_o.field.op = RecBool;
      5'd9, 5'd12:       entry_o.field.op = RecInline;
      5'd13:             entry_o.field.op = RecUint32;
      5'd17:             entry_o.field.op = RecSint32;
      5'd18:             entry_o.field.op = RecSint64;
      default:           entry_o.field.op = RecOpen;  // messages and groups
    endcase
    entry_o.repeated = entry[79:72] != 8'd0;
    entry_o.field.in_pack = in_pack;
    entry_o.group = kind == 5'd10;
    entry_o.sub = entry[143:128];
    entry_o.field.number = entry[31:0];
    entry_o.field.offset = entry[47:32];
    entry_o.beyond = entry[63:48] != '0;
    entry_o.field.oneof = entry[127:112] != '0;
    entry_o.field.has_bit = entry[100:96];
    entry_o.asks = entry[79:72] == 8'd0 &&
                   (entry[127:112] != '0 || entry[111:96] != 16'hffff && entry[111:96] >= 16'd62);
    entry_o.presence = entry[127:112] != '0 ? entry[127:112] : 16'd16 + {3'd0, entry[111:101], 2'd0};
    entry_o.tag = tag_bytes[39:0];
    entry_o.tag_size = tag_size[2:0];
  end

  logic unused;
  assign unused = ^{entry, tag_bytes[79:40], tag_size[3]};
endmodule
