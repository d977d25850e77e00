// A FIFO of lines in block RAM: what is read is there before it is asked for. Two cycles from entry to exit.
module drover_ser_line_fifo #(
  parameter int unsigned Width = 512,
  parameter int unsigned Depth = 512
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  input  logic             valid_i,
  input  logic [Width-1:0] data_i,
  output logic             valid_o,
  output logic [Width-1:0] data_o,
  input  logic             ready_i
);
  localparam int unsigned Aw = $clog2(Depth);

  logic [Width-1:0] mem[Depth];
  logic [Aw:0] wptr_q, rptr_q, rptr_d;

  assign rptr_d = rptr_q + (Aw + 1)'(valid_o && ready_i);

  always_ff @(posedge clk_i) begin
    if (valid_i) mem[wptr_q[Aw-1:0]] <= data_i;
    data_o <= mem[rptr_d[Aw-1:0]];
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      wptr_q  <= '0;
      rptr_q  <= '0;
      valid_o <= 1'b0;
    end else begin
      wptr_q  <= wptr_q + (Aw + 1)'(valid_i);
      rptr_q  <= rptr_d;
      valid_o <= rptr_d != wptr_q;
    end
  end

`ifndef SYNTHESIS
  // Whoever fills it has counted the room before.
  assert property (@(posedge clk_i) valid_i |-> wptr_q - rptr_q < (Aw + 1)'(Depth)) else $error("line FIFO overflow");
`endif
endmodule
