// Lines from the network half to the hosts' RX rings.
module nic_rx #(
    parameter int unsigned Flows = 16,
    parameter int unsigned FlowLines = 32,
    parameter int unsigned Connections = 1024
) (
    input  logic                          clk_i,
    input  logic                          rst_ni,
    input  nic_pkg::soft_t                soft_i,
    input  logic [Flows-1:0]              on_i,
    input  logic [Flows-1:0]              start_i,

    input  logic [511:0]                  line_i,
    input  logic [nic_pkg::FlowBits-1:0]  flow_i,
    input  logic [1:0]                    policy_i,
    input  logic                          valid_i,
    output logic                          refused_o,
    output logic [Flows-1:0]              room_o,

    output logic [1:0][nic_pkg::FlowBits-1:0] ring_flow_o,
    input  drover_nic_pkg::ring_register_t ring_0_i,
    input  drover_nic_pkg::ring_register_t ring_1_i,
    output logic [nic_pkg::FlowBits-1:0]  position_flow_o,
    input  logic [63:0]                   position_address_i,

    output logic                          ar_valid_o,   // of a position
    input  logic                          ar_ready_i,
    output logic [63:0]                   ar_addr_o,
    input  logic                          r_valid_i,
    input  logic                          r_error_i,
    input  logic [63:0]                   r_word_i,

    output logic                          job_valid_o,  // a burst
    input  logic                          job_ready_i,
    output nic_pkg::job_t                 job_o,
    input  logic                          pop_i,
    input  logic [nic_pkg::FlowBits-1:0]  pop_flow_i,
    output logic [511:0]                  line_o,
    input  logic                          done_i,
    input  logic [nic_pkg::FlowBits-1:0]  done_flow_i,
    input  logic                          done_error_i,

    output logic [Flows-1:0]              busy_o,
    output logic [Flows-1:0][2:0]         stop_o,
    output logic [nic_pkg::Counters-1:0][6:0] events_o
);
  logic push;
  logic [nic_pkg::FlowBits-1:0] push_flow;
  logic [511:0] push_line;
  logic [Flows-1:0] avail, queued, writing, looking, stopped, half;
  logic [Flows-1:0][nic_pkg::UsedBits-1:0] used;
  logic claim, freed, freed_error, freed_bus;
  logic [nic_pkg::FlowBits-1:0] burst_flow, freed_flow;
  logic [nic_pkg::UsedBits-1:0] freed_lines;
  logic burst, burst_full, burst_timeout, drop;
  logic [4:0] lines;
  for (genvar f = 0; f < Flows; f++) begin : gen_stop
    assign stopped[f] = stop_o[f] != drover_nic_pkg::StopNone;
  end
  drover_nic_pkg::batch_register_t batch;
  drover_nic_pkg::interval_register_t interval;
  drover_nic_pkg::key_register_t key;
  assign batch    = soft_i.batch;
  assign interval = soft_i.interval;
  assign key      = soft_i.key;
  assign busy_o         = queued | writing | looking;
  assign ring_flow_o[0] = burst_flow;
  assign ring_flow_o[1] = freed_flow;

  nic_balancer #(.Flows(Flows), .FlowLines(FlowLines), .Connections(Connections)) u_balancer (
      .clk_i, .rst_ni, .on_i(on_i & ~stopped), .flows_in_use_i(soft_i.flows_in_use), .key_i(key), .line_i,
      .flow_i, .policy_i, .valid_i, .refused_o, .room_o, .push_o(push), .push_flow_o(push_flow),
      .push_line_o(push_line), .pop_i, .pop_flow_i, .busy_o(queued));
  nic_queues #(.Flows(Flows), .Lines(FlowLines)) u_queues (
      .clk_i, .rst_ni, .push_i(push), .push_flow_i(push_flow), .push_line_i(push_line), .avail_o(avail), .pop_i,
      .pop_flow_i, .line_o);
  nic_rx_bursts #(.Flows(Flows), .FlowLines(FlowLines)) u_bursts (
      .clk_i, .rst_ni, .on_i, .start_i, .batch_i(batch), .push_i(push), .push_flow_i(push_flow),
      .flow_o(burst_flow), .ring_i(ring_0_i), .job_valid_o, .job_ready_i, .job_o, .done_i, .done_flow_i, .done_error_i,
      .claim_o(claim), .half_o(half), .freed_i(freed), .freed_error_i(freed_error), .freed_bus_i(freed_bus),
      .freed_flow_i(freed_flow), .freed_lines_i(freed_lines), .freed_lines_log_i(ring_1_i.lines_log), .used_o(used),
      .burst_o(burst), .burst_full_o(burst_full), .burst_timeout_o(burst_timeout), .lines_o(lines), .drop_o(drop),
      .busy_o(writing), .stop_o);
  nic_rx_look #(.Flows(Flows)) u_look (
      .clk_i, .rst_ni, .on_i(on_i & ~stopped), .start_i, .interval_i(interval.look), .half_i(half),
      .flow_o(position_flow_o), .address_i(position_address_i), .ar_valid_o, .ar_ready_i, .ar_addr_o, .r_valid_i,
      .r_error_i, .r_word_i, .claim_i(claim), .claim_flow_i(burst_flow), .used_i(used), .freed_o(freed),
      .freed_error_o(freed_error), .freed_bus_o(freed_bus), .freed_flow_o(freed_flow), .freed_lines_o(freed_lines),
      .busy_o(looking));

  always_comb begin
    events_o = '0;
    events_o[drover_nic_pkg::NicCountersRxLinesAt/8]       = burst ? 7'(lines) : '0;
    events_o[drover_nic_pkg::NicCountersRxDroppedAt/8]     = drop ? 7'(lines) : '0;
    events_o[drover_nic_pkg::NicCountersRxRefusedAt/8]     = 7'(valid_i && refused_o);
    events_o[drover_nic_pkg::NicCountersBurstsAt/8]        = 7'(burst);
    events_o[drover_nic_pkg::NicCountersBurstsFullAt/8]    = 7'(burst_full);
    events_o[drover_nic_pkg::NicCountersBurstsTimeoutAt/8] = 7'(burst_timeout);
    events_o[drover_nic_pkg::NicCountersPositionsReadAt/8] = 7'(freed);
  end

  logic unused;
  assign unused = ^{soft_i, interval, avail, ring_0_i, ring_1_i};
endmodule
