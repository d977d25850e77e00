// The receiver behind the checks: finds a frame's connection, and lets its transport decide.
//
//   FIFO     frames that have passed nic_net_check; what is before it never waits
//   find     the connection's entry is read, of the first frame or of one that missed before (nic_net_misses)
//   match    is it the connection's, from its other end, with its key? The state is read
//   decide   the line goes to the host half in the same cycle, the state is written
//
// A line waits for rx_ready_i, but if that is low for `Patience` cycles, lines are dropped until it is high again: acks
// behind them do not wait for ever. rx_refused_i, in the cycle of the handshake: the flow has no room. datagram/reliable.h
// is the reference of what is decided.
`include "drover_assert.svh"
/* verilator lint_off IMPORTSTAR */
import nic_net_pkg::*;
/* verilator lint_on IMPORTSTAR */
module nic_net_rx #(
    parameter bit Reliable = 1'b1,
    parameter int unsigned Flows = 16,
    parameter int unsigned Connections = 1024,
    parameter int unsigned Window = 16,
    localparam int unsigned FlowW = Flows > 1 ? $clog2(Flows) : 1,
    localparam int unsigned SlotW = $clog2(Connections),
    localparam int unsigned WinW = $clog2(Window)
) (
    input  logic clk_i,
    input  logic rst_ni,

    input  logic          frame_valid_i,
    output logic          frame_room_o,  // for as many frames as the checks hold
    input  nic_net_pkg::received_t frame_i,
    input  logic          has_line_i,
    input  logic [511:0]  line_i,

    output logic             read_connection_o,
    output logic [SlotW-1:0] connection_slot_o,
    input  nic_net_pkg::connection_t connection_i,
    output logic             read_state_o,
    output logic [SlotW-1:0] state_slot_o,
    input  nic_net_pkg::tx_state_t tx_i,
    input  nic_net_pkg::rx_state_t rx_i,
    output logic             write_o,
    output logic [SlotW-1:0] write_slot_o,
    output nic_net_pkg::rx_state_t write_data_o,

    output logic [511:0]     line_o,
    output logic [FlowW-1:0] flow_o,
    output logic [1:0]       balance_o,
    output logic             valid_o,    // only while ready_i
    input  logic             ready_i,
    input  logic             refused_i,

    output logic             ack_valid_o,
    output nic_net_pkg::ack_t ack_o,
    output logic             again_valid_o,
    input  logic             again_ready_i,
    output nic_net_pkg::again_t again_o,
    output logic             acked_o,       // something that lines may have waited for
    output logic [SlotW-1:0] acked_slot_o,

    input  logic             freeze_i,
    output logic             idle_o,
    input  logic             table_i,
    output logic             miss_o,
    output nic_net_pkg::received_t miss_frame_o,
    input  logic             miss_go_i,
    input  logic             miss_drop_i,
    output logic             trying_o,
    input  logic             bypass_i,  // the frame that is tried belongs to this entry, which has no slot
    input  nic_net_pkg::connection_t bypass_connection_i,
    input  logic [31:0]      bypass_next_i,
    input  logic [31:0]      bypass_expected_i,
    output logic             bypass_done_o,
    output logic             bypass_answer_o,
    output logic [31:0]      bypass_expected_o,

    output logic             refused_o,  // a frame is done with; why, or FrameRefusalOk
    output logic [4:0]       refusal_o
);
  localparam int unsigned FifoDepth = 32, InChecks = 8, Patience = 63;

  // ---- the FIFO
  logic fifo_ready, fifo_valid, fifo_take, fifo_has_line;
  nic_net_pkg::received_t fifo_frame;
  logic [511:0] fifo_line;
  logic [5:0] fifo_level;
  drover_fifo #(.Width($bits(frame_i) + 513), .Depth(FifoDepth)) u_frames (
      .clk_i, .rst_ni, .wvalid_i(frame_valid_i), .wready_o(fifo_ready), .wdata_i({frame_i, has_line_i, line_i}),
      .rvalid_o(fifo_valid), .rready_i(fifo_take), .rdata_o({fifo_frame, fifo_has_line, fifo_line}),
      .level_o(fifo_level));
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) frame_room_o <= 1'b0;
    else frame_room_o <= fifo_level < 6'(FifoDepth - InChecks);
  end
  `DROVER_ASSERT(FramesFindRoom, !frame_valid_i || fifo_ready)

  // ---- find
  logic step;  // all stages move on
  logic missed_try, missed_has_line, find, find_try;
  nic_net_pkg::received_t missed_frame, find_frame;
  logic [511:0] missed_line;
  assign find_try   = missed_try;
  assign find       = !freeze_i && (find_try || fifo_valid);
  assign find_frame = find_try ? missed_frame : fifo_frame;
  assign fifo_take  = step && !freeze_i && !find_try;
  assign read_connection_o = step && find;
  assign connection_slot_o = find_frame.connection[SlotW-1:0];

  // ---- match
  logic match_q, match_try_q, match_has_line_q, match_bypass;
  nic_net_pkg::connection_t connection;
  nic_net_pkg::received_t match_frame_q;
  logic [511:0] match_line_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) match_q <= 1'b0;
    else if (step) match_q <= find;
  end
  always_ff @(posedge clk_i) begin
    if (step) begin
      match_try_q      <= find_try;
      match_frame_q    <= find_frame;
      match_has_line_q <= find_try ? missed_has_line : fifo_has_line;
      match_line_q     <= find_try ? missed_line : fifo_line;
    end
  end
  assign match_bypass = match_try_q && bypass_i;
  assign connection = match_bypass ? bypass_connection_i : connection_i;
  assign read_state_o = step && match_q;
  assign state_slot_o = match_frame_q.connection[SlotW-1:0];

  // ---- decide
  logic decide_q, try_q, bypass_q, has_line_q, here_q, open_q, source_q, key_q, written_q;
  nic_net_pkg::received_t frame_q;
  logic [511:0] line_q;
  logic [FlowW-1:0] flow_q;
  logic [1:0] balance_q;
  nic_net_pkg::rx_state_t written_data_q, state;
  nic_net_pkg::tx_state_t tx_state;
  logic [SlotW-1:0] slot;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) decide_q <= 1'b0;
    else if (step) decide_q <= match_q;
  end
  always_ff @(posedge clk_i) begin
    if (step) begin
      try_q      <= match_try_q;
      frame_q    <= match_frame_q;
      has_line_q <= match_has_line_q;
      line_q     <= match_line_q;
      bypass_q   <= match_bypass;
      here_q     <= connection.state != StateClosed && connection.number == match_frame_q.connection;
      open_q     <= connection.state == StateOpen;
      source_q   <= connection.address == match_frame_q.address && connection.port == match_frame_q.port;
      key_q      <= connection.key_in == match_frame_q.key;
      flow_q     <= connection.flow[FlowW-1:0];
      balance_q  <= connection.balance;
      // The state that is read now may be the one that is written now.
      written_q      <= Reliable && write_o && slot == state_slot_o;
      written_data_q <= write_data_o;
    end
  end
  assign idle_o = freeze_i && !match_q && !decide_q;
  always_comb begin
    state = written_q ? written_data_q : rx_i;
    tx_state = tx_i;
    if (bypass_q) begin  // nothing of it is in flight, no ack is owed
      state = '0;
      state.expected = bypass_expected_i;
      state.acked = bypass_next_i;
      tx_state.next = bypass_next_i;
      tx_state.told = bypass_expected_i;
    end
  end
  assign slot = frame_q.connection[SlotW-1:0];

  // ---- missing entries
  logic misses_full, others_wait, must_wait, push, miss_again;
  assign must_wait = table_i && (!here_q || others_wait) && !try_q;
  assign miss_again = table_i && !here_q && try_q;
  assign push = decide_q && must_wait && !misses_full;
  nic_net_misses u_misses (
      .clk_i, .rst_ni, .push_i(push), .frame_i(frame_q), .has_line_i(has_line_q), .line_i(line_q), .full_o(misses_full),
      .number_i(frame_q.connection), .waits_o(others_wait), .miss_o, .frame_o(missed_frame), .has_line_o(missed_has_line),
      .line_o(missed_line), .go_i(miss_go_i), .drop_i(miss_drop_i), .try_o(missed_try),
      .tried_i(step && find && find_try), .leave_i(decide_q && step && try_q && !miss_again),
      .stay_i(decide_q && step && try_q && miss_again), .trying_o);
  assign miss_frame_o = missed_frame;

  // ---- the transport
  logic ours;       // a frame of this connection, from its other end
  logic wants;      // its line is for the host, if there is room
  logic possible, missing, duplicate;
  assign ours = decide_q && !must_wait && here_q && open_q && source_q && key_q;
  logic [31:0] ahead, acks;
  logic [WinW-1:0] told_ahead;  // lines that are not acknowledged if this one is taken, modulo the window
  nic_net_pkg::rx_state_t next_state;
  logic ack_counts;
  if (Reliable) begin : gen_transport
    logic [31:0] behind, in_flight, late;
    logic in_order;
    logic [31:0] behind_line;  // the sequence of the next line, if this one is taken
    assign behind_line = state.expected + 1'b1;
    assign ahead = frame_q.sequence_ - state.expected;
    assign behind = state.expected - frame_q.sequence_;
    assign in_order = ahead == '0;
    assign missing = !in_order && ahead < 32'(Window);
    assign duplicate = !in_order && behind <= 32'h10000;
    assign acks = frame_q.ack - state.acked;
    assign late = state.acked - frame_q.ack;
    assign in_flight = tx_state.next - state.acked;
    assign ack_counts = acks <= in_flight;
    assign possible = (ack_counts || late <= 32'h10000) && (!has_line_q || in_order || missing || duplicate);
    assign wants = ours && possible && has_line_q && in_order;
    // Of what is in flight after this frame.
    logic [31:0] left;
    logic [10:0] offered;
    logic gap, answers;
    assign offered = frame_q.window >= 16'(Window) ? 11'(Window) : frame_q.window[10:0];
    assign left = tx_state.next - frame_q.ack;
    assign gap = frame_q.kind == drover_frame_pkg::FrameKindGap && ack_counts && left != '0 &&
                 (acks != '0 || !state.gap_answered);
    assign answers = gap && again_ready_i;
    assign again_valid_o = write_o && gap;
    assign again_o.slot = 16'(slot);
    assign again_o.first = frame_q.ack;
    assign again_o.count = offered == '0 ? 11'd1 : left < 32'(offered) ? left[10:0] : offered;
    always_comb begin
      next_state = state;
      next_state.heard = state.heard + 1'b1;
      if (ack_counts) begin
        next_state.acked = frame_q.ack;
        next_state.window = offered;
        next_state.gap_answered = acks == '0 && state.gap_answered || answers;
      end
      if (valid_o && !refused_i) next_state.expected = behind_line;
    end
    assign told_ahead = WinW'(behind_line) - WinW'(tx_state.told);
  end else begin : gen_no_transport
    assign ahead = '0;
    assign acks = '0;
    assign missing = 1'b0;
    assign duplicate = 1'b0;
    assign ack_counts = 1'b0;
    assign possible = 1'b1;
    assign wants = ours && has_line_q;
    assign again_valid_o = 1'b0;
    assign again_o = '0;
    assign next_state = state;
    assign told_ahead = '0;
    logic unused;
    assign unused = ^{again_ready_i, tx_state, frame_q, ahead, acks};
  end
  logic [5:0] patience_q;
  logic impatient;
  assign impatient = patience_q == '0;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) patience_q <= 6'(Patience);
    else if (ready_i) patience_q <= 6'(Patience);
    else if (!impatient && wants) patience_q <= patience_q - 1'b1;
  end
  assign step = !wants || ready_i || impatient;
  assign valid_o = wants && ready_i;
  assign line_o = line_q;
  assign flow_o = flow_q;
  assign balance_o = balance_q;
  assign write_o = Reliable && ours && possible && step && !bypass_q;
  assign write_slot_o = slot;
  assign write_data_o = next_state;
  assign acked_o = write_o && ack_counts;
  assign acked_slot_o = slot;

  // ---- the answer, and why the frame came to nothing
  logic taken;
  assign taken = valid_o && !refused_i;
  assign ack_o.slot = 16'(slot);
  assign ack_o.gap = missing;
  assign ack_o.due = taken;
  assign ack_valid_o = write_o && has_line_q && (!taken || told_ahead == WinW'(Window / 2));
  assign refused_o = decide_q && step && !push && !miss_again;
  always_comb begin
    if (must_wait) refusal_o = 5'(drover_frame_pkg::FrameRefusalBusy);
    else if (!here_q || !open_q) refusal_o = 5'(drover_frame_pkg::FrameRefusalUnknownConnection);
    else if (!source_q) refusal_o = 5'(drover_frame_pkg::FrameRefusalSource);
    else if (!key_q) refusal_o = 5'(drover_frame_pkg::FrameRefusalKey);
    else if (!possible) refusal_o = 5'(drover_frame_pkg::FrameRefusalOutOfWindow);
    else if (!has_line_q || taken) refusal_o = 5'(drover_frame_pkg::FrameRefusalOk);
    else if (missing) refusal_o = 5'(drover_frame_pkg::FrameRefusalMissingBefore);
    else if (duplicate) refusal_o = 5'(drover_frame_pkg::FrameRefusalDuplicate);
    else refusal_o = 5'(drover_frame_pkg::FrameRefusalNoRoom);
  end
  `DROVER_ASSERT(GivesOnlyWhatIsReady, !valid_o || ready_i)
  assign bypass_done_o = decide_q && step && bypass_q;
  assign bypass_answer_o = ours && possible && has_line_q;
  assign bypass_expected_o = next_state.expected;
  logic unused_level;
  assign unused_level = ^{fifo_ready, connection};
endmodule
