// The walker's object memory: objects and chunks of arrays as they lie in host memory, line by line, and the reads that
// bring them there. One fetch at a time; the requester has checked that it may be read and has room. A fetch is broken if
// an answer is an error or has RLAST where its burst does not end, or has none where it does: a burst ends with
// whichever comes first. A beat that answers nothing is ignored.
`include "drover_assert.svh"
/* verilator lint_off IMPORTSTAR */
import ser_walk_pkg::*;  // here, and types by their full names: yosys reads it so
/* verilator lint_on IMPORTSTAR */
module ser_objects (
  input  logic clk_i,
  input  logic rst_ni,

  input  logic        fetch_i,
  input  logic [63:0] fetch_address_i,
  input  logic [31:0] fetch_bytes_i,
  input  logic [ser_walk_pkg::Ow-1:0] fetch_line_i,  // where its first line goes
  output logic [ser_walk_pkg::Ow:0]   fetch_lines_o, // that it takes, in the same cycle
  output logic        busy_o,
  output logic        broken_o,  // a line of the last fetch could not be read

  input  logic        read_i,
  input  logic [ser_walk_pkg::Mw-1:0] read_at_i,
  output logic [63:0] slot_o,    // the aligned word there, in the next cycle
  output logic [2:0]  low_o,     // which byte of it was meant
  input  logic        next_i,
  output logic [63:0] next_o,    // the word there, with next_i the one behind it, if that is in the same line
  output logic        has_next_o,

  output logic        ar_valid_o,
  input  logic        ar_ready_i,
  output drover_axi_pkg::ar_t ar_o,
  input  logic               r_valid_i,
  input  drover_axi_pkg::r_t r_i
);
  logic [57:0] next_q;         // line
  logic [Ow:0] ask_q, wait_q;  // lines
  logic [Ow-1:0] write_line_q;
  logic [5:0] place_q;         // of the line that comes, in its 4 KB
  logic broken_q;
  logic [6:0] to_boundary, burst;
  assign fetch_lines_o = (Ow + 1)'((fetch_bytes_i + {26'd0, fetch_address_i[5:0]} + 32'd63) >> 6);
  assign to_boundary = 7'd64 - {1'b0, next_q[5:0]};
  assign burst = ask_q < (Ow + 1)'(to_boundary) ? 7'(ask_q) : to_boundary;
  assign ar_valid_o = ask_q != '0;
  assign ar_o.addr = {next_q, 6'd0};
  assign ar_o.len = 8'(burst) - 8'd1;
  assign busy_o = wait_q != '0;

  // The burst at hand ends with the fetch or with the 4 KB.
  logic taken, burst_end, ends_fetch;
  logic [Ow:0] gone;  // lines that need not be waited for any longer
  logic [5:0] to_end;
  assign taken = r_valid_i && busy_o;
  assign to_end = ~place_q;
  assign ends_fetch = wait_q <= (Ow + 1)'(to_end);
  assign burst_end = wait_q == (Ow + 1)'(1) || to_end == '0;
  assign gone = !r_i.last ? (Ow + 1)'(1) : ends_fetch ? wait_q : (Ow + 1)'(to_end) + (Ow + 1)'(1);
  assign broken_o = broken_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      ask_q <= '0;
      wait_q <= '0;
    end else if (fetch_i) begin
      ask_q <= fetch_lines_o;
      wait_q <= fetch_lines_o;
    end else begin
      if (ar_valid_o && ar_ready_i) ask_q <= ask_q - (Ow + 1)'(burst);
      if (taken) wait_q <= wait_q - gone;
    end
  end
  always_ff @(posedge clk_i) begin
    if (fetch_i) begin
      next_q <= fetch_address_i[63:6];
      place_q <= fetch_address_i[11:6];
      write_line_q <= fetch_line_i;
      broken_q <= 1'b0;
    end else begin
      if (ar_valid_o && ar_ready_i) next_q <= next_q + 58'(burst);
      if (taken) begin
        write_line_q <= write_line_q + Ow'(1);  // of no use behind a burst that was cut: the fetch is broken
        place_q <= place_q + gone[5:0];
        if (r_i.error || r_i.last != burst_end) broken_q <= 1'b1;
      end
    end
  end

  logic [ser_pkg::LineBits-1:0] line;
  logic [5:0] low_q;
  drover_sram_1r1w #(.Width(ser_pkg::LineBits), .Depth(ObjectLines)) u_lines (
    .clk_i,
    .we_i(taken), .waddr_i(write_line_q), .wdata_i(r_i.data),
    .re_i(read_i), .raddr_i(read_at_i[Mw-1:6]), .rdata_o(line)
  );
  always_ff @(posedge clk_i) begin
    if (read_i) low_q <= read_at_i[5:0];
  end
  assign slot_o = line[64*low_q[5:3]+:64];
  assign low_o = low_q[2:0];
  logic [2:0] next_slot;
  assign next_slot = low_q[5:3] + 3'(next_i);
  assign next_o = line[64*next_slot+:64];
  assign has_next_o = low_q[5:3] != 3'd7;

  `DROVER_ASSERT(OneFetchAtATime, !fetch_i || wait_q == '0)
endmodule
