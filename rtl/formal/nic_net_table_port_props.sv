// Proof of nic_net_table_port: every read or write that it takes goes out once, with its address, and is answered once,
// after the memory has answered; what is offered to the memory stays until it is taken. The memory answers only what it
// has taken. Two bits of the address are free, the rest are fixed.
`include "drover_assert.svh"
module nic_net_table_port_props (
    input logic       clk_i,
    input logic       rst_ni,
    input logic       read_i,
    input logic       write_i,
    input logic [1:0] address_i,
    input logic       arready_i,
    input logic       awready_i,
    input logic       wready_i,
    input logic       rvalid_i,
    input logic       bvalid_i,
    input logic [1:0] rresp_i,
    input logic [1:0] bresp_i,
    input logic       rlast_i
);
  logic read_ready, write_ready, answer, answer_error, arvalid, awvalid, wvalid, wlast, rready, bready;
  logic [63:0] araddr, awaddr, wstrb;
  logic [511:0] answer_entry, wdata;
  logic [7:0] arlen, awlen;
  logic [3:0] arid, awid;
  logic [2:0] arsize, awsize;
  logic [1:0] arburst, awburst;
  nic_net_table_port u_port (
      .clk_i, .rst_ni, .read_valid_i(read_i && !write_i), .read_ready_o(read_ready), .write_valid_i(write_i),
      .write_ready_o(write_ready), .address_i({56'd0, address_i, 6'd0}), .entry_i('0), .answer_o(answer),
      .answer_error_o(answer_error), .answer_entry_o(answer_entry), .araddr_o(araddr), .arlen_o(arlen), .arid_o(arid),
      .arsize_o(arsize), .arburst_o(arburst), .arvalid_o(arvalid), .arready_i, .rdata_i('0), .rid_i('0), .rresp_i,
      .rlast_i, .rvalid_i, .rready_o(rready), .awaddr_o(awaddr), .awlen_o(awlen), .awid_o(awid), .awsize_o(awsize),
      .awburst_o(awburst), .awvalid_o(awvalid), .awready_i, .wdata_o(wdata), .wstrb_o(wstrb), .wlast_o(wlast),
      .wvalid_o(wvalid), .wready_i, .bid_i('0), .bresp_i, .bvalid_i, .bready_o(bready));

  // The request under way, and what of it the memory has taken and answered.
  logic busy_q, is_write_q, ar_q, aw_q, w_q, answered_q, error_q;
  logic [1:0] address_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      {busy_q, is_write_q, ar_q, aw_q, w_q, answered_q, error_q} <= '0;
    end else if (!busy_q || answer) begin
      busy_q     <= read_i && read_ready && !write_i || write_i && write_ready;
      is_write_q <= write_i;
      {ar_q, aw_q, w_q, answered_q} <= '0;
    end else begin
      ar_q <= ar_q || arvalid && arready_i;
      aw_q <= aw_q || awvalid && awready_i;
      w_q  <= w_q || wvalid && wready_i;
      if (rvalid_i || bvalid_i) begin
        answered_q <= 1'b1;
        error_q    <= is_write_q ? bresp_i != '0 : rresp_i != '0 || !rlast_i;
      end
    end
  end
  always_ff @(posedge clk_i) begin
    if (!busy_q || answer) address_q <= address_i;
  end
  `DROVER_ASSUME_RESET_FIRST
  `DROVER_ASSUME(AnswersReadsThatItTook, !rvalid_i || busy_q && !is_write_q && ar_q && !answered_q)
  `DROVER_ASSUME(AnswersWritesThatItTook, !bvalid_i || busy_q && is_write_q && aw_q && w_q && !answered_q)
  `DROVER_ASSERT(TakesOneAtATime, !busy_q || answer || !read_ready && !write_ready || answered_q)
  `DROVER_ASSERT(ReadsOnce, !arvalid || busy_q && !is_write_q && !ar_q)
  `DROVER_ASSERT(WritesOnce, (!awvalid || busy_q && is_write_q && !aw_q) && (!wvalid || busy_q && is_write_q && !w_q))
  `DROVER_ASSERT(AtItsAddress, (!arvalid || araddr == {56'd0, address_q, 6'd0}) &&
                               (!awvalid || awaddr == {56'd0, address_q, 6'd0}))
  `DROVER_ASSERT(AnswersOnce, answer == answered_q)
  `DROVER_ASSERT(SaysWhatTheMemorySaid, !answer || answer_error == error_q)
  `DROVER_ASSERT(OneWholeBeat, arlen == '0 && awlen == '0 && wlast && (&wstrb) && rready && bready)
  logic unused;
  assign unused = ^{answer_entry, wdata, arid, awid, arsize, awsize, arburst, awburst};
endmodule
