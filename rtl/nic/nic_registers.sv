// The registers of nic.toml: soft configuration, the flows' switches, what can be read. The network half's go through to
// it, in order; a write that finds eight others waiting is answered with an error, so that none is ever held back.
`include "drover_assert.svh"
/* verilator lint_off IMPORTSTAR */
import drover_nic_pkg::*;  // here, and types by their full names: yosys reads it so
/* verilator lint_on IMPORTSTAR */
module nic_registers #(
    parameter int unsigned Flows = 16,
    parameter int unsigned FlowLines = 32,
    parameter int unsigned Interface = 2,
    parameter int unsigned Threading = 0
) (
    input  logic         clk_i,
    input  logic         rst_ni,
    // Of the slave.
    input  logic         write_i,
    input  logic [19:0]  write_addr_i,
    input  logic [63:0]  write_word_i,
    input  logic         write_whole_i,
    output logic         write_error_o,
    input  logic         read_i,
    input  logic [19:0]  read_addr_i,
    output logic         read_done_o,
    output logic         read_error_o,
    output logic [511:0] read_line_o,

    output nic_pkg::soft_t   soft_o,
    output logic [Flows-1:0] tx_on_o,
    output logic [Flows-1:0] rx_on_o,
    output logic [Flows-1:0] tx_start_o,  // in the cycle before it is on
    output logic [Flows-1:0] rx_start_o,
    output logic             ring_o,      // a doorbell
    output logic             store_o,     // into a window: the slave's line
    output logic [nic_pkg::FlowBits-1:0] store_flow_o,  // its flow, or the doorbell's
    output logic             window_read_o,
    output logic [nic_pkg::FlowBits-1:0] window_flow_o,
    input  logic [511:0]     window_line_i,  // in the next cycle

    output logic         table_we_o,
    output logic [nic_pkg::FlowBits-1:0] table_flow_o,
    output logic [1:0]   table_field_o,
    output logic [nic_pkg::FlowBits-1:0] table_read_flow_o,
    output logic [1:0]   table_read_field_o,
    input  logic [63:0]  table_word_i,
    input  logic [Flows-1:0][63:0] status_i,  // drover_nic_pkg::flow_status_t
    input  logic [nic_pkg::Counters-1:0][47:0] counters_i,

    output logic         reg_req_o,
    output logic         reg_we_o,
    output logic [15:0]  reg_addr_o,
    output logic [63:0]  reg_wdata_o,
    input  logic         reg_ack_i,
    input  logic [63:0]  reg_rdata_i
);
  localparam int unsigned PageW = $clog2(FlowPageBytes);
  localparam int unsigned Writes = 8;  // for the network half

  // ---- what an address means
  typedef struct packed {
    logic window, doorbell, control, flow, counter, network;
  } where_t;
  function automatic where_t where_of(logic [19:0] addr);
    where_t where;
    where = '0;
    where.window   = {12'd0, addr} < ControlAt && 32'(addr[PageW-1:0]) < WindowBytes &&
                     32'(addr[PageW+:nic_pkg::FlowBits]) < Flows &&
                     (Interface == 32'(TxInterfaceMmio) ||
                      (Interface == 32'(TxInterfaceCxl) && 32'(addr[PageW-1:6]) < FlowLines));
    where.doorbell = {12'd0, addr} < ControlAt && 32'(addr[PageW-1:0]) == DoorbellAt &&
                     32'(addr[PageW+:nic_pkg::FlowBits]) < Flows && Interface == 32'(TxInterfaceDoorbell);
    where.control  = addr[19:12] == ControlAt[19:12] && 32'(addr[11:0]) < ControlPageBytes;
    where.flow     = addr[19:12] == FlowRegistersAt[19:12] && 32'(addr[11:6]) < Flows;
    where.counter  = addr[19:12] == CountersAt[19:12] && 32'(addr[11:0]) < NicCountersBytes;
    where.network  = {12'd0, addr} >= NetworkAt && {12'd0, addr} < NetworkAt + NetworkBytes;
    where_of = where;
  endfunction
  where_t to, from;
  assign to   = where_of(write_addr_i);
  assign from = where_of(read_addr_i);

  // ---- writes
  logic [31:0] control_at, flow_at;
  logic control, set_flow, forward, forward_ready, writable;
  assign control_at = 32'(write_addr_i[11:0]);
  assign flow_at    = 32'(write_addr_i[5:0]);
  assign control    = write_i && to.control && write_whole_i;
  assign set_flow   = write_i && to.flow && write_whole_i;
  assign writable   = (to.control && control_at != ControlPageHardAt) || (to.flow && flow_at <= FlowRegistersControlAt) ||
                      to.doorbell || (to.network && forward_ready);
  assign write_error_o = !to.window && !(writable && write_whole_i);
  assign store_o       = write_i && to.window;
  assign ring_o        = write_i && to.doorbell && write_whole_i;
  assign store_flow_o  = write_addr_i[PageW+:nic_pkg::FlowBits];
  assign forward       = write_i && to.network && write_whole_i && forward_ready;
  assign table_we_o    = set_flow && flow_at < FlowRegistersControlAt;
  assign table_flow_o  = write_addr_i[6+:nic_pkg::FlowBits];
  assign table_field_o = write_addr_i[4:3];

  // A value outside of its limits is brought inside.
  function automatic logic [63:0] between(logic [63:0] value, logic [63:0] low, logic [63:0] high);
    between = value < low ? low : value > high ? high : value;
  endfunction
  logic [6:0] flows_in_use_q;
  drover_nic_pkg::batch_register_t batch, batch_q;
  drover_nic_pkg::poll_register_t poll, poll_q;
  drover_nic_pkg::interval_register_t interval, interval_q;
  drover_nic_pkg::key_register_t key, key_q;
  assign batch    = write_word_i;
  assign poll     = write_word_i;
  assign interval = write_word_i;
  assign key      = write_word_i;
  assign soft_o.flows_in_use = flows_in_use_q;
  assign soft_o.batch        = batch_q;
  assign soft_o.poll         = poll_q;
  assign soft_o.interval     = interval_q;
  assign soft_o.key          = key_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      batch_q    <= '0;
      poll_q     <= '0;
      interval_q <= '0;
      key_q      <= '0;
      flows_in_use_q      <= 7'(Flows);
      batch_q.tx_lines    <= 5'd4;
      batch_q.rx_lines    <= 5'd4;
      batch_q.rx_timeout  <= 16'd64;
      poll_q.threshold    <= 16'd32;
      poll_q.window       <= 16'd1024;
      poll_q.interval     <= 16'd32;
      poll_q.ahead        <= 4'd4;
      interval_q.publish  <= 16'd256;
      interval_q.look     <= 16'd128;
      key_q.length        <= 6'd8;
    end else if (control) begin
      if (control_at == ControlPageFlowsInUseAt) flows_in_use_q <= 7'(between(write_word_i, 64'd1, 64'(Flows)));
      if (control_at == ControlPageBatchAt) begin
        batch_q.tx_lines   <= 5'(between(64'(batch.tx_lines), 64'd1, 64'(MaxBatch)));
        batch_q.adaptive   <= batch.adaptive;
        batch_q.rx_lines   <= 5'(between(64'(batch.rx_lines), 64'd1, 64'(MaxBatch)));
        batch_q.rx_timeout <= batch.rx_timeout;
      end
      if (control_at == ControlPagePollAt) begin
        poll_q       <= poll;
        poll_q.ahead <= 4'(between(64'(poll.ahead), 64'd1, 64'(MaxAhead)));
      end
      if (control_at == ControlPageIntervalAt) interval_q <= interval;
      if (control_at == ControlPageKeyAt) begin
        key_q.offset <= key.offset;
        key_q.length <= key.length;
      end
    end
  end

  // ---- the flows' switches
  drover_nic_pkg::flow_control_t switches;
  assign switches = write_word_i;
  for (genvar f = 0; f < Flows; f++) begin : gen_flow
    logic here;
    assign here = set_flow && flow_at == FlowRegistersControlAt && write_addr_i[6+:nic_pkg::FlowBits] == nic_pkg::FlowBits'(f);
    assign tx_start_o[f] = here && switches.tx && !tx_on_o[f];
    assign rx_start_o[f] = here && switches.rx && !rx_on_o[f];
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) begin
        tx_on_o[f] <= 1'b0;
        rx_on_o[f] <= 1'b0;
      end else if (here) begin
        tx_on_o[f] <= switches.tx;
        rx_on_o[f] <= switches.rx;
      end
    end
  end

  // ---- reads: what is here in the next cycle, the network half's when it answers
  logic looked_q, network_done;
  logic [63:0] word, word_q, control_word, flow_word;
  drover_nic_pkg::hard_register_t hard;
  drover_nic_pkg::flow_control_t switched;
  logic [nic_pkg::FlowBits-1:0] read_flow;
  assign read_flow          = read_addr_i[6+:nic_pkg::FlowBits];
  assign table_read_flow_o  = read_flow;
  assign table_read_field_o = read_addr_i[4:3];
  assign window_read_o      = read_i && !looked_q && from.window && Interface == 32'(TxInterfaceCxl);
  assign window_flow_o      = read_addr_i[PageW+:nic_pkg::FlowBits];
  always_comb begin
    hard = '0;
    hard.tx_interface = drover_nic_pkg::tx_interface_e'(2'(Interface));
    hard.threading    = drover_nic_pkg::threading_e'(1'(Threading));
    hard.flows        = 7'(Flows);
    hard.flow_lines   = 8'(FlowLines);
    unique case (32'(read_addr_i[11:0]))
      ControlPageHardAt:       control_word = hard;
      ControlPageFlowsInUseAt: control_word = 64'(flows_in_use_q);
      ControlPageBatchAt:      control_word = batch_q;
      ControlPagePollAt:       control_word = poll_q;
      ControlPageIntervalAt:   control_word = interval_q;
      ControlPageKeyAt:        control_word = key_q;
      default:                 control_word = '0;
    endcase
    switched = '0;
    flow_word = '0;
    for (int f = 0; f < Flows; f++) begin
      if (read_flow == nic_pkg::FlowBits'(f)) begin
        switched.tx = tx_on_o[f];
        switched.rx = rx_on_o[f];
        flow_word   = status_i[f];
      end
    end
    if (32'(read_addr_i[5:0]) < FlowRegistersControlAt) flow_word = table_word_i;
    else if (32'(read_addr_i[5:0]) == FlowRegistersControlAt) flow_word = switched;
    else if (32'(read_addr_i[5:0]) != FlowRegistersStatusAt) flow_word = '0;
    word = from.control ? control_word : from.flow ? flow_word : '0;
    if (from.counter) begin
      for (int i = 0; i < nic_pkg::Counters; i++) if (read_addr_i[11:3] == 9'(i)) word |= 64'(counters_i[i]);
    end
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) looked_q <= 1'b0;
    else looked_q <= read_i && !read_done_o;
  end
  always_ff @(posedge clk_i) word_q <= word;
  assign read_done_o  = looked_q && (!from.network || network_done);
  assign read_error_o = from == '0 || from.doorbell || read_addr_i[2:0] != '0;
  assign read_line_o  = from.window && Interface == 32'(TxInterfaceCxl) ? window_line_i
                      : {8{from.network ? reg_rdata_i : word_q}};

  // ---- the network half's registers: writes in order, and reads behind them
  logic queued_valid, queued_taken, asked_q;
  logic [15:0] queued_addr;
  logic [63:0] queued_word;
  logic [$clog2(Writes):0] queued_level;
  drover_fifo #(.Width(80), .Depth(Writes)) u_forward (
      .clk_i, .rst_ni, .wvalid_i(forward), .wready_o(forward_ready), .wdata_i({write_addr_i[15:0], write_word_i}),
      .rvalid_o(queued_valid), .rready_i(queued_taken), .rdata_o({queued_addr, queued_word}), .level_o(queued_level));
  assign reg_req_o    = asked_q;
  assign network_done = asked_q && !reg_we_o && reg_ack_i;
  assign queued_taken = asked_q && reg_we_o && reg_ack_i;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) asked_q <= 1'b0;
    else asked_q <= asked_q ? !reg_ack_i : queued_valid || (looked_q && from.network);
  end
  always_ff @(posedge clk_i) begin
    if (!asked_q) begin
      reg_we_o    <= queued_valid;
      reg_addr_o  <= queued_valid ? queued_addr : read_addr_i[15:0];
      reg_wdata_o <= queued_word;
    end
  end

  logic unused;
  assign unused = ^{queued_level, to, from, batch, poll, interval, key, switches};
endmodule
