// The lines from the host half, a queue for each flow, so that a flow whose first line has to wait (for its connection's
// window, or entry) holds back no other. Flows take turns.
//
// A line is read and tried, and leaves its queue only when the transmitter says so, two cycles after the issue. If it
// says that the line has to wait, the flow rests until it is woken, and then goes on with that line: those that were
// issued behind it are void.
`include "drover_assert.svh"
module nic_net_queues #(
    parameter int unsigned Flows = 16,
    parameter int unsigned Depth = 16,  // lines of each flow, a power of two
    parameter int unsigned SlotW = 10,
    parameter int unsigned Width = 512,  // of a line
    localparam int unsigned FlowW = Flows > 1 ? $clog2(Flows) : 1
) (
    input  logic             clk_i,
    input  logic             rst_ni,
    input  logic [Width-1:0] line_i,
    input  logic [FlowW-1:0] flow_i,
    input  logic             valid_i,
    output logic             ready_o,
    output logic [Flows-1:0] room_o,  // for four lines and more: a scheduler that heeds it never finds ready_o low

    output logic             valid_o,  // a line may be issued
    input  logic             take_i,
    output logic [FlowW-1:0] flow_o,
    output logic [Width-1:0] line_o,   // in the next cycle

    input  logic             done_i,   // the line issued two cycles ago leaves its queue
    input  logic             wait_i,   // or it waits, until its slot has changed or the manager has done something
    input  logic [FlowW-1:0] tried_flow_i,
    input  logic [SlotW-1:0] tried_slot_i,
    input  logic             wake_slot_valid_i,
    input  logic [SlotW-1:0] wake_slot_i,
    input  logic             wake_manager_i
);
  localparam int unsigned PtrW = $clog2(Depth);
  logic [Flows-1:0][PtrW:0] write_q, read_q, kept_q;  // kept: the first line that has not left
  logic [Flows-1:0] rests_q, may, pick, full;
  logic [Flows-1:0][SlotW-1:0] for_slot_q;
  logic [Flows-1:0] level_fits, read_fits;
  logic push, issue;

  for (genvar f = 0; f < Flows; f++) begin : gen_flow
    logic [PtrW:0] level, behind;
    logic woken, here, waits;
    assign level   = write_q[f] - kept_q[f];
    assign behind  = read_q[f] - kept_q[f];
    assign full[f] = level[PtrW];
    assign here    = tried_flow_i == FlowW'(f);
    assign waits   = wait_i && here;
    assign may[f]  = write_q[f] != read_q[f] && !rests_q[f];
    assign woken   = wake_manager_i || wake_slot_valid_i && wake_slot_i == for_slot_q[f];
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) begin
        write_q[f] <= '0;
        read_q[f]  <= '0;
        kept_q[f]  <= '0;
        rests_q[f] <= 1'b0;
        room_o[f]  <= 1'b0;
      end else begin
        if (push && flow_i == FlowW'(f)) write_q[f] <= write_q[f] + 1'b1;
        if (done_i && here) kept_q[f] <= kept_q[f] + 1'b1;
        if (waits) read_q[f] <= kept_q[f];
        else if (issue && pick[f]) read_q[f] <= read_q[f] + 1'b1;
        rests_q[f] <= waits || rests_q[f] && !woken;
        room_o[f]  <= level < (PtrW + 1)'(Depth - 4);
      end
    end
    always_ff @(posedge clk_i) begin
      if (waits) for_slot_q[f] <= tried_slot_i;
    end
    assign level_fits[f] = level <= (PtrW + 1)'(Depth);
    assign read_fits[f]  = behind <= level;
  end

  drover_rr_arbiter #(.N(Flows)) u_turns (.clk_i, .rst_ni, .valid_i(may), .take_i(issue), .pick_o(pick));
  always_comb begin
    flow_o = '0;
    for (int f = 0; f < Flows; f++) begin
      if (pick[f]) flow_o = flow_o | FlowW'(f);
    end
  end
  assign ready_o = !full[flow_i];
  assign valid_o = may != '0;
  assign push    = valid_i && ready_o;
  assign issue   = take_i && valid_o;
  localparam int unsigned AddrW = $clog2(Flows * Depth);
  drover_sram_1r1w #(.Width(Width), .Depth(Flows * Depth)) u_lines (
      .clk_i, .we_i(push), .waddr_i(AddrW'({flow_i, write_q[flow_i][PtrW-1:0]})), .wdata_i(line_i), .re_i(issue),
      .raddr_i(AddrW'({flow_o, read_q[flow_o][PtrW-1:0]})), .rdata_o(line_o));
  `DROVER_ASSERT(LeavesOrWaits, !(done_i && wait_i))
  `DROVER_ASSERT(KeepsNoMoreThanItsDepth, &level_fits)
  `DROVER_ASSERT(ReadsBetweenKeptAndWritten, &read_fits)
endmodule
