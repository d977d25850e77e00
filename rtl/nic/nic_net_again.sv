// Lines that go out again: requests of the sweep (a timeout) and of the receiver (a gap), one after the other, line by
// line. The transmitter skips those that are acknowledged in the meantime.
/* verilator lint_off IMPORTSTAR */
import nic_net_pkg::*;
/* verilator lint_on IMPORTSTAR */
module nic_net_again #(
    parameter int unsigned SlotW = 10
) (
    input  logic             clk_i,
    input  logic             rst_ni,
    input  logic             rx_valid_i,  // goes first
    output logic             rx_ready_o,
    input  nic_net_pkg::again_t rx_i,
    input  logic             sweep_valid_i,
    output logic             sweep_ready_o,
    input  nic_net_pkg::again_t sweep_i,

    output logic             valid_o,
    input  logic             ready_i,
    output logic [SlotW-1:0] slot_o,
    output logic [31:0]      sequence_o
);
  logic ready, valid, last;
  logic [4:0] level;
  logic [10:0] done_q;
  nic_net_pkg::again_t request;
  drover_fifo #(.Width($bits(rx_i)), .Depth(16)) u_requests (
      .clk_i, .rst_ni, .wvalid_i(rx_valid_i || sweep_valid_i), .wready_o(ready), .wdata_i(rx_valid_i ? rx_i : sweep_i),
      .rvalid_o(valid), .rready_i(ready_i && last), .rdata_o(request), .level_o(level));
  assign rx_ready_o = ready;
  assign sweep_ready_o = ready && !rx_valid_i;
  assign valid_o = valid;
  assign slot_o = request.slot[SlotW-1:0];
  assign sequence_o = request.first + 32'(done_q);
  assign last = done_q + 11'd1 >= request.count;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) done_q <= '0;
    else if (valid && ready_i) done_q <= last ? '0 : done_q + 11'd1;
  end
  logic unused;
  assign unused = ^{level, request};
endmodule
