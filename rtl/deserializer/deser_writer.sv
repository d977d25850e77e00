// Gathers rows into AXI4 write bursts, and holds records back until the bursts have been answered.
//
// All rows of a burst are gathered before its address goes out, so a lane that waits for wire bytes never holds the
// bus. Rows of a flushed chunk go out straight from its temp buffer. Rows outside the regions are dropped, and the
// message's record becomes an error. A record waits until all bursts in front of it have been answered; host and engine
// memory answer independently.
`include "drover_assert.svh"
/* verilator lint_off IMPORTSTAR */
import drover_deserializer_pkg::*;  // here, and types by their full names: yosys reads it so
/* verilator lint_on IMPORTSTAR */
module deser_writer #(
    parameter int unsigned BurstRows = 32,  // at most, of gathered rows
    parameter int unsigned Rows = 64,       // gathered, and not gone out
    parameter int unsigned Bursts = 16,     // whose address has not gone out; whose address has, and data has not
    parameter int unsigned Records = 32,    // that wait for answers
    parameter int unsigned CountW = 12,     // of the bursts' numbers
    localparam int unsigned RowsW = $clog2(Rows),
    localparam int unsigned BurstsW = $clog2(Bursts),
    localparam int unsigned RecordsW = $clog2(Records)
) (
    input  logic              clk_i,
    input  logic              rst_ni,
    input  deser_pkg::bounds_t bounds_i,
    input  logic              eager_i,             // short bursts: the link would idle
    input  logic              row_valid_i,
    output logic              row_ready_o,
    input  deser_pkg::row_t   row_i,
    output logic              row_fresh_o,         // no burst is half gathered
    output logic              row_room_o,          // a row is taken one cycle from now, whatever comes in this one
    input  logic              fl_aw_valid_i,
    output logic              fl_aw_ready_o,
    output logic              fl_aw_bad_o,
    input  deser_pkg::flush_t fl_aw_i,
    input  logic              fl_valid_i,
    output logic              fl_ready_o,
    input  logic [511:0]      fl_data_i,
    input  logic              fl_last_i,
    input  logic              rec_valid_i,
    output logic              rec_ready_o,
    input  drover_deserializer_pkg::completion_record_t rec_i,
    // AXI4 write, to the arbiter; B by kind of memory
    output logic              awvalid_o,
    input  logic              awready_i,
    output deser_pkg::aw_t    aw_o,
    output logic              wvalid_o,
    input  logic              wready_i,
    output deser_pkg::w_t     w_o,
    input  logic [1:0]        b_i,  // a response of host memory, of engine memory, in this cycle
    input  logic [1:0]        b_fault_i,  // with b_i: it was refused
    output logic              cmpl_valid_o,
    input  logic              cmpl_ready_i,
    output drover_deserializer_pkg::completion_record_t cmpl_o
);
  logic in_region, push, burst_end, aw_ready, w_ready, fresh_q, aw_push;
  logic [deser_pkg::ChunkW-1:0] row_chunk;
  logic [deser_pkg::RowW-1:0] first_q, first;
  logic [5:0] len_q, len;
  logic bad_q;
  logic [BurstsW:0] aw_level;
  logic [RowsW:0] w_level;

  assign row_chunk = row_i.addr[deser_pkg::RowW-1:6];
  assign in_region = row_i.engine ? row_chunk >= bounds_i.engine_base && row_chunk < bounds_i.engine_limit
                                  : row_chunk >= bounds_i.host_base && row_chunk < bounds_i.host_limit;
  assign row_ready_o = w_ready && aw_ready;
  assign push        = row_valid_i && row_ready_o && in_region;
  assign first       = fresh_q ? row_i.addr : first_q;
  assign len         = fresh_q ? 6'd0 : len_q + 6'd1;
  assign burst_end   = row_i.last || (&row_i.addr[5:0]) || (len == 6'(BurstRows - 1)) ||
                       (eager_i && !row_i.engine && len[1:0] == 2'd3);
  assign row_fresh_o = fresh_q;
  assign row_room_o  = 32'(w_level) + 32'd2 < Rows && 32'(aw_level) + 32'd2 < Bursts;
  assign aw_push     = push && burst_end;

  logic fl_in_region, fl_push;
  assign fl_in_region  = fl_aw_i.chunk >= bounds_i.host_base && fl_aw_i.chunk < bounds_i.host_limit;
  assign fl_aw_ready_o = aw_ready && !aw_push;
  assign fl_aw_bad_o   = !fl_in_region;
  assign fl_push       = fl_aw_valid_i && fl_aw_ready_o && fl_in_region;

  always_ff @(posedge clk_i) begin
    if (push) begin
      first_q <= first;
      len_q   <= len;
    end
  end

  // ---- bursts that have been issued, and answered: of host memory, of engine memory
  logic [CountW-1:0] issued_q[2], answered_q[2];
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      fresh_q <= 1'b1;
      bad_q   <= 1'b0;
      for (int i = 0; i < 2; i++) begin
        issued_q[i]   <= '0;
        answered_q[i] <= '0;
      end
    end else begin
      if (push) fresh_q <= burst_end;
      if ((row_valid_i && row_ready_o && !in_region) || (fl_aw_valid_i && fl_aw_ready_o && !fl_in_region))
        bad_q <= 1'b1;
      else if (rec_valid_i && rec_ready_o && rec_i.kind != RecChunk) bad_q <= 1'b0;
      for (int i = 0; i < 2; i++) begin
        if ((aw_push && row_i.engine == i[0]) || (fl_push && i == 0)) issued_q[i] <= issued_q[i] + 1'b1;
        if (b_i[i]) answered_q[i] <= answered_q[i] + 1'b1;
      end
    end
  end

  logic rec_fifo_valid;
  // A record, and the bursts issued before it.
  typedef struct packed {
    logic [CountW-1:0] engine;
    logic [CountW-1:0] host;
    logic [CompletionRecordBits-1:0] record;
  } waiting_t;
  waiting_t waiting, in_front;
  logic [CountW-1:0] stamp[2];
  assign stamp[0] = in_front.host;
  assign stamp[1] = in_front.engine;
  // Bursts are held back while 1,024 of them (2^(CountW - 2)) are unanswered, or lie behind a record that waits. So the
  // difference of two burst numbers fits in CountW bits, with its sign.
  logic hold_q;
  logic [CountW-1:0] ahead_of_answers[2];
  logic [CountW-1:0] ahead_of_record[2];
  always_comb begin
    for (int i = 0; i < 2; i++) begin
      ahead_of_answers[i] = issued_q[i] - answered_q[i];
      ahead_of_record[i]  = issued_q[i] - stamp[i];
    end
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) hold_q <= 1'b0;
    else begin
      hold_q <= (|ahead_of_answers[0][CountW-1:CountW-2]) || (|ahead_of_answers[1][CountW-1:CountW-2]) ||
                (rec_fifo_valid && ((|ahead_of_record[0][CountW-1:CountW-2]) ||
                                    (|ahead_of_record[1][CountW-1:CountW-2])));
    end
  end

  // Data goes out in the order of the bursts' addresses, once those have been taken.
  typedef struct packed {
    logic flush;  // of a flush
    deser_pkg::aw_t aw;
  } burst_t;
  burst_t aw_in, aw_out;
  deser_pkg::w_t gathered_in, gathered;
  logic w_fifo_valid, due_valid, due_flush, due_room, aw_offer;
  logic [BurstsW:0] due_level;
  always_comb begin
    aw_in.flush     = fl_push;
    aw_in.aw.engine = !fl_push && row_i.engine;
    aw_in.aw.len    = fl_push ? fl_aw_i.len : len;
    aw_in.aw.row    = fl_push ? {fl_aw_i.chunk, fl_aw_i.row} : first;
  end
  drover_fifo #(.Width($bits(aw_in)), .Depth(Bursts), .Bypass(1'b1)) u_aw (
      .clk_i, .rst_ni, .wvalid_i(aw_push || fl_push), .wready_o(aw_ready), .wdata_i(aw_in), .rvalid_o(aw_offer),
      .rready_i(awready_i && due_room && !hold_q), .rdata_o(aw_out), .level_o(aw_level));
  assign aw_o      = aw_out.aw;
  assign awvalid_o = aw_offer && due_room && !hold_q;
  drover_fifo #(.Width(1), .Depth(Bursts)) u_due (
      .clk_i, .rst_ni, .wvalid_i(awvalid_o && awready_i), .wready_o(due_room), .wdata_i(aw_out.flush),
      .rvalid_o(due_valid), .rready_i(wvalid_o && wready_i && w_o.last), .rdata_o(due_flush), .level_o(due_level));
  assign gathered_in.last = burst_end;
  assign gathered_in.strb = row_i.be;
  assign gathered_in.data = row_i.data;
  drover_fifo #(.Width($bits(gathered_in)), .Depth(Rows)) u_w (
      .clk_i, .rst_ni, .wvalid_i(push), .wready_o(w_ready), .wdata_i(gathered_in), .rvalid_o(w_fifo_valid),
      .rready_i(wready_i && due_valid && !due_flush), .rdata_o(gathered), .level_o(w_level));
  assign wvalid_o = due_valid && (due_flush ? fl_valid_i : w_fifo_valid);
  always_comb begin
    w_o = gathered;
    if (due_flush) begin
      w_o.data = fl_data_i;
      w_o.strb = '1;
      w_o.last = fl_last_i;
    end
  end
  assign fl_ready_o = due_valid && due_flush && wready_i;

  // ---- records
  drover_deserializer_pkg::completion_record_t rec, head;
  logic [CountW-1:0] host_ahead, engine_ahead;
  logic [RecordsW:0] rec_level;
  always_comb begin
    rec = rec_i;
    if (bad_q && rec_i.kind != RecChunk) begin
      rec.kind = RecError;
      rec.code = ErrBadAddress;
    end
  end
  assign waiting.engine = issued_q[1];
  assign waiting.host   = issued_q[0];
  assign waiting.record = rec;
  assign head           = in_front.record;
  drover_fifo #(.Width($bits(waiting)), .Depth(Records)) u_records (
      .clk_i, .rst_ni, .wvalid_i(rec_valid_i), .wready_o(rec_ready_o), .wdata_i(waiting), .rvalid_o(rec_fifo_valid),
      .rready_i(cmpl_ready_i && cmpl_valid_o), .rdata_o(in_front), .level_o(rec_level));
  assign host_ahead   = answered_q[0] - stamp[0];
  assign engine_ahead = answered_q[1] - stamp[1];
  // The first and the last refused burst, by number; those between them count as refused too. A record that covers one
  // becomes an error.
  logic [1:0] fault_q, fault_hit, fault_beyond;
  logic [CountW-1:0] fault_first_q[2];
  logic [CountW-1:0] fault_last_q[2];
  logic final_out;
  assign final_out = cmpl_valid_o && cmpl_ready_i && head.kind != RecChunk;
  for (genvar i = 0; i < 2; i++) begin : gen_fault
    logic [CountW-1:0] since_first, to_last;
    assign since_first     = stamp[i] - fault_first_q[i] - 1'b1;
    assign to_last         = fault_last_q[i] - stamp[i];
    assign fault_hit[i]    = fault_q[i] && !since_first[CountW-1];
    assign fault_beyond[i] = !to_last[CountW-1];
    logic unused_fault;
    assign unused_fault = ^{since_first, to_last};
  end
  always_comb begin
    cmpl_o = head;
    if (fault_hit != '0 && head.kind != RecChunk) begin
      cmpl_o.kind = RecError;
      cmpl_o.code = ErrBadAddress;
    end
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      fault_q <= '0;
      for (int i = 0; i < 2; i++) begin
        fault_first_q[i] <= '0;
        fault_last_q[i]  <= '0;
      end
    end else begin
      for (int i = 0; i < 2; i++) begin
        if (final_out && fault_hit[i]) begin
          fault_q[i]       <= fault_beyond[i];
          fault_first_q[i] <= stamp[i];
        end
        if (b_i[i] && b_fault_i[i]) begin
          fault_q[i]      <= 1'b1;
          fault_last_q[i] <= answered_q[i];
          if (!fault_q[i] || (final_out && fault_hit[i] && !fault_beyond[i])) fault_first_q[i] <= answered_q[i];
        end
      end
    end
  end
  assign cmpl_valid_o = rec_fifo_valid && !host_ahead[CountW-1] && !engine_ahead[CountW-1];

  logic unused;
  assign unused = ^{due_level, rec_level, ahead_of_answers[0], ahead_of_answers[1], ahead_of_record[0],
                    ahead_of_record[1]};

  `DROVER_ASSERT(RowsOfABurstFollowEachOther, !push || fresh_q || row_i.addr == first_q + deser_pkg::RowW'(len))
  `DROVER_ASSERT(AnswersFollowBursts, !ahead_of_answers[0][CountW-1] && !ahead_of_answers[1][CountW-1])
  `DROVER_ASSERT_HOLD(BeatHolds, wvalid_o, wready_i, w_o)
endmodule
