// Tells the host how far its TX rings are taken (ConsumerPosition): after a quarter of a ring, and, so that a host that
// waits for the rest of it goes on, when a flow took no line for an interval.
//
// A flow has one publication under way; lines taken meanwhile go into the next.
module nic_positions #(
    parameter int unsigned Flows = 16
) (
    input  logic                         clk_i,
    input  logic                         rst_ni,
    input  logic [Flows-1:0]             on_i,
    input  logic [Flows-1:0]             start_i,
    input  logic [15:0]                  interval_i,
    input  logic                         take_i,           // a line leaves its ring
    input  logic [nic_pkg::FlowBits-1:0] take_flow_i,
    input  logic [4:0]                   take_lines_log_i, // of its ring
    output logic [nic_pkg::FlowBits-1:0] flow_o,
    input  logic [63:0]                  address_i,        // of that flow's ConsumerPosition
    output logic                         job_valid_o,
    input  logic                         job_ready_i,
    output nic_pkg::job_t                job_o,
    input  logic                         done_i,           // the publication is answered
    input  logic [nic_pkg::FlowBits-1:0] done_flow_i,
    output logic [Flows-1:0]             busy_o
);
  localparam int unsigned FlowW = Flows > 1 ? $clog2(Flows) : 1;
  (* ram_style = "distributed" *) logic [63:0] position[Flows];  // as published, unless first_q
  logic [Flows-1:0] first_q, quiet_q, due_q, under_way_q, can, pick;
  logic [Flows-1:0][nic_pkg::UsedBits-1:0] taken_q;  // since the last publication
  logic [FlowW-1:0] flow_q;
  logic picked_q, out_ready, tick;
  logic [1:0] out_level;
  logic [15:0] time_q;
  logic [63:0] published;
  nic_pkg::job_t job;

  assign tick = time_q >= interval_i;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) time_q <= '0;
    else time_q <= tick ? 16'd1 : time_q + 16'd1;
  end

  assign can = due_q & ~under_way_q & on_i & {Flows{out_level == '0 && !picked_q}};
  drover_rr_arbiter #(.N(Flows)) u_turn (.clk_i, .rst_ni, .valid_i(can), .take_i(1'b1), .pick_o(pick));
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) picked_q <= 1'b0;
    else picked_q <= pick != '0;
  end
  always_ff @(posedge clk_i) flow_q <= FlowW'(nic_pkg::number_of(64'(pick)));
  assign flow_o    = nic_pkg::FlowBits'(flow_q);
  assign published = (first_q[flow_q] ? '0 : position[flow_q]) + 64'(taken_q[flow_q]);
  assign job.kind  = nic_pkg::JobPosition;
  assign job.flow  = flow_o;
  assign job.lines = 5'd1;
  assign job.addr  = address_i;
  assign job.word  = published;
  always_ff @(posedge clk_i) begin
    if (picked_q) position[flow_q] <= published;
  end
  drover_fifo #(.Width($bits(job)), .Depth(2)) u_out (
      .clk_i, .rst_ni, .wvalid_i(picked_q), .wready_o(out_ready), .wdata_i(job), .rvalid_o(job_valid_o),
      .rready_i(job_ready_i), .rdata_o(job_o), .level_o(out_level));

  logic [nic_pkg::UsedBits-1:0] quarter;
  assign quarter = nic_pkg::ring_lines(take_lines_log_i) >> 2;
  for (genvar f = 0; f < Flows; f++) begin : gen_flow
    logic take, sent;
    assign take = take_i && take_flow_i == nic_pkg::FlowBits'(f);
    assign sent = picked_q && flow_q == FlowW'(f);
    assign busy_o[f] = under_way_q[f];
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) begin
        first_q[f]     <= 1'b1;
        quiet_q[f]     <= 1'b0;
        due_q[f]       <= 1'b0;
        under_way_q[f] <= 1'b0;
        taken_q[f]     <= '0;
      end else begin
        taken_q[f] <= (sent ? '0 : taken_q[f]) + nic_pkg::UsedBits'(take);
        quiet_q[f] <= !take && (quiet_q[f] || tick);
        if (sent) first_q[f] <= 1'b0;
        if (sent) due_q[f] <= 1'b0;
        else if ((tick && quiet_q[f] && taken_q[f] != '0) || (take && taken_q[f] + 1'b1 >= quarter)) due_q[f] <= 1'b1;
        if (pick[f]) under_way_q[f] <= 1'b1;
        else if (done_i && done_flow_i == nic_pkg::FlowBits'(f)) under_way_q[f] <= 1'b0;
        if (start_i[f]) begin
          first_q[f] <= 1'b1;
          due_q[f]   <= 1'b0;
          taken_q[f] <= '0;
        end
      end
    end
  end

  logic unused;
  assign unused = ^{out_ready};
endmodule
