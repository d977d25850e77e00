// Reads lines from the flows' TX rings in host memory, and keeps those that are new. Which flows to read, and how many
// lines, is another module's to say (nic_poll, nic_doorbell).
//
//   want -> pick a flow -> ask: lines up to the ring's end or 4 KB -> address -> AR
//                           |
//                           +-> book of reads: flow, lines -> beat: sequence as expected? -> push
//
// A line is accepted if it is the flow's next, by its place in the ring, and has the next's sequence word; so it is taken
// once and in order, whichever read brings it. All else that comes is dropped.
//
// Reads of a flow run ahead of what is known to be there, each behind the other, until a line that was the flow's next is
// not new: the flow is at its tail. From then on each read begins with the next line, however many are under way, until
// one ends with a line that is accepted.
//
// Room in the flow's FIFO is reserved before a line is asked for: R is never held back.
`include "drover_assert.svh"
module nic_fetch #(
    parameter int unsigned Flows = 16,
    parameter int unsigned FlowLines = 32,
    parameter int unsigned Reads = 128,  // under way
    parameter bit Announced = 1'b0      // a line that is not new stops its flow
) (
    input  logic                          clk_i,
    input  logic                          rst_ni,

    input  logic [Flows-1:0]              start_i,  // at position 0
    input  logic [Flows-1:0]              want_i,
    input  logic [Flows-1:0][4:0]         lines_i,  // at most, 1 to 16
    input  logic [Flows-1:0]              cached_i,
    output logic                          ask_o,
    output nic_pkg::ask_t                 ask_what_o,
    output logic [nic_pkg::FlowBits-1:0]  ask_flow_o,
    input  drover_nic_pkg::ring_register_t ask_ring_i,   // of that flow

    output logic                          ar_valid_o,
    input  logic                          ar_ready_i,
    output drover_axi_pkg::ar_t           ar_o,
    output logic                          ar_cached_o,
    input  logic                          r_valid_i,     // always taken
    input  drover_axi_pkg::r_t            r_i,

    output logic [nic_pkg::FlowBits-1:0]  beat_flow_o,
    input  drover_nic_pkg::ring_register_t beat_ring_i,  // of that flow
    output logic                          beat_o,
    output nic_pkg::beat_t                beat_what_o,

    output logic                          push_o,
    output logic [nic_pkg::FlowBits-1:0]  push_flow_o,
    output logic [511:0]                  push_line_o,
    input  logic                          pop_i,         // a line has left the flow's FIFO
    input  logic [nic_pkg::FlowBits-1:0]  pop_flow_i,

    output logic [Flows-1:0]              tail_o,        // the flow's next line was not there
    output logic [Flows-1:0]              busy_o,        // reads are under way, or lines in the FIFO
    input  logic [Flows-1:0]              stop_bus_i,
    input  logic [Flows-1:0]              stop_position_i,
    output logic [Flows-1:0][2:0]         stop_o         // drover_nic_pkg::flow_stop_e
);
  localparam int unsigned FlowW = Flows > 1 ? $clog2(Flows) : 1;
  localparam int unsigned CreditW = $clog2(FlowLines) + 1;
  localparam int unsigned BookW = $clog2(Reads);
  localparam int unsigned Addresses = 8;
  typedef struct packed {
    logic [FlowW-1:0] flow;
    logic [nic_pkg::IndexBits-1:0] index;  // of the first line
    logic [3:0]       lines;  // less one
    logic             life;
    logic             cached;
  } book_t;
  typedef struct packed {
    logic [51:0]                   page;
    logic [nic_pkg::IndexBits-1:0] index;
    logic [3:0]                    lines;  // less one
    logic                          cached;
  } place_t;

  logic [Flows-1:0] life_q;  // changes when the flow starts: what was asked for before is dropped
  logic [Flows-1:0][nic_pkg::IndexBits-1:0] fetch_q, accept_q;  // the next line to ask for, and to accept
  logic [Flows-1:0][31:0] sequence_q;                           // that it has
  logic [Flows-1:0][CreditW-1:0] credit_q;                      // room in the FIFO that is not reserved

  // ---- a flow is picked
  logic [Flows-1:0] can, pick;
  logic picked_q, room;
  logic [FlowW-1:0] picked_flow_q;
  logic [4:0] picked_lines_q, pick_lines;
  logic picked_cached_q, pick_cached;
  logic [BookW:0] book_level;
  logic [$clog2(Addresses):0] address_level;
  assign room = book_level < (BookW + 1)'(Reads - 2) && address_level < ($clog2(Addresses) + 1)'(Addresses - 3);
  for (genvar f = 0; f < Flows; f++) begin : gen_can
    assign can[f] = want_i[f] && room && !(picked_q && picked_flow_q == FlowW'(f)) &&
                    stop_o[f] == drover_nic_pkg::StopNone && credit_q[f] >= CreditW'(lines_i[f]);
    assign busy_o[f] = credit_q[f] != CreditW'(FlowLines);
  end
  drover_rr_arbiter #(.N(Flows)) u_turn (.clk_i, .rst_ni, .valid_i(can), .take_i(1'b1), .pick_o(pick));
  always_comb begin
    pick_lines  = '0;
    pick_cached = (cached_i & pick) != '0;
    for (int f = 0; f < Flows; f++) if (pick[f]) pick_lines |= lines_i[f];
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) picked_q <= 1'b0;
    else picked_q <= pick != '0;
  end
  always_ff @(posedge clk_i) begin
    picked_flow_q   <= FlowW'(nic_pkg::number_of(64'(pick)));
    picked_lines_q  <= pick_lines;
    picked_cached_q <= pick_cached;
  end

  // ---- its lines are asked for, unless it goes back in this cycle
  book_t book_in, book;
  logic book_valid, book_ready, book_done;
  logic [4:0] lines;
  logic [6:0] to_edge;
  logic [nic_pkg::IndexBits-1:0] index;
  logic back;  // a flow goes back to the line that it accepts next
  logic [FlowW-1:0] beat_flow;
  assign index      = fetch_q[picked_flow_q];
  assign ask_flow_o = nic_pkg::FlowBits'(picked_flow_q);
  assign ask_o      = picked_q && !(back && beat_flow == picked_flow_q) && !start_i[picked_flow_q];
  assign to_edge    = nic_pkg::lines_to_edge(index[5:0], ask_ring_i.lines_log);
  assign lines      = to_edge < 7'(picked_lines_q) ? to_edge[4:0] : picked_lines_q;
  assign ask_what_o.flow   = ask_flow_o;
  assign ask_what_o.lines  = lines;
  assign ask_what_o.cached = picked_cached_q;
  assign ask_what_o.tag    = {ask_ring_i.page[nic_pkg::TagBits-7:0], 6'd0} + index[nic_pkg::TagBits-1:0];
  assign book_in.flow   = picked_flow_q;
  assign book_in.lines  = 4'(lines - 5'd1);
  assign book_in.index  = index;
  assign book_in.life   = life_q[picked_flow_q];
  assign book_in.cached = picked_cached_q;
  drover_fifo #(.Width($bits(book_in)), .Depth(Reads)) u_book (
      .clk_i, .rst_ni, .wvalid_i(ask_o), .wready_o(book_ready), .wdata_i(book_in), .rvalid_o(book_valid),
      .rready_i(book_done), .rdata_o(book), .level_o(book_level));

  place_t place_q;
  logic place_valid_q, address_ready;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) place_valid_q <= 1'b0;
    else place_valid_q <= ask_o;
  end
  always_ff @(posedge clk_i) begin
    place_q.page   <= ask_ring_i.page;
    place_q.index  <= index;
    place_q.lines  <= 4'(lines - 5'd1);
    place_q.cached <= picked_cached_q;
  end
  drover_axi_pkg::ar_t ar_in;
  assign ar_in.addr = {place_q.page, 12'd0} + {42'd0, place_q.index, 6'd0};
  assign ar_in.len  = 8'(place_q.lines);
  drover_fifo #(.Width(drover_axi_pkg::ArBits + 1), .Depth(Addresses)) u_addresses (
      .clk_i, .rst_ni, .wvalid_i(place_valid_q), .wready_o(address_ready), .wdata_i({place_q.cached, ar_in}),
      .rvalid_o(ar_valid_o), .rready_i(ar_ready_i), .rdata_o({ar_cached_o, ar_o}), .level_o(address_level));

  // ---- a beat comes
  drover_axi_pkg::r_t r_q;
  logic r_valid_q, is_next, live, right, is_new, bad, last;
  logic [3:0] count_q;  // beats of its read before it
  logic found_q;        // of which one was accepted
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) r_valid_q <= 1'b0;
    else r_valid_q <= r_valid_i;
  end
  always_ff @(posedge clk_i) r_q <= r_i;

  assign beat_flow   = book.flow;
  assign beat_flow_o = nic_pkg::FlowBits'(beat_flow);
  assign beat_o      = r_valid_q;
  assign last        = count_q == book.lines;
  assign book_done   = r_valid_q && last;
  // A read ends at 4 KB and at the ring's end: its lines differ in the lowest bits alone.
  assign is_next     = {book.index[nic_pkg::IndexBits-1:6], book.index[5:0] + {2'd0, count_q}} == accept_q[beat_flow];
  assign live        = is_next && life_q[beat_flow] == book.life && stop_o[beat_flow] == drover_nic_pkg::StopNone;
  assign bad         = r_q.error || r_q.last != last;
  assign is_new      = r_q.data[nic_pkg::SequenceAt+:32] == sequence_q[beat_flow];
  assign right       = live && !bad && is_new && !start_i[beat_flow];
  assign back        = r_valid_q && live && !right;
  assign beat_what_o.flow     = beat_flow_o;
  assign beat_what_o.accepted = right;
  assign beat_what_o.is_short = live && !right;
  assign beat_what_o.first    = count_q == '0;
  assign beat_what_o.last     = last;
  assign beat_what_o.found    = found_q || right;
  assign beat_what_o.cached   = book.cached;
  assign push_o      = r_valid_q && right;
  assign push_flow_o = beat_flow_o;
  assign push_line_o = r_q.data;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      count_q <= '0;
      found_q <= 1'b0;
    end else if (r_valid_q) begin
      count_q <= last ? '0 : count_q + 4'd1;
      found_q <= !last && (found_q || right);
    end
  end

  // ---- the flows' state
  logic [nic_pkg::IndexBits-1:0] accept_next;
  assign accept_next = nic_pkg::index_behind(accept_q[beat_flow], 5'd1, beat_ring_i.lines_log);
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      life_q     <= '0;
      tail_o     <= '0;
      fetch_q    <= '0;
      accept_q   <= '0;
      sequence_q <= '0;
      stop_o     <= '0;
      credit_q   <= {Flows{CreditW'(FlowLines)}};
    end else begin
      for (int f = 0; f < Flows; f++) begin
        if (ask_o && picked_flow_q == FlowW'(f) && !tail_o[f]) begin
          fetch_q[f] <= nic_pkg::index_behind(index, lines, ask_ring_i.lines_log);
        end
        if (push_o && beat_flow == FlowW'(f)) begin
          accept_q[f] <= accept_next;
          if (accept_next == '0) sequence_q[f] <= sequence_q[f] + 32'd1;
          if (tail_o[f]) fetch_q[f] <= accept_next;
          if (last) tail_o[f] <= 1'b0;
        end
        if (back && beat_flow == FlowW'(f)) begin
          fetch_q[f] <= accept_q[f];
          tail_o[f]  <= 1'b1;
          if (bad) stop_o[f] <= drover_nic_pkg::StopBus;
          else if (Announced) stop_o[f] <= drover_nic_pkg::StopSequence;
        end
        if (stop_bus_i[f]) stop_o[f] <= drover_nic_pkg::StopBus;
        if (stop_position_i[f]) stop_o[f] <= drover_nic_pkg::StopPosition;
        if (start_i[f]) begin
          life_q[f]     <= !life_q[f];
          tail_o[f]     <= 1'b0;
          fetch_q[f]    <= '0;
          accept_q[f]   <= '0;
          sequence_q[f] <= 32'd1;
          stop_o[f]     <= drover_nic_pkg::StopNone;
        end
        credit_q[f] <= credit_q[f] - (ask_o && picked_flow_q == FlowW'(f) ? CreditW'(lines) : '0) +
                       CreditW'(r_valid_q && !right && beat_flow == FlowW'(f)) +
                       CreditW'(pop_i && pop_flow_i[FlowW-1:0] == FlowW'(f));
      end
    end
  end

  `DROVER_ASSERT(ReadsHaveRoomInTheBook, !ask_o || book_ready)
  `DROVER_ASSERT(AddressesHaveRoom, !place_valid_q || address_ready)
  `DROVER_ASSERT(BeatsWereAskedFor, !r_valid_q || book_valid)
  `DROVER_ASSERT(AsksForALine, !ask_o || lines != '0)
  for (genvar f = 0; f < Flows; f++) begin : gen_checks
    `DROVER_ASSERT(CreditIsWhatFits, credit_q[f] <= CreditW'(FlowLines))
    `DROVER_ASSERT(TailReadsTheNextLine, !tail_o[f] || fetch_q[f] == accept_q[f])
  end

  logic unused;
  assign unused = ^{book_valid, book_ready, address_ready, pop_flow_i, beat_ring_i, ask_ring_i};
endmodule
