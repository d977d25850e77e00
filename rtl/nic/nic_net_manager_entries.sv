// The entries that the connection manager has in hand: the one of its job, which is to be set, to be stored or was
// fetched, and the one that was in the slot and makes room. Between an entry as in host memory and the words of a slot.
/* verilator lint_off IMPORTSTAR */
import nic_net_pkg::*;
import nic_net_manager_pkg::*;
/* verilator lint_on IMPORTSTAR */
module nic_net_manager_entries #(
    parameter bit Reliable = 1'b1,
    parameter int unsigned Flows = 16,
    parameter int unsigned Window = 16
) (
    input  logic clk_i,

    input  nic_net_manager_pkg::job_e job_i,
    input  logic        change_i,  // the job is a command that changes a connection
    input  logic [15:0] number_i,
    input  drover_connection_pkg::connection_entry_t given_i,  // by the host
    input  nic_net_pkg::received_t frame_i,                    // of JobRx
    input  nic_net_manager_pkg::becomes_t entry_i,             // what becomes of the entry
    input  logic        evict_i,
    input  logic        evicts_i,
    input  logic        looked_i,
    input  logic        fetched_i,  // answer_entry_i is there
    input  logic        answer_error_i,
    input  logic [511:0] answer_entry_i,
    input  logic        expected_valid_i,  // a frame was handled with the entry
    input  logic [31:0] expected_i,

    // The slot that is considered.
    input  nic_net_pkg::connection_t connection_i,
    input  nic_net_pkg::tx_state_t tx_i,
    input  nic_net_pkg::rx_state_t rx_i,

    output nic_net_manager_pkg::slot_t slot_o,
    output nic_net_manager_pkg::fetched_t fetched_o,
    output logic bad_flow_o,
    output drover_connection_pkg::connection_entry_t entry_o,
    output nic_net_pkg::connection_t set_connection_o,  // for the slot
    output nic_net_pkg::tx_state_t set_tx_o,
    output nic_net_pkg::rx_state_t set_rx_o,
    output drover_connection_pkg::connection_entry_t loose_o,  // without a slot: to be tried, to be stored
    output nic_net_pkg::connection_t loose_connection_o
);
  drover_connection_pkg::connection_entry_t evicted_q;
  logic error_q;

  // ---- what is in the slot
  drover_connection_pkg::connection_entry_t occupant;
  logic [31:0] in_flight;
  logic occupied, open;
  nic_net_to_entry u_occupant (
      .connection_i, .next_i(Reliable ? tx_i.next : '0), .expected_i(Reliable ? rx_i.expected : '0), .entry_o(occupant));
  assign in_flight = tx_i.next - rx_i.acked;
  assign open = Reliable && connection_i.state == StateOpen;
  assign occupied = connection_i.state != StateClosed;
  assign slot_o.occupied = occupied;
  assign slot_o.own = occupied && connection_i.number == number_i;
  assign slot_o.in_use = open && in_flight != '0;
  assign slot_o.owes = open && rx_i.expected != tx_i.told;

  // ---- what the host gives
  drover_connection_pkg::connection_entry_t opened, changed;
  always_comb begin
    opened = given_i;
    opened.state = drover_connection_pkg::ConnectionStateOpen;
    opened.number = number_i;
    opened.reserved0 = '0;
    opened.reserved1 = '0;
    opened.reserved2 = '0;
    changed = opened;
    changed.next = looked_i ? entry_o.next : occupant.next;
    changed.expected = looked_i ? entry_o.expected : occupant.expected;
  end
  assign bad_flow_o = given_i.flow >= 8'(Flows);

  // ---- is the entry that was fetched the one that was asked for?
  assign fetched_o.error = error_q;
  assign fetched_o.known = !error_q && entry_o.number == number_i && {2'd0, entry_o.flow[5:0]} == entry_o.flow &&
                           entry_o.flow < 8'(Flows) &&
                           (entry_o.state == drover_connection_pkg::ConnectionStateOpen ||
                            entry_o.state == drover_connection_pkg::ConnectionStateDead);
  assign fetched_o.from_source = job_i != JobRx || entry_o.address == frame_i.address && entry_o.port == frame_i.port;
  assign fetched_o.with_key = job_i != JobRx || entry_o.key_in == frame_i.key;

  always_ff @(posedge clk_i) begin
    if (evict_i) evicted_q <= occupant;
    if (entry_i.opened) entry_o <= opened;
    if (entry_i.occupant) entry_o <= occupant;
    if (entry_i.changed) entry_o <= changed;
    if (entry_i.closed) entry_o <= '0;
    if (expected_valid_i) entry_o.expected <= expected_i;
    if (fetched_i) begin
      entry_o <= answer_entry_i;
      error_q <= answer_error_i;
    end
  end

  // ---- for the slot
  drover_connection_pkg::connection_entry_t set_entry;
  always_comb begin
    set_entry = entry_o;
    if (job_i == JobDead) set_entry.state = drover_connection_pkg::ConnectionStateDead;
    else set_entry.number = number_i;
  end
  nic_net_from_entry u_set (.entry_i(set_entry), .connection_o(set_connection_o));
  always_comb begin
    set_tx_o.next = entry_o.next;
    set_tx_o.told = entry_o.expected;
    set_rx_o = '0;
    set_rx_o.expected = entry_o.expected;
    set_rx_o.acked = entry_o.next;
    set_rx_o.window = 11'(Window);
    if (change_i) begin
      set_tx_o = tx_i;  // goes on; the slot is still being read
      set_rx_o = rx_i;
    end
  end

  // ---- without one
  assign loose_o = evicts_i ? evicted_q : entry_o;
  nic_net_from_entry u_loose (.entry_i(loose_o), .connection_o(loose_connection_o));
  logic unused;
  assign unused = ^{frame_i, tx_i, rx_i, given_i};
endmodule
