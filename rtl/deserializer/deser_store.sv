// Stores into objects: the two 4 KB temp buffers, and what goes past them.
//
//   store -> rotate to its place in the row -> S register -+-> temp buffer, if its chunk is the one being filled
//                                                          +-> row stream, if the chunk has been flushed already,
//                                                              for rows of long strings, and field by field
//   flush job -> one burst: the rows of the other buffer, read and zeroed in one pass; then the record
//
// A buffer is all zero when a chunk begins: an object's untouched words need no store. A patch of a flushed chunk waits
// until the burst of that flush has been announced, and so never overtakes it; rows of long strings do not wait. A
// record goes out behind the rows of its job.
module deser_store (
    input  logic             clk_i,
    input  logic             rst_ni,
    // A store of up to 64 bytes at an address of 8-byte alignment.
    input  logic             st_valid_i,
    output logic             st_ready_o,
    input  logic [deser_pkg::AddrW-1:3] st_addr_i,
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
    // Flush a buffer's first rows to its chunk, and pass the record on.
    input  logic             job_valid_i,
    input  logic             job_buffer_i,
    input  logic [deser_pkg::ChunkW-1:0] job_chunk_i,
    input  logic [6:0]       job_rows_i,
    input  logic             job_discard_i,  // zero them only
    input  logic [deser_pkg::RecW-1:0]  job_record_i,
    output logic [1:0]       busy_o,         // by buffer
    output logic             jobs_full_o,
    // A flush: its burst, then its rows.
    output logic             fl_aw_valid_o,
    input  logic             fl_aw_ready_i,
    input  logic             fl_aw_bad_i,    // the chunk is none of ours: with ready
    output logic [deser_pkg::ChunkW-1:0] fl_aw_chunk_o,
    output logic [5:0]       fl_aw_len_o,
    output logic             fl_valid_o,
    input  logic             fl_ready_i,
    output logic [511:0]     fl_data_o,
    output logic             fl_last_o,
    // Other rows; records.
    output logic             row_valid_o,
    input  logic             row_ready_i,
    output logic [deser_pkg::RowW-1:0]  row_addr_o,
    output logic [511:0]     row_data_o,
    output logic [63:0]      row_be_o,
    output logic             row_engine_o,
    output logic             row_last_o,
    output logic             rec_valid_o,
    input  logic             rec_ready_i,
    output logic [deser_pkg::RecW-1:0]  rec_o
);
  // ---- S register
  logic s_valid_q, s_local_q, s_buffer_q, s_engine_q, s_last_q, s_second_q, s_run_q, s_merge_q;
  logic pk_same, pk_hold;
  logic [deser_pkg::RowW-1:0] s_row_q;
  logic [511:0] s_data_q, rot_data;
  logic [63:0] s_be_q, rot_be;
  logic [7:0] s_wrap_q;  // lanes that belong to the next row
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
      s_first_be[8*i+:8]  = s_wrap_q[i] ? 8'd0 : s_be_q[8*i+:8];
      s_second_be[8*i+:8] = s_wrap_q[i] ? s_be_q[8*i+:8] : 8'd0;
    end
  end
  assign s_has_second = |s_second_be;
  assign s_done       = s_valid_q && (s_local_q || (s_row_taken && (s_second_q || !s_has_second)));
  assign pk_same      = s_valid_q && s_merge_q && pk_valid_i && pk_row_i == s_row_q;
  assign pk_hold      = s_merge_q && pk_active_i && (!pk_valid_i || pk_same);
  assign st_ready_o   = !s_valid_q || s_done || pk_same;
  assign st_empty_o   = st_ready_o;

  always_ff @(posedge clk_i) begin
    if (st_valid_i && st_ready_o) begin
      s_row_q    <= st_addr_i[deser_pkg::AddrW-1:6];
      s_data_q   <= rot_data;
      s_be_q     <= rot_be;
      s_wrap_q   <= wrap;
      s_local_q  <= st_local_i;
      s_buffer_q <= st_buffer_i;
      s_engine_q <= st_engine_i;
      s_last_q   <= st_last_i;
      s_run_q    <= st_run_i;
      s_merge_q  <= pk_active_i && pk_merge_i;
      if (pk_same) begin
        for (int i = 0; i < 64; i++) if (!rot_be[i]) s_data_q[8*i+:8] <= s_data_q[8*i+:8];
        s_be_q   <= s_be_q | rot_be;
        s_wrap_q <= '0;
      end else if (pk_active_i && pk_merge_i) begin
        s_wrap_q <= '0;
      end
    end
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      s_valid_q  <= 1'b0;
      s_second_q <= 1'b0;
    end else begin
      if (st_ready_o) s_valid_q <= st_valid_i || (s_valid_q && !s_done);
      if (s_row_taken && !s_local_q) s_second_q <= s_has_second && !s_second_q;
    end
  end

  // ---- jobs, in order; at most one for each buffer
  typedef enum logic [1:0] {JobIdle, JobRows, JobRecord, JobClear} job_state_e;
  job_state_e state_q;
  logic [1:0] busy_q;
  logic j_valid_q, j_buffer_q, j_discard_q, j_announced_q;
  logic [deser_pkg::ChunkW-1:0] j_chunk_q;
  logic [6:0] j_rows_q;
  logic [deser_pkg::RecW-1:0] j_record_q;
  logic n_valid_q, n_buffer_q, n_discard_q;
  logic [deser_pkg::ChunkW-1:0] n_chunk_q;
  logic [6:0] n_rows_q;
  logic [deser_pkg::RecW-1:0] n_record_q;
  logic job_done;
  logic [6:0] rd_row_q;
  logic out_valid_q, out_last_q, out_take, rd;

  assign busy_o      = busy_q;
  assign jobs_full_o = n_valid_q;
  assign rd          = (state_q == JobClear) ||
                       (state_q == JobRows && rd_row_q < j_rows_q && (!out_valid_q || out_take));
  assign out_take    = out_valid_q && (j_discard_q || fl_ready_i);
  assign rec_valid_o = state_q == JobRecord;
  assign rec_o       = j_record_q;
  assign job_done    = state_q == JobRecord && rec_ready_i;

  always_ff @(posedge clk_i) begin
    if (job_valid_i && (!j_valid_q || job_done) && !n_valid_q) begin
      j_buffer_q  <= job_buffer_i;
      j_discard_q <= job_discard_i;
      j_chunk_q   <= job_chunk_i;
      j_rows_q    <= job_rows_i;
      j_record_q  <= job_record_i;
    end else if (job_done) begin
      j_buffer_q  <= n_buffer_q;
      j_discard_q <= n_discard_q;
      j_chunk_q   <= n_chunk_q;
      j_rows_q    <= n_rows_q;
      j_record_q  <= n_record_q;
    end
    if (job_valid_i) begin
      n_buffer_q  <= job_buffer_i;
      n_discard_q <= job_discard_i;
      n_chunk_q   <= job_chunk_i;
      n_rows_q    <= job_rows_i;
      n_record_q  <= job_record_i;
    end
    if (fl_aw_valid_o && fl_aw_ready_i && fl_aw_bad_i) j_discard_q <= 1'b1;
    out_last_q <= rd ? (rd_row_q + 7'd1 == j_rows_q) : out_last_q;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q     <= JobClear;
      busy_q      <= 2'b11;
      j_valid_q   <= 1'b0;
      n_valid_q   <= 1'b0;
      rd_row_q    <= '0;
      out_valid_q <= 1'b0;
      j_announced_q <= 1'b0;
    end else begin
      // Two places; the second is taken only while the first is.
      if (job_valid_i) begin
        if (!j_valid_q || (job_done && !n_valid_q)) j_valid_q <= 1'b1;
        else n_valid_q <= 1'b1;
        busy_q[job_buffer_i] <= 1'b1;
      end else if (job_done) begin
        j_valid_q <= n_valid_q;
        n_valid_q <= 1'b0;
      end
      if (rd) rd_row_q <= rd_row_q + 7'd1;
      if (rd && state_q == JobRows) out_valid_q <= 1'b1;
      else if (out_take) out_valid_q <= 1'b0;
      case (state_q)
        JobClear: begin  // after reset the memories hold anything
          if (rd_row_q == 7'd63) begin
            state_q  <= JobIdle;
            busy_q   <= 2'b00;
          end
        end
        JobIdle: begin
          rd_row_q <= '0;
          j_announced_q <= 1'b0;
          if (j_valid_q && j_rows_q == '0) begin
            state_q <= JobRecord;
          end else if (j_valid_q && (j_discard_q || fl_aw_ready_i)) begin
            state_q       <= JobRows;
            j_announced_q <= 1'b1;
          end
        end
        JobRows: begin
          if (out_take && out_last_q) begin
            state_q            <= JobRecord;
            busy_q[j_buffer_q] <= 1'b0;
          end
        end
        default: begin
          if (rec_ready_i) begin
            state_q            <= JobIdle;
            if (j_rows_q == '0) busy_q[j_buffer_q] <= 1'b0;
          end
        end
      endcase
    end
  end

  // ---- the two buffers: eight banks of 64 bits each
  logic [511:0] buf_data[2];
  for (genvar b = 0; b < 2; b++) begin : gen_buffer
    logic fill, drain;
    assign fill  = s_valid_q && s_local_q && s_buffer_q == b[0];
    assign drain = rd && (state_q == JobClear || j_buffer_q == b[0]);
    for (genvar i = 0; i < 8; i++) begin : gen_bank
      logic [5:0] addr;
      assign addr = drain ? rd_row_q[5:0] : s_row_q[5:0] + {5'd0, s_wrap_q[i]};
      drover_sram_1rw #(.Width(64), .Depth(64)) u_bank (
          .clk_i, .en_i(fill || drain), .be_i(drain ? 8'hFF : s_be_q[8*i+:8]), .addr_i(addr),
          .wdata_i(drain ? 64'd0 : s_data_q[64*i+:64]), .rdata_o(buf_data[b][64*i+:64]));
    end
`ifndef SYNTHESIS
    always_ff @(posedge clk_i) begin
      if (rst_ni) assert (!(fill && drain)) else $error("a buffer is filled while it is flushed");
    end
`endif
  end

  // ---- out
  logic unannounced;
  assign fl_aw_valid_o = state_q == JobIdle && j_valid_q && j_rows_q != '0 && !j_discard_q;
  assign fl_aw_chunk_o = j_chunk_q;
  assign fl_aw_len_o   = 6'(j_rows_q - 7'd1);
  assign fl_valid_o    = out_valid_q && !j_discard_q;
  assign fl_data_o     = j_buffer_q ? buf_data[1] : buf_data[0];
  assign fl_last_o     = out_last_q;
  assign unannounced   = (j_valid_q && !j_announced_q) || n_valid_q;
  assign direct_ok     = s_valid_q && !s_local_q && (s_run_q || !unannounced) && !pk_hold;
  assign s_row_taken   = direct_ok && row_ready_i;
  assign row_valid_o   = direct_ok;
  assign row_addr_o    = s_second_q ? s_row_q + 1'b1 : s_row_q;
  assign row_data_o    = s_data_q;
  assign row_be_o      = s_second_q ? s_second_be : s_first_be;
  assign row_engine_o  = s_engine_q;
  assign row_last_o    = s_merge_q ? !pk_active_i : s_last_q || s_has_second;

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni && job_valid_i) begin
      assert (!n_valid_q) else $error("a third flush job");
    end
  end
`endif
endmodule
