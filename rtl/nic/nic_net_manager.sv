// The connection manager: alone changes the entries in the NIC, and moves them from and to the table in host memory
// (connection.toml, ConnectionEntry). One job at a time, in turn: a command of the host's, a connection that died, an
// entry that the transmitter or the receiver misses.
//
// To look at a slot or to change it, the manager freezes issues until transmitter, receiver and sweep stand still, some
// ten cycles. An entry makes room for another only when nothing of it is in flight and no ack is owed; until then its
// slot is locked: it sends no new line and takes none. If that takes long, the job is given up, so that others come; who
// missed asks again. What the network asks for is looked at in host memory, and its key compared, before anything makes
// room for it. After a miss the manager waits until the entry has been of use.
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
    output logic             tx_taken_o,
    output logic             wake_o,  // a job is done: those who wait for the manager may try again

    // The slots.
    output logic             freeze_o,
    input  logic             idle_i,
    output logic             lock_o,
    output logic [SlotW-1:0] slot_o,  // that is read, set or locked
    input  nic_net_pkg::connection_t connection_i,  // the cycle after, while idle
    input  nic_net_pkg::tx_state_t tx_i,
    input  nic_net_pkg::rx_state_t rx_i,
    output logic             set_o,
    output nic_net_pkg::connection_t set_connection_o,
    output nic_net_pkg::tx_state_t set_tx_o,
    output nic_net_pkg::rx_state_t set_rx_o,

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
    Drain,     // until the slot is read again
    Store,     // an entry to host memory
    Stored,
    Set,       // the slot
    Done,
    Use
  } state_e;
  state_e state_q, state_d;
  job_e job_q;
  logic frozen, looked_q, evicts_q, locks_q, ends_q;
  // looked: the slot has been looked at before. evicts: the entry to be stored is the one in the slot. ends: after the
  // store or set under way, the job is done.
  logic [15:0] number_q;
  drover_connection_pkg::connection_command_e command_q;
  drover_connection_pkg::command_result_e result_q, result_d;
  drover_connection_pkg::connection_entry_t entry_q;   // to be set, to be stored or that was fetched
  drover_connection_pkg::connection_entry_t evicted_q;
  logic [7:0] wait_q;
  logic [6:0] polls_q;
  logic turn_q, with_table, error_q;
  logic [4:0] refusal_q, refusal_d;
  assign with_table = table_i[0];

  // ---- an entry as words of the NIC and as in host memory
  drover_connection_pkg::connection_entry_t occupant, changed, opened;
  logic [31:0] in_flight;
  logic occupied, own, pinned;
  always_comb begin
    occupant = '0;
    occupant.state    = {6'd0, connection_i.state};
    occupant.flow     = {2'd0, connection_i.flow};
    occupant.balance  = {6'd0, connection_i.balance};
    occupant.number   = connection_i.number;
    occupant.remote   = connection_i.remote;
    occupant.key_in   = connection_i.key_in;
    occupant.key_out  = connection_i.key_out;
    occupant.mac      = connection_i.mac;
    occupant.port     = connection_i.port;
    occupant.address  = connection_i.address;
    occupant.next     = Reliable ? tx_i.next : '0;
    occupant.expected = Reliable ? rx_i.expected : '0;
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
  assign pinned = Reliable && connection_i.state == StateOpen && (in_flight != '0 || rx_i.expected != tx_i.told);

  // ---- is the entry that was fetched the one that was asked for?
  logic known, from_source, with_key;
  assign known = !error_q && entry_q.number == number_q && {2'd0, entry_q.flow[5:0]} == entry_q.flow &&
                 entry_q.flow < 8'(Flows) &&
                 (entry_q.state == drover_connection_pkg::ConnectionStateOpen ||
                  entry_q.state == drover_connection_pkg::ConnectionStateDead);
  assign from_source = job_q != JobRx || entry_q.address == rx_frame_i.address && entry_q.port == rx_frame_i.port;
  assign with_key = job_q != JobRx || entry_q.key_in == rx_frame_i.key;

  logic take, give_up;
  job_e job;
  always_comb begin
    if (command_valid_i) job = JobCommand;
    else if (dead_valid_i) job = JobDead;
    else if (tx_miss_i && (!turn_q || !rx_miss_i)) job = JobTx;
    else job = JobRx;
  end
  assign take = state_q == Idle && (command_valid_i || dead_valid_i || tx_miss_i || rx_miss_i);
  assign give_up = polls_q == '0;
  logic bad_flow;
  assign bad_flow = entry_i.flow >= 8'(Flows);

  // ---- what comes next
  logic entry_evicted, entry_changed, entry_opened, entry_closed, entry_occupant;
  logic store, set, unlocks, found;
  always_comb begin
    state_d = state_q;
    result_d = result_q;
    refusal_d = refusal_q;
    entry_evicted = 1'b0;
    entry_changed = 1'b0;
    entry_opened = 1'b0;
    entry_closed = 1'b0;
    entry_occupant = 1'b0;
    store = 1'b0;
    found = 1'b0;
    set = 1'b0;
    unique case (state_q)
      Idle: if (take) state_d = Freeze;
      Freeze: if (frozen) state_d = Read;
      Read: state_d = Consider;
      Consider: begin
        unique case (job_q)
          JobDead: begin
            entry_occupant = 1'b1;
            state_d = occupied && connection_i.state == StateOpen && in_flight != '0 ? Set : Done;
          end
          JobCommand: begin
            result_d = drover_connection_pkg::CommandResultOk;
            unique case (command_q)
              drover_connection_pkg::ConnectionCommandOpen: begin
                entry_opened = 1'b1;
                if (bad_flow) begin
                  result_d = drover_connection_pkg::CommandResultBadEntry;
                  state_d = Done;
                end else if (own || !occupied) begin
                  state_d = Set;
                end else if (with_table) begin
                  state_d = Store;
                end else begin
                  result_d = drover_connection_pkg::CommandResultNoSlot;
                  state_d = Done;
                end
              end
              drover_connection_pkg::ConnectionCommandClose: begin
                entry_closed = 1'b1;
                result_d = own || with_table ? drover_connection_pkg::CommandResultOk
                                             : drover_connection_pkg::CommandResultNotOpen;
                state_d = own ? Set : with_table ? Store : Done;
              end
              drover_connection_pkg::ConnectionCommandChange: begin
                entry_changed = own;
                result_d = bad_flow ? drover_connection_pkg::CommandResultBadEntry
                           : own ? drover_connection_pkg::CommandResultOk : drover_connection_pkg::CommandResultNotOpen;
                state_d = bad_flow ? Done : own ? Set : with_table ? Fetch : Done;
              end
              default: begin
                entry_occupant = own;
                entry_closed = !own;
                result_d = own ? drover_connection_pkg::CommandResultOk : drover_connection_pkg::CommandResultNotOpen;
                state_d = !own && with_table ? Fetch : Done;
              end
            endcase
          end
          default: begin
            if (!looked_q) begin
              found = own;
              state_d = own || !with_table ? Done : Fetch;
            end else if (pinned) begin
              state_d = give_up ? Done : Drain;
              refusal_d = 5'(drover_frame_pkg::FrameRefusalBusy);
            end else begin
              entry_evicted = occupied;
              state_d = occupied ? Store : Set;
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
          state_d = known && from_source && with_key ? Freeze : Done;
        end
      end
      Drain: if (wait_q == '0) state_d = Freeze;
      Store: begin
        store = 1'b1;
        if (write_ready_i) state_d = Stored;
      end
      Stored: begin
        if (answer_i) begin
          if (answer_error_i && job_q == JobCommand) result_d = drover_connection_pkg::CommandResultBus;
          state_d = evicts_q ? Set : Done;
        end
      end
      Set: begin
        // Frozen since the slot was looked at, or, after an eviction, once more.
        if (frozen) begin
          set = 1'b1;
          found = 1'b1;
          state_d = job_q == JobCommand && command_q == drover_connection_pkg::ConnectionCommandClose && with_table
                    ? Store : Done;
        end
      end
      Done: state_d = job_q == JobTx || job_q == JobRx && ends_q ? Use : Idle;
      default: begin  // Use
        if (wait_q == '0) state_d = Idle;
        if (job_q == JobTx && tx_looked_i && tx_looked_number_i == number_q) state_d = Idle;
        if (job_q == JobRx && wait_q < 8'(UseCycles - 2) && !rx_trying_i) state_d = Idle;
      end
    endcase
  end
  assign freeze_o = state_q == Freeze || state_q == Read || state_q == Consider || state_q == Set;
  assign frozen = freeze_o && idle_i;
  assign unlocks = state_q == Done;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q  <= Idle;
      locks_q  <= 1'b0;
      turn_q   <= 1'b0;
      unknown_valid_o <= 1'b0;
    end else begin
      state_q <= state_d;
      if (state_q == Check && state_d == Freeze) locks_q <= 1'b1;
      else if (unlocks) locks_q <= 1'b0;
      if (take && (job == JobTx || job == JobRx)) turn_q <= job == JobTx;
      if (take) unknown_valid_o <= 1'b0;
      else if (state_q == Check && job_q == JobTx && state_d == Done) unknown_valid_o <= 1'b1;
    end
  end
  always_ff @(posedge clk_i) begin
    if (take) begin
      job_q     <= job;
      command_q <= command_i.command;
      number_q  <= job == JobCommand ? command_i.number : job == JobDead ? 16'(dead_slot_i)
                   : job == JobTx ? tx_number_i : rx_frame_i.connection;
      looked_q  <= 1'b0;
      evicts_q  <= 1'b0;
      ends_q    <= 1'b0;
      polls_q   <= 7'(Polls - 1);
    end
    result_q  <= result_d;
    refusal_q <= refusal_d;
    if (found) ends_q <= 1'b1;
    if (state_q == Consider) looked_q <= 1'b1;
    if (state_q == Consider && (state_d == Store || state_d == Set)) evicts_q <= entry_evicted;
    if (state_q == Consider && state_d == Drain) polls_q <= polls_q - 1'b1;
    if (state_d == Drain && state_q != Drain) wait_q <= 8'(PollCycles);
    else if (state_q == Done) wait_q <= 8'(UseCycles);
    else wait_q <= wait_q - 1'b1;
    if (entry_evicted) evicted_q <= occupant;
    if (entry_opened) entry_q <= opened;
    if (entry_occupant) entry_q <= occupant;
    if (entry_changed) entry_q <= changed;
    if (entry_closed) entry_q <= '0;
    if (state_q == Fetched && answer_i) begin
      entry_q <= answer_entry_i;
      error_q <= answer_error_i;
    end
  end

  // ---- the slot
  assign slot_o = number_q[SlotW-1:0];
  assign lock_o = locks_q;
  assign set_o = set;
  always_comb begin
    set_connection_o.state   = job_q == JobDead ? StateDead : entry_q.state[1:0];
    set_connection_o.flow    = entry_q.flow[5:0];
    set_connection_o.balance = entry_q.balance[1:0];
    set_connection_o.number  = job_q == JobDead ? entry_q.number : number_q;
    set_connection_o.remote  = entry_q.remote;
    set_connection_o.key_in  = entry_q.key_in;
    set_connection_o.key_out = entry_q.key_out;
    set_connection_o.mac     = entry_q.mac;
    set_connection_o.port    = entry_q.port;
    set_connection_o.address = entry_q.address;
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

  // ---- the table
  assign read_valid_o = state_q == Fetch;
  assign write_valid_o = store;
  assign address_o = {table_i[63:6], 6'd0} + 64'({evicts_q ? evicted_q.number : number_q, 6'd0});
  assign write_entry_o = evicts_q ? evicted_q : entry_q;

  // ---- answers
  assign command_done_o = state_q == Done && job_q == JobCommand;
  assign result_o = result_q;
  assign entry_valid_o = command_done_o && command_q == drover_connection_pkg::ConnectionCommandRead;
  assign entry_o = entry_q;
  assign dead_ready_o = take && job == JobDead;
  assign tx_taken_o = take && job == JobTx;
  assign unknown_number_o = number_q;
  assign rx_go_o = state_q == Done && job_q == JobRx && ends_q;
  assign rx_drop_o = state_q == Done && job_q == JobRx && !ends_q;
  assign rx_refusal_o = refusal_q;
  assign wake_o = state_q == Done;
  assign count_miss_o = state_q == Fetch && read_ready_i && job_q != JobCommand;
  assign count_eviction_o = store && write_ready_i && evicts_q;
  assign count_error_o = answer_i && answer_error_i;
  assign count_death_o = set && job_q == JobDead;
  assign death_number_o = entry_q.number;
  `DROVER_ASSERT(SetsOnlyWhatStandsStill, !set_o || idle_i)
  logic unused;
  assign unused = ^{command_i, table_i, rx_frame_i, tx_i, rx_i};
endmodule
