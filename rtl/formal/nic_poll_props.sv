// Proof of nic_poll: a flow that does not poll has no line to find, or an invalidation is on its way to it. So no line
// waits for ever, however the host's write, the poll and the invalidation meet.
//
// One flow, polls of one line, up to three under way. Lines are numbered from the one that is accepted next (0); nic_fetch
// is modelled by where it begins polls: behind each other, and with line 0 while the flow is at its tail. The memory
// around it: the host may write the next line (write_i) at any time. A cached read leaves the line in the coherent cache,
// and is served from there, old as it may be, until its invalidation; a direct read sees memory. When a read is served
// (serve_i), when its beat comes (beat_i) and when an invalidation does (snoop_i) is free. Other lines' invalidations
// (other_i) come at any time, with any tag.
`include "drover_assert.svh"
module nic_poll_props (
    input logic       clk_i,
    input logic       rst_ni,
    input logic       on_i,
    input logic       ask_i,
    input logic       serve_i,
    input logic [1:0] serve_poll_i,
    input logic       beat_i,
    input logic       write_i,
    input logic       snoop_i,
    input logic [1:0] snoop_line_i,
    input logic       other_i,
    input logic [1:0] other_tag_i,
    input logic [1:0] tag_i,       // of a line that comes into view
    input logic       held_next_i  // it is in the cache already, from an earlier poll
);
  localparam int unsigned Lines = 3, Polls = 3;
  drover_nic_pkg::batch_register_t batch;
  drover_nic_pkg::poll_register_t poll;
  drover_nic_pkg::interval_register_t interval;
  always_comb begin
    batch          = '0;
    batch.tx_lines = 5'd1;
    poll           = '0;
    poll.window    = 16'd9;  // and a threshold of zero: a line makes the flow direct until a window has none
    poll.interval  = 16'd2;
    poll.ahead     = 4'd2;
    interval       = '0;
  end

  logic want, cached, direct, waits, begins, ends;
  logic [4:0] lines;
  nic_pkg::ask_t ask_what;
  nic_pkg::beat_t beat_what;
  logic ask, beat, write, snoop, accepted, is_short;
  logic [1:0] snoop_tag, ask_tag;

  // ---- the memory
  logic [Lines-1:0] there_q;            // the host has written it
  logic [Lines-1:0] held_q, held_new_q; // it is in the cache, and as the host wrote it
  logic [Lines-1:0][1:0] tag_q;
  // ---- the polls, the oldest first
  logic [Polls-1:0] under_way_q, served_q, cached_q, found_q, passed_q;  // passed: its line has been accepted already
  logic [Polls-1:0][1:0] line_q;
  logic tail_q;
  logic [1:0] fetch_q;  // the line that a poll before the tail begins with

  assign ask   = ask_i && want && !under_way_q[Polls-1] && fetch_q < 2'(Lines);
  assign beat  = beat_i && under_way_q[0] && served_q[0];
  assign write = write_i && !there_q[Lines-1];
  assign accepted = beat && !passed_q[0] && line_q[0] == '0 && found_q[0];
  assign is_short = beat && !passed_q[0] && line_q[0] == '0 && !found_q[0];

  logic [Lines-1:0] there, held, held_new;
  logic [Polls-1:0] under_way, served, is_cached, found, passed;
  logic [Polls-1:0][1:0] line;
  always_comb begin
    there     = write ? {there_q[Lines-2:0], 1'b1} : there_q;  // the host writes them in their order
    held      = held_q;
    held_new  = held_new_q;
    under_way = under_way_q;
    served    = served_q;
    is_cached = cached_q;
    found     = found_q;
    passed    = passed_q;
    line      = line_q;
    snoop     = 1'b0;
    snoop_tag = other_tag_i;
    ask_tag   = '0;
    for (int i = 0; i < Lines; i++) begin
      if (fetch_q == 2'(i)) ask_tag = tag_q[i];
      if (snoop_i && snoop_line_i == 2'(i) && there_q[i] && held_q[i] && !held_new_q[i]) begin
        snoop     = 1'b1;
        snoop_tag = tag_q[i];
        held[i]   = 1'b0;
      end
      for (int k = 0; k < Polls; k++) begin
        if (serve_i && serve_poll_i == 2'(k) && under_way_q[k] && !served_q[k]) begin
          served[k] = 1'b1;
          if (line_q[k] == 2'(i) && !passed_q[k]) begin
            found[k] = cached_q[k] && held_q[i] ? held_new_q[i] : there_q[i];
            if (cached_q[k] && !held_q[i]) begin
              held[i]     = 1'b1;
              held_new[i] = there_q[i];
            end
          end
        end
      end
    end
    for (int k = 0; k < Polls; k++) begin
      if (ask && !under_way_q[k] && (k == 0 || under_way_q[k-1])) begin
        under_way[k] = 1'b1;
        served[k]    = 1'b0;
        is_cached[k] = cached;
        found[k]     = 1'b0;
        passed[k]    = 1'b0;
        line[k]      = fetch_q;
      end
    end
    if (accepted) begin
      for (int k = 0; k < Polls; k++) begin
        if (line[k] == '0) passed[k] = 1'b1;
        else line[k] = line[k] - 2'd1;
      end
    end
    if (beat) begin
      under_way = under_way >> 1;
      served    = served >> 1;
      is_cached = is_cached >> 1;
      found     = found >> 1;
      passed    = passed >> 1;
      line      = line >> 2;
    end
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      there_q     <= '0;
      held_q      <= '0;
      held_new_q  <= '0;
      tag_q       <= '0;
      under_way_q <= '0;
      served_q    <= '0;
      cached_q    <= '0;
      found_q     <= '0;
      passed_q    <= '0;
      line_q      <= '0;
      tail_q      <= 1'b0;
      fetch_q     <= '0;
    end else begin
      there_q     <= accepted ? there >> 1 : there;
      held_q      <= accepted ? {held_next_i, held[Lines-1:1]} : held;
      held_new_q  <= accepted ? held_new >> 1 : held_new;
      if (accepted) tag_q <= {tag_i, tag_q[Lines-1:1]};
      under_way_q <= under_way;
      served_q    <= served;
      cached_q    <= is_cached;
      found_q     <= found;
      passed_q    <= passed;
      line_q      <= line;
      tail_q      <= !accepted && (tail_q || is_short);
      if (is_short) fetch_q <= '0;
      else fetch_q <= fetch_q + 2'(ask && !tail_q) - 2'(accepted && !tail_q);
    end
  end

  assign ask_what.flow   = '0;
  assign ask_what.lines  = 5'd1;
  assign ask_what.cached = cached;
  assign ask_what.tag    = nic_pkg::TagBits'(ask_tag);
  assign beat_what.flow     = '0;
  assign beat_what.accepted = accepted;
  assign beat_what.is_short = is_short;
  assign beat_what.first    = 1'b1;
  assign beat_what.last     = 1'b1;
  assign beat_what.found    = accepted;
  assign beat_what.cached   = cached_q[0];
  nic_poll #(.Flows(1)) u_poll (
      .clk_i, .rst_ni, .on_i, .start_i(1'b0), .batch_i(batch), .poll_i(poll), .interval_i(interval),
      .snoop_valid_i(snoop || other_i), .snoop_tag_i(nic_pkg::TagBits'(snoop_tag)),
      .tail_i(tail_q), .want_o(want), .lines_o(lines), .cached_o(cached), .ask_i(ask), .ask_what_i(ask_what),
      .beat_i(beat), .beat_what_i(beat_what), .direct_o(direct), .waits_o(waits), .direct_begins_o(begins),
      .direct_ends_o(ends));

  `DROVER_ASSUME_RESET_FIRST
  // Resting is for some cycles only, and only where polls are direct.
  `DROVER_ASSERT(ALineIsPolledOrItsInvalidationComes,
                 !there_q[0] || !on_i || want || under_way_q[0] || direct || (held_q[0] && !held_new_q[0]))
  logic [2:0] rests_q;  // cycles for which a direct flow has not polled
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) rests_q <= '0;
    else if (!direct || want || under_way_q[0] || !on_i) rests_q <= '0;
    else rests_q <= rests_q + 3'd1;
  end
  `DROVER_ASSERT(RestsEnd, rests_q < 3'd4)
  // A flow at its tail is polled at intervals, also while polls are under way.
  logic [2:0] quiet_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) quiet_q <= '0;
    else if (!direct || !tail_q || want || under_way_q[1] || !on_i) quiet_q <= '0;
    else quiet_q <= quiet_q + 3'd1;
  end
  `DROVER_ASSERT(PollsOverlapAtTheTail, quiet_q < 3'd6)
endmodule
