// Which rows of the chunk being filled go out before it is full (cfg_eager_i), and when.
//
//   row 0            low          sent_low    sent_high       high       63
//   | open objects ... | closed ... | written, zeroed | final | being filled |
//
// A row is final once no later store can change it: all rows between the end of the innermost open object and the top
// of what has been stored. Final rows go out in bursts of a multiple of four rows (256 bytes, the payload of a full
// PCIe packet) while the link would idle. The rows that have gone are one interval, which grows upward; the flush of
// the chunk leaves them out. A row is read in a cycle in which the buffer is not filled.
module deser_eager (
    input  logic       clk_i,
    input  logic       rst_ni,
    input  logic       want_i,       // the link would idle
    input  logic       new_i,        // another buffer is filled from here on
    input  logic       final_i,      // low_i and high_i hold
    input  logic [6:0] low_i,        // first row behind the innermost open object
    input  logic [6:0] high_i,       // first row that is not final
    input  logic       room_i,       // the writer takes a row one cycle from now
    input  logic       clear_i,      // no other burst is under way or about to begin
    input  logic       fill_i,       // the buffer is written in this cycle
    output logic       busy_o,       // a burst is under way
    output logic       re_o,         // read (and zero) row_o
    output logic [5:0] row_o,
    output logic       valid_o,      // the row that was read one cycle ago,
    output logic [5:0] valid_row_o,
    output logic       last_o,       // the last of its burst
    output logic       any_o,        // rows sent_low_o to sent_high_o (exclusive) have gone
    output logic [6:0] sent_low_o,
    output logic [6:0] sent_high_o
);
  localparam logic [6:0] BurstMost = 7'd16;

  logic [6:0] low_q, high_q, sent_low_q, sent_high_q, first, count;
  logic [4:0] left_q, wanted;
  logic any_q, valid_q, last_q, start;
  logic [5:0] row_q;

  assign first  = any_q ? sent_high_q : low_q;
  assign count  = high_q - first;
  assign wanted = count >= BurstMost ? BurstMost[4:0] : {count[4:2], 2'd0};
  // The interval must not jump over an open object above it.
  assign start  = left_q == '0 && want_i && clear_i && high_q > first && wanted != '0 &&
                  (!any_q || low_q <= sent_high_q);
  assign re_o   = left_q != '0 && room_i && !fill_i;
  assign row_o  = sent_high_q[5:0];
  assign busy_o = left_q != '0 || valid_q;

  assign valid_o     = valid_q;
  assign valid_row_o = row_q;
  assign last_o      = last_q;
  assign any_o       = any_q;
  assign sent_low_o  = sent_low_q;
  assign sent_high_o = sent_high_q;

  always_ff @(posedge clk_i) begin
    row_q  <= sent_high_q[5:0];
    last_q <= left_q == 5'd1;
    if (final_i) begin
      low_q <= low_i;
    end
    if (start && !any_q) sent_low_q <= low_q;
    if (start && !any_q) sent_high_q <= low_q;
    else if (re_o) sent_high_q <= sent_high_q + 7'd1;
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      any_q   <= 1'b0;
      left_q  <= '0;
      valid_q <= 1'b0;
      high_q  <= '0;
    end else begin
      valid_q <= re_o;
      if (new_i) begin
        any_q  <= 1'b0;
        high_q <= '0;
      end else begin
        if (start) any_q <= 1'b1;
        if (final_i) high_q <= high_i;
      end
      if (start && !new_i) left_q <= wanted;
      else if (re_o) left_q <= left_q - 5'd1;
    end
  end
endmodule
