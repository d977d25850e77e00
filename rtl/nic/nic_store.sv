// The MMIO interface: a 64-byte store into a flow's window is a line. A store that finds no room is dropped and counted;
// it never holds others back.
module nic_store #(
    parameter int unsigned Flows = 16,
    parameter int unsigned FlowLines = 32
) (
    input  logic                         clk_i,
    input  logic                         rst_ni,
    input  logic [Flows-1:0]             on_i,
    input  logic                         store_i,
    input  logic [nic_pkg::FlowBits-1:0] store_flow_i,
    input  logic [511:0]                 store_line_i,
    input  logic [63:0]                  store_strb_i,
    output logic                         push_o,
    output logic                         no_room_o,   // why a store is dropped
    output logic                         partial_o,
    output logic                         disabled_o,
    output logic [511:0]                 push_line_o,
    output logic [nic_pkg::FlowBits-1:0] push_flow_o,
    input  logic                         pop_i,
    input  logic [nic_pkg::FlowBits-1:0] pop_flow_i,
    output logic [Flows-1:0]             busy_o
);
  localparam int unsigned CreditW = $clog2(FlowLines) + 1;
  localparam int unsigned FlowW = Flows > 1 ? $clog2(Flows) : 1;
  logic [Flows-1:0][CreditW-1:0] credit_q;
  logic on, room;
  assign on         = on_i[store_flow_i[FlowW-1:0]];
  assign room       = credit_q[store_flow_i[FlowW-1:0]] != '0;
  assign disabled_o = store_i && !on;
  assign partial_o  = store_i && on && store_strb_i != '1;
  assign no_room_o  = store_i && on && store_strb_i == '1 && !room;
  assign push_o     = store_i && on && store_strb_i == '1 && room;
  assign push_flow_o = store_flow_i;
  assign push_line_o = store_line_i;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      credit_q <= {Flows{CreditW'(FlowLines)}};
    end else begin
      for (int f = 0; f < Flows; f++) begin
        credit_q[f] <= credit_q[f] - CreditW'(push_o && store_flow_i[FlowW-1:0] == FlowW'(f)) +
                       CreditW'(pop_i && pop_flow_i[FlowW-1:0] == FlowW'(f));
      end
    end
  end
  for (genvar f = 0; f < Flows; f++) begin : gen_busy
    assign busy_o[f] = credit_q[f] != CreditW'(FlowLines);
  end

  logic unused;
  assign unused = ^{store_flow_i, pop_flow_i};
endmodule
