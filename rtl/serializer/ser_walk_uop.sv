// What each state of the walker tells the encoder, if it tells it anything.
/* verilator lint_off IMPORTSTAR */
import drover_preserialized_pkg::*;
import drover_serializer_pkg::*;
import ser_pkg::*;  // here, and types by their full names: yosys reads it so
import ser_walk_pkg::*;
/* verilator lint_on IMPORTSTAR */
module ser_walk_uop (
  input  ser_walk_pkg::state_e state_i,
  input  ser_walk_pkg::frame_t frame_i,
  input  ser_walk_pkg::frame_t outer_i,    // the object around it
  input  ser_walk_pkg::field_t field_i,
  input  drover_serializer_pkg::error_e      error_i,
  input  logic [63:0]                 target_i,
  input  logic [63:0]                 word_i,
  input  logic [63:0]                 slot_i,     // of the object memory
  input  logic [63:0]                 value_i,    // the same, of the field's size
  input  logic [31:0]                 bytes_i,    // that a string or an array has
  input  logic                        in_bulk_i,  // as they are
  output ser_pkg::uop_t        uop_o
);
  logic sized;  // the slot holds a size that is not zero
  assign sized = slot_i[31:0] != '0;

  always_comb begin
    uop_o = '0;
    uop_o.kind = UopEmit;
    uop_o.tag = frame_i.tag;
    uop_o.tag_size = frame_i.tag_size;
    unique case (state_i)
      WkUnknown: begin
        uop_o.tag_size = '0;
        uop_o.body = BodyHost;
        uop_o.size = slot_i[31:0];
        uop_o.address = target_i + word_i;
      end
      WkScan, WkFirst, WkValue: begin
        uop_o.form = ser_pkg::form_of(field_i.op);
        uop_o.value = ser_pkg::wire_value(field_i.op, value_i);
        if (state_i == WkFirst && field_i.op == RecordOpen) uop_o.value = '0;  // the empty message of a map entry
        if (state_i == WkValue && field_i.in_pack) uop_o.tag_size = '0;
      end
      WkSecond: begin
        uop_o.form = FormVarint;
        uop_o.value = {32'd0, bytes_i};
        uop_o.body = sized ? BodyHost : BodyNone;
        uop_o.size = bytes_i;
        uop_o.address = target_i;
        if (!in_bulk_i) begin
          uop_o = '0;
          uop_o.kind = UopClose;
        end
      end
      WkWrap: begin
        uop_o.form = FormVarint;
        if (field_i.op == RecordInline) begin
          uop_o.value = {32'd0, slot_i[31:0]};
          uop_o.body = sized ? BodyHost : BodyNone;
          uop_o.size = slot_i[31:0];
          uop_o.address = target_i;
        end else begin
          uop_o.kind = UopOpen;
        end
      end
      WkCall: begin
        uop_o.kind = UopClose;
        uop_o.tag_size = '0;
        if (frame_i.group) begin  // the end tag: another wire type in the first byte
          uop_o.kind = UopEmit;
          uop_o.tag = {frame_i.tag[39:3], 3'd4};
          uop_o.tag_size = frame_i.tag_size;
        end
      end
      WkReturn: begin
        uop_o.tag = outer_i.tag;
        uop_o.tag_size = outer_i.tag_size;
        if (!outer_i.group) begin
          uop_o.kind = UopOpen;
          uop_o.form = FormVarint;
        end
      end
      WkFail: begin
        uop_o = '0;
        uop_o.kind = UopError;
        uop_o.error = error_i;
      end
      WkDrain: begin
        uop_o = '0;
        uop_o.kind = UopEnd;
      end
      default: ;
    endcase
  end
  logic unused;
  assign unused = ^{frame_i, outer_i, field_i, slot_i[63:32]};
endmodule
