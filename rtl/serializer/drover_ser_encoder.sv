// The encoder: what a front end tells it (uop_t) it writes into the TX arena, from its end downwards and round, one uop a
// cycle; long bytes that lie elsewhere become pieces. A sub-message's length is the number of bytes since its close.
//
//   arena:   [ room   header | message | message before it ... ]      pieces:  { source, address, size, behind }
//                     start ->          stop                           a long part goes in front of position `behind`
//
// With UopEnd the message is handed to the gather unit, which gives its place back when it has gone out; where there is
// no room meanwhile, the encoder waits. A message that ends in an error is forgotten, and only its completion record
// says so.
/* verilator lint_off IMPORTSTAR */
import drover_ser_pkg::*;  // here, and types by their full names: yosys reads it so
/* verilator lint_on IMPORTSTAR */
module drover_ser_encoder #(
  parameter int unsigned ArenaBytes = 65536,
  parameter int unsigned Pieces     = 1024,
  parameter int unsigned Depth      = 64
) (
  input  logic clk_i,
  input  logic rst_ni,

  input  drover_ser_pkg::cmd_t                cmd_i,     // of the message at hand, until cmd_done_o
  input  logic [drover_ser_pkg::LineBits-1:0] header_i,
  output logic                cmd_done_o,

  input  logic                uop_valid_i,
  input  drover_ser_pkg::uop_t                uop_i,
  input  logic [drover_ser_pkg::LineBits-1:0] uop_line_i,
  output logic                uop_ready_o,
  output logic                abort_o,

  output logic                           arena_write_o,
  output logic [$clog2(ArenaBytes)-1:0] arena_at_o,
  output logic [6:0]                     arena_size_o,
  output logic [5:0]                     arena_from_o,
  output logic [drover_ser_pkg::LineBits-1:0]            arena_data_o,

  output logic                        piece_write_o,
  output logic [$clog2(Pieces)-1:0] piece_at_o,
  output drover_ser_pkg::piece_t                      piece_o,

  output logic msg_valid_o,
  output drover_ser_pkg::msg_t msg_o,
  input  logic msg_ready_i,

  input  logic        freed_i,         // a message has gone out
  input  logic [15:0] freed_bytes_i,   // of the arena
  input  logic [15:0] freed_pieces_i,

  output logic        done_valid_o,  // of messages that came to nothing
  output drover_ser_pkg::completion_t done_o,
  input  logic        done_ready_i
);
  localparam int unsigned Pw = $clog2(ArenaBytes);
  localparam int unsigned Nw = $clog2(Pieces);
  localparam int unsigned Dw = $clog2(Depth) + 1;

  typedef enum logic [1:0] {StRun, StLength, StHand} state_e;

  state_e state_q, state_d;
  logic [Pw-1:0] pos_q;    // the first byte written
  logic [Pw-1:0] stop_q;   // the first behind the message
  logic [Pw-1:0] own_q;    // bytes between them
  logic [Pw:0] used_q;     // bytes of messages that have not gone out
  logic [Pw-1:0] body_q;   // where the body's next byte goes
  logic [31:0] wire_q;     // bytes of the message so far, with those that lie elsewhere
  logic [Nw-1:0] piece_q;      // the next piece's number
  logic [Nw:0] pieces_q;       // of this message
  logic [Nw:0] used_pieces_q;  // of messages that have not gone out
  logic [Dw-1:0] depth_q;
  drover_ser_pkg::error_e error_q;         // other than ErrNone: the rest of the message is not looked at

  (* ram_style = "distributed" *) logic [31:0] stack[Depth];
  logic [31:0] top;
  assign top = stack[$clog2(Depth)'(depth_q - Dw'(1))];

  // ---- sizes
  logic [63:0] value;
  logic [3:0] var_size, value_size;
  logic [79:0] var_bytes;
  logic [3:0] size;  // tag and value
  logic [119:0] bytes;
  always_comb begin
    value = uop_i.kind == UopOpen ? {32'd0, wire_q - top} : uop_i.value;
    var_size = drover_ser_pkg::varint_size(value);
    var_bytes = drover_ser_pkg::varint_bytes(value, var_size);
    unique case (uop_i.form)
      FormNone:    value_size = 4'd0;
      FormFixed32: value_size = 4'd4;
      FormFixed64: value_size = 4'd8;
      default:     value_size = var_size;
    endcase
    size = value_size + 4'(uop_i.tag_size);
    bytes = {40'd0, uop_i.form == FormVarint ? var_bytes : {16'd0, value}};
    unique case (uop_i.tag_size)
      3'd0:    bytes = bytes;
      3'd1:    bytes = {bytes[111:0], uop_i.tag[7:0]};
      3'd2:    bytes = {bytes[103:0], uop_i.tag[15:0]};
      3'd3:    bytes = {bytes[95:0], uop_i.tag[23:0]};
      3'd4:    bytes = {bytes[87:0], uop_i.tag[31:0]};
      default: bytes = {bytes[79:0], uop_i.tag[39:0]};
    endcase
  end

  // ---- the step
  logic take;
  logic [32:0] arena_need;  // bytes of the arena
  logic [33:0] arena_sum;   // with what the message has, and room for a header
  logic [Nw-1:0] last_piece;
  logic [Nw+1:0] pieces_sum;
  logic wait_for_room;
  logic [33:0] wire_sum;
  drover_ser_pkg::error_e error;
  logic emits, elsewhere;
  logic [Pw-1:0] pos_next;

  assign emits = uop_i.kind == UopEmit || uop_i.kind == UopOpen;
  assign elsewhere = emits && (uop_i.body == BodyHost || uop_i.body == BodyEngine);
  assign arena_need = 33'(size) + (uop_i.body == BodyArena ? 33'(uop_i.size) : 33'd0);
  assign wire_sum = 34'(wire_q) + 34'(size) + (uop_i.body != BodyNone ? 34'(uop_i.size) : 34'd0);
  assign pos_next = pos_q - arena_need[Pw-1:0];
  assign arena_sum = 34'(arena_need) + 34'(own_q) + 34'(drover_ser_pkg::LineBytes) + 34'd1;
  assign last_piece = piece_q - Nw'(1);
  assign pieces_sum = (Nw + 2)'(pieces_q) + (Nw + 2)'(used_pieces_q);
  assign wait_for_room = (emits || uop_i.kind == UopEnd) && error == ErrNone &&
                         (arena_sum + 34'(used_q) > 34'(ArenaBytes) ||
                          elsewhere && pieces_sum >= (Nw + 2)'(Pieces));

  always_comb begin
    error = ErrNone;
    unique case (uop_i.kind)
      UopEmit, UopOpen: begin
        if (wire_sum > 34'h7fffffff) error = ErrTooLarge;
        else if (uop_i.kind == UopOpen && depth_q == '0) error = ErrBadNesting;
        else if (arena_sum > 34'(ArenaBytes)) error = ErrLeftArena;
        else if (elsewhere && pieces_q == (Nw + 1)'(Pieces)) error = ErrLeftPieces;
      end
      UopClose: if (depth_q == Dw'(Depth)) error = ErrLeftDepth;
      UopEnd:   if (depth_q != '0) error = ErrBadNesting;
      UopError: error = uop_i.error;
      default: ;
    endcase
    if (error_q != ErrNone) error = error_q;
  end

  assign abort_o = error_q != ErrNone && !(uop_valid_i && uop_i.kind == UopEnd);

  // ---- what the registers in front of the arena get
  logic write_d;
  logic [Pw-1:0] at_d;
  logic [6:0] size_d;
  logic [5:0] from_d;
  logic [drover_ser_pkg::LineBits-1:0] data_d;
  logic [31:0] total, length_swapped;
  assign total = wire_q;
  assign length_swapped = {total[7:0], total[15:8], total[23:16], total[31:24]};

  always_comb begin
    write_d = 1'b0;
    at_d = pos_next;
    size_d = {3'd0, size};
    from_d = '0;
    data_d = {392'd0, bytes};
    take = 1'b0;
    state_d = state_q;
    unique case (state_q)
      StRun: if (uop_valid_i && !msg_valid_o && !done_valid_o && !wait_for_room) begin
        take = 1'b1;
        if (uop_i.kind == UopEnd && error == ErrNone) begin
          data_d = header_i;
          size_d = cmd_i.header_size;
          at_d = pos_q - Pw'(cmd_i.header_size);
          write_d = cmd_i.header_size != '0;
          state_d = cmd_i.length_format != 2'd0 ? StLength : StHand;
        end else if (uop_i.kind == UopBody) begin
          data_d = uop_line_i;
          size_d = uop_i.size[6:0];
          from_d = uop_i.address[5:0];
          at_d = body_q;
          write_d = error == ErrNone;
        end else begin
          write_d = emits && size != '0 && error == ErrNone;
        end
      end
      StLength: begin  // over the header's bytes
        data_d = {480'd0, cmd_i.length_format == 2'd1 ? length_swapped : total};
        size_d = 7'd4;
        at_d = pos_q + Pw'(cmd_i.length_at);
        write_d = 1'b1;
        state_d = StHand;
      end
      StHand: state_d = StRun;
      default: state_d = StRun;
    endcase
  end

  assign uop_ready_o = take;
  assign cmd_done_o = take && uop_i.kind == UopEnd && error != ErrNone || state_q == StHand;
  assign piece_write_o = take && elsewhere && error == ErrNone;
  assign piece_at_o = piece_q;
  always_comb begin
    piece_o.source = uop_i.body;
    piece_o.address = uop_i.address;
    piece_o.size = uop_i.size;
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
      arena_write_o <= 1'b0;
    end else begin
      state_q <= state_d;
      arena_write_o <= write_d;
      if (msg_ready_i) msg_valid_o <= 1'b0;
      if (done_ready_i) done_valid_o <= 1'b0;
      if (take) begin
        error_q <= error;
        if (error == ErrNone) begin
          if (emits) begin
            pos_q <= pos_next;
            own_q <= own_q + arena_need[Pw-1:0];
            wire_q <= wire_sum[31:0];
            if (elsewhere) begin
              piece_q <= piece_q + Nw'(1);
              pieces_q <= pieces_q + (Nw + 1)'(1);
            end
          end
          if (uop_i.kind == UopOpen) depth_q <= depth_q - Dw'(1);
          if (uop_i.kind == UopClose) depth_q <= depth_q + Dw'(1);
          if (uop_i.kind == UopEnd) begin
            pos_q <= at_d;
            own_q <= own_q + Pw'(cmd_i.header_size);
          end
        end
        if (uop_i.kind == UopEnd && error != ErrNone) begin
          done_valid_o <= 1'b1;
          error_q <= ErrNone;
          pos_q <= stop_q;
          own_q <= '0;
          wire_q <= '0;
          piece_q <= piece_q - pieces_q[Nw-1:0];
          pieces_q <= '0;
          depth_q <= '0;
        end
      end
      if (state_q == StHand) begin
        msg_valid_o <= 1'b1;
        stop_q <= pos_q;
        own_q <= '0;
        wire_q <= '0;
        pieces_q <= '0;
      end
      used_q <= used_q + (state_q == StHand ? (Pw + 1)'(own_q) : '0) - (freed_i ? (Pw + 1)'(freed_bytes_i) : '0);
      used_pieces_q <= used_pieces_q + (state_q == StHand ? pieces_q : '0) -
                       (freed_i ? (Nw + 1)'(freed_pieces_i) : '0);
    end
  end

  always_ff @(posedge clk_i) begin
    arena_at_o <= at_d;
    arena_size_o <= size_d;
    arena_from_o <= from_d;
    arena_data_o <= data_d;
    if (take && uop_i.kind == UopClose && error == ErrNone) stack[$clog2(Depth)'(depth_q)] <= wire_q;
    // A body lies behind its tag and length, and is written upwards.
    if (take && emits) body_q <= pos_next + Pw'(size);
    else if (take && uop_i.kind == UopBody) body_q <= body_q + Pw'(uop_i.size[6:0]);
    if (take && uop_i.kind == UopEnd) begin
      done_o.cookie <= cmd_i.cookie;
      done_o.error <= error;
      done_o.size <= '0;
    end
    if (state_q == StHand) begin
      msg_o.cookie <= cmd_i.cookie;
      msg_o.start <= 16'(pos_q);
      msg_o.stop <= 16'(stop_q);
      msg_o.piece <= 16'(last_piece);
      msg_o.pieces <= 16'(pieces_q);
      msg_o.size <= wire_q + 32'(cmd_i.header_size);
    end
  end

  logic unused;
  assign unused = ^{cmd_i, freed_pieces_i};

`ifndef SYNTHESIS
  // Nobody's bytes are written over, and a body stays inside what was made free for it.
  assert property (@(posedge clk_i) 18'(own_q) + 18'(used_q) <= 18'(ArenaBytes)) else $error("the arena is too full");
  assert property (@(posedge clk_i) take && uop_i.kind == UopBody && error == ErrNone |->
    18'(Pw'(body_q - pos_q)) + 18'(uop_i.size) <= 18'(own_q)) else $error("a body leaves its place");
  assert property (@(posedge clk_i) freed_i |-> 18'(freed_bytes_i) <= 18'(used_q)) else $error("freed twice");
  assert property (@(posedge clk_i) take && uop_i.kind == UopBody |->
    uop_i.size != '0 && uop_i.size <= 32'd64) else $error("a body's size");
  assert property (@(posedge clk_i) msg_valid_o && !msg_ready_i |=> msg_valid_o && $stable(msg_o));
  assert property (@(posedge clk_i) done_valid_o && !done_ready_i |=> done_valid_o && $stable(done_o));
`endif
endmodule
