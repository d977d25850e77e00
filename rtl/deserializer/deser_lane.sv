// One deserializer lane: turns the wire bytes of messages, one after the other, into objects (docs/rtl.md has the
// picture).
//
//   T  a field's tag and value from the window; the step's and side word's read begins       (deser_front)
//   L  the step is there: what to do with the field; one field a cycle for scalars            (here)
//   S  the store, turned to its place, into the temp buffer or past it                        (deser_store)
//
// T runs ahead of L by one field. It stops at what it cannot size alone (lengths, groups), until L has said that the
// bytes are a message to enter, or has taken them itself (copy, packed, skip). There are two stacks: T's holds limits
// and slots and is popped by T itself, L's holds the object. So leaving a message costs one cycle.
//
// The elements of an array whose length is not known in advance (repeated, not packed) go on the element stack, those
// of the innermost message's open array on top. The array is closed, that is written to the chunk, by the next field of
// another number and by the message's end.
//
// L is a state machine. Each group of its states is a module: a function of L's registers (lane_t) and of what L sees
// (view_t), to the next registers and to what is to be done (act_t). The module that the state belongs to is chosen.
//
//   XRun                            deser_fields       what the token at hand means
//   XCase                           deser_oneof
//   XCopy, XNulRow, XSkip           deser_copy
//   XPacked, XPackedEnd             deser_packed_varints
//   XUnknown, -At, -Head            deser_keep_unknown
//   XClose, -Owner, -Elem           deser_close
//   XKey, XSearch, XEnum            deser_lookup
//   XRead, XReadWait, XHasBits      deser_protoacc
//   XIdle, XOwner                   deser_start
//   XSwitch, XFinish, XAbort, XDrain  deser_finish
//
// Here are the registers, the stack of messages, and what all states have in common.
`include "drover_assert.svh"
/* verilator lint_off IMPORTSTAR */
import deser_pkg::*;  // here, and types by their full names: yosys reads it so
import drover_deserializer_pkg::*;
/* verilator lint_on IMPORTSTAR */
module deser_lane #(
    parameter int unsigned StepsLog2 = 14,
    parameter int unsigned TypesLog2 = 10,
    parameter int unsigned StackLog2 = 7     // levels of messages
) (
    input  logic                 clk_i,
    input  logic                 rst_ni,
    input  deser_pkg::config_t   cfg_i,
    input  logic                 eager_i,       // the link would idle: what is final may go out now
    // schema table
    input  logic                 load_valid_i,
    input  deser_pkg::load_t     load_i,
    // a message, then its bytes
    input  logic                 cmd_valid_i,
    output logic                 cmd_ready_o,
    input  deser_pkg::cmd_t      cmd_i,
    input  logic                 rx_valid_i,
    output logic                 rx_ready_o,
    input  deser_pkg::rx_t       rx_i,
    // free memory: chunks of the host's; runs of the host's and of engine memory
    input  logic                 chunk_valid_i,
    output logic                 chunk_ready_o,
    input  logic [deser_pkg::ChunkW-1:0] chunk_i,
    input  logic                 run_valid_i,
    output logic                 run_ready_o,
    input  deser_pkg::free_run_t run_i,
    input  logic                 erun_valid_i,
    output logic                 erun_ready_o,
    input  deser_pkg::free_run_t erun_i,
    // reads of ProtoACC's way: one at a time, a row; what comes back is only waited for
    output logic                 arvalid_o,
    input  logic                 arready_i,
    output logic [deser_pkg::RowW-1:0] arrow_o,
    input  logic                 r_i,
    input  logic                 r_bad_i,       // with r_i: refused
    // DMA writes
    output logic                 awvalid_o,
    input  logic                 awready_i,
    output deser_pkg::aw_t       aw_o,
    output logic                 wvalid_o,
    input  logic                 wready_i,
    output deser_pkg::w_t        w_o,
    input  logic [1:0]           b_i,           // answered: a burst of host memory, of engine memory
    input  logic [1:0]           b_fault_i,     // with b_i: it was refused
    // records
    output logic                 cmpl_valid_o,
    input  logic                 cmpl_ready_i,
    output drover_deserializer_pkg::completion_record_t cmpl_o,
    output logic                 idle_o
);
  localparam int unsigned Levels = 1 << StackLog2;

  deser_pkg::lane_t q, d, chosen;  // L's registers; in the next cycle; those without what all states have in common
  deser_pkg::view_t v;
  deser_pkg::act_t a;
  logic fail, tok_take, front_resume;

  // ---------------------------------------------------------------- T
  deser_pkg::window_t window;
  deser_pkg::varint_t varint;
  deser_pkg::token_t token;
  deser_pkg::level_t level;
  deser_pkg::field_t field;
  drover_deserializer_pkg::type_word_t root;  // type of the message that waits
  logic fire, is_group;
  logic [28:0] fire_number;
  assign is_group = field.op == ElemGroup;
  deser_front #(.StackLog2(StackLog2)) u_front (
      .clk_i, .rst_ni, .rx_i, .rx_valid_i, .rx_ready_o, .start_i(a.win_start), .length_i(cmd_i.length),
      .end_i(a.win_end), .off_i(a.front_off), .resume_i(front_resume), .push_i(a.push), .push_group_i(is_group),
      .push_limit_i(is_group ? level.limit : window.pos + token.value[31:0]),
      .sub_i(q.state == XIdle ? root : field.sub), .bulk_i(a.consume), .bulk_count_i(a.consume_count),
      .back_i(q.cp.back), .packed_i(q.state == XPacked), .window_o(window), .varint_o(varint), .fire_o(fire),
      .number_o(fire_number), .token_o(token), .tok_take_i(tok_take), .level_o(level));

  // ---------------------------------------------------------------- schema table, and the field at hand
  drover_image_pkg::field_step_t step;
  drover_deserializer_pkg::side_word_t side;
  deser_pkg::probe_t probe;
  logic [deser_pkg::StepAddrW-1:0] search_addr;
  logic [31:0] enum_read;
  logic [15:0] search_at;
  logic root_valid_q;
  deser_table #(.StepsLog2(StepsLog2), .TypesLog2(TypesLog2)) u_table (
      .clk_i, .rst_ni, .load_valid_i, .load_i, .step_re_i(fire || a.search_re),
      .step_addr_i(a.search_re ? search_addr : level.slots + fire_number[deser_pkg::StepAddrW-1:0]), .step_o(step),
      .side_o(side), .enum_re_i(a.enum_re), .enum_addr_i(search_at), .enum_o(enum_read), .type_re_i(1'b1),
      .type_addr_i(cmd_i.type_index), .type_o(root));
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) root_valid_q <= 1'b0;
    else root_valid_q <= cmd_valid_i && !cmd_ready_o;
  end

  deser_field u_field (.step_i(step), .side_i(side), .field_o(field));
  logic [deser_pkg::AddressW-1:0] field_addr;
  assign field_addr = q.msg.obj + AddressW'(field.offset);

  // A scalar as it is stored; in packed mode the element comes straight from the window.
  logic [63:0] raw_value, scalar;
  assign raw_value = q.state == XPacked ? varint.value : token.value;
  always_comb begin
    case (field.op)
      ElemBool: scalar = {63'd0, raw_value != '0};
      ElemSint32: scalar = {32'd0, {1'b0, raw_value[31:1]} ^ {32{raw_value[0]}}};
      ElemSint64: scalar = {1'b0, raw_value[63:1]} ^ {64{raw_value[0]}};
      default: scalar = raw_value;
    endcase
  end
  deser_search u_search (
      .clk_i, .searching_i(q.state == XSearch), .in_enum_i(q.state == XEnum), .lo_i(chosen.search.lo),
      .hi_i(chosen.search.hi), .number_i(token.number), .step_number_i(field.number), .enum_re_i(a.enum_re),
      .enum_value_i(raw_value[31:0]), .enum_read_i(enum_read), .at_o(search_at), .probe_o(probe));
  // The steps lie behind the slots and one word more.
  assign search_addr = level.slots + StepAddrW'(level.slot_count) + StepAddrW'(1) + StepAddrW'(search_at);

  // ProtoACC's way: descriptors of 32 bytes, two in a row.
  assign arvalid_o = q.state == XRead;
  assign arrow_o   = cfg_i.descriptors + RowW'(level.slots[StepAddrW-1:1]) + RowW'(token.number[StepAddrW-1:1]);

  // ---------------------------------------------------------------- places
  deser_pkg::place_t place;
  deser_pkg::unknown_place_t unk;
  deser_pkg::array_place_t array;
  deser_pkg::used_run_t run, erun;
  logic is_packed;
  assign is_packed = field.is_scalar && field.repeated && token.wire_type == WireLength;
  deser_place u_place (
      .clk_i, .rst_ni, .len_i(token.value[31:0]), .is_packed_i(is_packed), .counted_i(q.state == XPackedEnd),
      .pk_count_i(q.pk_count), .field_i(field), .field_addr_i(field_addr), .chunk_i(q.chunk), .ptr_i(q.ptr),
      .place_o(place), .load_i(a.run_load), .take_i(a.run_take), .commit_i(a.run_commit), .abort_i(a.is_abort),
      .run_valid_i, .run_ready_o, .run_i, .erun_valid_i, .erun_ready_o, .erun_i, .run_o(run), .erun_o(erun));
  deser_unknown u_unknown (.token_i(token), .ptr_i(q.ptr), .unk_i(q.unk), .place_o(unk));
  deser_open_array u_open_array (
      .clk_i, .push_i(a.el_push), .wdata_i(a.el_wdata), .re_i(a.el_re), .raddr_i(a.el_raddr), .sp_i(q.sp),
      .array_i(q.msg.array), .top_addr_i(place.top_addr), .ptr_i(q.ptr), .place_o(array));

  // ---------------------------------------------------------------- the copy at hand, and stores
  deser_pkg::beat_t beat;
  logic [6:0] beat_most, beat_count;
  logic beat_last;
  assign beat_most  = 7'd64 - {4'd0, q.cp.back};
  assign beat_last  = q.cp.left <= {25'd0, beat_most};
  assign beat_count = beat_last ? q.cp.left[6:0] : beat_most;
  assign beat.last  = beat_last;
  assign beat.count = beat_count;
  assign beat.here  = window.avail >= {1'b0, beat_count};

  logic pk_valid, varint_bad, in_packed;
  assign in_packed  = q.state == XPacked || (q.state == XEnum && q.ret == XPacked);
  assign varint_bad = varint.overlong || 32'(varint.size) > q.cp.left;
  assign pk_valid   = q.state == XPacked && q.cp.left != '0 && varint.here && !varint_bad &&
                      !(field.op == ElemClosedEnum && !q.search.enum_known);

  logic [511:0] copy_data, st_data;
  logic [63:0] st_be;
  deser_store_data u_store_data (
      .st_i(a.st), .cp_i(q.cp), .beat_i(beat), .win_i(window.bytes), .unk_i(unk), .copy_o(copy_data), .data_o(st_data),
      .be_o(st_be));

  logic st_ready, st_empty, st_local, st_run, is_copy, eager_busy, jobs_full;
  assign is_copy  = a.st.kind == StoreCopy;
  assign st_run   = q.cp.direct && (is_copy || q.state == XNulRow || q.state == XPacked);
  assign st_local = deser_pkg::chunk_of(a.st.addr) == q.chunk && cfg_i.one_shot && !st_run;
  // What is final: from the innermost open object's end to what has been stored. In other states than these, something
  // is half written.
  logic final_valid;
  logic [6:0] final_low, final_high;
  assign final_valid = q.state == XRun || q.state == XCopy;
  assign final_low   = deser_pkg::chunk_of(q.msg.obj) == q.chunk ? q.msg.end_row : '0;
  assign final_high  = unk.more ? {1'b0, q.unk.at[11:6]} :
                       q.state == XCopy && !q.cp.direct ? {1'b0, q.cp.addr[11:6]} : q.ptr[12:6];

  deser_pkg::job_t job;
  deser_pkg::row_t row;
  deser_pkg::flush_t fl_aw;
  drover_deserializer_pkg::completion_record_t job_record, rec;
  logic [1:0] busy;
  logic row_valid, row_ready, row_fresh, row_room, rec_valid, rec_ready;
  logic fl_aw_valid, fl_aw_ready, fl_aw_bad, fl_valid, fl_ready, fl_last;
  logic [511:0] fl_data;
  assign job.buffer  = q.buffer;
  assign job.discard = a.job_discard;
  assign job.chunk   = q.chunk;
  assign job.rows    = cfg_i.one_shot ? deser_pkg::rows_of(q.ptr) : 7'd0;
  deser_store u_store (
      .clk_i, .rst_ni, .st_valid_i(a.st.valid), .st_ready_o(st_ready), .st_addr_i(a.st.addr[deser_pkg::AddressW-1:3]),
      .st_data_i(st_data), .st_be_i(st_be), .st_local_i(st_local), .st_buffer_i(q.buffer),
      .st_engine_i(st_run && q.cp.engine), .st_last_i(!a.st.more), .st_run_i(st_run), .pk_active_i(in_packed),
      .pk_valid_i(pk_valid), .pk_merge_i(q.cp.direct && cfg_i.one_shot), .pk_row_i(q.cp.addr[deser_pkg::AddressW-1:6]),
      .st_empty_o(st_empty), .eager_i, .more_i(window.left[31:6] != '0), .final_i(final_valid),
      .final_low_i(final_low), .final_high_i(final_high), .row_fresh_i(row_fresh), .row_room_i(row_room),
      .eager_busy_o(eager_busy), .job_valid_i(a.job_valid), .job_i(job), .job_record_i(job_record), .busy_o(busy),
      .jobs_full_o(jobs_full), .fl_aw_valid_o(fl_aw_valid), .fl_aw_ready_i(fl_aw_ready), .fl_aw_bad_i(fl_aw_bad),
      .fl_aw_o(fl_aw), .fl_valid_o(fl_valid), .fl_ready_i(fl_ready), .fl_data_o(fl_data), .fl_last_o(fl_last),
      .row_valid_o(row_valid), .row_ready_i(row_ready), .row_o(row), .rec_valid_o(rec_valid), .rec_ready_i(rec_ready),
      .rec_o(rec));
  deser_writer u_writer (
      .clk_i, .rst_ni, .bounds_i(cfg_i.bounds), .eager_i, .row_valid_i(row_valid), .row_ready_o(row_ready), .row_i(row),
      .row_fresh_o(row_fresh), .row_room_o(row_room), .fl_aw_valid_i(fl_aw_valid), .fl_aw_ready_o(fl_aw_ready),
      .fl_aw_bad_o(fl_aw_bad), .fl_aw_i(fl_aw), .fl_valid_i(fl_valid), .fl_ready_o(fl_ready), .fl_data_i(fl_data),
      .fl_last_i(fl_last), .rec_valid_i(rec_valid), .rec_ready_o(rec_ready), .rec_i(rec), .awvalid_o, .awready_i, .aw_o,
      .wvalid_o, .wready_i, .w_o, .b_i, .b_fault_i, .cmpl_valid_o, .cmpl_ready_i, .cmpl_o);

  logic utf8_bad;
  deser_utf8 u_utf8 (
      .clk_i, .rst_ni, .clear_i(a.utf8_clear), .valid_i(is_copy && beat.here && st_ready && q.cp.utf8),
      .first_i(q.cp.first), .last_i(beat_last), .count_i(beat_count), .data_i(window.bytes), .bad_o(utf8_bad));
  deser_pkg::key_place_t key;
  logic array_open, map_open;
  logic [15:0] map_next;
  assign array_open = a.el_push && !q.msg.array.open;  // the first element
  assign map_open   = array_open && field.is_map;
  deser_map_keys u_keys (
      .clk_i, .rst_ni, .we_i(a.key_we), .waddr_i(q.key.at), .map_i(q.msg.map_id), .key_i(q.msg.key), .re_i(a.key_re),
      .raddr_i(chosen.key.at), .open_i(map_open), .only_i(q.map_nest == '0), .next_o(map_next), .beat_i(copy_data),
      .key_o(key));

  // ---------------------------------------------------------------- L: what it sees, and its states
  logic [StackLog2:0] depth_q;
  always_comb begin
    v.st_ready       = st_ready;
    v.st_empty       = st_empty;
    v.eager_busy     = eager_busy;
    v.jobs_full      = jobs_full;
    v.busy_mine      = busy[q.buffer];
    v.busy_other     = busy[!q.buffer];
    v.token          = token;
    v.len            = token.value[31:0];
    v.field_count    = level.field_count;
    v.found          = (token.in_slots || q.search.found) && field.there;
    v.field          = field;
    v.field_addr     = field_addr;
    v.seen           = q.msg.seen[deser_pkg::seen_bit(field.offset)];
    v.is_packed      = is_packed;
    v.scalar         = scalar;
    v.place          = place;
    v.unk            = unk;
    v.array          = array;
    v.key            = key;
    v.probe          = probe;
    v.beat           = beat;
    v.varint         = varint;
    v.varint_bad     = varint_bad;
    v.utf8_bad       = utf8_bad;
    v.pk_cut         = window.bad;
    v.over           = window.over;
    v.cmd_valid      = cmd_valid_i;
    v.cmd_known      = cmd_i.known;
    v.root_valid     = root_valid_q;
    v.root           = root;
    v.chunk_valid    = chunk_valid_i;
    v.chunk          = chunk_i;
    v.at_depth_limit = 8'(depth_q) >= cfg_i.depth_limit;
    v.stack_full     = depth_q[StackLog2];
    v.protoacc       = cfg_i.protoacc;
    v.arready        = arready_i;
    v.r              = r_i;
    v.r_bad          = r_bad_i;
  end

  deser_pkg::lane_t fields_d, oneof_d, copy_d, varints_d, unknown_d, close_d, lookup_d, protoacc_d, start_d, finish_d;
  deser_pkg::act_t fields_a, oneof_a, copy_a, varints_a, unknown_a, close_a, lookup_a, protoacc_a, start_a, finish_a;
  deser_fields u_fields (.q_i(q), .v_i(v), .d_o(fields_d), .a_o(fields_a));
  deser_oneof u_oneof (.q_i(q), .v_i(v), .d_o(oneof_d), .a_o(oneof_a));
  deser_copy u_copy (.q_i(q), .v_i(v), .d_o(copy_d), .a_o(copy_a));
  deser_packed_varints u_packed_varints (.q_i(q), .v_i(v), .d_o(varints_d), .a_o(varints_a));
  deser_keep_unknown u_keep_unknown (.q_i(q), .v_i(v), .d_o(unknown_d), .a_o(unknown_a));
  deser_close u_close (.q_i(q), .v_i(v), .d_o(close_d), .a_o(close_a));
  deser_lookup u_lookup (.q_i(q), .v_i(v), .d_o(lookup_d), .a_o(lookup_a));
  deser_protoacc u_protoacc (.q_i(q), .v_i(v), .d_o(protoacc_d), .a_o(protoacc_a));
  deser_start u_start (.q_i(q), .v_i(v), .d_o(start_d), .a_o(start_a));
  deser_finish u_finish (.q_i(q), .v_i(v), .d_o(finish_d), .a_o(finish_a));
  always_comb begin
    case (q.state)
      XRun: begin
        chosen = fields_d;
        a      = fields_a;
      end
      XCase: begin
        chosen = oneof_d;
        a      = oneof_a;
      end
      XCopy, XNulRow, XSkip: begin
        chosen = copy_d;
        a      = copy_a;
      end
      XPacked, XPackedEnd: begin
        chosen = varints_d;
        a      = varints_a;
      end
      XUnknown, XUnknownAt, XUnknownHead: begin
        chosen = unknown_d;
        a      = unknown_a;
      end
      XClose, XCloseOwner, XCloseElem: begin
        chosen = close_d;
        a      = close_a;
      end
      XKey, XSearch, XEnum: begin
        chosen = lookup_d;
        a      = lookup_a;
      end
      XRead, XReadWait, XHasBits: begin
        chosen = protoacc_d;
        a      = protoacc_a;
      end
      XIdle, XOwner: begin
        chosen = start_d;
        a      = start_a;
      end
      default: begin
        chosen = finish_d;
        a      = finish_a;
      end
    endcase
  end

  // What all states have in common.
  logic [63:0] has_mark, seen_mark;
  assign has_mark     = a.mark_has && field.has_bit < 7'd64 ? 64'd1 << field.has_bit[5:0] : '0;
  assign seen_mark    = a.mark_seen ? 64'd1 << deser_pkg::seen_bit(field.offset) : '0;
  assign fail         = a.error != ErrOk || a.leave != WhyNone;
  assign tok_take     = a.tok_take && !fail;
  assign front_resume = a.front_resume && !fail;
  always_comb begin
    d          = chosen;
    d.msg.has  = chosen.msg.has | has_mark;
    d.msg.seen = chosen.msg.seen | seen_mark;
    if (a.el_push) d.sp = q.sp + 1'b1;
    if (map_open) begin
      d.msg.map_id = map_next;
      d.map_nest   = q.map_nest + 8'd1;
    end
    if (array_open) begin
      d.msg.array.open   = 1'b1;
      d.msg.array.is_map = field.is_map;
      d.msg.array.offset = field.offset;
      d.msg.array.base   = q.sp;
      d.msg.array.kind   = field.is_string ? ArrayStrings : field.is_message ? ArrayPointers
                           : deser_pkg::array_kind_e'({1'b0, field.log2});
    end
    if (q.state == XRun || q.state == XCase) d.cp.first = 1'b1;
    if (a.push) d.unk.open = 1'b0;
    if (a.tok_take) begin
      d.pa_done         = 1'b0;
      d.search.searched = 1'b0;
      d.search.found    = 1'b0;
    end
    if (fail) begin
      d.state    = XAbort;
      d.code     = a.error | a.leave;  // one of them is zero
      d.software = a.leave != WhyNone;
      d.cp.back  = '0;
      if (in_packed && !q.cp.direct) begin  // elements above the chunk's top have to be cleared too
        d.ptr = {deser_pkg::chunk_of(q.cp.addr) != q.chunk, q.cp.addr[11:0]};
      end
    end
    if (q.state == XAbort && (utf8_bad || window.bad)) begin  // of the bytes in front of what was found
      d.code     = window.bad ? ErrPacketLength : ErrBadUtf8;
      d.software = 1'b0;
    end
  end

  // The innermost message is a new one, or the one around it.
  (* ram_style = "distributed" *) logic [$bits(d.msg)-1:0] stack[Levels];
  deser_pkg::message_t msg_d, around;
  always_comb begin
    around          = d.msg;
    around.obj      = q.msg.obj;
    around.is_entry = q.msg.is_entry;
    around.end_row  = q.msg.end_row;
    msg_d           = d.msg;
    if (a.push) begin
      msg_d          = '0;
      msg_d.obj      = d.msg.obj;
      msg_d.is_entry = d.msg.is_entry;
      msg_d.map_id   = d.msg.map_id;
      msg_d.end_row  = deser_pkg::rows_of(d.ptr);
    end
    if (a.pop) msg_d = stack[StackLog2'(depth_q - 1'b1)];
  end
  always_ff @(posedge clk_i) begin
    if (a.push) stack[depth_q[StackLog2-1:0]] <= around;
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      q       <= '0;
      q.ret   <= XRun;
      depth_q <= '0;
    end else begin
      q     <= d;
      q.msg <= msg_d;
      if (a.win_start) depth_q <= '0;
      else if (a.push) depth_q <= depth_q + 1'b1;
      else if (a.pop) depth_q <= depth_q - 1'b1;
    end
  end

  // ---------------------------------------------------------------- the record of what is flushed
  logic [31:0] cookie_q;
  always_ff @(posedge clk_i) if (cmd_ready_o) cookie_q <= cmd_i.cookie;
  always_comb begin
    job_record          = '0;
    job_record.kind     = q.state == XSwitch ? RecChunk : !a.is_abort ? RecDone : d.software ? RecSoftware : RecError;
    job_record.code     = d.code;
    job_record.cookie   = cookie_q;
    job_record.root     = {q.first_chunk, OffW'(0)};
    job_record.position = window.pos;
    job_record.chunk    = q.chunk;
    if (q.state == XFinish) begin
      job_record.run           = run.first;
      job_record.run_chunks    = run.chunks;
      job_record.engine_run    = erun.first;
      job_record.engine_chunks = erun.chunks;
    end
  end

  assign cmd_ready_o   = a.cmd_ready;
  assign chunk_ready_o = a.chunk_ready;
  assign idle_o        = q.state == XIdle && !cmpl_valid_o && busy == 2'b00;

  logic unused;
  assign unused = ^{a, fire_number, window, level};

  `DROVER_ASSERT(StaysInTheOutermostMessage, !(a.pop && depth_q == '0))
  `DROVER_ASSERT(StaysInItsChunk, q.ptr <= 13'd4096)
  `DROVER_ASSERT(OneReasonToEnd, a.error == ErrOk || a.leave == WhyNone)
endmodule
