// The AXI4 slave: joins a write's address and data, hands out writes and reads one by one, and answers them. Writes are
// never held back by what they do, only by a host that does not take their answers.
//
// write_o lasts one cycle. read_o stays until read_done_i; the line is taken with it.
`include "drover_assert.svh"
module nic_slave (
    input  logic         clk_i,
    input  logic         rst_ni,
    input  logic [19:0]  awaddr_i,
    input  logic [3:0]   awid_i,
    input  logic         awvalid_i,
    output logic         awready_o,
    input  logic [511:0] wdata_i,
    input  logic [63:0]  wstrb_i,
    input  logic         wvalid_i,
    output logic         wready_o,
    output logic [3:0]   bid_o,
    output logic [1:0]   bresp_o,
    output logic         bvalid_o,
    input  logic         bready_i,
    input  logic [19:0]  araddr_i,
    input  logic [3:0]   arid_i,
    input  logic         arvalid_i,
    output logic         arready_o,
    output logic [511:0] rdata_o,
    output logic [3:0]   rid_o,
    output logic [1:0]   rresp_o,
    output logic         rlast_o,
    output logic         rvalid_o,
    input  logic         rready_i,

    output logic         write_o,
    output logic [19:0]  write_addr_o,
    output logic [511:0] write_line_o,
    output logic [63:0]  write_strb_o,
    output logic [63:0]  write_word_o,   // the 64 bits at the address
    output logic         write_whole_o,  // the write is of these, and of all of them
    input  logic         write_error_i,  // in the same cycle
    output logic         read_o,
    output logic [19:0]  read_addr_o,
    input  logic         read_done_i,
    input  logic         read_error_i,
    input  logic [511:0] read_line_i
);
  localparam logic [1:0] SlaveError = 2'd2;
  localparam int unsigned Answers = 8;

  // ---- writes
  logic aw_valid, w_valid, join_valid, answer_ready;
  logic [3:0] aw_id, id_q;
  logic [19:0] aw_addr;
  logic [575:0] w;
  logic [$clog2(Answers):0] answer_level;
  drover_skid #(.Width(24)) u_aw (
      .clk_i, .rst_ni, .wvalid_i(awvalid_i), .wready_o(awready_o), .wdata_i({awid_i, awaddr_i}), .rvalid_o(aw_valid),
      .rready_i(join_valid), .rdata_o({aw_id, aw_addr}));
  drover_skid #(.Width(576)) u_w (
      .clk_i, .rst_ni, .wvalid_i, .wready_o, .wdata_i({wstrb_i, wdata_i}), .rvalid_o(w_valid), .rready_i(join_valid),
      .rdata_o(w));
  assign join_valid = aw_valid && w_valid && answer_level < ($clog2(Answers) + 1)'(Answers - 1);
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) write_o <= 1'b0;
    else write_o <= join_valid;
  end
  always_ff @(posedge clk_i) begin
    id_q <= aw_id;
    write_addr_o <= aw_addr;
    {write_strb_o, write_line_o} <= w;
  end
  assign write_word_o  = write_line_o[64*write_addr_o[5:3]+:64];
  assign write_whole_o = write_addr_o[2:0] == '0 && write_strb_o == 64'hff << 8 * write_addr_o[5:3];
  logic bad;
  drover_fifo #(.Width(5), .Depth(Answers)) u_answers (
      .clk_i, .rst_ni, .wvalid_i(write_o), .wready_o(answer_ready), .wdata_i({id_q, write_error_i}),
      .rvalid_o(bvalid_o), .rready_i(bready_i), .rdata_o({bid_o, bad}), .level_o(answer_level));
  assign bresp_o = bad ? SlaveError : drover_axi_pkg::RespOkay;
  `DROVER_ASSERT(AnswersHaveRoom, !write_o || answer_ready)

  // ---- reads, one at a time
  typedef enum logic [1:0] {RdIdle, RdBusy, RdAnswer} read_e;
  read_e read_q;
  assign arready_o = read_q == RdIdle;
  assign read_o    = read_q == RdBusy;
  assign rvalid_o  = read_q == RdAnswer;
  assign rlast_o   = 1'b1;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      read_q <= RdIdle;
    end else begin
      unique case (read_q)
        RdIdle:   if (arvalid_i) read_q <= RdBusy;
        RdBusy:   if (read_done_i) read_q <= RdAnswer;
        RdAnswer: if (rready_i) read_q <= RdIdle;
        default:  read_q <= RdIdle;
      endcase
    end
  end
  always_ff @(posedge clk_i) begin
    if (read_q == RdIdle) begin
      read_addr_o <= araddr_i;
      rid_o       <= arid_i;
    end
    if (read_q == RdBusy) begin
      rdata_o <= read_line_i;
      rresp_o <= read_error_i ? SlaveError : drover_axi_pkg::RespOkay;
    end
  end
  `DROVER_ASSERT_HOLD(WriteAnswerHolds, bvalid_o, bready_i, ({bid_o, bresp_o}))
  `DROVER_ASSERT_HOLD(ReadAnswerHolds, rvalid_o, rready_i, ({rid_o, rresp_o, rdata_o}))

  logic unused;
  assign unused = ^{answer_ready};
endmodule
