// Rows into AXI4 write bursts, and records behind the responses to them.
//
// Rows of stores are gathered, a burst whole, before its address goes out, so that a lane that waits for wire bytes
// never holds the bus. A flushed chunk's rows lie ready in its temp buffer and go out from there.
// Rows outside the regions are dropped, and the message's record says so instead. A record waits until all bursts in
// front of it have been answered; host and engine memory answer apart.
`include "drover_assert.svh"
module deser_writer (
    input  logic              clk_i,
    input  logic              rst_ni,
    input  logic [deser_pkg::ChunkW-1:0] cfg_host_base_i,     // chunks that may be written: base <= c < limit
    input  logic [deser_pkg::ChunkW-1:0] cfg_host_limit_i,
    input  logic [deser_pkg::ChunkW-1:0] cfg_engine_base_i,
    input  logic [deser_pkg::ChunkW-1:0] cfg_engine_limit_i,
    input  logic              eager_i,             // short bursts: the link would idle
    input  logic              row_valid_i,
    output logic              row_ready_o,
    input  logic [deser_pkg::RowW-1:0]   row_addr_i,
    input  logic [511:0]      row_data_i,
    input  logic [63:0]       row_be_i,
    input  logic              row_engine_i,
    input  logic              row_last_i,
    output logic              row_fresh_o,         // no burst is half gathered
    output logic              row_room_o,          // a row is taken one cycle from now, whatever comes in this one
    input  logic              fl_aw_valid_i,
    output logic              fl_aw_ready_o,
    output logic              fl_aw_bad_o,
    input  logic [deser_pkg::ChunkW-1:0] fl_aw_chunk_i,
    input  logic [5:0]        fl_aw_row_i,
    input  logic [5:0]        fl_aw_len_i,
    input  logic              fl_valid_i,
    output logic              fl_ready_o,
    input  logic [511:0]      fl_data_i,
    input  logic              fl_last_i,
    input  logic              rec_valid_i,
    output logic              rec_ready_o,
    input  logic [deser_pkg::RecW-1:0]   rec_i,
    // AXI4 write, to the arbiter; B by kind of memory
    output logic              awvalid_o,
    input  logic              awready_i,
    output logic [deser_pkg::RowW-1:0]   awrow_o,
    output logic [5:0]        awlen_o,
    output logic              awengine_o,
    output logic              wvalid_o,
    input  logic              wready_i,
    output logic [511:0]      wdata_o,
    output logic [63:0]       wstrb_o,
    output logic              wlast_o,
    input  logic [1:0]        b_i,  // a response of host memory, of engine memory, in this cycle
    input  logic [1:0]        b_fault_i,  // with b_i: it was refused
    output logic              cmpl_valid_o,
    input  logic              cmpl_ready_i,
    output logic [deser_pkg::RecW-1:0]   cmpl_o
);
  localparam int unsigned CountW = 12;

  logic in_region, push, burst_end, aw_ready, w_ready, fresh_q, aw_push;
  logic [deser_pkg::RowW-1:0] first_q, first;
  logic [5:0] len_q, len;
  logic bad_q;
  logic [4:0] aw_level;
  logic [6:0] w_level;

  assign in_region    = row_engine_i ? (row_addr_i[deser_pkg::RowW-1:6] >= cfg_engine_base_i &&
                                     row_addr_i[deser_pkg::RowW-1:6] < cfg_engine_limit_i)
                                  : (row_addr_i[deser_pkg::RowW-1:6] >= cfg_host_base_i &&
                                     row_addr_i[deser_pkg::RowW-1:6] < cfg_host_limit_i);
  assign row_ready_o = w_ready && aw_ready;
  assign push        = row_valid_i && row_ready_o && in_region;
  assign first       = fresh_q ? row_addr_i : first_q;
  assign len         = fresh_q ? 6'd0 : len_q + 6'd1;
  assign burst_end   = row_last_i || (&row_addr_i[5:0]) || (len == 6'd31) ||
                       (eager_i && !row_engine_i && len[1:0] == 2'd3);
  assign row_fresh_o = fresh_q;
  assign row_room_o  = w_level <= 7'd61 && aw_level <= 5'd13;
  assign aw_push     = push && burst_end;

  logic fl_in_region, fl_push;
  assign fl_in_region  = fl_aw_chunk_i >= cfg_host_base_i && fl_aw_chunk_i < cfg_host_limit_i;
  assign fl_aw_ready_o = aw_ready && !aw_push;
  assign fl_aw_bad_o   = !fl_in_region;
  assign fl_push       = fl_aw_valid_i && fl_aw_ready_o && fl_in_region;

  always_ff @(posedge clk_i) begin
    if (push) begin
      first_q <= first;
      len_q   <= len;
    end
  end

  // ---- what is on its way
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
      else if (rec_valid_i && rec_ready_o && rec_i[deser_pkg::RecTypeAt+:4] != deser_pkg::RecChunk) bad_q <= 1'b0;
      for (int i = 0; i < 2; i++) begin
        if ((aw_push && row_engine_i == i[0]) || (fl_push && i == 0)) issued_q[i] <= issued_q[i] + 1'b1;
        if (b_i[i]) answered_q[i] <= answered_q[i] + 1'b1;
      end
    end
  end

  logic rec_fifo_valid;
  logic [2*CountW-1:0] stamp;  // of the record in front: bursts issued before it
  // Bursts are held back while 1,024 have not been answered, or lie behind a record that waits: so their numbers, of
  // CountW bits, can be compared.
  logic hold_q;
  logic [CountW-1:0] ahead_of_answers[2];
  logic [CountW-1:0] ahead_of_record[2];
  always_comb begin
    for (int i = 0; i < 2; i++) begin
      ahead_of_answers[i] = issued_q[i] - answered_q[i];
      ahead_of_record[i]  = issued_q[i] - stamp[i*CountW+:CountW];
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

  // Whose data is due: bursts in the order of their addresses, as soon as those have been taken.
  logic w_fifo_valid, w_fifo_last, aw_flush, due_valid, due_flush, due_room, aw_offer;
  logic [511:0] w_fifo_data;
  logic [63:0] w_fifo_strb;
  logic [4:0] due_level;
  drover_fifo #(.Width(deser_pkg::RowW + 8), .Depth(16), .Bypass(1'b1)) u_aw (
      .clk_i, .rst_ni, .wvalid_i(aw_push || fl_push), .wready_o(aw_ready),
      .wdata_i(fl_push ? {1'b1, 1'b0, fl_aw_len_i, fl_aw_chunk_i, fl_aw_row_i} : {1'b0, row_engine_i, len, first}),
      .rvalid_o(aw_offer), .rready_i(awready_i && due_room && !hold_q), .rdata_o({aw_flush, awengine_o, awlen_o, awrow_o}),
      .level_o(aw_level));
  assign awvalid_o = aw_offer && due_room && !hold_q;
  drover_fifo #(.Width(1), .Depth(16)) u_due (
      .clk_i, .rst_ni, .wvalid_i(awvalid_o && awready_i), .wready_o(due_room), .wdata_i(aw_flush),
      .rvalid_o(due_valid), .rready_i(wvalid_o && wready_i && wlast_o), .rdata_o(due_flush), .level_o(due_level));
  drover_fifo #(.Width(577), .Depth(64)) u_w (
      .clk_i, .rst_ni, .wvalid_i(push), .wready_o(w_ready), .wdata_i({burst_end, row_be_i, row_data_i}),
      .rvalid_o(w_fifo_valid), .rready_i(wready_i && due_valid && !due_flush),
      .rdata_o({w_fifo_last, w_fifo_strb, w_fifo_data}), .level_o(w_level));
  assign wvalid_o   = due_valid && (due_flush ? fl_valid_i : w_fifo_valid);
  assign wdata_o    = due_flush ? fl_data_i : w_fifo_data;
  assign wstrb_o    = due_flush ? '1 : w_fifo_strb;
  assign wlast_o    = due_flush ? fl_last_i : w_fifo_last;
  assign fl_ready_o = due_valid && due_flush && wready_i;

  // ---- records
  logic [deser_pkg::RecW-1:0] rec;
  logic [CountW-1:0] host_ahead, engine_ahead;
  logic [deser_pkg::RecW-1:0] head;
  logic [5:0] rec_level;
  always_comb begin
    rec = rec_i;
    if (bad_q && rec_i[deser_pkg::RecTypeAt+:4] != deser_pkg::RecChunk) begin
      rec[deser_pkg::RecTypeAt+:4] = deser_pkg::RecError;
      rec[deser_pkg::RecCodeAt+:8] = deser_pkg::ErrBadAddress;
    end
  end
  drover_fifo #(.Width(deser_pkg::RecW + 2 * CountW), .Depth(32)) u_records (
      .clk_i, .rst_ni, .wvalid_i(rec_valid_i), .wready_o(rec_ready_o),
      .wdata_i({issued_q[1], issued_q[0], rec}), .rvalid_o(rec_fifo_valid),
      .rready_i(cmpl_ready_i && cmpl_valid_o), .rdata_o({stamp, head}), .level_o(rec_level));
  assign host_ahead   = answered_q[0] - stamp[0+:CountW];
  assign engine_ahead = answered_q[1] - stamp[CountW+:CountW];
  // Refused bursts, by number; a record that covers one says so. Between the first and the last of those that are kept
  // in mind, all count as refused.
  logic [1:0] fault_q, fault_hit, fault_beyond;
  logic [CountW-1:0] fault_first_q[2];
  logic [CountW-1:0] fault_last_q[2];
  logic final_out;
  assign final_out = cmpl_valid_o && cmpl_ready_i && head[deser_pkg::RecTypeAt+:4] != deser_pkg::RecChunk;
  for (genvar i = 0; i < 2; i++) begin : gen_fault
    logic [CountW-1:0] since_first, to_last;
    assign since_first     = stamp[i*CountW+:CountW] - fault_first_q[i] - 1'b1;
    assign to_last         = fault_last_q[i] - stamp[i*CountW+:CountW];
    assign fault_hit[i]    = fault_q[i] && !since_first[CountW-1];
    assign fault_beyond[i] = !to_last[CountW-1];
    logic unused_fault;
    assign unused_fault = ^{since_first, to_last};
  end
  always_comb begin
    cmpl_o = head;
    if (fault_hit != '0 && head[deser_pkg::RecTypeAt+:4] != deser_pkg::RecChunk) begin
      cmpl_o[deser_pkg::RecTypeAt+:4] = deser_pkg::RecError;
      cmpl_o[deser_pkg::RecCodeAt+:8] = deser_pkg::ErrBadAddress;
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
          fault_first_q[i] <= stamp[i*CountW+:CountW];
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

  `DROVER_ASSERT(RowsOfABurstFollowEachOther, !push || fresh_q || row_addr_i == first_q + deser_pkg::RowW'(len))
  `DROVER_ASSERT(AnswersFollowBursts, !ahead_of_answers[0][CountW-1] && !ahead_of_answers[1][CountW-1])
  `DROVER_ASSERT_HOLD(BeatHolds, wvalid_o, wready_i, ({wlast_o, wstrb_o, wdata_o}))
endmodule
