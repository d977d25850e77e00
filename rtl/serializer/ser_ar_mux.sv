// Read requests of four readers to one AXI4 port, in the same cycle: those of the readers that others wait for first. A
// request that the port has not taken stays in front until it does.
`include "drover_assert.svh"
module ser_ar_mux #(
  localparam int unsigned Ports = 4,
  localparam int unsigned Iw = $clog2(Ports)
) (
  input  logic clk_i,
  input  logic rst_ni,

  input  logic [Ports-1:0]                valid_i,
  output logic [Ports-1:0]                ready_o,
  input  logic [Ports-1:0][drover_axi_pkg::ArBits-1:0] ar_i,  // each an ar_t

  output logic                ar_valid_o,
  input  logic                ar_ready_i,
  output drover_axi_pkg::ar_t ar_o,
  output logic [Iw-1:0]       ar_id_o  // whose it is
);
  logic held_q;
  logic [Iw-1:0] held_id_q, first, chosen;
  always_comb begin
    // Records, objects, what messages refer to, payload read ahead.
    first = valid_i[0] ? 2'd0 : valid_i[2] ? 2'd2 : valid_i[1] ? 2'd1 : 2'd3;
    chosen = held_q ? held_id_q : first;
    ar_o = ar_i[0];
    for (int i = 0; i < Ports; i++) begin
      ready_o[i] = ar_ready_i && chosen == Iw'(i);
      if (chosen == Iw'(i)) ar_o = ar_i[i];
    end
  end
  assign ar_valid_o = valid_i != '0;
  assign ar_id_o = chosen;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      held_q <= 1'b0;
      held_id_q <= '0;
    end else begin
      held_q <= ar_valid_o && !ar_ready_i;
      held_id_q <= chosen;
    end
  end

  `DROVER_ASSERT_HOLD(ReadHolds, ar_valid_o, ar_ready_i, ({ar_id_o, ar_o}))
endmodule
