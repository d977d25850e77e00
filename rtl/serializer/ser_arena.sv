// The TX arena: two halves, one being written from its end downwards, one being sent. Two banks of lines, even and odd,
// each with byte enables, so that up to 64 bytes are written at any place in one cycle. A read takes one cycle.
/* verilator lint_off IMPORTSTAR */
import ser_pkg::*;  // here, and types by their full names: yosys reads it so
/* verilator lint_on IMPORTSTAR */
module ser_arena #(
  parameter int unsigned Bytes = 65536  // of both halves
) (
  input  logic clk_i,

  input  logic                     write_i,
  input  logic [$clog2(Bytes)-1:0] write_at_i,    // the first byte's place
  input  logic [6:0]               write_size_i,  // 1 to 64
  input  logic [5:0]               write_from_i,  // where in the data the first byte is
  input  logic [ser_pkg::LineBits-1:0]      write_data_i,

  input  logic                     read_i,
  input  logic [$clog2(Bytes)-7:0] read_line_i,
  output logic [ser_pkg::LineBits-1:0]      read_data_o
);
  localparam int unsigned Lw = $clog2(Bytes) - 6;  // line number

  logic [ser_pkg::LineBits-1:0] even[1 << (Lw - 1)];
  logic [ser_pkg::LineBits-1:0] odd[1 << (Lw - 1)];

  logic [ser_pkg::LineBits-1:0] rotated;
  logic [127:0] mask;  // of the line of the first byte and the next
  logic [63:0] mask_even, mask_odd;
  logic [Lw-1:0] line;
  logic [Lw-2:0] line_even, line_odd;

  assign line = write_at_i[$clog2(Bytes)-1:6];
  assign rotated = ser_pkg::rotate_up(write_data_i, write_at_i[5:0] - write_from_i);
  assign mask = (~(128'({64{1'b1}}) << write_size_i) & 128'({64{1'b1}})) << write_at_i[5:0];
  assign mask_even = !write_i ? '0 : line[0] ? mask[127:64] : mask[63:0];
  assign mask_odd  = !write_i ? '0 : line[0] ? mask[63:0] : mask[127:64];
  assign line_even = line[Lw-1:1] + (Lw - 1)'(line[0]);
  assign line_odd  = line[Lw-1:1];

  logic [ser_pkg::LineBits-1:0] even_q, odd_q;
  logic odd_read_q;
  assign read_data_o = odd_read_q ? odd_q : even_q;

  always_ff @(posedge clk_i) begin
    for (int i = 0; i < ser_pkg::LineBytes; i++) begin
      if (mask_even[i]) even[line_even][8*i+:8] <= rotated[8*i+:8];
      if (mask_odd[i]) odd[line_odd][8*i+:8] <= rotated[8*i+:8];
    end
    if (read_i) begin
      even_q <= even[read_line_i[Lw-1:1]];
      odd_q  <= odd[read_line_i[Lw-1:1]];
      odd_read_q <= read_line_i[0];
    end
  end
endmodule
