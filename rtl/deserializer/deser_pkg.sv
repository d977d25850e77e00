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
  localparam int unsigned SideSubAt = 68;       // 55: a message type; of a closed enum: index of its first value (32), count (23)
  localparam logic [6:0] SideHasBitBeyond = 7'd126;
  localparam logic [6:0] SideHasBitNone = 7'd127;

  // Tokens of deser_front.
  localparam logic [1:0] TokField = 2'd0;
  localparam logic [1:0] TokLeave = 2'd1;  // a message inside is over
  localparam logic [1:0] TokEnd = 2'd2;    // the outermost is
  localparam logic [1:0] TokError = 2'd3;

  // DecodeError of codec/decode_types.h; the last is the engine's own.
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

  // Why a message is left to software.
  localparam logic [7:0] WhyUnknownField = 8'd1;  // an unknown group, or unknown fields apart from each other or larger than a chunk
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
endpackage
/* verilator lint_on UNUSEDPARAM */
