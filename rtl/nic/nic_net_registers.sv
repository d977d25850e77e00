// The network half's registers and counters (connection.toml, NetworkRegisters). A request is acknowledged in the next
// cycle. Writes to what is read only, and reads of what is not there (zero), are harmless.
module nic_net_registers #(
    parameter bit Reliable = 1'b1,
    parameter int unsigned Flows = 16,
    parameter int unsigned Connections = 1024,
    parameter int unsigned Window = 16
) (
    input  logic        clk_i,
    input  logic        rst_ni,
    input  logic        req_i,
    input  logic        we_i,
    input  logic [15:0] addr_i,
    input  logic [63:0] wdata_i,
    output logic        ack_o,
    output logic [63:0] rdata_o,

    output nic_net_pkg::own_t own_o,
    output logic [63:0] table_o,
    output drover_connection_pkg::timing_word_t timing_o,
    output logic        command_valid_o,
    output drover_connection_pkg::command_word_t command_o,
    output drover_connection_pkg::connection_entry_t entry_o,
    input  logic        command_done_i,
    input  drover_connection_pkg::command_result_e result_i,
    input  logic        entry_valid_i,
    input  drover_connection_pkg::connection_entry_t entry_i,
    input  logic        death_i,
    input  logic [15:0] death_number_i,

    // Events of a cycle: frames by their reason, from three places; single ones.
    input  logic [2:0]      frame_i,
    input  logic [2:0][4:0] refusal_i,
    input  logic [12:0]     event_i  // in the order of the registers from rx_lines on
);
  localparam int unsigned FrameCounters = 26, Events = 13, CountBits = 48;
  localparam logic [23:0] TickCycles = 24'd4096;  // at 400 MHz, 10 us
  localparam logic [15:0] EventsAt = 16'(drover_connection_pkg::NetworkRegistersRxLinesAt);
  localparam logic [15:0] FramesAt = 16'(drover_connection_pkg::NetworkRegistersFramesAt);
  localparam logic [15:0] EntryAt = 16'(drover_connection_pkg::NetworkRegistersEntryAt);

  logic [47:0] own_mac_q, own_address_q;
  logic [7:0][63:0] entry_q;
  drover_connection_pkg::command_word_t command_q, command;
  drover_connection_pkg::timing_word_t timing;
  drover_connection_pkg::network_hard_word_t hard;
  logic [15:0] dead_q;
  logic write, busy_q, timing_set_q;
  assign own_o = {own_address_q[47:32], own_address_q[31:0], own_mac_q};
  assign entry_o = entry_q;
  assign command_o = command_q;
  assign command_valid_o = busy_q;
  assign command = wdata_i;
  assign write = req_i && we_i && !ack_o && addr_i[2:0] == '0;
  always_comb begin
    hard = '0;
    hard.transport = drover_connection_pkg::transport_e'(Reliable);
    hard.flows = 7'(Flows);
    hard.connections_log = 5'($clog2(Connections));
    hard.window_log = 4'($clog2(Window));
    timing = '0;
    timing.tick_cycles = TickCycles;
    timing.resend_ticks = 8'd8;
    timing.max_doublings = 4'd6;
    timing.max_resends = 6'd10;
  end

  // ---- configuration and commands
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      own_mac_q     <= '0;
      own_address_q <= '0;
      table_o       <= '0;
      timing_set_q  <= 1'b0;
      command_q     <= '0;
      busy_q        <= 1'b0;
      dead_q        <= '0;
      ack_o         <= 1'b0;
    end else begin
      ack_o <= req_i && !ack_o;
      timing_set_q <= 1'b1;
      if (write) begin
        unique case (addr_i)
          16'(drover_connection_pkg::NetworkRegistersOwnMacAt): own_mac_q <= wdata_i[47:0];
          16'(drover_connection_pkg::NetworkRegistersOwnAddressAt): own_address_q <= wdata_i[47:0];
          16'(drover_connection_pkg::NetworkRegistersHostTableAt): table_o <= wdata_i;
          16'(drover_connection_pkg::NetworkRegistersCommandAt): begin
            if (!busy_q) begin
              command_q <= '0;
              command_q.number <= command.number;
              command_q.command <= command.command;
              busy_q <= 1'b1;
            end
          end
          default: ;
        endcase
      end
      if (command_done_i) begin
        busy_q <= 1'b0;
        command_q.result <= result_i;
      end
      if (death_i) dead_q <= death_number_i;
    end
  end
  always_ff @(posedge clk_i) begin
    if (!timing_set_q) timing_o <= timing;
    else if (write && addr_i == 16'(drover_connection_pkg::NetworkRegistersTimingAt)) timing_o <= wdata_i;
    if (entry_valid_i) entry_q <= entry_i;
    else if (write && !busy_q && addr_i[15:6] == EntryAt[15:6]) entry_q[addr_i[5:3]] <= wdata_i;
  end

  // ---- counters, a cycle after what they count
  logic [2:0] frame_q;
  logic [2:0][4:0] refusal_q;
  logic [12:0] event_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      frame_q <= '0;
      event_q <= '0;
    end else begin
      frame_q <= frame_i;
      event_q <= event_i;
    end
  end
  always_ff @(posedge clk_i) refusal_q <= refusal_i;
  logic [FrameCounters-1:0][CountBits-1:0] frames_q;
  logic [Events-1:0][CountBits-1:0] events_q;
  for (genvar i = 0; i < FrameCounters; i++) begin : gen_frames
    logic [2:0] hits;
    for (genvar k = 0; k < 3; k++) begin : gen_place
      assign hits[k] = frame_q[k] && refusal_q[k] == 5'(i);
    end
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) frames_q[i] <= '0;
      else if (hits != '0) frames_q[i] <= frames_q[i] + (CountBits'(hits[0]) + CountBits'(hits[1]) + CountBits'(hits[2]));
    end
  end
  for (genvar i = 0; i < Events; i++) begin : gen_events
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) events_q[i] <= '0;
      else if (event_q[i]) events_q[i] <= events_q[i] + 1'b1;
    end
  end

  // ---- reads
  logic [63:0] rdata;
  always_comb begin
    rdata = '0;
    unique case (addr_i)
      16'(drover_connection_pkg::NetworkRegistersHardAt): rdata = hard;
      16'(drover_connection_pkg::NetworkRegistersOwnMacAt): rdata = 64'(own_mac_q);
      16'(drover_connection_pkg::NetworkRegistersOwnAddressAt): rdata = 64'(own_address_q);
      16'(drover_connection_pkg::NetworkRegistersHostTableAt): rdata = table_o;
      16'(drover_connection_pkg::NetworkRegistersTimingAt): rdata = timing_o;
      16'(drover_connection_pkg::NetworkRegistersCommandAt): rdata = command_q;
      16'(drover_connection_pkg::NetworkRegistersLastDeadAt): rdata = 64'(dead_q);
      default: begin
        if (addr_i[15:6] == EntryAt[15:6]) rdata = entry_q[addr_i[5:3]];
        if (addr_i[15:8] == FramesAt[15:8] && addr_i[7:3] < 5'(FrameCounters)) rdata = 64'(frames_q[addr_i[7:3]]);
        if (addr_i[15:7] == EventsAt[15:7] && addr_i[6:3] < 4'(Events)) rdata = 64'(events_q[addr_i[6:3]]);
      end
    endcase
  end
  always_ff @(posedge clk_i) rdata_o <= rdata;
  logic unused;
  assign unused = ^command;
endmodule
