// One deserializer lane: wire bytes of one message after the other into objects (docs/rtl.md has the picture).
//
//   T  a field's tag and value from the window; the step's and side word's read begins       (deser_front)
//   L  the step is there: what to do with the field; one field a cycle for scalars            (here)
//   S  the store, turned to its place, into the temp buffer or past it                        (deser_store)
//
// T runs ahead of L by one field. It stops at what it cannot size alone (lengths, groups), until L has said whether the
// bytes are a message to enter, or has taken them itself (copy, packed, skip). The stacks are two: T's knows limits and
// slots and is popped by T itself, L's knows the object; so leaving a message costs one cycle.
//
// An array whose length is not known in advance (repeated, not packed) gathers on the element stack: the innermost
// message's open run lies on top. It is closed, that is written to the chunk, by the next field of another number and
// by the message's end.
//
// L is a state machine whose states live in four modules (deser_fields, deser_bytes, deser_arrays, deser_messages).
// Each is a function of L's registers and of what L sees, to the next registers and to what is to be done; the one
// that the state belongs to counts. Here are the registers, the stack, and what all states have in common.
`include "drover_assert.svh"
module deser_lane #(
    parameter int unsigned StepsLog2 = 14,
    parameter int unsigned TypesLog2 = 10,
    parameter int unsigned StackLog2 = 7     // levels of messages
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
    input  logic              cmd_known_i,  // the type is in the schema table
    input  logic [31:0]       cmd_length_i,
    input  logic [31:0]       cmd_cookie_i,
    input  logic [511:0]      rx_tdata_i,
    input  logic              rx_tlast_i,
    input  logic              rx_bad_i,     // with rx_tlast_i: the packet is not as long as the command says
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
    input  logic              r_bad_i,      // with r_i: refused
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
  localparam int unsigned SpW = deser_pkg::SpW;

  deser_pkg::lane_t q, d, chosen;  // L's registers, in the next cycle; without what all states have in common
  deser_pkg::view_t v;
  deser_pkg::act_t a;
  logic tok_take, front_resume;

  // ---------------------------------------------------------------- T
  logic [511:0] win;
  logic [7:0] avail;
  logic [31:0] pos, left;
  logic pk_cut, win_over, have16, d_overlong, tok_valid_q, tok_in_slots_q, t_fire;
  logic [28:0] d_number, tok_number_q;
  logic [63:0] d_value, tok_value_q;
  logic [3:0] d_vsize;
  logic [1:0] tok_q;
  logic [2:0] tok_wtype_q;
  logic [7:0] tok_error_q;
  logic [31:0] t_limit_q;
  logic [deser_pkg::StepAddrW-1:0] t_slots_q;
  logic [11:0] t_slot_count_q;
  logic [15:0] t_field_count_q;
  logic [deser_pkg::SubW-1:0] root, f_sub;
  deser_front #(.StackLog2(StackLog2)) u_front (
      .clk_i, .rst_ni, .rx_tdata_i, .rx_tlast_i, .rx_bad_i, .rx_tvalid_i, .rx_tready_o, .start_i(a.win_start),
      .length_i(cmd_length_i),
      .end_i(a.win_end), .off_i(a.front_off), .resume_i(front_resume), .push_i(a.t_push),
      .push_group_i(a.t_push_group), .push_limit_i(a.t_push_limit),
      .sub_i(q.state == deser_pkg::XIdle ? root : f_sub), .bulk_i(a.consume), .bulk_count_i(a.consume_count),
      .back_i(q.cp_back), .packed_i(q.state == deser_pkg::XPacked), .win_o(win), .avail_o(avail), .pos_o(pos),
      .left_o(left), .bad_o(pk_cut), .over_o(win_over), .have16_o(have16), .value_o(d_value), .varint_size_o(d_vsize), .overlong_o(d_overlong),
      .fire_o(t_fire), .number_o(d_number), .tok_valid_o(tok_valid_q), .tok_take_i(tok_take), .tok_kind_o(tok_q),
      .tok_number_o(tok_number_q), .tok_wire_type_o(tok_wtype_q), .tok_value_o(tok_value_q),
      .tok_error_o(tok_error_q), .tok_in_slots_o(tok_in_slots_q), .limit_o(t_limit_q), .slots_o(t_slots_q),
      .slot_count_o(t_slot_count_q), .field_count_o(t_field_count_q));

  // ---------------------------------------------------------------- schema table, and the field at hand
  logic [deser_pkg::StepAddrW-1:0] search_addr;
  logic [63:0] step;
  logic [127:0] side;
  logic [31:0] enum_read;
  logic [15:0] mid, search_at;
  logic root_valid_q, search_equal, search_below;
  deser_table #(.StepsLog2(StepsLog2), .TypesLog2(TypesLog2)) u_table (
      .clk_i, .rst_ni, .load_valid_i, .load_space_i, .load_addr_i, .load_data_i, .step_re_i(t_fire || a.search_re),
      .step_addr_i(a.search_re ? search_addr : t_slots_q + d_number[deser_pkg::StepAddrW-1:0]), .step_o(step),
      .side_o(side), .enum_re_i(a.enum_re), .enum_addr_i(search_at), .enum_o(enum_read), .type_re_i(1'b1),
      .type_addr_i(cmd_type_i), .type_o(root));
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) root_valid_q <= 1'b0;
    else root_valid_q <= cmd_valid_i && !cmd_ready_o;
  end

  logic there, found;
  logic [11:0] f_offset, f_case;
  logic [6:0] f_has_bit;
  logic [3:0] f_op;
  logic f_repeated, f_map, f_target, f_oneof, f_is_string, f_is_message, f_is_scalar;
  logic [2:0] f_wtype;
  logic [1:0] f_log2;
  deser_field u_field (
      .step_i(step), .side_i(side), .there_o(there), .offset_o(f_offset), .has_bit_o(f_has_bit), .op_o(f_op),
      .repeated_o(f_repeated), .map_o(f_map), .target_o(f_target), .oneof_o(f_oneof), .case_o(f_case), .sub_o(f_sub),
      .is_string_o(f_is_string), .is_message_o(f_is_message), .is_scalar_o(f_is_scalar), .wire_type_o(f_wtype),
      .log2_o(f_log2));
  assign found = (tok_in_slots_q || q.found) && there;
  logic [deser_pkg::AddrW-1:0] f_addr;
  logic [5:0] seen_bit;
  logic f_seen;
  assign f_addr   = q.e_obj + {28'd0, f_offset};
  assign seen_bit = f_offset[8:3];
  assign f_seen   = q.e_seen[seen_bit];

  // A scalar as it is stored; in packed mode the element comes straight from the window.
  logic [63:0] raw_value, scalar;
  assign raw_value = q.state == deser_pkg::XPacked ? d_value : tok_value_q;
  always_comb begin
    case (f_op)
      drover_image_pkg::OpBool[3:0]: scalar = {63'd0, raw_value != '0};
      drover_image_pkg::OpSint32[3:0]: scalar = {32'd0, {1'b0, raw_value[31:1]} ^ {32{raw_value[0]}}};
      drover_image_pkg::OpSint64[3:0]: scalar = {1'b0, raw_value[63:1]} ^ {64{raw_value[0]}};
      default: scalar = raw_value;
    endcase
  end
  deser_search u_search (
      .clk_i, .searching_i(q.state == deser_pkg::XSearch), .in_enum_i(q.state == deser_pkg::XEnum),
      .lo_i(chosen.lo), .hi_i(chosen.hi), .number_i(tok_number_q),
      .step_number_i(side[deser_pkg::SideNumberAt+:29]), .enum_re_i(a.enum_re), .enum_value_i(raw_value[31:0]),
      .enum_read_i(enum_read), .at_o(search_at), .mid_o(mid), .equal_o(search_equal), .below_o(search_below));
  assign search_addr = t_slots_q + {5'd0, t_slot_count_q} + 17'd1 + {1'b0, search_at};

  // ProtoACC's way
  assign arvalid_o = q.state == deser_pkg::XRead;
  assign arrow_o   = cfg_descriptors_i + {18'd0, t_slots_q[deser_pkg::StepAddrW-1:1]} + {18'd0, tok_number_q[16:1]};

  // ---------------------------------------------------------------- places
  logic is_packed, packed_fixed, packed_too_large, str_fits, str_large, large_engine, large_ok, obj_fits, run_fresh;
  logic [12:0] str_bytes, obj_bytes;
  logic [deser_pkg::RowW-1:0] large_row;
  logic [deser_pkg::AddrW-1:0] top_addr;
  logic [63:0] to_top, to_run;
  logic [deser_pkg::ChunkW-1:0] run_first, erun_first;
  logic [11:0] run_chunks, erun_chunks;
  assign is_packed    = f_is_scalar && f_repeated && tok_wtype_q == 3'd2;
  assign packed_fixed = f_op == drover_image_pkg::OpFixed32[3:0] || f_op == drover_image_pkg::OpFixed64[3:0];
  deser_place u_place (
      .clk_i, .rst_ni, .len_i(tok_value_q[31:0]), .is_packed_i(is_packed), .packed_fixed_i(packed_fixed),
      .counted_i(q.state == deser_pkg::XPackedEnd), .pk_count_i(q.pk_count), .log2_i(f_log2), .target_i(f_target),
      .object_words_i(f_sub[deser_pkg::SubWordsAt+:10]), .field_addr_i(f_addr), .chunk_i(q.chunk), .ptr_i(q.ptr),
      .packed_too_large_o(packed_too_large), .str_bytes_o(str_bytes), .str_fits_o(str_fits), .str_large_o(str_large),
      .large_engine_o(large_engine), .large_ok_o(large_ok), .large_row_o(large_row), .obj_bytes_o(obj_bytes),
      .obj_fits_o(obj_fits), .top_addr_o(top_addr), .to_top_o(to_top), .to_run_o(to_run), .load_i(a.xt_load),
      .take_i(a.xt_take), .commit_i(a.xt_commit), .abort_i(a.is_abort), .run_fresh_o(run_fresh), .run_valid_i,
      .run_ready_o, .run_first_i, .run_count_i, .erun_valid_i, .erun_ready_o, .erun_first_i, .erun_count_i,
      .run_first_o(run_first), .run_chunks_o(run_chunks), .erun_first_o(erun_first), .erun_chunks_o(erun_chunks));

  logic [119:0] head_bytes;
  logic [4:0] head_size;
  logic unk_more, unk_fits;
  logic [13:0] unk_wanted;
  logic [12:0] unk_new_end;
  logic [11:0] unk_to;
  deser_unknown u_unknown (
      .number_i(tok_number_q), .wire_type_i(tok_wtype_q), .value_i(tok_value_q), .ptr_i(q.ptr), .open_i(q.unk_open),
      .at_i(q.unk_at), .size_i(q.unk_size), .from_i(q.unk_from), .head_bytes_o(head_bytes), .head_size_o(head_size),
      .more_o(unk_more), .fits_o(unk_fits), .wanted_o(unk_wanted), .new_end_o(unk_new_end), .to_o(unk_to));

  logic el_full, run_fits;
  logic [71:0] el_rdata;
  logic [SpW-1:0] el_index, run_count;
  logic [13:0] run_total;
  logic [deser_pkg::AddrW-1:0] run_array;
  deser_open_run u_open_run (
      .clk_i, .push_i(a.el_push), .wdata_i(a.el_wdata), .re_i(a.el_re), .raddr_i(a.el_raddr), .rdata_o(el_rdata),
      .index_o(el_index), .sp_i(q.sp), .base_i(q.run_base), .kind_i(q.run_kind), .top_addr_i(top_addr), .ptr_i(q.ptr),
      .full_o(el_full), .count_o(run_count), .total_o(run_total), .fits_o(run_fits), .array_o(run_array));

  // ---------------------------------------------------------------- the copy at hand, and stores
  logic [6:0] cp_now, cp_most, cp_end;
  logic cp_last, cp_have;
  assign cp_most = 7'd64 - {4'd0, q.cp_back};
  assign cp_last = q.cp_left <= {25'd0, cp_most};
  assign cp_now  = cp_last ? q.cp_left[6:0] : cp_most;
  assign cp_have = avail >= {1'b0, cp_now};
  assign cp_end  = cp_now + {4'd0, q.cp_back};

  logic pk_valid, pk_bad, in_packed;
  assign in_packed = q.state == deser_pkg::XPacked || (q.state == deser_pkg::XEnum && q.ret == deser_pkg::XPacked);
  assign pk_bad   = d_overlong || 32'(d_vsize) > q.cp_left;
  assign pk_valid = q.state == deser_pkg::XPacked && q.cp_left != '0 && have16 && !pk_bad &&
                    !(f_op == drover_image_pkg::OpClosedEnum[3:0] && !q.enum_known);

  logic [63:0] scalar_at, st_be, copy_be;
  logic [7:0] scalar_be;
  logic [511:0] st_data, copy_data;
  always_comb begin  // a scalar at its place in its word
    case (a.scalar_log2)
      2'd0: begin
        scalar_at = {8{a.scalar_in[7:0]}};
        scalar_be = 8'd1 << a.scalar_low;
      end
      2'd2: begin
        scalar_at = {2{a.scalar_in[31:0]}};
        scalar_be = a.scalar_low[2] ? 8'hF0 : 8'h0F;
      end
      default: begin
        scalar_at = a.scalar_in;
        scalar_be = 8'hFF;
      end
    endcase
  end
  always_comb begin
    for (int i = 0; i < 64; i++) begin
      copy_data[8*i+:8] = 7'(i) < cp_end ? win[8*i+:8] : 8'd0;
      copy_be[i]        = (7'(i) < cp_end && 7'(i) >= {4'd0, q.cp_back}) || q.cp_direct;
    end
  end
  always_comb begin
    if (a.st_copy) begin
      st_data = copy_data;
      st_be   = copy_be;
    end else if (a.st_scalar) begin
      st_data = {448'd0, scalar_at};
      st_be   = {56'd0, scalar_be};
    end else begin
      st_data = {320'd0, a.st_words};
      st_be   = {40'd0, a.st_words_be};
    end
    if (q.state == deser_pkg::XNulRow) st_be = '1;
  end

  logic st_ready, st_empty, st_run, eager_busy, jobs_full;
  logic [1:0] busy;
  logic row_valid, row_ready, row_engine, row_last, row_fresh, row_room, rec_valid, rec_ready;
  logic [deser_pkg::RecW-1:0] job_record, rec_data;
  logic [deser_pkg::RowW-1:0] row_addr;
  logic [511:0] row_data, fl_data;
  logic [63:0] row_be;
  logic fl_aw_valid, fl_aw_ready, fl_aw_bad, fl_valid, fl_ready, fl_last;
  logic [deser_pkg::ChunkW-1:0] fl_aw_chunk;
  logic [5:0] fl_aw_len, fl_aw_row;
  assign st_run = q.cp_direct && (a.st_copy || q.state == deser_pkg::XNulRow ||
                                  q.state == deser_pkg::XPacked);
  // What is final: from the innermost open object's end to what has been stored. In other states than these, something
  // is half written.
  logic final_valid;
  logic [6:0] final_low, final_high;
  assign final_valid = q.state == deser_pkg::XRun || q.state == deser_pkg::XCopy;
  assign final_low   = q.e_obj[deser_pkg::AddrW-1:deser_pkg::OffW] == q.chunk ? q.e_end : '0;
  assign final_high  = unk_more ? {1'b0, q.unk_at[11:6]} :
                       q.state == deser_pkg::XCopy && !q.cp_direct ? {1'b0, q.cp_addr[11:6]} : q.ptr[12:6];
  deser_store u_store (
      .clk_i, .rst_ni, .st_valid_i(a.st_valid), .st_ready_o(st_ready), .st_addr_i(a.st_addr[deser_pkg::AddrW-1:3]),
      .st_data_i(st_data), .st_be_i(st_be),
      .st_local_i(a.st_addr[deser_pkg::AddrW-1:deser_pkg::OffW] == q.chunk && cfg_one_shot_i && !st_run),
      .st_buffer_i(q.buffer), .st_engine_i(st_run && q.cp_engine), .st_last_i(a.st_last), .st_run_i(st_run),
      .pk_active_i(in_packed), .pk_valid_i(pk_valid), .pk_merge_i(q.cp_direct && cfg_one_shot_i),
      .pk_row_i(q.cp_addr[deser_pkg::AddrW-1:6]), .st_empty_o(st_empty), .eager_i, .more_i(left[31:6] != '0),
      .final_i(final_valid), .final_low_i(final_low), .final_high_i(final_high), .row_fresh_i(row_fresh),
      .row_room_i(row_room), .eager_busy_o(eager_busy), .job_valid_i(a.job_valid), .job_buffer_i(q.buffer),
      .job_chunk_i(q.chunk), .job_rows_i(cfg_one_shot_i ? deser_pkg::rows_of(q.ptr) : 7'd0),
      .job_discard_i(a.job_discard), .job_record_i(job_record), .busy_o(busy), .jobs_full_o(jobs_full),
      .fl_aw_valid_o(fl_aw_valid), .fl_aw_ready_i(fl_aw_ready), .fl_aw_bad_i(fl_aw_bad), .fl_aw_chunk_o(fl_aw_chunk),
      .fl_aw_row_o(fl_aw_row), .fl_aw_len_o(fl_aw_len), .fl_valid_o(fl_valid), .fl_ready_i(fl_ready),
      .fl_data_o(fl_data), .fl_last_o(fl_last), .row_valid_o(row_valid), .row_ready_i(row_ready),
      .row_addr_o(row_addr), .row_data_o(row_data), .row_be_o(row_be), .row_engine_o(row_engine),
      .row_last_o(row_last), .rec_valid_o(rec_valid), .rec_ready_i(rec_ready), .rec_o(rec_data));
  deser_writer u_writer (
      .clk_i, .rst_ni, .cfg_host_base_i, .cfg_host_limit_i, .cfg_engine_base_i, .cfg_engine_limit_i, .eager_i,
      .row_valid_i(row_valid), .row_ready_o(row_ready), .row_addr_i(row_addr), .row_data_i(row_data),
      .row_be_i(row_be), .row_engine_i(row_engine), .row_last_i(row_last), .row_fresh_o(row_fresh),
      .row_room_o(row_room), .fl_aw_valid_i(fl_aw_valid), .fl_aw_ready_o(fl_aw_ready), .fl_aw_bad_o(fl_aw_bad),
      .fl_aw_chunk_i(fl_aw_chunk), .fl_aw_row_i(fl_aw_row), .fl_aw_len_i(fl_aw_len), .fl_valid_i(fl_valid),
      .fl_ready_o(fl_ready), .fl_data_i(fl_data), .fl_last_i(fl_last), .rec_valid_i(rec_valid),
      .rec_ready_o(rec_ready), .rec_i(rec_data), .awvalid_o, .awready_i, .awrow_o, .awlen_o, .awengine_o, .wvalid_o,
      .wready_i, .wdata_o, .wstrb_o, .wlast_o, .b_i, .b_fault_i, .cmpl_valid_o, .cmpl_ready_i, .cmpl_o);

  logic utf8_bad;
  deser_utf8 u_utf8 (
      .clk_i, .rst_ni, .clear_i(a.utf8_clear), .valid_i(a.st_copy && cp_have && st_ready && q.cp_utf8),
      .first_i(q.cp_first), .last_i(cp_last), .count_i(cp_now), .data_i(win), .bad_o(utf8_bad));
  logic key_taken, key_same, map_open;
  logic [15:0] map_next;
  logic [deser_pkg::KeysLog2-1:0] key_place;
  logic [63:0] beat_fold;
  assign map_open = a.el_push && a.run_start && f_map;
  deser_map_keys u_keys (
      .clk_i, .rst_ni, .we_i(a.key_we), .waddr_i(q.key_at), .map_i(q.map_id), .key_i(q.e_key), .re_i(a.key_re),
      .raddr_i(chosen.key_at), .same_o(key_same), .taken_o(key_taken), .open_i(map_open), .only_i(q.map_nest == '0),
      .next_o(map_next), .place_o(key_place), .beat_i(copy_data), .fold_o(beat_fold));

  // ---------------------------------------------------------------- L: what it sees (in view_t's order), its states
  logic [StackLog2:0] e_depth_q;
  assign v = {
      st_ready, st_empty, eager_busy, jobs_full, busy[q.buffer], busy[!q.buffer], cp_have, cp_now, cp_last, beat_fold,
      tok_valid_q, tok_q, tok_number_q, tok_wtype_q, tok_error_q, tok_in_slots_q, tok_value_q[31:0], t_limit_q,
      t_field_count_q, pos, pk_cut, win_over, found, f_offset, f_case, f_has_bit, f_op, f_repeated, f_map, f_oneof,
      f_is_string, f_is_message, f_is_scalar, f_sub, f_wtype, f_log2, f_addr, f_seen, scalar, cmd_valid_i,
      cmd_known_i, root_valid_q, root, chunk_valid_i, chunk_i, 8'(e_depth_q) >= cfg_depth_limit_i, e_depth_q[StackLog2],
      cfg_protoacc_i, utf8_bad, have16, d_vsize, d_overlong, pk_bad, is_packed, packed_fixed, packed_too_large,
      str_bytes, str_fits, str_large, large_row, large_ok, large_engine, obj_bytes, obj_fits, run_fresh, to_top,
      to_run, top_addr, unk_more, unk_fits, unk_wanted, unk_new_end, unk_to, head_bytes, head_size, run_count,
      run_total, run_array, run_fits, el_full, el_rdata, el_index, key_taken, key_same, key_place, search_equal, search_below,
      mid, arready_i, r_i, r_bad_i};
  deser_pkg::lane_t fields_d, bytes_d, arrays_d, messages_d;
  deser_pkg::act_t fields_a, bytes_a, arrays_a, messages_a;
  deser_fields u_fields (.q_i(q), .v_i(v), .d_o(fields_d), .a_o(fields_a));
  deser_bytes u_bytes (.q_i(q), .v_i(v), .d_o(bytes_d), .a_o(bytes_a));
  deser_arrays u_arrays (.q_i(q), .v_i(v), .d_o(arrays_d), .a_o(arrays_a));
  deser_messages u_messages (.q_i(q), .v_i(v), .d_o(messages_d), .a_o(messages_a));
  always_comb begin
    case (q.state)
      deser_pkg::XRun, deser_pkg::XCase: {chosen, a} = {fields_d, fields_a};
      deser_pkg::XCopy, deser_pkg::XNulRow, deser_pkg::XPacked, deser_pkg::XPackedEnd,
      deser_pkg::XSkip, deser_pkg::XUnknown, deser_pkg::XUnknownAt, deser_pkg::XUnknownHead:
      {chosen, a} = {bytes_d, bytes_a};
      deser_pkg::XClose, deser_pkg::XCloseOwner, deser_pkg::XCloseElem, deser_pkg::XKey,
      deser_pkg::XSearch, deser_pkg::XEnum:
      {chosen, a} = {arrays_d, arrays_a};
      default: {chosen, a} = {messages_d, messages_a};
    endcase
  end

  // What all states have in common.
  logic [63:0] has_mark, seen_mark;
  assign has_mark     = a.mark_has && f_has_bit < 7'd64 ? 64'd1 << f_has_bit[5:0] : '0;
  assign seen_mark    = a.set_seen ? 64'd1 << seen_bit : '0;
  assign tok_take     = a.tok_take && !a.fail;
  assign front_resume = a.front_resume && !a.fail;
  always_comb begin
    d        = chosen;
    d.e_has  = chosen.e_has | has_mark;
    d.e_seen = chosen.e_seen | seen_mark;
    if (a.el_push) begin
      d.sp = q.sp + 1'b1;
      if (map_open) begin
        d.map_id   = map_next;
        d.map_nest = q.map_nest + 8'd1;
      end
      if (a.run_start) begin
        d.run_open = 1'b1;
        d.run_map  = f_map;
        d.run_off  = f_offset;
        d.run_base = q.sp;
        d.run_kind = f_is_string ? deser_pkg::RunStrings : f_is_message ? deser_pkg::RunPointers
                     : {1'b0, f_log2};
      end
    end
    if (q.state == deser_pkg::XRun || q.state == deser_pkg::XCase) d.cp_first = 1'b1;
    if (a.e_push) d.unk_open = 1'b0;
    if (a.tok_take) begin
      d.pa_done  = 1'b0;
      d.searched = 1'b0;
      d.found    = 1'b0;
    end
    if (a.fail) begin
      d.state    = deser_pkg::XAbort;
      d.code     = a.fail_code;
      d.software = a.leave;
      d.cp_back  = '0;
      if (in_packed && !q.cp_direct) begin  // elements above the chunk's top have to be cleared too
        d.ptr = {q.cp_addr[deser_pkg::AddrW-1:deser_pkg::OffW] != q.chunk, q.cp_addr[11:0]};
      end
    end
    if (q.state == deser_pkg::XAbort && (utf8_bad || pk_cut)) begin  // a string in front of what was found
      d.code     = pk_cut ? deser_pkg::ErrPacketLength : deser_pkg::ErrBadUtf8;
      d.software = 1'b0;
    end
  end

  // What L knows of a message comes back, or is new.
  localparam int unsigned EFrameW = deser_pkg::AddrW + 64 + 64 + 1 + 1 + 1 + 12 + SpW + 3 + 16 + 64 + 7;
  (* ram_style = "distributed" *) logic [EFrameW-1:0] e_stack[Levels];
  logic [EFrameW-1:0] e_next;
  always_comb begin
    e_next = {d.e_obj, d.e_has, d.e_seen, d.run_open, d.run_map, d.e_entry, d.run_off, d.run_base, d.run_kind,
              d.map_id, d.e_key, d.e_end};
    if (a.e_push) e_next = {d.e_obj, 64'd0, 64'd0, 1'b0, 1'b0, d.e_entry, 12'd0, SpW'(0), 3'd0, d.map_id, 64'd0,
                            deser_pkg::rows_of(d.ptr)};
    if (a.e_pop) e_next = e_stack[StackLog2'(e_depth_q - 1'b1)];
  end
  always_ff @(posedge clk_i) begin
    if (a.e_push) begin
      e_stack[e_depth_q[StackLog2-1:0]] <= {q.e_obj, d.e_has, d.e_seen, d.run_open, d.run_map, q.e_entry, d.run_off,
                                            d.run_base, d.run_kind, d.map_id, d.e_key, q.e_end};
    end
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      q         <= '0;
      q.ret     <= deser_pkg::XRun;
      e_depth_q <= '0;
    end else begin
      q <= d;
      {q.e_obj, q.e_has, q.e_seen, q.run_open, q.run_map, q.e_entry, q.run_off, q.run_base, q.run_kind, q.map_id,
       q.e_key, q.e_end} <= e_next;
      if (a.win_start) e_depth_q <= '0;
      else if (a.e_push) e_depth_q <= e_depth_q + 1'b1;
      else if (a.e_pop) e_depth_q <= e_depth_q - 1'b1;
    end
  end

  // ---------------------------------------------------------------- the record of what is flushed
  logic [31:0] cookie_q;
  always_ff @(posedge clk_i) if (cmd_ready_o) cookie_q <= cmd_cookie_i;
  always_comb begin
    job_record = '0;
    job_record[deser_pkg::RecTypeAt+:4]      = q.state == deser_pkg::XSwitch ? deser_pkg::RecChunk
                                               : !a.is_abort ? deser_pkg::RecDone
                                               : d.software ? deser_pkg::RecSoftware : deser_pkg::RecError;
    job_record[deser_pkg::RecCodeAt+:8]      = d.code;
    job_record[deser_pkg::RecCookieAt+:32]   = cookie_q;
    job_record[deser_pkg::RecRootAt+:40]     = {q.first_chunk, 12'd0};
    job_record[deser_pkg::RecPositionAt+:32] = pos;
    job_record[deser_pkg::RecChunkAt+:28]    = q.chunk;
    if (q.state == deser_pkg::XFinish) begin
      job_record[deser_pkg::RecRunAt+:28]          = run_first;
      job_record[deser_pkg::RecRunChunksAt+:12]    = run_chunks;
      job_record[deser_pkg::RecEngineAt+:28]       = erun_first;
      job_record[deser_pkg::RecEngineChunksAt+:12] = erun_chunks;
    end
  end

  assign cmd_ready_o   = a.cmd_ready;
  assign chunk_ready_o = a.chunk_ready;
  assign idle_o        = q.state == deser_pkg::XIdle && !cmpl_valid_o && busy == 2'b00;

  logic unused;
  assign unused = ^{a, d_number, side[127:123], left};

  `DROVER_ASSERT(StaysInTheOutermostMessage, !(a.e_pop && e_depth_q == '0))
  `DROVER_ASSERT(StaysInItsChunk, q.ptr <= 13'd4096)
endmodule
