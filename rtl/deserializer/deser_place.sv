// Where the field at hand would lie: a string or packed array at the chunk's top or in a run, an object at the chunk's
// top; and what a pointer to it would hold. Holds the message's run of host memory and that of engine memory.
module deser_place (
    input  logic        clk_i,
    input  logic        rst_ni,
    input  logic [31:0] len_i,
    input  logic        is_packed_i,
    input  logic        counted_i,       // packed varints have been counted: there are pk_count_i
    input  logic [31:0] pk_count_i,
    input  deser_pkg::field_t            field_i,
    input  logic [deser_pkg::AddressW-1:0]  field_addr_i,
    input  logic [deser_pkg::ChunkW-1:0] chunk_i,
    input  logic [12:0] ptr_i,
    output deser_pkg::place_t            place_o,
    // runs
    input  logic        load_i,
    input  logic        take_i,
    input  logic        commit_i,
    input  logic        abort_i,         // with commit_i
    input  logic        run_valid_i,
    output logic        run_ready_o,
    input  deser_pkg::free_run_t         run_i,
    input  logic        erun_valid_i,    // of engine memory
    output logic        erun_ready_o,
    input  deser_pkg::free_run_t         erun_i,
    output deser_pkg::used_run_t         run_o,
    output deser_pkg::used_run_t         erun_o
);
  localparam logic [12:0] Chunk = drover_deserializer_pkg::ChunkBytes[12:0];
  localparam logic [31:0] LargeFrom = 32'd512;  // strings from here on take a run rather than a fresh chunk

  // A string's NUL is part of it; packed varints need at most as many elements as they have bytes.
  drover_deserializer_pkg::type_word_t sub;
  logic [34:0] packed_bound;
  logic [31:0] needed;
  logic [12:0] room, str_bytes, obj_bytes;
  logic str_fits;
  assign sub          = field_i.sub;
  assign room         = Chunk - ptr_i;
  assign packed_bound = {3'd0, len_i} << field_i.log2;
  always_comb begin
    if (counted_i) needed = pk_count_i << field_i.log2;
    else if (!is_packed_i) needed = len_i + 32'd1;
    else needed = field_i.is_fixed ? len_i : packed_bound[31:0];
  end
  assign str_bytes                = {needed[12:3] + 10'(|needed[2:0]), 3'd0};
  assign str_fits                 = needed[31:12] == '0 && str_bytes <= room;
  assign obj_bytes                = {sub.object_words, 3'd0};
  assign place_o.packed_too_large = packed_bound[34:32] != '0;
  assign place_o.str_bytes        = str_bytes;
  assign place_o.str_fits         = str_fits;
  assign place_o.str_large        = (needed >= LargeFrom && !str_fits) || field_i.target;
  assign place_o.obj_bytes        = obj_bytes;
  assign place_o.obj_fits         = obj_bytes <= room;

  logic [deser_pkg::RowW-1:0] large_row, large_rows, large_end, run_row, erun_row;
  logic [deser_pkg::ChunkW-1:0] run_end, erun_end;
  logic [deser_pkg::AddressW-1:0] top_addr;
  logic run_used, erun_used;
  assign large_rows        = deser_pkg::RowW'(needed[31:6]) + deser_pkg::RowW'(|needed[5:0]);
  assign large_row         = field_i.target ? erun_row : run_row;
  assign large_end         = large_row + large_rows;
  assign top_addr          = {chunk_i, ptr_i[11:0]};
  assign place_o.large_row = large_row;
  assign place_o.large_ok  = large_end <= {field_i.target ? erun_end : run_end, 6'd0};
  assign place_o.top_addr  = top_addr;
  assign place_o.to_top    = deser_pkg::relative(top_addr, field_addr_i);
  assign place_o.to_run    = deser_pkg::relative({large_row, 6'd0}, field_addr_i);
  assign place_o.run_fresh = field_i.target ? erun_valid_i && !erun_used : run_valid_i && !run_used;

  deser_run u_run (
      .clk_i, .rst_ni, .fresh_i(run_i), .load_i(run_ready_o), .take_i(take_i && !field_i.target), .row_i(large_end),
      .done_i(commit_i && !abort_i), .forget_i(commit_i && abort_i), .row_o(run_row), .end_o(run_end), .run_o,
      .used_o(run_used));
  deser_run u_engine_run (
      .clk_i, .rst_ni, .fresh_i(erun_i), .load_i(erun_ready_o), .take_i(take_i && field_i.target), .row_i(large_end),
      .done_i(commit_i && !abort_i), .forget_i(commit_i && abort_i), .row_o(erun_row), .end_o(erun_end),
      .run_o(erun_o), .used_o(erun_used));
  assign run_ready_o  = load_i && !field_i.target;
  assign erun_ready_o = load_i && field_i.target;

  logic unused;
  assign unused = ^{field_i, sub};
endmodule
