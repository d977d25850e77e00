// The NIC-only front end: walks a Drover object in host memory (docs/formats.md, section 2) by the schema image, and
// tells the encoder; the serializer without a host half, as ProtoACC behind PCIe. A message's steps are followed from
// the last to the first: those whose has-bit is not set are passed over 64 at a time, by presence lines that the driver
// has put behind the image (rtl/serializer/serializer_table.h), or without those eight at a time. Objects, and arrays
// in chunks, are fetched into the object memory; each pointer costs a round trip, but what lies in the run of bytes that
// the command names (from the object on, in one piece with it) is fetched at once, before all else.
//
//   object memory:  [ the command's run | object | array chunk | object | ... ]   one frame of the stack for each
//                                                                ^ top
//
// The object is hostile: each address is checked against the region before it is read, and depth and size are bounded
// by the memories. What does not fit is left to software.
/* verilator lint_off IMPORTSTAR */
import drover_ser_pkg::*;  // here, and types by their full names: yosys reads it so
import drover_ser_walk_pkg::*;
/* verilator lint_on IMPORTSTAR */
module drover_ser_walker #(
  parameter int unsigned Depth = 64
) (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic                 cmd_valid_i,
  output logic                 cmd_ready_o,  // with the end of the message
  input  drover_ser_pkg::cmd_t cmd_i,
  input  logic [63:0] base_i,
  input  logic [63:0] limit_i,

  // The schema image: a line in the next cycle, which stays.
  output logic                                table_read_o,
  output logic [drover_ser_walk_pkg::TableWidth-1:0] table_line_o,
  input  logic [drover_ser_pkg::LineBits-1:0] table_data_i,
  input  logic [31:0]                         fields_i,  // ImageHeader.fields
  input  logic [31:0]                         message_count_i,
  output logic        ar_valid_o,
  input  logic        ar_ready_i,
  output logic [63:0] ar_addr_o,
  output logic [7:0]  ar_len_o,
  input  logic        r_valid_i,
  input  logic        r_error_i,
  input  logic        r_last_i,
  input  logic [drover_ser_pkg::LineBits-1:0] r_data_i,
  output logic                 uop_valid_o,
  output drover_ser_pkg::uop_t uop_o,
  input  logic                 uop_ready_i,
  input  logic                 abort_i
);
  localparam int unsigned Dw = $clog2(Depth) + 1;

  drover_ser_walk_pkg::state_e state_q, state_d;
  drover_ser_walk_pkg::frame_t f_q, f_d, top_frame;
  drover_ser_walk_pkg::walk_t w_q, w_d;
  drover_ser_pkg::error_e error_q, error_d;
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
  drover_ser_objects u_objects (
    .clk_i, .rst_ni,
    .fetch_i(fetch), .fetch_address_i(fetch_address), .fetch_bytes_i(fetch_bytes), .fetch_lines_o(fetch_lines),
    .fetch_line_i(state_q == WkIdle ? '0 : f_q.top[Ow-1:0]), .busy_o(busy), .broken_o(broken),
    .read_i(read), .read_at_i(read_at), .slot_o(slot), .low_o(low), .next_i(state_q == WkHeader), .next_o(has_word),
    .has_next_o(has_next),
    .ar_valid_o, .ar_ready_i, .ar_addr_o, .ar_len_o, .r_valid_i, .r_error_i, .r_last_i, .r_data_i
  );
  assign value = w_q.field.op == RecBool ? {56'd0, slot[8*low+:8]} :
                 shift == 3'd3 ? slot : {32'd0, low[2] ? slot[63:32] : slot[31:0]};
  function automatic logic lacks_room(logic [Ow+1:0] lines);
    lacks_room = (Ow + 2)'(f_q.top) + lines > (Ow + 2)'(ObjectLines);
  endfunction

  // ---- what the schema table says
  logic any, more, step_scalar, there_any;
  logic [2:0] chosen;
  logic [63:0] step;
  drover_ser_walk_pkg::field_t step_field;
  logic [5:0] there_last;
  logic [Sw-1:0] left;
  drover_ser_steps u_steps (
    .line_i(table_data_i), .has_i(f_q.has), .at_i(f_q.step), .first_i(f_q.steps),
    .any_o(any), .more_o(more), .chosen_o(chosen), .step_o(step), .field_o(step_field), .scalar_o(step_scalar),
    .there_any_o(there_any), .there_last_o(there_last), .left_o(left)
  );
  drover_ser_walk_pkg::entry_t entry;
  logic [31:0] entry_index;  // of the field at hand
  assign entry_index = f_q.first_field + {16'd0, w_q.field.position} - 32'd1;
  drover_ser_entry u_entry (.line_i(table_data_i), .second_i(entry_index[0] ^ fields_i[5]), .entry_o(entry));

  // ---- what may be read
  logic out_of_bounds, misaligned, here;
  logic [Mw-1:0] here_place;
  logic [35:0] checked_bytes;
  logic [31:0] chunk_begin, last_element;
  logic [2:0] shift;
  logic is_string, in_bulk;  // in_bulk: an array's bytes are the wire's
  drover_ser_walk_reach u_reach (
    .state_i(state_q), .frame_i(f_q), .run_i(w_q.run), .run_address_i(cmd_i.records), .run_bytes_i(cmd_i.record_bytes),
    .op_i(w_q.field.op), .target_i(w_q.target), .word_i(w_q.word), .slot_i(slot),
    .object_bytes_i(table_data_i[31:0]), .base_i, .limit_i,
    .fetch_address_o(fetch_address), .fetch_bytes_o(fetch_bytes), .bytes_o(checked_bytes),
    .out_of_bounds_o(out_of_bounds), .misaligned_o(misaligned),
    .here_o(here), .place_o(here_place), .chunk_begin_o(chunk_begin)
  );
  assign shift = drover_ser_walk_pkg::element_shift(w_q.field.op);
  assign last_element = f_q.elements - 32'd1;
  assign is_string = w_q.field.op == RecInline;
  assign in_bulk = !f_q.repeated || w_q.field.in_pack && (w_q.field.op == RecFixed32 || w_q.field.op == RecFixed64);

  // ---- to the encoder
  drover_ser_pkg::uop_t uop;
  logic advance, issue;
  assign advance = !uop_valid_o || uop_ready_i;
  drover_ser_walk_uop u_uop (
    .state_i(state_q), .frame_i(f_q), .outer_i(top_frame), .field_i(w_q.field), .error_i(error_q),
    .target_i(w_q.target), .word_i(w_q.word), .slot_i(slot), .value_i(value), .bytes_i(checked_bytes[31:0]), .in_bulk_i(in_bulk), .uop_o(uop)
  );

  drover_ser_pkg::error_e failure;  // of this state
  logic enter;                      // an object's has-bits are here
  logic stops;                      // here, if the encoder wants no more of the message
  always_comb begin
    state_d = state_q;
    f_d = f_q;
    w_d = w_q;
    error_d = error_q;
    enter = 1'b0;
    failure = ErrNone;
    stops = 1'b0;
    value_d = 1'b0;
    depth_d = depth_q;
    read = 1'b0;
    read_at = f_q.place;
    table_read_o = 1'b0;
    table_line_o = f_q.step[Sw-1:3];
    fetch = 1'b0;
    issue = 1'b0;
    cmd_ready_o = 1'b0;

    unique case (state_q)
      WkIdle: if (cmd_valid_i) begin
        w_d.target = cmd_i.records;
        depth_d = '0;
        f_d = '0;
        state_d = WkMessage;
        failure = cmd_i.error;
        if (cmd_i.error == ErrNone && {16'd0, cmd_i.message} >= message_count_i) failure = ErrBadCommand;
        w_d.run = {cmd_i.records, Mw'(fetch_bytes)};
        if (failure == ErrNone && cmd_i.record_bytes != '0) begin
          fetch = 1'b1;
          f_d.top = fetch_lines;
          w_d.after = WkMessage;
          state_d = WkFetch;
        end
      end

      // ---- an object is entered: its type, its bytes, what stands in front of its fields
      WkMessage: begin
        table_read_o = 1'b1;
        table_line_o = TableWidth'(cmd_i.message) + TableWidth'(1);
        state_d = WkObject;
      end
      WkObject: begin  // the MessageEntry is here
        w_d.object.has_words = table_data_i[47:32];
        w_d.object.any = table_data_i[96+:32] != '0;
        w_d.object.last_step = table_data_i[36*8+:32] + {table_data_i[96+:29], 3'd0} - 32'd8;  // the last step
        f_d.first_field = table_data_i[64+:32];
        f_d.map_entry = table_data_i[28*8];
        f_d.steps = table_data_i[36*8+3+:TableWidth+3];
        f_d.presence = table_data_i[40*8+:TableWidth];
        f_d.address = w_q.target;
        f_d.place = {f_q.top[Ow-1:0], w_q.target[5:0]};
        f_d.repeated = 1'b0;
        if (out_of_bounds || misaligned) begin
          failure = out_of_bounds ? ErrOutOfBounds : ErrMisaligned;
        end else if (here) begin
          f_d.place = here_place;
          read = 1'b1;
          read_at = here_place + Mw'(8);
          state_d = WkHeader;
        end else if (table_data_i[31:0] > 32'(ObjectLines * 64 - 64) || lacks_room((Ow + 2)'(fetch_lines))) begin
          failure = ErrLeftObject;
        end else begin
          fetch = 1'b1;
          f_d.top = f_q.top + fetch_lines;
          w_d.after = WkHeader;
          state_d = WkFetch;
        end
      end
      WkFetch: if (!busy) begin
        state_d = w_q.after;
        if (broken) failure = ErrBus;
        read = 1'b1;
        if (w_q.after == WkHeader) read_at = f_q.place + Mw'(8);
        if (w_q.after == WkRaw) read_at = {f_q.top[Ow-1:0], w_q.target[5:0]};
      end
      WkHeader: begin  // the pointer to the unknown fields is here
        read = 1'b1;
        read_at = f_q.place + Mw'(16);
        state_d = WkHas;
        w_d.target = fetch_address;
        if (slot != '0) begin
          state_d = WkFetch;
          w_d.after = WkRaw;
          failure = out_of_bounds ? ErrOutOfBounds : misaligned ? ErrMisaligned
                                  : lacks_room((Ow + 2)'(2)) ? ErrLeftObject : ErrNone;
          fetch = failure == ErrNone;
        end else begin
          enter = has_next;  // the has-bits are in the same line
        end
      end
      WkRaw: begin  // the String's first word is here
        w_d.word = slot;
        read = 1'b1;
        read_at = {f_q.top[Ow-1:0], w_q.target[5:0]} + Mw'(8);
        state_d = WkUnknown;
      end
      WkUnknown: begin  // and its size
        read = 1'b1;
        read_at = f_q.place + Mw'(16);
        issue = slot[31:0] != '0 && !out_of_bounds;
        if (slot[31:0] != '0 && out_of_bounds) failure = ErrOutOfBounds;
        else if (advance) state_d = WkHas;
        else read = 1'b0;
      end
      WkHas: enter = 1'b1;
      WkSkip: begin  // a presence line is here
        table_read_o = 1'b1;
        if (there_any) begin
          f_d.step = f_q.steps + {left[Sw-1:6], there_last};
          table_line_o = f_d.step[Sw-1:3];
          state_d = WkScan;
        end else begin
          f_d.step = f_q.steps + {left[Sw-1:6], 6'd0} - Sw'(1);
          table_line_o = f_q.presence + TableWidth'(left >> 6) - TableWidth'(1);
          if (left[Sw-1:6] == '0) state_d = WkReturn;
        end
      end

      // ---- fields, last first
      WkScan: begin
        // The scalar that was chosen in the last cycle.
        issue = value_q && !(w_q.field.by_value && value == '0);
        value_d = value_q;
        if (advance || !issue) begin
          value_d = 1'b0;
          f_d.tag = {24'd0, step[15:0]};
          f_d.tag_size = step[16] ? 3'd2 : 3'd1;
          f_d.repeated = 1'b0;
          f_d.group = 1'b0;
          w_d.field = step_field;
          read_at = f_q.place + Mw'(step[63:48]);
          if (any && more) begin
            f_d.step = {f_q.step[Sw-1:3], chosen - 3'd1};
          end else begin
            f_d.step = {f_q.step[Sw-1:3] - TableWidth'(1), 3'd7};
            table_line_o = f_d.step[Sw-1:3];
            table_read_o = 1'b1;
            // The word in front of the first step ends it; no presence line has that.
            if (!any && f_q.presence != '0 && f_d.step != f_q.steps - Sw'(1)) begin
              table_line_o = f_q.presence + TableWidth'((f_d.step - f_q.steps) >> 6);
              state_d = WkSkip;
            end
          end
          if (any) begin
            if (step_field.op == RecEnd) begin
              table_read_o = 1'b0;
              state_d = WkReturn;
            end else if (step_scalar) begin
              read = 1'b1;
              value_d = 1'b1;
            end else if (step_field.op == RecInline && step[15:0] != '0) begin
              table_read_o = 1'b0;
              read = 1'b1;
              state_d = WkFirst;
            end else begin  // by its FieldEntry
              table_read_o = 1'b1;
              table_line_o = TableWidth'((fields_i + {f_q.first_field[26:0], 5'd0} +
                                          {11'd0, step[47:32], 5'd0} - 32'd32) >> 6);
              state_d = WkField;
            end
          end
        end
      end
      WkField: begin  // the FieldEntry is here
        f_d.tag = entry.tag;
        f_d.tag_size = entry.tag_size;
        f_d.group = entry.group;
        f_d.sub = entry.sub;
        f_d.repeated = entry.repeated;
        w_d.field = entry.field;
        w_d.field.by_value = w_q.field.by_value && !entry.asks;
        read = 1'b1;
        read_at = f_q.place + Mw'(entry.field.offset);
        state_d = WkFirst;
        if (entry.asks) begin
          read_at = f_q.place + Mw'(entry.presence);
          state_d = WkPresence;
        end
        if (entry.beyond) failure = ErrLeftField;
      end
      WkPresence: begin
        read = 1'b1;
        read_at = f_q.place + Mw'(w_q.field.offset);
        w_d.word = {32'd0, low[2] ? slot[63:32] : slot[31:0]};
        state_d = WkThere;
      end
      WkThere: begin
        state_d = WkFirst;
        if (w_q.field.oneof ? w_q.word[31:0] != w_q.field.number
                            : !w_q.word[{1'b0, w_q.field.has_bit}]) state_d = WkResume;
      end
      WkFirst: begin  // the field's first word is here
        w_d.word = slot;
        w_d.target = f_q.address + {48'd0, w_q.field.offset} + slot;
        if (f_q.repeated || is_string) begin
          read = 1'b1;
          read_at = f_q.place + Mw'(w_q.field.offset) + Mw'(8);
          state_d = WkSecond;
        end else if (w_q.field.op == RecOpen) begin
          state_d = WkCall;
          if (slot == '0) begin
            // Absent; in a map entry the empty message.
            issue = f_q.map_entry;
            state_d = WkResume;
            if (issue && !advance) state_d = WkFirst;
          end
        end else begin
          issue = !(w_q.field.by_value && value == '0);
          if (advance || !issue) state_d = WkResume;
        end
      end
      WkSecond: begin  // the size is here
        f_d.array = w_q.target;
        f_d.elements = slot[31:0];
        f_d.chunk = slot[31:0];
        if (slot[31:0] == '0 && (f_q.repeated || w_q.field.by_value)) begin
          state_d = WkResume;
        end else if (slot[31:0] != '0 && (out_of_bounds || misaligned)) begin
          failure = out_of_bounds ? ErrOutOfBounds : ErrMisaligned;
        end else if (checked_bytes[35:31] != '0) begin
          failure = ErrTooLarge;
        end else begin
          issue = in_bulk || w_q.field.in_pack;
          if (advance || !issue) state_d = in_bulk ? WkScan : WkChunk;
          table_read_o = in_bulk;
          stops = in_bulk && advance;
        end
      end

      // ---- elements of arrays, last first
      WkChunk: begin
        f_d.chunk = chunk_begin;
        f_d.chunk_place = {f_q.top[Ow-1:0], fetch_address[5:0]};
        w_d.after = WkElement;
        state_d = here && !lacks_room((Ow + 2)'(9)) ? WkElement : WkFetch;
        if (here) f_d.chunk_place = here_place;
        if (lacks_room((Ow + 2)'(9))) failure = ErrLeftObject;
        else fetch = !here;
      end
      WkElement: begin
        read = 1'b1;
        read_at = f_q.chunk_place + (Mw'(last_element - f_q.chunk) << shift);
        state_d = WkValue;
        if (f_q.elements == f_q.chunk) state_d = f_q.elements != '0 ? WkChunk : w_q.field.in_pack ? WkWrap : WkResume;
        stops = 1'b1;
      end
      WkValue: begin  // the element's first word is here
        w_d.word = slot;
        w_d.target = f_q.array + ({32'd0, last_element} << shift) + slot;
        if (w_q.field.op == RecOpen) begin
          state_d = WkCall;
          if (slot == '0) failure = ErrNullElement;
        end else if (is_string) begin
          // The size is in the next word.
          read = 1'b1;
          read_at = f_q.chunk_place + (Mw'(last_element - f_q.chunk) << shift) + Mw'(8);
          state_d = WkWrap;
        end else begin
          issue = 1'b1;
          if (advance) begin
            f_d.elements = last_element;
            state_d = WkElement;
          end
        end
      end
      WkWrap: begin
        if (is_string) begin  // a repeated string's size is here
          if (slot[31:0] != '0 && out_of_bounds) failure = ErrOutOfBounds;
          else issue = 1'b1;
          if (issue && advance) begin
            f_d.elements = last_element;
            state_d = WkElement;
          end
        end else begin  // a packed field's tag and length
          issue = 1'b1;
          if (advance) state_d = WkResume;
        end
      end

      // ---- down and up
      WkCall: begin
        if (depth_q == Dw'(Depth)) failure = ErrLeftDepth;
        else issue = 1'b1;
        if (issue && advance) begin
          depth_d = depth_q + Dw'(1);
          if (f_q.repeated) f_d.top = f_q.top + (Ow + 1)'(9);  // an array's chunk stays below the element
          table_read_o = 1'b1;
          table_line_o = TableWidth'(f_q.sub) + TableWidth'(1);
          state_d = WkObject;
        end
        stops = 1'b1;
      end
      WkReturn: begin
        if (abort_i || depth_q == '0) begin
          state_d = WkDrain;
        end else begin
          issue = 1'b1;
          if (advance) begin
            f_d = top_frame;
            depth_d = depth_q - Dw'(1);
            table_read_o = 1'b1;
            table_line_o = top_frame.step[Sw-1:3];
            state_d = top_frame.repeated ? WkElement : WkScan;
            f_d.elements = top_frame.elements - 32'd1;
            w_d.field.op = RecOpen;
            w_d.field.in_pack = 1'b0;
          end
        end
      end
      WkResume: begin
        table_read_o = 1'b1;
        state_d = WkScan;
        stops = 1'b1;
      end

      // ---- ends
      WkFail: begin
        issue = 1'b1;
        if (advance) state_d = WkDrain;
      end
      WkDrain: begin
        issue = !busy;
        if (issue && advance) begin
          state_d = WkIdle;
          cmd_ready_o = 1'b1;
        end
      end
      default: ;
    endcase
    // The fields begin.
    if (enter) begin
      f_d.has = {2'b11, w_q.object.has_words > 16'd1 ? has_word[61:32] : 30'd0,
                 w_q.object.has_words != '0 ? has_word[31:0] : 32'd0};
      f_d.step = w_q.object.last_step[TableWidth+5:3];
      table_read_o = 1'b1;
      table_line_o = w_q.object.last_step[TableWidth+5:6];
      state_d = WkScan;
      if (f_q.presence != '0 && w_q.object.any) begin
        table_line_o = f_q.presence + TableWidth'((w_q.object.last_step[TableWidth+5:3] - f_q.steps) >> 6);
        state_d = WkSkip;
      end
    end
    if (failure != ErrNone) {error_d, state_d} = {failure, WkFail};
    if (stops && abort_i) state_d = WkDrain;
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
  assign unused = ^{cmd_i, step, entry_index, fetch_address, has_word[63:62]};
endmodule
