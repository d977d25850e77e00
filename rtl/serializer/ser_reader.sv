// Reads runs of bytes over AXI4, from host or engine memory, and gives whole lines in the order in which the runs were
// asked for, whichever memory answers first. Bursts stay within 4 KB, several are outstanding.
//
//   lines:  [ free | waiting for the taker | arrived or on their way, in the order of the bursts | free ]
//                  ^ rptr_q                ^ ready_q                                           ^ next_slot_q
//
// A burst gets its lines' places when it is asked for, and is asked for only when there are so many, so that answers
// are always taken; engine memory waits a cycle where both answer at once. Whoever asks has checked the range; it is
// asserted here.
//
// A burst ends with RLAST or with the last beat that was asked for, whichever comes first. A line fails if its answer
// is an error, if RLAST comes with it too early or is missing at the burst's end, and if the burst ended before it; the
// other lines do not. A beat that answers nothing is taken and ignored.
`include "drover_assert.svh"
/* verilator lint_off IMPORTSTAR */
import ser_pkg::*;  // here, and types by their full names: yosys reads it so
/* verilator lint_on IMPORTSTAR */
module ser_reader #(
  parameter int unsigned Depth    = 512,  // lines in flight and waiting
  parameter int unsigned MaxBurst = 64,   // at most Depth and 64
  parameter int unsigned Bursts   = 128,  // in flight
  parameter bit          Engine   = 1'b1  // engine memory too
) (
  input  logic        clk_i,
  input  logic        rst_ni,

  input  logic        req_valid_i,
  output logic        req_ready_o,
  input  logic        req_engine_i,   // engine memory
  input  logic [63:0] req_address_i,
  input  logic [31:0] req_size_i,     // bytes; 0: nothing is read

  output logic        host_ar_valid_o,
  input  logic        host_ar_ready_i,
  output logic        engine_ar_valid_o,
  input  logic        engine_ar_ready_i,
  output drover_axi_pkg::ar_t ar_o,

  input  logic               host_r_valid_i,
  output logic               host_r_ready_o,
  input  drover_axi_pkg::r_t host_r_i,
  input  logic               engine_r_valid_i,
  output logic               engine_r_ready_o,
  input  drover_axi_pkg::r_t engine_r_i,

  output logic           line_valid_o,
  output ser_pkg::line_t line_o,
  input  logic           line_ready_i,

  input  logic [63:0] host_base_i,   // for the assertion
  input  logic [63:0] host_limit_i,
  input  logic [63:0] engine_base_i,
  input  logic [63:0] engine_limit_i
);
  localparam int unsigned Aw = $clog2(Depth);
  localparam int unsigned Cw = Aw + 1;
  localparam int unsigned Qw = $clog2(Bursts) + 1;

  // ---- bursts: the request's first in the cycle in which it is taken
  logic [57:0] next_q, at;         // line
  logic [26:0] lines_q, to_go;
  logic        engine_q, engine;
  logic [Cw-1:0] free_q;
  logic [32:0] span;
  logic [26:0] to_boundary, burst;
  logic [5:0] burst_last;
  logic idle, active, plan, pop, order_ready;

  assign span = 33'(req_address_i[5:0]) + 33'(req_size_i) + 33'd63;
  assign idle = lines_q == '0;
  assign req_ready_o = idle;
  assign at = idle ? req_address_i[63:6] : next_q;
  assign engine = Engine && (idle ? req_engine_i : engine_q);
  assign to_go = idle ? span[32:6] : lines_q;
  assign active = !idle || req_valid_i && req_size_i != '0;  // late: whether a command is sound takes long to say
  assign to_boundary = 27'd64 - 27'(at[5:0]);
  always_comb begin
    burst = to_go;
    if (burst > to_boundary) burst = to_boundary;
    if (burst > 27'(MaxBurst)) burst = 27'(MaxBurst);
    burst_last = burst[5:0] - 6'd1;
  end

  logic          ar_valid_q, ar_engine_q, ar_taken;
  logic [57:0]   ar_line_q;
  logic [5:0]    ar_last_q;  // lines, less one
  assign ar_taken = ar_engine_q ? engine_ar_ready_i : host_ar_ready_i;
  assign plan = active && (!ar_valid_q || ar_taken) && 27'(free_q) >= burst && order_ready;
  assign host_ar_valid_o = ar_valid_q && !ar_engine_q;
  assign engine_ar_valid_o = ar_valid_q && ar_engine_q;
  assign ar_o.addr = {ar_line_q, 6'd0};
  assign ar_o.len = {2'd0, ar_last_q};
  assign pop = line_valid_o && line_ready_i;

  logic [Aw-1:0] next_slot_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      lines_q     <= '0;
      free_q      <= Cw'(Depth);
      ar_valid_q  <= 1'b0;
      next_slot_q <= '0;
    end else begin
      if (ar_taken) ar_valid_q <= 1'b0;
      if (plan) begin
        ar_valid_q <= 1'b1;
        next_slot_q <= next_slot_q + Aw'(burst);
      end
      lines_q <= !active ? '0 : plan ? to_go - burst : to_go;
      free_q <= free_q - (plan ? Cw'(burst) : '0) + Cw'(pop);
    end
  end
  always_ff @(posedge clk_i) begin
    if (plan) begin
      ar_line_q   <= at;
      ar_last_q   <= burst_last;
      ar_engine_q <= engine;
    end
    next_q   <= plan ? at + 58'(burst) : at;
    engine_q <= engine;
  end

  // ---- answers, each to its burst's places
  typedef struct packed {
    logic [Aw-1:0] slot;
    logic [5:0]    last;  // the last line's number in the burst
  } run_t;
  run_t run_in, host_run, engine_run;
  logic host_run_ready, engine_run_ready, host_run_valid, engine_run_valid;
  logic [Qw-1:0] host_run_level, engine_run_level;
  logic [5:0] host_index_q, engine_index_q;
  logic host_end, engine_end;        // the last line of its burst
  logic host_taken, engine_taken;    // a line has its answer
  logic host_failed, engine_failed;  // and that is no good
  logic host_cut_q, engine_cut_q;    // the burst has ended early: its other lines fail, one a cycle
  assign run_in.slot = next_slot_q;
  assign run_in.last = burst_last;
  drover_fifo #(.Width($bits(run_in)), .Depth(Bursts)) u_host_runs (
    .clk_i, .rst_ni,
    .wvalid_i(plan && !engine), .wready_o(host_run_ready), .wdata_i(run_in),
    .rvalid_o(host_run_valid), .rready_i(host_taken && host_end), .rdata_o(host_run), .level_o(host_run_level)
  );
  drover_fifo #(.Width($bits(run_in)), .Depth(Bursts)) u_engine_runs (
    .clk_i, .rst_ni,
    .wvalid_i(plan && engine), .wready_o(engine_run_ready), .wdata_i(run_in),
    .rvalid_o(engine_run_valid), .rready_i(engine_taken && engine_end), .rdata_o(engine_run),
    .level_o(engine_run_level)
  );
  assign host_end = host_index_q == host_run.last;
  assign engine_end = engine_index_q == engine_run.last;
  assign host_r_ready_o = !host_cut_q;
  assign engine_r_ready_o = !host_taken && !engine_cut_q;
  assign host_taken = host_cut_q || host_r_valid_i && host_run_valid;
  assign engine_taken = Engine && !host_taken && (engine_cut_q || engine_r_valid_i && engine_run_valid);
  assign host_failed = host_cut_q || host_r_i.error || host_r_i.last != host_end;
  assign engine_failed = engine_cut_q || engine_r_i.error || engine_r_i.last != engine_end;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      host_index_q <= '0;
      engine_index_q <= '0;
      host_cut_q <= 1'b0;
      engine_cut_q <= 1'b0;
    end else begin
      if (host_taken) begin
        host_index_q <= host_end ? '0 : host_index_q + 6'd1;
        host_cut_q <= !host_end && (host_cut_q || host_r_i.last);
      end
      if (engine_taken) begin
        engine_index_q <= engine_end ? '0 : engine_index_q + 6'd1;
        engine_cut_q <= !engine_end && (engine_cut_q || engine_r_i.last);
      end
    end
  end

  // ---- in the order of the bursts lines become ready, one a cycle
  typedef struct packed {
    logic       engine;
    logic [5:0] last;  // the last line's number
  } order_t;
  order_t order_in, order;
  logic order_valid, ready, order_last;
  logic [5:0] order_index_q;
  logic [Qw-1:0] order_level;
  logic [Cw-1:0] host_early_q, engine_early_q;  // arrived, not ready yet
  assign order_in.engine = engine;
  assign order_in.last = burst_last;
  drover_fifo #(.Width($bits(order_in)), .Depth(Bursts)) u_order (
    .clk_i, .rst_ni,
    .wvalid_i(plan), .wready_o(order_ready), .wdata_i(order_in),
    .rvalid_o(order_valid), .rready_i(ready && order_last), .rdata_o(order),
    .level_o(order_level)
  );
  assign order_last = order_index_q == order.last;
  assign ready = order_valid && (order.engine ? engine_early_q != '0 || engine_taken
                                              : host_early_q != '0 || host_taken);
  logic [Cw-1:0] ready_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      order_index_q <= '0;
      host_early_q <= '0;
      engine_early_q <= '0;
      ready_q <= '0;
    end else begin
      if (ready) order_index_q <= order_last ? '0 : order_index_q + 6'd1;
      host_early_q <= host_early_q + Cw'(host_taken) - Cw'(ready && !order.engine);
      engine_early_q <= engine_early_q + Cw'(engine_taken) - Cw'(ready && order.engine);
      ready_q <= ready_q + Cw'(ready);
    end
  end

  // ---- the lines, in block RAM: the next is there before it is asked for, two cycles after it came
  logic [$bits(line_o)-1:0] mem[Depth];
  ser_pkg::line_t answer;
  logic [Aw-1:0] slot;
  logic [Cw-1:0] rptr_q, rptr_d;
  assign slot = host_taken || !Engine ? host_run.slot + Aw'(host_index_q) : engine_run.slot + Aw'(engine_index_q);
  assign rptr_d = rptr_q + Cw'(pop);
  assign answer.failed = host_taken || !Engine ? host_failed : engine_failed;
  assign answer.data = host_taken || !Engine ? host_r_i.data : engine_r_i.data;
  always_ff @(posedge clk_i) begin
    if (host_taken || engine_taken) mem[slot] <= answer;
    line_o <= mem[rptr_d[Aw-1:0]];
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      rptr_q <= '0;
      line_valid_o <= 1'b0;
    end else begin
      rptr_q <= rptr_d;
      line_valid_o <= rptr_d != ready_q;
    end
  end

`ifndef SYNTHESIS
  // Only lines that the region has a part in are read, and no burst crosses 4 KB.
  logic [63:0] base, limit;
  assign base = ar_engine_q ? engine_base_i : host_base_i;
  assign limit = ar_engine_q ? engine_limit_i : host_limit_i;
`endif
  `DROVER_ASSERT(ReadsStayInTheRegion, !ar_valid_q ||
                 ({ar_line_q, 6'd63} >= base && {ar_line_q + 58'(ar_last_q), 6'd0} < limit))
  `DROVER_ASSERT(BurstStaysInside4K, !ar_valid_q || 7'(ar_line_q[5:0]) + 7'(ar_last_q) < 7'd64)
  `DROVER_ASSERT_HOLD(ReadHolds, ar_valid_q, ar_taken, ar_o)
  `DROVER_ASSERT(LinesHaveRoom, Cw'(free_q + (ready_q - rptr_q)) <= Cw'(Depth))

  logic unused;
  assign unused = ^{host_base_i, host_limit_i, engine_base_i, engine_limit_i, span[5:0], host_run_ready,
                    engine_run_ready, host_run_level, engine_run_level, order_level};
endmodule
