// The connection manager: alone changes the entries in the NIC, and moves them from and to the table in host memory
// (connection.toml, ConnectionEntry). One job at a time, in turn: a command of the host's, a connection that died, an
// entry that the transmitter or the receiver misses.
//
// To look at a slot or to change it, the manager freezes issues until transmitter, receiver and sweep stand still, some
// ten cycles. An entry makes room for another only when nothing of it is in flight; an ack that it owes goes out then.
//
// If the slot that the transmitter wants is not free in this sense, it is locked: it sends no new line, and is looked at
// again now and then, between other jobs, until it is free or the transmitter's wish is given up for the next one. The
// receiver never waits for a slot, since the other end may wait for the same: a frame whose connection finds its slot
// in use is tried with the entry in the manager's hands (bypass_*), acknowledged, and the entry goes back to host memory.
// An entry that the network asks for is only taken up if the frame has its key. After a miss the manager waits until the
// entry has been of use.
`include "drover_assert.svh"
/* verilator lint_off IMPORTSTAR */
import nic_net_pkg::*;
/* verilator lint_on IMPORTSTAR */
module nic_net_manager #(
    parameter bit Reliable = 1'b1,
    parameter int unsigned Flows = 16,
    parameter int unsigned Connections = 1024,
    parameter int unsigned Window = 16,
    localparam int unsigned SlotW = $clog2(Connections)
) (
    input  logic clk_i,
    input  logic rst_ni,

    // Jobs.
    input  logic             command_valid_i,
    input  drover_connection_pkg::command_word_t command_i,
    input  drover_connection_pkg::connection_entry_t entry_i,
    output logic             command_done_o,
    output drover_connection_pkg::command_result_e result_o,
    output logic             entry_valid_o,  // with command_done_o
    output drover_connection_pkg::connection_entry_t entry_o,
    input  logic             dead_valid_i,
    output logic             dead_ready_o,
    input  logic [SlotW-1:0] dead_slot_i,
    input  logic             tx_miss_i,
    input  logic [15:0]      tx_number_i,
    input  logic             tx_looked_i,
    input  logic [15:0]      tx_looked_number_i,
    output logic             unknown_valid_o,
    output logic [15:0]      unknown_number_o,
    input  logic             rx_miss_i,
    input  nic_net_pkg::received_t rx_frame_i,
    output logic             rx_go_o,
    output logic             rx_drop_o,
    output logic [4:0]       rx_refusal_o,
    input  logic             rx_trying_i,
    output logic             tx_done_o,
    output logic             wake_o,  // a job is done: those who wait for the manager may try again

    // The slots.
    output logic             freeze_o,
    input  logic             idle_i,
    output logic             lock_o,
    output logic [SlotW-1:0] lock_slot_o,
    output logic [SlotW-1:0] slot_o,  // that is read or set
    input  nic_net_pkg::connection_t connection_i,  // the cycle after, while idle
    input  nic_net_pkg::tx_state_t tx_i,
    input  nic_net_pkg::rx_state_t rx_i,
    output logic             set_o,
    output nic_net_pkg::connection_t set_connection_o,
    output nic_net_pkg::tx_state_t set_tx_o,
    output nic_net_pkg::rx_state_t set_rx_o,

    // An entry that has no slot, or none any more: for the frame that is tried, and for an ack.
    output logic             bypass_o,  // with rx_go_o and until the frame is done with
    output nic_net_pkg::connection_t bypass_connection_o,
    output logic [31:0]      bypass_next_o,
    output logic [31:0]      bypass_expected_o,
    input  logic             bypass_done_i,
    input  logic             bypass_answer_i,
    input  logic [31:0]      bypass_expected_i,
    output logic             ack_valid_o,
    input  logic             ack_ready_i,

    // The table.
    input  logic [63:0]      table_i,  // with TableEnabled
    output logic             read_valid_o,
    input  logic             read_ready_i,
    output logic             write_valid_o,
    input  logic             write_ready_i,
    output logic [63:0]      address_o,
    output logic [511:0]     write_entry_o,
    input  logic             answer_i,  // of the read or write
    input  logic             answer_error_i,
    input  logic [511:0]     answer_entry_i,

    output logic             count_miss_o,
    output logic             count_eviction_o,
    output logic             count_error_o,
    output logic             count_death_o,
    output logic [15:0]      death_number_o
);
  localparam int unsigned Polls = 64, PollCycles = 64, UseCycles = 255;
  typedef enum logic [1:0] {JobCommand, JobDead, JobTx, JobRx} job_e;
  typedef enum logic [3:0] {
    Idle,
    Freeze,    // until all stands still
    Read,      // the slot
    Consider,  // what is in it
    Fetch,     // the entry from host memory
    Fetched,
    Check,     // what came
    Set,       // the slot
    Bypass,    // a frame is tried with the entry that was fetched
    Ack,       // goes out for the entry that is to be stored
    Store,     // an entry to host memory
    Stored,
    Done,
    Use
  } state_e;
  state_e state_q, state_d;
  job_e job_q;
  logic frozen;
  logic looked_q;  // the slot has been looked at before in this job
  logic evicts_q;  // the entry to be stored is the one that was in the slot
  logic owes_q;    // and it owes an ack
  logic found_q;   // what was missed has its slot, or its frame has been handled
  logic bypassed_q;
  logic [15:0] number_q;
  drover_connection_pkg::connection_command_e command_q;
  drover_connection_pkg::command_result_e result_q, result_d;
  drover_connection_pkg::connection_entry_t entry_q;   // to be set, to be stored or that was fetched
  drover_connection_pkg::connection_entry_t evicted_q;
  logic [7:0] use_q;
  logic [6:0] poll_q;   // cycles until the locked slot is looked at again
  logic [6:0] polls_q;  // that are left
  logic turn_q, with_table, error_q;
  logic [4:0] refusal_q, refusal_d;
  assign with_table = table_i[0];

  // ---- an entry as words of the NIC and as in host memory
  drover_connection_pkg::connection_entry_t occupant, changed, opened;
  logic [31:0] in_flight;
  logic occupied, own, in_use, owes;
  nic_net_to_entry u_occupant (
      .connection_i, .next_i(Reliable ? tx_i.next : '0), .expected_i(Reliable ? rx_i.expected : '0), .entry_o(occupant));
  always_comb begin
    opened = entry_i;
    opened.state = drover_connection_pkg::ConnectionStateOpen;
    opened.number = number_q;
    opened.reserved0 = '0;
    opened.reserved1 = '0;
    opened.reserved2 = '0;
    changed = opened;  // with the transport's state of what it changes
    changed.next = looked_q ? entry_q.next : occupant.next;
    changed.expected = looked_q ? entry_q.expected : occupant.expected;
  end
  assign in_flight = tx_i.next - rx_i.acked;
  assign occupied = connection_i.state != StateClosed;
  assign own = occupied && connection_i.number == number_q;
  assign in_use = Reliable && connection_i.state == StateOpen && in_flight != '0;
  assign owes = Reliable && connection_i.state == StateOpen && rx_i.expected != tx_i.told;

  // ---- is the entry that was fetched the one that was asked for?
  logic known, from_source, with_key;
  assign known = !error_q && entry_q.number == number_q && {2'd0, entry_q.flow[5:0]} == entry_q.flow &&
                 entry_q.flow < 8'(Flows) &&
                 (entry_q.state == drover_connection_pkg::ConnectionStateOpen ||
                  entry_q.state == drover_connection_pkg::ConnectionStateDead);
  assign from_source = job_q != JobRx || entry_q.address == rx_frame_i.address && entry_q.port == rx_frame_i.port;
  assign with_key = job_q != JobRx || entry_q.key_in == rx_frame_i.key;

  logic take, tx_asks;
  job_e job;
  assign tx_asks = tx_miss_i && (!lock_o || poll_q == '0);
  always_comb begin
    if (command_valid_i) job = JobCommand;
    else if (dead_valid_i) job = JobDead;
    else if (tx_asks && (!turn_q || !rx_miss_i)) job = JobTx;
    else job = JobRx;
  end
  assign take = state_q == Idle && (command_valid_i || dead_valid_i || tx_asks || rx_miss_i);
  logic bad_flow, for_us;
  assign bad_flow = entry_i.flow >= 8'(Flows);
  assign for_us = known && from_source && with_key;

  // ---- what comes next
  logic entry_evicted, entry_changed, entry_opened, entry_closed, entry_occupant, found, locks;
  always_comb begin
    state_d = state_q;
    result_d = result_q;
    refusal_d = refusal_q;
    entry_evicted = 1'b0;
    entry_changed = 1'b0;
    entry_opened = 1'b0;
    entry_closed = 1'b0;
    entry_occupant = 1'b0;
    found = 1'b0;
    locks = 1'b0;
    unique case (state_q)
      Idle: if (take) state_d = Freeze;
      Freeze: if (frozen) state_d = Read;
      Read: state_d = Consider;
      Consider: begin
        unique case (job_q)
          JobDead: begin
            entry_occupant = 1'b1;
            state_d = in_use ? Set : Done;
          end
          JobCommand: begin
            result_d = drover_connection_pkg::CommandResultOk;
            unique case (command_q)
              drover_connection_pkg::ConnectionCommandOpen: begin
                entry_opened = 1'b1;
                if (bad_flow) result_d = drover_connection_pkg::CommandResultBadEntry;
                else if (occupied && !own && !with_table) result_d = drover_connection_pkg::CommandResultNoSlot;
                state_d = result_d != drover_connection_pkg::CommandResultOk ? Done : own || !occupied ? Set : Store;
              end
              drover_connection_pkg::ConnectionCommandClose: begin
                entry_closed = 1'b1;
                if (!own && !with_table) result_d = drover_connection_pkg::CommandResultNotOpen;
                state_d = own ? Set : with_table ? Store : Done;
              end
              drover_connection_pkg::ConnectionCommandChange: begin
                entry_changed = own;
                if (bad_flow) result_d = drover_connection_pkg::CommandResultBadEntry;
                else if (!own) result_d = drover_connection_pkg::CommandResultNotOpen;
                state_d = bad_flow ? Done : own ? Set : with_table ? Fetch : Done;
              end
              default: begin
                entry_occupant = own;
                entry_closed = !own;
                if (!own) result_d = drover_connection_pkg::CommandResultNotOpen;
                state_d = !own && with_table ? Fetch : Done;
              end
            endcase
          end
          default: begin
            refusal_d = 5'(drover_frame_pkg::FrameRefusalBusy);
            if (looked_q && !in_use) begin
              entry_evicted = 1'b1;
              state_d = Set;
            end else if (looked_q && job_q == JobRx) begin
              state_d = Bypass;
            end else if (own || !with_table) begin
              found = own;
              state_d = Done;
            end else if (in_use && job_q == JobTx) begin
              locks = polls_q != '0;
              state_d = locks ? Idle : Done;
            end else begin
              locks = job_q == JobTx;  // it stays free while the entry is fetched
              state_d = Fetch;
            end
          end
        endcase
      end
      Fetch: if (read_ready_i) state_d = Fetched;
      Fetched: if (answer_i) state_d = Check;
      Check: begin
        if (job_q == JobCommand) begin
          result_d = error_q ? drover_connection_pkg::CommandResultBus
                     : known ? drover_connection_pkg::CommandResultOk : drover_connection_pkg::CommandResultNotOpen;
          entry_closed = !known;
          entry_changed = known && command_q == drover_connection_pkg::ConnectionCommandChange;
          state_d = entry_changed ? Store : Done;
        end else begin
          refusal_d = !known ? 5'(drover_frame_pkg::FrameRefusalUnknownConnection)
                      : !from_source ? 5'(drover_frame_pkg::FrameRefusalSource) : 5'(drover_frame_pkg::FrameRefusalKey);
          state_d = for_us ? Freeze : Done;
        end
      end
      Set: begin  // frozen since the slot was looked at
        found = 1'b1;
        if (job_q == JobCommand) begin
          state_d = command_q == drover_connection_pkg::ConnectionCommandClose && with_table ? Store : Done;
        end else begin
          state_d = !evicts_q ? Done : owes_q ? Ack : Store;
        end
      end
      Bypass: begin
        found = 1'b1;
        if (bypass_done_i) state_d = bypass_answer_i ? Ack : Done;
      end
      Ack: if (ack_ready_i) state_d = Store;
      Store: if (write_ready_i) state_d = Stored;
      Stored: begin
        if (answer_i) begin
          if (answer_error_i) result_d = drover_connection_pkg::CommandResultBus;
          state_d = Done;
        end
      end
      Done: state_d = job_q == JobTx || job_q == JobRx && found_q && !bypassed_q ? Use : Idle;
      default: begin  // Use
        if (use_q == '0) state_d = Idle;
        if (job_q == JobTx && tx_looked_i && tx_looked_number_i == number_q) state_d = Idle;
        if (job_q == JobRx && use_q < 8'(UseCycles - 2) && !rx_trying_i) state_d = Idle;
      end
    endcase
  end
  assign freeze_o = state_q == Freeze || state_q == Read || state_q == Consider || state_q == Set;
  assign frozen = freeze_o && idle_i;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= Idle;
      lock_o  <= 1'b0;
      turn_q  <= 1'b0;
      poll_q  <= '0;
      unknown_valid_o <= 1'b0;
    end else begin
      state_q <= state_d;
      if (locks) lock_o <= 1'b1;
      else if (tx_done_o) lock_o <= 1'b0;
      if (locks) poll_q <= 7'(PollCycles);
      else if (poll_q != '0) poll_q <= poll_q - 1'b1;
      if (take && (job == JobTx || job == JobRx)) turn_q <= job == JobTx;
      if (take) unknown_valid_o <= 1'b0;
      else if (state_q == Check && job_q == JobTx && !for_us) unknown_valid_o <= 1'b1;
    end
  end
  always_ff @(posedge clk_i) begin
    if (take) begin
      job_q      <= job;
      command_q  <= command_i.command;
      number_q   <= job == JobCommand ? command_i.number : job == JobDead ? 16'(dead_slot_i)
                    : job == JobTx ? tx_number_i : rx_frame_i.connection;
      looked_q   <= 1'b0;
      evicts_q   <= 1'b0;
      found_q    <= 1'b0;
      bypassed_q <= 1'b0;
      if (job == JobTx) polls_q <= lock_o ? polls_q - 1'b1 : 7'(Polls);
    end
    result_q  <= result_d;
    refusal_q <= refusal_d;
    if (found) found_q <= 1'b1;
    if (locks) lock_slot_o <= slot_o;
    if (state_q == Consider) looked_q <= 1'b1;
    if (state_q == Bypass) bypassed_q <= 1'b1;
    if (state_q == Done) use_q <= 8'(UseCycles);
    else use_q <= use_q - 1'b1;
    if (entry_evicted) begin
      evicts_q  <= occupied;
      evicted_q <= occupant;
      owes_q    <= owes;
    end
    if (entry_opened) entry_q <= opened;
    if (entry_occupant) entry_q <= occupant;
    if (entry_changed) entry_q <= changed;
    if (entry_closed) entry_q <= '0;
    if (state_q == Bypass && bypass_done_i) entry_q.expected <= bypass_expected_i;
    if (state_q == Fetched && answer_i) begin
      entry_q <= answer_entry_i;
      error_q <= answer_error_i;
    end
  end

  // ---- the slot
  assign slot_o = number_q[SlotW-1:0];
  assign set_o = state_q == Set;
  drover_connection_pkg::connection_entry_t set_entry;
  always_comb begin
    set_entry = entry_q;
    if (job_q == JobDead) set_entry.state = drover_connection_pkg::ConnectionStateDead;
    else set_entry.number = number_q;
  end
  nic_net_from_entry u_set (.entry_i(set_entry), .connection_o(set_connection_o));
  always_comb begin
    set_tx_o.next = entry_q.next;
    set_tx_o.told = entry_q.expected;
    set_rx_o = '0;
    set_rx_o.expected = entry_q.expected;
    set_rx_o.acked = entry_q.next;
    set_rx_o.window = 11'(Window);
    if (job_q == JobCommand && command_q == drover_connection_pkg::ConnectionCommandChange) begin
      set_tx_o = tx_i;  // goes on; the slot is still being read
      set_rx_o = rx_i;
    end
  end

  // ---- an entry without a slot
  drover_connection_pkg::connection_entry_t loose;
  assign loose = evicts_q ? evicted_q : entry_q;
  assign bypass_o = state_q == Bypass;
  nic_net_from_entry u_loose (.entry_i(loose), .connection_o(bypass_connection_o));
  assign bypass_next_o = loose.next;
  assign bypass_expected_o = loose.expected;
  assign ack_valid_o = state_q == Ack;

  // ---- the table
  assign read_valid_o = state_q == Fetch;
  assign write_valid_o = state_q == Store;
  assign address_o = {table_i[63:6], 6'd0} + 64'({evicts_q ? evicted_q.number : number_q, 6'd0});
  assign write_entry_o = loose;

  // ---- answers
  logic done, first_bypass;
  assign done = state_q == Done;
  assign first_bypass = bypass_o && !bypassed_q;
  assign command_done_o = done && job_q == JobCommand;
  assign result_o = result_q;
  assign entry_valid_o = command_done_o && command_q == drover_connection_pkg::ConnectionCommandRead;
  assign entry_o = entry_q;
  assign dead_ready_o = take && job == JobDead;
  assign tx_done_o = done && job_q == JobTx;
  assign unknown_number_o = number_q;
  assign rx_go_o = first_bypass || done && job_q == JobRx && found_q && !bypassed_q;
  assign rx_drop_o = done && job_q == JobRx && !found_q;
  assign rx_refusal_o = refusal_q;
  assign wake_o = done;
  assign count_miss_o = read_valid_o && read_ready_i && job_q != JobCommand;
  assign count_eviction_o = write_valid_o && write_ready_i && evicts_q;
  assign count_error_o = answer_i && answer_error_i;
  assign count_death_o = set_o && job_q == JobDead;
  assign death_number_o = entry_q.number;
  `DROVER_ASSERT(SetsOnlyWhatStandsStill, !set_o || idle_i)
  logic unused;
  assign unused = ^{command_i, table_i, rx_frame_i, tx_i, rx_i};
endmodule
