// What the token at hand means. Reasons stand in the order in which they count: errors of the bytes, reads and searches
// that come before the field, unknown fields, the schema's errors, what is left to software, and the field's kind.
/* verilator lint_off IMPORTSTAR */
import deser_pkg::*;  // here, and types by their full names: yosys reads it so
import drover_deserializer_pkg::*;
/* verilator lint_on IMPORTSTAR */
module deser_meaning (
    input  deser_pkg::lane_t    q_i,        // L's registers
    input  deser_pkg::view_t    v_i,        // what L sees beside them
    output deser_pkg::meaning_e meaning_o,
    output logic [7:0]          error_o,    // of MeansStop: drover_deserializer_pkg::error_e,
    output logic [7:0]          leave_o     // or drover_deserializer_pkg::software_reason_e
);
  logic is_field, is_unknown, wants_search, wants_enum, is_again, leaves_array;
  assign is_field     = v_i.token.kind == TokField;
  assign wants_search = !v_i.token.in_slots && !q_i.search.searched;
  assign is_unknown   = !v_i.found || (v_i.token.wire_type != v_i.field.wire_type && !v_i.is_packed) ||
                        q_i.unk.forced;
  assign wants_enum   = v_i.field.op == ElemClosedEnum && !v_i.is_packed && !q_i.search.enum_known;
  // The open array is another field's; packed elements do not go on the element stack.
  assign leaves_array = q_i.msg.array.open && (q_i.msg.array.offset != v_i.field.offset || v_i.is_packed);
  assign is_again     = v_i.seen && (v_i.is_packed || v_i.field.is_message || v_i.field.oneof || v_i.field.repeated);

  always_comb begin
    meaning_o = MeansStop;
    error_o   = ErrOk;
    leave_o   = WhyNone;
    if (!v_i.token.valid || !v_i.st_ready) begin
      meaning_o = MeansNothing;
    end else if (v_i.token.kind == TokError) begin
      error_o = v_i.token.error;
    end else if (is_field && v_i.protoacc && !q_i.pa_done) begin
      meaning_o = MeansReads;
    end else if (!is_field) begin
      if (q_i.msg.array.open) meaning_o = MeansClose;
      else if (q_i.msg.is_entry && !q_i.key.done) meaning_o = MeansKey;
      else meaning_o = MeansLeave;
    end else if (wants_search) begin
      meaning_o = MeansSearch;
    end else if (is_unknown) begin
      meaning_o = MeansUnknown;
    end else if (v_i.field.is_message && v_i.at_depth_limit) begin
      error_o = ErrDepthLimit;
    end else if (v_i.token.error != ErrOk) begin
      error_o = v_i.token.error;
    end else if (v_i.field.has_bit == HasBitBeyond) begin
      leave_o = WhyHasBit;
    end else if (leaves_array) begin
      meaning_o = MeansClose;
    end else if (is_again) begin
      leave_o = v_i.field.oneof ? WhyOneofAgain : v_i.field.repeated ? WhySplitRun : WhyMerge;
    end else if (v_i.field.repeated && !v_i.is_packed && v_i.array.full) begin
      leave_o = WhyArraySize;
    end else if (wants_enum) begin
      meaning_o = MeansEnum;
    end else if (v_i.is_packed) begin
      meaning_o = MeansPacked;
    end else if (v_i.field.is_scalar) begin
      meaning_o = MeansScalar;
    end else if (v_i.field.is_string) begin
      meaning_o = MeansString;
    end else begin
      meaning_o = MeansMessage;
    end
  end

  logic unused;
  assign unused = ^{q_i, v_i};
endmodule
