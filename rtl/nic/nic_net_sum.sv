// The Internet checksum's sum of `Words` 16-bit words (RFC 1071), folded, four cycles later; a new one every cycle. The
// order of bytes in a word does not matter as long as it is the same everywhere.
module nic_net_sum #(
    parameter int unsigned Words = 53  // at most 64
) (
    input  logic                   clk_i,
    input  logic [Words-1:0][15:0] words_i,
    output logic [15:0]            sum_o
);
  localparam int unsigned Fours = (Words + 3) / 4;
  localparam int unsigned Sixteens = (Fours + 3) / 4;
  logic [4*Fours-1:0][15:0] words;
  logic [Fours-1:0][17:0] four_q;
  logic [4*Sixteens-1:0][17:0] fours;
  logic [Sixteens-1:0][19:0] sixteen_q;
  logic [3:0][19:0] sixteens;
  logic [21:0] all_q;
  logic [16:0] once;
  always_comb begin
    words = '0;
    words[Words-1:0] = words_i;
    fours = '0;
    fours[Fours-1:0] = four_q;
    sixteens = '0;
    sixteens[Sixteens-1:0] = sixteen_q;
  end
  assign once = {1'b0, all_q[15:0]} + {11'd0, all_q[21:16]};
  always_ff @(posedge clk_i) begin
    for (int i = 0; i < Fours; i++) begin
      four_q[i] <= (18'(words[4*i]) + 18'(words[4*i+1])) + (18'(words[4*i+2]) + 18'(words[4*i+3]));
    end
    for (int i = 0; i < Sixteens; i++) begin
      sixteen_q[i] <= (20'(fours[4*i]) + 20'(fours[4*i+1])) + (20'(fours[4*i+2]) + 20'(fours[4*i+3]));
    end
    all_q <= (22'(sixteens[0]) + 22'(sixteens[1])) + (22'(sixteens[2]) + 22'(sixteens[3]));
    sum_o <= once[15:0] + {15'd0, once[16]};  // carries no further: `once` is below 2^16 + 2^6
  end
endmodule
