// Which fields of an object are there, last first: of the up to eight steps in a line of the schema table, and of the
// 64 that a presence line speaks of (rtl/serializer/serializer_table.h).
/* verilator lint_off IMPORTSTAR */
import drover_ser_walk_pkg::*;  // here, and types by their full names: yosys reads it so
/* verilator lint_on IMPORTSTAR */
module drover_ser_steps (
  input  logic [drover_ser_pkg::LineBits-1:0]  line_i,
  input  logic [63:0]                          has_i,
  input  logic [drover_ser_walk_pkg::Sw-1:0]   at_i,     // the step to begin with
  input  logic [drover_ser_walk_pkg::Sw-1:0]   first_i,  // the message's first

  // A line of steps.
  output logic        any_o,
  output logic        more_o,    // and another before it
  output logic [2:0]  chosen_o,  // the last that is there
  output logic [63:0] step_o,
  output drover_ser_walk_pkg::field_t field_o,  // what it says of its field
  output logic        scalar_o,  // one that is all there is to know

  // A presence line: a has-bit's number for each of 64 steps, bit 7 behind the last.
  output logic        there_any_o,
  output logic [5:0]  there_last_o,
  output logic [drover_ser_walk_pkg::Sw-1:0] left_o  // the step to begin with, counted from the first; all ones: none
);
  logic [7:0] present;
  logic [6:0] op;
  always_comb begin
    any_o = 1'b0;
    more_o = 1'b0;
    chosen_o = '0;
    for (int i = 0; i < 8; i++) begin
      present[i] = has_i[line_i[64*i+24+:6]] && 3'(i) <= at_i[2:0];
      if (present[i]) begin
        more_o = any_o;
        any_o = 1'b1;
        chosen_o = 3'(i);
      end
    end
  end
  assign step_o = line_i[64*chosen_o+:64];
  assign op = step_o[23:17];
  assign scalar_o = op >= drover_ser_pkg::RecInt32 && op <= drover_ser_pkg::RecClosedEnum && step_o[15:0] != '0;

  always_comb begin
    field_o = '0;
    field_o.op = op == drover_ser_pkg::RecInlineUtf8 ? drover_ser_pkg::RecInline : op;
    field_o.by_value = step_o[29:24] == 6'd63;
    field_o.position = step_o[47:32];
    field_o.offset = step_o[63:48];
  end

  logic [63:0] there;
  assign left_o = at_i - first_i;
  always_comb begin
    there_last_o = '0;
    there_any_o = 1'b0;
    for (int i = 0; i < 64; i++) begin
      there[i] = !line_i[8*i+7] && has_i[line_i[8*i+:6]] && 6'(i) <= left_o[5:0];
      if (there[i]) begin
        there_last_o = 6'(i);
        there_any_o = 1'b1;
      end
    end
  end
endmodule
