// Reads runs of bytes over AXI4, as whole lines, in bursts that stay within 4 KB, several outstanding. A burst is asked
// for only when the FIFO has room for all of it, so that answers are always taken. Whoever asks has checked the range;
// it is asserted here.
/* verilator lint_off IMPORTSTAR */
import drover_ser_pkg::*;  // here, and types by their full names: yosys reads it so
/* verilator lint_on IMPORTSTAR */
module drover_ser_reader #(
  parameter int unsigned Depth    = 512,  // lines in flight and waiting
  parameter int unsigned MaxBurst = 64    // at most Depth and 64
) (
  input  logic        clk_i,
  input  logic        rst_ni,

  input  logic        req_valid_i,
  output logic        req_ready_o,
  input  logic [63:0] req_address_i,
  input  logic [31:0] req_size_i,  // bytes

  output logic        ar_valid_o,
  input  logic        ar_ready_i,
  output logic [63:0] ar_addr_o,
  output logic [7:0]  ar_len_o,

  input  logic                r_valid_i,
  input  logic [drover_ser_pkg::LineBits-1:0] r_data_i,

  output logic                line_valid_o,
  output logic [drover_ser_pkg::LineBits-1:0] line_o,
  input  logic                line_ready_i,

  input  logic [63:0] base_i,   // for the assertion
  input  logic [63:0] limit_i
);
  localparam int unsigned Cw = $clog2(Depth) + 1;

  logic [57:0] next_q;   // line
  logic [26:0] lines_q;  // to go
  logic [Cw-1:0] free_q;

  logic [26:0] to_boundary, burst;
  logic pop;

  assign to_boundary = 27'd64 - 27'(next_q[5:0]);
  always_comb begin
    burst = lines_q;
    if (burst > to_boundary) burst = to_boundary;
    if (burst > 27'(MaxBurst)) burst = 27'(MaxBurst);
  end

  // Registered, so that a burst is announced until it is taken.
  logic          ar_valid_q;
  logic [57:0]   ar_line_q;
  logic [6:0]    ar_count_q;
  logic          plan;
  assign plan = lines_q != '0 && (!ar_valid_q || ar_ready_i) && 27'(free_q) >= burst;
  assign ar_valid_o = ar_valid_q;
  assign ar_addr_o = {ar_line_q, 6'd0};
  assign ar_len_o = 8'(ar_count_q - 7'd1);
  assign req_ready_o = lines_q == '0 || (plan && lines_q == burst);
  assign pop = line_valid_o && line_ready_i;

  logic [32:0] span;
  assign span = 33'(req_address_i[5:0]) + 33'(req_size_i) + 33'd63;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      lines_q    <= '0;
      free_q     <= Cw'(Depth);
      ar_valid_q <= 1'b0;
    end else begin
      if (ar_ready_i) ar_valid_q <= 1'b0;
      if (plan) begin
        ar_valid_q <= 1'b1;
        lines_q <= lines_q - burst;
      end
      if (req_valid_i && req_ready_o) lines_q <= req_size_i == '0 ? '0 : span[32:6];
      free_q <= free_q - (plan ? Cw'(burst) : '0) + Cw'(pop);
    end
  end
  always_ff @(posedge clk_i) begin
    if (plan) begin
      ar_line_q  <= next_q;
      ar_count_q <= burst[6:0];
      next_q     <= next_q + 58'(burst);
    end
    if (req_valid_i && req_ready_o) next_q <= req_address_i[63:6];
  end

  drover_ser_line_fifo #(.Width(drover_ser_pkg::LineBits), .Depth(Depth)) u_fifo (
    .clk_i, .rst_ni,
    .valid_i(r_valid_i), .data_i(r_data_i),
    .valid_o(line_valid_o), .data_o(line_o), .ready_i(line_ready_i)
  );

`ifndef SYNTHESIS
  // Only lines that the region has a part in are read, and no burst crosses 4 KB.
  assert property (@(posedge clk_i) ar_valid_o |->
    {ar_line_q, 6'd63} >= base_i && {ar_line_q + 58'(ar_count_q) - 58'd1, 6'd0} < limit_i)
    else $error("a read outside the region");
  assert property (@(posedge clk_i) ar_valid_o |->
    7'(ar_line_q[5:0]) + ar_count_q <= 7'd64) else $error("a burst crosses 4 KB");
  assert property (@(posedge clk_i) ar_valid_o && !ar_ready_i |=>
    ar_valid_o && $stable(ar_addr_o) && $stable(ar_len_o)) else $error("AR changed before it was taken");
`endif
  logic unused;
  assign unused = ^{base_i, limit_i, span[5:0]};
endmodule
