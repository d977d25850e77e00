// The transmitter: in each cycle one of a new line, a line that goes out again, or an acknowledgement, in turn as far as
// they ask.
//
//   issue          the queues, the lines in flight or the acks give one; the line is read
//   look           the connection's entry and state, and the line in flight, are read
//   decide         sent, dropped, or back to its queue to wait; state and line in flight are written
//   nic_net_build  the frame
//
// A new line waits while its connection's window is full, its entry is on the way to or from host memory, or the entry is
// not here: then the manager is asked (miss_*), and answers by waking those who wait for it, or with the number of a
// connection that is not open (unknown_*). Frames are issued only if the output FIFO has room for them.
`include "drover_assert.svh"
/* verilator lint_off IMPORTSTAR */
import nic_net_pkg::*;
/* verilator lint_on IMPORTSTAR */
module nic_net_tx #(
    parameter bit Reliable = 1'b1,
    parameter int unsigned Flows = 16,
    parameter int unsigned Connections = 1024,
    parameter int unsigned Window = 16,  // a power of two, 2 to 1024
    localparam int unsigned FlowW = Flows > 1 ? $clog2(Flows) : 1,
    localparam int unsigned SlotW = $clog2(Connections),
    localparam int unsigned WinW = $clog2(Window)
) (
    input  logic clk_i,
    input  logic rst_ni,
    input  nic_net_pkg::own_t own_i,

    input  logic             queue_valid_i,
    output logic             queue_take_o,
    input  logic [FlowW-1:0] queue_flow_i,
    input  logic [511:0]     queue_line_i,
    output logic             queue_done_o,
    output logic             queue_wait_o,
    output logic [FlowW-1:0] queue_flow_o,
    output logic [SlotW-1:0] queue_slot_o,

    input  logic             again_valid_i,
    output logic             again_ready_o,
    input  logic [SlotW-1:0] again_slot_i,
    input  logic [31:0]      again_sequence_i,
    input  logic             ack_valid_i,
    output logic             ack_ready_o,
    input  nic_net_pkg::ack_t ack_i,
    // An ack of an entry that has no slot, from the manager; it does not change for some cycles after it was taken.
    input  logic             bypass_valid_i,
    output logic             bypass_ready_o,
    input  nic_net_pkg::connection_t bypass_connection_i,
    input  logic [31:0]      bypass_expected_i,

    output logic             read_o,
    output logic [SlotW-1:0] slot_o,
    input  nic_net_pkg::connection_t connection_i,
    input  nic_net_pkg::tx_state_t tx_i,
    input  nic_net_pkg::rx_state_t rx_i,
    output logic             write_o,
    output logic [SlotW-1:0] write_slot_o,
    output nic_net_pkg::tx_state_t write_data_o,
    input  logic [Flows-1:0] rx_room_i,

    // The manager: `freeze_i` stops issues; while nothing is under way (idle_o) it may look at a slot.
    input  logic             freeze_i,
    output logic             idle_o,
    input  logic [SlotW-1:0] manager_slot_i,
    input  logic             table_i,
    input  logic             lock_i,
    input  logic [SlotW-1:0] lock_slot_i,
    output logic             miss_o,
    output logic [15:0]      miss_number_o,
    input  logic             unknown_valid_i,
    input  logic [15:0]      unknown_number_i,
    output logic             looked_o,        // a new line was decided upon
    output logic [15:0]      looked_number_o,

    output logic [1023:0] net_tdata_o,
    output logic [127:0]  net_tkeep_o,
    output logic          net_tvalid_o,
    input  logic          net_tready_i,

    output logic count_line_o,
    output logic count_again_o,
    output logic count_ack_o,
    output logic count_bad_o,
    output logic count_unknown_o,
    output logic count_dead_o
);
  localparam int unsigned FifoDepth = 32;
  typedef enum logic [1:0] {OpNew, OpAgain, OpAck} op_e;

  // ---- issue
  logic [3:0] ask, pick;
  logic credit, issue;
  logic [5:0] under_way_q;  // frames issued that have not left
  op_e op;
  assign ask = {bypass_valid_i, ack_valid_i, again_valid_i, queue_valid_i} & {4{credit && !freeze_i}};
  assign issue = ask != '0;
  drover_rr_arbiter #(.N(4)) u_turns (.clk_i, .rst_ni, .valid_i(ask), .take_i(issue), .pick_o(pick));
  assign queue_take_o = pick[0];
  assign again_ready_o = pick[1];
  assign ack_ready_o = pick[2];
  assign bypass_ready_o = pick[3];
  assign op = pick[2] || pick[3] ? OpAck : pick[1] ? OpAgain : OpNew;

  // ---- look
  logic look_q, look;  // look: and it is not void
  op_e look_op_q;
  logic [FlowW-1:0] look_flow_q;
  logic [SlotW-1:0] look_slot_q, look_slot;
  logic [31:0] look_sequence_q;
  logic look_gap_q, look_due_q, look_bypass_q, back;
  drover_channel_pkg::line_slot_t look_line;
  assign look_line = queue_line_i;
  assign look_slot = look_op_q == OpNew ? look_line.connection[SlotW-1:0] : look_slot_q;
  assign look = look_q && !(back && look_op_q == OpNew && look_flow_q == queue_flow_o);
  assign read_o = look_q || idle_o;
  assign slot_o = idle_o ? manager_slot_i : look_slot;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) look_q <= 1'b0;
    else look_q <= issue && !(back && pick[0] && queue_flow_i == queue_flow_o);
  end
  always_ff @(posedge clk_i) begin
    look_op_q       <= op;
    look_flow_q     <= queue_flow_i;
    look_slot_q     <= pick[2] ? ack_i.slot[SlotW-1:0] : again_slot_i;
    look_sequence_q <= again_sequence_i;
    look_gap_q      <= ack_i.gap && !pick[3];
    look_due_q      <= ack_i.due && !pick[3];
    look_bypass_q   <= pick[3];
  end

  // ---- decide
  logic decide_q, may_travel_q, written_q, gap_q, due_q, bypass_q;
  op_e op_q;
  logic [FlowW-1:0] flow_q;
  logic [SlotW-1:0] slot_q;
  logic [31:0] sequence_q;
  drover_channel_pkg::line_slot_t line_q;
  nic_net_pkg::tx_state_t written_data_q, state;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) decide_q <= 1'b0;
    else decide_q <= look;
  end
  always_ff @(posedge clk_i) begin
    op_q         <= look_op_q;
    flow_q       <= look_flow_q;
    slot_q       <= look_slot;
    sequence_q   <= look_sequence_q;
    gap_q        <= look_gap_q;
    due_q        <= look_due_q;
    bypass_q     <= look_bypass_q;
    line_q       <= queue_line_i;
    may_travel_q <= nic_net_pkg::line_may_travel(look_line.type_, look_line.flags, look_line.index, look_line.length);
    // The state that is read now may be the one that is written now.
    written_q      <= Reliable && write_o && write_slot_o == look_slot;
    written_data_q <= write_data_o;
  end
  assign idle_o = freeze_i && !look_q && !decide_q;
  assign state = written_q ? written_data_q : tx_i;
  nic_net_pkg::connection_t connection;
  logic [31:0] expected;
  assign connection = bypass_q ? bypass_connection_i : connection_i;
  assign expected = bypass_q ? bypass_expected_i : rx_i.expected;

  logic here, open, locked, window_open, in_flight, sends, drops, waits, unknown;
  logic [31:0] lines_in_flight, behind;
  logic [10:0] limit;
  assign here = connection.state != StateClosed && (op_q != OpNew || connection.number == line_q.connection);
  assign open = connection.state == StateOpen;
  assign locked = lock_i && lock_slot_i == slot_q;
  if (Reliable) begin : gen_window
    assign lines_in_flight = state.next - rx_i.acked;
    assign limit = rx_i.window == '0 ? 11'd1 : rx_i.window;
    assign window_open = lines_in_flight < 32'(limit);
    assign behind = sequence_q - rx_i.acked;
    assign in_flight = behind < lines_in_flight;
  end else begin : gen_no_window
    assign lines_in_flight = '0;
    assign limit = '0;
    assign window_open = 1'b1;
    assign behind = '0;
    assign in_flight = 1'b0;
    logic unused;
    assign unused = ^{limit, behind, lines_in_flight, rx_i};
  end
  assign unknown = !table_i || unknown_valid_i && unknown_number_i == line_q.connection;
  always_comb begin
    sends = 1'b0;
    drops = 1'b0;
    unique case (op_q)
      OpNew: begin
        drops = !may_travel_q || (here ? !open : unknown);
        sends = !drops && here && !locked && window_open;
      end
      OpAgain: sends = open && in_flight;
      default: sends = open && !(due_q && state.told == expected);
    endcase
  end
  assign waits = op_q == OpNew && !drops && !sends;
  assign back = decide_q && waits;
  assign queue_done_o = decide_q && op_q == OpNew && !waits;
  assign queue_wait_o = back;
  assign queue_flow_o = flow_q;
  assign queue_slot_o = slot_q;
  assign miss_o = back && !here;
  assign miss_number_o = line_q.connection;
  assign looked_o = decide_q && op_q == OpNew;
  assign looked_number_o = line_q.connection;
  assign count_bad_o = queue_done_o && !may_travel_q;
  assign count_unknown_o = queue_done_o && may_travel_q && !here;
  assign count_dead_o = queue_done_o && may_travel_q && here && !open;
  assign count_line_o = queue_done_o && sends;
  assign count_again_o = decide_q && op_q == OpAgain && sends;
  assign count_ack_o = decide_q && op_q == OpAck && sends;

  assign write_o = decide_q && sends && !bypass_q;
  assign write_slot_o = slot_q;
  assign write_data_o.next = state.next + 32'(op_q == OpNew);
  assign write_data_o.told = expected;

  // ---- the lines in flight: a window for each slot, by sequence
  logic [511:0] kept_line;
  if (Reliable) begin : gen_kept
    nic_net_kept #(.Lines(Connections * Window)) u_kept (
        .clk_i, .we_i(queue_done_o && sends), .waddr_i({slot_q, state.next[WinW-1:0]}), .wdata_i(line_q),
        .re_i(look_q && look_op_q == OpAgain), .raddr_i({look_slot_q, look_sequence_q[WinW-1:0]}), .rdata_o(kept_line));
  end else begin : gen_no_kept
    assign kept_line = '0;
  end

  // ---- the frame
  logic build_q, build_line_q, build_new_q;
  nic_net_pkg::connection_t to_q;
  nic_net_pkg::fields_t fields_q;
  logic [511:0] new_q, again_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) build_q <= 1'b0;
    else build_q <= decide_q && sends;
  end
  logic room;
  assign room = connection.balance == '0 ? rx_room_i[connection.flow[FlowW-1:0]] : rx_room_i != '0;
  always_ff @(posedge clk_i) begin
    to_q         <= connection;
    build_line_q <= op_q != OpAck;
    build_new_q  <= op_q == OpNew;
    new_q        <= line_q;
    again_q      <= kept_line;
    fields_q.kind <= !Reliable ? drover_frame_pkg::FrameKindLines : op_q != OpAck ? drover_frame_pkg::FrameKindData
                     : gap_q ? drover_frame_pkg::FrameKindGap : drover_frame_pkg::FrameKindAck;
    fields_q.sequence_ <= op_q == OpNew ? state.next : op_q == OpAgain ? sequence_q : '0;
    fields_q.ack    <= expected;
    fields_q.window <= Reliable && room ? 16'(Window) : '0;
  end
  logic built, built_line, out_ready, out_valid, out_line;
  logic [1023:0] built_beat;
  logic [5:0] out_level;
  nic_net_build u_build (
      .clk_i, .rst_ni, .own_i, .valid_i(build_q), .to_i(to_q), .fields_i(fields_q), .has_line_i(build_line_q),
      .line_i(build_new_q ? new_q : again_q), .valid_o(built), .has_line_o(built_line), .beat_o(built_beat));
  drover_fifo #(.Width(1025), .Depth(FifoDepth)) u_out (
      .clk_i, .rst_ni, .wvalid_i(built), .wready_o(out_ready), .wdata_i({built_line, built_beat}), .rvalid_o(out_valid),
      .rready_i(net_tready_i), .rdata_o({out_line, net_tdata_o}), .level_o(out_level));
  assign net_tvalid_o = out_valid;
  assign net_tkeep_o = {{64{out_line}}, {64{1'b1}}};

  // Issued, and neither left the FIFO nor come to nothing.
  logic left, nothing;
  assign left = net_tvalid_o && net_tready_i;
  assign nothing = decide_q && !sends;
  assign credit = under_way_q < 6'(FifoDepth);
  logic voided_look, voided_issue;
  assign voided_look = look_q && !look;
  assign voided_issue = issue && back && pick[0] && queue_flow_i == queue_flow_o;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) under_way_q <= '0;
    else under_way_q <= under_way_q + 6'(issue && !voided_issue) - 6'(left) - 6'(nothing) - 6'(voided_look);
  end
  `DROVER_ASSERT(FramesFindRoom, !built || out_ready)
  `DROVER_ASSERT(CountsWhatIsUnderWay, under_way_q >= out_level)
  logic unused;
  assign unused = ^{look_line, out_level, out_ready, connection, rx_i};
endmodule
