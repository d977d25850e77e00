// Assertions on an AXI4 write port, for simulation; synthesis sees an empty module.
//
// What is offered stays and does not change until it is taken; bursts are aligned to 64 bytes and stay inside 4 KB.
/* verilator lint_off UNUSEDSIGNAL */
module drover_axi_write_checks (
    input logic         clk_i,
    input logic         rst_ni,
    input logic [63:0]  awaddr_i,
    input logic [7:0]   awlen_i,
    input logic [3:0]   awid_i,
    input logic         awvalid_i,
    input logic         awready_i,
    input logic [511:0] wdata_i,
    input logic [63:0]  wstrb_i,
    input logic         wlast_i,
    input logic         wvalid_i,
    input logic         wready_i
);
`ifndef SYNTHESIS
  logic aw_held_q, w_held_q;
  logic [75:0] aw_q;
  logic [576:0] w_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      aw_held_q <= 1'b0;
      w_held_q  <= 1'b0;
    end else begin
      aw_held_q <= awvalid_i && !awready_i;
      w_held_q  <= wvalid_i && !wready_i;
    end
  end
  always_ff @(posedge clk_i) begin
    aw_q <= {awid_i, awlen_i, awaddr_i};
    w_q  <= {wlast_i, wstrb_i, wdata_i};
    if (rst_ni) begin
      if (aw_held_q) assert (awvalid_i && {awid_i, awlen_i, awaddr_i} == aw_q) else $error("an address was withdrawn");
      if (w_held_q) assert (wvalid_i && {wlast_i, wstrb_i, wdata_i} == w_q) else $error("a beat was withdrawn");
      if (awvalid_i) begin
        assert (awaddr_i[5:0] == '0) else $error("a burst is not aligned");
        assert ({3'd0, awaddr_i[11:6]} + {1'b0, awlen_i} < 9'd64) else $error("a burst crosses 4 KB");
      end
    end
  end
`endif
endmodule
/* verilator lint_on UNUSEDSIGNAL */
