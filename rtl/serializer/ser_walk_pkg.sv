// What the parts of the walker (ser_walker) share: its states, and what it knows of object and field at hand.
package ser_walk_pkg;

  localparam int unsigned ObjectLines = 512;  // of the object memory
  localparam int unsigned TableWidth  = 16;   // bits of a line's number in the schema table
  localparam int unsigned Ow = $clog2(ObjectLines);
  localparam int unsigned Mw = Ow + 6;          // a byte's place in the object memory
  localparam int unsigned Sw = TableWidth + 3;  // a slot of the table
  localparam int unsigned RunBytes = ObjectLines * 32;  // of a command's run: half of the object memory
  localparam logic [29:0] ChunkBytes = 30'd512;  // of an array that are there at once
  localparam int unsigned ChunkLines = 9;        // that they may take

  typedef enum logic [4:0] {
    WkIdle, WkMessage, WkObject, WkFetch, WkHeader, WkUnknown, WkRaw, WkHas, WkSkip, WkScan, WkField, WkPresence,
    WkThere, WkFirst, WkSecond, WkCall, WkChunk, WkElement, WkValue, WkReturn, WkResume, WkWrap, WkFail, WkDrain
  } state_e;

  // An object that is being written, while one below it is.
  typedef struct packed {
    logic [63:0]           address;
    logic [Mw-1:0]         place;
    logic [Sw-1:0]         step;      // slot of the table
    logic [Sw-1:0]         steps;     // that of the first step
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

  // The field at hand, as far as no frame has to keep it.
  typedef struct packed {
    logic [6:0]  op;        // of one element: drover_preserialized_pkg::record_op_e
    logic        in_pack;   // the elements have no tags
    logic        by_value;  // absent if zero
    logic [15:0] offset;
    logic [15:0] position;  // among the message's fields
    logic [31:0] number;
    logic        oneof;
    logic [4:0]  has_bit;
  } field_t;

  // Bytes of host memory that are in the object memory from its first line on: the command's run.
  typedef struct packed {
    logic [63:0]   address;
    logic [Mw-1:0] size;
  } run_t;

  // The type of the object that is entered.
  typedef struct packed {
    logic        any;        // it has fields
    logic [31:0] last_step;  // place in the image
    logic [15:0] has_words;
  } object_t;

  // What a FieldEntry says.
  typedef struct packed {
    field_t      field;     // by_value and position apart
    logic        repeated;
    logic        group;
    logic [15:0] sub;
    logic        beyond;    // 64 KB or more into the object
    logic        asks;      // whether it is there, no step could say: the word at `presence` does
    logic [15:0] presence;  // offset of the case word, or of the word of has-bits
    logic [39:0] tag;
    logic [2:0]  tag_size;
  } entry_t;

  // What else the walker remembers.
  typedef struct packed {
    state_e                 after;   // the fetch
    field_t                 field;
    object_t                object;
    run_t                   run;
    logic [63:0]            target;  // the object to be entered, the first word of a pair
    logic [63:0]            word;
  } walk_t;

  // log2 of an element's size in its array.
  function automatic logic [2:0] element_shift(logic [6:0] op);
    unique case (op)
      drover_preserialized_pkg::RecordInline: element_shift = 3'd4;  // a string
      drover_preserialized_pkg::RecordBool:   element_shift = 3'd0;
      drover_preserialized_pkg::RecordOpen, drover_preserialized_pkg::RecordVarint64,
      drover_preserialized_pkg::RecordSint64, drover_preserialized_pkg::RecordFixed64: element_shift = 3'd3;
      default:                                element_shift = 3'd2;
    endcase
  endfunction

endpackage
