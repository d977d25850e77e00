// What the deserializer's modules share: widths, the side word of the schema table, completion records and reasons.
//
// Addresses are region offsets of 40 bits: a chunk number (28) and 12 bits inside the 4 KB chunk. A *row* is 64 bytes.
/* verilator lint_off UNUSEDPARAM */
package deser_pkg;
  localparam int unsigned AddrW = 40;
  localparam int unsigned ChunkW = 28;
  localparam int unsigned OffW = 12;           // inside a chunk of 4 KB
  localparam int unsigned RowW = AddrW - 6;
  localparam int unsigned StepAddrW = 17;      // of a FieldStep in the lookup area, at most
  localparam int unsigned SubW = 55;           // what is known of a message type

  // A message type (SubW bits), derived from its MessageEntry by the driver (rtl/driver/schema_table.h).
  localparam int unsigned SubSlotsAt = 0;        // 17: index of its slots in the lookup area
  localparam int unsigned SubSlotCountAt = 17;   // 12
  localparam int unsigned SubWordsAt = 29;       // 10: object size in words of 8 bytes; 1023: too large
  localparam int unsigned SubFieldCountAt = 39;  // 16
  localparam logic [9:0] SubWordsTooLarge = 10'd1023;

  // The side word (128 bits) of a FieldStep, derived from its FieldEntry by the driver.
  localparam int unsigned SideNumberAt = 0;     // 29
  localparam int unsigned SideElemOpAt = 29;    // 4: the op of one element, OpInt32 to OpGroup
  localparam int unsigned SideRepeatedAt = 33;  // lists and maps
  localparam int unsigned SideMapAt = 34;
  localparam int unsigned SideTargetAt = 35;    // payload to engine memory
  localparam int unsigned SideOneofAt = 36;
  localparam int unsigned SideHasBitAt = 37;    // 7: 0 to 63; 126 beyond; 127 none
  localparam int unsigned SideOffsetAt = 44;    // 12
  localparam int unsigned SideCaseAt = 56;      // 12: offset of the oneof's case word
  localparam int unsigned SideSubAt = 68;  // 55: a message type; of a closed enum: index of its first value (32), count
  localparam logic [6:0] SideHasBitBeyond = 7'd126;
  localparam logic [6:0] SideHasBitNone = 7'd127;

  // Tokens of deser_front.
  localparam logic [1:0] TokField = 2'd0;
  localparam logic [1:0] TokLeave = 2'd1;  // a message inside is over
  localparam logic [1:0] TokEnd = 2'd2;    // the outermost is
  localparam logic [1:0] TokError = 2'd3;

  // DecodeError of codec/decode/decode_types.h; from 64 on, the engine's own.
  localparam logic [7:0] ErrOk = 8'd0;
  localparam logic [7:0] ErrTruncated = 8'd1;
  localparam logic [7:0] ErrOverlongVarint = 8'd2;
  localparam logic [7:0] ErrBadTag = 8'd3;
  localparam logic [7:0] ErrUnmatchedEndGroup = 8'd4;
  localparam logic [7:0] ErrDepthLimit = 8'd5;
  localparam logic [7:0] ErrLengthPastEnd = 8'd6;
  localparam logic [7:0] ErrBadUtf8 = 8'd7;
  localparam logic [7:0] ErrTooLarge = 8'd9;
  localparam logic [7:0] ErrBadAddress = 8'd64;  // a chunk or run that leads out of the region: nothing was written
  localparam logic [7:0] ErrPacketLength = 8'd65;  // the packet's bytes are not as many as the command said
  localparam logic [7:0] ErrUnknownType = 8'd66;   // the command names a type that the schema table does not hold
  localparam logic [7:0] ErrReadRefused = 8'd67;   // a read (ProtoACC's way) was refused, or had no RLAST

  // Why a message is left to software.
  // An unknown group, or unknown fields apart from each other or larger than a chunk.
  localparam logic [7:0] WhyUnknownField = 8'd1;
  localparam logic [7:0] WhySplitRun = 8'd2;      // a repeated field in several runs
  localparam logic [7:0] WhyMerge = 8'd3;         // a singular message twice
  localparam logic [7:0] WhyOneofAgain = 8'd4;    // a second member of a oneof
  localparam logic [7:0] WhyMapEntries = 8'd5;    // keys of a map that may be the same
  localparam logic [7:0] WhyClosedEnum = 8'd6;    // a value that a closed enum does not know, packed or in a map
  localparam logic [7:0] WhyObjectSize = 8'd7;    // an object larger than a chunk
  localparam logic [7:0] WhyArraySize = 8'd8;     // an unpacked array larger than a chunk, or than the element stack
  localparam logic [7:0] WhyHasBit = 8'd9;        // a has-bit beyond 63
  localparam logic [7:0] WhyNoRun = 8'd10;        // no run of chunks is long enough
  localparam logic [7:0] WhyPackedSize = 8'd11;   // packed varints that may need 4 GiB or more
  localparam logic [7:0] WhyDepth = 8'd12;        // deeper than the hardware's stack

  // Completion record, 256 bits.
  localparam logic [3:0] RecChunk = 4'd0;     // a chunk of the message is full; more follows
  localparam logic [3:0] RecDone = 4'd1;
  localparam logic [3:0] RecError = 4'd2;     // code: DecodeError
  localparam logic [3:0] RecSoftware = 4'd3;  // code: why
  localparam int unsigned RecTypeAt = 0;        // 4
  localparam int unsigned RecLaneAt = 4;        // 4
  localparam int unsigned RecCodeAt = 8;        // 8
  localparam int unsigned RecCookieAt = 32;     // 32
  localparam int unsigned RecRootAt = 64;       // 40: the object
  localparam int unsigned RecPositionAt = 104;  // 32: how far the message was read
  localparam int unsigned RecChunkAt = 136;     // 28: the last chunk taken (RecChunk: the full one)
  localparam int unsigned RecRunAt = 164;       // 28: first chunk of the message's run
  localparam int unsigned RecRunChunksAt = 192; // 12: its chunks; 0 none
  localparam int unsigned RecEngineAt = 204;    // 28: the same in engine memory
  localparam int unsigned RecEngineChunksAt = 232;  // 12
  localparam int unsigned RecW = 244;

  // ---- What the parts of L (deser_lane.sv) share: its states, its registers, what it sees, what it does in a cycle.
  localparam int unsigned ElementsLog2 = 10;  // of the element stack
  localparam int unsigned KeysLog2 = 10;      // of the table of map keys
  localparam int unsigned SpW = ElementsLog2 + 1;

  // Kinds of open runs; 0, 2, 3: scalars of 1, 4, 8 bytes.
  localparam logic [2:0] RunStrings = 3'd4;
  localparam logic [2:0] RunPointers = 3'd5;

  typedef enum logic [4:0] {
    XIdle,        // waits for a message, a chunk and a free buffer
    XRun,         // a token a cycle
    XOwner,       // owner word of the object just entered
    XCase,        // case word of a oneof
    XCopy,        // bytes of a string or of packed fixed-size elements
    XNulRow,      // the row that holds nothing but the NUL behind a long string
    XPacked,      // packed varints
    XPackedEnd,
    XSkip,        // bytes that nobody wants
    XUnknown,     // an unknown field: the String that gathers them,
    XUnknownAt,   // the object's pointer to it,
    XUnknownHead, // tag and value or length
    XKey,         // a map entry's key, among those of its map
    XRead,        // ProtoACC's way: reads before a field,
    XReadWait,
    XHasBits,     // and its has-bits, written back
    XClose,       // the open run: its place and its Repeated
    XCloseOwner,  // owner word in front of an array of Strings
    XCloseElem,
    XSwitch,      // a fresh chunk
    XSearch,      // a number beyond the slots, among the steps
    XEnum,        // a closed enum's value, among those it has
    XFinish,
    XAbort,
    XDrain
  } state_e;

  // Registers.
  typedef struct packed {
    state_e state;
    state_e ret;  // where XSwitch, XSearch and XEnum go back to
    // the innermost message, as it lies on the stack too
    logic [AddrW-1:0] e_obj;
    logic [63:0] e_has;  // has-bits
    logic [63:0] e_seen;  // fields that came, by offset
    logic e_entry;  // a map's
    logic [6:0] e_end;  // first row behind it, in its chunk
    logic run_open;  // a repeated field's elements lie on the element stack,
    logic run_map;
    logic [11:0] run_off;  // of the field at this offset
    logic [SpW-1:0] run_base;
    logic [2:0] run_kind;  // RunStrings...
    logic [15:0] map_id;
    logic [63:0] e_key;  // the map entry's key, as a fingerprint
    // memory of the message
    logic [SpW-1:0] sp;  // top of the element stack
    logic [ChunkW-1:0] chunk;  // being filled,
    logic [ChunkW-1:0] first_chunk;
    logic [12:0] ptr;  // up to here,
    logic buffer;  // in this temp buffer
    // how it ends
    logic [7:0] code;
    logic software;  // left to it
    // a copy at hand
    logic [31:0] cp_left;
    logic [AddrW-1:0] cp_addr;
    logic cp_direct;  // to a run, past the temp buffer
    logic cp_engine;
    logic cp_nul;  // a row more, for the NUL
    logic cp_utf8;
    logic cp_first;
    logic cp_key;  // of a map
    logic [2:0] cp_back;  // where in a word the bytes begin; unknown fields only, and only their first beat
    logic [31:0] pk_count;  // elements of a packed field
    logic [AddrW-1:0] el_addr;
    // searches
    logic [15:0] lo;
    logic [15:0] hi;  // between these (exclusive) is what is left
    logic found;
    logic searched;
    logic enum_known;
    // ProtoACC's reads
    logic pa_done;
    logic [2:0] pa_left;
    // keys of open maps
    logic [7:0] map_nest;
    logic key_done;
    logic [KeysLog2-1:0] key_at;
    logic [5:0] key_probes;
    // the String of unknown fields, at the chunk's top
    logic unk_open;
    logic unk_force;
    logic [11:0] unk_at;
    logic [12:0] unk_size;
    logic [12:0] unk_from;
  } lane_t;

  // What a state may do beside its registers.
  typedef struct packed {
    // the window and T
    logic win_start;
    logic win_end;
    logic consume;  // bytes of the window
    logic [6:0] consume_count;
    logic front_resume;
    logic front_off;
    logic tok_take;
    logic t_push;  // a message is entered
    logic t_push_group;
    logic [31:0] t_push_limit;
    // L's stack
    logic e_push;
    logic e_pop;
    // commands and memory
    logic cmd_ready;
    logic chunk_ready;
    logic xt_load;  // a fresh run
    logic xt_take;  // of it, what the field at hand needs
    logic xt_commit;
    // searches and keys
    logic search_re;
    logic enum_re;
    logic key_re;
    logic key_we;
    // the element stack
    logic el_push;
    logic el_re;
    logic [SpW-1:0] el_raddr;
    logic [71:0] el_wdata;
    logic run_start;
    // the field at hand
    logic mark_has;
    logic set_seen;
    // a store: of the window's bytes, of up to three words, or of a scalar
    logic st_valid;
    logic st_copy;
    logic st_scalar;
    logic st_last;
    logic [AddrW-1:0] st_addr;
    logic [191:0] st_words;
    logic [23:0] st_words_be;
    logic [1:0] scalar_log2;
    logic [2:0] scalar_low;
    logic [63:0] scalar_in;
    // the end
    logic utf8_clear;
    logic fail;  // with an error,
    logic leave;  // or left to software
    logic [7:0] fail_code;
    logic job_valid;  // flush
    logic job_discard;
    logic is_abort;
  } act_t;

  // What it sees beside its registers.
  typedef struct packed {
    // store and records
    logic st_ready;
    logic st_empty;
    logic eager_busy;
    logic jobs_full;
    logic busy_mine;  // the buffer being filled has not been flushed yet
    logic busy_other;
    // the copy at hand
    logic cp_have;  // its bytes are there
    logic [6:0] cp_now;
    logic cp_last;
    logic [63:0] beat_fold;
    // the token
    logic tok_valid;
    logic [1:0] tok;
    logic [28:0] tok_number;
    logic [2:0] tok_wtype;
    logic [7:0] tok_error;
    logic tok_in_slots;
    logic [31:0] len;
    logic [31:0] t_limit;
    logic [15:0] t_field_count;
    logic [31:0] pos;
    logic pk_cut;  // the packet is not as long as its command said, and all its bytes are here
    logic over;  // the message's last beat is gone, or goes when one is dropped now
    // its field
    logic found;
    logic [11:0] f_offset;
    logic [11:0] f_case;
    logic [6:0] f_has_bit;
    logic [3:0] f_op;
    logic f_repeated;
    logic f_map;
    logic f_oneof;
    logic f_is_string;
    logic f_is_message;
    logic f_is_scalar;
    logic [SubW-1:0] f_sub;
    logic [2:0] f_wtype;
    logic [1:0] f_log2;
    logic [AddrW-1:0] f_addr;
    logic f_seen;
    logic [63:0] scalar;
    // a message that waits
    logic cmd_valid;
    logic cmd_known;  // its type is in the schema table
    logic root_valid;
    logic [SubW-1:0] root;
    logic chunk_valid;
    logic [ChunkW-1:0] chunk;
    // limits and configuration
    logic at_depth_limit;
    logic stack_full;
    logic cfg_protoacc;
    logic utf8_bad;
    // the varint in front, in a packed field
    logic have16;
    logic [3:0] d_vsize;
    logic d_overlong;
    logic pk_bad;
    // where the field at hand would lie
    logic is_packed;
    logic packed_fixed;
    logic packed_too_large;
    logic [12:0] str_bytes;
    logic str_fits;
    logic str_large;
    logic [RowW-1:0] large_row;
    logic large_ok;
    logic large_engine;
    logic [12:0] obj_bytes;
    logic obj_fits;
    logic run_fresh;  // a run waits, and that at hand has not been used
    logic [63:0] to_top;
    logic [63:0] to_run;
    logic [AddrW-1:0] top_addr;
    // unknown fields
    logic unk_more;
    logic unk_fits;
    logic [13:0] unk_wanted;
    logic [12:0] unk_new_end;
    logic [11:0] unk_to;
    logic [119:0] head_bytes;
    logic [4:0] head_size;
    // the open run
    logic [SpW-1:0] run_count;
    logic [13:0] run_total;
    logic [AddrW-1:0] run_array;
    logic run_fits;
    logic el_full;
    logic [71:0] el_rdata;
    logic [SpW-1:0] el_index;
    // keys and searches
    logic key_taken;
    logic key_same;
    logic [KeysLog2-1:0] key_place;
    logic search_equal;
    logic search_below;
    logic [15:0] mid;
    // reads of ProtoACC's way
    logic arready;
    logic r;
    logic r_bad;
  } view_t;

  function automatic logic [63:0] relative(input logic [AddrW-1:0] to,
                                           input logic [AddrW-1:0] from);
    logic [AddrW:0] d;
    d = {1'b0, to} - {1'b0, from};
    relative = {{23{d[AddrW]}}, d};
  endfunction
  function automatic logic [6:0] rows_of(input logic [12:0] bytes);
    rows_of = bytes[12:6] + 7'(|bytes[5:0]);
  endfunction
endpackage
/* verilator lint_on UNUSEDPARAM */
