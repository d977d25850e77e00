// Time, for the connections of the reliable transport. A tick goes through all slots, one a cycle, and compares what is
// there with what the tick before saw; datagram/reliable.cc, tick, is the reference. Nothing else has to keep timers.
//
// What cannot be handed over in its cycle (an ack beside one of the receiver's, a full queue) comes with the next tick.
// `set_i` forgets what was seen of a slot.
/* verilator lint_off IMPORTSTAR */
import nic_net_pkg::*;
/* verilator lint_on IMPORTSTAR */
module nic_net_sweep #(
    parameter int unsigned Connections = 1024,
    localparam int unsigned SlotW = $clog2(Connections)
) (
    input  logic             clk_i,
    input  logic             rst_ni,
    input  drover_connection_pkg::timing_word_t timing_i,
    input  logic             freeze_i,
    output logic             idle_o,
    input  logic             set_i,
    input  logic [SlotW-1:0] set_slot_i,

    output logic             read_o,
    output logic [SlotW-1:0] slot_o,
    input  nic_net_pkg::tx_state_t tx_i,
    input  nic_net_pkg::rx_state_t rx_i,

    output logic             ack_valid_o,
    output nic_net_pkg::ack_t ack_o,
    output logic             again_valid_o,
    input  logic             again_ready_i,
    output nic_net_pkg::again_t again_o,
    output logic             dead_valid_o,
    input  logic             dead_ready_i,
    output logic [SlotW-1:0] dead_slot_o
);
  typedef struct packed {
    logic [31:0] acked;
    logic [7:0]  heard;
    logic [23:0] age;     // ticks without progress
    logic [5:0]  resends; // without a word
    logic        owed;    // an ack, to the tick before
  } seen_t;

  // ---- a tick, after at least tick_cycles and a sweep
  logic [23:0] cycles_q;
  logic sweeps_q, look_q;
  logic [SlotW-1:0] at_q, slot_q;
  assign read_o = sweeps_q && !freeze_i;
  assign slot_o = at_q;
  assign idle_o = freeze_i && !look_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      cycles_q <= '0;
      sweeps_q <= 1'b0;
      look_q   <= 1'b0;
      at_q     <= '0;
    end else begin
      look_q <= read_o;
      if (cycles_q != '1) cycles_q <= cycles_q + 1'b1;
      if (!sweeps_q) begin
        sweeps_q <= cycles_q >= timing_i.tick_cycles;
        if (cycles_q >= timing_i.tick_cycles) cycles_q <= '0;
      end else if (read_o) begin
        at_q <= at_q + 1'b1;
        if (&at_q) sweeps_q <= 1'b0;
      end
    end
  end
  always_ff @(posedge clk_i) slot_q <= at_q;

  // ---- a slot
  seen_t seen, now;
  logic [31:0] in_flight;
  logic owes, heard, asks_ack, times_out, dies, again_blocked;
  logic [23:0] patience;
  logic [3:0] doublings;
  logic [7:0] base;
  logic [5:0] resends;
  assign in_flight = tx_i.next - rx_i.acked;
  assign owes = rx_i.expected != tx_i.told;
  assign asks_ack = owes && seen.owed;
  assign heard = rx_i.heard != seen.heard;
  assign resends = heard ? '0 : seen.resends;
  assign doublings = resends < 6'(timing_i.max_doublings) ? resends[3:0] : timing_i.max_doublings;
  assign base = timing_i.resend_ticks == '0 ? 8'd1 : timing_i.resend_ticks;
  assign patience = 24'(base) << doublings;
  assign times_out = look_q && in_flight != '0 && rx_i.acked == seen.acked && seen.age >= patience;
  assign dies = times_out && resends >= timing_i.max_resends;
  assign ack_valid_o = look_q && asks_ack;
  assign ack_o.slot = 16'(slot_q);
  assign ack_o.gap = 1'b0;
  assign ack_o.due = 1'b1;
  assign again_valid_o = times_out && !dies;
  assign again_o.slot = 16'(slot_q);
  assign again_o.first = rx_i.acked;
  assign again_o.count = rx_i.window == '0 ? 11'd1 : in_flight < 32'(rx_i.window) ? in_flight[10:0] : rx_i.window;
  assign dead_valid_o = dies;
  assign dead_slot_o = slot_q;
  assign again_blocked = dies ? !dead_ready_i : !again_ready_i;
  always_comb begin
    now.acked = rx_i.acked;
    now.heard = rx_i.heard;
    now.owed = owes;
    now.age = seen.age + 1'b1;
    now.resends = resends;
    if (in_flight == '0 || rx_i.acked != seen.acked) begin
      now.age = '0;
      now.resends = '0;
    end else if (times_out) begin
      now.age = again_blocked ? seen.age : '0;
      now.resends = again_blocked ? resends : resends + 1'b1;
    end
  end
  logic [SlotW-1:0] write_slot;
  assign write_slot = set_i ? set_slot_i : slot_q;
  drover_sram_1r1w #(.Width($bits(seen)), .Depth(Connections)) u_seen (
      .clk_i, .we_i(set_i || look_q), .waddr_i(write_slot), .wdata_i(set_i ? '0 : now), .re_i(read_o), .raddr_i(at_q),
      .rdata_o(seen));
  logic unused;
  assign unused = ^{timing_i, rx_i, tx_i};
endmodule
