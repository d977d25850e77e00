// What the modules of the NIC's host half share. A flow's number has FlowBits in all of them; unused flows cost nothing.
/* verilator lint_off UNUSEDPARAM */
package nic_pkg;
  localparam int unsigned FlowBits = 6;               // of drover_nic_pkg::MaxFlows; nic_host checks these
  localparam int unsigned IndexBits = 16;             // of a line in its ring: drover_nic_pkg::MaxRingLog
  localparam int unsigned UsedBits = IndexBits + 1;   // lines in a ring
  localparam int unsigned SequenceAt = 0;             // drover_channel_pkg::LineSlotSequenceAt, in bits
  localparam int unsigned Counters = 21;              // of drover_nic_pkg::NicCountersBytes
  localparam int unsigned TagBits = 14;  // of a line's address, from bit 6 on: what a flow that waits looks for

  // The soft registers.
  typedef struct packed {
    logic [6:0]  flows_in_use;
    logic [63:0] batch;     // drover_nic_pkg::batch_register_t
    logic [63:0] poll;      // drover_nic_pkg::poll_register_t
    logic [63:0] interval;  // drover_nic_pkg::interval_register_t
    logic [63:0] key;       // drover_nic_pkg::key_register_t
  } soft_t;

  // A read of lines that is asked for.
  typedef struct packed {
    logic [FlowBits-1:0] flow;
    logic [4:0]          lines;
    logic                cached;
    logic [TagBits-1:0]  tag;  // of the first line
  } ask_t;

  // What a beat says of its read.
  typedef struct packed {
    logic [FlowBits-1:0] flow;
    logic accepted;  // the line was new
    logic is_short;  // the line was the flow's next, and not new; lines behind it are dropped
    logic first;     // of its read
    logic last;
    logic found;     // this line or one before it in its read was accepted
    logic cached;    // the read was
  } beat_t;

  // A write to host memory.
  typedef enum logic [1:0] {JobLines, JobDrop, JobPosition} job_e;
  typedef struct packed {
    job_e                kind;
    logic [FlowBits-1:0] flow;
    logic [4:0]          lines;
    logic [63:0]         addr;
    logic [63:0]         word;  // the lines' sequence, or the position
  } job_t;

  function automatic logic [FlowBits-1:0] number_of(logic [63:0] one_hot);
    number_of = '0;
    for (int i = 0; i < 64; i++) if (one_hot[i]) number_of |= FlowBits'(i);
  endfunction

  function automatic logic [UsedBits-1:0] ring_lines(logic [4:0] lines_log);
    ring_lines = UsedBits'(1) << lines_log;
  endfunction

  // Lines from this one (the low bits of its index) to the ring's end or to 4 KB, which rings begin at, whichever is
  // nearer.
  function automatic logic [6:0] lines_to_edge(logic [5:0] index, logic [4:0] lines_log);
    logic [5:0] mask;
    mask = lines_log >= 5'd6 ? 6'h3f : 6'((7'd1 << lines_log) - 7'd1);
    lines_to_edge = {1'b0, mask & ~index} + 7'd1;
  endfunction

  function automatic logic [IndexBits-1:0] index_behind(logic [IndexBits-1:0] index, logic [4:0] lines,
                                                        logic [4:0] lines_log);
    index_behind = (index + IndexBits'(lines)) & IndexBits'(ring_lines(lines_log) - UsedBits'(1));
  endfunction

  function automatic logic [4:0] least(logic [4:0] a, logic [4:0] b);
    least = a < b ? a : b;
  endfunction
endpackage
/* verilator lint_on UNUSEDPARAM */
