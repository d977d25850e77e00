// The coherent interface: which TX rings to poll, and how.
//
// A flow's ring is polled through the NIC's coherent cache, a poll at a time. A poll whose first line is not new makes
// the flow wait until that line leaves the cache: the host writes it. While a flow gets many lines (the threshold), it
// is polled past the cache, several polls under way: each behind the other while they are full, and at the flow's tail
// one in each interval, all of which begin with the next line (nic_fetch). So a line that comes to a quiet flow waits
// for an interval at the most, and not for a poll to be back.
//
// When a flow comes to its tail, or leaves it, what is under way is of little use any more, and does not count among the
// polls of which a flow may have so many.
//
// No wake-up is lost: what a flow waits for (tag_q) is known before its poll can reach the memory, and an invalidation
// since then (snooped_q) makes it poll again instead of waiting. Only the first line counts for that: a poll that ends
// later is followed by another one, which begins with the line that was not new. Tags are a part of the address: another
// line with the same one costs a poll.
`include "drover_assert.svh"
module nic_poll #(
    parameter int unsigned Flows = 16
) (
    input  logic                          clk_i,
    input  logic                          rst_ni,
    input  logic [Flows-1:0]              on_i,
    input  logic [Flows-1:0]              start_i,
    input  drover_nic_pkg::batch_register_t    batch_i,
    input  drover_nic_pkg::poll_register_t     poll_i,
    input  drover_nic_pkg::interval_register_t interval_i,
    input  logic                          snoop_valid_i,
    input  logic [nic_pkg::TagBits-1:0]   snoop_tag_i,

    input  logic [Flows-1:0]              tail_i,  // all that is known to be there was asked for
    output logic [Flows-1:0]              want_o,
    output logic [Flows-1:0][4:0]         lines_o,
    output logic [Flows-1:0]              cached_o,
    input  logic                          ask_i,
    input  nic_pkg::ask_t                 ask_what_i,
    input  logic                          beat_i,
    input  nic_pkg::beat_t                beat_what_i,

    output logic [Flows-1:0]              direct_o,
    output logic [Flows-1:0]              waits_o,          // begins to wait
    output logic [Flows-1:0]              direct_begins_o,
    output logic [Flows-1:0]              direct_ends_o
);
  localparam int unsigned FlowW = Flows > 1 ? $clog2(Flows) : 1;
  logic [Flows-1:0] direct_q, waiting_q, snooped_q, resting_q, tail_q;
  logic [Flows-1:0] idle, counted;  // no poll is under way; stale ones are
  logic [Flows-1:0][nic_pkg::TagBits-1:0] tag_q;
  logic [Flows-1:0][3:0] polls_q, stale_q;  // under way; of these, since before the flow came to its tail or left it
  logic [Flows-1:0][3:0] ahead_q;           // before the tail: polls at most
  logic [Flows-1:0][2:0] lines_log_q;       // adaptive: of a poll
  logic [Flows-1:0][15:0] count_q;          // lines in this window

  // ---- polls overlap where the NIC has few under way
  logic [7:0] total_q;  // of all flows; nic_fetch has no more reads than that
  logic few_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      total_q <= '0;
      few_q   <= 1'b1;
    end else begin
      total_q <= total_q + 8'(ask_i) - 8'(beat_i && beat_what_i.last);
      few_q   <= total_q < 8'(poll_i.ahead);
    end
  end

  // ---- windows, intervals and refreshes are the same for all flows
  logic [15:0] window_q, rest_q;
  logic [31:0] refresh_q;
  logic window_end, rest_end, refresh;
  assign window_end = window_q >= poll_i.window;
  assign rest_end   = rest_q >= poll_i.interval;
  assign refresh    = interval_i.refresh != '0 && refresh_q >= interval_i.refresh;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      window_q  <= '0;
      rest_q    <= '0;
      refresh_q <= '0;
    end else begin
      window_q  <= window_end ? 16'd1 : window_q + 16'd1;
      rest_q    <= rest_end ? 16'd1 : rest_q + 16'd1;
      refresh_q <= refresh || interval_i.refresh == '0 ? 32'd1 : refresh_q + 32'd1;
    end
  end

  assign direct_o = direct_q;
  assign cached_o = ~direct_q;
  for (genvar f = 0; f < Flows; f++) begin : gen_flow
    logic asked, beat, done, full, found_less, snooped, waits, is_many, more;
    logic [3:0] fresh;
    logic [4:0] adapted;
    logic [15:0] count;
    assign asked      = ask_i && ask_what_i.flow == nic_pkg::FlowBits'(f);
    assign beat       = beat_i && beat_what_i.flow == nic_pkg::FlowBits'(f);
    assign done       = beat && beat_what_i.last;
    assign full       = done && beat_what_i.accepted;
    assign found_less = beat && beat_what_i.is_short;
    assign snooped    = snoop_valid_i && snoop_tag_i == tag_q[f];
    assign waits      = found_less && beat_what_i.first && beat_what_i.cached && !direct_q[f] && !snooped_q[f];
    assign waits_o[f] = waits;

    assign count   = count_q[f] + 16'(beat && beat_what_i.accepted && count_q[f] != '1);
    assign is_many = count > poll_i.threshold;
    assign direct_begins_o[f] = !direct_q[f] && is_many;
    assign direct_ends_o[f]   = direct_q[f] && window_end && !is_many;

    assign adapted    = 5'd1 << lines_log_q[f];
    assign lines_o[f] = batch_i.adaptive ? nic_pkg::least(adapted, batch_i.tx_lines) : batch_i.tx_lines;
    assign fresh      = polls_q[f] - stale_q[f];
    assign more       = !resting_q[f] && polls_q[f] != '1 && fresh < poll_i.ahead &&
                        (tail_i[f] ? few_q : fresh < ahead_q[f]);
    assign want_o[f]  = on_i[f] && !waiting_q[f] && (polls_q[f] == '0 ? !resting_q[f] || !direct_q[f]
                                                                      : direct_q[f] && more);

    always_ff @(posedge clk_i or negedge rst_ni) begin
      if (!rst_ni) begin
        direct_q[f]    <= 1'b0;
        waiting_q[f]   <= 1'b0;
        snooped_q[f]   <= 1'b0;
        resting_q[f]   <= 1'b0;
        tail_q[f]      <= 1'b0;
        stale_q[f]     <= '0;
        tag_q[f]       <= '0;
        polls_q[f]     <= '0;
        ahead_q[f]     <= 4'd1;
        lines_log_q[f] <= '0;
        count_q[f]     <= '0;
      end else begin
        polls_q[f] <= polls_q[f] + 4'(asked) - 4'(done);
        tail_q[f]  <= tail_i[f];
        if (tail_q[f] != tail_i[f]) stale_q[f] <= polls_q[f] - 4'(done);
        else if (done && stale_q[f] != '0) stale_q[f] <= stale_q[f] - 4'd1;
        count_q[f] <= window_end || start_i[f] ? '0 : count;
        if (direct_begins_o[f]) direct_q[f] <= 1'b1;
        if (direct_ends_o[f] || start_i[f]) direct_q[f] <= 1'b0;

        if (asked) tag_q[f] <= ask_what_i.tag;
        snooped_q[f] <= !asked && (snooped_q[f] || snooped);
        waiting_q[f] <= (waiting_q[f] || waits) && !snooped && !refresh && !start_i[f] && !direct_begins_o[f];
        resting_q[f] <= (asked && tail_i[f] || found_less || resting_q[f] && !rest_end) && !start_i[f] && direct_q[f];

        if (full && !tail_i[f] && ahead_q[f] < poll_i.ahead) ahead_q[f] <= ahead_q[f] << 1;
        if (full && lines_log_q[f] < 3'd4) lines_log_q[f] <= lines_log_q[f] + 3'd1;
        if (found_less) begin
          ahead_q[f] <= 4'd1;
          if (lines_log_q[f] != '0) lines_log_q[f] <= lines_log_q[f] - 3'd1;
        end
      end
    end
    assign idle[f]    = polls_q[f] == '0;
    assign counted[f] = stale_q[f] <= polls_q[f];
  end
  `DROVER_ASSERT(CachedPollsOneByOne, !ask_i || !ask_what_i.cached || idle[ask_what_i.flow[FlowW-1:0]])
  `DROVER_ASSERT(PollsAreCounted, !(beat_i && beat_what_i.last) || !idle[beat_what_i.flow[FlowW-1:0]])
  `DROVER_ASSERT(StalePollsAreUnderWay, counted == '1)

  logic unused;
  assign unused = ^{batch_i, interval_i, poll_i, ask_what_i, beat_what_i, counted};
endmodule
