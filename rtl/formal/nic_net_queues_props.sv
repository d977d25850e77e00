// Proof of nic_net_queues, with what nic_net_tx does at its ports: a line is tried two cycles after its issue, and leaves
// or waits; lines of its flow that were issued in between are void then. Lines of a flow are tried in their order, each
// until it leaves, and none is lost or comes twice, whatever waits and whenever it is woken. A flow that rests issues
// nothing. One line of flow 0, whichever, is followed.
`include "drover_assert.svh"
module nic_net_queues_props #(
    parameter int unsigned Depth = 4
) (
    input logic       clk_i,
    input logic       rst_ni,
    input logic [1:0] line_i,
    input logic       flow_i,
    input logic       valid_i,
    input logic       take_i,
    input logic       waits_i,
    input logic       slot_i,
    input logic       wake_slot_valid_i,
    input logic       wake_slot_i,
    input logic       wake_manager_i,
    input logic       mark_i
);
  localparam int unsigned CountW = $clog2(Depth) + 1;
  logic ready, valid, flow, issue, look, look_q, look_flow_q, try_q, try_flow_q, leaves, waits;
  logic [1:0] room, line, try_line_q;
  assign leaves = try_q && !waits_i;
  assign waits  = try_q && waits_i;
  nic_net_queues #(.Flows(2), .Depth(Depth), .SlotW(1), .Width(2)) u_queues (
      .clk_i, .rst_ni, .line_i, .flow_i, .valid_i, .ready_o(ready), .room_o(room), .valid_o(valid), .take_i(take_i),
      .flow_o(flow), .line_o(line), .done_i(leaves), .wait_i(waits), .tried_flow_i(try_flow_q), .tried_slot_i(slot_i),
      .wake_slot_valid_i, .wake_slot_i, .wake_manager_i);

  // The transmitter.
  assign issue = valid && take_i;
  assign look  = look_q && !(waits && look_flow_q == try_flow_q);
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      look_q <= 1'b0;
      try_q  <= 1'b0;
    end else begin
      look_q <= issue && !(waits && flow == try_flow_q);
      try_q  <= look;
    end
  end
  always_ff @(posedge clk_i) begin
    look_flow_q <= flow;
    try_flow_q  <= look_flow_q;
    try_line_q  <= line;
  end

  // Flow 0: the lines in it, and one that is marked.
  logic in, out, marked_q, rests_q;
  logic [CountW-1:0] inside_q, ahead_q;
  logic [1:0] word_q;
  assign in  = valid_i && ready && !flow_i;
  assign out = leaves && !try_flow_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      inside_q <= '0;
      marked_q <= 1'b0;
      ahead_q  <= '0;
      rests_q  <= 1'b0;
    end else begin
      inside_q <= inside_q + CountW'(in) - CountW'(out);
      if (marked_q) begin
        marked_q <= !(out && ahead_q == '0);
        ahead_q  <= ahead_q - CountW'(out);
      end else if (in && mark_i) begin
        marked_q <= 1'b1;
        ahead_q  <= inside_q - CountW'(out);
      end
      rests_q <= waits && !try_flow_q || rests_q && !wake_manager_i && !wake_slot_valid_i;
    end
  end
  always_ff @(posedge clk_i) begin
    if (!marked_q) word_q <= line_i;
  end
  `DROVER_ASSUME_RESET_FIRST
  `DROVER_ASSERT(OnlyWhatIsInsideIsTried, !try_q || try_flow_q || inside_q != '0)
  `DROVER_ASSERT(LinesAreTriedInTheirOrder, !(try_q && !try_flow_q && marked_q && ahead_q == '0) || try_line_q == word_q)
  `DROVER_ASSERT(AFlowThatRestsIssuesNothing, !(rests_q && issue) || flow)
  `DROVER_ASSERT(TakesLinesWhileThereIsRoom, flow_i || ready == (inside_q != CountW'(Depth)))
  logic unused;
  assign unused = ^room;
endmodule
