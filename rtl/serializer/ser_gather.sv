// The gather unit: sends messages whose parts lie in the TX arena, in host memory and in engine memory, each as one
// packet of full beats. The planner goes through the pieces (the last written is the first of the message), asks the
// readers for lines ahead of their use, and queues segments, messages ahead of the packer; the packer takes a line a
// cycle, turns it to where it belongs, and gives out 64 bytes whenever there are that many.
//
//   pieces -> planner -+-> segments --------------------------------> packer -> tx
//                      +-> readers: arena; host and engine memory --^  lines
`include "drover_assert.svh"
/* verilator lint_off IMPORTSTAR */
import drover_serializer_pkg::*;
import ser_pkg::*;  // here, and types by their full names: yosys reads it so
/* verilator lint_on IMPORTSTAR */
module ser_gather #(
  parameter int unsigned ArenaBytes = 65536,
  parameter int unsigned Pieces     = 1024
) (
  input  logic clk_i,
  input  logic rst_ni,

  input  logic msg_valid_i,
  input  ser_pkg::msg_t msg_i,
  output logic msg_ready_o,

  output logic        freed_o,         // a message has gone out
  output logic [15:0] freed_bytes_o,   // of the arena
  output logic [15:0] freed_pieces_o,

  output logic                        piece_read_o,
  output logic [$clog2(Pieces)-1:0] piece_at_o,
  input  ser_pkg::piece_t                      piece_i,  // in the next cycle

  output logic                           arena_read_o,
  output logic [$clog2(ArenaBytes)-7:0] arena_line_o,
  input  logic [ser_pkg::LineBits-1:0]            arena_data_i,  // in the next cycle

  output logic        req_valid_o,
  input  logic        req_ready_i,
  output logic        req_engine_o,
  output logic [63:0] req_address_o,
  output logic [31:0] req_size_o,

  input  logic           far_valid_i,  // lines of what was asked for, in that order
  input  ser_pkg::line_t far_line_i,
  output logic           far_ready_o,

  input  logic           early_valid_i,  // lines of payload that was asked for with the commands, in their order
  input  ser_pkg::line_t early_line_i,
  output logic           early_ready_o,

  output logic [ser_pkg::LineBits-1:0]  tx_tdata_o,
  output logic [ser_pkg::LineBytes-1:0] tx_tkeep_o,
  output logic                 tx_tlast_o,
  output logic                 tx_tuser_o,   // with tlast: the message is broken, a read failed
  output logic                 tx_tvalid_o,
  input  logic                 tx_tready_i,

  output logic        done_valid_o,
  output drover_serializer_pkg::completion_t done_o,
  input  logic        done_ready_i
);
  localparam int unsigned Pw = $clog2(ArenaBytes);
  localparam int unsigned Lw = Pw - 6;

  typedef struct packed {
    ser_pkg::body_e       source;
    logic [5:0]  from;
    logic [31:0] size;
    logic [10:0] line;  // of early payload: the first's number (its low bits)
  } segment_t;
  typedef struct packed {
    logic [Lw-1:0] line;
    logic [Lw-1:0] last;
  } arena_run_t;

  typedef struct packed {
    logic [15:0] cookie;
    logic [31:0] size;
    logic [15:0] bytes;   // of the arena
    logic [15:0] pieces;
    logic        failed;
    logic [10:0] early_first;
    logic [10:0] early_lines;
  } note_t;
  note_t note_in, note;
  logic note_ready, note_valid, note_taken;
  logic [4:0] note_level;
  assign note_in.cookie = msg_i.cookie;
  assign note_in.size = msg_i.size;
  assign note_in.bytes = 16'(Pw'(msg_i.stop - msg_i.start));
  assign note_in.pieces = msg_i.pieces;
  assign note_in.failed = msg_i.failed;
  assign note_in.early_first = msg_i.early_first;
  assign note_in.early_lines = msg_i.early_lines;

  // ---- the planner
  typedef enum logic [1:0] {PlIdle, PlShort, PlLong, PlRest} plan_e;
  plan_e plan_q, plan_d;
  logic [Pw-1:0] pos_q;    // what the arena has from here on is not planned yet
  logic [15:0] pieces_q;   // still to come
  logic [$clog2(Pieces)-1:0] piece_q;  // the next
  logic asked_q;           // the lines of the piece at hand are asked for
  logic start;             // of a message
  ser_pkg::msg_t msg_q;

  logic seg_valid, seg_ready, run_valid, run_ready;
  segment_t seg_in;
  logic [Pw-1:0] run_end;  // the first position behind
  logic [Pw-1:0] run_size;
  arena_run_t run_in;

  assign run_end = plan_q == PlRest ? msg_q.stop[Pw-1:0] : piece_i.behind[Pw-1:0];
  assign run_size = run_end - pos_q;
  assign run_in.line = pos_q[Pw-1:6];
  assign run_in.last = Lw'(Pw'(run_end - Pw'(1)) >> 6);
  assign start = plan_q == PlIdle && msg_valid_i && note_ready;
  assign msg_ready_o = plan_q == PlIdle && note_ready;
  assign piece_at_o = start ? msg_i.piece[$clog2(Pieces)-1:0] : piece_q;
  assign piece_read_o = start || long;
  assign req_address_o = piece_i.address;
  assign req_size_o = piece_i.size;

  logic is_early, asks, long;  // long: the piece's segment is queued
  assign is_early = piece_i.source == BodyEarly;
  assign asks = plan_q == PlShort || plan_q == PlLong;
  assign req_valid_o = asks && !asked_q && !is_early;
  assign req_engine_o = piece_i.source == BodyEngine;

  always_comb begin
    plan_d = plan_q;
    seg_valid = 1'b0;
    run_valid = 1'b0;
    long = 1'b0;
    seg_in.source = BodyArena;
    seg_in.from = pos_q[5:0];
    seg_in.size = 32'(run_size);
    seg_in.line = piece_i.address[16:6];
    unique case (plan_q)
      PlIdle:  if (start && !msg_i.failed) plan_d = msg_i.pieces != '0 ? PlShort : PlRest;
      PlShort, PlLong: begin
        if (plan_q == PlShort && run_size != '0) begin
          if (seg_ready && run_ready) begin
            seg_valid = 1'b1;
            run_valid = 1'b1;
            plan_d = PlLong;
          end
        end else begin
          seg_in.source = piece_i.source;
          seg_in.from = piece_i.address[5:0];
          seg_in.size = piece_i.size;
          if (seg_ready && (req_ready_i || asked_q || is_early)) begin
            seg_valid = 1'b1;
            long = 1'b1;
            plan_d = pieces_q == 16'd1 ? PlRest : PlShort;
          end
        end
      end
      PlRest: begin
        if (run_size == '0) begin
          plan_d = PlIdle;
        end else if (seg_ready && run_ready) begin
          seg_valid = 1'b1;
          run_valid = 1'b1;
          plan_d = PlIdle;
        end
      end
      default: plan_d = PlIdle;
    endcase
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      plan_q <= PlIdle;
      asked_q <= 1'b0;
    end else begin
      plan_q <= plan_d;
      asked_q <= !long && (asked_q || req_valid_o && req_ready_i);
    end
  end
  always_ff @(posedge clk_i) begin
    if (start) begin
      msg_q <= msg_i;
      pos_q <= msg_i.start[Pw-1:0];
      pieces_q <= msg_i.pieces;
      piece_q <= msg_i.piece[$clog2(Pieces)-1:0] - $clog2(Pieces)'(1);
    end else if (long) begin
      pos_q <= piece_i.behind[Pw-1:0];
      pieces_q <= pieces_q - 16'd1;
      piece_q <= piece_q - $clog2(Pieces)'(1);
    end
  end

  // What the packer has to know of a message.
  drover_fifo #(.Width($bits(note_in)), .Depth(16)) u_notes (
    .clk_i, .rst_ni,
    .wvalid_i(start), .wready_o(note_ready), .wdata_i(note_in),
    .rvalid_o(note_valid), .rready_i(note_taken), .rdata_o(note), .level_o(note_level)
  );

  segment_t seg;
  logic seg_out_valid, seg_out_ready;
  logic [7:0] seg_level;
  drover_fifo #(.Width($bits(seg_in)), .Depth(128)) u_segments (
    .clk_i, .rst_ni,
    .wvalid_i(seg_valid), .wready_o(seg_ready), .wdata_i(seg_in),
    .rvalid_o(seg_out_valid), .rready_i(seg_out_ready), .rdata_o(seg), .level_o(seg_level)
  );

  // ---- the arena's reader
  arena_run_t run;
  logic run_out_valid, run_out_ready;
  logic [6:0] run_level;
  drover_fifo #(.Width($bits(run_in)), .Depth(64)) u_runs (
    .clk_i, .rst_ni,
    .wvalid_i(run_valid), .wready_o(run_ready), .wdata_i(run_in),
    .rvalid_o(run_out_valid), .rready_i(run_out_ready), .rdata_o(run), .level_o(run_level)
  );
  logic [Lw-1:0] ahead_q;  // lines of the run that are read already
  logic read_q;
  logic arena_valid, arena_ready;
  logic [ser_pkg::LineBits-1:0] arena_line;
  logic [2:0] arena_level;
  assign arena_line_o = run.line + ahead_q;
  assign arena_read_o = run_out_valid && arena_level + 3'(read_q) < 3'd4;
  assign run_out_ready = arena_read_o && arena_line_o == run.last;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      ahead_q <= '0;
      read_q <= 1'b0;
    end else begin
      read_q <= arena_read_o;
      if (run_out_ready) ahead_q <= '0;
      else if (arena_read_o) ahead_q <= ahead_q + Lw'(1);
    end
  end
  logic arena_wready;
  drover_fifo #(.Width(ser_pkg::LineBits), .Depth(4)) u_arena_lines (
    .clk_i, .rst_ni,
    .wvalid_i(read_q), .wready_o(arena_wready), .wdata_i(arena_data_i),
    .rvalid_o(arena_valid), .rready_i(arena_ready), .rdata_o(arena_line), .level_o(arena_level)
  );

  // ---- the packer
  logic sending_q;
  logic first_q;          // the segment's first line
  logic [31:0] left_q;    // of the segment, if not first
  logic [31:0] total_q;   // of the message
  note_t note_q;
  logic [ser_pkg::LineBits-1:0] rest_q;
  logic [5:0] fill_q;     // bytes in rest_q
  logic flush_q;          // they are the message's last

  logic line_valid, work, free, empty;
  logic [ser_pkg::LineBits-1:0] line, turned, merged;
  logic [5:0] from;
  logic [31:0] left;
  logic [6:0] count, sum;
  logic segment_end, message_end;

  // Early payload: lines that no part of the message uses are thrown away, one that two parts share is kept.
  logic [10:0] early_at_q;    // the next line's number
  logic [10:0] early_left_q;  // lines of this message that are still to come
  logic early_here, early_pop;

  assign free = !tx_tvalid_o || tx_tready_i;
  assign from = first_q ? seg.from : 6'd0;
  assign left = first_q ? seg.size : left_q;
  always_comb begin
    unique case (seg.source)
      BodyArena: begin
        line = arena_line;
        line_valid = arena_valid;
      end
      BodyEarly: begin
        line = early_line_i.data;
        line_valid = early_valid_i && early_here;
      end
      default: begin
        line = far_line_i.data;
        line_valid = far_valid_i;
      end
    endcase
  end
  always_comb begin
    count = 7'd64 - {1'b0, from};
    if (left < 32'(count)) count = left[6:0];
  end
  assign segment_end = left == 32'(count);
  assign message_end = total_q == 32'(count);
  assign sum = {1'b0, fill_q} + count;
  assign turned = ser_pkg::rotate_up(line, fill_q - from);
  always_comb begin
    for (int i = 0; i < ser_pkg::LineBytes; i++) begin
      merged[8*i+:8] = 6'(i) < fill_q ? rest_q[8*i+:8] : turned[8*i+:8];
    end
  end
  assign empty = sending_q && total_q == '0 && !flush_q;
  assign work = sending_q && !flush_q && !empty && seg_out_valid && line_valid && free;
  assign seg_out_ready = work && segment_end;
  assign arena_ready = work && seg.source == BodyArena;
  assign far_ready_o = work && seg.source != BodyArena && seg.source != BodyEarly;
  assign early_here = !first_q || seg.line == early_at_q;
  assign early_pop = sending_q && seg_out_valid && seg.source == BodyEarly
                       ? (work ? 7'(from) + count == 7'd64 : !early_here) : !sending_q;
  assign early_ready_o = early_pop && early_left_q != '0;
  logic broken, broken_q;  // a line of this message could not be read
  assign broken = broken_q || far_ready_o && far_line_i.failed || work && seg.source == BodyEarly && early_line_i.failed;

  logic beat, last;  // goes out
  logic [6:0] keep;
  assign beat = work && (sum[6] || message_end) || (flush_q || empty) && free;
  assign last = flush_q || empty || message_end && sum <= 7'd64;
  assign keep = flush_q ? {1'b0, fill_q} : empty ? 7'd0 : sum[6] ? 7'd64 : sum;

  // A message's completion follows its last beat, and the next message its completion; the rest of its payload goes.
  assign note_taken = note_valid && !sending_q && (!done_valid_o || done_ready_i) &&
                      (early_left_q == '0 || early_left_q == 11'd1 && early_valid_i);
  assign freed_o = beat && last;
  assign freed_bytes_o = note_q.bytes;
  assign freed_pieces_o = note_q.pieces;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      sending_q <= 1'b0;
      first_q <= 1'b1;
      fill_q <= '0;
      flush_q <= 1'b0;
      tx_tvalid_o <= 1'b0;
      done_valid_o <= 1'b0;
      early_left_q <= '0;
    end else begin
      if (free) tx_tvalid_o <= beat;
      if (note_taken) sending_q <= !note.failed;
      if (early_ready_o && early_valid_i) early_left_q <= early_left_q - 11'd1;
      if (note_taken) early_left_q <= note.early_lines;
      if (work) begin
        first_q <= segment_end;
        fill_q <= message_end && !(sum > 7'd64) ? '0 : sum[5:0];
        if (message_end && sum > 7'd64) flush_q <= 1'b1;
      end
      if (flush_q && free) begin
        flush_q <= 1'b0;
        fill_q <= '0;
      end
      if (done_ready_i) done_valid_o <= 1'b0;
      if (beat && last) begin
        sending_q <= 1'b0;
        done_valid_o <= 1'b1;
      end
    end
  end
  always_ff @(posedge clk_i) begin
    if (note_taken) begin
      note_q <= note;
      broken_q <= 1'b0;
      total_q <= note.size;
    end
    if (early_ready_o && early_valid_i) early_at_q <= early_at_q + 11'd1;
    if (note_taken) early_at_q <= note.early_first;
    if (work) begin
      broken_q <= broken;
      left_q <= left - 32'(count);
      total_q <= total_q - 32'(count);
      rest_q <= sum[6] ? turned : merged;
    end
    if (free) begin
      tx_tdata_o <= flush_q ? rest_q : merged;
      tx_tkeep_o <= ~({64{1'b1}} << keep);
      tx_tlast_o <= last;
      tx_tuser_o <= last && broken;
    end
    if (beat && last) begin
      done_o.cookie <= note_q.cookie;
      done_o.error <= broken ? ErrBus : ErrNone;
      done_o.size <= note_q.size;
    end
  end

  `DROVER_ASSERT_HOLD(BeatHolds, tx_tvalid_o, tx_tready_i, ({tx_tlast_o, tx_tkeep_o, tx_tdata_o}))
  `DROVER_ASSERT(BeatsInsideAPacketAreFull, !(tx_tvalid_o && !tx_tlast_o) || (&tx_tkeep_o))
  `DROVER_ASSERT(SegmentsFitTheMessage, !work || {1'b0, left} <= {1'b0, total_q})
  `DROVER_ASSERT(EarlyPayloadIsThisMessages, !(work && seg.source == BodyEarly) || early_left_q != '0)
  `DROVER_ASSERT(ArenaLinesHaveRoom, !read_q || arena_wready)

  logic unused;
  assign unused = ^{arena_wready, seg_level, run_level, note_level, msg_q, note_q};
endmodule
