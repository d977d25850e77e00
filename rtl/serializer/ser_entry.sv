// Reads a FieldEntry of the schema image (docs/formats.md, section 1) for the walker: one of two in a line.
/* verilator lint_off IMPORTSTAR */
import drover_image_pkg::*;  // here, and types by their full names: yosys reads it so
import drover_preserialized_pkg::*;
/* verilator lint_on IMPORTSTAR */
module ser_entry (
  input  logic [ser_pkg::LineBits-1:0] line_i,
  input  logic                         second_i,
  output ser_walk_pkg::entry_t         entry_o
);
  localparam logic [2:0] WireTypeLength = 3'd2;

  drover_image_pkg::field_entry_t entry;
  drover_image_pkg::kind_e kind;
  logic [31:0] tag;
  logic [3:0] tag_size;
  logic [79:0] tag_bytes;
  logic in_pack, in_oneof;
  assign entry = second_i ? line_i[511:256] : line_i[255:0];
  assign kind = drover_image_pkg::kind_e'({3'd0, entry.kind[4:0]});  // there are fewer than 32
  assign in_pack = entry.label == LabelRepeated && entry.flags.packed_;
  assign in_oneof = entry.case_offset != '0;
  assign tag = {entry.number[28:0], in_pack ? WireTypeLength : entry.wire_type[2:0]};
  assign tag_size = ser_pkg::varint_size({32'd0, tag});
  assign tag_bytes = ser_pkg::varint_bytes({32'd0, tag}, tag_size);

  always_comb begin
    entry_o.field = '0;
    unique case (kind)
      KindDouble, KindFixed64, KindSfixed64: entry_o.field.op = RecordFixed64;
      KindFloat, KindFixed32, KindSfixed32:  entry_o.field.op = RecordFixed32;
      KindInt64, KindUint64:                 entry_o.field.op = RecordVarint64;
      KindInt32, KindEnum:                   entry_o.field.op = RecordInt32;
      KindBool:                              entry_o.field.op = RecordBool;
      KindString, KindBytes:                 entry_o.field.op = RecordInline;
      KindUint32:                            entry_o.field.op = RecordUint32;
      KindSint32:                            entry_o.field.op = RecordSint32;
      KindSint64:                            entry_o.field.op = RecordSint64;
      default:                               entry_o.field.op = RecordOpen;  // messages and groups
    endcase
    entry_o.field.in_pack = in_pack;
    entry_o.field.number = entry.number;
    entry_o.field.offset = entry.offset[15:0];
    entry_o.field.oneof = in_oneof;
    entry_o.field.has_bit = entry.has_bit[4:0];
    entry_o.repeated = entry.label != LabelSingular;
    entry_o.group = kind == KindGroup;
    entry_o.sub = entry.sub[15:0];
    entry_o.beyond = entry.offset[31:16] != '0;
    entry_o.asks = entry.label == LabelSingular &&
                   (in_oneof || entry.has_bit != NoHasBit[15:0] && entry.has_bit >= StepHasBits[15:0]);
    // The case word, or the 32 has-bits that the field's is among.
    entry_o.presence = in_oneof ? entry.case_offset : ObjectHeaderSize[15:0] + {3'd0, entry.has_bit[15:5], 2'd0};
    entry_o.tag = tag_bytes[39:0];
    entry_o.tag_size = tag_size[2:0];
  end

  logic unused;
  assign unused = ^{entry, tag_bytes[79:40], tag_size[3]};
endmodule
