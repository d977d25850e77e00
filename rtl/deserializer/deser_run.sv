// The rest of a run of chunks, and how much of it the message at hand has used. A message's rows follow each other. The
// chunks that it began become its own when it is done, and free again when it is given up.
module deser_run (
    input  logic                         clk_i,
    input  logic                         rst_ni,
    input  deser_pkg::free_run_t         fresh_i,   // a fresh run instead
    input  logic                         load_i,
    input  logic                         take_i,    // all up to row_i
    input  logic [deser_pkg::RowW-1:0]   row_i,
    input  logic                         done_i,
    input  logic                         forget_i,
    output logic [deser_pkg::RowW-1:0]   row_o,     // the next that is free
    output logic [deser_pkg::ChunkW-1:0] end_o,
    output deser_pkg::used_run_t         run_o,     // what the message has of it
    output logic                         used_o
);
  logic [deser_pkg::ChunkW-1:0] first_q, end_q, behind;
  logic [deser_pkg::RowW-1:0] row_q;
  logic [11:0] chunks;
  logic used_q;
  assign chunks = 12'(row_q[deser_pkg::RowW-1:6] - first_q) + 12'(|row_q[5:0]);
  assign behind = first_q + 28'(chunks);
  assign run_o.first  = first_q;
  assign run_o.chunks = chunks;
  assign end_o  = end_q;
  assign row_o  = row_q;
  assign used_o = used_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      first_q <= '0;
      end_q   <= '0;
      row_q   <= '0;
      used_q  <= 1'b0;
    end else if (load_i) begin
      first_q <= fresh_i.first;
      end_q   <= fresh_i.first + 28'(fresh_i.count);
      row_q   <= {fresh_i.first, 6'd0};
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
