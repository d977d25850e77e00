// Gives the flows' lines to the network half: a line of each flow in turn that has one and has room there. Up to four
// lines are on their way.
module nic_scheduler #(
    parameter int unsigned Flows = 16
) (
    input  logic                         clk_i,
    input  logic                         rst_ni,
    input  logic [Flows-1:0]             avail_i,
    input  logic [Flows-1:0]             tx_room_i,
    input  logic                         pop_ready_i,
    output logic                         pop_o,
    output logic [nic_pkg::FlowBits-1:0] pop_flow_o,
    input  logic [511:0]                 line_i,  // in the next cycle
    output logic [511:0]                 tx_line_o,
    output logic [nic_pkg::FlowBits-1:0] tx_flow_o,
    output logic                         tx_valid_o,
    input  logic                         tx_ready_i
);
  logic [Flows-1:0] can, pick;
  logic room, popped_q, out_ready;
  logic [nic_pkg::FlowBits-1:0] flow_q;
  logic [2:0] level;

  assign can = avail_i & tx_room_i;
  drover_rr_arbiter #(.N(Flows)) u_turn (.clk_i, .rst_ni, .valid_i(can), .take_i(pop_o), .pick_o(pick));
  assign room       = level + 3'(popped_q) < 3'd4;
  assign pop_o      = can != '0 && room && pop_ready_i;
  assign pop_flow_o = nic_pkg::number_of(64'(pick));

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) popped_q <= 1'b0;
    else popped_q <= pop_o;
  end
  always_ff @(posedge clk_i) flow_q <= pop_flow_o;

  drover_fifo #(.Width(nic_pkg::FlowBits + 512), .Depth(4)) u_out (
      .clk_i, .rst_ni, .wvalid_i(popped_q), .wready_o(out_ready),
      .wdata_i({flow_q, line_i[511:nic_pkg::SequenceAt+32], 32'd0}), .rvalid_o(tx_valid_o), .rready_i(tx_ready_i),
      .rdata_o({tx_flow_o, tx_line_o}), .level_o(level));

  logic unused;
  assign unused = ^{out_ready, line_i[31:0]};
endmodule
