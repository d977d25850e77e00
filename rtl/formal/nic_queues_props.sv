// Proof of nic_queues: a flow's lines come out once and in order, whatever is pushed and popped of the other flows.
//
// It follows one flow, whichever: watch_i is free and stays. Pushes are taken to have room, pops to be of what is there,
// as the modules around promise (they assert it in simulation).
`include "drover_assert.svh"
module nic_queues_props #(
    parameter int unsigned Flows = 2,
    parameter int unsigned Lines = 2,
    parameter int unsigned Width = 2
) (
    input logic                clk_i,
    input logic                rst_ni,
    input logic                watch_i,
    input logic                push_i,
    input logic                push_flow_i,
    input logic [Width-1:0] push_line_i,
    input logic                pop_i,
    input logic                pop_flow_i,
    input logic                mark_i
);
  localparam int unsigned CountW = $clog2(Lines + 2);
  logic watch_q, began_q;
  logic [Flows-1:0] avail;
  logic [Flows-1:0][CountW-1:0] inside_q;
  logic [Width-1:0] line, next_q;
  logic push, pop;
  assign push = push_i && inside_q[push_flow_i] != CountW'(Lines);
  assign pop  = pop_i && avail[pop_flow_i];
  nic_queues #(.Flows(Flows), .Lines(Lines), .Width(Width)) u_queues (
      .clk_i, .rst_ni, .push_i(push), .push_flow_i({5'd0, push_flow_i}), .push_line_i, .avail_o(avail), .pop_i(pop),
      .pop_flow_i({5'd0, pop_flow_i}), .line_o(line));

  // The flow that is watched, and how many lines of each are inside.
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) began_q <= 1'b0;
    else began_q <= 1'b1;
  end
  always_ff @(posedge clk_i) if (!began_q) watch_q <= watch_i;
  logic watch;
  assign watch = began_q ? watch_q : watch_i;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      inside_q <= '0;
    end else begin
      for (int f = 0; f < Flows; f++)
        inside_q[f] <= inside_q[f] + CountW'(push && 1'(f) == push_flow_i) - CountW'(pop && 1'(f) == pop_flow_i);
    end
  end

  // A word that is marked as it goes in is the one that comes out, after as many as were in front of it.
  logic marked_q, due_q;
  logic [CountW-1:0] ahead_q;
  logic in, out;
  assign in  = push && push_flow_i == watch;
  assign out = pop && pop_flow_i == watch;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      marked_q <= 1'b0;
      due_q    <= 1'b0;
    end else begin
      due_q <= marked_q && out && ahead_q == '0;
      if (marked_q) begin
        marked_q <= !(out && ahead_q == '0);
        ahead_q  <= ahead_q - CountW'(out);
      end else if (in && mark_i) begin
        marked_q <= 1'b1;
        ahead_q  <= inside_q[watch] - CountW'(out);
        next_q   <= push_line_i;
      end
    end
  end
  `DROVER_ASSUME_RESET_FIRST
  `DROVER_ASSERT(OffersALineWhileItHasOne, avail[watch] == (inside_q[watch] != '0))
  `DROVER_ASSERT(LinesComeOutInTheirOrder, !due_q || line == next_q)
endmodule
