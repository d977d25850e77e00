// Lines from the host to the network half, over one of the four interfaces (a parameter), and what the host has to know
// of its TX rings.
module nic_tx #(
    parameter int unsigned Flows = 16,
    parameter int unsigned FlowLines = 32,
    parameter int unsigned Interface = 2,  // drover_nic_pkg::tx_interface_e
    parameter int unsigned Threading = 0   // drover_nic_pkg::threading_e
) (
    input  logic                          clk_i,
    input  logic                          rst_ni,
    input  nic_pkg::soft_t                soft_i,
    input  logic [Flows-1:0]              on_i,
    input  logic [Flows-1:0]              start_i,

    // Of the slave and its registers.
    input  logic                          store_i,
    input  logic                          ring_i,
    input  logic [nic_pkg::FlowBits-1:0]  store_flow_i,
    input  logic [5:0]                    store_slot_i,
    input  logic [511:0]                  store_line_i,
    input  logic [63:0]                   store_strb_i,
    input  logic [63:0]                   store_word_i,
    input  logic                          window_read_i,
    input  logic [nic_pkg::FlowBits-1:0]  window_flow_i,
    input  logic [5:0]                    window_slot_i,
    output logic [511:0]                  window_line_o,

    output logic [3:0][nic_pkg::FlowBits-1:0] ring_flow_o,
    input  drover_nic_pkg::ring_register_t ring_0_i,
    input  drover_nic_pkg::ring_register_t ring_1_i,
    input  drover_nic_pkg::ring_register_t ring_2_i,
    input  drover_nic_pkg::ring_register_t ring_3_i,
    output logic [nic_pkg::FlowBits-1:0]  position_flow_o,
    input  logic [63:0]                   position_address_i,

    output logic                          ar_valid_o,
    input  logic                          ar_ready_i,
    output drover_axi_pkg::ar_t           ar_o,
    output logic                          ar_cached_o,
    input  logic                          r_valid_i,
    input  drover_axi_pkg::r_t            r_i,
    input  logic                          snoop_valid_i,
    input  logic [nic_pkg::TagBits-1:0]   snoop_tag_i,

    output logic                          job_valid_o,  // a position to be written
    input  logic                          job_ready_i,
    output nic_pkg::job_t                 job_o,
    input  logic                          done_i,
    input  logic [nic_pkg::FlowBits-1:0]  done_flow_i,
    input  logic                          done_error_i,

    output logic [511:0]                  tx_line_o,
    output logic [nic_pkg::FlowBits-1:0]  tx_flow_o,
    output logic                          tx_valid_o,
    input  logic                          tx_ready_i,
    input  logic [Flows-1:0]              tx_room_i,

    output logic [Flows-1:0]              busy_o,
    output logic [Flows-1:0]              direct_o,
    output logic [Flows-1:0][2:0]         stop_o,
    output logic [nic_pkg::Counters-1:0][6:0] events_o
);
  localparam logic [4:0] WindowLog = 5'($clog2(FlowLines));
  localparam bit Fetches = Interface == 32'(drover_nic_pkg::TxInterfaceDoorbell) ||
                           Interface == 32'(drover_nic_pkg::TxInterfaceCoherent);
  logic [Flows-1:0] avail, busy, stop_bus, stopped;
  logic pop, pop_ready, take;
  logic [nic_pkg::FlowBits-1:0] pop_flow, take_flow;
  logic [4:0] take_log;
  logic [511:0] line;
  logic push;
  logic [nic_pkg::FlowBits-1:0] push_flow;
  logic [511:0] push_line;
  logic no_room, partial, disabled, ask;
  nic_pkg::ask_t ask_what;
  logic beat;
  nic_pkg::beat_t beat_what;
  logic [Flows-1:0] waits, direct_begins, direct_ends, publishing;

  for (genvar f = 0; f < Flows; f++) begin : gen_stop
    assign stop_bus[f] = done_i && done_error_i && done_flow_i == nic_pkg::FlowBits'(f);
    assign stopped[f]  = stop_o[f] != drover_nic_pkg::StopNone;
  end
  assign busy_o = busy | publishing;
  drover_nic_pkg::batch_register_t batch;
  drover_nic_pkg::poll_register_t poll;
  drover_nic_pkg::interval_register_t interval;
  assign batch    = soft_i.batch;
  assign poll     = soft_i.poll;
  assign interval = soft_i.interval;

  // ---- the interface
  if (Fetches) begin : gen_fetch
    localparam bit Doorbell = Interface == 32'(drover_nic_pkg::TxInterfaceDoorbell);
    logic [Flows-1:0] want, cached, tail, stop_position;
    logic [Flows-1:0][4:0] lines;
    if (Doorbell) begin : gen_doorbell
      nic_doorbell #(.Flows(Flows)) u_doorbell (
          .clk_i, .rst_ni, .on_i, .start_i, .tx_lines_i(batch.tx_lines), .ring_i, .ring_flow_i(store_flow_i),
          .ring_position_i(store_word_i), .ring_ring_i(ring_2_i), .want_o(want), .lines_o(lines), .ask_i(ask),
          .ask_what_i(ask_what), .beat_i(beat), .beat_what_i(beat_what), .stop_position_o(stop_position));
      assign cached        = '0;
      assign waits         = '0;
      assign direct_begins = '0;
      assign direct_ends   = '0;
      assign direct_o      = '0;
      logic unused;
      assign unused = ^tail;
    end else begin : gen_poll
      nic_poll #(.Flows(Flows)) u_poll (
          .clk_i, .rst_ni, .on_i, .start_i, .batch_i(batch), .poll_i(poll), .interval_i(interval),
          .snoop_valid_i, .snoop_tag_i, .tail_i(tail), .want_o(want), .lines_o(lines), .cached_o(cached), .ask_i(ask),
          .ask_what_i(ask_what), .beat_i(beat), .beat_what_i(beat_what), .direct_o, .waits_o(waits),
          .direct_begins_o(direct_begins), .direct_ends_o(direct_ends));
      assign stop_position = '0;
    end
    nic_fetch #(.Flows(Flows), .FlowLines(FlowLines), .Announced(Doorbell)) u_fetch (
        .clk_i, .rst_ni, .start_i, .want_i(want), .lines_i(lines), .cached_i(cached), .ask_o(ask),
        .ask_what_o(ask_what), .ask_flow_o(ring_flow_o[0]), .ask_ring_i(ring_0_i), .ar_valid_o, .ar_ready_i, .ar_o,
        .ar_cached_o, .r_valid_i, .r_i, .beat_flow_o(ring_flow_o[1]), .beat_ring_i(ring_1_i), .beat_o(beat),
        .beat_what_o(beat_what), .push_o(push), .push_flow_o(push_flow), .push_line_o(push_line), .pop_i(pop),
        .pop_flow_i(pop_flow), .tail_o(tail), .busy_o(busy), .stop_bus_i(stop_bus), .stop_position_i(stop_position), .stop_o);
    assign take      = push;
    assign take_flow = push_flow;
    assign take_log  = ring_3_i.lines_log;
    assign no_room   = 1'b0;
    assign partial   = 1'b0;
    assign disabled  = 1'b0;
  end else begin : gen_window
    assign ar_valid_o    = 1'b0;
    assign ar_o          = '0;
    assign ar_cached_o   = 1'b0;
    assign ring_flow_o[1:0] = '0;
    assign ask           = 1'b0;
    assign ask_what      = '0;
    assign beat          = 1'b0;
    assign beat_what     = '0;
    assign waits         = '0;
    assign direct_begins = '0;
    assign direct_ends   = '0;
    assign direct_o      = '0;
    assign take          = pop;
    assign take_flow     = pop_flow;
    assign take_log      = WindowLog;
    for (genvar f = 0; f < Flows; f++) begin : gen_stop
      logic [2:0] stop_q;
      always_ff @(posedge clk_i or negedge rst_ni) begin
        if (!rst_ni) stop_q <= drover_nic_pkg::StopNone;
        else if (start_i[f]) stop_q <= drover_nic_pkg::StopNone;
        else if (stop_bus[f]) stop_q <= drover_nic_pkg::StopBus;
      end
      assign stop_o[f] = stop_q;
    end
  end
  assign ring_flow_o[2] = store_flow_i;
  assign ring_flow_o[3] = take_flow;

  // ---- where lines wait for the scheduler
  if (Interface == 32'(drover_nic_pkg::TxInterfaceCxl)) begin : gen_cxl
    nic_cxl #(.Flows(Flows), .FlowLines(FlowLines)) u_cxl (
        .clk_i, .rst_ni, .on_i(on_i & ~stopped), .start_i, .store_i, .store_flow_i,
        .store_slot_i(store_slot_i[$clog2(FlowLines)-1:0]), .store_line_i, .store_strb_i, .disabled_o(disabled),
        .read_i(window_read_i), .read_flow_i(window_flow_i), .read_slot_i(window_slot_i[$clog2(FlowLines)-1:0]),
        .avail_o(avail), .pop_ready_o(pop_ready), .pop_i(pop), .pop_flow_i(pop_flow), .line_o(line));
    assign busy      = avail;
    assign no_room   = 1'b0;
    assign partial   = 1'b0;
    assign push      = 1'b0;
    assign push_flow = '0;
    assign push_line = '0;
  end else begin : gen_queues
    nic_queues #(.Flows(Flows), .Lines(FlowLines)) u_queues (
        .clk_i, .rst_ni, .push_i(push), .push_flow_i(push_flow), .push_line_i(push_line), .avail_o(avail), .pop_i(pop),
        .pop_flow_i(pop_flow), .line_o(line));
    assign pop_ready = 1'b1;
    if (!Fetches) begin : gen_store
      nic_store #(.Flows(Flows), .FlowLines(FlowLines)) u_store (
          .clk_i, .rst_ni, .on_i(on_i & ~stopped), .store_i, .store_flow_i, .store_line_i, .store_strb_i,
          .push_o(push), .no_room_o(no_room), .partial_o(partial), .disabled_o(disabled), .push_line_o(push_line),
          .push_flow_o(push_flow), .pop_i(pop), .pop_flow_i(pop_flow), .busy_o(busy));
    end
  end
  assign window_line_o = line;
  nic_scheduler #(.Flows(Flows)) u_scheduler (
      .clk_i, .rst_ni, .avail_i(avail), .tx_room_i, .pop_ready_i(pop_ready), .pop_o(pop), .pop_flow_o(pop_flow), .line_i(line),
      .tx_line_o, .tx_flow_o, .tx_valid_o, .tx_ready_i);

  // ---- what the host has to know
  if (Threading == 32'(drover_nic_pkg::ThreadingAsynchronous)) begin : gen_positions
    nic_positions #(.Flows(Flows)) u_positions (
        .clk_i, .rst_ni, .on_i(on_i & ~stopped), .start_i, .interval_i(interval.publish), .take_i(take),
        .take_flow_i(take_flow), .take_lines_log_i(take_log), .flow_o(position_flow_o), .address_i(position_address_i),
        .job_valid_o, .job_ready_i, .job_o, .done_i, .done_flow_i, .busy_o(publishing));
  end else begin : gen_no_positions
    assign position_flow_o = '0;
    assign job_valid_o     = 1'b0;
    assign job_o           = '0;
    assign publishing      = '0;
  end

  // ---- events
  always_comb begin
    events_o = '0;
    events_o[drover_nic_pkg::NicCountersTxLinesAt/8]      = 7'(tx_valid_o && tx_ready_i);
    events_o[drover_nic_pkg::NicCountersTxNoRoomAt/8]     = 7'(no_room);
    events_o[drover_nic_pkg::NicCountersTxPartialAt/8]    = 7'(partial);
    events_o[drover_nic_pkg::NicCountersTxDisabledAt/8]   = 7'(disabled);
    events_o[drover_nic_pkg::NicCountersDoorbellsAt/8]    = 7'(ring_i);
    events_o[drover_nic_pkg::NicCountersReadsAt/8]        = 7'(ask);
    events_o[drover_nic_pkg::NicCountersReadsDirectAt/8]  = 7'(ask && !ask_what.cached);
    events_o[drover_nic_pkg::NicCountersReadsFullAt/8]    = 7'(beat && beat_what.accepted && beat_what.last);
    events_o[drover_nic_pkg::NicCountersReadsEmptyAt/8]   = 7'(beat && beat_what.last && !beat_what.found);
    events_o[drover_nic_pkg::NicCountersInvalidationsAt/8] = 7'(snoop_valid_i);
    events_o[drover_nic_pkg::NicCountersPositionsWrittenAt/8] = 7'(job_valid_o && job_ready_i);
    for (int f = 0; f < Flows; f++) begin
      events_o[drover_nic_pkg::NicCountersWaitsAt/8]        |= 7'(waits[f]);
      events_o[drover_nic_pkg::NicCountersDirectBeginsAt/8] += 7'(direct_begins[f]);
      events_o[drover_nic_pkg::NicCountersDirectEndsAt/8]   += 7'(direct_ends[f]);
    end
  end

  logic unused;
  assign unused = ^{soft_i, batch, poll, interval, ask_what, beat_what, ring_0_i, ring_1_i, ring_2_i, ring_3_i, push, push_flow, push_line, pop_ready, ring_i,
                    store_slot_i, store_strb_i, store_word_i, window_read_i, window_flow_i, window_slot_i, store_i,
                    store_line_i, r_i, r_valid_i, ar_ready_i, snoop_tag_i, stopped, position_address_i, job_ready_i,
                    take, take_flow, take_log};
endmodule
