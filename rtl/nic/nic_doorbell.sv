// The doorbell interface: the host writes its producer position into the flow's doorbell register, and the lines up to
// there are read. How many lines a doorbell announces is the host's to choose. A position that goes back, or beyond the
// ring's room, stops the flow.
module nic_doorbell #(
    parameter int unsigned Flows = 16
) (
    input  logic                          clk_i,
    input  logic                          rst_ni,
    input  logic [Flows-1:0]              on_i,
    input  logic [Flows-1:0]              start_i,
    input  logic [4:0]                    tx_lines_i,
    input  logic                          ring_i,        // the host rings
    input  logic [nic_pkg::FlowBits-1:0]  ring_flow_i,
    input  logic [63:0]                   ring_position_i,
    input  drover_nic_pkg::ring_register_t ring_ring_i,  // of that flow

    output logic [Flows-1:0]              want_o,
    output logic [Flows-1:0][4:0]         lines_o,
    input  logic                          ask_i,
    input  nic_pkg::ask_t                 ask_what_i,
    input  logic                          beat_i,
    input  nic_pkg::beat_t                beat_what_i,
    output logic [Flows-1:0]              stop_position_o
);
  localparam int unsigned FlowW = Flows > 1 ? $clog2(Flows) : 1;
  (* ram_style = "distributed" *) logic [63:0] rung[Flows];  // the last position, unless first_q
  logic [Flows-1:0] first_q;
  logic [Flows-1:0][nic_pkg::UsedBits-1:0] todo_q;      // announced and not asked for
  logic [Flows-1:0][nic_pkg::UsedBits-1:0] not_taken_q; // announced and not accepted
  logic [FlowW-1:0] flow;
  logic [63:0] news;
  logic [nic_pkg::UsedBits-1:0] room;
  logic ring, fits;
  assign flow = ring_flow_i[FlowW-1:0];
  assign ring = ring_i && on_i[flow];
  assign news = ring_position_i - (first_q[flow] ? '0 : rung[flow]);
  assign room = nic_pkg::ring_lines(ring_ring_i.lines_log) - not_taken_q[flow];
  assign fits = news <= 64'(room);
  always_ff @(posedge clk_i) begin
    if (ring && fits) rung[flow] <= ring_position_i;
  end

  for (genvar f = 0; f < Flows; f++) begin : gen_flow
    logic here, asked, accepted;
    logic [nic_pkg::UsedBits-1:0] added;
    assign here     = ring && flow == FlowW'(f);
    assign asked    = ask_i && ask_what_i.flow == nic_pkg::FlowBits'(f);
    assign accepted = beat_i && beat_what_i.accepted && beat_what_i.flow == nic_pkg::FlowBits'(f);
    assign added    = here && fits ? nic_pkg::UsedBits'(news) : '0;
    assign stop_position_o[f] = here && !fits;
    assign want_o[f]  = on_i[f] && todo_q[f] != '0;
    assign lines_o[f] = todo_q[f][nic_pkg::UsedBits-1:4] != '0 ? tx_lines_i
                                                               : nic_pkg::least(tx_lines_i, todo_q[f][4:0]);
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) begin
        first_q[f]     <= 1'b1;
        todo_q[f]      <= '0;
        not_taken_q[f] <= '0;
      end else if (start_i[f]) begin
        first_q[f]     <= 1'b1;
        todo_q[f]      <= '0;
        not_taken_q[f] <= '0;
      end else begin
        if (here && fits) first_q[f] <= 1'b0;
        todo_q[f] <= todo_q[f] + added - (asked ? nic_pkg::UsedBits'(ask_what_i.lines) : '0);
        not_taken_q[f] <= not_taken_q[f] + added - nic_pkg::UsedBits'(accepted);
      end
    end
  end

  logic unused;
  assign unused = ^{ring_flow_i, ring_ring_i, ask_what_i, beat_what_i};
endmodule
