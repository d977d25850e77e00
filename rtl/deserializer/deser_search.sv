// Binary search, a step a cycle: a field number among the steps beyond the slots, or a value among those of a closed
// enum. What was read last stands at mid_o; between lo and hi (exclusive) is what is left.
module deser_search (
    input  logic        clk_i,
    input  logic        searching_i,   // numbers
    input  logic        in_enum_i,     // values
    input  logic [15:0] lo_i,          // of the next cycle
    input  logic [15:0] hi_i,
    input  logic [28:0] number_i,
    input  logic [28:0] step_number_i,
    input  logic        enum_re_i,
    input  logic [31:0] enum_value_i,
    input  logic [31:0] enum_read_i,
    output logic [15:0] at_o,          // what to read next
    output logic [15:0] mid_o,
    output logic        equal_o,
    output logic        below_o        // what was read lies below what is wanted
);
  logic [15:0] mid_q;
  logic [31:0] value_q;
  logic [16:0] sum;
  assign sum     = {1'b0, lo_i} + {1'b0, hi_i};
  assign at_o    = sum[16:1];
  assign mid_o   = mid_q;
  assign equal_o = in_enum_i ? enum_read_i == value_q : step_number_i == number_i;
  assign below_o = in_enum_i ? $signed(enum_read_i) < $signed(value_q) : step_number_i < number_i;
  always_ff @(posedge clk_i) begin
    mid_q <= at_o;
    if (enum_re_i && !in_enum_i && !searching_i) value_q <= enum_value_i;
  end
  logic unused;
  assign unused = sum[0];
endmodule
