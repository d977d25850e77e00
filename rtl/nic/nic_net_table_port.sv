// The AXI4 master of the connection table: one read or write of one entry at a time.
`include "drover_assert.svh"
module nic_net_table_port (
    input  logic         clk_i,
    input  logic         rst_ni,
    input  logic         read_valid_i,
    output logic         read_ready_o,
    input  logic         write_valid_i,
    output logic         write_ready_o,
    input  logic [63:0]  address_i,
    input  logic [511:0] entry_i,
    output logic         answer_o,
    output logic         answer_error_o,
    output logic [511:0] answer_entry_o,

    output logic [63:0]  araddr_o,
    output logic [7:0]   arlen_o,
    output logic [3:0]   arid_o,
    output logic [2:0]   arsize_o,
    output logic [1:0]   arburst_o,
    output logic         arvalid_o,
    input  logic         arready_i,
    input  logic [511:0] rdata_i,
    input  logic [3:0]   rid_i,
    input  logic [1:0]   rresp_i,
    input  logic         rlast_i,
    input  logic         rvalid_i,
    output logic         rready_o,
    output logic [63:0]  awaddr_o,
    output logic [7:0]   awlen_o,
    output logic [3:0]   awid_o,
    output logic [2:0]   awsize_o,
    output logic [1:0]   awburst_o,
    output logic         awvalid_o,
    input  logic         awready_i,
    output logic [511:0] wdata_o,
    output logic [63:0]  wstrb_o,
    output logic         wlast_o,
    output logic         wvalid_o,
    input  logic         wready_i,
    input  logic [3:0]   bid_i,
    input  logic [1:0]   bresp_i,
    input  logic         bvalid_i,
    output logic         bready_o
);
  logic ar_q, aw_q, w_q, busy_q, free;
  logic [63:0] address_q;
  logic [511:0] entry_q;
  assign free = !busy_q;
  assign read_ready_o = free;
  assign write_ready_o = free;
  assign araddr_o = address_q;
  assign awaddr_o = address_q;
  assign arlen_o = '0;
  assign awlen_o = '0;
  assign arid_o = '0;
  assign awid_o = '0;
  assign arsize_o = drover_axi_pkg::SizeFullWidth;
  assign awsize_o = drover_axi_pkg::SizeFullWidth;
  assign arburst_o = drover_axi_pkg::BurstIncr;
  assign awburst_o = drover_axi_pkg::BurstIncr;
  assign arvalid_o = ar_q;
  assign awvalid_o = aw_q;
  assign wdata_o = entry_q;
  assign wstrb_o = '1;
  assign wlast_o = 1'b1;
  assign wvalid_o = w_q;
  assign rready_o = 1'b1;
  assign bready_o = 1'b1;
  logic answers;  // the answer may come now
  assign answers = busy_q && !ar_q && !aw_q && !w_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      ar_q     <= 1'b0;
      aw_q     <= 1'b0;
      w_q      <= 1'b0;
      busy_q   <= 1'b0;
      answer_o <= 1'b0;
    end else begin
      if (arready_i) ar_q <= 1'b0;
      if (awready_i) aw_q <= 1'b0;
      if (wready_i) w_q <= 1'b0;
      if (free && read_valid_i) ar_q <= 1'b1;
      if (free && write_valid_i) begin
        aw_q <= 1'b1;
        w_q  <= 1'b1;
      end
      answer_o <= answers && (rvalid_i || bvalid_i);
      if (free && (read_valid_i || write_valid_i)) busy_q <= 1'b1;
      else if (answers && (rvalid_i || bvalid_i)) busy_q <= 1'b0;
    end
  end
  always_ff @(posedge clk_i) begin
    if (free) begin
      address_q <= address_i;
      entry_q   <= entry_i;
    end
    answer_error_o <= rvalid_i ? rresp_i != drover_axi_pkg::RespOkay || !rlast_i : bresp_i != drover_axi_pkg::RespOkay;
    answer_entry_o <= rdata_i;
  end
  `DROVER_ASSERT_HOLD(AddressHolds, ar_q || aw_q, ar_q ? arready_i : awready_i, address_q)
  logic unused;
  assign unused = ^{rid_i, bid_i};
endmodule
