// The NIC-only front end: walks a Drover object in host memory (docs/formats.md, section 2) by the schema image, and
// tells the encoder; the serializer without a host half, as ProtoACC behind PCIe. A message's steps are followed from
// the last to the first: those whose has-bit is not set are passed over 64 at a time, by presence lines that the driver
// has put behind the image (rtl/serializer/serializer_table.h), or without those eight at a time. Objects, and the arrays
// of repeated fields in chunks, are fetched into the object memory; each pointer costs a round trip.
//
//   object memory:  [ object | array chunk | object | ... ]      one frame of the stack for each object
//                                            ^ top_q
//
// The object is hostile: each address is checked against the region before it is read, and depth and size are bounded
// by the memories. What does not fit is left to software.
/* verilator lint_off IMPORTSTAR */
import drover_ser_pkg::*;  // here, and types by their full names: yosys reads it so
/* verilator lint_on IMPORTSTAR */
module drover_ser_walker #(
  parameter int unsigned ObjectLines = 512,
  parameter int unsigned Depth       = 64,
  parameter int unsigned TableWidth  = 16  // bits of a line's number in the schema table
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
  output logic [TableWidth-1:0]               table_line_o,
  input  logic [drover_ser_pkg::LineBits-1:0] table_data_i,
  input  logic [31:0]                         fields_i,  // ImageHeader.fields
  input  logic [31:0]                         message_count_i,

  output logic        ar_valid_o,
  input  logic        ar_ready_i,
  output logic [63:0] ar_addr_o,
  output logic [7:0]  ar_len_o,
  input  logic        r_valid_i,
  input  logic        r_error_i,
  input  logic [drover_ser_pkg::LineBits-1:0] r_data_i,

  output logic                 uop_valid_o,
  output drover_ser_pkg::uop_t uop_o,
  input  logic                 uop_ready_i,
  input  logic                 abort_i
);
  localparam int unsigned Ow = $clog2(ObjectLines);
  localparam int unsigned Mw = Ow + 6;  // a byte's place in the object memory
  localparam int unsigned Dw = $clog2(Depth) + 1;
  localparam logic [29:0] ChunkBytes = 30'd512;

  typedef enum logic [4:0] {
    StIdle, StMessage, StObject, StFetch, StHeader, StUnknown, StRaw, StHas, StSkip, StScan, StField, StPresence, StThere,
    StFirst, StSecond, StCall, StChunk, StElement, StValue, StReturn, StResume, StWrap, StFail, StDrain, StEnd
  } state_e;

  // An object that is being written, while one below it is.
  typedef struct packed {
    logic [63:0]           address;
    logic [Mw-1:0]         place;
    logic [TableWidth+2:0] step;      // slot of the table
    logic [TableWidth+2:0] steps;     // that of the first step
    logic [TableWidth-1:0] presence;  // the first presence line; 0: there is none
    logic [63:0]           has;
    logic [31:0]           first_field;
    logic                  map_entry;
    logic [Ow:0]           top;
    logic [39:0]           tag;       // of the field at hand
    logic [2:0]            tag_size;
    logic                  group;
    logic [15:0]           sub;
    logic                  repeated;
    logic [63:0]           array;
    logic [31:0]           elements;  // still to come
    logic [31:0]           chunk;     // the first element that is there
    logic [Mw-1:0]         chunk_place;
  } frame_t;

  state_e state_q, state_d, after_q, after_d;  // after: the fetch
  frame_t f_q, f_d;
  logic [63:0] target_q, target_d;  // the object to be entered, the first word of a pair
  logic [15:0] message_q, message_d;
  drover_ser_pkg::error_e error_q, error_d;
  // The field at hand.
  logic [6:0] op_q, op_d;           // of one element
  logic packed_q, packed_d;
  logic by_value_q, by_value_d;     // absent if zero
  logic [15:0] offset_q, offset_d;
  logic [15:0] presence;            // offset of the case word, or of the word of has-bits
  logic [31:0] number_q, number_d;
  logic oneof_q, oneof_d;
  logic [4:0] has_bit_q, has_bit_d;
  logic [63:0] word_q, word_d;
  logic value_q, value_d;           // StScan: a scalar's value is here
  logic entry_any_q, entry_any_d;  // the message has fields
  logic [31:0] entry_steps_q, entry_steps_d;
  logic [15:0] entry_has_q, entry_has_d;

  (* ram_style = "distributed" *) logic [$bits(f_q)-1:0] stack[Depth];
  logic [Dw-1:0] depth_q, depth_d;
  logic push;
  frame_t top_frame;
  assign top_frame = stack[$clog2(Depth)'(depth_q - Dw'(1))];

  // ---- the object memory
  logic [drover_ser_pkg::LineBits-1:0] object_line;
  logic [Mw-1:0] read_at;
  logic read;
  logic [5:0] read_low_q;
  logic [Ow-1:0] write_line_q;
  drover_sram_1r1w #(.Width(drover_ser_pkg::LineBits), .Depth(ObjectLines)) u_objects (
    .clk_i,
    .we_i(r_valid_i), .waddr_i(write_line_q), .wdata_i(r_data_i),
    .re_i(read), .raddr_i(read_at[Mw-1:6]), .rdata_o(object_line)
  );
  logic [63:0] slot, value;  // the aligned word; what begins at the place
  assign slot = object_line[64*read_low_q[5:3]+:64];
  always_comb begin
    value = slot;
    if (op_q == RecBool) value = {56'd0, slot[8*read_low_q[2:0]+:8]};
    else if (!is_wide_op(op_q)) value = {32'd0, read_low_q[2] ? slot[63:32] : slot[31:0]};
  end
  function automatic logic is_wide_op(logic [6:0] op);
    is_wide_op = op == RecVarint64 || op == RecSint64 || op == RecFixed64;
  endfunction

  // ---- fetches
  logic fetch;
  logic [63:0] fetch_address;
  logic [31:0] fetch_bytes;
  logic [57:0] ar_next_q;
  logic [Ow:0] ask_q, wait_q;  // lines
  logic broken_q;  // one of them could not be read
  logic [Ow:0] fetch_lines;
  logic [6:0] burst;
  logic [6:0] to_boundary;
  assign fetch_lines = (Ow + 1)'((fetch_bytes + {26'd0, fetch_address[5:0]} + 32'd63) >> 6);
  assign to_boundary = 7'd64 - {1'b0, ar_next_q[5:0]};
  assign burst = ask_q < (Ow + 1)'(to_boundary) ? 7'(ask_q) : to_boundary;
  assign ar_valid_o = ask_q != '0;
  assign ar_addr_o = {ar_next_q, 6'd0};
  assign ar_len_o = 8'(burst) - 8'd1;

  logic out_of_bounds, misaligned;
  logic [63:0] check_address;
  logic [35:0] check_bytes;
  logic [2:0] check_mask;
  assign out_of_bounds = check_address < base_i || check_address >= limit_i ||
                         {28'd0, check_bytes} > limit_i - check_address;
  assign misaligned = (check_address[2:0] & check_mask) != '0;

  // ---- the steps of a line, with those whose has-bit is set
  logic [63:0] step;
  logic [7:0] present;
  logic [2:0] chosen;
  logic any, more;
  logic [6:0] step_op;
  logic step_scalar;
  always_comb begin
    for (int i = 0; i < 8; i++) begin
      present[i] = f_q.has[table_data_i[64*i+24+:6]] && 3'(i) <= f_q.step[2:0];
    end
    chosen = '0;
    any = 1'b0;
    for (int i = 0; i < 8; i++) begin
      if (present[i]) begin
        chosen = 3'(i);
        any = 1'b1;
      end
    end
    more = 1'b0;
    for (int i = 0; i < 8; i++) begin
      if (present[i] && 3'(i) < chosen) more = 1'b1;
    end
  end
  assign step = table_data_i[64*chosen+:64];
  assign step_op = step[23:17];
  assign step_scalar = step_op >= RecInt32 && step_op <= RecClosedEnum && (step[15:0] != '0);

  // ---- a presence line: a has-bit's number for each of 64 steps, bit 7 behind the last
  logic [TableWidth+2:0] left;  // the step to begin with, counted from the first; all ones: none
  logic [63:0] there;
  logic [5:0] there_last;
  logic there_any;
  assign left = f_q.step - f_q.steps;
  always_comb begin
    there_last = '0;
    there_any = 1'b0;
    for (int i = 0; i < 64; i++) begin
      there[i] = !table_data_i[8*i+7] && f_q.has[table_data_i[8*i+:6]] && 6'(i) <= left[5:0];
      if (there[i]) begin
        there_last = 6'(i);
        there_any = 1'b1;
      end
    end
  end

  // ---- a FieldEntry
  logic [255:0] entry;
  logic [31:0] entry_index;  // of the field at hand
  logic [15:0] position_q, position_d;
  assign entry_index = f_q.first_field + {16'd0, position_q} - 32'd1;
  assign entry = entry_index[0] ^ fields_i[5] ? table_data_i[511:256] : table_data_i[255:0];
  logic [4:0] kind;
  logic [6:0] kind_op;
  assign kind = entry[68:64];
  always_comb begin
    unique case (kind)
      5'd1, 5'd6, 5'd16: kind_op = RecFixed64;
      5'd2, 5'd7, 5'd15: kind_op = RecFixed32;
      5'd3, 5'd4:        kind_op = RecVarint64;
      5'd5, 5'd14:       kind_op = RecInt32;
      5'd8:              kind_op = RecBool;
      5'd9, 5'd12:       kind_op = RecInline;
      5'd13:             kind_op = RecUint32;
      5'd17:             kind_op = RecSint32;
      5'd18:             kind_op = RecSint64;
      default:           kind_op = RecOpen;  // messages and groups
    endcase
  end
  assign presence = entry[127:112] != '0 ? entry[127:112] : 16'd16 + {3'd0, entry[111:101], 2'd0};
  logic entry_repeated, entry_packed;
  assign entry_repeated = entry[79:72] != 8'd0;
  assign entry_packed = entry[79:72] == 8'd1 && entry[88];
  logic [31:0] entry_tag;
  logic [3:0] entry_tag_size;
  logic [79:0] entry_tag_bytes;
  assign entry_tag = {entry[28:0], entry_packed ? 3'd2 : entry[82:80]};
  assign entry_tag_size = drover_ser_pkg::varint_size({32'd0, entry_tag});
  assign entry_tag_bytes = drover_ser_pkg::varint_bytes({32'd0, entry_tag}, entry_tag_size);

  // ---- elements
  logic [1:0] element_shift;  // log2 of their size, but strings'
  logic is_string;
  logic [2:0] shift;
  assign is_string = op_q == RecInline;
  assign element_shift = op_q == RecBool ? 2'd0 : op_q == RecOpen || is_wide_op(op_q) ? 2'd3 : 2'd2;
  assign shift = is_string ? 3'd4 : {1'b0, element_shift};
  logic [31:0] chunk_elements;
  assign chunk_elements = f_q.elements < (32'(ChunkBytes) >> shift) ? f_q.elements : 32'(ChunkBytes) >> shift;
  logic [31:0] last_element;
  assign last_element = f_q.elements - 32'd1;

  logic advance;
  logic issue;
  drover_ser_pkg::uop_t uop_d;
  assign advance = !uop_valid_o || uop_ready_i;
  assign push = state_q == StCall && state_d == StMessage;

  logic [63:0] message_line;
  assign message_line = table_data_i[63:0];  // object_size, has_words, oneof_count

  // What this state would fetch, and what it has checked.
  logic [31:0] chunk_begin;
  assign chunk_begin = f_q.elements - chunk_elements;
  always_comb begin
    fetch_address = target_q;
    fetch_bytes = message_line[31:0];
    check_address = target_q;
    check_bytes = {4'd0, slot[31:0]};
    check_mask = 3'd0;
    unique case (state_q)
      StObject: begin
        check_bytes = {4'd0, message_line[31:0]};
        check_mask = 3'd7;
      end
      StHeader: begin
        fetch_address = f_q.address + 64'd8 + slot;
        fetch_bytes = 32'd16;
        check_address = fetch_address;
        check_bytes = 36'd16;
        check_mask = 3'd7;
      end
      StUnknown: check_address = target_q + word_q;
      StSecond: if (f_q.repeated) begin
        check_mask = shift == 3'd0 ? 3'd0 : shift == 3'd2 ? 3'd3 : 3'd7;
        check_bytes = {4'd0, slot[31:0]} << shift;
      end
      StChunk: begin
        fetch_address = f_q.array + ({32'd0, chunk_begin} << shift);
        fetch_bytes = chunk_elements << shift;
      end
      default: ;
    endcase
  end

  always_comb begin
    state_d = state_q;
    after_d = after_q;
    f_d = f_q;
    target_d = target_q;
    message_d = message_q;
    error_d = error_q;
    op_d = op_q;
    packed_d = packed_q;
    by_value_d = by_value_q;
    offset_d = offset_q;
    number_d = number_q;
    oneof_d = oneof_q;
    has_bit_d = has_bit_q;
    word_d = word_q;
    value_d = 1'b0;
    depth_d = depth_q;
    position_d = position_q;
    entry_steps_d = entry_steps_q;
    entry_has_d = entry_has_q;
    entry_any_d = entry_any_q;
    read = 1'b0;
    read_at = f_q.place;
    table_read_o = 1'b0;
    table_line_o = f_q.step[TableWidth+2:3];
    fetch = 1'b0;
    issue = 1'b0;
    cmd_ready_o = 1'b0;
    uop_d = '0;
    uop_d.kind = UopEmit;
    uop_d.tag = f_q.tag;
    uop_d.tag_size = f_q.tag_size;

    unique case (state_q)
      StIdle: if (cmd_valid_i) begin
        target_d = cmd_i.records;
        message_d = cmd_i.message;
        depth_d = '0;
        f_d = '0;
        state_d = StMessage;
        error_d = cmd_i.error;
        if (cmd_i.error == ErrNone && {16'd0, cmd_i.message} >= message_count_i) error_d = ErrBadRecord;
        if (error_d != ErrNone) state_d = StFail;
      end

      // ---- an object is entered: its type, its bytes, what stands in front of its fields
      StMessage: begin
        table_read_o = 1'b1;
        table_line_o = TableWidth'(message_q) + TableWidth'(1);
        state_d = StObject;
      end
      StObject: begin  // the MessageEntry is here
        entry_has_d = message_line[47:32];
        entry_any_d = table_data_i[96+:32] != '0;
        entry_steps_d = table_data_i[36*8+:32] + {table_data_i[96+:29], 3'd0} - 32'd8;  // the last step
        f_d.first_field = table_data_i[64+:32];
        f_d.map_entry = table_data_i[28*8];
        f_d.steps = table_data_i[36*8+3+:TableWidth+3];
        f_d.presence = table_data_i[40*8+:TableWidth];
        f_d.address = target_q;
        f_d.place = {f_q.top[Ow-1:0], target_q[5:0]};
        f_d.repeated = 1'b0;
        if (out_of_bounds) begin
          error_d = ErrOutOfBounds;
          state_d = StFail;
        end else if (misaligned) begin
          error_d = ErrMisaligned;
          state_d = StFail;
        end else if (message_line[31:0] > 32'(ObjectLines * 64 - 64) ||
                     (Ow + 2)'(f_q.top) + (Ow + 2)'(fetch_lines) > (Ow + 2)'(ObjectLines)) begin
          error_d = ErrLeftObject;
          state_d = StFail;
        end else begin
          fetch = 1'b1;
          f_d.top = f_q.top + fetch_lines;
          after_d = StHeader;
          state_d = StFetch;
        end
      end
      StFetch: if (wait_q == '0) begin
        state_d = after_q;
        if (broken_q) begin
          error_d = ErrBus;
          state_d = StFail;
        end
        read = 1'b1;
        if (after_q == StHeader) read_at = f_q.place + Mw'(8);
        if (after_q == StRaw) read_at = {f_q.top[Ow-1:0], target_q[5:0]};
      end
      StHeader: begin  // the pointer to the unknown fields is here
        read = 1'b1;
        read_at = f_q.place + Mw'(16);
        state_d = StHas;
        target_d = fetch_address;
        if (slot != '0) begin
          state_d = StFetch;
          after_d = StRaw;
          fetch = 1'b1;
          if (out_of_bounds || misaligned || (Ow + 2)'(f_q.top) + (Ow + 2)'(2) > (Ow + 2)'(ObjectLines)) begin
            fetch = 1'b0;
            state_d = StFail;
            error_d = out_of_bounds ? ErrOutOfBounds : misaligned ? ErrMisaligned : ErrLeftObject;
          end
        end
      end
      StRaw: begin  // the String's first word is here
        word_d = slot;
        read = 1'b1;
        read_at = {f_q.top[Ow-1:0], target_q[5:0]} + Mw'(8);
        state_d = StUnknown;
      end
      StUnknown: begin  // and its size
        uop_d.tag_size = '0;
        uop_d.body = BodyHost;
        uop_d.size = slot[31:0];
        uop_d.address = target_q + word_q;
        if (slot[31:0] != '0 && out_of_bounds) begin
          error_d = ErrOutOfBounds;
          state_d = StFail;
        end else begin
          issue = slot[31:0] != '0;
          if (advance) begin
            read = 1'b1;
            read_at = f_q.place + Mw'(16);
            state_d = StHas;
          end
        end
      end
      StHas: begin
        f_d.has = {2'b11, entry_has_q > 16'd1 ? slot[61:32] : 30'd0, entry_has_q != '0 ? slot[31:0] : 32'd0};
        f_d.step = entry_steps_q[TableWidth+5:3];
        table_read_o = 1'b1;
        table_line_o = entry_steps_q[TableWidth+5:6];
        state_d = StScan;
        if (f_q.presence != '0 && entry_any_q) begin
          table_line_o = f_q.presence + TableWidth'((entry_steps_q[TableWidth+5:3] - f_q.steps) >> 6);
          state_d = StSkip;
        end
      end
      StSkip: begin  // a presence line is here
        table_read_o = 1'b1;
        if (there_any) begin
          f_d.step = f_q.steps + {left[TableWidth+2:6], there_last};
          table_line_o = f_d.step[TableWidth+2:3];
          state_d = StScan;
        end else begin
          f_d.step = f_q.steps + {left[TableWidth+2:6], 6'd0} - (TableWidth + 3)'(1);
          table_line_o = f_q.presence + TableWidth'(left >> 6) - TableWidth'(1);
          if (left[TableWidth+2:6] == '0) state_d = StReturn;
        end
      end

      // ---- fields, last first
      StScan: begin
        // The scalar that was chosen in the last cycle.
        uop_d.form = drover_ser_pkg::form_of(op_q);
        uop_d.value = drover_ser_pkg::wire_value(op_q, value);
        issue = value_q && !(by_value_q && value == '0);
        value_d = value_q;
        if (advance || !issue) begin
          value_d = 1'b0;
          f_d.tag = {24'd0, step[15:0]};
          f_d.tag_size = step[16] ? 3'd2 : 3'd1;
          op_d = step_op == RecInlineUtf8 ? RecInline : step_op;
          packed_d = 1'b0;
          f_d.repeated = 1'b0;
          f_d.group = 1'b0;
          by_value_d = step[29:24] == 6'd63;
          position_d = step[47:32];
          offset_d = step[63:48];
          read_at = f_q.place + Mw'(step[63:48]);
          if (any && more) begin
            f_d.step = {f_q.step[TableWidth+2:3], chosen - 3'd1};
          end else begin
            f_d.step = {f_q.step[TableWidth+2:3] - TableWidth'(1), 3'd7};
            table_line_o = f_d.step[TableWidth+2:3];
            table_read_o = 1'b1;
            // The word in front of the first step ends it; no presence line has that.
            if (!any && f_q.presence != '0 && f_d.step != f_q.steps - (TableWidth + 3)'(1)) begin
              table_line_o = f_q.presence + TableWidth'((f_d.step - f_q.steps) >> 6);
              state_d = StSkip;
            end
          end
          if (any) begin
            if (step_op == RecEnd) begin
              table_read_o = 1'b0;
              state_d = StReturn;
            end else if (step_scalar) begin
              read = 1'b1;
              value_d = 1'b1;
            end else if ((step_op == RecInlineUtf8 || step_op == RecInline) && step[15:0] != '0) begin
              table_read_o = 1'b0;
              read = 1'b1;
              state_d = StFirst;
            end else begin  // by its FieldEntry
              table_read_o = 1'b1;
              table_line_o = TableWidth'((fields_i + {f_q.first_field[26:0], 5'd0} +
                                          {11'd0, step[47:32], 5'd0} - 32'd32) >> 6);
              state_d = StField;
            end
          end
        end
      end
      StField: begin  // the FieldEntry is here
        f_d.tag = entry_tag_bytes[39:0];
        f_d.tag_size = entry_tag_size[2:0];
        f_d.group = kind == 5'd10;
        f_d.sub = entry[143:128];
        f_d.repeated = entry_repeated;
        packed_d = entry_packed;
        op_d = kind_op;
        number_d = entry[31:0];
        offset_d = entry[47:32];
        read = 1'b1;
        read_at = f_q.place + Mw'(entry[47:32]);
        state_d = StFirst;
        oneof_d = entry[127:112] != '0;
        has_bit_d = entry[100:96];
        // Where the step could not say whether it is there.
        if (!entry_repeated && (oneof_d || (entry[111:96] != 16'hffff && entry[111:96] >= 16'd62))) begin
          by_value_d = 1'b0;
          read_at = f_q.place + Mw'(presence);
          state_d = StPresence;
        end
        if (entry[63:48] != '0) begin  // an offset of 64 KB
          error_d = ErrLeftField;
          state_d = StFail;
        end
      end
      StPresence: begin
        read = 1'b1;
        read_at = f_q.place + Mw'(offset_q);
        word_d = {32'd0, read_low_q[2] ? slot[63:32] : slot[31:0]};
        state_d = StThere;
      end
      StThere: begin
        state_d = StFirst;
        if (oneof_q ? word_q[31:0] != number_q : !word_q[{1'b0, has_bit_q}]) state_d = StResume;
      end
      StFirst: begin  // the field's first word is here
        word_d = slot;
        target_d = f_q.address + {48'd0, offset_q} + slot;
        if (f_q.repeated || is_string) begin
          read = 1'b1;
          read_at = f_q.place + Mw'(offset_q) + Mw'(8);
          state_d = StSecond;
        end else if (op_q == RecOpen) begin
          state_d = StCall;
          if (slot == '0) begin
            // Absent; in a map entry the empty message.
            issue = f_q.map_entry;
            uop_d.form = FormVarint;
            state_d = StResume;
            if (issue && !advance) state_d = StFirst;
          end
        end else begin
          uop_d.form = drover_ser_pkg::form_of(op_q);
          uop_d.value = drover_ser_pkg::wire_value(op_q, value);
          issue = !(by_value_q && value == '0);
          if (advance || !issue) state_d = StResume;
        end
      end
      StSecond: begin  // the size is here
        f_d.array = target_q;
        f_d.elements = slot[31:0];
        f_d.chunk = slot[31:0];
        uop_d.address = target_q;
        uop_d.size = check_bytes[31:0];
        uop_d.value = {32'd0, uop_d.size};
        uop_d.form = FormVarint;
        uop_d.body = slot[31:0] == '0 ? BodyNone : BodyHost;
        if (slot[31:0] == '0 && (f_q.repeated || by_value_q)) begin
          state_d = StResume;
        end else if (slot[31:0] != '0 && (out_of_bounds || misaligned)) begin
          error_d = out_of_bounds ? ErrOutOfBounds : ErrMisaligned;
          state_d = StFail;
        end else if (check_bytes[35:31] != '0) begin
          error_d = ErrTooLarge;
          state_d = StFail;
        end else if (!f_q.repeated || (packed_q && (op_q == RecFixed32 || op_q == RecFixed64))) begin
          issue = 1'b1;
          if (advance) state_d = StResume;
        end else begin
          issue = packed_q;
          uop_d = '0;
          uop_d.kind = UopClose;
          if (advance || !issue) state_d = StChunk;
        end
      end

      // ---- elements of arrays, last first
      StChunk: begin
        f_d.chunk = chunk_begin;
        f_d.chunk_place = {f_q.top[Ow-1:0], fetch_address[5:0]};
        after_d = StElement;
        if ((Ow + 2)'(f_q.top) + (Ow + 2)'(9) > (Ow + 2)'(ObjectLines)) begin
          error_d = ErrLeftObject;
          state_d = StFail;
        end else begin
          fetch = 1'b1;
          state_d = StFetch;
        end
      end
      StElement: begin
        read = 1'b1;
        read_at = f_q.chunk_place + (Mw'(last_element - f_q.chunk) << shift);
        state_d = StValue;
        if (f_q.elements == f_q.chunk) state_d = f_q.elements != '0 ? StChunk : packed_q ? StWrap : StResume;
        if (abort_i) state_d = StDrain;
      end
      StValue: begin  // the element's first word is here
        word_d = slot;
        target_d = f_q.array + ({32'd0, last_element} << shift) + slot;
        if (op_q == RecOpen) begin
          state_d = StCall;
          if (slot == '0) begin
            error_d = ErrNullElement;
            state_d = StFail;
          end
        end else if (is_string) begin
          // The size is in the next word.
          read = 1'b1;
          read_at = f_q.chunk_place + (Mw'(last_element - f_q.chunk) << shift) + Mw'(8);
          state_d = StWrap;
        end else begin
          uop_d.form = drover_ser_pkg::form_of(op_q);
          uop_d.value = drover_ser_pkg::wire_value(op_q, value);
          if (packed_q) uop_d.tag_size = '0;
          issue = 1'b1;
          if (advance) begin
            f_d.elements = last_element;
            state_d = StElement;
          end
        end
      end
      StWrap: begin
        if (is_string) begin  // a repeated string's size is here
          uop_d.form = FormVarint;
          uop_d.value = {32'd0, slot[31:0]};
          uop_d.size = slot[31:0];
          uop_d.address = target_q;
          uop_d.body = slot[31:0] == '0 ? BodyNone : BodyHost;
          if (slot[31:0] != '0 && out_of_bounds) begin
            error_d = ErrOutOfBounds;
            state_d = StFail;
          end else begin
            issue = 1'b1;
            if (advance) begin
              f_d.elements = last_element;
              state_d = StElement;
            end
          end
        end else begin  // a packed field's tag and length
          uop_d.kind = UopOpen;
          uop_d.form = FormVarint;
          issue = 1'b1;
          if (advance) state_d = StResume;
        end
      end

      // ---- down and up
      StCall: begin
        message_d = f_q.sub;
        uop_d = '0;
        uop_d.kind = UopClose;
        if (f_q.group) begin  // the end tag: another wire type in the first byte
          uop_d.kind = UopEmit;
          uop_d.tag = {f_q.tag[39:3], 3'd4};
          uop_d.tag_size = f_q.tag_size;
        end
        if (depth_q == Dw'(Depth)) begin
          error_d = ErrLeftDepth;
          state_d = StFail;
        end else begin
          issue = 1'b1;
          if (advance) begin
            depth_d = depth_q + Dw'(1);
            // An array's chunk stays below the element.
            if (f_q.repeated) f_d.top = f_q.top + (Ow + 1)'(9);
            state_d = StMessage;
          end
        end
        if (abort_i) state_d = StDrain;
      end
      StReturn: begin
        if (abort_i) begin
          state_d = StDrain;
        end else if (depth_q == '0) begin
          state_d = StDrain;
        end else begin
          f_d = top_frame;
          uop_d.tag = top_frame.tag;
          uop_d.tag_size = top_frame.tag_size;
          if (!top_frame.group) begin
            uop_d.kind = UopOpen;
            uop_d.form = FormVarint;
          end
          issue = 1'b1;
          if (advance) begin
            depth_d = depth_q - Dw'(1);
            state_d = top_frame.repeated ? StElement : StResume;
            f_d.elements = top_frame.elements - 32'd1;
            op_d = RecOpen;
            packed_d = 1'b0;
          end else begin
            f_d = f_q;
          end
        end
      end
      StResume: begin
        table_read_o = 1'b1;
        state_d = abort_i ? StDrain : StScan;
      end

      // ---- ends
      StFail: begin
        uop_d = '0;
        uop_d.kind = UopError;
        uop_d.error = error_q;
        issue = 1'b1;
        if (advance) state_d = StDrain;
      end
      StDrain: begin
        uop_d = '0;
        uop_d.kind = UopEnd;
        issue = wait_q == '0;
        if (issue && advance) begin
          state_d = StEnd;
          cmd_ready_o = 1'b1;
        end
      end
      StEnd:   state_d = StIdle;
      default: state_d = StIdle;
    endcase
  end

  logic unused;
  assign unused = ^{cmd_i, presence, step, entry, entry_index, entry_tag_bytes, entry_tag_size, message_line};

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= StIdle;
      uop_valid_o <= 1'b0;
      ask_q <= '0;
      wait_q <= '0;
      value_q <= 1'b0;
      depth_q <= '0;
    end else begin
      state_q <= state_d;
      value_q <= value_d;
      depth_q <= depth_d;
      if (advance) uop_valid_o <= issue;
      if (fetch) begin
        ask_q <= fetch_lines;
        wait_q <= fetch_lines;
      end else begin
        if (ar_valid_o && ar_ready_i) ask_q <= ask_q - (Ow + 1)'(burst);
        wait_q <= wait_q - (Ow + 1)'(r_valid_i);
      end
    end
  end
  always_ff @(posedge clk_i) begin
    if (advance) uop_o <= uop_d;
    after_q <= after_d;
    f_q <= f_d;
    target_q <= target_d;
    message_q <= message_d;
    error_q <= error_d;
    op_q <= op_d;
    packed_q <= packed_d;
    by_value_q <= by_value_d;
    offset_q <= offset_d;
    number_q <= number_d;
    oneof_q <= oneof_d;
    has_bit_q <= has_bit_d;
    word_q <= word_d;
    position_q <= position_d;
    entry_steps_q <= entry_steps_d;
    entry_has_q <= entry_has_d;
    entry_any_q <= entry_any_d;
    if (read) read_low_q <= read_at[5:0];
    if (push) stack[$clog2(Depth)'(depth_q)] <= f_q;
    if (fetch) broken_q <= 1'b0;
    else if (r_valid_i && r_error_i) broken_q <= 1'b1;
    if (fetch) begin
      ar_next_q <= fetch_address[63:6];
      write_line_q <= state_q == StObject || state_q == StHeader || state_q == StChunk ? f_q.top[Ow-1:0] : '0;
    end else begin
      if (ar_valid_o && ar_ready_i) ar_next_q <= ar_next_q + 58'(burst);
      if (r_valid_i) write_line_q <= write_line_q + Ow'(1);
    end
  end
endmodule
