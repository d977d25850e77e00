// The wire bytes, 64 at a time from any position: two beats, and a rotation by bytes.
//
//     rx beats -> next -> current
//                  |  \  / |             bytes[0] = the byte at pos
//                  +-- rotate by pos mod 64
//
// A message begins with a beat of its own (start_i, with its length). end_i drops a beat of it, if one is there: what
// is left of the last at its end, or one after the other to skip the message. In one cycle up to 64 bytes are consumed.
// `avail` counts no beat behind the message's last (rx_i.last), but may count bytes of that beat behind the message;
// consumers take no more than `left`. `bad`: the last beat is here or gone, and deser_framing found the packet bad.
`include "drover_assert.svh"
module deser_window (
    input  logic         clk_i,
    input  logic         rst_ni,
    input  deser_pkg::rx_t rx_i,
    input  logic         rx_valid_i,
    output logic         rx_ready_o,
    input  logic         start_i,
    input  logic [31:0]  length_i,
    input  logic         end_i,
    input  logic         consume_i,
    input  logic [6:0]   count_i,    // 0 to 64
    input  logic [2:0]   back_i,     // window_o.bytes begin so many bytes earlier; those are rubbish
    output deser_pkg::window_t window_o
);
  deser_pkg::rx_t cur_q, nxt_q;
  logic [511:0] merged, rot1, rot2, rot3;
  logic cur_valid_q, nxt_valid_q;
  logic over_q, bad_q;  // the message's last beat is gone; it was bad
  logic [31:0] pos_q, left_q;
  logic [5:0] off, rot;
  logic [6:0] off_next;
  logic [7:0] avail;
  logic drop, shift, here;

  assign off      = pos_q[5:0];
  assign rot      = off - {3'd0, back_i};
  assign off_next = {1'b0, off} + count_i;
  assign here     = cur_valid_q && !over_q;  // the current beat is of this message
  assign drop     = end_i && here;
  assign shift    = !cur_valid_q || drop || (consume_i && off_next[6]);

  assign rx_ready_o = !nxt_valid_q || shift;
  assign avail       = !here ? 8'd0 : (8'd64 - {2'd0, off}) + (nxt_valid_q && !cur_q.last ? 8'd64 : 8'd0);
  assign window_o.bytes = rot3;
  assign window_o.avail = avail;
  assign window_o.pos   = pos_q;
  assign window_o.left  = left_q;
  assign window_o.bad   = bad_q || (here && (cur_q.last ? cur_q.bad : nxt_valid_q && nxt_q.bad));
  assign window_o.over  = over_q || (cur_valid_q && cur_q.last);

  always_comb begin
    for (int i = 0; i < 64; i++) merged[8*i+:8] = (i[5:0] < off) ? nxt_q.data[8*i+:8] : cur_q.data[8*i+:8];
  end
  // In three steps of two bits, each one LUT deep.
  always_comb begin
    case (rot[1:0])
      2'd0: rot1 = merged;
      2'd1: rot1 = {merged[7:0], merged[511:8]};
      2'd2: rot1 = {merged[15:0], merged[511:16]};
      default: rot1 = {merged[23:0], merged[511:24]};
    endcase
    case (rot[3:2])
      2'd0: rot2 = rot1;
      2'd1: rot2 = {rot1[31:0], rot1[511:32]};
      2'd2: rot2 = {rot1[63:0], rot1[511:64]};
      default: rot2 = {rot1[95:0], rot1[511:96]};
    endcase
    case (rot[5:4])
      2'd0: rot3 = rot2;
      2'd1: rot3 = {rot2[127:0], rot2[511:128]};
      2'd2: rot3 = {rot2[255:0], rot2[511:256]};
      default: rot3 = {rot2[383:0], rot2[511:384]};
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (shift) cur_q <= nxt_q;
    if (rx_ready_o) nxt_q <= rx_i;
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      cur_valid_q <= 1'b0;
      nxt_valid_q <= 1'b0;
      over_q      <= 1'b1;
      bad_q       <= 1'b0;
      pos_q       <= '0;
      left_q      <= '0;
    end else begin
      if (shift) cur_valid_q <= nxt_valid_q;
      if (rx_ready_o) nxt_valid_q <= rx_valid_i;
      if (start_i) begin
        over_q <= 1'b0;
        bad_q  <= 1'b0;
      end else if (shift && here && cur_q.last) begin
        over_q <= 1'b1;
        bad_q  <= cur_q.bad;
      end
      if (start_i) begin
        pos_q   <= '0;
        left_q  <= length_i;
      end else if (consume_i) begin
        pos_q  <= pos_q + 32'(count_i);
        left_q <= left_q - 32'(count_i);
      end
    end
  end

  logic unused;
  assign unused = ^off_next;

  `DROVER_ASSERT(TakesNoMoreThanTheMessage, !consume_i || 32'(count_i) <= left_q)
  `DROVER_ASSERT(TakesNoMoreThanHasCome, !consume_i || {1'b0, count_i} <= avail)
  `DROVER_ASSERT(StartsBehindTheLastMessage, !start_i || over_q)
  `DROVER_ASSERT(BadBeatsAreLast, !rx_valid_i || !rx_i.bad || rx_i.last)
endmodule
