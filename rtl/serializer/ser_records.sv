// The memory-affinity front end: takes the records of a pre-serialized stream (docs/formats.md, section 4) from lines,
// one record a cycle, and tells the encoder. The stream is hostile: a record that goes on behind the records' end, an
// op that there is not, payload or engine memory that is not there end the message; what is left of its lines is thrown
// away, a line a cycle.
//
//   cur  [ s0 s1 s2 s3 s4 s5 s6 s7 ]  nxt [ s0 s1 .. ]      a head may be anywhere, its tag and value in the next line
//             ^ slot_q
//
// A third line waits, so that no output depends in the same cycle on what a record takes.
`include "drover_assert.svh"
/* verilator lint_off IMPORTSTAR */
import drover_preserialized_pkg::*;  // here, and types by their full names: yosys reads it so
import drover_serializer_pkg::*;
import ser_pkg::*;
/* verilator lint_on IMPORTSTAR */
module ser_records (
  input  logic clk_i,
  input  logic rst_ni,

  input  logic cmd_valid_i,
  output logic cmd_ready_o,  // with the end of the message
  input  ser_pkg::cmd_t cmd_i,

  input  logic           line_valid_i,
  input  ser_pkg::line_t line_i,
  output logic           line_ready_o,

  // Memory that records may refer to.
  input  logic [63:0] host_base_i,
  input  logic [63:0] host_size_i,
  input  logic [63:0] engine_base_i,
  input  logic [63:0] engine_size_i,

  output logic                uop_valid_o,
  output ser_pkg::uop_t                uop_o,
  output logic [ser_pkg::LineBits-1:0] uop_line_o,
  input  logic                uop_ready_i,
  input  logic                abort_i  // the encoder has no use for the rest of this message
);
  typedef enum logic [2:0] {StIdle, StHead, StBody, StElements, StDrain} state_e;

  state_e state_q, state_d;
  ser_pkg::line_t cur_q, nxt_q, wait_q;
  logic cur_valid_q, nxt_valid_q, wait_valid_q;
  logic [2:0] slot_q;
  logic [26:0] lines_q;    // not yet taken from the FIFO
  logic [29:0] slots_q;    // of records, not yet consumed
  logic [31:0] payload_q;  // bytes, not yet used
  logic [31:0] left_q;     // bytes of the body, or elements
  drover_preserialized_pkg::record_op_e element_q;  // their op
  logic half_q;            // the second half of a slot comes next

  // ---- the slots at hand
  logic [63:0] first, second, third;
  function automatic logic [63:0] slot_at(logic [ser_pkg::LineBits-1:0] low, logic [ser_pkg::LineBits-1:0] high,
                                          logic [3:0] index);
    slot_at = index[3] ? high[64*index[2:0]+:64] : low[64*index[2:0]+:64];
  endfunction
  assign first  = slot_at(cur_q.data, nxt_q.data, {1'b0, slot_q});
  assign second = slot_at(cur_q.data, nxt_q.data, {1'b0, slot_q} + 4'd1);
  assign third  = slot_at(cur_q.data, nxt_q.data, {1'b0, slot_q} + 4'd2);

  // ---- a head's parts
  drover_preserialized_pkg::record_head_t head;
  drover_preserialized_pkg::record_op_e op, element_op;
  logic has_tag, long_tag, wide, wide_elements, in_line, in_payload, in_engine, in_host;
  logic [1:0] need;  // slots, with the tag and the value, 1 to 3
  assign head = first;
  assign op = head.op.code;
  assign element_op = drover_preserialized_pkg::record_op_e'(head.tag[6:0]);
  assign has_tag = op <= RecordTag || op == RecordPayload || op == RecordEngine || op == RecordHost;
  assign long_tag = has_tag && head.op.long_tag && head.tag == '0 && op != RecordEnd;
  assign in_line = op == RecordInlineUtf8 || op == RecordInline || op == RecordRawInline;
  assign in_payload = op == RecordPayload || op == RecordRawPayload;
  assign in_engine = op == RecordEngine || op == RecordRawEngine;
  assign in_host = op == RecordHost || op == RecordRawHost;
  assign wide = ser_pkg::is_wide(op) || in_engine || in_host;
  assign wide_elements = ser_pkg::is_wide(element_op);
  assign need = 2'd1 + 2'(long_tag) + 2'(wide);

  logic [63:0] extra;  // value or address in a slot of its own
  assign extra = long_tag ? third : second;

  // Slots of a body behind this head.
  logic [29:0] body_slots;
  logic too_many;  // body_slots has wrapped
  always_comb begin
    body_slots = '0;
    if (in_line) body_slots = {1'b0, head.value[31:3]} + 30'(head.value[2:0] != 3'd0);
    // 4-byte elements: two a slot. 8-byte elements in such numbers are truncated anyhow.
    if (op == RecordElements) begin
      body_slots = wide_elements ? (head.value[31:29] != '0 ? '1 : head.value[29:0])
                                 : 30'(head.value[31:1]) + 30'(head.value[0]);
    end
  end
  assign too_many = op == RecordElements && !wide_elements && head.value[31:30] != 2'd0;

  logic is_known, bad_elements;
  assign is_known = op <= RecordTag || op >= RecordClose && op <= RecordRawHost;
  assign bad_elements = op == RecordElements && (head.tag[15:7] != '0 || element_op == RecordEnd ||
                                                 element_op > RecordClosedEnum);

  // ---- the tag's bytes
  logic [3:0] long_size;
  logic [79:0] long_bytes;
  assign long_size = ser_pkg::varint_size({32'd0, second[31:0]});
  assign long_bytes = ser_pkg::varint_bytes({32'd0, second[31:0]}, long_size);

  // ---- whether the head at hand is sound
  // A record that goes on behind the records' end waits for nothing.
  logic window;  // the head's slots are here
  assign window = cur_valid_q && (4'(slot_q) + 4'(need) <= 4'd8 || nxt_valid_q || slots_q < 30'(need));

  // Memory that this record would refer to.
  logic [63:0] memory_base, memory_size;
  assign memory_base = in_host ? host_base_i : engine_base_i;
  assign memory_size = in_host ? host_size_i : engine_size_i;
  logic [64:0] room;  // in it, behind the place; negative: the place is not in it
  assign room = {1'b0, memory_size} - {1'b0, extra};

  drover_serializer_pkg::error_e head_error;
  always_comb begin
    head_error = ErrNone;
    if (slots_q < 30'(need)) head_error = ErrTruncated;
    else if (!is_known || bad_elements) head_error = ErrBadRecord;
    else if (too_many || body_slots > slots_q - 30'(need)) head_error = ErrTruncated;
    else if (in_payload && head.value > payload_q) head_error = ErrOutOfBounds;
    else if ((in_engine || in_host) && (room[64] || {32'd0, head.value} > room[63:0])) head_error = ErrOutOfBounds;
    if (cur_q.failed || nxt_valid_q && nxt_q.failed && 4'(slot_q) + 4'(need) > 4'd8) head_error = ErrBus;
    if (slots_q == '0) head_error = ErrTruncated;
    if (cmd_i.error != ErrNone) head_error = drover_serializer_pkg::error_e'(cmd_i.error);
  end

  // ---- what this cycle does
  logic present;         // there is something to do it with
  logic advance;         // the output register is free
  logic go;              // it is done
  logic ends;            // with the end of the message
  logic issue;           // something goes to the encoder
  logic head_done;       // a head was taken, without error
  logic leaves;          // what lines there are have nothing more to say
  logic [3:0] consume;   // slots
  logic [6:0] body_here; // bytes of the body in the line
  drover_serializer_pkg::error_e error;
  assign advance = !uop_valid_o || uop_ready_i;
  assign go = present && advance;
  assign cmd_ready_o = go && ends;
  assign head_done = state_q == StHead && go && error == ErrNone && !ends;
  assign leaves = state_q == StDrain || go && ends;
  always_comb begin
    present = 1'b0;
    issue = 1'b0;
    error = ErrNone;
    ends = 1'b0;
    unique case (state_q)
      StHead: begin
        present = !abort_i && (slots_q == '0 || window || cmd_i.error != ErrNone);
        error = head_error;
        ends = head_error == ErrNone && op == RecordEnd && lines_q == '0;
        issue = present && (head_error != ErrNone || ends || op != RecordEnd && op != RecordElements);
      end
      StBody, StElements: begin
        present = !abort_i && cur_valid_q;
        issue = present;
        if (cur_q.failed) error = ErrBus;
      end
      StDrain: begin
        present = lines_q == '0;
        issue = present;
        ends = 1'b1;
      end
      default: ;
    endcase
  end

  always_comb begin
    body_here = 7'd64 - {1'b0, slot_q, 3'd0};
    if (left_q < 32'(body_here)) body_here = left_q[6:0];
  end

  always_comb begin
    state_d = state_q;
    consume = 4'd0;
    unique case (state_q)
      StIdle: if (cmd_valid_i) state_d = StHead;
      StHead: if (head_done) begin
        consume = {2'd0, need};
        if (op == RecordEnd) state_d = StDrain;
        else if (in_line && head.value != '0) state_d = StBody;
        else if (op == RecordElements && head.value != '0) state_d = StElements;
      end
      StBody: if (go) begin
        consume = 4'((body_here + 7'd7) >> 3);
        if (left_q == 32'(body_here)) state_d = StHead;
      end
      StElements: if (go) begin
        consume = (ser_pkg::is_wide(element_q) || half_q || left_q == 32'd1) ? 4'd1 : 4'd0;
        if (left_q == 32'd1) state_d = StHead;
      end
      default: ;
    endcase
    if (go && error != ErrNone || abort_i && state_q != StIdle) state_d = StDrain;
    if (go && ends) state_d = StIdle;
  end

  // ---- what the encoder is told
  ser_pkg::uop_t uop_d;
  logic [31:0] element;
  assign element = half_q ? first[63:32] : first[31:0];
  always_comb begin
    uop_d = '0;
    uop_d.kind = UopEmit;
    unique case (state_q)
      StBody: begin
        uop_d.kind = UopBody;
        uop_d.size = 32'(body_here);
        uop_d.address = {58'd0, slot_q, 3'd0};
      end
      StElements: begin
        uop_d.form = ser_pkg::form_of(element_q);
        uop_d.value = ser_pkg::wire_value(element_q, ser_pkg::is_wide(element_q) ? first : {32'd0, element});
      end
      default: begin
        uop_d.tag_size = !has_tag ? 3'd0 : long_tag ? long_size[2:0] : head.op.long_tag ? 3'd2 : 3'd1;
        uop_d.tag = long_tag ? long_bytes[39:0] : {24'd0, head.tag};
        uop_d.value = ser_pkg::wire_value(op, ser_pkg::is_wide(op) ? extra : {32'd0, head.value});
        uop_d.size = head.value;
        if (op <= RecordClosedEnum) uop_d.form = ser_pkg::form_of(op);
        if (op == RecordOpen) begin
          uop_d.kind = UopOpen;
          uop_d.form = FormVarint;
        end
        if (op == RecordClose) uop_d.kind = UopClose;
        if (in_line) uop_d.body = BodyArena;
        if (in_payload) begin
          uop_d.body = cmd_i.early_lines != '0 ? BodyEarly : BodyHost;
          uop_d.address = cmd_i.payload + {32'd0, payload_q - head.value};
        end
        if (in_engine || in_host) begin
          uop_d.body = in_host ? BodyHost : BodyEngine;
          uop_d.address = memory_base + extra;
        end
        if (uop_d.body != BodyNone) begin
          uop_d.form = has_tag ? FormVarint : FormNone;
          if (head.value == '0) uop_d.body = BodyNone;
        end
      end
    endcase
    if (error != ErrNone || ends) begin
      uop_d = '0;
      uop_d.kind = ends ? UopEnd : UopError;
      uop_d.error = error;
    end
  end

  // ---- lines
  logic [3:0] slot_sum;
  logic leave;  // cur is used up
  logic moves;  // nxt, or the line that comes, is the next cur
  logic taken;  // a line comes
  logic [26:0] cmd_lines;
  assign cmd_lines = cmd_valid_i ? 27'((33'(cmd_i.record_bytes) + 33'd63) >> 6) : '0;
  assign slot_sum = 4'(slot_q) + consume;
  assign leave = slot_sum[3];
  // The first line comes with the command.
  assign line_ready_o = state_q == StIdle ? cmd_valid_i && cmd_i.record_bytes != '0
                                          : lines_q != '0 && (state_q == StDrain || !wait_valid_q);
  assign taken = line_valid_i && line_ready_o;
  assign moves = leave || !cur_valid_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q     <= StIdle;
      cur_valid_q <= 1'b0;
      nxt_valid_q <= 1'b0;
      wait_valid_q <= 1'b0;
      uop_valid_o <= 1'b0;
      lines_q     <= '0;
    end else begin
      state_q <= state_d;
      if (advance) uop_valid_o <= issue;
      if (moves) cur_valid_q <= nxt_valid_q || taken;
      if (moves || !nxt_valid_q) begin
        nxt_valid_q <= wait_valid_q || taken && !(moves && !nxt_valid_q);
        wait_valid_q <= 1'b0;
      end else if (taken) begin
        wait_valid_q <= 1'b1;
      end
      lines_q <= (state_q == StIdle ? cmd_lines : lines_q) - 27'(taken);
      if (leaves) begin
        cur_valid_q <= 1'b0;
        nxt_valid_q <= 1'b0;
        wait_valid_q <= 1'b0;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (advance) begin
      uop_o <= uop_d;
      uop_line_o <= cur_q.data;
    end
    if (moves) cur_q <= nxt_valid_q ? nxt_q : line_i;
    if (moves || !nxt_valid_q) nxt_q <= wait_valid_q ? wait_q : line_i;
    if (!wait_valid_q) wait_q <= line_i;
    slot_q <= slot_sum[2:0];
    slots_q <= slots_q - 30'(consume);
    if (head_done) begin
      left_q <= head.value;
      element_q <= element_op;
      half_q <= 1'b0;
      if (in_payload) payload_q <= payload_q - head.value;
    end
    if (state_q == StBody && consume != '0) left_q <= left_q - 32'(body_here);
    if (state_q == StElements && go) begin
      left_q <= left_q - 32'd1;
      half_q <= !half_q;
    end
    if (state_q == StIdle) begin
      slot_q <= '0;
      slots_q <= {1'b0, cmd_i.record_bytes[31:3]};
      payload_q <= cmd_i.payload_bytes;
    end
  end

  logic unused;
  assign unused = ^{cmd_i, head, long_bytes[79:40], long_size[3]};

  `DROVER_ASSERT(HeadsAreWhole, !head_done || (need != 2'd0 && slots_q >= 30'(need)))
  `DROVER_ASSERT_HOLD(UopHolds, uop_valid_o, uop_ready_i, uop_o)
endmodule
