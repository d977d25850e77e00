// Proof of deser_writer: rows that follow each other become bursts that stay inside 4 KB, inside their region and no
// longer than BurstRows; each burst's address goes out once, in order and before its data; its data is as many beats as
// the address says, the last of them and no other marked as such.
//
// It follows one burst and one row, whichever: the marks are free. Rows of an open burst are taken to follow each other
// in one memory (deser_writer asserts the first in simulation), a flush to hold its rows and to have as many as it
// announced, and answers to come only for bursts whose address has gone out. Of addresses and data only some bits are
// free, as below.
`include "drover_assert.svh"
module deser_writer_props #(
    parameter int unsigned BurstRows = 4,
    parameter int unsigned Rows = 4,
    parameter int unsigned Bursts = 2,
    parameter int unsigned Records = 2,
    parameter int unsigned CountW = 5
) (
    input logic       clk_i,
    input logic       rst_ni,
    input logic       mark_i,      // the burst that is complete now, if none is marked
    input logic       mark_row_i,  // the row that is taken now, if none is marked
    input logic [1:0] host_base_i,
    input logic [1:0] host_limit_i,
    input logic [1:0] engine_base_i,
    input logic [1:0] engine_limit_i,
    input logic       eager_i,
    input logic       row_valid_i,
    input logic       row_engine_i,
    input logic       row_last_i,
    input logic [2:0] row_data_i,
    input logic [7:0] row_i,
    input logic       fl_aw_valid_i,
    input logic [1:0] fl_len_i,
    input logic [7:0] fl_row_i,
    input logic       fl_valid_i,
    input logic [1:0] fl_data_i,
    input logic       fl_last_i,
    input logic       rec_valid_i,
    input logic [1:0] rec_kind_i,
    input logic       awready_i,
    input logic       wready_i,
    input logic [1:0] b_i,
    input logic [1:0] b_fault_i,
    input logic       cmpl_ready_i
);
  localparam int unsigned InsideW = $clog2(2 * Bursts + 2);
  localparam int unsigned RowsW = $clog2(Rows + 2);

  deser_pkg::bounds_t bounds;
  deser_pkg::row_t row;
  deser_pkg::flush_t fl_aw;
  deser_pkg::aw_t aw;
  deser_pkg::w_t w;
  drover_deserializer_pkg::completion_record_t rec, cmpl;
  logic row_ready, row_fresh, row_room, fl_aw_ready, fl_aw_bad, fl_ready, rec_ready, awvalid, wvalid, cmpl_valid;
  logic [511:0] fl_data;
  assign bounds.host_base    = {26'd0, host_base_i};
  assign bounds.host_limit   = {26'd0, host_limit_i};
  assign bounds.engine_base  = {26'd0, engine_base_i};
  assign bounds.engine_limit = {26'd0, engine_limit_i};
  assign row.engine  = row_engine_i;
  assign row.last    = row_last_i;
  assign row.be      = {row_data_i[2], 63'd0};
  assign row.data    = {row_data_i[1], 510'd0, row_data_i[0]};
  assign row.addr    = {26'd0, row_i};
  assign fl_aw.len   = {4'd0, fl_len_i};
  assign fl_aw.chunk = {26'd0, fl_row_i[7:6]};
  assign fl_aw.row   = fl_row_i[5:0];
  assign fl_data     = {fl_data_i[1], 510'd0, fl_data_i[0]};
  always_comb begin
    rec      = '0;
    rec.kind = drover_deserializer_pkg::record_kind_e'({2'd0, rec_kind_i});
  end
  deser_writer #(.BurstRows(BurstRows), .Rows(Rows), .Bursts(Bursts), .Records(Records), .CountW(CountW)) u_writer (
      .clk_i, .rst_ni, .bounds_i(bounds), .eager_i, .row_valid_i, .row_ready_o(row_ready), .row_i(row),
      .row_fresh_o(row_fresh), .row_room_o(row_room), .fl_aw_valid_i, .fl_aw_ready_o(fl_aw_ready),
      .fl_aw_bad_o(fl_aw_bad), .fl_aw_i(fl_aw), .fl_valid_i, .fl_ready_o(fl_ready), .fl_data_i(fl_data), .fl_last_i,
      .rec_valid_i, .rec_ready_o(rec_ready), .rec_i(rec), .awvalid_o(awvalid), .awready_i, .aw_o(aw),
      .wvalid_o(wvalid), .wready_i, .w_o(w), .b_i, .b_fault_i, .cmpl_valid_o(cmpl_valid), .cmpl_ready_i,
      .cmpl_o(cmpl));

  // ---- what comes in
  logic row_in_region, fl_in_region, push, open_q, full, row_enters, fl_enters, enters, engine_q;
  logic [5:0] rows_q;  // of the burst that is being gathered, so far
  logic [7:0] first_q, prev_q;
  assign row_in_region = row_engine_i ? row_i[7:6] >= engine_base_i && row_i[7:6] < engine_limit_i
                                      : row_i[7:6] >= host_base_i && row_i[7:6] < host_limit_i;
  assign fl_in_region  = fl_row_i[7:6] >= host_base_i && fl_row_i[7:6] < host_limit_i;
  assign push          = row_valid_i && row_ready && row_in_region;
  assign full          = row_last_i || row_i[5:0] == 6'd63 || rows_q == 6'(BurstRows - 1) ||
                         (eager_i && !row_engine_i && rows_q[1:0] == 2'd3);
  assign row_enters    = push && full;
  assign fl_enters     = fl_aw_valid_i && fl_aw_ready && fl_in_region;
  assign enters        = row_enters || fl_enters;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      open_q <= 1'b0;
      rows_q <= '0;
    end else if (push) begin
      open_q <= !full;
      rows_q <= full ? '0 : rows_q + 1'b1;
    end
  end
  always_ff @(posedge clk_i) begin
    if (push) begin
      prev_q   <= row_i;
      engine_q <= row_engine_i;
      if (!open_q) first_q <= row_i;
    end
  end
  deser_pkg::aw_t burst;  // that is complete now
  assign burst.engine = row_enters && row_engine_i;
  assign burst.len    = row_enters ? rows_q : fl_aw.len;
  assign burst.row    = {26'd0, fl_enters ? fl_row_i : open_q ? first_q : row_i};

  // ---- what is under way
  logic aw_out, w_out, w_end, gathered_out;
  logic [InsideW-1:0] waits_q, due_q;  // bursts whose address has not gone out; whose address has, and data has not
  logic [RowsW-1:0] rows_inside_q;
  assign aw_out       = awvalid && awready_i;
  assign w_out        = wvalid && wready_i;
  assign w_end        = w_out && w.last;
  assign gathered_out = w_out && !fl_ready;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      waits_q       <= '0;
      due_q         <= '0;
      rows_inside_q <= '0;
    end else begin
      waits_q       <= waits_q + InsideW'(enters) - InsideW'(aw_out);
      due_q         <= due_q + InsideW'(aw_out) - InsideW'(w_end);
      rows_inside_q <= rows_inside_q + RowsW'(push) - RowsW'(gathered_out);
    end
  end

  // ---- the marked burst
  logic marked_q, marking, aw_left_q, w_left_q, flush_q, aw_turn, w_turn;
  logic [InsideW-1:0] aw_ahead_q, w_ahead_q;
  logic [5:0] beats_q;
  deser_pkg::aw_t burst_q;
  assign marking = enters && mark_i && !marked_q;
  assign aw_turn = aw_left_q && aw_ahead_q == '0;
  assign w_turn  = w_left_q && w_ahead_q == '0;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      marked_q  <= 1'b0;
      aw_left_q <= 1'b0;
      w_left_q  <= 1'b0;
    end else begin
      marked_q <= marked_q || marking;
      if (marking) aw_left_q <= !(aw_out && waits_q == '0);
      else if (aw_out && aw_turn) aw_left_q <= 1'b0;
      if (marking) w_left_q <= 1'b1;
      else if (w_end && w_turn) w_left_q <= 1'b0;
    end
  end
  always_ff @(posedge clk_i) begin
    if (marking) begin
      burst_q    <= burst;
      flush_q    <= fl_enters;
      aw_ahead_q <= waits_q - InsideW'(aw_out && waits_q != '0);
      w_ahead_q  <= waits_q + due_q - InsideW'(w_end);
      beats_q    <= '0;
    end else begin
      if (aw_out && !aw_turn) aw_ahead_q <= aw_ahead_q - 1'b1;
      if (w_end && !w_turn) w_ahead_q <= w_ahead_q - 1'b1;
      if (w_out && w_turn) beats_q <= beats_q + 1'b1;
    end
  end

  // ---- the marked row
  logic row_marked_q, row_marking, row_left_q;
  logic [RowsW-1:0] rows_ahead_q;
  logic [3:0] row_q;
  assign row_marking = push && mark_row_i && !row_marked_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      row_marked_q <= 1'b0;
      row_left_q   <= 1'b0;
    end else begin
      row_marked_q <= row_marked_q || row_marking;
      if (row_marking) row_left_q <= 1'b1;
      else if (gathered_out && rows_ahead_q == '0) row_left_q <= 1'b0;
    end
  end
  always_ff @(posedge clk_i) begin
    if (row_marking) begin
      row_q        <= {full, row_data_i};
      rows_ahead_q <= rows_inside_q - RowsW'(gathered_out);
    end else if (gathered_out && rows_ahead_q != '0) begin
      rows_ahead_q <= rows_ahead_q - 1'b1;
    end
  end

  // ---- answers: bursts of host memory, of engine memory, whose address has gone out and that have not been answered
  logic [1:0][CountW-1:0] unanswered_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) unanswered_q <= '0;
    else begin
      for (int i = 0; i < 2; i++)
        unanswered_q[i] <= unanswered_q[i] + CountW'(aw_out && aw.engine == i[0]) - CountW'(b_i[i]);
    end
  end

  `DROVER_ASSUME_RESET_FIRST
  `DROVER_ASSUME_HOLD(ConfigurationHolds, 1'b1, 1'b0,
                      ({host_base_i, host_limit_i, engine_base_i, engine_limit_i}))
  `DROVER_ASSUME(RowsFollowEachOther, !(push && open_q) || (row_i == prev_q + 1'b1 && row_engine_i == engine_q))
  `DROVER_ASSUME(FlushIsInside4K, {1'b0, fl_row_i[5:0]} + {5'd0, fl_len_i} < 7'd64)
  `DROVER_ASSUME(FlushHasItsRows, !(w_turn && flush_q && fl_valid_i) || fl_last_i == (beats_q == burst_q.len))
  `DROVER_ASSUME(AnswersAreToBursts, (!b_i[0] || unanswered_q[0] != '0) && (!b_i[1] || unanswered_q[1] != '0))
  stream_holds #(.Width(3)) u_holds (
      .clk_i, .rst_ni, .valid_i(fl_valid_i), .ready_i(fl_ready), .data_i({fl_last_i, fl_data_i}));

  `DROVER_ASSERT(FreshBetweenBursts, row_fresh == !open_q)
  `DROVER_ASSERT(OneBurstAtATime, !(row_enters && fl_enters))
  `DROVER_ASSERT(AFlushElsewhereIsBad, fl_aw_bad == !fl_in_region)
  `DROVER_ASSERT(BurstStaysInside4K, !awvalid || {1'b0, aw.row[5:0]} + {1'b0, aw.len} < 7'd64)
  `DROVER_ASSERT(BurstStaysInItsRegion, !awvalid || (aw.row[33:8] == '0 && (aw.engine ?
                 aw.row[7:6] >= engine_base_i && aw.row[7:6] < engine_limit_i :
                 aw.row[7:6] >= host_base_i && aw.row[7:6] < host_limit_i)))
  `DROVER_ASSERT(NoAddressWithoutABurst, !awvalid || waits_q != '0 || enters)
  `DROVER_ASSERT(WhatPassesIsTheBurst, !(awvalid && waits_q == '0) || aw == burst)
  `DROVER_ASSERT(EachAddressInItsOrder, !(aw_turn && awvalid) || aw == burst_q)
  `DROVER_ASSERT(NoDataBeforeItsAddress, !wvalid || due_q != '0)
  `DROVER_ASSERT(AddressBeforeData, !(w_turn && wvalid) || !aw_left_q)
  `DROVER_ASSERT(LastOnTheLastBeatOnly, !(w_turn && wvalid) || w.last == (beats_q == burst_q.len))
  `DROVER_ASSERT(AFlushHasItsOwnRows, !(w_turn && w_out) || fl_ready == flush_q)
  `DROVER_ASSERT(RowsOfAFlushGoOut, !(fl_valid_i && fl_ready) ||
                 (w_out && w.last == fl_last_i && w.data == fl_data && w.strb == '1))
  `DROVER_ASSERT(RowsInTheirOrder, !(row_left_q && rows_ahead_q == '0 && gathered_out) ||
                 {w.last, w.strb, w.data} == {row_q[3], row_q[2], 63'd0, row_q[1], 510'd0, row_q[0]})
  `DROVER_ASSERT(NoRowTwice, !gathered_out || rows_inside_q != '0)

  logic unused;
  assign unused = ^{row_room, rec_ready, cmpl_valid, cmpl};
endmodule
