// The encoder: what a front end tells it (uop_t) it writes into the TX arena, from its end downwards and round, one uop
// a cycle; long bytes that lie elsewhere become pieces. A sub-message's length is the number of bytes since its close.
//
//   arena:   [ room   header | message | message before it ... ]      pieces:  { source, address, size, behind }
//                     start ->          stop                           a long part goes in front of position `behind`
//
// With UopEnd the message is handed to the gather unit, which gives its place back when it has gone out; where there is
// no room meanwhile, the encoder waits. A message that ends in an error is forgotten, and only its completion record
// says so.
//
// Three stages: sizes, positions and checks, bytes.
`include "drover_assert.svh"
/* verilator lint_off IMPORTSTAR */
import drover_serializer_pkg::*;
import ser_pkg::*;  // here, and types by their full names: yosys reads it so
/* verilator lint_on IMPORTSTAR */
module ser_encoder #(
  parameter int unsigned ArenaBytes = 65536,
  parameter int unsigned Pieces     = 1024,
  parameter int unsigned Depth      = 64
) (
  input  logic clk_i,
  input  logic rst_ni,

  input  ser_pkg::cmd_t                cmd_i,     // of the message at hand, until cmd_done_o
  input  logic [ser_pkg::LineBits-1:0] header_i,
  output logic                cmd_done_o,

  input  logic                uop_valid_i,
  input  ser_pkg::uop_t                uop_i,
  input  logic [ser_pkg::LineBits-1:0] uop_line_i,
  output logic                uop_ready_o,
  output logic                abort_o,

  output logic                           arena_write_o,
  output logic [$clog2(ArenaBytes)-1:0] arena_at_o,
  output logic [6:0]                     arena_size_o,
  output logic [5:0]                     arena_from_o,
  output logic [ser_pkg::LineBits-1:0]            arena_data_o,

  output logic                        piece_write_o,
  output logic [$clog2(Pieces)-1:0] piece_at_o,
  output ser_pkg::piece_t                      piece_o,

  output logic msg_valid_o,
  output ser_pkg::msg_t msg_o,
  input  logic msg_ready_i,

  input  logic        freed_i,         // a message has gone out
  input  logic [15:0] freed_bytes_i,   // of the arena
  input  logic [15:0] freed_pieces_i,

  output logic        done_valid_o,  // of messages that came to nothing
  output drover_serializer_pkg::completion_t done_o,
  input  logic        done_ready_i
);
  localparam int unsigned Pw = $clog2(ArenaBytes);
  localparam int unsigned Nw = $clog2(Pieces);
  localparam int unsigned Dw = $clog2(Depth) + 1;

  typedef enum logic {StRun, StLength} state_e;

  // ---- one uop may wait, so that no front end hears in the same cycle what the encoder does
  logic wait_valid_q;
  ser_pkg::uop_t wait_q, next;
  logic [ser_pkg::LineBits-1:0] wait_line_q;
  logic next_valid, next_ready;
  assign uop_ready_o = !wait_valid_q;
  assign next_valid = wait_valid_q || uop_valid_i;
  assign next = wait_valid_q ? wait_q : uop_i;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) wait_valid_q <= 1'b0;
    else if (next_ready) wait_valid_q <= 1'b0;
    else if (uop_valid_i) wait_valid_q <= 1'b1;
  end
  always_ff @(posedge clk_i) begin
    if (!wait_valid_q) begin
      wait_q <= uop_i;
      wait_line_q <= uop_line_i;
    end
  end

  // ---- first stage: how many bytes a uop takes, unless it is an open
  logic s_valid_q;
  ser_pkg::uop_t s_q;
  logic [ser_pkg::LineBits-1:0] s_line_q;
  logic [3:0] s_var_size_q;   // of the value as a varint
  logic [3:0] s_head_q;       // tag and value
  logic [16:0] s_arena_q;     // bytes of the arena
  logic s_huge_q;             // more than that can say
  logic [32:0] s_total_q;     // bytes of the message
  logic take;                 // the second stage takes it

  logic [3:0] in_var_size, in_value_size, in_head;
  always_comb begin
    in_var_size = ser_pkg::varint_size(next.value);
    unique case (next.form)
      FormNone:    in_value_size = 4'd0;
      FormFixed32: in_value_size = 4'd4;
      FormFixed64: in_value_size = 4'd8;
      default:     in_value_size = in_var_size;
    endcase
    in_head = in_value_size + 4'(next.tag_size);
  end
  assign next_ready = !s_valid_q || take;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) s_valid_q <= 1'b0;
    else if (next_ready) s_valid_q <= next_valid;
  end
  always_ff @(posedge clk_i) begin
    if (next_ready) begin
      s_q <= next;
      s_line_q <= wait_valid_q ? wait_line_q : uop_line_i;
      s_var_size_q <= in_var_size;
      s_head_q <= in_head;
      s_arena_q <= 17'(in_head) + (next.body == BodyArena ? {1'b0, next.size[15:0]} : 17'd0);
      s_huge_q <= next.body == BodyArena && next.size[31:16] != '0;
      s_total_q <= 33'(in_head) + (next.body != BodyNone ? {1'b0, next.size} : 33'd0);
    end
  end

  // ---- second stage: where it goes, and whether it may
  state_e state_q, state_d;
  logic [Pw-1:0] pos_q;    // the first byte written
  logic [Pw-1:0] stop_q;   // the first behind the message
  logic [Pw-1:0] own_q;    // bytes between them
  logic [Pw:0] used_q;     // bytes of messages that have not gone out
  logic [Pw-1:0] body_q;   // where the body's next byte goes
  logic [31:0] wire_q;     // bytes of the message so far, with those that lie elsewhere
  logic [31:0] length_q;   // those since the last close that is open
  logic [31:0] outer_q;    // those before it since the close around it
  logic [Nw-1:0] piece_q;      // the next piece's number
  logic [Nw:0] pieces_q;       // of this message
  logic [Nw:0] used_pieces_q;  // of messages that have not gone out
  logic [Dw-1:0] depth_q;
  drover_serializer_pkg::error_e error_q;  // other than ErrNone: the rest of the message is not looked at

  (* ram_style = "distributed" *) logic [31:0] stack[Depth];  // what outer_q was

  logic opens, closes, emits, elsewhere, ends;
  assign opens = s_q.kind == UopOpen;
  assign closes = s_q.kind == UopClose;
  assign ends = s_q.kind == UopEnd;
  assign emits = s_q.kind == UopEmit || opens;
  assign elsewhere = emits && s_q.body != BodyNone && s_q.body != BodyArena;

  logic [3:0] length_size, size;
  logic [16:0] arena_need;
  logic [32:0] total;
  logic [17:0] arena_sum;   // with what the message has, and room for a header
  logic [33:0] wire_sum;
  logic [Nw-1:0] last_piece;
  logic [Nw+1:0] pieces_sum;
  logic wait_for_room;
  drover_serializer_pkg::error_e error;
  logic [Pw-1:0] pos_next;
  assign length_size = ser_pkg::varint_size({32'd0, length_q});
  assign size = opens ? length_size + 4'(s_q.tag_size) : s_head_q;
  assign arena_need = opens ? 17'(size) : s_arena_q;
  assign total = opens ? 33'(size) : s_total_q;
  assign wire_sum = 34'(wire_q) + 34'(total);
  assign pos_next = pos_q - arena_need[Pw-1:0];
  assign arena_sum = 18'(arena_need) + 18'(own_q) + 18'(ser_pkg::LineBytes + 1);
  assign last_piece = piece_q - Nw'(1);
  assign pieces_sum = (Nw + 2)'(pieces_q) + (Nw + 2)'(used_pieces_q);
  assign wait_for_room = (emits || ends) && error == ErrNone &&
                         (19'(arena_sum) + 19'(used_q) > 19'(ArenaBytes) ||
                          elsewhere && pieces_sum >= (Nw + 2)'(Pieces));

  always_comb begin
    error = ErrNone;
    unique case (s_q.kind)
      UopEmit, UopOpen: begin
        if (wire_sum[33:31] != '0) error = ErrTooLarge;
        else if (opens && depth_q == '0) error = ErrBadNesting;
        else if (s_huge_q || arena_sum > 18'(ArenaBytes)) error = ErrLeftArena;
        else if (elsewhere && pieces_q == (Nw + 1)'(Pieces)) error = ErrLeftPieces;
      end
      UopClose: if (depth_q == Dw'(Depth)) error = ErrLeftDepth;
      UopEnd:   if (depth_q != '0) error = ErrBadNesting;
      UopError: error = drover_serializer_pkg::error_e'(s_q.error);
      default: ;
    endcase
    if (error_q != ErrNone) error = error_q;
  end

  // A front end that has gone on to the next message is not meant.
  assign abort_o = error_q != ErrNone && !(uop_valid_i && uop_i.kind == UopEnd) &&
                   !(wait_valid_q && wait_q.kind == UopEnd) && !(s_valid_q && ends);

  logic hand;              // the message is whole
  logic [Pw-1:0] start;    // and begins here
  logic write_d, whole_line_d;
  logic [Pw-1:0] at_d;
  logic [6:0] size_d;
  logic [5:0] from_d;
  logic [ser_pkg::LineBits-1:0] line_d;
  logic [31:0] length_swapped;
  assign length_swapped = {wire_q[7:0], wire_q[15:8], wire_q[23:16], wire_q[31:24]};

  always_comb begin
    write_d = 1'b0;
    at_d = pos_next;
    size_d = {3'd0, size};
    from_d = '0;
    line_d = s_line_q;
    whole_line_d = 1'b0;
    take = 1'b0;
    state_d = state_q;
    hand = 1'b0;
    start = pos_q;
    unique case (state_q)
      StRun: if (s_valid_q && !(ends && (msg_valid_o || done_valid_o)) && !wait_for_room) begin
        take = 1'b1;
        if (ends && error == ErrNone) begin
          line_d = header_i;
          whole_line_d = 1'b1;
          size_d = cmd_i.header_size;
          at_d = pos_q - Pw'(cmd_i.header_size);
          write_d = cmd_i.header_size != '0;
          start = at_d;
          hand = cmd_i.length_format == LengthNone;
          if (!hand) state_d = StLength;
        end else if (s_q.kind == UopBody) begin
          whole_line_d = 1'b1;
          size_d = s_q.size[6:0];
          from_d = s_q.address[5:0];
          at_d = body_q;
          write_d = error == ErrNone;
        end else begin
          write_d = emits && size != '0 && error == ErrNone;
        end
      end
      StLength: begin  // over the header's bytes
        line_d = {480'd0, cmd_i.length_format == LengthBigEndian ? length_swapped : wire_q};
        whole_line_d = 1'b1;
        size_d = 7'd4;
        at_d = pos_q + Pw'(cmd_i.length_at);
        write_d = 1'b1;
        hand = 1'b1;
        state_d = StRun;
      end
      default: state_d = StRun;
    endcase
  end

  // ---- third stage: the bytes
  logic c_write_q, c_whole_line_q;
  logic [Pw-1:0] c_at_q;
  logic [6:0] c_size_q;
  logic [5:0] c_from_q;
  logic [ser_pkg::LineBits-1:0] c_line_q;
  logic [63:0] c_value_q;
  logic [3:0] c_var_size_q;
  logic c_varint_q;
  logic [2:0] c_tag_size_q;
  logic [39:0] c_tag_q;
  logic [79:0] c_var_bytes;
  logic [119:0] c_plain, c_bytes;
  always_comb begin
    c_var_bytes = ser_pkg::varint_bytes(c_value_q, c_var_size_q);
    c_plain = {40'd0, c_varint_q ? c_var_bytes : {16'd0, c_value_q}};
    unique case (c_tag_size_q)
      3'd0:    c_bytes = c_plain;
      3'd1:    c_bytes = {c_plain[111:0], c_tag_q[7:0]};
      3'd2:    c_bytes = {c_plain[103:0], c_tag_q[15:0]};
      3'd3:    c_bytes = {c_plain[95:0], c_tag_q[23:0]};
      3'd4:    c_bytes = {c_plain[87:0], c_tag_q[31:0]};
      default: c_bytes = {c_plain[79:0], c_tag_q[39:0]};
    endcase
  end
  always_ff @(posedge clk_i) begin
    c_at_q <= at_d;
    c_size_q <= size_d;
    c_from_q <= from_d;
    c_line_q <= line_d;
    c_whole_line_q <= whole_line_d;
    c_value_q <= opens ? {32'd0, length_q} : s_q.value;
    c_var_size_q <= opens ? length_size : s_var_size_q;
    c_varint_q <= s_q.form == FormVarint;
    c_tag_size_q <= s_q.tag_size;
    c_tag_q <= s_q.tag;
    arena_at_o <= c_at_q;
    arena_size_o <= c_size_q;
    arena_from_o <= c_from_q;
    arena_data_o <= c_whole_line_q ? c_line_q : {392'd0, c_bytes};
  end

  assign cmd_done_o = take && ends && error != ErrNone || hand;
  assign piece_write_o = take && elsewhere && error == ErrNone;
  assign piece_at_o = piece_q;
  always_comb begin
    piece_o.source = s_q.body;
    piece_o.address = s_q.address;
    piece_o.size = s_q.size;
    piece_o.behind = 16'(pos_q);
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= StRun;
      pos_q <= '0;
      stop_q <= '0;
      own_q <= '0;
      used_q <= '0;
      wire_q <= '0;
      piece_q <= '0;
      pieces_q <= '0;
      used_pieces_q <= '0;
      depth_q <= '0;
      error_q <= ErrNone;
      msg_valid_o <= 1'b0;
      done_valid_o <= 1'b0;
      length_q <= '0;
      c_write_q <= 1'b0;
      arena_write_o <= 1'b0;
    end else begin
      state_q <= state_d;
      c_write_q <= write_d;
      arena_write_o <= c_write_q;
      if (msg_ready_i) msg_valid_o <= 1'b0;
      if (done_ready_i) done_valid_o <= 1'b0;
      if (take) begin
        error_q <= error;
        if (error == ErrNone) begin
          if (emits) begin
            pos_q <= pos_next;
            own_q <= own_q + arena_need[Pw-1:0];
            wire_q <= wire_sum[31:0];
            length_q <= length_q + total[31:0] + (opens ? outer_q : 32'd0);
            if (elsewhere) begin
              piece_q <= piece_q + Nw'(1);
              pieces_q <= pieces_q + (Nw + 1)'(1);
            end
          end
          if (opens) depth_q <= depth_q - Dw'(1);
          if (closes) begin
            depth_q <= depth_q + Dw'(1);
            length_q <= '0;
          end
          if (ends) begin
            pos_q <= at_d;
            own_q <= own_q + Pw'(cmd_i.header_size);
          end
        end
        if (ends && error != ErrNone) begin
          done_valid_o <= 1'b1;
          msg_valid_o <= cmd_i.early_lines != '0;
          error_q <= ErrNone;
          pos_q <= stop_q;
          own_q <= '0;
          wire_q <= '0;
          length_q <= '0;
          piece_q <= piece_q - pieces_q[Nw-1:0];
          pieces_q <= '0;
          depth_q <= '0;
        end
      end
      if (hand) begin
        msg_valid_o <= 1'b1;
        stop_q <= start;
        own_q <= '0;
        wire_q <= '0;
        length_q <= '0;
        pieces_q <= '0;
      end
      used_q <= used_q - (freed_i ? (Pw + 1)'(freed_bytes_i) : '0) +
                (hand ? (Pw + 1)'(own_q) + (take ? (Pw + 1)'(cmd_i.header_size) : '0) : '0);
      used_pieces_q <= used_pieces_q + (hand ? pieces_q : '0) -
                       (freed_i ? (Nw + 1)'(freed_pieces_i) : '0);
    end
  end

  always_ff @(posedge clk_i) begin
    if (take && error == ErrNone && closes) begin
      stack[$clog2(Depth)'(depth_q)] <= outer_q;
      outer_q <= length_q;
    end
    if (take && error == ErrNone && opens) outer_q <= stack[$clog2(Depth)'(depth_q - Dw'(1))];
    // A body lies behind its tag and length, and is written upwards.
    if (take && emits) body_q <= pos_next + Pw'(size);
    else if (take && s_q.kind == UopBody) body_q <= body_q + Pw'(s_q.size[6:0]);
    if (take && ends) begin
      done_o.cookie <= cmd_i.cookie;
      done_o.error <= error;
      done_o.size <= '0;
    end
    if (cmd_done_o) begin
      msg_o.failed <= !hand;
      msg_o.early_first <= cmd_i.payload[16:6];
      msg_o.early_lines <= cmd_i.early_lines;
      msg_o.cookie <= cmd_i.cookie;
      msg_o.start <= 16'(start);
      msg_o.stop <= 16'(stop_q);
      msg_o.piece <= 16'(last_piece);
      msg_o.pieces <= 16'(pieces_q);
      msg_o.size <= wire_q + 32'(cmd_i.header_size);
    end
  end

  logic unused;
  assign unused = ^{cmd_i, freed_pieces_i};

  // Nobody's bytes are written over, and a body stays inside what was made free for it.
  `DROVER_ASSERT(ArenaHasRoom, 18'(own_q) + 18'(used_q) <= 18'(ArenaBytes))
  `DROVER_ASSERT(BodyStaysInItsPlace, !(take && s_q.kind == UopBody && error == ErrNone) ||
                 18'(Pw'(body_q - pos_q)) + 18'(s_q.size) <= 18'(own_q))
  `DROVER_ASSERT(FreesOnlyWhatIsUsed, !freed_i || 18'(freed_bytes_i) <= 18'(used_q))
  `DROVER_ASSERT(BodyFitsALine, !(take && s_q.kind == UopBody) || (s_q.size != '0 && s_q.size <= 32'd64))
  `DROVER_ASSERT_HOLD(MessageHolds, msg_valid_o, msg_ready_i, msg_o)
  `DROVER_ASSERT_HOLD(CompletionHolds, done_valid_o, done_ready_i, done_o)
endmodule
