// Decides which lines go to the RX rings next: bursts of a full batch, or of what is there when its first line has waited
// for the time-out. A burst ends at the ring's end and at 4 KB. A flow whose ring is full, or whose host published a
// position that cannot be, keeps its lines; the others go on. Lines of a flow that is disabled or stopped are dropped.
`include "drover_assert.svh"
module nic_rx_bursts #(
    parameter int unsigned Flows = 16,
    parameter int unsigned FlowLines = 32
) (
    input  logic                          clk_i,
    input  logic                          rst_ni,
    input  logic [Flows-1:0]              on_i,
    input  logic [Flows-1:0]              start_i,
    input  drover_nic_pkg::batch_register_t batch_i,

    input  logic                          push_i,  // a line comes to the flow's FIFO
    input  logic [nic_pkg::FlowBits-1:0]  push_flow_i,
    output logic [nic_pkg::FlowBits-1:0]  flow_o,
    input  drover_nic_pkg::ring_register_t ring_i,  // of that flow

    output logic                          job_valid_o,
    input  logic                          job_ready_i,
    output nic_pkg::job_t                 job_o,
    input  logic                          done_i,   // a burst is answered, or dropped
    input  logic [nic_pkg::FlowBits-1:0]  done_flow_i,
    input  logic                          done_error_i,

    // What the host has taken of its ring.
    output logic                          claim_o,  // a burst is added to flow_o's ring in this cycle
    output logic [Flows-1:0]              half_o,   // the ring seems more than half full
    input  logic                          freed_i,
    input  logic                          freed_error_i,   // it cannot be so many; or the read failed
    input  logic                          freed_bus_i,     // the latter
    input  logic [nic_pkg::FlowBits-1:0]  freed_flow_i,
    input  logic [nic_pkg::UsedBits-1:0]  freed_lines_i,
    input  logic [4:0]                    freed_lines_log_i,
    output logic [Flows-1:0][nic_pkg::UsedBits-1:0] used_o,

    output logic                          burst_o,         // events: a burst, of rx_lines lines, of fewer by time-out
    output logic                          burst_full_o,
    output logic                          burst_timeout_o,
    output logic [4:0]                    lines_o,         // of it
    output logic                          drop_o,          // they are dropped
    output logic [Flows-1:0]              busy_o,
    output logic [Flows-1:0][2:0]         stop_o           // drover_nic_pkg::flow_stop_e
);
  localparam int unsigned FlowW = Flows > 1 ? $clog2(Flows) : 1;
  localparam int unsigned LevelW = $clog2(FlowLines) + 1;
  localparam int unsigned Jobs = 4;
  localparam int unsigned UnderWayW = 8;
  logic [Flows-1:0][LevelW-1:0] level_q;     // lines in the FIFO that no burst has
  logic [Flows-1:0][15:0] since_q;           // when the first of them came
  logic [Flows-1:0][nic_pkg::IndexBits-1:0] index_q;
  logic [Flows-1:0][31:0] sequence_q;
  logic [Flows-1:0][UnderWayW-1:0] under_way_q;  // bursts
  logic [Flows-1:0] full_q, half_q, writes, waited, can, pick;
  logic [15:0] now_q;
  assign half_o = half_q;

  // ---- a flow is picked
  logic picked_q, room;
  logic [FlowW-1:0] flow_q;
  logic [$clog2(Jobs):0] job_level;
  assign room = job_level < ($clog2(Jobs) + 1)'(Jobs - 1);
  for (genvar f = 0; f < Flows; f++) begin : gen_can
    assign writes[f] = on_i[f] && stop_o[f] == drover_nic_pkg::StopNone;
    assign waited[f] = now_q - since_q[f] >= batch_i.rx_timeout;
    assign can[f] = room && !(picked_q && flow_q == FlowW'(f)) && level_q[f] != '0 && !under_way_q[f][UnderWayW-1] &&
                    (!writes[f] || (!full_q[f] && (level_q[f] >= LevelW'(batch_i.rx_lines) || waited[f])));
    assign busy_o[f] = level_q[f] != '0 || under_way_q[f] != '0;
  end
  drover_rr_arbiter #(.N(Flows)) u_turn (.clk_i, .rst_ni, .valid_i(can), .take_i(1'b1), .pick_o(pick));
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      picked_q <= 1'b0;
      now_q    <= '0;
    end else begin
      picked_q <= pick != '0;
      now_q    <= now_q + 16'd1;
    end
  end
  always_ff @(posedge clk_i) flow_q <= FlowW'(nic_pkg::number_of(64'(pick)));
  assign flow_o = nic_pkg::FlowBits'(flow_q);

  // ---- its burst
  logic [4:0] lines, ready;
  logic [6:0] to_edge;
  logic [nic_pkg::UsedBits-1:0] capacity, free, used;
  logic [nic_pkg::IndexBits-1:0] index, behind;
  logic drop, add;  // add: to the ring
  nic_pkg::job_t job;
  logic job_ready;
  assign index    = index_q[flow_q];
  assign capacity = nic_pkg::ring_lines(ring_i.lines_log);
  assign free     = capacity - used_o[flow_q];
  assign drop     = !writes[flow_q];
  assign ready    = level_q[flow_q] >= LevelW'(batch_i.rx_lines) ? batch_i.rx_lines : 5'(level_q[flow_q]);
  assign to_edge  = nic_pkg::lines_to_edge(index[5:0], ring_i.lines_log);
  always_comb begin
    lines = ready;
    if (!drop && 7'(lines) > to_edge) lines = to_edge[4:0];
    if (!drop && nic_pkg::UsedBits'(lines) > free) lines = free[4:0];
  end
  // A ring that was full when its flow was picked has room now, or none still: no burst then.
  assign add       = picked_q && !drop && lines != '0;
  assign claim_o   = add;
  assign behind    = nic_pkg::index_behind(index, lines, ring_i.lines_log);
  assign job.kind  = drop ? nic_pkg::JobDrop : nic_pkg::JobLines;
  assign job.flow  = flow_o;
  assign job.lines = lines;
  assign job.addr  = {ring_i.page, 12'd0} + {42'd0, index, 6'd0};
  assign job.word  = 64'(sequence_q[flow_q]);
  assign burst_o         = add;
  assign burst_full_o    = add && lines == batch_i.rx_lines;
  assign burst_timeout_o = add && ready < batch_i.rx_lines;
  assign lines_o         = lines;
  assign drop_o          = picked_q && drop;
  drover_fifo #(.Width($bits(job)), .Depth(Jobs)) u_jobs (
      .clk_i, .rst_ni, .wvalid_i(picked_q && lines != '0), .wready_o(job_ready), .wdata_i(job),
      .rvalid_o(job_valid_o), .rready_i(job_ready_i), .rdata_o(job_o), .level_o(job_level));

  // ---- the flows' state. freed_* never names the flow to whose ring a burst is added (nic_rx_look).
  assign used = used_o[flow_q] + nic_pkg::UsedBits'(lines);
  for (genvar f = 0; f < Flows; f++) begin : gen_flow
    logic here, push, claim, freed;
    logic [nic_pkg::UsedBits-1:0] left;
    assign here  = picked_q && flow_q == FlowW'(f);
    assign push  = push_i && push_flow_i == nic_pkg::FlowBits'(f);
    assign claim = add && flow_q == FlowW'(f);
    assign freed = freed_i && freed_flow_i == nic_pkg::FlowBits'(f);
    assign left  = used_o[f] - freed_lines_i;
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) begin
        level_q[f]     <= '0;
        since_q[f]     <= '0;
        index_q[f]     <= '0;
        sequence_q[f]  <= '0;
        under_way_q[f] <= '0;
        used_o[f]      <= '0;
        full_q[f]      <= 1'b0;
        half_q[f]      <= 1'b0;
        stop_o[f]      <= drover_nic_pkg::StopNone;
      end else begin
        level_q[f] <= level_q[f] + LevelW'(push) - (here ? LevelW'(lines) : '0);
        if (push && (level_q[f] == '0 || (here && level_q[f] == LevelW'(lines)))) since_q[f] <= now_q;
        under_way_q[f] <= under_way_q[f] + UnderWayW'(here && lines != '0) -
                          UnderWayW'(done_i && done_flow_i == nic_pkg::FlowBits'(f));
        if (claim) begin
          index_q[f] <= behind;
          if (behind == '0) sequence_q[f] <= sequence_q[f] + 32'd1;
          used_o[f]  <= used;
          full_q[f]  <= used == capacity;
          half_q[f]  <= used > capacity >> 1;
        end
        if (freed && !freed_error_i) begin
          used_o[f] <= left;
          full_q[f] <= left == nic_pkg::ring_lines(freed_lines_log_i);
          half_q[f] <= left > nic_pkg::ring_lines(freed_lines_log_i) >> 1;
        end
        if (freed && freed_error_i) stop_o[f] <= freed_bus_i ? drover_nic_pkg::StopBus : drover_nic_pkg::StopPosition;
        if (done_i && done_error_i && done_flow_i == nic_pkg::FlowBits'(f)) stop_o[f] <= drover_nic_pkg::StopBus;
        if (start_i[f]) begin
          index_q[f]    <= '0;
          sequence_q[f] <= 32'd1;
          used_o[f]     <= '0;
          full_q[f]     <= 1'b0;
          half_q[f]     <= 1'b0;
          stop_o[f]     <= drover_nic_pkg::StopNone;
        end
      end
    end
    `DROVER_ASSERT(OnlyOneChangesARing, !(claim && freed))
    `DROVER_ASSERT(AnswersAreToBursts, !(done_i && done_flow_i == nic_pkg::FlowBits'(f)) || under_way_q[f] != '0)
  end
  `DROVER_ASSERT(BurstsHaveRoom, !picked_q || job_ready)

  logic unused;
  assign unused = ^{job_ready, batch_i, ring_i, free, push_flow_i};
endmodule
