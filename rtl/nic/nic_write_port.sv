// Writes to host memory: bursts of lines from the RX FIFOs, each line with its sequence, and positions. Both in turn.
// Lines to be dropped leave their FIFO here, too.
//
//   jobs -> AW
//        -> lines: pop -> sequence -> W
//        -> book: B says to whom
`include "drover_assert.svh"
module nic_write_port #(
    parameter int unsigned Writes = 128  // under way
) (
    input  logic                         clk_i,
    input  logic                         rst_ni,
    input  logic [1:0]                   job_valid_i,  // positions, bursts
    output logic [1:0]                   job_ready_o,
    input  nic_pkg::job_t                position_i,
    input  nic_pkg::job_t                burst_i,

    output logic                         pop_o,
    output logic [nic_pkg::FlowBits-1:0] pop_flow_o,
    input  logic [511:0]                 line_i,       // in the next cycle

    output logic [1:0]                   done_o,       // a position, a burst is answered; or dropped
    output logic [nic_pkg::FlowBits-1:0] done_flow_o,
    output logic                         done_error_o,

    output logic [63:0]                  awaddr_o,
    output logic [7:0]                   awlen_o,
    output logic                         awvalid_o,
    input  logic                         awready_i,
    output logic [511:0]                 wdata_o,
    output logic                         wlast_o,
    output logic                         wvalid_o,
    input  logic                         wready_i,
    input  logic                         berror_i,
    input  logic                         bvalid_i,
    output logic                         bready_o
);
  localparam int unsigned Jobs = 4;
  typedef struct packed {
    nic_pkg::job_e                kind;
    logic [nic_pkg::FlowBits-1:0] flow;
    logic [4:0]                   lines;
    logic [63:0]                  word;
  } data_job_t;
  typedef struct packed {
    logic                         position;
    logic [nic_pkg::FlowBits-1:0] flow;
  } book_t;

  // ---- a job is taken
  logic [1:0] pick;
  logic take, aw_ready, data_ready, book_ready, drop, room;
  nic_pkg::job_t job;
  data_job_t data_in, work;
  book_t book_in, book;
  logic book_valid;
  logic [$clog2(Writes):0] book_level;
  logic [$clog2(Jobs):0] aw_level, data_level;
  drover_rr_arbiter #(.N(2)) u_turn (.clk_i, .rst_ni, .valid_i(job_valid_i), .take_i(take), .pick_o(pick));
  assign job         = pick[0] ? position_i : burst_i;
  assign drop        = job.kind == nic_pkg::JobDrop;
  assign room        = aw_ready && data_ready && book_ready;
  assign take        = job_valid_i != '0 && room;
  assign job_ready_o = pick & {2{room}};
  assign data_in.kind  = job.kind;
  assign data_in.flow  = job.flow;
  assign data_in.lines = job.lines;
  assign data_in.word  = job.word;
  assign book_in.position = job.kind == nic_pkg::JobPosition;
  assign book_in.flow     = job.flow;
  drover_fifo #(.Width(64 + 5), .Depth(Jobs)) u_aw (
      .clk_i, .rst_ni, .wvalid_i(take && !drop), .wready_o(aw_ready), .wdata_i({job.addr, 5'(job.lines - 5'd1)}),
      .rvalid_o(awvalid_o), .rready_i(awready_i), .rdata_o({awaddr_o, awlen_o[4:0]}), .level_o(aw_level));
  assign awlen_o[7:5] = '0;
  drover_fifo #(.Width($bits(book_in)), .Depth(Writes)) u_book (
      .clk_i, .rst_ni, .wvalid_i(take && !drop), .wready_o(book_ready), .wdata_i(book_in), .rvalid_o(book_valid),
      .rready_i(bvalid_i && bready_o), .rdata_o(book), .level_o(book_level));

  // ---- its data
  logic work_valid, work_done, step, fetched_q, drop_done;
  logic [4:0] count_q;
  logic last, out_ready;
  logic [2:0] out_level;
  data_job_t fetched_work_q;
  logic fetched_last_q;
  logic [511:0] out_line;
  drover_fifo #(.Width($bits(data_in)), .Depth(Jobs)) u_data (
      .clk_i, .rst_ni, .wvalid_i(take), .wready_o(data_ready), .wdata_i(data_in), .rvalid_o(work_valid),
      .rready_i(work_done), .rdata_o(work), .level_o(data_level));
  assign last       = count_q == work.lines - 5'd1;
  assign step       = work_valid && out_level + 3'(fetched_q) < 3'd4;
  assign work_done  = step && last;
  assign pop_o      = step && work.kind != nic_pkg::JobPosition;
  assign pop_flow_o = work.flow;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      count_q   <= '0;
      fetched_q <= 1'b0;
    end else begin
      if (step) count_q <= last ? '0 : count_q + 5'd1;
      fetched_q <= step && work.kind != nic_pkg::JobDrop;
    end
  end
  always_ff @(posedge clk_i) begin
    fetched_work_q <= work;
    fetched_last_q <= last;
  end
  always_comb begin
    out_line = line_i;
    out_line[nic_pkg::SequenceAt+:32] = fetched_work_q.word[31:0];
    if (fetched_work_q.kind == nic_pkg::JobPosition) out_line = 512'(fetched_work_q.word);
  end
  drover_fifo #(.Width(513), .Depth(4)) u_out (
      .clk_i, .rst_ni, .wvalid_i(fetched_q), .wready_o(out_ready), .wdata_i({fetched_last_q, out_line}),
      .rvalid_o(wvalid_o), .rready_i(wready_i), .rdata_o({wlast_o, wdata_o}), .level_o(out_level));

  // ---- answers; that lines are dropped is one, too, and goes first. One to no write is ignored.
  assign drop_done    = work_done && work.kind == nic_pkg::JobDrop;
  assign bready_o     = !drop_done;
  assign done_o[0]    = !drop_done && bvalid_i && book_valid && book.position;
  assign done_o[1]    = drop_done || (bvalid_i && book_valid && !book.position);
  assign done_flow_o  = drop_done ? work.flow : book.flow;
  assign done_error_o = !drop_done && berror_i;

  `DROVER_ASSERT(LinesHaveRoom, !fetched_q || out_ready)

  logic unused;
  assign unused = ^{out_ready, book_level, aw_level, data_level, line_i, fetched_work_q};
endmodule
