// The CXL interface: each flow's TX ring is FlowLines lines of the NIC's own memory, which the host writes as device
// memory: in any parts, and whole lines in any order. A line is there when the sequence word that it has to have is
// written; parts written with or before it are in it. What the host reads there is what it wrote.
`include "drover_assert.svh"
module nic_cxl #(
    parameter int unsigned Flows = 16,
    parameter int unsigned FlowLines = 32,
    localparam int unsigned SlotW = $clog2(FlowLines)
) (
    input  logic                         clk_i,
    input  logic                         rst_ni,
    input  logic [Flows-1:0]             on_i,
    input  logic [Flows-1:0]             start_i,
    input  logic                         store_i,
    input  logic [nic_pkg::FlowBits-1:0] store_flow_i,
    input  logic [SlotW-1:0]             store_slot_i,
    input  logic [511:0]                 store_line_i,
    input  logic [63:0]                  store_strb_i,
    output logic                         disabled_o,  // the store is dropped for that
    input  logic                         read_i,      // by the host: goes before pops
    input  logic [nic_pkg::FlowBits-1:0] read_flow_i,
    input  logic [SlotW-1:0]             read_slot_i,

    output logic [Flows-1:0]             avail_o,
    output logic                         pop_ready_o,
    input  logic                         pop_i,
    input  logic [nic_pkg::FlowBits-1:0] pop_flow_i,
    output logic [511:0]                 line_o       // popped, or read: in the next cycle
);
  localparam int unsigned FlowW = Flows > 1 ? $clog2(Flows) : 1;
  localparam int unsigned AddrW = $clog2(Flows * FlowLines);
  logic [Flows-1:0][FlowLines-1:0] there_q;
  logic [Flows-1:0][SlotW-1:0] tail_q;     // the next line to take
  logic [Flows-1:0][31:0] sequence_q;      // that it has
  logic [FlowW-1:0] store_flow, pop_flow;
  logic [31:0] expected;
  logic write, arrives;
  assign store_flow = store_flow_i[FlowW-1:0];
  assign pop_flow   = pop_flow_i[FlowW-1:0];
  assign write      = store_i && on_i[store_flow];
  assign disabled_o = store_i && !on_i[store_flow];
  assign expected   = sequence_q[store_flow] + 32'(store_slot_i < tail_q[store_flow]);
  assign arrives    = write && store_strb_i[nic_pkg::SequenceAt/8+:4] == '1 &&
                      store_line_i[nic_pkg::SequenceAt+:32] == expected;
  assign pop_ready_o = !read_i;

  nic_line_ram #(.Depth(Flows * FlowLines)) u_lines (
      .clk_i, .be_i(write ? store_strb_i : '0), .waddr_i(AddrW'({store_flow, store_slot_i})), .wdata_i(store_line_i),
      .re_i(read_i || pop_i),
      .raddr_i(read_i ? AddrW'({read_flow_i[FlowW-1:0], read_slot_i}) : AddrW'({pop_flow, tail_q[pop_flow]})),
      .rdata_o(line_o));

  for (genvar f = 0; f < Flows; f++) begin : gen_flow
    logic pop;
    assign pop = pop_i && pop_flow == FlowW'(f);
    assign avail_o[f] = there_q[f][tail_q[f]];
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) begin
        there_q[f]    <= '0;
        tail_q[f]     <= '0;
        sequence_q[f] <= '0;
      end else begin
        if (arrives && store_flow == FlowW'(f)) there_q[f][store_slot_i] <= 1'b1;
        if (pop) begin
          there_q[f][tail_q[f]] <= 1'b0;
          tail_q[f] <= tail_q[f] + 1'b1;
          if (tail_q[f] == '1) sequence_q[f] <= sequence_q[f] + 32'd1;
        end
        if (start_i[f]) begin
          there_q[f]    <= '0;
          tail_q[f]     <= '0;
          sequence_q[f] <= 32'd1;
        end
      end
    end
  end
  `DROVER_ASSERT(PopsWhatIsThere, !pop_i || avail_o[pop_flow])
  `DROVER_ASSERT(ReadsGoFirst, !(pop_i && read_i))

  logic unused;
  assign unused = ^{store_flow_i, pop_flow_i, read_flow_i};
endmodule
