// Counts events: so many of each kind in a cycle.
module nic_counters (
    input  logic                               clk_i,
    input  logic                               rst_ni,
    input  logic [nic_pkg::Counters-1:0][6:0]  events_i,
    output logic [nic_pkg::Counters-1:0][47:0] counters_o
);
  logic [nic_pkg::Counters-1:0][6:0] events_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      events_q   <= '0;
      counters_o <= '0;
    end else begin
      events_q <= events_i;
      for (int i = 0; i < nic_pkg::Counters; i++) counters_o[i] <= counters_o[i] + 48'(events_q[i]);
    end
  end
endmodule
