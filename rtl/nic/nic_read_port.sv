// Reads of TX rings and of positions share AR, in turn. A request that is not taken stays.
module nic_read_port (
    input  logic                clk_i,
    input  logic                rst_ni,
    input  logic                fetch_valid_i,
    output logic                fetch_ready_o,
    input  drover_axi_pkg::ar_t fetch_i,
    input  logic                fetch_cached_i,
    input  logic                look_valid_i,
    output logic                look_ready_o,
    input  logic [63:0]         look_addr_i,
    output logic [63:0]         araddr_o,
    output logic [7:0]          arlen_o,
    output logic [3:0]          arid_o,   // 0 lines, 1 a position
    output logic                arcached_o,
    output logic                arvalid_o,
    input  logic                arready_i
);
  localparam int unsigned Width = 64 + 8 + 1 + 1;
  logic [1:0] pick;
  logic ready, look;
  drover_rr_arbiter #(.N(2)) u_turn (
      .clk_i, .rst_ni, .valid_i({look_valid_i, fetch_valid_i}), .take_i(ready), .pick_o(pick));
  assign fetch_ready_o = pick[0] && ready;
  assign look_ready_o  = pick[1] && ready;
  drover_skid #(.Width(Width)) u_out (
      .clk_i, .rst_ni, .wvalid_i(pick != '0), .wready_o(ready),
      .wdata_i(pick[1] ? {look_addr_i, 8'd0, 1'b1, 1'b0} : {fetch_i.addr, fetch_i.len, 1'b0, fetch_cached_i}),
      .rvalid_o(arvalid_o), .rready_i(arready_i), .rdata_o({araddr_o, arlen_o, look, arcached_o}));
  assign arid_o = {3'd0, look};
endmodule
