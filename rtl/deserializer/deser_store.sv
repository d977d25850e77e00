// Stores into objects: the two 4 KB temp buffers, and the rows that bypass them.
//
//   store -> rotate to its place in the row -> S register -+-> temp buffer, if its chunk is the one being filled
//                                                          +-> row stream, if the chunk has been flushed already,
//                                                              for rows of long strings, and field by field
//   eager rows -> row stream: rows of the chunk being filled that are final, while the link would idle (deser_eager)
//   flush job -> the other rows of the buffer that has been filled, read and zeroed in one pass; then the record
//
// A flush is a burst for what lies below the eager rows and one for what lies above; while the link would idle, bursts
// are of four rows, so that the first is on the link before the last has been read.
//
// A buffer is all zero when a chunk begins: an object's untouched words need no store. A store into a flushed
// chunk waits until the bursts of that flush have been announced, and so never overtakes them; rows of long strings do
// not wait. A record goes out behind the rows of its job.
`include "drover_assert.svh"
module deser_store (
    input  logic             clk_i,
    input  logic             rst_ni,
    // A store of up to 64 bytes at an address of 8-byte alignment.
    input  logic             st_valid_i,
    output logic             st_ready_o,
    input  logic [deser_pkg::AddressW-1:3] st_addr_i,
    input  logic [511:0]     st_data_i,
    input  logic [63:0]      st_be_i,
    input  logic             st_local_i,   // into temp buffer st_buffer_i
    input  logic             st_buffer_i,
    input  logic             st_engine_i,  // into engine memory
    input  logic             st_last_i,    // ends a burst
    input  logic             st_run_i,     // a row of a run, where no flush goes
    // Packed varints on their way to a run: elements of one row are gathered before it goes out.
    input  logic             pk_active_i,  // more may come
    input  logic             pk_valid_i,   // there is one
    input  logic             pk_merge_i,   // gather
    input  logic [deser_pkg::RowW-1:0] pk_row_i,
    output logic             st_empty_o,   // nothing in the S register, or it leaves in this cycle
    // Rows that go out early: deser_eager.
    input  logic             eager_i,
    input  logic             more_i,         // the message goes on for a while
    input  logic             final_i,
    input  logic [6:0]       final_low_i,
    input  logic [6:0]       final_high_i,
    input  logic             row_fresh_i,    // the writer has no burst half gathered
    input  logic             row_room_i,     // and takes a row one cycle from now
    output logic             eager_busy_o,   // the buffer being filled cannot be flushed yet
    // Flush a buffer's first rows to its chunk, and pass the record on.
    input  logic             job_valid_i,
    input  deser_pkg::job_t  job_i,
    input  drover_deserializer_pkg::completion_record_t job_record_i,
    output logic [1:0]       busy_o,         // by buffer
    output logic             jobs_full_o,
    // A flush: its burst, then its rows.
    output logic             fl_aw_valid_o,
    input  logic             fl_aw_ready_i,
    input  logic             fl_aw_bad_i,    // with ready: the chunk lies outside the region
    output deser_pkg::flush_t fl_aw_o,
    output logic             fl_valid_o,
    input  logic             fl_ready_i,
    output logic [511:0]     fl_data_o,
    output logic             fl_last_o,
    // Other rows; records.
    output logic             row_valid_o,
    input  logic             row_ready_i,
    output deser_pkg::row_t  row_o,
    output logic             rec_valid_o,
    input  logic             rec_ready_i,
    output drover_deserializer_pkg::completion_record_t rec_o
);
  // ---- S register: the store at hand
  typedef struct packed {
    logic                       local_;  // into temp buffer `buffer`
    logic                       buffer;
    logic                       engine;
    logic                       last;
    logic                       run;
    logic                       merge;
    logic [deser_pkg::RowW-1:0] row;
    logic [7:0]                 wrap;    // words that belong to the next row
    logic [63:0]                be;
    logic [511:0]               data;
  } s_t;
  s_t s_q, s_d;
  logic s_valid_q, s_second_q;
  logic pk_same, pk_hold;
  logic [511:0] rot_data;
  logic [63:0] rot_be;
  logic [7:0] wrap;
  logic [2:0] lane;
  logic s_has_second, s_row_taken, s_done, direct_ok;

  assign lane = st_addr_i[5:3];
  logic [511:0] rot1, rot2;
  logic [63:0] be1, be2;
  assign rot1     = lane[0] ? {st_data_i[447:0], st_data_i[511:448]} : st_data_i;
  assign rot2     = lane[1] ? {rot1[383:0], rot1[511:384]} : rot1;
  assign rot_data = lane[2] ? {rot2[255:0], rot2[511:256]} : rot2;
  assign be1      = lane[0] ? {st_be_i[55:0], st_be_i[63:56]} : st_be_i;
  assign be2      = lane[1] ? {be1[47:0], be1[63:48]} : be1;
  assign rot_be   = lane[2] ? {be2[31:0], be2[63:32]} : be2;
  for (genvar i = 0; i < 8; i++) begin : gen_wrap
    assign wrap[i] = {1'b0, lane} > 4'(i);
  end

  logic [63:0] s_first_be, s_second_be;
  always_comb begin
    for (int i = 0; i < 8; i++) begin
      s_first_be[8*i+:8]  = s_q.wrap[i] ? 8'd0 : s_q.be[8*i+:8];
      s_second_be[8*i+:8] = s_q.wrap[i] ? s_q.be[8*i+:8] : 8'd0;
    end
  end
  // ---- rows that go out early
  logic e_busy, e_re, e_valid, e_last, e_any, e_buffer_q, fill;
  logic [5:0] e_row, e_valid_row;
  logic [6:0] e_sent_low, e_sent_high;
  assign fill = s_valid_q && s_q.local_;
  deser_eager u_eager (
      .clk_i, .rst_ni, .want_i(eager_i && more_i), .new_i(job_valid_i), .final_i,
      .low_i(final_low_i), .high_i(final_high_i), .room_i(row_room_i),
      .clear_i(row_fresh_i && (!s_valid_q || s_q.local_)), .fill_i(fill), .busy_o(e_busy), .re_o(e_re), .row_o(e_row),
      .valid_o(e_valid), .valid_row_o(e_valid_row), .last_o(e_last), .any_o(e_any), .sent_low_o(e_sent_low),
      .sent_high_o(e_sent_high));
  assign eager_busy_o = e_busy;
  always_ff @(posedge clk_i) e_buffer_q <= job_i.buffer;

  assign s_has_second = |s_second_be;
  assign s_done       = s_valid_q && (s_q.local_ || (s_row_taken && (s_second_q || !s_has_second)));
  assign pk_same      = s_valid_q && s_q.merge && pk_valid_i && pk_row_i == s_q.row;
  assign pk_hold      = s_q.merge && pk_active_i && (!pk_valid_i || pk_same);
  assign st_ready_o   = !s_valid_q || s_done || pk_same;
  assign st_empty_o   = st_ready_o;

  always_ff @(posedge clk_i) begin
    if (st_valid_i && st_ready_o) s_q <= s_d;
  end
  always_comb begin
    s_d.row    = st_addr_i[deser_pkg::AddressW-1:6];
    s_d.data   = rot_data;
    s_d.be     = rot_be;
    s_d.wrap   = wrap;
    s_d.local_ = st_local_i;
    s_d.buffer = st_buffer_i;
    s_d.engine = st_engine_i;
    s_d.last   = st_last_i;
    s_d.run    = st_run_i;
    s_d.merge  = pk_active_i && pk_merge_i;
    if (pk_same) begin
      for (int i = 0; i < 64; i++) if (!rot_be[i]) s_d.data[8*i+:8] = s_q.data[8*i+:8];
      s_d.be   = s_q.be | rot_be;
      s_d.wrap = '0;
    end else if (pk_active_i && pk_merge_i) begin
      s_d.wrap = '0;
    end
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      s_valid_q  <= 1'b0;
      s_second_q <= 1'b0;
    end else begin
      if (st_ready_o) s_valid_q <= st_valid_i || (s_valid_q && !s_done);
      if (s_row_taken && !s_q.local_) s_second_q <= s_has_second && !s_second_q;
    end
  end

  // ---- jobs, in order; at most one for each buffer
  typedef enum logic [1:0] {JobIdle, JobRows, JobRecord, JobClear} job_state_e;
  job_state_e state_q;
  logic [1:0] busy_q;
  typedef struct packed {
    deser_pkg::job_t job;
    logic [6:0]      gap_low;  // rows from low to high (exclusive) have gone
    logic [6:0]      gap_high;
  } queued_t;
  queued_t j_q, n_q, job;  // at work; the one behind it; the one that comes
  drover_deserializer_pkg::completion_record_t j_record_q, n_record_q;
  logic j_valid_q, n_valid_q, j_split_q, announced, job_done;
  logic [6:0] rd_row_q, rd_plus, rd_first;
  logic [6:0] an_row_q, piece_begin, piece_end, segment_end;  // rows before an_row_q have been announced
  logic [1:0] rd_in_piece;
  logic out_valid_q, out_last_q, out_take, rd, rd_all, rd_last, split;

  assign busy_o      = busy_q;
  assign jobs_full_o = n_valid_q;
  assign rd          = (state_q == JobClear) ||
                       (state_q == JobRows && (j_q.job.discard ? !rd_all : rd_row_q != an_row_q) &&
                        (!out_valid_q || out_take));
  assign out_take    = out_valid_q && (j_q.job.discard || fl_ready_i);
  assign rec_valid_o = state_q == JobRecord;
  assign rec_o       = j_record_q;
  assign job_done    = state_q == JobRecord && rec_ready_i;

  // Rows of the job in their order: those below what has gone, then those above. Bursts are announced ahead of rows.
  assign job.job      = job_i;
  assign job.gap_low  = e_any ? e_sent_low : job_i.rows;
  assign job.gap_high = e_any ? e_sent_high : job_i.rows;
  assign rd_first    = j_q.gap_low == '0 ? j_q.gap_high : '0;
  assign rd_plus     = rd_row_q + 7'd1;
  assign rd_all      = rd_row_q == j_q.job.rows;
  assign rd_in_piece = rd_row_q[1:0] - (rd_row_q < j_q.gap_low ? 2'd0 : j_q.gap_high[1:0]);
  assign rd_last     = rd_plus == j_q.gap_low || rd_plus == j_q.job.rows || (j_split_q && rd_in_piece == 2'd3);
  assign split       = state_q == JobIdle ? eager_i : j_split_q;
  assign piece_begin = state_q == JobIdle ? rd_first : an_row_q;
  assign segment_end = piece_begin < j_q.gap_low ? j_q.gap_low : j_q.job.rows;
  assign piece_end   = split && segment_end > piece_begin + 7'd4 ? piece_begin + 7'd4 : segment_end;
  assign announced   = (state_q == JobRows || state_q == JobRecord) && (j_q.job.discard || an_row_q == j_q.job.rows);

  always_ff @(posedge clk_i) begin
    if (job_valid_i && (!j_valid_q || job_done) && !n_valid_q) begin
      j_q        <= job;
      j_record_q <= job_record_i;
    end else if (job_done) begin
      j_q        <= n_q;
      j_record_q <= n_record_q;
    end
    if (job_valid_i) begin
      n_q        <= job;
      n_record_q <= job_record_i;
    end
    if (fl_aw_valid_o && fl_aw_ready_i && fl_aw_bad_i) j_q.job.discard <= 1'b1;
    out_last_q <= rd ? rd_last : out_last_q;
    if (state_q == JobIdle) j_split_q <= eager_i;
    if (state_q == JobIdle && (!j_valid_q || rd_first == j_q.job.rows)) an_row_q <= rd_first;
    else if (fl_aw_valid_o && fl_aw_ready_i) an_row_q <= piece_end == j_q.gap_low ? j_q.gap_high : piece_end;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q     <= JobClear;
      busy_q      <= 2'b11;
      j_valid_q   <= 1'b0;
      n_valid_q   <= 1'b0;
      rd_row_q    <= '0;
      out_valid_q <= 1'b0;
    end else begin
      // A second job waits only while the first is at work.
      if (job_valid_i) begin
        if (!j_valid_q || (job_done && !n_valid_q)) j_valid_q <= 1'b1;
        else n_valid_q <= 1'b1;
        busy_q[job_i.buffer] <= 1'b1;
      end else if (job_done) begin
        j_valid_q <= n_valid_q;
        n_valid_q <= 1'b0;
      end
      if (rd) rd_row_q <= state_q != JobClear && rd_plus == j_q.gap_low ? j_q.gap_high : rd_plus;
      if (rd && state_q == JobRows) out_valid_q <= 1'b1;
      else if (out_take) out_valid_q <= 1'b0;
      case (state_q)
        JobClear: begin  // after reset the memories may hold anything
          if (rd_row_q == 7'd63) begin
            state_q  <= JobIdle;
            busy_q   <= 2'b00;
          end
        end
        JobIdle: begin
          rd_row_q <= rd_first;
          if (j_valid_q && rd_first == j_q.job.rows) state_q <= JobRecord;
          else if (j_valid_q && (j_q.job.discard || fl_aw_ready_i)) state_q <= JobRows;
        end
        JobRows: begin
          if (rd_all && out_take) begin
            state_q            <= JobRecord;
            busy_q[j_q.job.buffer] <= 1'b0;
          end
        end
        default: begin
          if (rec_ready_i) begin
            state_q            <= JobIdle;
            if (rd_first == j_q.job.rows) busy_q[j_q.job.buffer] <= 1'b0;
          end
        end
      endcase
    end
  end

  // ---- the two buffers: eight banks of 64 bits each
  logic [511:0] buf_data[2];
  for (genvar b = 0; b < 2; b++) begin : gen_buffer
    logic filled, early, drain;
    assign filled = fill && s_q.buffer == b[0];
    assign early  = e_re && job_i.buffer == b[0];
    assign drain  = early || (rd && (state_q == JobClear || j_q.job.buffer == b[0]));
    for (genvar i = 0; i < 8; i++) begin : gen_bank
      logic [5:0] addr;
      assign addr = early ? e_row : drain ? rd_row_q[5:0] : s_q.row[5:0] + {5'd0, s_q.wrap[i]};
      drover_sram_1rw #(.Width(64), .Depth(64)) u_bank (
          .clk_i, .en_i(filled || drain), .be_i(drain ? 8'hFF : s_q.be[8*i+:8]), .addr_i(addr),
          .wdata_i(drain ? 64'd0 : s_q.data[64*i+:64]), .rdata_o(buf_data[b][64*i+:64]));
    end
    `DROVER_ASSERT(FilledOrFlushed, !(filled && drain))
    `DROVER_ASSERT(FlushedOnce, !(early && rd && j_q.job.buffer == b[0] && state_q != JobIdle))
  end

  // ---- out
  logic unannounced;
  assign fl_aw_valid_o = !j_q.job.discard && ((state_q == JobIdle && j_valid_q && rd_first != j_q.job.rows) ||
                                          (state_q == JobRows && an_row_q != j_q.job.rows));
  assign fl_aw_o.chunk = j_q.job.chunk;
  assign fl_aw_o.row   = piece_begin[5:0];
  assign fl_aw_o.len   = 6'(piece_end - piece_begin - 7'd1);
  assign fl_valid_o    = out_valid_q && !j_q.job.discard;
  assign fl_data_o     = j_q.job.buffer ? buf_data[1] : buf_data[0];
  assign fl_last_o     = out_last_q;
  assign unannounced   = (j_valid_q && !announced) || n_valid_q;
  assign direct_ok     = s_valid_q && !s_q.local_ && (s_q.run || !unannounced) && !pk_hold;
  assign s_row_taken   = direct_ok && !e_busy && row_ready_i;
  always_comb begin
    if (e_valid) begin
      row_valid_o  = 1'b1;
      row_o.addr   = {job_i.chunk, e_valid_row};
      row_o.data   = e_buffer_q ? buf_data[1] : buf_data[0];
      row_o.be     = '1;
      row_o.engine = 1'b0;
      row_o.last   = e_last;
    end else begin
      row_valid_o  = direct_ok && !e_busy;
      row_o.addr   = s_second_q ? s_q.row + 1'b1 : s_q.row;
      row_o.data   = s_q.data;
      row_o.be     = s_second_q ? s_second_be : s_first_be;
      row_o.engine = s_q.engine;
      row_o.last   = s_q.merge ? !pk_active_i : s_q.last || s_has_second;
    end
  end

  `DROVER_ASSERT(NoThirdJob, !job_valid_i || !n_valid_q)
  `DROVER_ASSERT(NoFlushInAnEagerBurst, !job_valid_i || !e_busy)
  `DROVER_ASSERT(EagerRowsAreTaken, !e_valid || row_ready_i)
  `DROVER_ASSERT(NoStoreBehindAnEagerBurst, !(fill && e_any && {1'b0, s_q.row[5:0]} >= e_sent_low &&
                                              {1'b0, s_q.row[5:0]} < e_sent_high))
endmodule
