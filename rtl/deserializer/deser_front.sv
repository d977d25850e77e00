// T: sizes fields in the wire bytes without knowing the schema, one a cycle, and keeps the limits of messages.
//
//   window -> token -> tok_*: a field; the end of a message (which T leaves by itself); the end of all; an error
//
// T runs one token ahead of whoever takes them. Behind a token whose bytes it cannot size alone (a length, a group) it
// waits: L then consumes bytes itself (bulk_*), or gives T the message to enter (push_*), and lets it go on (resume_i).
// Errors that depend on the schema (a length that leads out, at the depth limit) travel with the field.
`include "drover_assert.svh"
module deser_front #(
    parameter int unsigned StackLog2 = 7
) (
    input  logic         clk_i,
    input  logic         rst_ni,
    input  logic [511:0] rx_tdata_i,
    input  logic         rx_tlast_i,
    input  logic         rx_bad_i,
    input  logic         rx_tvalid_i,
    output logic         rx_tready_o,
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
    input  logic [deser_pkg::SubW-1:0] sub_i,
    // bytes that L takes
    input  logic         bulk_i,
    input  logic [6:0]   bulk_count_i,
    input  logic [2:0]   back_i,     // deser_window
    input  logic         packed_i,   // the bytes at hand are a varint without a tag
    output logic [511:0] win_o,
    output logic [7:0]   avail_o,
    output logic [31:0]  pos_o,
    output logic [31:0]  left_o,
    output logic         bad_o,      // the packet is bad, and all of it that there is has come
    output logic         over_o,     // deser_window
    output logic         have16_o,   // a whole token, or all that is left
    output logic [63:0]  value_o,    // of the bytes at hand
    output logic [3:0]   varint_size_o,
    output logic         overlong_o,
    // a token is made in this cycle: the schema table is asked for its number
    output logic         fire_o,
    output logic [28:0]  number_o,
    output logic         tok_valid_o,
    input  logic         tok_take_i,
    output logic [1:0]   tok_kind_o,
    output logic [28:0]  tok_number_o,
    output logic [2:0]   tok_wire_type_o,
    output logic [63:0]  tok_value_o,
    output logic [7:0]   tok_error_o,
    output logic         tok_in_slots_o,
    // the innermost message
    output logic [31:0]  limit_o,
    output logic [deser_pkg::StepAddrW-1:0] slots_o,
    output logic [11:0]  slot_count_o,
    output logic [15:0]  field_count_o
);
  localparam int unsigned Levels = 1 << StackLog2;
  localparam logic [1:0] TokField = deser_pkg::TokField;
  localparam logic [1:0] TokLeave = deser_pkg::TokLeave;
  localparam logic [1:0] TokEnd = deser_pkg::TokEnd;
  localparam logic [1:0] TokError = deser_pkg::TokError;

  logic [511:0] win;
  logic [7:0] avail;
  logic [31:0] pos, left;
  logic consume, bad;
  logic [6:0] consume_count;
  deser_window u_window (
      .clk_i, .rst_ni, .rx_tdata_i, .rx_tlast_i, .rx_bad_i, .rx_tvalid_i, .rx_tready_o, .start_i, .length_i, .end_i,
      .consume_i(consume), .count_i(consume_count), .back_i, .win_o(win), .avail_o(avail), .pos_o(pos), .left_o(left),
      .bad_o(bad), .over_o);
  assign bad_o   = bad;
  assign win_o   = win;
  assign avail_o = avail;
  assign pos_o   = pos;
  assign left_o  = left;

  logic [127:0] front16;
  logic have16;
  logic [4:0] left_small;
  assign left_small = |left[31:4] ? 5'd16 : left[4:0];
  assign have16     = avail >= {3'd0, left_small};
  always_comb begin
    for (int i = 0; i < 16; i++) front16[8*i+:8] = i[4:0] < left_small ? win[8*i+:8] : 8'd0;
  end

  logic [28:0] d_number;
  logic [2:0] d_wtype;
  logic [4:0] d_size;
  logic [2:0] d_tag_size;
  logic d_tag_overlong, d_tag_high, d_tag_minimal, d_overlong, d_len_overlong, d_value_minimal;
  logic [63:0] d_value;
  logic [3:0] d_vsize;
  deser_token u_token (
      .bytes_i(front16), .packed_i(packed_i), .number_o(d_number), .wire_type_o(d_wtype),
      .tag_size_o(d_tag_size), .size_o(d_size),
      .tag_overlong_o(d_tag_overlong), .tag_high_o(d_tag_high), .tag_minimal_o(d_tag_minimal), .value_o(d_value),
      .varint_size_o(d_vsize), .overlong_o(d_overlong), .length_overlong_o(d_len_overlong),
      .value_minimal_o(d_value_minimal));

  assign have16_o      = have16;
  assign number_o      = d_number;
  assign value_o       = d_value;
  assign varint_size_o = d_vsize;
  assign overlong_o    = d_overlong;

  typedef enum logic [1:0] {FrontOff, FrontRun, FrontWait} front_e;
  front_e front_q;
  logic tok_valid_q, t_fire;
  logic [1:0] tok_q, t_kind;
  logic [28:0] tok_number_q;
  logic [2:0] tok_wtype_q;
  logic [63:0] tok_value_q;
  logic [7:0] tok_error_q, t_error;
  logic tok_in_slots_q;
  logic [31:0] t_limit_q, t_room;
  logic [deser_pkg::StepAddrW-1:0] t_slots_q;
  logic [11:0] t_slot_count_q;
  logic [15:0] t_field_count_q;
  logic t_group_q;
  logic [28:0] t_group_number_q;
  logic [StackLog2:0] t_depth_q;
  localparam int unsigned TFrameW = 32 + deser_pkg::StepAddrW + 12 + 16 + 1 + 29;
  (* ram_style = "distributed" *) logic [TFrameW-1:0] t_stack[Levels];
  logic [TFrameW-1:0] t_frame, t_parent;
  logic t_pop;
  assign t_frame  = {t_limit_q, t_slots_q, t_slot_count_q, t_field_count_q, t_group_q, t_group_number_q};
  assign t_parent = t_stack[StackLog2'(t_depth_q - 1'b1)];

  logic t_at_limit, t_past, t_wait, t_ends_group;
  logic begun;  // an empty message has a beat too
  assign begun = pos != '0 || avail != '0;
  assign t_room       = t_limit_q - pos;
  assign t_at_limit   = t_room == '0;
  assign t_past       = t_room < 32'(d_size);
  assign t_ends_group = d_wtype == 3'd4 && t_group_q && d_number == t_group_number_q;
  assign t_fire       = front_q == FrontRun && (!tok_valid_q || tok_take_i) && (bad || (t_at_limit ? begun : have16));
  always_comb begin
    t_kind  = TokField;
    t_error = deser_pkg::ErrOk;
    t_wait  = 1'b0;
    t_pop   = 1'b0;
    if (bad) begin
      t_kind  = TokError;
      t_error = deser_pkg::ErrPacketLength;
    end else if (t_at_limit) begin
      if (t_group_q) begin
        t_kind  = TokError;
        t_error = deser_pkg::ErrUnmatchedEndGroup;
      end else if (t_depth_q == '0) begin
        t_kind = TokEnd;
      end else begin
        t_kind = TokLeave;
        t_pop  = t_fire;
      end
    end else if (d_tag_overlong || d_tag_high) begin
      t_kind  = TokError;
      t_error = d_tag_overlong ? deser_pkg::ErrOverlongVarint : deser_pkg::ErrBadTag;
    end else if (d_number == '0 || d_wtype[2:1] == 2'b11 || (d_wtype == 3'd4 && !t_ends_group)) begin
      t_kind  = TokError;
      t_error = t_room < 32'(d_tag_size) ? deser_pkg::ErrTruncated
                : (d_wtype == 3'd4 && d_number != '0) ? deser_pkg::ErrUnmatchedEndGroup : deser_pkg::ErrBadTag;
    end else if (d_wtype == 3'd4) begin
      t_kind  = t_past ? TokError : TokLeave;
      t_error = deser_pkg::ErrTruncated;
      t_pop   = t_fire && !t_past;
    end else if (d_wtype == 3'd0 && d_overlong) begin
      t_kind  = TokError;
      t_error = deser_pkg::ErrOverlongVarint;
    end else if (d_wtype == 3'd0 || d_wtype[0]) begin  // varint, fixed, start of a group
      if (t_past && d_wtype != 3'd3) t_kind = TokError;
      t_error = t_past ? deser_pkg::ErrTruncated : deser_pkg::ErrOk;
    end else begin
      // L reports it: a message at the depth limit fails for that first.
      if (d_len_overlong) t_error = deser_pkg::ErrOverlongVarint;
      else if (t_past) t_error = deser_pkg::ErrTruncated;
      else if (d_value[31]) t_error = deser_pkg::ErrTooLarge;
      else if (d_value[31:0] > t_room - 32'(d_size)) t_error = deser_pkg::ErrLengthPastEnd;
    end
    t_wait = t_kind == TokEnd || t_kind == TokError ||
             (t_kind == TokField && (d_wtype == 3'd2 || d_wtype == 3'd3));
  end

  always_ff @(posedge clk_i) begin
    if (t_fire) begin
      tok_q          <= t_kind;
      tok_number_q   <= d_number;
      tok_wtype_q    <= d_wtype;
      tok_value_q    <= d_value;
      tok_error_q    <= t_error;
      tok_in_slots_q <= d_number < {17'd0, t_slot_count_q};
    end
    if (push_i) t_stack[t_depth_q[StackLog2-1:0]] <= t_frame;
    if (push_i || start_i) begin
      t_limit_q        <= start_i ? length_i : push_limit_i;
      t_group_q        <= push_group_i && !start_i;
      t_group_number_q <= tok_number_q;
      t_slots_q        <= sub_i[deser_pkg::SubSlotsAt+:17];
      t_slot_count_q   <= sub_i[deser_pkg::SubSlotCountAt+:12];
      t_field_count_q  <= sub_i[deser_pkg::SubFieldCountAt+:16];
    end else if (t_pop) begin
      {t_limit_q, t_slots_q, t_slot_count_q, t_field_count_q, t_group_q, t_group_number_q} <= t_parent;
    end
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      front_q     <= FrontOff;
      tok_valid_q <= 1'b0;
      t_depth_q   <= '0;
    end else begin
      if (off_i) front_q <= FrontOff;
      else if (start_i || resume_i) front_q <= FrontRun;
      else if (t_fire && t_wait) front_q <= FrontWait;
      if (off_i) tok_valid_q <= 1'b0;
      else if (t_fire) tok_valid_q <= 1'b1;
      else if (tok_take_i) tok_valid_q <= 1'b0;
      if (start_i) t_depth_q <= '0;
      else if (push_i) t_depth_q <= t_depth_q + 1'b1;
      else if (t_pop) t_depth_q <= t_depth_q - 1'b1;
    end
  end

  // What leads out of the message is not consumed.
  assign consume       = bulk_i || (t_fire && t_kind != TokError);
  assign consume_count = bulk_i ? bulk_count_i : t_past ? 7'd0 : {2'd0, d_size};

  assign fire_o          = t_fire;
  assign tok_valid_o     = tok_valid_q;
  assign tok_kind_o      = tok_q;
  assign tok_number_o    = tok_number_q;
  assign tok_wire_type_o = tok_wtype_q;
  assign tok_value_o     = tok_value_q;
  assign tok_error_o     = tok_error_q;
  assign tok_in_slots_o  = tok_in_slots_q;
  assign limit_o         = t_limit_q;
  assign slots_o         = t_slots_q;
  assign slot_count_o    = t_slot_count_q;
  assign field_count_o   = t_field_count_q;

  logic unused;
  assign unused = ^{d_tag_minimal, d_value_minimal, sub_i};

  `DROVER_ASSERT(StaysInTheOutermostMessage, !(t_pop && t_depth_q == '0))
  `DROVER_ASSERT(RestsWhileItIsGivenAMessage, !(push_i && t_fire))
  `DROVER_ASSERT(RestsWhileLConsumes, !(bulk_i && t_fire))
endmodule
