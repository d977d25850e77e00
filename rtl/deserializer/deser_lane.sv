// One deserializer lane: wire bytes of one message after the other into objects (docs/rtl.md has the picture).
//
//   T  a field's tag and value from the window; the step's and side word's read begins       (front)
//   L  the step is there: what to do with the field; one field a cycle for scalars            (this module's states)
//   S  the store, turned to its place, into the temp buffer or past it                        (deser_store)
//
// T runs ahead of L by one field. It stops at what it cannot size alone (lengths, groups), until L has said whether the
// bytes are a message to enter, or has taken them itself (copy, packed, skip). The stacks are two: T's knows limits and
// slots and is popped by T itself, L's knows the object; so leaving a message costs one cycle.
//
// An array whose length is not known in advance (repeated, not packed) gathers on the element stack: the innermost
// message's open run lies on top. It is closed, that is written to the chunk, by the next field of another number and
// by the message's end.
module deser_lane #(
    parameter int unsigned StepsLog2 = 14,
    parameter int unsigned TypesLog2 = 10,
    parameter int unsigned StackLog2 = 7,    // levels of messages
    parameter int unsigned ElementsLog2 = 10  // of the element stack
) (
    input  logic              clk_i,
    input  logic              rst_ni,
    // configuration; stable while a message is read
    input  logic              cfg_one_shot_i,        // 0: each store is a DMA write of its own
    input  logic              eager_i,               // the link would idle: what is final may go out now
    input  logic              cfg_protoacc_i,        // reads a descriptor for each field, and has-bits to update them
    input  logic [deser_pkg::RowW-1:0] cfg_descriptors_i,  // row of the first step's descriptor, 32 bytes each
    input  logic [7:0]        cfg_depth_limit_i,
    input  logic [deser_pkg::ChunkW-1:0] cfg_host_base_i,
    input  logic [deser_pkg::ChunkW-1:0] cfg_host_limit_i,
    input  logic [deser_pkg::ChunkW-1:0] cfg_engine_base_i,
    input  logic [deser_pkg::ChunkW-1:0] cfg_engine_limit_i,
    // schema table
    input  logic              load_valid_i,
    input  logic [1:0]        load_space_i,
    input  logic [31:0]       load_addr_i,
    input  logic [63:0]       load_data_i,
    // a message: type, length, and what its records are to carry; then its bytes
    input  logic              cmd_valid_i,
    output logic              cmd_ready_o,
    input  logic [15:0]       cmd_type_i,
    input  logic [31:0]       cmd_length_i,
    input  logic [31:0]       cmd_cookie_i,
    input  logic [511:0]      rx_tdata_i,
    input  logic              rx_tvalid_i,
    output logic              rx_tready_o,
    // free memory: chunks of the host's; runs of the host's and of engine memory as first chunk and count
    input  logic              chunk_valid_i,
    output logic              chunk_ready_o,
    input  logic [deser_pkg::ChunkW-1:0] chunk_i,
    input  logic              run_valid_i,
    output logic              run_ready_o,
    input  logic [deser_pkg::ChunkW-1:0] run_first_i,
    input  logic [11:0]       run_count_i,
    input  logic              erun_valid_i,
    output logic              erun_ready_o,
    input  logic [deser_pkg::ChunkW-1:0] erun_first_i,
    input  logic [11:0]       erun_count_i,
    // reads of ProtoACC's way: one at a time, a row; what comes back is only waited for
    output logic              arvalid_o,
    input  logic              arready_i,
    output logic [deser_pkg::RowW-1:0] arrow_o,
    input  logic              r_i,
    // DMA writes
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
    input  logic [1:0]        b_i,        // answered: a burst of host memory, of engine memory
    input  logic [1:0]        b_fault_i,  // with b_i: it was refused
    // records
    output logic              cmpl_valid_o,
    input  logic              cmpl_ready_i,
    output logic [deser_pkg::RecW-1:0]   cmpl_o,
    output logic              idle_o
);
  localparam int unsigned Levels = 1 << StackLog2;
  localparam int unsigned SpW = ElementsLog2 + 1;
  localparam logic [12:0] ChunkBytes = 13'd4096;
  localparam logic [31:0] LargeFrom = 32'd512;  // strings from here on take a run rather than a fresh chunk

  localparam logic [3:0] OpBool = drover_image_pkg::OpBool[3:0];
  localparam logic [3:0] OpSint32 = drover_image_pkg::OpSint32[3:0];
  localparam logic [3:0] OpSint64 = drover_image_pkg::OpSint64[3:0];
  localparam logic [3:0] OpFixed32 = drover_image_pkg::OpFixed32[3:0];
  localparam logic [3:0] OpFixed64 = drover_image_pkg::OpFixed64[3:0];
  localparam logic [3:0] OpClosedEnum = drover_image_pkg::OpClosedEnum[3:0];
  localparam logic [3:0] OpUtf8 = drover_image_pkg::OpUtf8[3:0];
  localparam logic [3:0] OpGroup = drover_image_pkg::OpGroup[3:0];

  typedef enum logic [4:0] {
    XIdle,        // waits for a message, a chunk and a free buffer
    XRun,         // a token a cycle
    XOwner,       // owner word of the object just entered
    XCase,        // case word of a oneof
    XCopy,        // bytes of a string or of packed fixed-size elements
    XNulRow,      // the row that holds nothing but the NUL behind a long string
    XPacked,      // packed varints
    XPackedEnd,
    XSkip,        // bytes that nobody wants
    XUnknown,     // an unknown field: the String that gathers them,
    XUnknownAt,   // the object's pointer to it,
    XUnknownHead, // tag and value or length
    XKey,         // a map entry's key, among those of its map
    XRead,        // ProtoACC's way: reads before a field,
    XReadWait,
    XHasBits,     // and its has-bits, written back
    XClose,       // the open run: its place and its Repeated
    XCloseOwner,  // owner word in front of an array of Strings
    XCloseElem,
    XSwitch,      // a fresh chunk
    XSearch,      // a number beyond the slots, among the steps
    XEnum,        // a closed enum's value, among those it has
    XFinish,
    XAbort,
    XDrain
  } state_e;
  state_e state_q, state_d, ret_q, ret_d;

  // ---------------------------------------------------------------- T
  localparam logic [1:0] TokField = deser_pkg::TokField;
  localparam logic [1:0] TokEnd = deser_pkg::TokEnd;
  localparam logic [1:0] TokError = deser_pkg::TokError;
  logic [511:0] win;
  logic [7:0] avail;
  logic [31:0] pos, left;
  logic win_start, win_end, consume, have16, d_overlong;
  logic [6:0] consume_count;
  logic [28:0] d_number;
  logic [63:0] d_value;
  logic [3:0] d_vsize;
  logic tok_valid_q, tok_take, t_fire, front_resume, front_off, t_push, t_push_group, tok_in_slots_q;
  logic [1:0] tok_q;
  logic [28:0] tok_number_q;
  logic [2:0] tok_wtype_q;
  logic [63:0] tok_value_q;
  logic [7:0] tok_error_q;
  logic [31:0] t_limit_q, t_push_limit;
  logic [deser_pkg::StepAddrW-1:0] t_slots_q;
  logic [11:0] t_slot_count_q;
  logic [15:0] t_field_count_q;
  logic [deser_pkg::SubW-1:0] t_push_sub;
  deser_front #(.StackLog2(StackLog2)) u_front (
      .clk_i, .rst_ni, .rx_tdata_i, .rx_tvalid_i, .rx_tready_o, .start_i(win_start), .length_i(cmd_length_i),
      .end_i(win_end), .off_i(front_off), .resume_i(front_resume), .push_i(t_push), .push_group_i(t_push_group),
      .push_limit_i(t_push_limit), .sub_i(t_push_sub), .bulk_i(consume), .bulk_count_i(consume_count),
      .back_i(cp_back_q), .packed_i(state_q == XPacked), .win_o(win), .avail_o(avail), .pos_o(pos), .left_o(left),
      .have16_o(have16), .value_o(d_value), .varint_size_o(d_vsize), .overlong_o(d_overlong), .fire_o(t_fire),
      .number_o(d_number), .tok_valid_o(tok_valid_q), .tok_take_i(tok_take), .tok_kind_o(tok_q),
      .tok_number_o(tok_number_q), .tok_wire_type_o(tok_wtype_q), .tok_value_o(tok_value_q),
      .tok_error_o(tok_error_q), .tok_in_slots_o(tok_in_slots_q), .limit_o(t_limit_q), .slots_o(t_slots_q),
      .slot_count_o(t_slot_count_q), .field_count_o(t_field_count_q));

  // ---------------------------------------------------------------- schema table
  logic step_re, search_re;
  logic [deser_pkg::StepAddrW-1:0] step_addr, search_addr;
  logic [63:0] step;
  logic [127:0] side;
  logic begun;  // an empty message has a beat too
  assign begun = pos != '0 || avail != '0;
  logic [deser_pkg::SubW-1:0] root;
  logic root_valid_q;
  assign step_re   = t_fire || search_re;
  assign step_addr = search_re ? search_addr : t_slots_q + d_number[deser_pkg::StepAddrW-1:0];
  deser_table #(.StepsLog2(StepsLog2), .TypesLog2(TypesLog2)) u_table (
      .clk_i, .rst_ni, .load_valid_i, .load_space_i, .load_addr_i, .load_data_i, .step_re_i(step_re),
      .step_addr_i(step_addr), .step_o(step), .side_o(side), .enum_re_i(enum_re), .enum_addr_i(search_at),
      .enum_o(enum_read), .type_re_i(1'b1), .type_addr_i(cmd_type_i),
      .type_o(root));
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) root_valid_q <= 1'b0;
    else root_valid_q <= cmd_valid_i && !cmd_ready_o;
  end

  // The field at hand.
  logic there, found, found_q;
  logic [11:0] f_offset, f_case;
  logic [6:0] f_has_bit;
  logic [3:0] f_op;
  logic f_repeated, f_map, f_target, f_oneof, f_is_string, f_is_message, f_is_scalar;
  logic [deser_pkg::SubW-1:0] f_sub;
  logic [2:0] f_wtype;
  logic [1:0] f_log2;
  deser_field u_field (
      .step_i(step), .side_i(side), .there_o(there), .offset_o(f_offset), .has_bit_o(f_has_bit), .op_o(f_op),
      .repeated_o(f_repeated), .map_o(f_map), .target_o(f_target), .oneof_o(f_oneof), .case_o(f_case), .sub_o(f_sub),
      .is_string_o(f_is_string), .is_message_o(f_is_message), .is_scalar_o(f_is_scalar), .wire_type_o(f_wtype),
      .log2_o(f_log2));
  assign found = (tok_in_slots_q || found_q) && there;

  // A scalar as it is stored; in packed mode the element comes straight from the window.
  logic [63:0] raw_value, scalar;
  logic enum_re, enum_known_q, enum_known_d;
  logic [31:0] enum_read, enum_value_q;
  assign raw_value  = state_q == XPacked ? d_value : tok_value_q;
  always_comb begin
    case (f_op)
      OpBool: scalar = {63'd0, raw_value != '0};
      OpSint32: scalar = {32'd0, {1'b0, raw_value[31:1]} ^ {32{raw_value[0]}}};
      OpSint64: scalar = {1'b0, raw_value[63:1]} ^ {64{raw_value[0]}};
      default: scalar = raw_value;
    endcase
  end

  // ---------------------------------------------------------------- L: the innermost message
  logic [deser_pkg::AddrW-1:0] e_obj_q, e_obj_d;
  logic [63:0] e_has_q, e_has_d, e_seen_q, e_seen_d;
  logic run_open_q, run_open_d, run_map_q, run_map_d, e_entry_q, e_entry_d;
  logic [11:0] run_off_q, run_off_d;
  logic [SpW-1:0] run_base_q, run_base_d, sp_q, sp_d;
  logic [2:0] run_kind_q, run_kind_d;  // 0, 2, 3: scalars of 1, 4, 8 bytes; 4 Strings; 5 pointers
  localparam logic [2:0] RunStrings = 3'd4;
  localparam logic [2:0] RunPointers = 3'd5;
  logic [StackLog2:0] e_depth_q;
  logic [6:0] e_end_q, e_end_d;  // first row behind it, in its chunk
  localparam int unsigned EFrameW = deser_pkg::AddrW + 64 + 64 + 1 + 1 + 1 + 12 + SpW + 3 + 16 + 32 + 7;
  (* ram_style = "distributed" *) logic [EFrameW-1:0] e_stack[Levels];
  logic [EFrameW-1:0] e_frame, e_parent;
  logic e_push, e_pop;
  assign e_frame  = {e_obj_q, e_has_d, e_seen_d, run_open_d, run_map_d, e_entry_q, run_off_d, run_base_d, run_kind_d, map_id_d, e_key_d,
                     e_end_q};
  assign e_parent = e_stack[StackLog2'(e_depth_q - 1'b1)];

  logic pa_done_q, pa_done_d;
  logic [2:0] pa_left_q, pa_left_d;
  assign arvalid_o = state_q == XRead;
  assign arrow_o   = cfg_descriptors_i + {18'd0, t_slots_q[deser_pkg::StepAddrW-1:1]} + {18'd0, tok_number_q[16:1]};

  // Keys of open maps: a table of fingerprints with linear probing. Entries of maps that were closed before the
  // outermost open one was opened count as free.
  localparam int unsigned KeysLog2 = 10;
  logic [15:0] map_id_q, map_id_d, map_next_q, map_next_d, map_outer_q, map_outer_d;
  logic [7:0] map_nest_q, map_nest_d;
  logic [31:0] e_key_q, e_key_d;
  logic key_done_q, key_done_d, key_re, key_we, cp_key_q, cp_key_d, key_taken;
  logic [KeysLog2-1:0] key_at_q, key_at_d;
  logic [5:0] key_probes_q, key_probes_d;
  logic [47:0] key_read;
  drover_sram_1r1w #(.Width(48), .Depth(1 << KeysLog2)) u_keys (
      .clk_i, .we_i(key_we), .waddr_i(key_at_q), .wdata_i({map_id_q, e_key_q}), .re_i(key_re), .raddr_i(key_at_d),
      .rdata_o(key_read));
  logic [15:0] key_age;
  assign key_age   = key_read[47:32] - map_outer_q;
  assign key_taken = key_age < 16'(map_next_q - map_outer_q);

  // Elements of open runs: a scalar, or an address (40) and, of a String, its size (32).
  logic el_we, el_re;
  logic [SpW-1:0] el_raddr, el_index_q;
  logic [71:0] el_wdata, el_rdata;
  drover_sram_1r1w #(.Width(72), .Depth(1 << ElementsLog2)) u_elements (
      .clk_i, .we_i(el_we), .waddr_i(sp_q[ElementsLog2-1:0]), .wdata_i(el_wdata), .re_i(el_re),
      .raddr_i(el_raddr[ElementsLog2-1:0]), .rdata_o(el_rdata));
  logic el_full;
  assign el_full = sp_q[ElementsLog2];

  // ---------------------------------------------------------------- memory of the message
  logic [deser_pkg::ChunkW-1:0] chunk_q, chunk_d, first_chunk_q, first_chunk_d;
  logic [12:0] ptr_q, ptr_d;
  logic buffer_q, buffer_d;
  logic [1:0] busy;
  logic jobs_full;

  logic [31:0] cookie_q;
  logic [7:0] code_q, code_d;
  logic software_q, software_d;
  logic is_abort;

  // An allocation of the current chunk, and the address it gets.
  logic [12:0] room;
  logic [deser_pkg::AddrW-1:0] top_addr;
  assign room     = ChunkBytes - ptr_q;
  assign top_addr = {chunk_q, ptr_q[11:0]};

  // A copy at hand.
  logic [31:0] cp_left_q, cp_left_d;
  logic [deser_pkg::AddrW-1:0] cp_addr_q, cp_addr_d;
  logic cp_direct_q, cp_direct_d, cp_engine_q, cp_engine_d, cp_nul_q, cp_nul_d, cp_utf8_q, cp_utf8_d, cp_first_q, cp_first_d;
  logic [31:0] pk_count_q, pk_count_d;
  logic [6:0] cp_now;
  logic cp_last, cp_have;
  logic [6:0] cp_most;
  logic [2:0] cp_back_q, cp_back_d;  // where in a word the bytes begin; unknown fields only, and only their first beat
  assign cp_most = 7'd64 - {4'd0, cp_back_q};
  assign cp_last = cp_left_q <= {25'd0, cp_most};
  assign cp_now  = cp_last ? cp_left_q[6:0] : cp_most;
  assign cp_have = avail >= {1'b0, cp_now};

  // ---------------------------------------------------------------- stores
  logic st_valid, st_ready, st_empty, st_local, st_engine, st_last;
  logic [deser_pkg::AddrW-1:0] st_addr;
  logic [191:0] st_words;
  logic [23:0] st_words_be;
  logic st_copy;
  logic [6:0] cp_end;
  assign cp_end = cp_now + {4'd0, cp_back_q};
  logic [511:0] st_data;
  logic [63:0] st_be;
  always_comb begin
    if (st_copy) begin
      for (int i = 0; i < 64; i++) begin
        st_data[8*i+:8] = 7'(i) < cp_end ? win[8*i+:8] : 8'd0;
        st_be[i]        = (7'(i) < cp_end && 7'(i) >= {4'd0, cp_back_q}) || cp_direct_q;
      end
    end else begin
      st_data = {320'd0, st_words};
      st_be   = {40'd0, st_words_be};
      if (state_q == XNulRow) st_be = '1;
    end
  end
  assign st_local = st_addr[deser_pkg::AddrW-1:deser_pkg::OffW] == chunk_q && cfg_one_shot_i && !st_run;

  logic job_valid, job_discard, row_valid, row_ready, row_engine, row_last, rec_valid, rec_ready;
  logic [6:0] job_rows;
  logic [deser_pkg::RecW-1:0] job_record, rec_data;
  logic [deser_pkg::RowW-1:0] row_addr;
  logic [511:0] row_data;
  logic [63:0] row_be;
  logic fl_aw_valid, fl_aw_ready, fl_aw_bad, fl_valid, fl_ready, fl_last, st_run;
  logic [deser_pkg::ChunkW-1:0] fl_aw_chunk;
  logic [5:0] fl_aw_len;
  logic [511:0] fl_data;
  // What is final: from the innermost open object's end to what has been stored. In other states than these, something
  // is half written.
  logic final_valid, eager_busy, row_fresh, row_room;
  logic [6:0] final_low, final_high;
  logic [5:0] fl_aw_row;
  assign final_valid = state_q == XRun || state_q == XCopy;
  assign final_low   = e_obj_q[deser_pkg::AddrW-1:deser_pkg::OffW] == chunk_q ? e_end_q : '0;
  assign final_high  = unk_more ? {1'b0, unk_at_q[11:6]} :
                       state_q == XCopy && !cp_direct_q ? {1'b0, cp_addr_q[11:6]} : ptr_q[12:6];
  assign st_run = cp_direct_q && (st_copy || state_q == XNulRow || state_q == XPacked);
  deser_store u_store (
      .clk_i, .rst_ni, .st_valid_i(st_valid), .st_ready_o(st_ready), .st_addr_i(st_addr[deser_pkg::AddrW-1:3]),
      .st_data_i(st_data), .st_be_i(st_be), .st_local_i(st_local), .st_buffer_i(buffer_q), .st_engine_i(st_engine),
      .st_last_i(st_last), .st_run_i(st_run), .pk_active_i(state_q == XPacked || (state_q == XEnum && ret_q == XPacked)),
      .pk_valid_i(pk_valid), .pk_merge_i(cp_direct_q && cfg_one_shot_i), .pk_row_i(cp_addr_q[deser_pkg::AddrW-1:6]), .st_empty_o(st_empty),
      .eager_i, .more_i(left[31:6] != '0), .final_i(final_valid), .final_low_i(final_low), .final_high_i(final_high), .row_fresh_i(row_fresh),
      .row_room_i(row_room), .eager_busy_o(eager_busy), .job_valid_i(job_valid), .job_buffer_i(buffer_q),
      .job_chunk_i(chunk_q), .job_rows_i(job_rows), .job_discard_i(job_discard), .job_record_i(job_record),
      .busy_o(busy), .jobs_full_o(jobs_full), .fl_aw_valid_o(fl_aw_valid), .fl_aw_ready_i(fl_aw_ready),
      .fl_aw_bad_i(fl_aw_bad), .fl_aw_chunk_o(fl_aw_chunk), .fl_aw_row_o(fl_aw_row), .fl_aw_len_o(fl_aw_len), .fl_valid_o(fl_valid),
      .fl_ready_i(fl_ready), .fl_data_o(fl_data), .fl_last_o(fl_last), .row_valid_o(row_valid), .row_ready_i(row_ready),
      .row_addr_o(row_addr), .row_data_o(row_data), .row_be_o(row_be), .row_engine_o(row_engine),
      .row_last_o(row_last), .rec_valid_o(rec_valid), .rec_ready_i(rec_ready), .rec_o(rec_data));
  deser_writer u_writer (
      .clk_i, .rst_ni, .cfg_host_base_i, .cfg_host_limit_i, .cfg_engine_base_i, .cfg_engine_limit_i,
      .row_valid_i(row_valid), .row_ready_o(row_ready), .row_addr_i(row_addr), .row_data_i(row_data),
      .row_be_i(row_be), .row_engine_i(row_engine), .row_last_i(row_last),
      .eager_i, .row_fresh_o(row_fresh), .row_room_o(row_room), .fl_aw_valid_i(fl_aw_valid), .fl_aw_ready_o(fl_aw_ready),
      .fl_aw_bad_o(fl_aw_bad), .fl_aw_chunk_i(fl_aw_chunk), .fl_aw_row_i(fl_aw_row), .fl_aw_len_i(fl_aw_len), .fl_valid_i(fl_valid),
      .fl_ready_o(fl_ready), .fl_data_i(fl_data), .fl_last_i(fl_last), .rec_valid_i(rec_valid),
      .rec_ready_o(rec_ready), .rec_i(rec_data), .awvalid_o, .awready_i, .awrow_o, .awlen_o, .awengine_o, .wvalid_o,
      .wready_i, .wdata_o, .wstrb_o, .wlast_o, .b_i, .b_fault_i, .cmpl_valid_o, .cmpl_ready_i, .cmpl_o);
  assign job_rows = cfg_one_shot_i ? 7'((ptr_q + 13'd63) >> 6) : 7'd0;

  logic utf8_clear, utf8_bad;
  deser_utf8 u_utf8 (
      .clk_i, .rst_ni, .clear_i(utf8_clear), .valid_i(st_copy && st_valid && st_ready && cp_utf8_q),
      .first_i(cp_first_q), .last_i(cp_last), .count_i(cp_now), .data_i(win), .bad_o(utf8_bad));

  // ---------------------------------------------------------------- binary search, a step a cycle
  // What was read last stands at mid_q; between lo and hi (exclusive) is what is left.
  logic [15:0] lo_q, lo_d, hi_q, hi_d, mid_q, search_at;
  logic found_d, searched_q, searched_d, search_below, search_equal, search_first;
  logic [16:0] lo_hi;
  always_comb begin
    search_first = 1'b0;
    if (state_q == XEnum) begin
      search_equal = enum_read == enum_value_q;
      search_below = $signed(enum_read) < $signed(enum_value_q);
    end else begin
      search_equal = side[deser_pkg::SideNumberAt+:29] == tok_number_q;
      search_below = side[deser_pkg::SideNumberAt+:29] < tok_number_q;
    end
    if (state_q != XEnum && state_q != XSearch) search_first = 1'b1;
  end
  assign lo_hi       = {1'b0, lo_d} + {1'b0, hi_d};
  assign search_at   = lo_hi[16:1];
  assign search_addr = t_slots_q + {5'd0, t_slot_count_q} + 17'd1 + {1'b0, search_at};

  // ---------------------------------------------------------------- L: decisions
  function automatic logic [63:0] relative(input logic [deser_pkg::AddrW-1:0] to, input logic [deser_pkg::AddrW-1:0] from);
    logic [deser_pkg::AddrW:0] d;
    d = {1'b0, to} - {1'b0, from};
    relative = {{23{d[deser_pkg::AddrW]}}, d};
  endfunction

  function automatic logic [6:0] rows_of(input logic [12:0] bytes);
    rows_of = bytes[12:6] + 7'(|bytes[5:0]);
  endfunction

  logic [deser_pkg::AddrW-1:0] f_addr;
  logic [5:0] seen_bit;
  logic f_seen;
  assign f_addr   = e_obj_q + {28'd0, f_offset};
  assign seen_bit = f_offset[8:3];
  assign f_seen   = e_seen_q[seen_bit];

  // Bytes of what L may allocate for the field at hand.
  logic [31:0] len;
  logic [12:0] str_bytes, obj_bytes;
  logic str_fits, str_large, obj_fits;
  logic [deser_pkg::RowW-1:0] large_rows, large_row, large_end;
  logic large_engine, large_ok;
  logic is_packed, packed_fixed;
  logic [34:0] packed_bound;
  logic [31:0] run_bytes_needed;
  assign len          = tok_value_q[31:0];
  assign is_packed    = f_is_scalar && f_repeated && tok_wtype_q == 3'd2;
  assign packed_fixed = f_op == OpFixed32 || f_op == OpFixed64;
  // A string's NUL is part of it; packed varints need at most as many elements as they have bytes.
  always_comb begin
    if (state_q == XPackedEnd) run_bytes_needed = pk_count_q << f_log2;
    else if (!is_packed) run_bytes_needed = len + 32'd1;
    else run_bytes_needed = packed_fixed ? len : packed_bound[31:0];
  end
  assign str_bytes    = {run_bytes_needed[12:3] + 10'(|run_bytes_needed[2:0]), 3'd0};
  assign str_fits     = run_bytes_needed[31:12] == '0 && str_bytes <= room;
  assign str_large    = (run_bytes_needed >= LargeFrom && !str_fits) || f_target;
  assign large_engine = f_target;
  assign large_rows   = deser_pkg::RowW'(run_bytes_needed[31:6]) + deser_pkg::RowW'(|run_bytes_needed[5:0]);
  assign large_row    = large_engine ? erun_row : run_row;
  assign large_end    = large_row + large_rows;
  assign large_ok     = large_end <= {large_engine ? erun_end : run_end, 6'd0};
  assign packed_bound = {3'd0, len} << f_log2;
  assign obj_bytes    = {f_sub[deser_pkg::SubWordsAt+:10], 3'd0};
  assign obj_fits     = obj_bytes <= room;

  // What a pointer in the field at hand would hold, to either place.
  logic [63:0] to_top, to_run;
  assign to_top = relative(top_addr, f_addr);
  assign to_run = relative({large_row, 6'd0}, f_addr);

  logic pk_valid, pk_bad;
  assign pk_bad   = d_overlong || 32'(d_vsize) > cp_left_q;
  assign pk_valid = state_q == XPacked && cp_left_q != '0 && have16 && !pk_bad &&
                    !(f_op == OpClosedEnum && !enum_known_q);

  logic xt_take, xt_load, xt_commit;
  logic xt_sel;
  logic xt_avail;
  assign xt_sel      = large_engine;
  assign xt_avail    = xt_sel ? erun_valid_i : run_valid_i;
  logic [deser_pkg::RowW-1:0] run_row, erun_row;
  logic [deser_pkg::ChunkW-1:0] run_first, run_end, erun_first, erun_end;
  logic [11:0] run_chunks, erun_chunks;
  logic run_used, erun_used, xt_used;
  deser_run u_run (
      .clk_i, .rst_ni, .first_i(run_first_i), .count_i(run_count_i), .load_i(run_ready_o), .take_i(xt_take && !xt_sel),
      .row_i(large_end), .done_i(xt_commit && !is_abort), .forget_i(xt_commit && is_abort), .row_o(run_row),
      .first_o(run_first), .end_o(run_end), .chunks_o(run_chunks), .used_o(run_used));
  deser_run u_engine_run (
      .clk_i, .rst_ni, .first_i(erun_first_i), .count_i(erun_count_i), .load_i(erun_ready_o),
      .take_i(xt_take && xt_sel), .row_i(large_end), .done_i(xt_commit && !is_abort),
      .forget_i(xt_commit && is_abort), .row_o(erun_row), .first_o(erun_first), .end_o(erun_end),
      .chunks_o(erun_chunks), .used_o(erun_used));
  assign run_ready_o  = xt_load && !xt_sel;
  assign erun_ready_o = xt_load && xt_sel;
  assign xt_used      = xt_sel ? erun_used : run_used;

  // The open run.
  logic [SpW-1:0] run_count;
  logic [16:0] run_bytes;
  logic [13:0] run_total;
  logic [deser_pkg::AddrW-1:0] run_array;
  logic run_fits;
  always_comb begin
    run_count = sp_q - run_base_q;
    case (run_kind_q)
      3'd0: run_bytes = 17'(run_count);
      3'd2: run_bytes = 17'(run_count) << 2;
      RunStrings: run_bytes = (17'(run_count) << 4) + 17'd8;
      default: run_bytes = 17'(run_count) << 3;
    endcase
    run_total = |run_bytes[16:13] ? 14'd8192 : {run_bytes[13:3] + 11'(|run_bytes[2:0]), 3'd0};
    run_fits  = run_total <= {1'b0, room};
    run_array = run_kind_q == RunStrings ? top_addr + 40'd8 : top_addr;
  end

  // A field that the type does not know.
  logic [119:0] head_bytes;
  logic [4:0] head_size;
  deser_head u_head (
      .number_i(tok_number_q), .wire_type_i(tok_wtype_q), .value_i(tok_value_q), .bytes_o(head_bytes),
      .size_o(head_size));
  // The String that gathers them grows at the chunk's top, as long as nothing else is put there.
  logic unk_open_q, unk_open_d, unk_force_q, unk_force_d, unk_more, unk_fits;
  logic [11:0] unk_at_q, unk_at_d, unk_to;
  logic [12:0] unk_size_q, unk_size_d, unk_from_q, unk_from_d, unk_end, unk_new_end;
  logic [13:0] unk_wanted;
  logic [31:0] unk_payload;
  assign unk_end     = {1'b0, unk_at_q} + unk_size_q + 13'd24;  // String, bytes, NUL; rounded up below
  assign unk_more    = unk_open_q && {unk_end[12:3], 3'd0} == ptr_q;
  assign unk_payload = tok_wtype_q == 3'd2 ? len : 32'd0;
  assign unk_wanted  = {1'b0, unk_more ? unk_size_q : 13'd0} + 14'(head_size) + {2'd0, unk_payload[11:0]};
  assign unk_fits    = unk_payload[31:12] == '0 && {1'b0, unk_more ? {1'b0, unk_at_q} : ptr_q} + unk_wanted + 14'd24 <= 14'd4096;
  assign unk_new_end = (unk_more ? {1'b0, unk_at_q} : ptr_q) + unk_wanted[12:0] + 13'd24;
  assign unk_to      = unk_at_q + 12'd16 + unk_from_q[11:0];

  // The 64 bytes of a beat, folded; places count.
  logic [31:0] beat_fold;
  always_comb begin
    beat_fold = '0;
    for (int i = 0; i < 16; i++) begin
      beat_fold = beat_fold ^ (st_data[32*i+:32] << ((i * 5) % 32)) | (st_data[32*i+:32] >> ((32 - (i * 5) % 32) % 32));
    end
  end

  logic [63:0] scalar_at;
  logic [7:0] scalar_be;
  logic [2:0] scalar_low;
  logic [1:0] scalar_log2;
  logic [63:0] scalar_in;
  always_comb begin  // a scalar at its place in its word
    case (scalar_log2)
      2'd0: begin
        scalar_at = {8{scalar_in[7:0]}};
        scalar_be = 8'd1 << scalar_low;
      end
      2'd2: begin
        scalar_at = {2{scalar_in[31:0]}};
        scalar_be = scalar_low[2] ? 8'hF0 : 8'h0F;
      end
      default: begin
        scalar_at = scalar_in;
        scalar_be = 8'hFF;
      end
    endcase
  end

  logic [deser_pkg::AddrW-1:0] el_addr_q, el_addr_d;
  logic el_push;
  logic fail, leave;          // ends the message with code_d: an error, or left to software
  logic [7:0] fail_code;
  logic mark_has, run_start, set_seen;
  logic [2:0] f_run_kind;
  assign f_run_kind = f_is_string ? RunStrings : f_is_message ? RunPointers : {1'b0, f_log2};
  assign st_engine  = st_run && cp_engine_q;

  always_comb begin
    state_d = state_q;
    ret_d = ret_q;
    e_obj_d = e_obj_q;
    e_has_d = e_has_q;
    e_seen_d = e_seen_q;
    e_entry_d = e_entry_q;
    e_end_d = e_end_q;
    run_open_d = run_open_q;
    run_map_d = run_map_q;
    run_off_d = run_off_q;
    run_base_d = run_base_q;
    run_kind_d = run_kind_q;
    sp_d = sp_q;
    chunk_d = chunk_q;
    first_chunk_d = first_chunk_q;
    ptr_d = ptr_q;
    buffer_d = buffer_q;
    code_d = code_q;
    software_d = software_q;
    cp_left_d = cp_left_q;
    cp_addr_d = cp_addr_q;
    cp_direct_d = cp_direct_q;
    cp_engine_d = cp_engine_q;
    cp_nul_d = cp_nul_q;
    cp_utf8_d = cp_utf8_q;
    cp_first_d = cp_first_q;
    pk_count_d = pk_count_q;
    el_addr_d = el_addr_q;
    lo_d = lo_q;
    hi_d = hi_q;
    found_d = found_q;
    searched_d = searched_q;
    enum_known_d = enum_known_q;
    enum_re = 1'b0;

    win_start = 1'b0;
    win_end = 1'b0;
    consume = 1'b0;
    consume_count = '0;
    front_resume = 1'b0;
    front_off = 1'b0;
    tok_take = 1'b0;
    t_push = 1'b0;
    t_push_limit = pos + len;
    t_push_group = 1'b0;
    t_push_sub = f_sub;
    e_push = 1'b0;
    e_pop = 1'b0;
    cmd_ready_o = 1'b0;
    chunk_ready_o = 1'b0;
    search_re = 1'b0;
    pa_done_d = pa_done_q;
    pa_left_d = pa_left_q;
    map_id_d = map_id_q;
    map_next_d = map_next_q;
    map_outer_d = map_outer_q;
    map_nest_d = map_nest_q;
    e_key_d = e_key_q;
    key_done_d = key_done_q;
    key_re = 1'b0;
    key_we = 1'b0;
    key_at_d = key_at_q;
    key_probes_d = key_probes_q;
    cp_key_d = cp_key_q;
    cp_back_d = cp_back_q;
    unk_open_d = unk_open_q;
    unk_force_d = unk_force_q;
    unk_at_d = unk_at_q;
    unk_size_d = unk_size_q;
    unk_from_d = unk_from_q;
    el_push = 1'b0;
    el_re = 1'b0;
    el_raddr = run_base_q;
    el_wdata = {8'd0, scalar};
    xt_load = 1'b0;
    xt_take = 1'b0;
    xt_commit = 1'b0;
    utf8_clear = 1'b0;
    fail = 1'b0;
    leave = 1'b0;
    fail_code = deser_pkg::ErrOk;
    mark_has = 1'b0;
    run_start = 1'b0;
    set_seen = 1'b0;

    st_valid = 1'b0;
    st_copy = 1'b0;
    st_last = 1'b1;
    st_addr = f_addr;
    scalar_log2 = f_log2;
    scalar_low = f_addr[2:0];
    scalar_in = scalar;
    st_words = {128'd0, scalar_at};
    st_words_be = {16'd0, scalar_be};
    job_valid = 1'b0;
    job_discard = 1'b0;
    is_abort = 1'b0;

    case (state_q)
      XIdle: begin
        found_d      = 1'b0;
        searched_d   = 1'b0;
        enum_known_d = 1'b0;
        map_nest_d   = '0;
        pa_done_d    = 1'b0;
        e_key_d      = '0;
        key_done_d   = 1'b0;
        unk_open_d   = 1'b0;
        unk_force_d  = 1'b0;
        cp_back_d    = '0;
        t_push_sub   = root;
        if (cmd_valid_i && root_valid_q && chunk_valid_i && !busy[buffer_q] && !jobs_full && st_ready) begin
          cmd_ready_o   = 1'b1;
          chunk_ready_o = 1'b1;
          chunk_d       = chunk_i;
          first_chunk_d = chunk_i;
          ptr_d         = {root[deser_pkg::SubWordsAt+:10], 3'd0};
          e_obj_d       = {chunk_i, 12'd0};
          e_has_d       = '0;
          e_seen_d      = '0;
          e_entry_d     = 1'b0;
          e_end_d       = rows_of(ptr_d);
          run_open_d    = 1'b0;
          sp_d          = '0;
          utf8_clear    = 1'b1;
          win_start     = 1'b1;
          code_d        = deser_pkg::ErrOk;
          software_d    = 1'b0;
          state_d       = XOwner;
          if (root[deser_pkg::SubWordsAt+:10] > 10'd512) begin
            ptr_d = '0;
            fail = 1'b1;
            leave = 1'b1;
            fail_code = deser_pkg::WhyObjectSize;
          end
        end
      end

      XOwner: begin
        st_valid    = 1'b1;
        st_addr     = e_obj_q;
        st_words    = {128'd0, 64'd2};
        st_words_be = 24'h0000FF;
        if (st_ready) state_d = XRun;
      end

      XRun:
      if (tok_valid_q && st_ready) begin
        if (tok_q == TokError) begin
          fail = 1'b1;
          fail_code = tok_error_q;
        end else if (tok_q == TokField && cfg_protoacc_i && !pa_done_q) begin
          // The descriptor; of a sub-message's type three words more; the has-bits.
          pa_left_d = found && f_is_message ? 3'd5 : 3'd2;
          state_d   = XRead;
        end else if (tok_q != TokField) begin
          // the end of a message
          if (run_open_q) begin
            state_d = XClose;
          end else if (e_entry_q && !key_done_q) begin
            key_at_d     = e_key_q[KeysLog2-1:0] ^ e_key_q[2*KeysLog2-1:KeysLog2] ^ map_id_q[KeysLog2-1:0];
            key_re       = 1'b1;
            key_probes_d = '0;
            state_d      = XKey;
          end else begin
            key_done_d  = 1'b0;
            unk_open_d  = 1'b0;
            tok_take    = 1'b1;
            st_valid    = e_has_q != '0;
            st_addr     = e_obj_q + 40'd16;
            st_words    = {128'd0, e_has_q};
            st_words_be = {16'd0, {4{|e_has_q[63:32]}}, {4{|e_has_q[31:0]}}};
            if (tok_q == TokEnd) state_d = XFinish;
            else e_pop = 1'b1;
          end
        end else if (!tok_in_slots_q && !searched_q) begin
          lo_d       = '0;
          hi_d       = t_field_count_q;
          searched_d = 1'b1;
          ret_d      = XRun;
          if (t_field_count_q != '0) begin
            search_re = 1'b1;
            state_d   = XSearch;
          end
        end else if (!found || (tok_wtype_q != f_wtype && !is_packed) || unk_force_q) begin
          // A field that the type does not know. Inside a map entry it is dropped.
          if (tok_error_q != deser_pkg::ErrOk && tok_wtype_q == 3'd2) begin
            fail = 1'b1;
            fail_code = tok_error_q;
          end else if (tok_wtype_q == 3'd3 || (!e_entry_q && e_seen_q[1] && !unk_more)) begin
            fail = 1'b1;
            leave = 1'b1;
            fail_code = deser_pkg::WhyUnknownField;
          end else if (!e_entry_q) begin
            if (unk_fits) begin
              unk_open_d = 1'b1;
              unk_at_d   = unk_more ? unk_at_q : ptr_q[11:0];
              unk_from_d = unk_more ? unk_size_q : 13'd0;
              unk_size_d = unk_wanted[12:0];
              ptr_d      = {unk_new_end[12:3], 3'd0};
              state_d    = XUnknown;
            end else if (unk_more || ptr_q == '0) begin
              fail = 1'b1;
              leave = 1'b1;
              fail_code = deser_pkg::WhyUnknownField;
            end else begin
              ret_d   = XRun;
              state_d = XSwitch;
            end
          end else begin
            tok_take = 1'b1;
            searched_d = 1'b0;
            found_d = 1'b0;
            if (tok_wtype_q == 3'd2) begin
              cp_left_d = len;
              if (len == '0) front_resume = 1'b1;
              else state_d = XSkip;
            end
          end
        end else if (f_is_message && 8'(e_depth_q) >= cfg_depth_limit_i) begin
          fail = 1'b1;
          fail_code = deser_pkg::ErrDepthLimit;
        end else if (tok_error_q != deser_pkg::ErrOk) begin
          fail = 1'b1;
          fail_code = tok_error_q;
        end else if (f_has_bit == deser_pkg::SideHasBitBeyond) begin
          fail = 1'b1;
          leave = 1'b1;
          fail_code = deser_pkg::WhyHasBit;
        end else if (run_open_q && (run_off_q != f_offset || is_packed)) begin
          state_d = XClose;
        end else if (f_seen && (is_packed || f_is_message || f_oneof || f_repeated)) begin
          fail = 1'b1;
          leave = 1'b1;
          fail_code = f_oneof ? deser_pkg::WhyOneofAgain : f_repeated ? deser_pkg::WhySplitRun : deser_pkg::WhyMerge;
        end else if (f_repeated && !is_packed && el_full) begin
          fail = 1'b1;
          leave = 1'b1;
          fail_code = deser_pkg::WhyArraySize;
        end else if (f_op == OpClosedEnum && !is_packed && !enum_known_q) begin
          lo_d    = f_sub[15:0];
          hi_d    = f_sub[15:0] + f_sub[47:32];
          enum_re = 1'b1;
          ret_d   = XRun;
          state_d = XEnum;
        end else if (is_packed) begin
          // ---- packed
          cp_left_d   = len;
          cp_key_d    = 1'b0;
          cp_utf8_d   = 1'b0;
          cp_engine_d = 1'b0;
          cp_direct_d = 1'b0;
          cp_nul_d    = 1'b0;
          cp_addr_d   = top_addr;
          pk_count_d  = '0;
          st_words    = {96'd0, f_log2 == 2'd3 ? len >> 3 : len >> 2, str_large && packed_fixed ? to_run : to_top};
          st_words_be = 24'h00FFFF;
          if (len == '0) begin
            tok_take = 1'b1;
            front_resume = 1'b1;
          end else if (packed_fixed) begin
            if ((f_op == OpFixed32 && len[1:0] != '0) || (f_op == OpFixed64 && len[2:0] != '0)) begin
              fail = 1'b1;
              fail_code = deser_pkg::ErrTruncated;
            end else if (str_large) begin
              cp_direct_d = 1'b1;
              cp_engine_d = large_engine;
              cp_addr_d   = {large_row, 6'd0};
              if (large_ok) begin
                xt_take  = 1'b1;
                st_valid = 1'b1;
                tok_take = 1'b1;
                set_seen = 1'b1;
                state_d  = XCopy;
              end else if (xt_avail && !xt_used) begin
                xt_load = 1'b1;
              end else begin
                fail = 1'b1;
                leave = 1'b1;
                fail_code = deser_pkg::WhyNoRun;
              end
            end else if (str_fits) begin
              ptr_d    = ptr_q + str_bytes;
              st_valid = 1'b1;
              tok_take = 1'b1;
              set_seen = 1'b1;
              state_d  = XCopy;
            end else begin
              ret_d   = XRun;
              state_d = XSwitch;
            end
          end else if (packed_bound[34:32] != '0) begin
            fail = 1'b1;
            leave = 1'b1;
            fail_code = deser_pkg::WhyPackedSize;
          end else if (str_large) begin
            cp_direct_d = 1'b1;
            cp_engine_d = large_engine;
            cp_addr_d   = {large_row, 6'd0};
            if (large_ok) begin
              state_d = XPacked;  // the token stays: it says which field this is
            end else if (xt_avail && !xt_used) begin
              xt_load = 1'b1;
            end else begin
              fail = 1'b1;
              leave = 1'b1;
              fail_code = deser_pkg::WhyNoRun;
            end
          end else if (str_fits) begin
            state_d = XPacked;
          end else begin
            ret_d   = XRun;
            state_d = XSwitch;
          end
        end else if (f_is_scalar) begin
          // ---- a scalar
          enum_known_d = 1'b0;
          searched_d   = 1'b0;
          found_d      = 1'b0;
          if (e_entry_q && tok_number_q == 29'd1) begin
            e_key_d = scalar[31:0];
            if (f_log2 == 2'd3) begin  // small negative numbers must not fall on small positive ones
              e_key_d = scalar[31:0] ^ {scalar[50:32], scalar[63:51]} ^ ({32{scalar[63]}} & 32'h9E3779B9);
            end
          end
          if (f_repeated) begin
            tok_take  = 1'b1;
            el_push   = 1'b1;
            run_start = !run_open_q;
          end else begin
            st_valid = 1'b1;
            mark_has = 1'b1;
            if (f_oneof) begin
              state_d    = XCase;
              st_words_be = 24'h0000FF;  // the whole slot
              st_words   = f_log2 == 2'd0 ? {184'd0, scalar[7:0]} : f_log2 == 2'd2 ? {160'd0, scalar[31:0]} : {128'd0, scalar};
            end else begin
              tok_take = 1'b1;
            end
          end
        end else if (f_is_string) begin
          // ---- a string
          cp_left_d   = len;
          cp_utf8_d   = f_op == OpUtf8;
          cp_key_d    = e_entry_q && tok_number_q == 29'd1;
          if (e_entry_q && tok_number_q == 29'd1) e_key_d = '0;
          cp_engine_d = 1'b0;
          cp_direct_d = 1'b0;
          cp_nul_d    = 1'b0;
          cp_addr_d   = top_addr;
          if (len != '0 && str_large) begin
            cp_direct_d = 1'b1;
            cp_engine_d = large_engine;
            cp_addr_d   = {large_row, 6'd0};
            cp_nul_d    = len[5:0] == '0;
          end
          st_words    = len == '0 ? '0 : {96'd0, len, str_large ? to_run : to_top};
          st_words_be = 24'h00FFFF;
          el_wdata    = {len, cp_addr_d};
          if (len != '0 && str_large && !large_ok) begin
            if (xt_avail && !xt_used) begin
              xt_load = 1'b1;
            end else begin
              fail = 1'b1;
              leave = 1'b1;
              fail_code = deser_pkg::WhyNoRun;
            end
          end else if (len != '0 && !str_large && !str_fits) begin
            ret_d   = XRun;
            state_d = XSwitch;
          end else begin
            searched_d = 1'b0;
            found_d    = 1'b0;
            if (len != '0) begin
              if (str_large) xt_take = 1'b1;
              else ptr_d = ptr_q + str_bytes;
            end
            if (f_repeated) begin
              el_push   = 1'b1;
              run_start = !run_open_q;
            end else begin
              st_valid = 1'b1;
              mark_has = 1'b1;
            end
            if (f_oneof && !f_repeated) begin
              state_d = XCase;
            end else begin
              tok_take = 1'b1;
              if (len == '0) front_resume = 1'b1;
              else state_d = XCopy;
            end
          end
        end else begin
          // ---- a message, group or map entry
          if (f_sub[deser_pkg::SubWordsAt+:10] > 10'd512) begin
            fail = 1'b1;
            leave = 1'b1;
            fail_code = deser_pkg::WhyObjectSize;
          end else if (e_depth_q[StackLog2]) begin
            fail = 1'b1;
            leave = 1'b1;
            fail_code = deser_pkg::WhyDepth;
          end else if (!obj_fits) begin
            ret_d   = XRun;
            state_d = XSwitch;
          end else if (f_oneof && !searched_q && 1'b0) begin
            state_d = XCase;
          end else begin
            ptr_d       = ptr_q + obj_bytes;
            st_words    = {128'd0, to_top};
            st_words_be = 24'h0000FF;
            el_wdata    = {32'd0, top_addr};
            if (f_repeated) begin
              el_push   = 1'b1;
              run_start = !run_open_q;
            end else begin
              st_valid = 1'b1;
              mark_has = 1'b1;
              set_seen = 1'b1;
            end
            if (f_oneof) begin
              el_addr_d = top_addr;
              state_d   = XCase;
            end else begin
              tok_take     = 1'b1;
              searched_d   = 1'b0;
              found_d      = 1'b0;
              e_push       = 1'b1;
              t_push       = 1'b1;
              t_push_group = f_op == OpGroup;
              t_push_limit = f_op == OpGroup ? t_limit_q : pos + len;
              front_resume = 1'b1;
              e_obj_d      = top_addr;
              e_entry_d    = f_map;
              state_d      = XOwner;
            end
          end
        end
      end

      XCase: begin
        // The case word; then on as without a oneof.
        st_valid    = 1'b1;
        st_addr     = e_obj_q + {28'd0, f_case};
        scalar_in   = {35'd0, tok_number_q};
        scalar_log2 = 2'd2;
        scalar_low  = st_addr[2:0];
        if (st_ready) begin
          tok_take   = 1'b1;
          set_seen   = 1'b1;
          searched_d = 1'b0;
          found_d    = 1'b0;
          state_d    = XRun;
          if (f_is_string) begin
            if (len == '0) front_resume = 1'b1;
            else state_d = XCopy;
          end else if (f_is_message) begin
            e_push       = 1'b1;
            t_push       = 1'b1;
            t_push_group = f_op == OpGroup;
            t_push_limit = f_op == OpGroup ? t_limit_q : pos + len;
            front_resume = 1'b1;
            e_obj_d      = el_addr_q;
            e_entry_d    = 1'b0;
            state_d      = XOwner;
          end
        end
      end

      XCopy: begin
        st_copy  = 1'b1;
        st_addr  = cp_addr_q;
        st_last  = cp_last && !cp_nul_q;
        st_valid = cp_have;
        if (st_ready && cp_have) begin
          consume       = 1'b1;
          consume_count = cp_now;
          cp_left_d     = cp_left_q - 32'(cp_now);
          cp_addr_d     = cp_addr_q + 40'd64;
          cp_first_d    = 1'b0;
          cp_back_d     = '0;
          if (cp_key_q) e_key_d = {e_key_q[24:0], e_key_q[31:25]} ^ beat_fold ^ 32'(cp_now);
          if (cp_last) begin
            front_resume = 1'b1;
            state_d      = cp_nul_q ? XNulRow : XRun;
          end
        end
      end

      XNulRow: begin
        st_valid = 1'b1;
        st_addr  = cp_addr_q;
        st_words = '0;
        if (st_ready) state_d = XRun;
      end

      XPacked: begin
        scalar_low  = cp_addr_q[2:0];
        st_addr     = cp_addr_q;
        if (cp_left_q == '0) begin
          state_d = XPackedEnd;
        end else if (have16) begin
          if (pk_bad) begin
            fail = 1'b1;
            fail_code = d_overlong ? deser_pkg::ErrOverlongVarint : deser_pkg::ErrTruncated;
          end else if (f_op == OpClosedEnum && !enum_known_q) begin
            lo_d    = f_sub[15:0];
            hi_d    = f_sub[15:0] + f_sub[47:32];
            enum_re = 1'b1;
            ret_d   = XPacked;
            state_d = XEnum;
          end else begin
            st_valid = 1'b1;
            if (st_ready) begin
              enum_known_d  = 1'b0;
              consume       = 1'b1;
              consume_count = {3'd0, d_vsize};
              cp_left_d     = cp_left_q - 32'(d_vsize);
              cp_addr_d     = cp_addr_q + (40'd1 << f_log2);
              pk_count_d    = pk_count_q + 32'd1;
            end
          end
        end
      end

      XPackedEnd: begin
        // The array begins where the chunk's top still is.
        st_valid    = 1'b1;
        st_words    = {96'd0, pk_count_q, cp_direct_q ? to_run : to_top};
        st_words_be = 24'h00FFFF;
        if (st_ready) begin
          xt_take      = cp_direct_q;
          if (!cp_direct_q) ptr_d = {(cp_addr_q[deser_pkg::AddrW-1:deser_pkg::OffW] != chunk_q), cp_addr_q[11:3], 3'd0} + (|cp_addr_q[2:0] ? 13'd8 : 13'd0);
          tok_take     = 1'b1;
          set_seen     = 1'b1;
          searched_d   = 1'b0;
          found_d      = 1'b0;
          front_resume = 1'b1;
          state_d      = XRun;
        end
      end

      XSkip: begin
        if (cp_have) begin
          consume       = 1'b1;
          consume_count = cp_now;
          cp_left_d     = cp_left_q - 32'(cp_now);
          if (cp_last) begin
            front_resume = 1'b1;
            state_d      = XRun;
          end
        end
      end

      XClose: begin
        st_addr     = e_obj_q + {28'd0, run_off_q};
        st_words    = {96'd0, 32'(run_count), relative(run_array, st_addr)};
        st_words_be = 24'h00FFFF;
        el_addr_d   = run_array;
        if (run_total > 14'd4096) begin
          fail = 1'b1;
          leave = 1'b1;
          fail_code = deser_pkg::WhyArraySize;
        end else if (!run_fits) begin
          ret_d   = XClose;
          state_d = XSwitch;
        end else begin
          st_valid = 1'b1;
          el_re    = 1'b1;
          if (st_ready) begin
            ptr_d   = ptr_q + run_total[12:0];
            e_seen_d[run_off_q[8:3]] = 1'b1;
            state_d = run_kind_q == RunStrings ? XCloseOwner : XCloseElem;
          end
        end
      end

      XCloseOwner: begin
        st_valid    = 1'b1;
        st_addr     = el_addr_q - 40'd8;
        st_words    = {128'd0, 64'd2};
        st_words_be = 24'h0000FF;
        if (st_ready) state_d = XCloseElem;
      end

      XCloseElem: begin
        st_valid    = 1'b1;
        st_addr     = el_addr_q;
        scalar_low  = el_addr_q[2:0];
        scalar_in   = el_rdata[63:0];
        scalar_log2 = run_kind_q[1:0];
        if (run_kind_q == RunStrings) begin
          st_words    = el_rdata[71:40] == '0 ? '0 : {96'd0, el_rdata[71:40], relative(el_rdata[39:0], el_addr_q)};
          st_words_be = 24'h00FFFF;
        end else if (run_kind_q == RunPointers) begin
          st_words    = {128'd0, relative(el_rdata[39:0], el_addr_q)};
          st_words_be = 24'h0000FF;
        end
        el_raddr = el_index_q + 1'b1;
        if (st_ready) begin
          el_re = 1'b1;
          case (run_kind_q)
            3'd0: el_addr_d = el_addr_q + 40'd1;
            3'd2: el_addr_d = el_addr_q + 40'd4;
            RunStrings: el_addr_d = el_addr_q + 40'd16;
            default: el_addr_d = el_addr_q + 40'd8;
          endcase
          if (el_index_q + 1'b1 == sp_q) begin
            sp_d       = run_base_q;
            run_open_d = 1'b0;
            map_nest_d = map_nest_q - 8'(run_map_q);
            state_d    = XRun;
          end
        end
      end

      XSwitch: begin
        if (st_empty && !eager_busy && !busy[!buffer_q] && !jobs_full && chunk_valid_i) begin
          job_valid     = 1'b1;
          chunk_ready_o = 1'b1;
          chunk_d       = chunk_i;
          ptr_d         = '0;
          buffer_d      = !buffer_q;
          unk_open_d    = 1'b0;
          state_d       = ret_q;
        end
      end

      XKey: begin
        state_d = XRun;
        if (!key_taken) begin
          key_we     = 1'b1;
          key_done_d = 1'b1;
        end else if (key_read == {map_id_q, e_key_q} || key_probes_q == 6'd63) begin
          fail = 1'b1;
          leave = 1'b1;
          fail_code = deser_pkg::WhyMapEntries;
        end else begin
          key_at_d     = key_at_q + 1'b1;
          key_probes_d = key_probes_q + 6'd1;
          key_re       = 1'b1;
          state_d      = XKey;
        end
      end

      XUnknown: begin
        st_valid    = 1'b1;
        st_addr     = {chunk_q, unk_at_q};
        st_words    = {96'd0, 19'd0, unk_size_q, 64'd16};
        st_words_be = 24'h00FFFF;
        if (st_ready) state_d = e_seen_q[1] ? XUnknownHead : XUnknownAt;
      end
      XUnknownAt: begin
        st_valid    = 1'b1;
        st_addr     = e_obj_q + 40'd8;
        st_words    = {128'd0, relative({chunk_q, unk_at_q}, st_addr)};
        st_words_be = 24'h0000FF;
        e_seen_d[1] = 1'b1;
        if (st_ready) state_d = XUnknownHead;
      end
      XUnknownHead: begin
        st_valid    = 1'b1;
        st_addr     = {chunk_q, unk_to};
        st_words    = {72'd0, head_bytes} << {unk_to[2:0], 3'd0};
        st_words_be = ((24'd1 << head_size) - 24'd1) << unk_to[2:0];
        cp_left_d   = len;
        cp_direct_d = 1'b0;
        cp_engine_d = 1'b0;
        cp_nul_d    = 1'b0;
        cp_utf8_d   = 1'b0;
        cp_key_d    = 1'b0;
        cp_addr_d   = st_addr + 40'(head_size);
        cp_back_d   = cp_addr_d[2:0];
        if (st_ready) begin
          tok_take    = 1'b1;
          searched_d  = 1'b0;
          found_d     = 1'b0;
          unk_force_d = 1'b0;
          state_d     = XRun;
          if (tok_wtype_q == 3'd2) begin
            if (len == '0) front_resume = 1'b1;
            else state_d = XCopy;
          end
          if (tok_wtype_q != 3'd2 || len == '0) cp_back_d = '0;
        end else begin
          cp_back_d = '0;
        end
      end

      XRead: if (arready_i) state_d = XReadWait;
      XReadWait:
      if (r_i) begin
        pa_left_d = pa_left_q - 3'd1;
        state_d   = pa_left_q == 3'd1 ? XHasBits : XRead;
      end
      XHasBits: begin
        st_valid    = 1'b1;
        st_addr     = e_obj_q + 40'd16;
        st_words    = {128'd0, e_has_q};
        st_words_be = {16'd0, {4{|e_has_q[63:32]}}, {4{|e_has_q[31:0]}}};
        if (st_ready) begin
          pa_done_d = 1'b1;
          state_d   = XRun;
        end
      end

      XSearch, XEnum: begin
        state_d = ret_q;
        if (search_equal) begin
          found_d      = state_q == XSearch ? 1'b1 : found_q;
          enum_known_d = state_q == XEnum;
        end else begin
          if (search_below) lo_d = mid_q + 16'd1;
          else hi_d = mid_q;
          if (lo_d != hi_d) begin
            search_re = state_q == XSearch;
            enum_re   = state_q == XEnum;
            state_d   = state_q;
          end else if (state_q == XEnum && ret_q == XRun && !e_entry_q) begin
            unk_force_d = 1'b1;
          end else if (state_q == XEnum) begin
            fail = 1'b1;
            leave = 1'b1;
            fail_code = deser_pkg::WhyClosedEnum;
          end
        end
      end

      XFinish: begin
        if (utf8_bad) begin
          fail = 1'b1;
          fail_code = deser_pkg::ErrBadUtf8;
        end else if (st_empty && !eager_busy && !jobs_full) begin
          job_valid = 1'b1;
          front_off = 1'b1;
          xt_commit = 1'b1;
          win_end   = 1'b1;
          buffer_d  = !buffer_q;
          state_d   = XIdle;
        end
      end

      XAbort: begin
        is_abort = 1'b1;
        front_off = 1'b1;
        if (st_empty && !eager_busy && !jobs_full) begin
          job_valid   = 1'b1;
          job_discard = 1'b1;
          xt_commit   = 1'b1;
          buffer_d    = !buffer_q;
          state_d     = XDrain;
        end
      end

      XDrain: begin
        cp_left_d = left;
        if (left == '0) begin
          win_end = begun;
          if (begun) state_d = XIdle;
        end else if (cp_left_q == left && cp_have) begin
          consume       = 1'b1;
          consume_count = cp_now;
          cp_left_d     = left - 32'(cp_now);
        end
      end
      default: state_d = XIdle;
    endcase

    if (mark_has && f_has_bit < 7'd64) e_has_d[f_has_bit[5:0]] = 1'b1;
    if (set_seen) e_seen_d[seen_bit] = 1'b1;
    if (el_push) begin
      sp_d = sp_q + 1'b1;
      if (run_start && f_map) begin
        map_id_d   = map_next_q;
        map_next_d = map_next_q + 16'd1;
        map_nest_d = map_nest_q + 8'd1;
        if (map_nest_q == '0) map_outer_d = map_next_q;
      end
      if (run_start) begin
        run_open_d = 1'b1;
        run_map_d  = f_map;
        run_off_d  = f_offset;
        run_base_d = sp_q;
        run_kind_d = f_run_kind;
      end
    end
    if (state_q == XRun || state_q == XCase) cp_first_d = 1'b1;
    if (e_push) unk_open_d = 1'b0;
    if (tok_take) begin
      pa_done_d  = 1'b0;
      searched_d = 1'b0;
      found_d    = 1'b0;
    end
    if (fail) begin
      state_d      = XAbort;
      code_d       = fail_code;
      software_d   = leave;
      tok_take     = 1'b0;
      front_resume = 1'b0;
      cp_back_d    = '0;
    end
    if (state_q == XAbort && utf8_bad) begin  // a string in front of what was found
      code_d     = deser_pkg::ErrBadUtf8;
      software_d = 1'b0;
    end
  end
  assign el_we = el_push;

  // What L knows of the message comes back, or is new.
  logic [EFrameW-1:0] e_next;
  always_comb begin
    e_next = {e_obj_d, e_has_d, e_seen_d, run_open_d, run_map_d, e_entry_d, run_off_d, run_base_d, run_kind_d, map_id_d, e_key_d,
              e_end_d};
    if (e_push) e_next = {e_obj_d, 64'd0, 64'd0, 1'b0, 1'b0, e_entry_d, 12'd0, SpW'(0), 3'd0, map_id_d, 32'd0,
                        rows_of(ptr_d)};
    if (e_pop) e_next = e_parent;
  end

  always_comb begin
    job_record = '0;
    job_record[deser_pkg::RecTypeAt+:4]      = state_q == XSwitch ? deser_pkg::RecChunk : is_abort ? (software_d ? deser_pkg::RecSoftware : deser_pkg::RecError) : deser_pkg::RecDone;
    job_record[deser_pkg::RecCodeAt+:8]      = code_d;
    job_record[deser_pkg::RecCookieAt+:32]   = cookie_q;
    job_record[deser_pkg::RecRootAt+:40]     = {first_chunk_q, 12'd0};
    job_record[deser_pkg::RecPositionAt+:32] = pos;
    job_record[deser_pkg::RecChunkAt+:28]    = chunk_q;
    if (state_q == XFinish) begin
      job_record[deser_pkg::RecRunAt+:28]          = run_first;
      job_record[deser_pkg::RecRunChunksAt+:12]    = run_chunks;
      job_record[deser_pkg::RecEngineAt+:28]       = erun_first;
      job_record[deser_pkg::RecEngineChunksAt+:12] = erun_chunks;
    end
  end

  always_ff @(posedge clk_i) begin
    {e_obj_q, e_has_q, e_seen_q, run_open_q, run_map_q, e_entry_q, run_off_q, run_base_q, run_kind_q, map_id_q, e_key_q,
     e_end_q} <= e_next;
    if (e_push) e_stack[e_depth_q[StackLog2-1:0]] <= e_frame;
    chunk_q       <= chunk_d;
    first_chunk_q <= first_chunk_d;
    ptr_q         <= ptr_d;
    code_q        <= code_d;
    software_q    <= software_d;
    cp_left_q     <= cp_left_d;
    cp_addr_q     <= cp_addr_d;
    cp_direct_q   <= cp_direct_d;
    cp_engine_q   <= cp_engine_d;
    cp_nul_q      <= cp_nul_d;
    cp_utf8_q     <= cp_utf8_d;
    cp_first_q    <= cp_first_d;
    cp_back_q     <= cp_back_d;
    cp_key_q      <= cp_key_d;
    key_at_q      <= key_at_d;
    pa_done_q     <= pa_done_d;
    pa_left_q     <= pa_left_d;
    key_probes_q  <= key_probes_d;
    key_done_q    <= key_done_d;
    map_outer_q   <= map_outer_d;
    map_nest_q    <= map_nest_d;
    unk_open_q    <= unk_open_d;
    unk_force_q   <= unk_force_d;
    unk_at_q      <= unk_at_d;
    unk_size_q    <= unk_size_d;
    unk_from_q    <= unk_from_d;
    pk_count_q    <= pk_count_d;
    el_addr_q     <= el_addr_d;
    lo_q          <= lo_d;
    hi_q          <= hi_d;
    mid_q         <= search_at;
    enum_known_q  <= enum_known_d;
    if (enum_re && search_first) enum_value_q <= raw_value[31:0];
    if (el_re) el_index_q <= el_raddr;
    if (cmd_ready_o) cookie_q <= cmd_cookie_i;
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q    <= XIdle;
      ret_q      <= XRun;
      buffer_q   <= 1'b0;
      sp_q       <= '0;
      map_next_q <= 16'd1;  // 0 is what an untouched word of the table says
      e_depth_q  <= '0;
      found_q    <= 1'b0;
      searched_q <= 1'b0;
    end else begin
      state_q    <= state_d;
      ret_q      <= ret_d;
      buffer_q   <= buffer_d;
      sp_q       <= sp_d;
      map_next_q <= map_next_d;
      found_q    <= found_d;
      searched_q <= searched_d;
      if (win_start) e_depth_q <= '0;
      else if (e_push) e_depth_q <= e_depth_q + 1'b1;
      else if (e_pop) e_depth_q <= e_depth_q - 1'b1;
    end
  end
  assign idle_o = state_q == XIdle && !cmpl_valid_o && busy == 2'b00;

  logic unused;
  assign unused = ^{software_q, d_number, run_map_q, packed_bound, t_push_sub, lo_hi, unk_end, unk_new_end,
                    run_total, side[127:123]};

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      assert (!(e_pop && e_depth_q == '0)) else $error("L leaves the outermost message");
      assert (ptr_q <= ChunkBytes) else $error("the chunk overflows");
    end
  end
`endif
endmodule
