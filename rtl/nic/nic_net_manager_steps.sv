// The steps of the connection manager's job: what is done next, with what result, and what becomes of the entry in hand
// (nic_net_manager_entries). From one look at a slot until it is set, all stands still (freeze_o).
`include "drover_assert.svh"
/* verilator lint_off IMPORTSTAR */
import nic_net_pkg::*;
import nic_net_manager_pkg::*;
/* verilator lint_on IMPORTSTAR */
module nic_net_manager_steps (
    input  logic clk_i,
    input  logic rst_ni,

    input  logic take_i,  // a job begins
    input  nic_net_manager_pkg::job_e job_i,
    input  drover_connection_pkg::connection_command_e command_i,
    input  logic with_table_i,  // there is one in host memory
    input  logic bad_flow_i,    // of the command's entry
    input  logic idle_i,        // all stands still
    input  nic_net_manager_pkg::slot_t slot_i,        // in StepConsider
    input  nic_net_manager_pkg::fetched_t fetched_i,  // in StepCheck
    input  logic may_lock_i,
    input  logic read_ready_i,
    input  logic write_ready_i,
    input  logic answer_i,
    input  logic answer_error_i,
    input  logic bypass_done_i,
    input  logic bypass_answer_i,
    input  logic ack_ready_i,
    input  logic tx_used_i,  // the transmitter has looked at the connection
    input  logic rx_trying_i,

    output nic_net_manager_pkg::step_e step_o,
    output nic_net_manager_pkg::becomes_t entry_o,  // what becomes of the entry in hand with this cycle
    output logic evict_o,     // what is in the slot goes, with this cycle
    output logic evicts_o,    // the entry to be stored is the one that was in the slot
    output logic looked_o,    // the slot has been looked at before in this job
    output logic found_o,     // what was missed has its slot, or its frame has been handled
    output logic bypassed_o,  // a frame is or was tried with the entry in hand; not yet in its first cycle
    output logic lock_o,
    output logic freeze_o,
    output logic unknown_o,  // the connection that the transmitter missed is not in host memory; until the next job
    output drover_connection_pkg::command_result_e result_o,
    output logic [4:0] refusal_o
);
  localparam int unsigned UseCycles = 255;
  nic_net_manager_pkg::step_e step_d;
  drover_connection_pkg::command_result_e result_d;
  logic [4:0] refusal_d;
  logic [7:0] use_q;
  logic owes_q;  // what was evicted
  logic found_d, frozen, for_us;
  assign freeze_o = step_o == StepFreeze || step_o == StepRead || step_o == StepConsider || step_o == StepSet;
  assign frozen = freeze_o && idle_i;
  assign for_us = fetched_i.known && fetched_i.from_source && fetched_i.with_key;

  always_comb begin
    step_d = step_o;
    result_d = result_o;
    refusal_d = refusal_o;
    entry_o = '0;
    evict_o = 1'b0;
    found_d = 1'b0;
    lock_o = 1'b0;
    unique case (step_o)
      StepIdle: if (take_i) step_d = StepFreeze;
      StepFreeze: if (frozen) step_d = StepRead;
      StepRead: step_d = StepConsider;
      StepConsider: begin
        unique case (job_i)
          JobDead: begin
            entry_o.occupant = 1'b1;
            step_d = slot_i.in_use ? StepSet : StepDone;
          end
          JobCommand: begin
            result_d = drover_connection_pkg::CommandResultOk;
            unique case (command_i)
              drover_connection_pkg::ConnectionCommandOpen: begin
                entry_o.opened = 1'b1;
                if (bad_flow_i) result_d = drover_connection_pkg::CommandResultBadEntry;
                else if (slot_i.occupied && !slot_i.own && !with_table_i) begin
                  result_d = drover_connection_pkg::CommandResultNoSlot;
                end
                step_d = result_d != drover_connection_pkg::CommandResultOk ? StepDone
                         : slot_i.own || !slot_i.occupied ? StepSet : StepStore;
              end
              drover_connection_pkg::ConnectionCommandClose: begin
                entry_o.closed = 1'b1;
                if (!slot_i.own && !with_table_i) result_d = drover_connection_pkg::CommandResultNotOpen;
                step_d = slot_i.own ? StepSet : with_table_i ? StepStore : StepDone;
              end
              drover_connection_pkg::ConnectionCommandChange: begin
                entry_o.changed = slot_i.own;
                if (bad_flow_i) result_d = drover_connection_pkg::CommandResultBadEntry;
                else if (!slot_i.own) result_d = drover_connection_pkg::CommandResultNotOpen;
                step_d = bad_flow_i ? StepDone : slot_i.own ? StepSet : with_table_i ? StepFetch : StepDone;
              end
              default: begin
                entry_o.occupant = slot_i.own;
                entry_o.closed = !slot_i.own;
                if (!slot_i.own) result_d = drover_connection_pkg::CommandResultNotOpen;
                step_d = !slot_i.own && with_table_i ? StepFetch : StepDone;
              end
            endcase
          end
          default: begin
            refusal_d = 5'(drover_frame_pkg::FrameRefusalBusy);
            if (looked_o && !slot_i.in_use) begin
              evict_o = 1'b1;
              step_d = StepSet;
            end else if (looked_o && job_i == JobRx) begin
              step_d = StepBypass;
            end else if (slot_i.own || !with_table_i) begin
              found_d = slot_i.own;
              step_d = StepDone;
            end else if (slot_i.in_use && job_i == JobTx) begin
              lock_o = may_lock_i;
              step_d = lock_o ? StepIdle : StepDone;
            end else begin
              lock_o = job_i == JobTx;  // it stays free while the entry is fetched
              step_d = StepFetch;
            end
          end
        endcase
      end
      StepFetch: if (read_ready_i) step_d = StepFetched;
      StepFetched: if (answer_i) step_d = StepCheck;
      StepCheck: begin
        if (job_i == JobCommand) begin
          result_d = fetched_i.error ? drover_connection_pkg::CommandResultBus
                     : fetched_i.known ? drover_connection_pkg::CommandResultOk
                     : drover_connection_pkg::CommandResultNotOpen;
          entry_o.closed = !fetched_i.known;
          entry_o.changed = fetched_i.known && command_i == drover_connection_pkg::ConnectionCommandChange;
          step_d = entry_o.changed ? StepStore : StepDone;
        end else begin
          refusal_d = !fetched_i.known ? 5'(drover_frame_pkg::FrameRefusalUnknownConnection)
                      : !fetched_i.from_source ? 5'(drover_frame_pkg::FrameRefusalSource)
                      : 5'(drover_frame_pkg::FrameRefusalKey);
          step_d = for_us ? StepFreeze : StepDone;
        end
      end
      StepSet: begin  // frozen since the slot was looked at
        found_d = 1'b1;
        if (job_i == JobCommand) begin
          step_d = command_i == drover_connection_pkg::ConnectionCommandClose && with_table_i ? StepStore : StepDone;
        end else begin
          step_d = !evicts_o ? StepDone : owes_q ? StepAck : StepStore;
        end
      end
      StepBypass: begin
        found_d = 1'b1;
        if (bypass_done_i) step_d = bypass_answer_i ? StepAck : StepDone;
      end
      StepAck: if (ack_ready_i) step_d = StepStore;
      StepStore: if (write_ready_i) step_d = StepStored;
      StepStored: begin
        if (answer_i) begin
          if (answer_error_i) result_d = drover_connection_pkg::CommandResultBus;
          step_d = StepDone;
        end
      end
      StepDone: step_d = job_i == JobTx || job_i == JobRx && found_o && !bypassed_o ? StepUse : StepIdle;
      default: begin  // Use
        if (use_q == '0) step_d = StepIdle;
        if (job_i == JobTx && tx_used_i) step_d = StepIdle;
        if (job_i == JobRx && use_q < 8'(UseCycles - 2) && !rx_trying_i) step_d = StepIdle;
      end
    endcase
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      step_o    <= StepIdle;
      unknown_o <= 1'b0;
    end else begin
      step_o <= step_d;
      if (take_i) unknown_o <= 1'b0;
      else if (step_o == StepCheck && job_i == JobTx && !for_us) unknown_o <= 1'b1;
    end
  end
  always_ff @(posedge clk_i) begin
    if (take_i) begin
      looked_o   <= 1'b0;
      evicts_o   <= 1'b0;
      found_o    <= 1'b0;
      bypassed_o <= 1'b0;
    end
    result_o  <= result_d;
    refusal_o <= refusal_d;
    if (found_d) found_o <= 1'b1;
    if (step_o == StepConsider) looked_o <= 1'b1;
    if (step_o == StepBypass) bypassed_o <= 1'b1;
    if (step_o == StepDone) use_q <= 8'(UseCycles);
    else use_q <= use_q - 1'b1;
    if (evict_o) begin
      evicts_o <= slot_i.occupied;
      owes_q   <= slot_i.owes;
    end
  end
  `DROVER_ASSERT(SetsOnlyWhatStandsStill, step_o != StepSet || idle_i)
endmodule
