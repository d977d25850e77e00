// Which fields of an object are there, last first: of the up to eight steps in a line of the schema table, and of the
// 64 that a presence line speaks of (docs/rtl-serializer.md).
/* verilator lint_off IMPORTSTAR */
import drover_image_pkg::*;  // here, and types by their full names: yosys reads it so
import drover_preserialized_pkg::*;
import ser_walk_pkg::*;
/* verilator lint_on IMPORTSTAR */
module ser_steps (
  input  logic [ser_pkg::LineBits-1:0] line_i,
  input  logic [63:0]                  has_i,
  input  logic [ser_walk_pkg::Sw-1:0]  at_i,     // the step to begin with
  input  logic [ser_walk_pkg::Sw-1:0]  first_i,  // the message's first

  // A line of steps.
  output logic                          any_o,
  output logic                          more_o,    // and another before it
  output logic [2:0]                    chosen_o,  // the last that is there
  output drover_image_pkg::field_step_t step_o,
  output ser_walk_pkg::field_t          field_o,   // what it says of its field
  output logic                          scalar_o,  // one that is all there is to know

  // A presence line: a byte for each of 64 steps.
  output logic                        there_any_o,
  output logic [5:0]                  there_last_o,
  output logic [ser_walk_pkg::Sw-1:0] left_o  // the step to begin with, counted from the first; all ones: none
);
  localparam int unsigned Steps = 8;  // of a line
  drover_image_pkg::field_step_t at;
  logic [Steps-1:0] present;
  drover_preserialized_pkg::record_op_e op;
  always_comb begin
    at = '0;
    any_o = 1'b0;
    more_o = 1'b0;
    chosen_o = '0;
    for (int i = 0; i < Steps; i++) begin
      at = line_i[64*i+:64];
      present[i] = has_i[at.has_bit[5:0]] && 3'(i) <= at_i[2:0];
      if (present[i]) begin
        more_o = any_o;
        any_o = 1'b1;
        chosen_o = 3'(i);
      end
    end
  end
  assign step_o = line_i[64*chosen_o+:64];
  // A step's ops below 13 are a record's.
  assign op = drover_preserialized_pkg::record_op_e'(step_o.op.code);
  assign scalar_o = op >= RecordInt32 && op <= RecordClosedEnum && step_o.tag != '0;

  always_comb begin
    field_o = '0;
    field_o.op = op == RecordInlineUtf8 ? RecordInline : op;
    field_o.by_value = step_o.has_bit[5:0] == StepByValue[5:0];
    field_o.position = step_o.position;
    field_o.offset = step_o.offset;
  end

  drover_serializer_pkg::presence_byte_t presence;
  logic [63:0] there;
  assign left_o = at_i - first_i;
  always_comb begin
    presence = '0;
    there_last_o = '0;
    there_any_o = 1'b0;
    for (int i = 0; i < 64; i++) begin
      presence = line_i[8*i+:8];
      there[i] = !presence.beyond && has_i[presence.has_bit] && 6'(i) <= left_o[5:0];
      if (there[i]) begin
        there_last_o = 6'(i);
        there_any_o = 1'b1;
      end
    end
  end
  logic unused;
  assign unused = ^{at, presence};
endmodule
