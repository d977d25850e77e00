// The rest of a run of chunks, and how far the message at hand has come in it. A message's rows follow each other; the
// chunks that it began are its own when it is done, and free again when it is given up.
module deser_run (
    input  logic                         clk_i,
    input  logic                         rst_ni,
    input  logic [deser_pkg::ChunkW-1:0] first_i,   // a fresh run instead
    input  logic [11:0]                  count_i,
    input  logic                         load_i,
    input  logic                         take_i,    // all up to row_i
    input  logic [deser_pkg::RowW-1:0]   row_i,
    input  logic                         done_i,
    input  logic                         forget_i,
    output logic [deser_pkg::RowW-1:0]   row_o,     // the next that is free
    output logic [deser_pkg::ChunkW-1:0] first_o,   // the message's first chunk
    output logic [deser_pkg::ChunkW-1:0] end_o,
    output logic [11:0]                  chunks_o,  // of the message
    output logic                         used_o
);
  logic [deser_pkg::ChunkW-1:0] first_q, end_q, behind;
  logic [deser_pkg::RowW-1:0] row_q;
  logic used_q;
  assign chunks_o = 12'(row_q[deser_pkg::RowW-1:6] - first_q) + 12'(|row_q[5:0]);
  assign behind   = first_q + 28'(chunks_o);
  assign first_o  = first_q;
  assign end_o    = end_q;
  assign row_o    = row_q;
  assign used_o   = used_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      first_q <= '0;
      end_q   <= '0;
      row_q   <= '0;
      used_q  <= 1'b0;
    end else if (load_i) begin
      first_q <= first_i;
      end_q   <= first_i + 28'(count_i);
      row_q   <= {first_i, 6'd0};
    end else if (take_i) begin
      row_q  <= row_i;
      used_q <= 1'b1;
    end else if (done_i) begin
      first_q <= behind;
      row_q   <= {behind, 6'd0};
      used_q  <= 1'b0;
    end else if (forget_i) begin
      row_q  <= {first_q, 6'd0};
      used_q <= 1'b0;
    end
  end
endmodule
