// The field at hand, from its FieldStep and side word. The step says whether there is such a field, and its has-bit if
// a step can name it; all else is in the side word. Purely combinational.
/* verilator lint_off IMPORTSTAR */
import deser_pkg::*;  // here, and types by their full names: yosys reads it so
import drover_deserializer_pkg::*;
import drover_image_pkg::*;
/* verilator lint_on IMPORTSTAR */
module deser_field (
    input  drover_image_pkg::field_step_t       step_i,
    input  drover_deserializer_pkg::side_word_t side_i,
    output deser_pkg::field_t                   field_o
);
  logic generic_step, step_has_bit;
  assign generic_step = step_i.op.code == OpGeneric;
  assign step_has_bit = step_i.has_bit < StepHasBits[7:0];

  always_comb begin
    field_o             = '0;
    field_o.there       = step_i.position != '0;
    field_o.offset      = side_i.offset;
    field_o.has_bit     = generic_step ? side_i.has_bit : step_has_bit ? step_i.has_bit[6:0] : HasBitNone;
    field_o.case_offset = side_i.case_offset;
    field_o.op          = side_i.element_op;
    field_o.repeated    = side_i.repeated;
    field_o.is_map      = side_i.is_map;
    field_o.target      = side_i.target;
    field_o.oneof       = side_i.oneof;
    field_o.sub         = side_i.sub;
    field_o.number      = side_i.number;
    field_o.is_string   = side_i.element_op == ElemUtf8 || side_i.element_op == ElemBytes;
    field_o.is_message  = side_i.element_op == ElemMessage || side_i.element_op == ElemGroup;
    field_o.is_scalar   = !field_o.is_string && !field_o.is_message;
    field_o.is_fixed    = side_i.element_op == ElemFixed32 || side_i.element_op == ElemFixed64;
    case (side_i.element_op)
      ElemFixed32: field_o.wire_type = WireFixed32;
      ElemFixed64: field_o.wire_type = WireFixed64;
      ElemUtf8, ElemBytes, ElemMessage: field_o.wire_type = WireLength;
      ElemGroup: field_o.wire_type = WireStartGroup;
      default: field_o.wire_type = WireVarint;
    endcase
    case (side_i.element_op)
      ElemBool: field_o.log2 = 2'd0;
      ElemInt32, ElemUint32, ElemSint32, ElemFixed32, ElemClosedEnum: field_o.log2 = 2'd2;
      default: field_o.log2 = 2'd3;
    endcase
  end

  logic unused;
  assign unused = ^{step_i, side_i};
endmodule
