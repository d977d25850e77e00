// Types that the serializer's modules share: what a front end tells the encoder (uop_t), a command as it was checked
// (cmd_t), and a message that may go out (msg_t, piece_t). The records of the stream, the errors and the completions
// are those of the generated packages; where a struct here has one of their enums, it has its bits: yosys knows no type
// of one package in another.
package ser_pkg;

  localparam int unsigned LineBytes = 64;
  localparam int unsigned LineBits = 512;

  // A line of host or engine memory.
  typedef struct packed {
    logic                failed;  // it could not be read
    logic [LineBits-1:0] data;
  } line_t;

  // ---- front end to encoder: wire bytes from the last to the first
  typedef enum logic [2:0] {
    UopEmit  = 3'd0,  // a tag, a value, both or neither, in front of what is there; behind them `size` bytes of a body
    UopBody  = 3'd1,  // the next bytes of that body, from a line
    UopOpen  = 3'd2,  // as UopEmit; the value is the length since the close
    UopClose = 3'd3,
    UopEnd   = 3'd4,  // the message is whole
    UopError = 3'd5   // the message is no message; UopEnd follows
  } uop_kind_e;

  typedef enum logic [1:0] {
    FormNone    = 2'd0,
    FormVarint  = 2'd1,
    FormFixed32 = 2'd2,
    FormFixed64 = 2'd3
  } form_e;

  typedef enum logic [2:0] {
    BodyNone   = 3'd0,
    BodyArena  = 3'd1,  // UopBody follow
    BodyHost   = 3'd2,  // lies at `address` of host memory
    BodyEngine = 3'd3,  // lies at `address` of engine memory
    BodyEarly  = 3'd4   // lies at `address` of the payload that was asked for with the command
  } body_e;

  typedef struct packed {
    uop_kind_e   kind;
    logic [3:0]  error;     // of UopError: drover_serializer_pkg::error_e
    form_e       form;
    logic [2:0]  tag_size;  // bytes; 0: no tag
    logic [39:0] tag;       // wire bytes, the first in the low byte
    logic [63:0] value;
    body_e       body;
    logic [31:0] size;      // of the body; UopBody: bytes of the line
    logic [63:0] address;   // UopBody: the low six bits say where in the line
  } uop_t;

  // ---- a command: one message
  typedef struct packed {
    logic [3:0]   error;          // found before anything was read: drover_serializer_pkg::error_e
    logic         walk;           // NIC-only: `records` is a Drover object's address, `message` its type
    logic         pushed;         // `records` lie in engine memory
    logic [15:0]  cookie;
    logic [15:0]  message;
    logic [63:0]  records;        // bus address, 64-byte aligned (an object: 8-byte aligned)
    logic [31:0]  record_bytes;
    logic [63:0]  payload;        // host address of its first byte
    logic [31:0]  payload_bytes;
    logic [10:0]  early_lines;    // of the payload, if it was asked for with the command
    logic [6:0]   header_size;    // bytes in front of the message, 0 to 64
    logic [1:0]   length_format;  // of the message's length in the header: drover_serializer_pkg::length_format_e
    logic [5:0]   length_at;      // where
  } cmd_t;

  // What the encoder has to know of it: the header too.
  typedef struct packed {
    cmd_t                cmd;
    logic [LineBits-1:0] header;
  } encode_cmd_t;

  // Payload that is asked for with the command.
  typedef struct packed {
    logic [63:0] address;
    logic [16:0] bytes;
  } early_request_t;

  // ---- a message that the gather unit may send
  typedef struct packed {
    logic [15:0] cookie;
    logic [15:0] start;   // first byte in the arena
    logic [15:0] stop;    // first byte behind
    logic [15:0] piece;   // the last piece's number
    logic [15:0] pieces;
    logic [31:0] size;    // bytes with the header
    logic        failed;  // came to nothing, is here for its payload's sake
    logic [10:0] early_first;  // number of the first line of payload that was asked for with the command (its low bits)
    logic [10:0] early_lines;  // how many
  } msg_t;

  // A long part of a message.
  typedef struct packed {
    body_e       source;
    logic [63:0] address;
    logic [31:0] size;
    logic [15:0] behind;  // position in the arena that follows it
  } piece_t;

  // ---- varints
  function automatic logic [3:0] varint_size(logic [63:0] value);
    varint_size = 4'd1;
    for (int i = 1; i < 9; i++) begin
      if (value[7*i+:7] != 7'd0) varint_size = 4'(i + 1);
    end
    if (value[63]) varint_size = 4'd10;
  endfunction

  // Ten bytes, of which varint_size count.
  function automatic logic [79:0] varint_bytes(logic [63:0] value, logic [3:0] size);
    logic [69:0] wide;
    wide = {6'd0, value};
    for (int i = 0; i < 10; i++) begin
      varint_bytes[8*i+:8] = {4'(i + 1) < size, wide[7*i+:7]};
    end
  endfunction

  // Bytes move up by `count`, and round.
  function automatic logic [LineBits-1:0] rotate_up(logic [LineBits-1:0] line, logic [5:0] count);
    logic [LineBits-1:0] x;
    x = line;
    if (count[0]) x = {x[LineBits-1-8:0], x[LineBits-1-:8]};
    if (count[1]) x = {x[LineBits-1-16:0], x[LineBits-1-:16]};
    if (count[2]) x = {x[LineBits-1-32:0], x[LineBits-1-:32]};
    if (count[3]) x = {x[LineBits-1-64:0], x[LineBits-1-:64]};
    if (count[4]) x = {x[LineBits-1-128:0], x[LineBits-1-:128]};
    if (count[5]) x = {x[LineBits-1-256:0], x[LineBits-1-:256]};
    rotate_up = x;
  endfunction

  // The wire value of a scalar of 32 or 64 bits.
  function automatic logic [63:0] wire_value(logic [6:0] op, logic [63:0] value);
    unique case (op)
      drover_preserialized_pkg::RecordInt32, drover_preserialized_pkg::RecordClosedEnum:
        wire_value = {{32{value[31]}}, value[31:0]};
      drover_preserialized_pkg::RecordBool:
        wire_value = {63'd0, value[31:0] != 32'd0};
      drover_preserialized_pkg::RecordSint32:
        wire_value = {32'd0, {value[30:0], 1'b0} ^ {32{value[31]}}};
      drover_preserialized_pkg::RecordSint64:
        wire_value = {value[62:0], 1'b0} ^ {64{value[63]}};
      drover_preserialized_pkg::RecordUint32, drover_preserialized_pkg::RecordFixed32:
        wire_value = {32'd0, value[31:0]};
      default:
        wire_value = value;
    endcase
  endfunction

  function automatic form_e form_of(logic [6:0] op);
    unique case (op)
      drover_preserialized_pkg::RecordFixed32: form_of = FormFixed32;
      drover_preserialized_pkg::RecordFixed64: form_of = FormFixed64;
      default:                                 form_of = FormVarint;
    endcase
  endfunction

  // Whether the value takes 64 bits.
  function automatic logic is_wide(logic [6:0] op);
    is_wide = op == drover_preserialized_pkg::RecordVarint64 || op == drover_preserialized_pkg::RecordSint64 ||
              op == drover_preserialized_pkg::RecordFixed64;
  endfunction

endpackage
