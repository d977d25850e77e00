// Binary search, one step a cycle: a field number among the steps beyond the slots, or a value among those of a closed
// enum. The candidates lie between lo and hi (exclusive).
module deser_search (
    input  logic        clk_i,
    input  logic        searching_i,   // numbers
    input  logic        in_enum_i,     // values
    input  logic [15:0] lo_i,          // as they are in the next cycle
    input  logic [15:0] hi_i,
    input  logic [28:0] number_i,
    input  logic [28:0] step_number_i,
    input  logic        enum_re_i,
    input  logic [31:0] enum_value_i,
    input  logic [31:0] enum_read_i,
    output logic [15:0] at_o,          // what to read next
    output deser_pkg::probe_t probe_o  // what was read
);
  logic [15:0] mid_q;
  logic [31:0] value_q;
  logic [16:0] sum;
  assign sum  = {1'b0, lo_i} + {1'b0, hi_i};
  assign at_o = sum[16:1];
  assign probe_o.mid   = mid_q;
  assign probe_o.equal = in_enum_i ? enum_read_i == value_q : step_number_i == number_i;
  assign probe_o.below = in_enum_i ? $signed(enum_read_i) < $signed(value_q) : step_number_i < number_i;
  always_ff @(posedge clk_i) begin
    mid_q <= at_o;
    if (enum_re_i && !in_enum_i && !searching_i) value_q <= enum_value_i;
  end
  logic unused;
  assign unused = sum[0];
endmodule
