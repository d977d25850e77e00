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
//
//   nic_net_manager_jobs     which job is next, and the lock
//   nic_net_manager_steps    what is done of a job, and when
//   nic_net_manager_entries  the entries in hand
/* verilator lint_off IMPORTSTAR */
import nic_net_pkg::*;
import nic_net_manager_pkg::*;
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
  nic_net_manager_pkg::job_e job;
  nic_net_manager_pkg::step_e step;
  nic_net_manager_pkg::becomes_t entry_becomes;
  nic_net_manager_pkg::slot_t slot;
  nic_net_manager_pkg::fetched_t fetched;
  drover_connection_pkg::connection_command_e command;
  drover_connection_pkg::connection_entry_t loose;
  logic [15:0] number;
  logic take, evict, evicts, looked, found, bypassed, lock, may_lock, bad_flow;

  nic_net_manager_jobs #(.SlotW(SlotW)) u_jobs (
      .clk_i, .rst_ni, .command_valid_i, .command_i, .dead_valid_i, .dead_slot_i, .dead_ready_o, .tx_miss_i, .tx_number_i,
      .rx_miss_i, .rx_number_i(rx_frame_i.connection), .free_i(step == StepIdle), .take_o(take), .job_o(job),
      .command_o(command), .number_o(number), .lock_i(lock), .tx_done_i(tx_done_o), .may_lock_o(may_lock), .lock_o,
      .lock_slot_o);
  nic_net_manager_steps u_steps (
      .clk_i, .rst_ni, .take_i(take), .job_i(job), .command_i(command), .with_table_i(table_i[0]), .bad_flow_i(bad_flow),
      .idle_i, .slot_i(slot), .fetched_i(fetched), .may_lock_i(may_lock), .read_ready_i, .write_ready_i, .answer_i,
      .answer_error_i, .bypass_done_i, .bypass_answer_i, .ack_ready_i,
      .tx_used_i(tx_looked_i && tx_looked_number_i == number), .rx_trying_i, .step_o(step), .entry_o(entry_becomes),
      .evict_o(evict), .evicts_o(evicts), .looked_o(looked), .found_o(found), .bypassed_o(bypassed), .lock_o(lock),
      .freeze_o, .unknown_o(unknown_valid_o), .result_o, .refusal_o(rx_refusal_o));
  nic_net_manager_entries #(.Reliable(Reliable), .Flows(Flows), .Window(Window)) u_entries (
      .clk_i, .job_i(job),
      .change_i(job == JobCommand && command == drover_connection_pkg::ConnectionCommandChange), .number_i(number),
      .given_i(entry_i), .frame_i(rx_frame_i), .entry_i(entry_becomes), .evict_i(evict), .evicts_i(evicts),
      .looked_i(looked), .fetched_i(step == StepFetched && answer_i), .answer_error_i, .answer_entry_i,
      .expected_valid_i(step == StepBypass && bypass_done_i), .expected_i(bypass_expected_i), .connection_i, .tx_i, .rx_i,
      .slot_o(slot), .fetched_o(fetched), .bad_flow_o(bad_flow), .entry_o, .set_connection_o, .set_tx_o, .set_rx_o,
      .loose_o(loose), .loose_connection_o(bypass_connection_o));

  // ---- the slot
  assign slot_o = number[SlotW-1:0];
  assign set_o = step == StepSet;

  // ---- an entry without a slot
  assign bypass_o = step == StepBypass;
  assign bypass_next_o = loose.next;
  assign bypass_expected_o = loose.expected;
  assign ack_valid_o = step == StepAck;

  // ---- the table
  assign read_valid_o = step == StepFetch;
  assign write_valid_o = step == StepStore;
  assign address_o = {table_i[63:6], 6'd0} + 64'({evicts ? loose.number : number, 6'd0});
  assign write_entry_o = loose;

  // ---- answers
  logic done, first_bypass;
  assign done = step == StepDone;
  assign first_bypass = bypass_o && !bypassed;
  assign command_done_o = done && job == JobCommand;
  assign entry_valid_o = command_done_o && command == drover_connection_pkg::ConnectionCommandRead;
  assign tx_done_o = done && job == JobTx;
  assign unknown_number_o = number;
  assign rx_go_o = first_bypass || done && job == JobRx && found && !bypassed;
  assign rx_drop_o = done && job == JobRx && !found;
  assign wake_o = done;
  assign count_miss_o = read_valid_o && read_ready_i && job != JobCommand;
  assign count_eviction_o = write_valid_o && write_ready_i && evicts;
  assign count_error_o = answer_i && answer_error_i;
  assign count_death_o = set_o && job == JobDead;
  assign death_number_o = entry_o.number;
  logic unused;
  assign unused = ^table_i;
endmodule
