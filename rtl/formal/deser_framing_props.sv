// Proof of deser_framing: each packet of wire bytes ends, for its lane, in exactly one of `right` and `packet_length`;
// it is taken up to its TLAST, and no beat of the next one is.
//
// The packet is whatever comes: any TKEEP, TLAST anywhere. The command's length is any; where LengthBits is less than
// 32 it is below 2^LengthBits, and the bytes handed over are counted too, one by one, and held against it.
`include "drover_assert.svh"
module deser_framing_props #(
    parameter int unsigned LengthBits = 32
) (
    input logic        clk_i,
    input logic        rst_ni,
    input logic        start_i,
    input logic [31:0] length_i,
    input logic        valid_i,
    input logic [63:0] tkeep_i,
    input logic        tlast_i,
    input logic        room_i
);
  logic ready, push, last, bad, open, taken;
  deser_framing u_framing (
      .clk_i, .rst_ni, .start_i, .length_i, .valid_i, .ready_o(ready), .tkeep_i, .tlast_i, .room_i, .push_o(push),
      .last_o(last), .bad_o(bad), .open_o(open));
  assign taken = valid_i && ready;

  // What the lane should see: the bytes that are left, and whether it has had its last beat.
  logic running_q, ended_q;  // a packet is under way; its message has ended
  logic [31:0] left_q;
  logic right, last_by_length;
  logic [63:0] full;
  assign full           = '1;
  assign last_by_length = left_q <= 32'd64;
  assign right          = last_by_length ? tlast_i && tkeep_i == ~(full << left_q[6:0]) : !tlast_i && tkeep_i == full;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      running_q <= 1'b0;
      ended_q   <= 1'b0;
    end else if (start_i) begin
      running_q <= 1'b1;
      ended_q   <= 1'b0;
    end else if (taken) begin
      running_q <= !tlast_i;
      ended_q   <= ended_q || (push && last);
    end
  end
  always_ff @(posedge clk_i) begin
    if (start_i) left_q <= length_i;
    else if (taken) left_q <= left_q - 32'd64;
  end

  `DROVER_ASSUME_RESET_FIRST
  `DROVER_ASSUME(StartsOnlyBehindAPacket, !start_i || !open)
  `DROVER_ASSUME(LengthIsInRange, !start_i || (length_i >> (LengthBits - 1)) <= 32'd1)

  `DROVER_ASSERT(IsOpenFromStartToTlast, open == running_q)
  `DROVER_ASSERT(TakesNothingBetweenPackets, !ready || running_q)
  `DROVER_ASSERT(TakesWhileThereIsRoom, !running_q || !room_i || ready)
  `DROVER_ASSERT(DropsWithoutRoom, !(running_q && ended_q) || ready)
  `DROVER_ASSERT(PushesOnlyWhatItTakes, !push || (taken && room_i))
  `DROVER_ASSERT(PushesEveryBeatUpToTheLast, !taken || push == !ended_q)
  `DROVER_ASSERT(OneLastBeatBeforeThePacketEnds, !(taken && tlast_i) || ended_q || (push && last))
  `DROVER_ASSERT(BadIsWhatIsNotRight, !push || bad == !right)
  `DROVER_ASSERT(LastIsBadOrWhereTheLengthEnds, !push || last == (bad || last_by_length))
  `DROVER_ASSERT(ARightMessageEndsWithItsPacket, !(push && last && !bad) || tlast_i)

  if (LengthBits < 32) begin : gen_count
    logic [LengthBits:0] bytes_q, length_q;  // handed over so far
    logic [6:0] here;
    always_comb begin
      here = '0;
      for (int i = 0; i < 64; i++) here = here + 7'(tkeep_i[i]);
    end
    always_ff @(posedge clk_i) begin
      if (start_i) begin
        bytes_q  <= '0;
        length_q <= (LengthBits + 1)'(length_i);
      end else if (push) begin
        bytes_q <= bytes_q + (LengthBits + 1)'(here);
      end
    end
    `DROVER_ASSERT(ARightMessageHasAllItsBytes, !(push && last && !bad) ||
                   bytes_q + (LengthBits + 1)'(here) == length_q)
  end
endmodule
