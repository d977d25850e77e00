// T: sizes fields in the wire bytes without knowing the schema, one a cycle, and keeps the limits of messages.
//
//   window -> deser_token -> token_o: a field; the end of a message (T leaves it by itself); the end of all; an error
//
// T runs one token ahead of L. Behind a token whose bytes it cannot size alone (a length, a group) it
// waits: L then consumes bytes itself (bulk_*), or gives T the message to enter (push_*), and lets T go on (resume_i).
// Errors that depend on the schema (a length that leads out, at the depth limit) travel with the field.
`include "drover_assert.svh"
/* verilator lint_off IMPORTSTAR */
import deser_pkg::*;  // here, and types by their full names: yosys reads it so
import drover_deserializer_pkg::*;
/* verilator lint_on IMPORTSTAR */
module deser_front #(
    parameter int unsigned StackLog2 = 7
) (
    input  logic         clk_i,
    input  logic         rst_ni,
    input  deser_pkg::rx_t rx_i,
    input  logic         rx_valid_i,
    output logic         rx_ready_o,
    // a message begins: its length and type; a beat of it can go; T is to rest
    input  logic         start_i,
    input  logic [31:0]  length_i,
    input  logic         end_i,
    input  logic         off_i,
    input  logic         resume_i,
    // a message or group inside, of type sub_i
    input  logic         push_i,
    input  logic         push_group_i,
    input  logic [31:0]  push_limit_i,
    input  drover_deserializer_pkg::type_word_t sub_i,
    // bytes that L takes
    input  logic         bulk_i,
    input  logic [6:0]   bulk_count_i,
    input  logic [2:0]   back_i,     // deser_window
    input  logic         packed_i,   // the bytes at hand are a varint without a tag
    output deser_pkg::window_t window_o,
    output deser_pkg::varint_t varint_o,
    // a token is made in this cycle: the schema table is asked for its number
    output logic         fire_o,
    output logic [28:0]  number_o,
    output deser_pkg::token_t token_o,
    input  logic         tok_take_i,
    output deser_pkg::level_t level_o  // the innermost message
);
  localparam int unsigned Levels = 1 << StackLog2;

  deser_pkg::window_t window;
  logic consume;
  logic [6:0] consume_count;
  deser_window u_window (
      .clk_i, .rst_ni, .rx_i, .rx_valid_i, .rx_ready_o, .start_i, .length_i, .end_i, .consume_i(consume),
      .count_i(consume_count), .back_i, .window_o(window));
  assign window_o = window;

  // The field in front, of 16 bytes; those behind the message are zero.
  logic [127:0] front16;
  logic have16;  // they have come, or all that are left
  logic [4:0] left_small;
  deser_pkg::wire_field_t field;
  assign left_small = |window.left[31:4] ? 5'd16 : window.left[4:0];
  assign have16     = window.avail >= {3'd0, left_small};
  always_comb begin
    for (int i = 0; i < 16; i++) front16[8*i+:8] = i[4:0] < left_small ? window.bytes[8*i+:8] : 8'd0;
  end
  deser_token u_token (.bytes_i(front16), .packed_i, .field_o(field));
  assign varint_o.here     = have16;
  assign varint_o.value    = field.value;
  assign varint_o.size     = field.varint_size;
  assign varint_o.overlong = field.overlong;

  typedef enum logic [1:0] {FrontOff, FrontRun, FrontWait} front_e;
  front_e front_q;
  deser_pkg::token_t token_q, token_d;
  logic valid_q;
  deser_pkg::level_t level_q, parent;
  logic [StackLog2:0] depth_q;
  (* ram_style = "distributed" *) logic [$bits(level_q)-1:0] stack[Levels];
  assign parent = stack[StackLog2'(depth_q - 1'b1)];

  // The token that is made.
  deser_pkg::token_kind_e kind;
  logic [7:0] error;
  logic [31:0] room;
  logic fire, pop, waits, at_limit, is_past, ends_group, bad_field;
  logic begun;  // an empty message has a beat too
  assign begun      = window.pos != '0 || window.avail != '0;
  assign room       = level_q.limit - window.pos;
  assign at_limit   = room == '0;
  assign is_past    = room < 32'(field.size);
  assign ends_group = field.wire_type == WireEndGroup && level_q.group && field.number == level_q.group_number;
  assign bad_field  = field.number == '0 || field.wire_type > WireFixed32 ||
                      (field.wire_type == WireEndGroup && !ends_group);
  assign fire       = front_q == FrontRun && (!valid_q || tok_take_i) &&
                      (window.bad || (at_limit ? begun : have16));
  always_comb begin
    kind  = TokField;
    error = ErrOk;
    pop   = 1'b0;
    if (window.bad) begin
      kind  = TokError;
      error = ErrPacketLength;
    end else if (at_limit) begin
      if (level_q.group) begin
        kind  = TokError;
        error = ErrUnmatchedEndGroup;
      end else if (depth_q == '0) begin
        kind = TokEnd;
      end else begin
        kind = TokLeave;
        pop  = fire;
      end
    end else if (field.tag_overlong || field.tag_high) begin
      kind  = TokError;
      error = field.tag_overlong ? ErrOverlongVarint : ErrBadTag;
    end else if (bad_field) begin
      kind  = TokError;
      error = room < 32'(field.tag_size) ? ErrTruncated
              : (field.wire_type == WireEndGroup && field.number != '0) ? ErrUnmatchedEndGroup : ErrBadTag;
    end else if (field.wire_type == WireEndGroup) begin
      kind  = is_past ? TokError : TokLeave;
      error = ErrTruncated;
      pop   = fire && !is_past;
    end else if (field.wire_type == WireVarint && field.overlong) begin
      kind  = TokError;
      error = ErrOverlongVarint;
    end else if (field.wire_type != WireLength) begin  // varint, fixed, start of a group
      if (is_past && field.wire_type != WireStartGroup) kind = TokError;
      error = is_past ? ErrTruncated : ErrOk;
    end else begin
      // L reports it: a message at the depth limit fails for that first.
      if (field.length_overlong) error = ErrOverlongVarint;
      else if (is_past) error = ErrTruncated;
      else if (field.value[31]) error = ErrTooLarge;
      else if (field.value[31:0] > room - 32'(field.size)) error = ErrLengthPastEnd;
    end
  end
  assign waits = kind == TokEnd || kind == TokError ||
                 (kind == TokField && (field.wire_type == WireLength || field.wire_type == WireStartGroup));

  always_comb begin
    token_d           = '0;
    token_d.kind      = kind;
    token_d.number    = field.number;
    token_d.wire_type = field.wire_type;
    token_d.value     = field.value;
    token_d.error     = error;
    token_d.in_slots  = field.number < {17'd0, level_q.slot_count};
  end

  always_ff @(posedge clk_i) begin
    if (push_i) stack[depth_q[StackLog2-1:0]] <= level_q;
    if (push_i || start_i) begin
      level_q.limit        <= start_i ? length_i : push_limit_i;
      level_q.group        <= push_group_i && !start_i;
      level_q.group_number <= token_q.number;
      level_q.slots        <= sub_i.slots;
      level_q.slot_count   <= sub_i.slot_count;
      level_q.field_count  <= sub_i.field_count;
    end else if (pop) begin
      level_q <= parent;
    end
  end
  always_ff @(posedge clk_i) begin
    if (fire) token_q <= token_d;
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      front_q       <= FrontOff;
      valid_q <= 1'b0;
      depth_q       <= '0;
    end else begin
      if (off_i) front_q <= FrontOff;
      else if (start_i || resume_i) front_q <= FrontRun;
      else if (fire && waits) front_q <= FrontWait;
      if (off_i) valid_q <= 1'b0;
      else if (fire) valid_q <= 1'b1;
      else if (tok_take_i) valid_q <= 1'b0;
      if (start_i) depth_q <= '0;
      else if (push_i) depth_q <= depth_q + 1'b1;
      else if (pop) depth_q <= depth_q - 1'b1;
    end
  end

  // What leads out of the message is not consumed.
  assign consume       = bulk_i || (fire && kind != TokError);
  assign consume_count = bulk_i ? bulk_count_i : is_past ? 7'd0 : {2'd0, field.size};

  assign fire_o   = fire;
  assign number_o = field.number;
  always_comb begin
    token_o       = token_q;
    token_o.valid = valid_q;
  end
  assign level_o  = level_q;

  logic unused;
  assign unused = ^sub_i;

  `DROVER_ASSERT(StaysInTheOutermostMessage, !(pop && depth_q == '0))
  `DROVER_ASSERT(RestsWhileItIsGivenAMessage, !(push_i && fire))
  `DROVER_ASSERT(RestsWhileLConsumes, !(bulk_i && fire))
endmodule
