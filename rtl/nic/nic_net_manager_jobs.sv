// Which job the connection manager does next: a command of the host's, a connection that died, or an entry that the
// transmitter or the receiver misses, those two in turn. And the lock on the slot that the transmitter wants while the
// slot is in use: it is looked at again now and then, between other jobs, so many times.
/* verilator lint_off IMPORTSTAR */
import nic_net_pkg::*;
import nic_net_manager_pkg::*;
/* verilator lint_on IMPORTSTAR */
module nic_net_manager_jobs #(
    parameter int unsigned SlotW = 10
) (
    input  logic clk_i,
    input  logic rst_ni,

    input  logic             command_valid_i,
    input  drover_connection_pkg::command_word_t command_i,
    input  logic             dead_valid_i,
    input  logic [SlotW-1:0] dead_slot_i,
    output logic             dead_ready_o,
    input  logic             tx_miss_i,
    input  logic [15:0]      tx_number_i,
    input  logic             rx_miss_i,
    input  logic [15:0]      rx_number_i,

    input  logic             free_i,  // no job is under way
    output logic             take_o,  // one begins: the outputs below are its, the cycle after
    output nic_net_manager_pkg::job_e job_o,
    output drover_connection_pkg::connection_command_e command_o,
    output logic [15:0]      number_o,  // of the connection; of JobDead: the slot

    input  logic             lock_i,     // the transmitter's job ends, and its slot is to be locked
    input  logic             tx_done_i,  // the transmitter's wish is granted or given up
    output logic             may_lock_o,  // the slot may be looked at once more
    output logic             lock_o,
    output logic [SlotW-1:0] lock_slot_o
);
  localparam int unsigned Polls = 64, PollCycles = 64;
  logic [6:0] poll_q;   // cycles until the locked slot is looked at again
  logic [6:0] polls_q;  // that are left
  logic turn_q, tx_asks;
  nic_net_manager_pkg::job_e job;

  assign tx_asks = tx_miss_i && (!lock_o || poll_q == '0);
  always_comb begin
    if (command_valid_i) job = JobCommand;
    else if (dead_valid_i) job = JobDead;
    else if (tx_asks && (!turn_q || !rx_miss_i)) job = JobTx;
    else job = JobRx;
  end
  assign take_o = free_i && (command_valid_i || dead_valid_i || tx_asks || rx_miss_i);
  assign dead_ready_o = take_o && job == JobDead;
  assign may_lock_o = polls_q != '0;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      lock_o <= 1'b0;
      turn_q <= 1'b0;
      poll_q <= '0;
    end else begin
      if (lock_i) lock_o <= 1'b1;
      else if (tx_done_i) lock_o <= 1'b0;
      if (lock_i) poll_q <= 7'(PollCycles);
      else if (poll_q != '0) poll_q <= poll_q - 1'b1;
      if (take_o && (job == JobTx || job == JobRx)) turn_q <= job == JobTx;
    end
  end
  always_ff @(posedge clk_i) begin
    if (take_o) begin
      job_o     <= job;
      command_o <= command_i.command;
      number_o  <= job == JobCommand ? command_i.number : job == JobDead ? 16'(dead_slot_i)
                   : job == JobTx ? tx_number_i : rx_number_i;
      if (job == JobTx) polls_q <= lock_o ? polls_q - 1'b1 : 7'(Polls);
    end
    if (lock_i) lock_slot_o <= number_o[SlotW-1:0];
  end
  logic unused;
  assign unused = ^command_i;
endmodule
