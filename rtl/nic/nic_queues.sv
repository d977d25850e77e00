// A FIFO of Lines lines for each flow, in one memory: one push and one pop a cycle, of whichever flows.
//
// The pusher has counted the room, with what is on its way.
`include "drover_assert.svh"
module nic_queues #(
    parameter int unsigned Flows = 16,
    parameter int unsigned Lines = 32,
    parameter int unsigned Width = 512,
    localparam int unsigned PtrW = $clog2(Lines)
) (
    input  logic                         clk_i,
    input  logic                         rst_ni,
    input  logic                         push_i,
    input  logic [nic_pkg::FlowBits-1:0] push_flow_i,
    input  logic [Width-1:0]          push_line_i,
    output logic [Flows-1:0]             avail_o,
    input  logic                         pop_i,
    input  logic [nic_pkg::FlowBits-1:0] pop_flow_i,
    output logic [Width-1:0]          line_o  // in the next cycle, until the next pop
);
  localparam int unsigned FlowW = Flows > 1 ? $clog2(Flows) : 1;
  logic [Flows-1:0][PtrW:0] wptr_q, rptr_q;
  logic [FlowW-1:0] push_flow, pop_flow;
  assign push_flow = push_flow_i[FlowW-1:0];
  assign pop_flow  = pop_flow_i[FlowW-1:0];

  for (genvar f = 0; f < Flows; f++) begin : gen_avail
    assign avail_o[f] = wptr_q[f] != rptr_q[f];
  end
  drover_sram_1r1w #(.Width(Width), .Depth(Flows * Lines)) u_lines (
      .clk_i, .we_i(push_i), .waddr_i(address(push_flow, wptr_q[push_flow][PtrW-1:0])), .wdata_i(push_line_i),
      .re_i(pop_i), .raddr_i(address(pop_flow, rptr_q[pop_flow][PtrW-1:0])), .rdata_o(line_o));

  function automatic logic [$clog2(Flows * Lines)-1:0] address(logic [FlowW-1:0] flow, logic [PtrW-1:0] ptr);
    address = $clog2(Flows * Lines)'({flow, ptr});
  endfunction

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      wptr_q <= '0;
      rptr_q <= '0;
    end else begin
      for (int f = 0; f < Flows; f++) begin
        if (push_i && push_flow == FlowW'(f)) wptr_q[f] <= wptr_q[f] + 1'b1;
        if (pop_i && pop_flow == FlowW'(f)) rptr_q[f] <= rptr_q[f] + 1'b1;
      end
    end
  end

  logic [PtrW:0] level;  // of the flow that is pushed to
  assign level = wptr_q[push_flow] - rptr_q[push_flow];
  `DROVER_ASSERT(PushesWhereThereIsRoom, !push_i || level < (PtrW + 1)'(Lines))
  `DROVER_ASSERT(PopsWhatIsThere, !pop_i || avail_o[pop_flow])

  logic unused;
  assign unused = ^{push_flow_i, pop_flow_i, level};
endmodule
