// Received frames whose connection's entry is not in the NIC: a few wait here, in their order, while the manager gets it.
// A frame of a connection of which frames wait has to wait behind them.
//
// The first frame asks the manager (miss_o). It answers that the entry is there (`go`), upon which the frame is tried
// again, or that it is to be dropped.
`include "drover_assert.svh"
/* verilator lint_off IMPORTSTAR */
import nic_net_pkg::*;
/* verilator lint_on IMPORTSTAR */
module nic_net_misses #(
    parameter int unsigned Depth = 8  // a power of two
) (
    input  logic             clk_i,
    input  logic             rst_ni,
    input  logic             push_i,  // only while !full_o
    input  nic_net_pkg::received_t frame_i,
    input  logic             has_line_i,
    input  logic [511:0]     line_i,
    output logic             full_o,
    input  logic [15:0]      number_i,
    output logic             waits_o,  // a frame of that connection waits here

    output logic             miss_o,
    output nic_net_pkg::received_t frame_o,  // the first
    output logic             has_line_o,
    output logic [511:0]     line_o,
    input  logic             go_i,
    input  logic             drop_i,
    output logic             try_o,   // the first is to be tried again, until
    input  logic             tried_i, // it is on its way
    input  logic             leave_i, // and it leaves,
    input  logic             stay_i,  // or its entry is gone again
    output logic             trying_o
);
  localparam int unsigned PtrW = $clog2(Depth);
  typedef enum logic [1:0] {Asks, Tries, UnderWay} state_e;
  state_e state_q;
  logic valid, pop, ready;
  logic [PtrW:0] level;
  logic [PtrW-1:0] write_q, read_q;
  logic [Depth-1:0] used_q, same;
  logic [Depth-1:0][15:0] number_q;
  drover_fifo #(.Width($bits(frame_i) + 513), .Depth(Depth)) u_frames (
      .clk_i, .rst_ni, .wvalid_i(push_i), .wready_o(ready), .wdata_i({frame_i, has_line_i, line_i}), .rvalid_o(valid),
      .rready_i(pop), .rdata_o({frame_o, has_line_o, line_o}), .level_o(level));
  assign full_o = !ready;
  assign pop = valid && (state_q == Asks && drop_i || state_q == UnderWay && leave_i);
  assign miss_o = valid && state_q == Asks;
  assign try_o = state_q == Tries;
  assign trying_o = state_q != Asks;
  for (genvar i = 0; i < Depth; i++) begin : gen_number
    assign same[i] = used_q[i] && number_q[i] == number_i;
  end
  assign waits_o = same != '0;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= Asks;
      used_q  <= '0;
      write_q <= '0;
      read_q  <= '0;
    end else begin
      if (push_i) begin
        used_q[write_q] <= 1'b1;
        write_q <= write_q + 1'b1;
      end
      if (pop) begin
        used_q[read_q] <= 1'b0;
        read_q <= read_q + 1'b1;
      end
      unique case (state_q)
        Asks: if (miss_o && go_i) state_q <= Tries;
        Tries: if (tried_i) state_q <= UnderWay;
        default: if (leave_i || stay_i) state_q <= Asks;
      endcase
    end
  end
  always_ff @(posedge clk_i) begin
    if (push_i) number_q[write_q] <= frame_i.connection;
  end
  `DROVER_ASSERT(PushesOnlyIntoRoom, !push_i || ready)
  `DROVER_ASSERT(KnowsWhoWaits, (used_q != '0) == (level != '0))
endmodule
