// The network's half of the NIC: takes RPC lines from the host half to other machines, and theirs to it. docs/nic-network.md
// explains it, datagram/frame.toml defines the frames, rtl/nic/connection.toml the registers and the connection table.
//
//            +---------+   +------------+   +---------------+
//   tx_* --->| queues  |-->| nic_net_tx |-->| nic_net_build |--> net_tx_*
//            | of flows|   +------------+   +---------------+
//            +---------+     |   ^    ^ lines again, acks
//                          state | <--+-- nic_net_sweep, nic_net_again           manager <--> table_* (host memory)
//                            |   v                                                  ^
//            +------------+   +---------------+                                     +-- reg_*
//   rx_* <---| nic_net_rx |<--| nic_net_check |<-- net_rx_*
//            +------------+   +---------------+
//
// rx_refused_i, in the cycle of a handshake, says that the line found no room in its flow; the reliable transport does
// not acknowledge it then. rx_valid_o is high only while rx_ready_i is. rx_room_i: flows that have room, for the windows
// that are offered to other ends. tx_room_o: flows that may send four lines; a scheduler that offers lines of these alone
// is never held back by a flow that has to wait.
`include "drover_assert.svh"
/* verilator lint_off IMPORTSTAR */
import nic_net_pkg::*;
/* verilator lint_on IMPORTSTAR */
module nic_net #(
    parameter int unsigned Flows = 16,          // 1 to 64
    parameter int unsigned Connections = 1024,  // entries here, a power of two, 2 to 65,536
    parameter int unsigned Transport = 1,       // drover_connection_pkg::transport_e
    parameter int unsigned Window = 16,         // lines in flight for each connection, a power of two, 2 to 1,024
    parameter int unsigned FlowLines = 16,      // of each flow that may wait here, a power of two, at least 8
    localparam int unsigned FlowW = Flows > 1 ? $clog2(Flows) : 1
) (
    input  logic clk_i,
    input  logic rst_ni,

    // The host half.
    input  logic [511:0]     tx_line_i,
    input  logic [FlowW-1:0] tx_flow_i,
    input  logic             tx_valid_i,
    output logic             tx_ready_o,
    output logic [Flows-1:0] tx_room_o,
    output logic [511:0]     rx_line_o,
    output logic [FlowW-1:0] rx_flow_o,
    output logic [1:0]       rx_policy_o,
    output logic             rx_valid_o,
    input  logic             rx_ready_i,
    input  logic             rx_refused_i,
    input  logic [Flows-1:0] rx_room_i,
    input  logic             reg_req_i,
    input  logic             reg_we_i,
    input  logic [15:0]      reg_addr_i,
    input  logic [63:0]      reg_wdata_i,
    output logic             reg_ack_o,
    output logic [63:0]      reg_rdata_o,

    // The network: AXI4-Stream, a frame a beat.
    output logic [1023:0] net_tx_tdata_o,
    output logic [127:0]  net_tx_tkeep_o,
    output logic          net_tx_tlast_o,
    output logic          net_tx_tvalid_o,
    input  logic          net_tx_tready_i,
    input  logic [1023:0] net_rx_tdata_i,
    input  logic [127:0]  net_rx_tkeep_i,
    input  logic          net_rx_tlast_i,
    input  logic          net_rx_tuser_i,  // with tlast: the frame is damaged
    input  logic          net_rx_tvalid_i,
    output logic          net_rx_tready_o,

    // The connection table in host memory: AXI4 master.
    output logic [63:0]  table_araddr_o,
    output logic [7:0]   table_arlen_o,
    output logic [3:0]   table_arid_o,
    output logic [2:0]   table_arsize_o,
    output logic [1:0]   table_arburst_o,
    output logic         table_arvalid_o,
    input  logic         table_arready_i,
    input  logic [511:0] table_rdata_i,
    input  logic [3:0]   table_rid_i,
    input  logic [1:0]   table_rresp_i,
    input  logic         table_rlast_i,
    input  logic         table_rvalid_i,
    output logic         table_rready_o,
    output logic [63:0]  table_awaddr_o,
    output logic [7:0]   table_awlen_o,
    output logic [3:0]   table_awid_o,
    output logic [2:0]   table_awsize_o,
    output logic [1:0]   table_awburst_o,
    output logic         table_awvalid_o,
    input  logic         table_awready_i,
    output logic [511:0] table_wdata_o,
    output logic [63:0]  table_wstrb_o,
    output logic         table_wlast_o,
    output logic         table_wvalid_o,
    input  logic         table_wready_i,
    input  logic [3:0]   table_bid_i,
    input  logic [1:0]   table_bresp_i,
    input  logic         table_bvalid_i,
    output logic         table_bready_o
);
  localparam bit Reliable = Transport == 1;
  `DROVER_ASSERT(StatesAreTheEntrys, StateClosed == 2'(drover_connection_pkg::ConnectionStateClosed) &&
                                     StateOpen == 2'(drover_connection_pkg::ConnectionStateOpen))
  localparam int unsigned SlotW = $clog2(Connections);
  localparam int unsigned WakeDelay = 4;  // from a change until those are woken who may have seen the state before it

  nic_net_pkg::own_t own;
  logic [63:0] table_base;
  drover_connection_pkg::timing_word_t timing;
  // Freezing for the manager, who begins when the slots have been made closed after reset.
  logic freeze, manager_freeze, tx_idle, rx_idle, sweep_idle, clear_q;
  logic lock, set, manager_set;
  logic [SlotW-1:0] lock_slot, manager_slot, set_slot, clear_slot_q;
  nic_net_pkg::connection_t set_connection, manager_connection, tx_connection, rx_connection;
  nic_net_pkg::tx_state_t set_tx, manager_tx, tx_tx, rx_tx, sweep_tx, tx_write_data;
  nic_net_pkg::rx_state_t set_rx, manager_rx, tx_rx, rx_rx, sweep_rx, rx_write_data;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      clear_q      <= 1'b1;
      clear_slot_q <= '0;
    end else if (clear_q) begin
      clear_q      <= !(&clear_slot_q);
      clear_slot_q <= clear_slot_q + 1'b1;
    end
  end
  assign freeze = manager_freeze || clear_q;
  assign set = manager_set || clear_q;
  assign set_slot = clear_q ? clear_slot_q : manager_slot;
  assign set_connection = clear_q ? '0 : manager_connection;
  assign set_tx = clear_q ? '0 : manager_tx;
  assign set_rx = clear_q ? '0 : manager_rx;

  // ---- the state
  logic tx_read, tx_write, rx_read_connection, rx_read_state, rx_write, sweep_read;
  logic [SlotW-1:0] tx_slot, tx_write_slot, rx_connection_slot, rx_state_slot, rx_write_slot, sweep_slot;
  nic_net_state #(.Reliable(Reliable), .Connections(Connections)) u_state (
      .clk_i, .set_i(set), .set_slot_i(set_slot), .set_connection_i(set_connection), .set_tx_i(set_tx),
      .set_rx_i(set_rx), .tx_read_i(tx_read), .tx_slot_i(tx_slot), .tx_connection_o(tx_connection), .tx_tx_o(tx_tx),
      .tx_rx_o(tx_rx), .tx_write_i(tx_write), .tx_write_slot_i(tx_write_slot), .tx_write_data_i(tx_write_data),
      .rx_read_connection_i(rx_read_connection), .rx_connection_slot_i(rx_connection_slot),
      .rx_connection_o(rx_connection), .rx_read_state_i(rx_read_state), .rx_state_slot_i(rx_state_slot), .rx_tx_o(rx_tx),
      .rx_rx_o(rx_rx), .rx_write_i(rx_write), .rx_write_slot_i(rx_write_slot), .rx_write_data_i(rx_write_data),
      .sweep_read_i(sweep_read), .sweep_slot_i(sweep_slot), .sweep_tx_o(sweep_tx), .sweep_rx_o(sweep_rx));

  // ---- sending
  logic queue_valid, queue_take, queue_done, queue_wait;
  logic [FlowW-1:0] queue_flow, tried_flow;
  logic [511:0] queue_line;
  logic [SlotW-1:0] tried_slot;
  logic acked, manager_done;
  logic [SlotW-1:0] acked_slot;
  logic [WakeDelay-1:0] acked_q, manager_done_q;
  logic [WakeDelay-1:0][SlotW-1:0] acked_slot_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      acked_q        <= '0;
      manager_done_q <= '0;
    end else begin
      acked_q        <= {acked_q[WakeDelay-2:0], acked};
      manager_done_q <= {manager_done_q[WakeDelay-2:0], manager_done};
    end
  end
  always_ff @(posedge clk_i) acked_slot_q <= {acked_slot_q[WakeDelay-2:0], acked_slot};
  nic_net_queues #(.Flows(Flows), .Depth(FlowLines), .SlotW(SlotW)) u_queues (
      .clk_i, .rst_ni, .line_i(tx_line_i), .flow_i(tx_flow_i), .valid_i(tx_valid_i), .ready_o(tx_ready_o),
      .room_o(tx_room_o), .valid_o(queue_valid), .take_i(queue_take), .flow_o(queue_flow), .line_o(queue_line),
      .done_i(queue_done), .wait_i(queue_wait), .tried_flow_i(tried_flow),
      .tried_slot_i(tried_slot), .wake_slot_valid_i(acked_q[WakeDelay-1]), .wake_slot_i(acked_slot_q[WakeDelay-1]),
      .wake_manager_i(manager_done_q[WakeDelay-1]));

  logic again_valid, again_ready, ack_valid, ack_ready;
  logic [SlotW-1:0] again_slot;
  logic [31:0] again_sequence;
  nic_net_pkg::ack_t ack;
  logic tx_miss, unknown_valid, looked, bypass, bypass_done, bypass_answer, bypass_ack, bypass_ack_ready;
  nic_net_pkg::connection_t bypass_connection;
  logic [31:0] bypass_next, bypass_expected, bypass_new_expected;
  logic [15:0] tx_miss_number, unknown_number, looked_number;
  logic count_line, count_again, count_ack, count_bad, count_unknown, count_dead;
  nic_net_tx #(.Reliable(Reliable), .Flows(Flows), .Connections(Connections), .Window(Window)) u_tx (
      .clk_i, .rst_ni, .own_i(own), .queue_valid_i(queue_valid), .queue_take_o(queue_take), .queue_flow_i(queue_flow),
      .queue_line_i(queue_line), .queue_done_o(queue_done), .queue_wait_o(queue_wait),
      .queue_flow_o(tried_flow), .queue_slot_o(tried_slot),
      .again_valid_i(again_valid), .again_ready_o(again_ready), .again_slot_i(again_slot),
      .again_sequence_i(again_sequence), .ack_valid_i(ack_valid), .ack_ready_o(ack_ready), .ack_i(ack), .bypass_valid_i(bypass_ack),
      .bypass_ready_o(bypass_ack_ready), .bypass_connection_i(bypass_connection),
      .bypass_expected_i(bypass_expected), .read_o(tx_read),
      .slot_o(tx_slot), .connection_i(tx_connection), .tx_i(tx_tx), .rx_i(tx_rx), .write_o(tx_write),
      .write_slot_o(tx_write_slot), .write_data_o(tx_write_data), .rx_room_i, .freeze_i(freeze), .idle_o(tx_idle),
      .manager_slot_i(manager_slot), .table_i(table_base[0]), .lock_i(lock), .lock_slot_i(lock_slot),
      .miss_o(tx_miss), .miss_number_o(tx_miss_number), .unknown_valid_i(unknown_valid),
      .unknown_number_i(unknown_number), .looked_o(looked), .looked_number_o(looked_number),
      .net_tdata_o(net_tx_tdata_o), .net_tkeep_o(net_tx_tkeep_o), .net_tvalid_o(net_tx_tvalid_o),
      .net_tready_i(net_tx_tready_i), .count_line_o(count_line), .count_again_o(count_again), .count_ack_o(count_ack),
      .count_bad_o(count_bad), .count_unknown_o(count_unknown), .count_dead_o(count_dead));
  assign net_tx_tlast_o = 1'b1;

  // ---- receiving
  logic checked_valid, checked_has_line, frame_room;
  logic [4:0] checked_refusal;
  nic_net_pkg::received_t checked;
  logic [511:0] checked_line;
  assign net_rx_tready_o = frame_room;
  nic_net_check #(.Reliable(Reliable)) u_check (
      .clk_i, .rst_ni, .own_i(own), .tdata_i(net_rx_tdata_i), .tkeep_i(net_rx_tkeep_i), .tlast_i(net_rx_tlast_i),
      .tuser_i(net_rx_tuser_i), .take_i(net_rx_tvalid_i && net_rx_tready_o), .valid_o(checked_valid),
      .refusal_o(checked_refusal), .frame_o(checked), .has_line_o(checked_has_line), .line_o(checked_line));

  logic rx_ack_valid, rx_again_valid, rx_again_ready, rx_miss, miss_go, miss_drop, trying, rx_done;
  logic [4:0] rx_refusal, miss_refusal;
  nic_net_pkg::ack_t rx_ack;
  nic_net_pkg::again_t rx_again;
  nic_net_pkg::received_t miss_frame;
  nic_net_rx #(.Reliable(Reliable), .Flows(Flows), .Connections(Connections), .Window(Window)) u_rx (
      .clk_i, .rst_ni, .frame_valid_i(checked_valid && checked_refusal == '0), .frame_room_o(frame_room),
      .frame_i(checked), .has_line_i(checked_has_line), .line_i(checked_line), .read_connection_o(rx_read_connection),
      .connection_slot_o(rx_connection_slot), .connection_i(rx_connection), .read_state_o(rx_read_state),
      .state_slot_o(rx_state_slot), .tx_i(rx_tx), .rx_i(rx_rx), .write_o(rx_write), .write_slot_o(rx_write_slot),
      .write_data_o(rx_write_data), .line_o(rx_line_o), .flow_o(rx_flow_o), .balance_o(rx_policy_o),
      .valid_o(rx_valid_o), .ready_i(rx_ready_i), .refused_i(rx_refused_i), .ack_valid_o(rx_ack_valid), .ack_o(rx_ack),
      .again_valid_o(rx_again_valid), .again_ready_i(rx_again_ready), .again_o(rx_again), .acked_o(acked),
      .acked_slot_o(acked_slot), .freeze_i(freeze), .idle_o(rx_idle), .table_i(table_base[0]),
      .bypass_i(bypass), .bypass_connection_i(bypass_connection), .bypass_next_i(bypass_next),
      .bypass_expected_i(bypass_expected), .bypass_done_o(bypass_done), .bypass_answer_o(bypass_answer),
      .bypass_expected_o(bypass_new_expected), .miss_o(rx_miss), .miss_frame_o(miss_frame), .miss_go_i(miss_go),
      .miss_drop_i(miss_drop), .trying_o(trying), .refused_o(rx_done), .refusal_o(rx_refusal));

  // ---- time
  logic dead_q, dead_valid, dead_ready, timeout;
  logic [SlotW-1:0] dead_slot, dead_slot_q;
  if (Reliable) begin : gen_time
    logic sweep_ack_valid, sweep_again_valid, sweep_again_ready, ack_room;
    nic_net_pkg::ack_t sweep_ack;
    nic_net_pkg::again_t sweep_again;
    logic [6:0] ack_level;
    nic_net_sweep #(.Connections(Connections)) u_sweep (
        .clk_i, .rst_ni, .timing_i(timing), .freeze_i(freeze), .idle_o(sweep_idle), .set_i(set), .set_slot_i(set_slot),
        .read_o(sweep_read), .slot_o(sweep_slot), .tx_i(sweep_tx), .rx_i(sweep_rx), .ack_valid_o(sweep_ack_valid),
        .ack_o(sweep_ack), .again_valid_o(sweep_again_valid), .again_ready_i(sweep_again_ready), .again_o(sweep_again),
        .dead_valid_o(dead_valid), .dead_ready_i(!dead_q), .dead_slot_o(dead_slot));
    nic_net_again #(.SlotW(SlotW)) u_again (
        .clk_i, .rst_ni, .rx_valid_i(rx_again_valid), .rx_ready_o(rx_again_ready), .rx_i(rx_again),
        .sweep_valid_i(sweep_again_valid), .sweep_ready_o(sweep_again_ready), .sweep_i(sweep_again),
        .valid_o(again_valid), .ready_i(again_ready), .slot_o(again_slot), .sequence_o(again_sequence));
    // An ack that finds no room is not missed: the other end sends again, or the next tick asks.
    drover_fifo #(.Width($bits(ack)), .Depth(64)) u_acks (
        .clk_i, .rst_ni, .wvalid_i(rx_ack_valid || sweep_ack_valid), .wready_o(ack_room),
        .wdata_i(rx_ack_valid ? rx_ack : sweep_ack), .rvalid_o(ack_valid), .rready_i(ack_ready), .rdata_o(ack),
        .level_o(ack_level));
    assign timeout = sweep_again_valid && sweep_again_ready;
    logic unused;
    assign unused = ^{ack_level, ack_room};
  end else begin : gen_no_time
    assign sweep_idle = 1'b1;
    assign sweep_read = 1'b0;
    assign sweep_slot = '0;
    assign rx_again_ready = 1'b0;
    assign again_valid = 1'b0;
    assign again_slot = '0;
    assign again_sequence = '0;
    assign ack_valid = 1'b0;
    assign ack = '0;
    assign dead_valid = 1'b0;
    assign dead_slot = '0;
    assign timeout = 1'b0;
    logic unused;
    assign unused = ^{timing, rx_again, rx_ack, rx_ack_valid, rx_again_valid, sweep_tx, sweep_rx, again_ready, ack_ready};
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) dead_q <= 1'b0;
    else dead_q <= dead_q ? !dead_ready : dead_valid;
  end
  always_ff @(posedge clk_i) begin
    if (!dead_q) dead_slot_q <= dead_slot;
  end

  // ---- the manager: one miss of the transmitter is remembered; the lines of others are tried again when it is done
  logic missed_q, missed_done;
  logic [15:0] missed_number_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) missed_q <= 1'b0;
    else missed_q <= tx_miss || missed_q && !missed_done;
  end
  always_ff @(posedge clk_i) begin
    if (tx_miss && (!missed_q || missed_done)) missed_number_q <= tx_miss_number;
  end
  logic command_valid, command_done, entry_valid, death, table_read, table_read_ready, table_write, table_write_ready;
  drover_connection_pkg::command_word_t command;
  drover_connection_pkg::command_result_e result;
  drover_connection_pkg::connection_entry_t host_entry, read_entry;
  logic [15:0] death_number;
  logic [63:0] table_address;
  logic [511:0] table_out, table_in;
  logic table_answer, table_error, count_miss, count_eviction, count_error;
  nic_net_manager #(.Reliable(Reliable), .Flows(Flows), .Connections(Connections), .Window(Window)) u_manager (
      .clk_i, .rst_ni, .command_valid_i(command_valid), .command_i(command), .entry_i(host_entry),
      .command_done_o(command_done), .result_o(result), .entry_valid_o(entry_valid), .entry_o(read_entry),
      .dead_valid_i(dead_q), .dead_ready_o(dead_ready), .dead_slot_i(dead_slot_q), .tx_miss_i(missed_q),
      .tx_number_i(missed_number_q), .tx_looked_i(looked), .tx_looked_number_i(looked_number),
      .unknown_valid_o(unknown_valid), .unknown_number_o(unknown_number), .rx_miss_i(rx_miss), .rx_frame_i(miss_frame),
      .rx_go_o(miss_go), .rx_drop_o(miss_drop), .rx_refusal_o(miss_refusal), .rx_trying_i(trying),
      .tx_done_o(missed_done), .bypass_o(bypass), .bypass_connection_o(bypass_connection),
      .bypass_next_o(bypass_next), .bypass_expected_o(bypass_expected), .bypass_done_i(bypass_done),
      .bypass_answer_i(bypass_answer), .bypass_expected_i(bypass_new_expected), .ack_valid_o(bypass_ack),
      .ack_ready_i(bypass_ack_ready), .wake_o(manager_done), .freeze_o(manager_freeze),
      .idle_i(tx_idle && rx_idle && sweep_idle && !clear_q), .lock_o(lock), .lock_slot_o(lock_slot), .slot_o(manager_slot),
      .connection_i(tx_connection), .tx_i(tx_tx), .rx_i(tx_rx), .set_o(manager_set),
      .set_connection_o(manager_connection), .set_tx_o(manager_tx), .set_rx_o(manager_rx), .table_i(table_base),
      .read_valid_o(table_read), .read_ready_i(table_read_ready), .write_valid_o(table_write),
      .write_ready_i(table_write_ready), .address_o(table_address), .write_entry_o(table_out), .answer_i(table_answer),
      .answer_error_i(table_error), .answer_entry_i(table_in), .count_miss_o(count_miss),
      .count_eviction_o(count_eviction), .count_error_o(count_error), .count_death_o(death),
      .death_number_o(death_number));
  nic_net_table_port u_table_port (
      .clk_i, .rst_ni, .read_valid_i(table_read), .read_ready_o(table_read_ready), .write_valid_i(table_write),
      .write_ready_o(table_write_ready), .address_i(table_address), .entry_i(table_out), .answer_o(table_answer),
      .answer_error_o(table_error), .answer_entry_o(table_in), .araddr_o(table_araddr_o), .arlen_o(table_arlen_o),
      .arid_o(table_arid_o), .arsize_o(table_arsize_o), .arburst_o(table_arburst_o), .arvalid_o(table_arvalid_o),
      .arready_i(table_arready_i), .rdata_i(table_rdata_i), .rid_i(table_rid_i), .rresp_i(table_rresp_i),
      .rlast_i(table_rlast_i), .rvalid_i(table_rvalid_i), .rready_o(table_rready_o), .awaddr_o(table_awaddr_o),
      .awlen_o(table_awlen_o), .awid_o(table_awid_o), .awsize_o(table_awsize_o), .awburst_o(table_awburst_o),
      .awvalid_o(table_awvalid_o), .awready_i(table_awready_i), .wdata_o(table_wdata_o), .wstrb_o(table_wstrb_o),
      .wlast_o(table_wlast_o), .wvalid_o(table_wvalid_o), .wready_i(table_wready_i), .bid_i(table_bid_i),
      .bresp_i(table_bresp_i), .bvalid_i(table_bvalid_i), .bready_o(table_bready_o));

  // ---- registers
  logic [12:0] happens;
  assign happens = {rx_again_valid && rx_again_ready, timeout, death, count_error, count_eviction, count_miss, count_dead,
                    count_unknown, count_bad, count_ack, count_again, count_line, rx_valid_o && !rx_refused_i};
  nic_net_registers #(.Reliable(Reliable), .Flows(Flows), .Connections(Connections), .Window(Window)) u_registers (
      .clk_i, .rst_ni, .req_i(reg_req_i), .we_i(reg_we_i), .addr_i(reg_addr_i), .wdata_i(reg_wdata_i),
      .ack_o(reg_ack_o), .rdata_o(reg_rdata_o), .own_o(own), .table_o(table_base), .timing_o(timing),
      .command_valid_o(command_valid), .command_o(command), .entry_o(host_entry), .command_done_i(command_done),
      .result_i(result), .entry_valid_i(entry_valid), .entry_i(read_entry), .death_i(death),
      .death_number_i(death_number), .frame_i({miss_drop, rx_done, checked_valid && checked_refusal != '0}),
      .refusal_i({miss_refusal, rx_refusal, checked_refusal}), .event_i(happens));
endmodule
