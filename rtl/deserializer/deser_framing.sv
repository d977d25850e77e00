// Checks each packet of wire bytes against the length in its command.
//
//   start_i, length_i -> counter -> the beat at hand: to the lane, last of its message, bad; or dropped
//
// A packet is right if every beat but the last is full, and the last has TLAST and exactly the bytes that are left,
// from byte 0 on. At the first beat that is not, the lane gets that beat with last_o and bad_o, and the packet's
// further beats are dropped up to TLAST. So each message has one last beat, and the next message begins on a beat of
// its own.
`include "drover_assert.svh"
module deser_framing (
    input  logic        clk_i,
    input  logic        rst_ni,
    input  logic        start_i,    // a message was given to a lane; only while open_o is 0
    input  logic [31:0] length_i,
    input  logic        valid_i,    // a beat is offered; taken with ready_o
    output logic        ready_o,
    input  logic [63:0] tkeep_i,
    input  logic        tlast_i,
    input  logic        room_i,     // the lane takes a beat
    output logic        push_o,     // it gets this one
    output logic        last_o,
    output logic        bad_o,
    output logic        open_o      // beats of the packet are still to come
);
  logic open_q, drop_q;
  logic [31:0] left_q;
  logic [63:0] wanted;
  logic ends, taken;

  assign ends = left_q[31:6] == '0 || left_q == 32'd64;
  always_comb begin
    for (int i = 0; i < 64; i++) wanted[i] = !ends || 32'(i) < left_q;
  end
  assign bad_o   = tkeep_i != wanted || tlast_i != ends;
  assign last_o  = ends || bad_o;
  assign ready_o = open_q && (drop_q || room_i);
  assign taken   = valid_i && ready_o;
  assign push_o  = taken && !drop_q;
  assign open_o  = open_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      open_q <= 1'b0;
      drop_q <= 1'b0;
    end else if (start_i) begin
      open_q <= 1'b1;
      drop_q <= 1'b0;
    end else if (taken) begin
      open_q <= !tlast_i;
      drop_q <= drop_q || last_o;
    end
  end
  always_ff @(posedge clk_i) begin
    if (start_i) left_q <= length_i;
    else if (taken) left_q[31:6] <= left_q[31:6] - 1'b1;
  end

  `DROVER_ASSERT(StartsBehindThePacket, !start_i || !open_q)
endmodule
