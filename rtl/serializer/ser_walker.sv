// The NIC-only front end: walks a Drover object in host memory (docs/formats.md, section 2) by the schema image, and
// tells the encoder; the serializer without a host half, as ProtoACC behind PCIe. A message's steps are followed from
// the last to the first: those whose has-bit is not set are passed over 64 at a time, by presence lines that the driver
// has put behind the image (docs/rtl-serializer.md), or without those eight at a time. Objects, and arrays
// in chunks, are fetched into the object memory; each pointer costs a round trip, but what lies in the run of bytes that
// the command names (from the object on, in one piece with it) is fetched at once, before all else.
//
//   object memory:  [ the command's run | object | array chunk | object | ... ]   one frame of the stack for each
//                                                                ^ top
//
// The object is hostile: each address is checked against the region before it is read, and depth and size are bounded
// by the memories. What does not fit is left to software.
//
//   WkIdle -> WkMessage -> WkObject -> (WkFetch) -> WkHeader -> (WkRaw, WkUnknown) -> WkHas    an object is entered
//   WkSkip, WkScan -> WkField -> (WkPresence, WkThere) -> WkFirst -> WkSecond                  its fields
//   WkChunk -> WkElement -> WkValue -> WkWrap                                                  elements of an array
//   WkCall -> WkObject ... WkReturn; WkResume                                                  down, up, on
//   WkFail -> WkDrain -> WkIdle                                                                ends
//
// What a state does is written signal by signal: how it may fail, what it tells the encoder, where it goes, what it
// reads, what it remembers.
/* verilator lint_off IMPORTSTAR */
import drover_image_pkg::*;  // here, and types by their full names: yosys reads it so
import drover_preserialized_pkg::*;
import drover_serializer_pkg::*;
import ser_pkg::*;
import ser_walk_pkg::*;
/* verilator lint_on IMPORTSTAR */
module ser_walker #(
  parameter int unsigned Depth = 64
) (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic                 cmd_valid_i,
  output logic                 cmd_ready_o,  // with the end of the message
  input  ser_pkg::cmd_t cmd_i,
  input  logic [63:0] base_i,
  input  logic [63:0] limit_i,

  // The schema image: a line in the next cycle, which stays.
  output logic                                table_read_o,
  output logic [ser_walk_pkg::TableWidth-1:0] table_line_o,
  input  logic [ser_pkg::LineBits-1:0] table_data_i,
  input  logic [31:0]                         fields_i,  // ImageHeader.fields
  input  logic [31:0]                         message_count_i,
  output logic                 ar_valid_o,
  input  logic                 ar_ready_i,
  output drover_axi_pkg::ar_t  ar_o,
  input  logic                 r_valid_i,
  input  drover_axi_pkg::r_t   r_i,
  output logic                 uop_valid_o,
  output ser_pkg::uop_t uop_o,
  input  logic                 uop_ready_i,
  input  logic                 abort_i
);
  localparam int unsigned Dw = $clog2(Depth) + 1;

  ser_walk_pkg::state_e state_q, state_d;
  ser_walk_pkg::frame_t f_q, f_d, top_frame;
  ser_walk_pkg::walk_t w_q, w_d;
  drover_serializer_pkg::error_e error_q, error_d;
  logic value_q, value_d;           // WkScan: a scalar's value is here
  logic [Dw-1:0] depth_q, depth_d;

  (* ram_style = "distributed" *) logic [$bits(f_q)-1:0] stack[Depth];
  assign top_frame = stack[$clog2(Depth)'(depth_q - Dw'(1))];

  // ---- the object memory
  logic fetch, busy, broken, read;
  logic [63:0] fetch_address;
  logic [31:0] fetch_bytes;
  logic [Ow:0] fetch_lines;
  logic [Mw-1:0] read_at;
  logic [63:0] slot, has_word, value;  // the aligned word, has-bits; what begins at the place
  logic has_next;
  logic [2:0] low;
  ser_objects u_objects (
    .clk_i, .rst_ni,
    .fetch_i(fetch), .fetch_address_i(fetch_address), .fetch_bytes_i(fetch_bytes), .fetch_lines_o(fetch_lines),
    .fetch_line_i(state_q == WkIdle ? '0 : f_q.top[Ow-1:0]), .busy_o(busy), .broken_o(broken),
    .read_i(read), .read_at_i(read_at), .slot_o(slot), .low_o(low), .next_i(state_q == WkHeader), .next_o(has_word),
    .has_next_o(has_next),
    .ar_valid_o, .ar_ready_i, .ar_o, .r_valid_i, .r_i
  );
  assign value = w_q.field.op == RecordBool ? {56'd0, slot[8*low+:8]} :
                 shift == 3'd3 ? slot : {32'd0, low[2] ? slot[63:32] : slot[31:0]};
  function automatic logic lacks_room(logic [Ow+1:0] lines);
    lacks_room = (Ow + 2)'(f_q.top) + lines > (Ow + 2)'(ObjectLines);
  endfunction

  // ---- what the schema table says
  logic any, more, step_scalar, there_any;
  logic [2:0] chosen;
  drover_image_pkg::message_entry_t message;  // of the object that is entered
  drover_image_pkg::field_step_t step;
  ser_walk_pkg::field_t step_field;
  logic [5:0] there_last;
  logic [Sw-1:0] left;
  assign message = table_data_i;
  ser_steps u_steps (
    .line_i(table_data_i), .has_i(f_q.has), .at_i(f_q.step), .first_i(f_q.steps),
    .any_o(any), .more_o(more), .chosen_o(chosen), .step_o(step), .field_o(step_field), .scalar_o(step_scalar),
    .there_any_o(there_any), .there_last_o(there_last), .left_o(left)
  );
  ser_walk_pkg::entry_t entry;
  logic [31:0] entry_index;  // of the field at hand
  assign entry_index = f_q.first_field + {16'd0, w_q.field.position} - 32'd1;
  ser_entry u_entry (.line_i(table_data_i), .second_i(entry_index[0] ^ fields_i[5]), .entry_o(entry));

  // ---- what may be read
  logic out_of_bounds, misaligned, here;
  logic [Mw-1:0] here_place;
  logic [35:0] checked_bytes;
  logic [31:0] chunk_begin, last_element;
  logic [2:0] shift;
  logic is_string, in_bulk;  // in_bulk: an array's bytes are the wire's
  ser_walk_reach u_reach (
    .state_i(state_q), .frame_i(f_q), .run_i(w_q.run), .run_address_i(cmd_i.records), .run_bytes_i(cmd_i.record_bytes),
    .op_i(w_q.field.op), .target_i(w_q.target), .word_i(w_q.word), .slot_i(slot),
    .object_bytes_i(message.object_size), .base_i, .limit_i,
    .fetch_address_o(fetch_address), .fetch_bytes_o(fetch_bytes), .bytes_o(checked_bytes),
    .out_of_bounds_o(out_of_bounds), .misaligned_o(misaligned),
    .here_o(here), .place_o(here_place), .chunk_begin_o(chunk_begin)
  );
  assign shift = ser_walk_pkg::element_shift(w_q.field.op);
  assign last_element = f_q.elements - 32'd1;
  assign is_string = w_q.field.op == RecordInline;
  assign in_bulk = !f_q.repeated || w_q.field.in_pack && (w_q.field.op == RecordFixed32 || w_q.field.op == RecordFixed64);

  // ---- to the encoder
  ser_pkg::uop_t uop;
  logic advance, issue, passes;
  assign advance = !uop_valid_o || uop_ready_i;
  assign passes = advance || !issue;  // what there is to tell is told
  ser_walk_uop u_uop (
    .state_i(state_q), .frame_i(f_q), .outer_i(top_frame), .field_i(w_q.field), .error_i(error_q),
    .target_i(w_q.target), .word_i(w_q.word), .slot_i(slot), .value_i(value), .bytes_i(checked_bytes[31:0]),
    .in_bulk_i(in_bulk), .uop_o(uop)
  );

  // ---- how a state may fail
  drover_serializer_pkg::error_e unreadable, failure;
  logic sized, is_message, null_pointer, at_depth, chunk_lacks_room;
  assign unreadable = out_of_bounds ? ErrOutOfBounds : misaligned ? ErrMisaligned : ErrNone;
  assign sized = slot[31:0] != '0;  // the size that is here
  assign null_pointer = slot == '0;
  assign is_message = w_q.field.op == RecordOpen;
  assign at_depth = depth_q == Dw'(Depth);
  assign chunk_lacks_room = lacks_room((Ow + 2)'(ChunkLines));
  always_comb begin
    failure = ErrNone;
    unique case (state_q)
      WkIdle: if (cmd_valid_i) begin
        failure = drover_serializer_pkg::error_e'(cmd_i.error);
        if (cmd_i.error == ErrNone && {16'd0, cmd_i.message} >= message_count_i) failure = ErrBadCommand;
      end
      WkObject: begin
        failure = unreadable;
        if (unreadable == ErrNone && !here && (message.object_size > 32'(ObjectLines * 64 - 64) ||
                                               lacks_room((Ow + 2)'(fetch_lines)))) begin
          failure = ErrLeftObject;
        end
      end
      WkFetch: if (!busy && broken) failure = ErrBus;
      WkHeader: if (!null_pointer) begin
        failure = unreadable;
        if (unreadable == ErrNone && lacks_room((Ow + 2)'(2))) failure = ErrLeftObject;
      end
      WkUnknown: if (sized && out_of_bounds) failure = ErrOutOfBounds;
      WkField: if (entry.beyond) failure = ErrLeftField;
      WkSecond: if (sized) begin
        failure = unreadable;
        if (unreadable == ErrNone && checked_bytes[35:31] != '0) failure = ErrTooLarge;
      end
      WkChunk: if (chunk_lacks_room) failure = ErrLeftObject;
      WkValue: if (is_message && null_pointer) failure = ErrNullElement;
      WkWrap: if (is_string && sized && out_of_bounds) failure = ErrOutOfBounds;
      WkCall: if (at_depth) failure = ErrLeftDepth;
      default: ;
    endcase
  end

  // ---- whether it tells the encoder anything
  logic is_zero, is_empty;
  assign is_zero = w_q.field.by_value && value == '0;  // a scalar that is absent
  assign is_empty = !sized && (f_q.repeated || w_q.field.by_value);  // an array or a string that is
  always_comb begin
    issue = 1'b0;
    unique case (state_q)
      WkUnknown: issue = sized && !out_of_bounds;
      WkScan:    issue = value_q && !is_zero;
      WkFirst: begin
        if (!f_q.repeated && !is_string) issue = is_message ? null_pointer && f_q.map_entry : !is_zero;
      end
      WkSecond:  issue = !is_empty && failure == ErrNone && (in_bulk || w_q.field.in_pack);
      WkValue:   issue = !is_message && !is_string;
      WkWrap:    issue = failure == ErrNone;
      WkCall:    issue = !at_depth;
      WkReturn:  issue = !abort_i && depth_q != '0;
      WkFail:    issue = 1'b1;
      WkDrain:   issue = !busy;
      default: ;
    endcase
  end

  // ---- where it goes
  logic enter;      // an object's has-bits are here
  logic stops;      // here, if the encoder wants no more of the message
  logic line_done;  // WkScan: the line's steps are done
  logic skips;      // and a presence line follows, not the line in front
  logic by_entry;   // WkScan: the step does not tell enough
  logic [Sw-1:0] step_next;
  assign enter = state_q == WkHas || state_q == WkHeader && null_pointer && has_next;
  assign line_done = !(any && more);
  // The word in front of the first step ends it; no presence line has that.
  assign skips = line_done && !any && f_q.presence != '0 && step_next != f_q.steps - Sw'(1);
  assign by_entry = !step_scalar && step_field.op != RecordEnd && !(step_field.op == RecordInline && step.tag != '0);
  always_comb begin
    unique case (state_q)
      WkSkip:  step_next = f_q.steps + (there_any ? {left[Sw-1:6], there_last} : {left[Sw-1:6], 6'd0} - Sw'(1));
      default: step_next = line_done ? {f_q.step[Sw-1:3] - TableWidth'(1), 3'd7} : {f_q.step[Sw-1:3], chosen - 3'd1};
    endcase
  end

  always_comb begin
    state_d = state_q;
    stops = 1'b0;
    cmd_ready_o = 1'b0;
    unique case (state_q)
      WkIdle: if (cmd_valid_i) state_d = cmd_i.record_bytes != '0 ? WkFetch : WkMessage;
      WkMessage: state_d = WkObject;
      WkObject: state_d = here ? WkHeader : WkFetch;
      WkFetch: if (!busy) state_d = w_q.after;
      WkHeader: state_d = null_pointer ? WkHas : WkFetch;
      WkRaw: state_d = WkUnknown;
      WkUnknown: if (passes) state_d = WkHas;
      WkSkip: begin
        if (there_any) state_d = WkScan;
        else if (left[Sw-1:6] == '0) state_d = WkReturn;
      end
      WkScan: if (passes) begin
        if (skips) state_d = WkSkip;
        else if (any && step_field.op == RecordEnd) state_d = WkReturn;
        else if (any && by_entry) state_d = WkField;
        else if (any && !step_scalar) state_d = WkFirst;
      end
      WkField: state_d = entry.asks ? WkPresence : WkFirst;
      WkPresence: state_d = WkThere;
      WkThere: begin
        state_d = WkFirst;
        if (w_q.field.oneof ? w_q.word[31:0] != w_q.field.number
                            : !w_q.word[{1'b0, w_q.field.has_bit}]) state_d = WkResume;
      end
      WkFirst: begin
        if (f_q.repeated || is_string) state_d = WkSecond;
        else if (is_message && !null_pointer) state_d = WkCall;
        else if (passes) state_d = WkResume;
      end
      WkSecond: begin
        if (is_empty) state_d = WkResume;
        else if (passes) state_d = in_bulk ? WkScan : WkChunk;
        stops = !is_empty && failure == ErrNone && in_bulk && advance;
      end
      WkChunk: state_d = here ? WkElement : WkFetch;
      WkElement: begin
        state_d = WkValue;
        if (f_q.elements == f_q.chunk) state_d = f_q.elements != '0 ? WkChunk : w_q.field.in_pack ? WkWrap : WkResume;
        stops = 1'b1;
      end
      WkValue: begin
        if (is_message) state_d = WkCall;
        else if (is_string) state_d = WkWrap;
        else if (advance) state_d = WkElement;
      end
      WkWrap: if (advance) state_d = is_string ? WkElement : WkResume;
      WkCall: begin
        if (advance) state_d = WkObject;
        stops = 1'b1;
      end
      WkReturn: begin
        if (abort_i || depth_q == '0) state_d = WkDrain;
        else if (advance) state_d = top_frame.repeated ? WkElement : WkScan;
      end
      WkResume: begin
        state_d = WkScan;
        stops = 1'b1;
      end
      WkFail: if (advance) state_d = WkDrain;
      WkDrain: if (issue && advance) begin
        state_d = WkIdle;
        cmd_ready_o = 1'b1;
      end
      default: ;
    endcase
    if (enter) state_d = f_q.presence != '0 && w_q.object.any ? WkSkip : WkScan;
    if (failure != ErrNone) state_d = WkFail;
    if (stops && abort_i) state_d = WkDrain;
  end
  assign error_d = failure != ErrNone ? failure : error_q;

  // ---- what it reads of the object memory, and what it brings there
  logic [Mw-1:0] element_at;
  assign element_at = f_q.chunk_place + (Mw'(last_element - f_q.chunk) << shift);
  always_comb begin
    read = 1'b0;
    read_at = f_q.place;
    fetch = 1'b0;
    unique case (state_q)
      WkIdle: fetch = cmd_valid_i && failure == ErrNone && cmd_i.record_bytes != '0;
      WkObject: begin
        fetch = !here && failure == ErrNone;
        read = here;
        read_at = here_place + Mw'(8);
      end
      WkFetch: begin
        read = !busy;
        if (w_q.after == WkHeader) read_at = f_q.place + Mw'(8);
        if (w_q.after == WkRaw) read_at = {f_q.top[Ow-1:0], w_q.target[5:0]};
      end
      WkHeader: begin
        fetch = !null_pointer && failure == ErrNone;
        read = 1'b1;
        read_at = f_q.place + Mw'(ObjectHeaderSize);
      end
      WkRaw: begin
        read = 1'b1;
        read_at = {f_q.top[Ow-1:0], w_q.target[5:0]} + Mw'(8);
      end
      WkUnknown: begin
        read = passes;
        read_at = f_q.place + Mw'(ObjectHeaderSize);
      end
      WkScan: begin
        read = passes && any && !by_entry && step_field.op != RecordEnd;
        read_at = f_q.place + Mw'(step.offset);
      end
      WkField: begin
        read = 1'b1;
        read_at = f_q.place + Mw'(entry.asks ? entry.presence : entry.field.offset);
      end
      WkPresence: begin
        read = 1'b1;
        read_at = f_q.place + Mw'(w_q.field.offset);
      end
      WkFirst: begin
        read = f_q.repeated || is_string;
        read_at = f_q.place + Mw'(w_q.field.offset) + Mw'(8);
      end
      WkChunk: fetch = !here && !chunk_lacks_room;
      WkElement: begin
        read = 1'b1;
        read_at = element_at;
      end
      WkValue: begin
        read = !is_message && is_string;
        read_at = element_at + Mw'(8);
      end
      default: ;
    endcase
  end

  // ---- what it reads of the schema table
  logic [31:0] entry_offset;  // of the FieldEntry that a step names
  assign entry_offset = fields_i + {f_q.first_field[26:0], 5'd0} + {11'd0, step.position, 5'd0} - FieldEntryBytes;
  always_comb begin
    table_read_o = 1'b0;
    table_line_o = f_q.step[Sw-1:3];
    unique case (state_q)
      WkMessage: begin
        table_read_o = 1'b1;
        table_line_o = TableWidth'(cmd_i.message) + TableWidth'(1);
      end
      WkSkip: begin
        table_read_o = 1'b1;
        table_line_o = there_any ? step_next[Sw-1:3] : f_q.presence + TableWidth'(left >> 6) - TableWidth'(1);
      end
      WkScan: begin
        table_read_o = passes && (any ? by_entry || step_scalar && line_done : 1'b1);
        table_line_o = any && by_entry ? TableWidth'(entry_offset >> 6) :
                       skips ? f_q.presence + TableWidth'((step_next - f_q.steps) >> 6) : step_next[Sw-1:3];
      end
      WkSecond: table_read_o = in_bulk;
      WkCall: begin
        table_read_o = issue && advance;
        table_line_o = TableWidth'(f_q.sub) + TableWidth'(1);
      end
      WkReturn: begin
        table_read_o = issue && advance;
        table_line_o = top_frame.step[Sw-1:3];
      end
      WkResume: table_read_o = 1'b1;
      default: ;
    endcase
    if (enter) begin
      table_read_o = 1'b1;
      table_line_o = w_q.object.last_step[TableWidth+5:6];
      if (f_q.presence != '0 && w_q.object.any) begin
        table_line_o = f_q.presence + TableWidth'((w_q.object.last_step[TableWidth+5:3] - f_q.steps) >> 6);
      end
    end
  end

  // ---- what it remembers of the object at hand
  always_comb begin
    f_d = f_q;
    depth_d = depth_q;
    unique case (state_q)
      WkIdle: begin
        depth_d = '0;
        f_d = '0;
        if (fetch) f_d.top = fetch_lines;
      end
      WkObject: begin  // the MessageEntry is here
        f_d.first_field = message.first_field;
        f_d.map_entry = message.flags.map_entry;
        f_d.steps = message.steps[3+:Sw];
        f_d.presence = message.presence_line[TableWidth-1:0];
        f_d.address = w_q.target;
        f_d.place = here ? here_place : {f_q.top[Ow-1:0], w_q.target[5:0]};
        f_d.repeated = 1'b0;
        if (!here) f_d.top = f_q.top + fetch_lines;
      end
      WkSkip: f_d.step = step_next;
      WkScan: if (passes) begin
        f_d.tag = {24'd0, step.tag};
        f_d.tag_size = step.op.long_tag ? 3'd2 : 3'd1;
        f_d.repeated = 1'b0;
        f_d.group = 1'b0;
        f_d.step = step_next;
      end
      WkField: begin  // the FieldEntry is here
        f_d.tag = entry.tag;
        f_d.tag_size = entry.tag_size;
        f_d.group = entry.group;
        f_d.sub = entry.sub;
        f_d.repeated = entry.repeated;
      end
      WkSecond: begin  // the size is here
        f_d.array = w_q.target;
        f_d.elements = slot[31:0];
        f_d.chunk = slot[31:0];
      end
      WkChunk: begin
        f_d.chunk = chunk_begin;
        f_d.chunk_place = here ? here_place : {f_q.top[Ow-1:0], fetch_address[5:0]};
      end
      WkValue, WkWrap: if (issue && advance) f_d.elements = last_element;
      WkCall: if (issue && advance) begin
        depth_d = depth_q + Dw'(1);
        if (f_q.repeated) f_d.top = f_q.top + (Ow + 1)'(ChunkLines);  // an array's chunk stays below the element
      end
      WkReturn: if (issue && advance) begin
        f_d = top_frame;
        depth_d = depth_q - Dw'(1);
        f_d.elements = top_frame.elements - 32'd1;
      end
      default: ;
    endcase
    if (enter) begin
      f_d.has = {2'b11, w_q.object.has_words > 16'd1 ? has_word[61:32] : 30'd0,
                 w_q.object.has_words != '0 ? has_word[31:0] : 32'd0};
      f_d.step = w_q.object.last_step[TableWidth+5:3];
    end
  end

  // ---- and else
  always_comb begin
    w_d = w_q;
    value_d = 1'b0;
    unique case (state_q)
      WkIdle: begin
        w_d.target = cmd_i.records;
        w_d.run.address = cmd_i.records;
        w_d.run.size = Mw'(fetch_bytes);
        w_d.after = WkMessage;
      end
      WkObject: begin
        w_d.object.has_words = message.has_words;
        w_d.object.any = message.field_count != '0;
        w_d.object.last_step = message.steps + {message.field_count[28:0], 3'd0} - FieldStepBytes;
        w_d.after = WkHeader;
      end
      WkHeader: begin  // the pointer to the unknown fields is here
        w_d.target = fetch_address;
        w_d.after = WkRaw;
      end
      WkRaw, WkValue: w_d.word = slot;  // a String's first word, or an element's
      WkScan: begin
        value_d = passes ? any && step_scalar : value_q;
        if (passes) w_d.field = step_field;
      end
      WkField: begin
        w_d.field = entry.field;
        w_d.field.by_value = w_q.field.by_value && !entry.asks;
      end
      WkPresence: w_d.word = {32'd0, low[2] ? slot[63:32] : slot[31:0]};
      WkFirst: begin  // the field's first word is here
        w_d.word = slot;
        w_d.target = f_q.address + {48'd0, w_q.field.offset} + slot;
      end
      WkChunk: w_d.after = WkElement;
      WkReturn: if (issue && advance) begin
        w_d.field.op = RecordOpen;
        w_d.field.in_pack = 1'b0;
      end
      default: ;
    endcase
    if (state_q == WkValue) w_d.target = f_q.array + ({32'd0, last_element} << shift) + slot;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= WkIdle;
      uop_valid_o <= 1'b0;
      value_q <= 1'b0;
      depth_q <= '0;
    end else begin
      state_q <= state_d;
      value_q <= value_d;
      depth_q <= depth_d;
      if (advance) uop_valid_o <= issue;
    end
  end
  always_ff @(posedge clk_i) begin
    if (advance) uop_o <= uop;
    f_q <= f_d;
    w_q <= w_d;
    error_q <= error_d;
    if (state_q == WkCall && state_d == WkObject) stack[$clog2(Depth)'(depth_q)] <= f_q;
  end

  logic unused;
  assign unused = ^{cmd_i, message, step, entry_index, fetch_address, has_word[63:62]};
endmodule
