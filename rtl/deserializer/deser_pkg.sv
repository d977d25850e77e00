// Types that the deserializer's modules share. Words of the schema table, records and codes are those of the generated
// packages; where a struct here has one of their enums or words, it has its bits: yosys knows no type of one package in
// another.
//
// Addresses are region offsets of 40 bits: a chunk number (28) and 12 bits inside the 4 KB chunk. A *row* is 64 bytes.
/* verilator lint_off UNUSEDPARAM */
package deser_pkg;

  localparam int unsigned AddressW = 40;
  localparam int unsigned ChunkW = 28;
  localparam int unsigned OffW = 12;           // inside a chunk of 4 KB
  localparam int unsigned RowW = AddressW - 6;
  localparam int unsigned PageW = 21;          // inside a page of the TLB, 2 MB
  localparam int unsigned FrameW = 64 - PageW;
  localparam int unsigned StepAddrW = 17;      // of a FieldStep in the lookup area, at most
  localparam int unsigned ElementsLog2 = 10;   // of the element stack
  localparam int unsigned SpW = ElementsLog2 + 1;
  localparam int unsigned KeysLog2 = 10;       // of the table of map keys
  localparam logic [5:0] MaxKeyProbes = 6'd63;
  localparam logic [28:0] MapKeyNumber = 29'd1;  // the key's field number in a map entry

  // ---- the wire: protobuf's wire types; 6 and 7 are undefined
  typedef enum logic [2:0] {
    WireVarint     = 3'd0,
    WireFixed64    = 3'd1,
    WireLength     = 3'd2,
    WireStartGroup = 3'd3,
    WireEndGroup   = 3'd4,
    WireFixed32    = 3'd5
  } wire_type_e;

  // ---- ports of a lane
  // Which chunks may be written: base <= chunk < limit.
  typedef struct packed {
    logic [ChunkW-1:0] host_base;
    logic [ChunkW-1:0] host_limit;
    logic [ChunkW-1:0] engine_base;
    logic [ChunkW-1:0] engine_limit;
  } bounds_t;

  // Configuration, stable while a message is read.
  typedef struct packed {
    logic            one_shot;     // 0: each store is a DMA write of its own
    logic            protoacc;     // reads a descriptor for each field, and has-bits to update them
    logic [RowW-1:0] descriptors;  // row of the first step's descriptor, 32 bytes each
    logic [7:0]      depth_limit;
    bounds_t         bounds;
  } config_t;

  // A word on the load port.
  typedef struct packed {
    logic [1:0]  space;  // drover_deserializer_pkg::load_space_e
    logic [31:0] addr;
    logic [63:0] data;
  } load_t;

  // A message that waits.
  typedef struct packed {
    logic        known;   // its type is in the schema table
    logic [31:0] cookie;
    logic [31:0] length;
    logic [15:0] type_index;
  } cmd_t;
  localparam int unsigned CmdBits = 81;  // sizes for arrays: yosys has none of structs

  // A beat of wire bytes.
  typedef struct packed {
    logic         bad;   // with last: the packet is not as long as the command says
    logic         last;
    logic [511:0] data;
  } rx_t;
  localparam int unsigned RxBits = 514;

  // A run of chunks that is free.
  typedef struct packed {
    logic [11:0]       count;
    logic [ChunkW-1:0] first;
  } free_run_t;
  localparam int unsigned FreeRunBits = 40;

  // A run that a message has used.
  typedef struct packed {
    logic [11:0]       chunks;  // 0: none
    logic [ChunkW-1:0] first;
  } used_run_t;

  // A write burst's address, and a beat of its data.
  typedef struct packed {
    logic            engine;  // to engine memory
    logic [5:0]      len;     // beats, less one
    logic [RowW-1:0] row;
  } aw_t;
  localparam int unsigned AwBits = 41;
  typedef struct packed {
    logic         last;
    logic [63:0]  strb;
    logic [511:0] data;
  } w_t;
  localparam int unsigned WBits = 577;

  // A burst on its way to a port.
  typedef enum logic [1:0] {
    ToHost,
    ToEngine,
    ToNowhere  // the TLB does not know its page
  } where_e;
  typedef struct packed {
    where_e            where;
    logic [3:0]        lane;
    logic [FrameW-1:0] frame;  // of a burst to the host: bus address / 2 MB
    logic [5:0]        len;
    logic [RowW-1:0]   row;
  } burst_t;

  // ---- T
  typedef enum logic [1:0] {
    TokField = 2'd0,
    TokLeave = 2'd1,  // an inner message ends
    TokEnd   = 2'd2,  // the outermost message ends
    TokError = 2'd3
  } token_kind_e;

  typedef struct packed {
    logic        valid;
    token_kind_e kind;
    logic [28:0] number;
    logic [2:0]  wire_type;  // wire_type_e
    logic [63:0] value;      // varint, fixed, or length
    logic [7:0]  error;      // drover_deserializer_pkg::error_e
    logic        in_slots;   // a slot has its step
  } token_t;

  // The innermost message, as T knows it.
  typedef struct packed {
    logic [31:0]          limit;        // position of the first byte behind it
    logic [StepAddrW-1:0] slots;
    logic [11:0]          slot_count;
    logic [15:0]          field_count;
    logic                 group;
    logic [28:0]          group_number;
  } level_t;

  // The varint in front, if the bytes at hand are a packed field's.
  typedef struct packed {
    logic        here;  // it has come as a whole, or all that is left has
    logic [63:0] value;
    logic [3:0]  size;
    logic        overlong;
  } varint_t;

  // A field's tag and the value or length behind it.
  typedef struct packed {
    logic [28:0] number;
    logic [2:0]  wire_type;        // wire_type_e
    logic [2:0]  tag_size;
    logic [4:0]  size;             // of tag and value, or of tag and length
    logic        tag_overlong;     // five bytes that say there is more
    logic        tag_high;         // a tag that needs more than 32 bits
    logic [63:0] value;            // varint, fixed, or length
    logic [3:0]  varint_size;
    logic        overlong;         // a varint of more than ten bytes
    logic        length_overlong;  // of more than five, or 32 bits
  } wire_field_t;

  // The window of wire bytes.
  typedef struct packed {
    logic [511:0] bytes;  // the first is the one at `pos`
    logic [7:0]   avail;  // how many are there; may count bytes behind the message
    logic [31:0]  pos;    // in the message
    logic [31:0]  left;   // of the message
    logic         bad;    // the packet is bad, and its last beat is here or gone
    logic         over;   // the last beat is gone, or goes if one is dropped in this cycle
  } window_t;

  // ---- L: states
  typedef enum logic [4:0] {
    XIdle,        // waits for a message, a chunk and a free buffer
    XRun,         // one token a cycle
    XOwner,       // owner word of the object just entered
    XCase,        // case word of a oneof
    XCopy,        // bytes of a string or of packed fixed-size elements
    XNulRow,      // the row that holds nothing but the NUL behind a long string
    XPacked,      // packed varints
    XPackedEnd,   // their Repeated
    XSkip,        // bytes that are dropped
    XUnknown,     // an unknown field: the String that gathers unknown fields,
    XUnknownAt,   // the object's pointer to it,
    XUnknownHead, // tag and value or length
    XKey,         // a map entry's key is looked up among those of its map
    XRead,        // ProtoACC's way: reads before a field,
    XReadWait,
    XHasBits,     // and its has-bits, written back
    XClose,       // the open array: its place and its Repeated,
    XCloseOwner,  // owner word in front of an array of Strings,
    XCloseElem,   // its elements
    XSwitch,      // a fresh chunk
    XSearch,      // a number beyond the slots is looked up among the steps
    XEnum,        // a closed enum's value is looked up among those that it has
    XFinish,
    XAbort,
    XDrain
  } state_e;

  // ---- L: registers
  // What an open array holds.
  typedef enum logic [2:0] {
    ArrayBytes    = 3'd0,  // scalars of 1,
    ArrayWords    = 3'd2,  // 4
    ArrayDoubles  = 3'd3,  // or 8 bytes: the enumerator is the size's log2
    ArrayStrings  = 3'd4,
    ArrayPointers = 3'd5
  } array_kind_e;

  // A repeated field whose elements lie on the element stack.
  typedef struct packed {
    logic           open;
    logic           is_map;
    logic [11:0]    offset;  // of the field in the object
    logic [SpW-1:0] base;    // of its elements
    array_kind_e    kind;
  } array_t;

  // An entry of the element stack that is no scalar. A scalar takes the low 64 bits.
  typedef struct packed {
    logic [31:0]      size;  // of a String
    logic [AddressW-1:0] addr;
  } element_t;
  localparam int unsigned ElementBits = 72;

  // The innermost message; those around it lie on L's stack.
  typedef struct packed {
    logic [AddressW-1:0] obj;
    logic [63:0]      has;       // has-bits
    logic [63:0]      seen;      // fields that came, by offset modulo 512 bytes
    logic             is_entry;  // a map's
    logic [6:0]       end_row;   // first row behind the object, in its chunk
    array_t           array;
    logic [15:0]      map_id;    // of the innermost map
    logic [63:0]      key;       // the map entry's, as a fingerprint
  } message_t;
  localparam logic [5:0] SeenUnknown = 6'd1;  // the pointer to unknown fields has been written

  // A copy of wire bytes.
  typedef struct packed {
    logic [31:0]      left;
    logic [AddressW-1:0] addr;
    logic             direct;  // to a run, past the temp buffer
    logic             engine;  // of engine memory
    logic             nul;     // one more row, for the NUL
    logic             utf8;
    logic             first;
    logic             key;     // of a map
    logic [2:0]       back;    // where in a word the bytes begin; unknown fields only, and only their first beat
  } copy_t;

  // A binary search: what is left lies between lo and hi (exclusive).
  typedef struct packed {
    logic [15:0] lo;
    logic [15:0] hi;
    logic        searched;    // the field's number has been looked up,
    logic        found;       // and found
    logic        enum_known;  // the closed enum has the value
  } search_t;

  // The search for a map entry's key.
  typedef struct packed {
    logic                done;
    logic [KeysLog2-1:0] at;
    logic [5:0]          probes;
  } key_search_t;

  // The String of unknown fields, at the chunk's top.
  typedef struct packed {
    logic        open;
    logic        forced;  // the field at hand is one: its value is unknown to a closed enum
    logic [11:0] at;
    logic [12:0] size;
    logic [12:0] from;    // its size without the field at hand
  } unknown_t;

  typedef struct packed {
    state_e            state;
    state_e            ret;  // where XSwitch, XSearch and XEnum go back to
    message_t          msg;
    // memory of the message
    logic [SpW-1:0]    sp;  // top of the element stack
    logic [ChunkW-1:0] chunk;  // being filled,
    logic [ChunkW-1:0] first_chunk;
    logic [12:0]       ptr;  // up to here,
    logic              buffer;  // in this temp buffer
    // how it ends
    logic [7:0]        code;  // drover_deserializer_pkg::error_e, or software_reason_e
    logic              software;  // left to it
    // the field at hand
    copy_t             cp;
    logic [31:0]       pk_count;  // elements of a packed field
    logic [AddressW-1:0]  el_addr;  // where the next element goes
    search_t           search;
    key_search_t       key;
    unknown_t          unk;
    logic [7:0]        map_nest;  // open maps
    // ProtoACC's reads
    logic              pa_done;
    logic [2:0]        pa_left;
  } lane_t;

  // ---- L: what a state does beside its registers
  typedef enum logic [2:0] {
    StoreScalar,   // `data`, 2^log2 bytes
    StoreWord,     // `data`, 8 bytes
    StoreHasBits,  // `data`, those halves of it that are not zero
    StoreWords,    // a String or Repeated: `data` is its pointer, and `size`
    StoreHead,     // an unknown field's tag, and value or length
    StoreCopy,     // bytes of the window
    StoreNulRow    // a row of zeros
  } store_kind_e;

  typedef struct packed {
    logic             valid;
    store_kind_e      kind;
    logic             more;  // the burst goes on
    logic [AddressW-1:0] addr;
    logic [1:0]       log2;
    logic [63:0]      data;
    logic [31:0]      size;
  } store_t;

  typedef struct packed {
    store_t         st;
    // how the message ends: 0, or why
    logic [7:0]     error;  // drover_deserializer_pkg::error_e
    logic [7:0]     leave;  // to software: drover_deserializer_pkg::software_reason_e
    // the window and T
    logic           win_start;
    logic           win_end;
    logic           consume;  // bytes of the window
    logic [6:0]     consume_count;
    logic           front_resume;
    logic           front_off;
    logic           tok_take;
    // the stacks of messages
    logic           push;
    logic           pop;
    // commands and memory
    logic           cmd_ready;
    logic           chunk_ready;
    logic           run_load;    // a fresh run of chunks
    logic           run_take;    // of it, what the field at hand needs
    logic           run_commit;  // the message has ended
    // searches and keys
    logic           search_re;
    logic           enum_re;
    logic           key_re;
    logic           key_we;
    // the element stack
    logic           el_push;
    logic           el_re;
    logic [SpW-1:0] el_raddr;
    logic [ElementBits-1:0] el_wdata;  // element_t, or a scalar
    // the field at hand
    logic           mark_has;
    logic           mark_seen;
    // the end
    logic           utf8_clear;
    logic           job_valid;  // flush
    logic           job_discard;
    logic           is_abort;
  } act_t;

  // ---- L: what it sees beside its registers
  // The field at hand, from its FieldStep and side word.
  typedef struct packed {
    logic        there;      // the slot is not empty
    logic [11:0] offset;
    logic [11:0] case_offset;
    logic [6:0]  has_bit;    // drover_deserializer_pkg::HasBit...
    logic [3:0]  op;         // of one element: drover_deserializer_pkg::element_op_e
    logic        repeated;
    logic        is_map;
    logic        target;     // to engine memory
    logic        oneof;
    logic        is_string;
    logic        is_message;
    logic        is_scalar;
    logic        is_fixed;   // a scalar of 4 or 8 bytes on the wire
    logic [54:0] sub;        // drover_deserializer_pkg::type_word_t, or enum_word_t
    logic [28:0] number;     // of the step that was read
    logic [2:0]  wire_type;  // of an element that is not packed
    logic [1:0]  log2;       // bytes of a scalar
  } field_t;

  // Where the field at hand would lie.
  typedef struct packed {
    logic             packed_too_large;
    logic [12:0]      str_bytes;
    logic             str_fits;
    logic             str_large;   // takes a run of chunks
    logic [RowW-1:0]  large_row;
    logic             large_ok;    // the run is long enough
    logic             run_fresh;   // a run waits, and that at hand has not been used
    logic [12:0]      obj_bytes;
    logic             obj_fits;
    logic [AddressW-1:0] top_addr;    // the chunk's top
    logic [63:0]      to_top;      // a pointer from the field to it
    logic [63:0]      to_run;      // and to the run
  } place_t;

  // The field at hand, if it is unknown.
  typedef struct packed {
    logic         more;        // the String at hand can grow
    logic         fits;
    logic [13:0]  wanted;      // its size with the field
    logic [12:0]  new_end;
    logic [11:0]  to;          // where in the chunk the field goes
    logic [119:0] head_bytes;  // tag, and value or length
    logic [4:0]   head_size;
  } unknown_place_t;

  // The open array, and the element that was read.
  typedef struct packed {
    logic             full;   // the element stack is
    logic [SpW-1:0]   count;
    logic [13:0]      total;  // bytes in the chunk
    logic             fits;
    logic [AddressW-1:0] array;
    logic [SpW-1:0]   index;  // of the element that was read
    logic [ElementBits-1:0] element;
  } array_place_t;

  // The key that was read.
  typedef struct packed {
    logic                taken;  // another has its place,
    logic                same;   // or the same
    logic [KeysLog2-1:0] place;  // where to look first
    logic [63:0]         fold;   // fingerprint of a beat's 64 bytes
  } key_place_t;

  // What the search has read.
  typedef struct packed {
    logic        equal;
    logic        below;
    logic [15:0] mid;
  } probe_t;

  // The beat of the copy at hand.
  typedef struct packed {
    logic       here;  // its bytes have come
    logic [6:0] count;
    logic       last;
  } beat_t;

  typedef struct packed {
    // store and records
    logic           st_ready;
    logic           st_empty;
    logic           eager_busy;
    logic           jobs_full;
    logic           busy_mine;  // the buffer being filled has not been flushed yet
    logic           busy_other;
    // the token and its field
    token_t         token;
    logic [31:0]    len;  // the token's value, if it is a length
    logic [15:0]    field_count;  // of the innermost message
    logic           found;
    field_t         field;
    logic [AddressW-1:0] field_addr;
    logic           seen;
    logic           is_packed;
    logic [63:0]    scalar;  // as it is stored
    // places and searches
    place_t         place;
    unknown_place_t unk;
    array_place_t   array;
    key_place_t     key;
    probe_t         probe;
    // bytes
    beat_t          beat;
    varint_t        varint;
    logic           varint_bad;
    logic           utf8_bad;
    logic           pk_cut;  // the packet is not as long as its command said, and all its bytes are here
    logic           over;  // the message's last beat is gone, or goes when one is dropped now
    // a message that waits
    logic           cmd_valid;
    logic           cmd_known;
    logic           root_valid;
    logic [54:0]    root;  // drover_deserializer_pkg::type_word_t
    logic           chunk_valid;
    logic [ChunkW-1:0] chunk;
    // limits and configuration
    logic           at_depth_limit;
    logic           stack_full;
    logic           protoacc;
    // reads of ProtoACC's way
    logic           arready;
    logic           r;
    logic           r_bad;
  } view_t;

  // What the token at hand means.
  typedef enum logic [3:0] {
    MeansNothing,
    MeansStop,     // an error, or for software
    MeansReads,    // ProtoACC's reads come first
    MeansClose,    // the open array does
    MeansKey,      // the map entry's key is to be looked up
    MeansLeave,    // a message ends
    MeansSearch,   // its step is to be looked up
    MeansEnum,     // its value is
    MeansUnknown,
    MeansPacked,
    MeansScalar,
    MeansString,
    MeansMessage   // a message, group or map entry
  } meaning_e;

  // ---- store and writer
  // A buffer's first rows go to its chunk.
  typedef struct packed {
    logic              buffer;
    logic              discard;  // zero them only
    logic [ChunkW-1:0] chunk;
    logic [6:0]        rows;
  } job_t;

  // A burst of a flush.
  typedef struct packed {
    logic [5:0]        len;  // rows, less one
    logic [ChunkW-1:0] chunk;
    logic [5:0]        row;
  } flush_t;

  // A row of another burst.
  typedef struct packed {
    logic            engine;
    logic            last;
    logic [63:0]     be;
    logic [511:0]    data;
    logic [RowW-1:0] addr;
  } row_t;

  // ---- functions
  /* verilator lint_off UNUSEDSIGNAL */
  // The offset of a pointer at `from` that leads to `to`.
  function automatic logic [63:0] relative(input logic [AddressW-1:0] to,
                                           input logic [AddressW-1:0] from);
    logic [AddressW:0] d;
    d = {1'b0, to} - {1'b0, from};
    relative = {{23{d[AddressW]}}, d};
  endfunction
  function automatic logic [6:0] rows_of(input logic [12:0] bytes);
    rows_of = bytes[12:6] + 7'(|bytes[5:0]);
  endfunction
  function automatic logic [ChunkW-1:0] chunk_of(input logic [AddressW-1:0] addr);
    chunk_of = addr[AddressW-1:OffW];
  endfunction
  // A field's bit in message_t.seen.
  function automatic logic [5:0] seen_bit(input logic [11:0] offset);
    seen_bit = offset[8:3];
  endfunction
  /* verilator lint_on UNUSEDSIGNAL */
endpackage
/* verilator lint_on UNUSEDPARAM */
