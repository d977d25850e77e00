// Assertions at every clock, which Verilator checks in every test and yosys -formal can read; synthesis sees nothing.
//
//   `DROVER_ASSERT(Name, property)                 holds at every rising edge out of reset
//   `DROVER_ASSERT_HOLD(Name, valid, ready, data)  what is offered stays, unchanged, until it is taken
//   `DROVER_ASSERT_ONEHOT0(Name, vector)           at most one bit is set
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
`else
`define DROVER_ASSERT(Name, Property) \
  always_ff @(posedge clk_i) if (rst_ni) Name: assert (Property) else $error(`"Name`");
`endif

`define DROVER_ASSERT_HOLD(Name, Valid, Ready, Data) \
  logic Name``_waits_q; \
  logic [$bits(Data)-1:0] Name``_data_q; \
  always_ff @(posedge clk_i or negedge rst_ni) begin \
    if (!rst_ni) Name``_waits_q <= 1'b0; \
    else Name``_waits_q <= (Valid) && !(Ready); \
  end \
  always_ff @(posedge clk_i) Name``_data_q <= (Data); \
  `DROVER_ASSERT(Name, !Name``_waits_q || ((Valid) && Name``_data_q == (Data)))

`define DROVER_ASSERT_ONEHOT0(Name, Vector) \
  `DROVER_ASSERT(Name, ((Vector) & ((Vector) - 1'b1)) == '0)

`endif
`endif
