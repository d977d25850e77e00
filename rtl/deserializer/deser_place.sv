// Where the field at hand would lie: a string or packed array at the chunk's top or in a run, an object at the chunk's
// top; and what a pointer to it would hold. Holds the message's run of host memory and that of engine memory.
module deser_place (
    input  logic        clk_i,
    input  logic        rst_ni,
    input  logic [31:0] len_i,
    input  logic        is_packed_i,
    input  logic        packed_fixed_i,
    input  logic        counted_i,       // packed varints have been counted: pk_count_i
    input  logic [31:0] pk_count_i,
    input  logic [1:0]  log2_i,          // bytes of an element
    input  logic        target_i,        // to engine memory
    input  logic [9:0]  object_words_i,
    input  logic [deser_pkg::AddrW-1:0]  field_addr_i,
    input  logic [deser_pkg::ChunkW-1:0] chunk_i,
    input  logic [12:0] ptr_i,
    output logic        packed_too_large_o,
    output logic [12:0] str_bytes_o,
    output logic        str_fits_o,
    output logic        str_large_o,     // takes a run
    output logic        large_engine_o,
    output logic        large_ok_o,      // the run is long enough
    output logic [deser_pkg::RowW-1:0]   large_row_o,
    output logic [12:0] obj_bytes_o,
    output logic        obj_fits_o,
    output logic [deser_pkg::AddrW-1:0]  top_addr_o,
    output logic [63:0] to_top_o,
    output logic [63:0] to_run_o,
    // runs
    input  logic        load_i,
    input  logic        take_i,
    input  logic        commit_i,
    input  logic        abort_i,         // with commit_i
    output logic        run_fresh_o,     // a run waits, and that at hand has not been used
    input  logic        run_valid_i,
    output logic        run_ready_o,
    input  logic [deser_pkg::ChunkW-1:0] run_first_i,
    input  logic [11:0] run_count_i,
    input  logic        erun_valid_i,
    output logic        erun_ready_o,
    input  logic [deser_pkg::ChunkW-1:0] erun_first_i,
    input  logic [11:0] erun_count_i,
    output logic [deser_pkg::ChunkW-1:0] run_first_o,
    output logic [11:0] run_chunks_o,
    output logic [deser_pkg::ChunkW-1:0] erun_first_o,
    output logic [11:0] erun_chunks_o
);
  localparam logic [12:0] ChunkBytes = 13'd4096;
  localparam logic [31:0] LargeFrom = 32'd512;  // strings from here on take a run rather than a fresh chunk

  // A string's NUL is part of it; packed varints need at most as many elements as they have bytes.
  logic [34:0] packed_bound;
  logic [31:0] needed;
  logic [12:0] room;
  assign room = ChunkBytes - ptr_i;
  always_comb begin
    if (counted_i) needed = pk_count_i << log2_i;
    else if (!is_packed_i) needed = len_i + 32'd1;
    else needed = packed_fixed_i ? len_i : packed_bound[31:0];
  end
  assign packed_bound       = {3'd0, len_i} << log2_i;
  assign packed_too_large_o = packed_bound[34:32] != '0;
  assign str_bytes_o        = {needed[12:3] + 10'(|needed[2:0]), 3'd0};
  assign str_fits_o         = needed[31:12] == '0 && str_bytes_o <= room;
  assign str_large_o        = (needed >= LargeFrom && !str_fits_o) || target_i;
  assign obj_bytes_o        = {object_words_i, 3'd0};
  assign obj_fits_o         = obj_bytes_o <= room;

  logic [deser_pkg::RowW-1:0] large_rows, large_end, run_row, erun_row;
  logic [deser_pkg::ChunkW-1:0] run_end, erun_end;
  logic run_used, erun_used;
  assign large_engine_o = target_i;
  assign large_rows     = deser_pkg::RowW'(needed[31:6]) + deser_pkg::RowW'(|needed[5:0]);
  assign large_row_o    = target_i ? erun_row : run_row;
  assign large_end      = large_row_o + large_rows;
  assign large_ok_o     = large_end <= {target_i ? erun_end : run_end, 6'd0};
  assign top_addr_o     = {chunk_i, ptr_i[11:0]};
  assign to_top_o       = deser_pkg::relative(top_addr_o, field_addr_i);
  assign to_run_o       = deser_pkg::relative({large_row_o, 6'd0}, field_addr_i);

  deser_run u_run (
      .clk_i, .rst_ni, .first_i(run_first_i), .count_i(run_count_i), .load_i(run_ready_o),
      .take_i(take_i && !target_i), .row_i(large_end), .done_i(commit_i && !abort_i), .forget_i(commit_i && abort_i),
      .row_o(run_row), .first_o(run_first_o), .end_o(run_end), .chunks_o(run_chunks_o), .used_o(run_used));
  deser_run u_engine_run (
      .clk_i, .rst_ni, .first_i(erun_first_i), .count_i(erun_count_i), .load_i(erun_ready_o),
      .take_i(take_i && target_i), .row_i(large_end), .done_i(commit_i && !abort_i), .forget_i(commit_i && abort_i),
      .row_o(erun_row), .first_o(erun_first_o), .end_o(erun_end), .chunks_o(erun_chunks_o), .used_o(erun_used));
  assign run_ready_o  = load_i && !target_i;
  assign erun_ready_o = load_i && target_i;
  assign run_fresh_o  = target_i ? erun_valid_i && !erun_used : run_valid_i && !run_used;
endmodule
