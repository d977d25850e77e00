// The field at hand, from its FieldStep and side word: what a step cannot say comes from the side word. Purely
// combinational.
module deser_field (
    input  logic [63:0]  step_i,
    input  logic [127:0] side_i,
    output logic         there_o,       // the slot is not empty
    output logic [11:0]  offset_o,
    output logic [6:0]   has_bit_o,     // deser_pkg::SideHasBit...
    output logic [3:0]   op_o,          // of one element, OpInt32 to OpGroup
    output logic         repeated_o,
    output logic         map_o,
    output logic         target_o,
    output logic         oneof_o,
    output logic [11:0]  case_o,
    output logic [deser_pkg::SubW-1:0] sub_o,
    output logic         is_string_o,
    output logic         is_message_o,
    output logic         is_scalar_o,
    output logic [2:0]   wire_type_o,   // of an element that is not packed
    output logic [1:0]   log2_o         // bytes of a scalar
);
  localparam logic [3:0] OpInt32 = drover_image_pkg::OpInt32[3:0];
  localparam logic [3:0] OpUint32 = drover_image_pkg::OpUint32[3:0];
  localparam logic [3:0] OpBool = drover_image_pkg::OpBool[3:0];
  localparam logic [3:0] OpSint32 = drover_image_pkg::OpSint32[3:0];
  localparam logic [3:0] OpFixed32 = drover_image_pkg::OpFixed32[3:0];
  localparam logic [3:0] OpFixed64 = drover_image_pkg::OpFixed64[3:0];
  localparam logic [3:0] OpClosedEnum = drover_image_pkg::OpClosedEnum[3:0];
  localparam logic [3:0] OpUtf8 = drover_image_pkg::OpUtf8[3:0];
  localparam logic [3:0] OpBytes = drover_image_pkg::OpBytes[3:0];
  localparam logic [3:0] OpMessage = drover_image_pkg::OpMessage[3:0];
  localparam logic [3:0] OpGroup = drover_image_pkg::OpGroup[3:0];
  logic [6:0] step_op;
  logic generic_step;
  assign step_op      = step_i[23:17];
  assign generic_step = step_op == drover_image_pkg::OpGeneric;
  assign there_o      = step_i[47:32] != '0;
  assign offset_o     = generic_step ? side_i[deser_pkg::SideOffsetAt+:12] : step_i[59:48];
  assign has_bit_o    = generic_step ? side_i[deser_pkg::SideHasBitAt+:7]
                        : step_i[31:24] < drover_image_pkg::StepHasBits[7:0] ? step_i[30:24]
                        : deser_pkg::SideHasBitNone;
  assign op_o         = side_i[deser_pkg::SideElemOpAt+:4];
  assign repeated_o   = side_i[deser_pkg::SideRepeatedAt];
  assign map_o        = side_i[deser_pkg::SideMapAt];
  assign target_o     = side_i[deser_pkg::SideTargetAt];
  assign oneof_o      = side_i[deser_pkg::SideOneofAt];
  assign case_o       = side_i[deser_pkg::SideCaseAt+:12];
  assign sub_o        = side_i[deser_pkg::SideSubAt+:deser_pkg::SubW];

  always_comb begin
    is_string_o  = op_o == OpUtf8 || op_o == OpBytes;
    is_message_o = op_o == OpMessage || op_o == OpGroup;
    is_scalar_o  = !is_string_o && !is_message_o;
    case (op_o)
      OpFixed32: wire_type_o = 3'd5;
      OpFixed64: wire_type_o = 3'd1;
      OpUtf8, OpBytes, OpMessage: wire_type_o = 3'd2;
      OpGroup: wire_type_o = 3'd3;
      default: wire_type_o = 3'd0;
    endcase
    case (op_o)
      OpBool: log2_o = 2'd0;
      OpInt32, OpUint32, OpSint32, OpFixed32, OpClosedEnum: log2_o = 2'd2;
      default: log2_o = 2'd3;
    endcase
  end
  logic unused;
  assign unused = ^{step_i, side_i};
endmodule
