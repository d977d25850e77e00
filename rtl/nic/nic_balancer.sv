// Decides in the cycle in which a line comes from the network which flow it is for, and whether that flow has room.
//
// A message's first line decides by its connection's policy; its further lines go to the same flow, which is remembered
// for each connection whose number is below `Connections`. Lines of one message follow each other in their connection, so
// that one flow for each is enough. Messages of several lines that come for a higher number go to the connection's flow,
// whatever the policy. Further lines of a message whose first line was never seen go wherever the one before went: the
// host drops them.
`include "drover_assert.svh"
module nic_balancer #(
    parameter int unsigned Flows = 16,
    parameter int unsigned FlowLines = 32,
    parameter int unsigned Connections = 1024
) (
    input  logic                         clk_i,
    input  logic                         rst_ni,
    input  logic [Flows-1:0]             on_i,
    input  logic [6:0]                   flows_in_use_i,
    input  drover_nic_pkg::key_register_t key_i,

    input  logic [511:0]                 line_i,
    input  logic [nic_pkg::FlowBits-1:0] flow_i,
    input  logic [1:0]                   policy_i,  // drover_nic_pkg::balance_policy_e
    input  logic                         valid_i,
    output logic                         refused_o,
    output logic [Flows-1:0]             room_o,

    output logic                         push_o,
    output logic [nic_pkg::FlowBits-1:0] push_flow_o,
    output logic [511:0]                 push_line_o,
    input  logic                         pop_i,
    input  logic [nic_pkg::FlowBits-1:0] pop_flow_i,
    output logic [Flows-1:0]             busy_o
);
  localparam int unsigned FlowW = Flows > 1 ? $clog2(Flows) : 1;
  localparam int unsigned CreditW = $clog2(FlowLines) + 1;
  localparam int unsigned ConnectionW = $clog2(Connections);
  (* ram_style = "distributed" *) logic [FlowW-1:0] remembered[Connections];
  logic [Flows-1:0][CreditW-1:0] credit_q;
  drover_channel_pkg::line_slot_t line;
  logic [ConnectionW-1:0] connection, learnt_connection_q;
  logic learnt_q;
  logic first, remembers, by_connection, push;
  logic [FlowW-1:0] target, hashed, next;
  assign line          = line_i;
  assign connection    = line.connection[ConnectionW-1:0];
  assign first         = line.index == '0;
  assign remembers     = line.connection >> ConnectionW == '0;
  assign by_connection = policy_i == drover_nic_pkg::BalanceConnectionFlow ||
                         !remembers && (!first || (line.flags & 8'(drover_channel_pkg::LineLast)) == '0);

  // ---- round robin: the next flow in use that has room
  logic [Flows-1:0] in_use_q, pick;
  for (genvar f = 0; f < Flows; f++) begin : gen_flow
    always_ff @(posedge clk_i) in_use_q[f] <= 7'(f) < flows_in_use_i;
    assign room_o[f] = on_i[f] && credit_q[f] != '0;
    assign busy_o[f] = credit_q[f] != CreditW'(FlowLines);
  end
  drover_rr_arbiter #(.N(Flows)) u_turn (
      .clk_i, .rst_ni, .valid_i(room_o & in_use_q),
      .take_i(push && first && !by_connection && policy_i == drover_nic_pkg::BalanceRoundRobin), .pick_o(pick));
  assign next = FlowW'(nic_pkg::number_of(64'(pick)));

  // ---- by key: a linear hash of the key's bytes where they stand, scaled to the flows in use
  logic [47:0] key_bytes_q;
  logic [383:0] key;
  logic [63:0] folded;
  logic [15:0] hash;
  always_ff @(posedge clk_i) begin
    for (int i = 0; i < 48; i++) begin
      key_bytes_q[i] <= 7'(i) >= 7'(key_i.offset) && 7'(i) < 7'(key_i.offset) + 7'(key_i.length);
    end
  end
  always_comb begin
    for (int i = 0; i < 48; i++) key[8*i+:8] = line.arguments[8*i+:8] & {8{key_bytes_q[i]}};
    folded = '0;
    for (int i = 0; i < 6; i++) folded ^= key[64*i+:64];
    for (int i = 0; i < 16; i++) begin
      hash[i] = ^(folded & ((drover_nic_pkg::HashRow << 3 * i) | (drover_nic_pkg::HashRow >> (64 - 3 * i))));
    end
  end
  logic [22:0] scaled;
  assign scaled = 23'(hash) * 23'(flows_in_use_i);
  assign hashed = FlowW'(scaled >> 16);

  always_comb begin
    if (by_connection) target = flow_i[FlowW-1:0];
    else if (!first) target = learnt_q && learnt_connection_q == connection ? push_flow_o[FlowW-1:0]
                                                                            : remembered[connection];
    else if (policy_i == drover_nic_pkg::BalanceRoundRobin) target = next;
    else target = hashed;
  end
  assign push      = valid_i && room_o[target];
  assign refused_o = !room_o[target];

  // Written a cycle later, with another address than is read: yosys's memories with one address are no deeper than 512.
  always_ff @(posedge clk_i) begin
    learnt_q            <= push && first && remembers;
    learnt_connection_q <= connection;
    if (learnt_q) remembered[learnt_connection_q] <= push_flow_o[FlowW-1:0];
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      push_o   <= 1'b0;
      credit_q <= {Flows{CreditW'(FlowLines)}};
    end else begin
      push_o <= push;
      for (int f = 0; f < Flows; f++) begin
        credit_q[f] <= credit_q[f] - CreditW'(push && target == FlowW'(f)) +
                       CreditW'(pop_i && pop_flow_i[FlowW-1:0] == FlowW'(f));
      end
    end
  end
  always_ff @(posedge clk_i) begin
    push_flow_o <= nic_pkg::FlowBits'(target);
    push_line_o <= line_i;
  end

  for (genvar f = 0; f < Flows; f++) begin : gen_checks
    `DROVER_ASSERT(CreditIsWhatFits, credit_q[f] <= CreditW'(FlowLines))
  end

  logic unused;
  assign unused = ^{flow_i, pop_flow_i, line, key_i, scaled};
endmodule
