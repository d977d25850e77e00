// Assertions at every clock, which Verilator checks in every test and yosys -formal can read; synthesis sees nothing.
//
//   `DROVER_ASSERT(Name, property)                 holds at every rising edge out of reset
//   `DROVER_ASSERT_HOLD(Name, valid, ready, data)  what is offered stays, unchanged, until it is taken
//   `DROVER_ASSERT_ONEHOT0(Name, vector)           at most one bit is set
//
// For the proofs of rtl/formal (`make prove`), which choose the inputs:
//
//   `DROVER_ASSUME(Name, property)                 inputs for which it does not hold are not chosen
//   `DROVER_ASSUME_HOLD(Name, valid, ready, data)  as DROVER_ASSERT_HOLD, of what is offered to the block
//   `DROVER_ASSUME_RESET_FIRST                     the first cycle is one of reset; others may be at any time
//
// They stand in a module's body and use its clk_i and rst_ni. yosys does not read `assert property` with a clock, so
// each is a clocked block. yosys -formal defines FORMAL.
`ifndef DROVER_ASSERT_SVH
`define DROVER_ASSERT_SVH

`ifdef SYNTHESIS
`define DROVER_ASSERT(Name, Property)
`define DROVER_ASSERT_HOLD(Name, Valid, Ready, Data)
`define DROVER_ASSERT_ONEHOT0(Name, Vector)
`else

`ifdef FORMAL
`define DROVER_ASSERT(Name, Property) \
  always_ff @(posedge clk_i) if (rst_ni) Name: assert (Property);
`define DROVER_ASSUME(Name, Property) \
  always_ff @(posedge clk_i) if (rst_ni) Name: assume (Property);
`define DROVER_ASSUME_RESET_FIRST \
  always_comb if ($initstate) ResetFirst: assume (!rst_ni);
`else
`define DROVER_ASSERT(Name, Property) \
  always_ff @(posedge clk_i) if (rst_ni) Name: assert (Property) else $error(`"Name`");
`endif

`define DROVER_HELD(Name, Valid, Ready, Data) \
  logic Name``_waits_q; \
  logic [$bits(Data)-1:0] Name``_data_q; \
  always_ff @(posedge clk_i or negedge rst_ni) begin \
    if (!rst_ni) Name``_waits_q <= 1'b0; \
    else Name``_waits_q <= (Valid) && !(Ready); \
  end \
  always_ff @(posedge clk_i) Name``_data_q <= (Data); \
  logic Name``_held; \
  assign Name``_held = !Name``_waits_q || ((Valid) && Name``_data_q == (Data));

`define DROVER_ASSERT_HOLD(Name, Valid, Ready, Data) \
  `DROVER_HELD(Name, Valid, Ready, Data) \
  `DROVER_ASSERT(Name, Name``_held)

`define DROVER_ASSUME_HOLD(Name, Valid, Ready, Data) \
  `DROVER_HELD(Name, Valid, Ready, Data) \
  `DROVER_ASSUME(Name, Name``_held)

`define DROVER_ASSERT_ONEHOT0(Name, Vector) \
  `DROVER_ASSERT(Name, ((Vector) & ((Vector) - 1'b1)) == '0)

`endif
`endif
