// Reads how far hosts have taken their RX rings (ConsumerPosition), for rings that seem more than half full: at once, and,
// while there is no news, again at intervals. A position is accepted only between the last one and the producer's (channel/ring.h).
`include "drover_assert.svh"
module nic_rx_look #(
    parameter int unsigned Flows = 16
) (
    input  logic                         clk_i,
    input  logic                         rst_ni,
    input  logic [Flows-1:0]             on_i,
    input  logic [Flows-1:0]             start_i,
    input  logic [15:0]                  interval_i,
    input  logic [Flows-1:0]             half_i,
    output logic [nic_pkg::FlowBits-1:0] flow_o,
    input  logic [63:0]                  address_i,  // of that flow's ConsumerPosition

    output logic                         ar_valid_o,
    input  logic                         ar_ready_i,
    output logic [63:0]                  ar_addr_o,
    input  logic                         r_valid_i,  // always taken
    input  logic                         r_error_i,
    input  logic [63:0]                  r_word_i,

    input  logic                         claim_i,    // a burst is added to this flow's ring in this cycle
    input  logic [nic_pkg::FlowBits-1:0] claim_flow_i,
    input  logic [Flows-1:0][nic_pkg::UsedBits-1:0] used_i,
    output logic                         freed_o,
    output logic                         freed_error_o,
    output logic                         freed_bus_o,
    output logic [nic_pkg::FlowBits-1:0] freed_flow_o,
    output logic [nic_pkg::UsedBits-1:0] freed_lines_o,
    output logic [Flows-1:0]             busy_o
);
  localparam int unsigned FlowW = Flows > 1 ? $clog2(Flows) : 1;
  localparam int unsigned Looks = 8;  // under way
  (* ram_style = "distributed" *) logic [63:0] known[Flows];  // the last position, unless first_q
  logic [Flows-1:0] first_q, may_q, under_way_q, can, pick;
  logic [FlowW-1:0] flow_q;
  logic picked_q, tick, room;
  logic [15:0] time_q;

  assign tick = time_q >= interval_i;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) time_q <= '0;
    else time_q <= tick ? 16'd1 : time_q + 16'd1;
  end

  // ---- a flow is picked, and its position asked for
  logic [3:0] book_level, answer_level;
  logic [2:0] address_level;
  logic address_ready, book_ready, book_valid, answer_ready, answer_valid, answer_taken;
  logic [FlowW-1:0] book_flow;
  assign room = book_level < 4'(Looks - 1) && address_level < 3'd3;
  assign can  = half_i & may_q & ~under_way_q & on_i & {Flows{room}};
  drover_rr_arbiter #(.N(Flows)) u_turn (.clk_i, .rst_ni, .valid_i(can), .take_i(1'b1), .pick_o(pick));
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) picked_q <= 1'b0;
    else picked_q <= pick != '0;
  end
  always_ff @(posedge clk_i) flow_q <= FlowW'(nic_pkg::number_of(64'(pick)));
  assign flow_o = nic_pkg::FlowBits'(flow_q);
  drover_fifo #(.Width(64), .Depth(4)) u_addresses (
      .clk_i, .rst_ni, .wvalid_i(picked_q), .wready_o(address_ready), .wdata_i(address_i), .rvalid_o(ar_valid_o),
      .rready_i(ar_ready_i), .rdata_o(ar_addr_o), .level_o(address_level));
  // A flow stays in the book until its answer is dealt with, so that answers have room.
  drover_fifo #(.Width(FlowW), .Depth(Looks)) u_book (
      .clk_i, .rst_ni, .wvalid_i(picked_q), .wready_o(book_ready), .wdata_i(flow_q), .rvalid_o(book_valid),
      .rready_i(answer_taken), .rdata_o(book_flow), .level_o(book_level));

  // ---- answers, in order: what is new of one is found out first, and then dealt with; that waits where a burst is added
  // to its ring in this cycle
  logic error, error_q, found_q;
  logic [63:0] seen, seen_q, news_q;
  drover_fifo #(.Width(65), .Depth(Looks)) u_answers (
      .clk_i, .rst_ni, .wvalid_i(r_valid_i), .wready_o(answer_ready), .wdata_i({r_error_i, r_word_i}),
      .rvalid_o(answer_valid), .rready_i(answer_taken), .rdata_o({error, seen}), .level_o(answer_level));
  assign answer_taken  = found_q && !(claim_i && claim_flow_i == nic_pkg::FlowBits'(book_flow));
  assign freed_o       = answer_taken;
  assign freed_bus_o   = error_q;
  assign freed_error_o = error_q || news_q > 64'(used_i[book_flow]);
  assign freed_flow_o  = nic_pkg::FlowBits'(book_flow);
  assign freed_lines_o = nic_pkg::UsedBits'(news_q);
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) found_q <= 1'b0;
    else found_q <= answer_valid && !answer_taken;
  end
  always_ff @(posedge clk_i) begin
    error_q <= error;
    seen_q  <= seen;
    news_q  <= seen - (first_q[book_flow] ? '0 : known[book_flow]);
    if (freed_o && !freed_error_o) known[book_flow] <= seen_q;
  end

  for (genvar f = 0; f < Flows; f++) begin : gen_flow
    logic answered;
    assign answered  = answer_taken && book_flow == FlowW'(f);
    assign busy_o[f] = under_way_q[f];
    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) begin
        first_q[f]     <= 1'b1;
        may_q[f]       <= 1'b1;
        under_way_q[f] <= 1'b0;
      end else begin
        if (pick[f]) under_way_q[f] <= 1'b1;
        else if (answered) under_way_q[f] <= 1'b0;
        may_q[f] <= (may_q[f] && !pick[f]) || tick || (answered && news_q != '0);
        if (answered && !freed_error_o) first_q[f] <= 1'b0;
        if (start_i[f]) first_q[f] <= 1'b1;
      end
    end
  end
  `DROVER_ASSERT(LooksHaveRoom, !picked_q || (address_ready && book_ready))
  `DROVER_ASSERT(AnswersWereAskedFor, !r_valid_i || (book_valid && answer_ready && answer_level < book_level))

  logic unused;
  assign unused = ^{address_ready, book_ready, book_valid, answer_ready, answer_level};
endmodule
