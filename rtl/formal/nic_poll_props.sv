// Proof of nic_poll: a flow that does not poll has no line to find, or an invalidation is on its way to it. So no line
// waits for ever, however the host's write, the poll and the invalidation meet.
//
// One flow, polls of one line. The memory around it: the host may write the line that is looked for (write_i) at any
// time. A cached read leaves the line in the coherent cache, and is served from there, old as it may be, until its
// invalidation; a direct read sees memory. When a read is served (serve_i), when its beat comes (beat_i) and when an
// invalidation does (snoop_i) is free. Other lines' invalidations (other_i) come at any time, with any tag.
`include "drover_assert.svh"
module nic_poll_props (
    input logic       clk_i,
    input logic       rst_ni,
    input logic       on_i,
    input logic       ask_i,
    input logic       serve_i,
    input logic       beat_i,
    input logic       write_i,
    input logic       snoop_i,
    input logic       other_i,
    input logic [1:0] other_tag_i,
    input logic [1:0] tag_i,
    input logic       held_next_i  // the line behind is in the cache already, from an earlier poll
);
  drover_nic_pkg::batch_register_t batch;
  drover_nic_pkg::poll_register_t poll;
  drover_nic_pkg::interval_register_t interval;
  always_comb begin
    batch          = '0;
    batch.tx_lines = 5'd1;
    poll           = '0;
    poll.window    = 16'd9;  // and a threshold of zero: a line makes the flow direct until a window has none
    poll.interval  = 16'd2;
    poll.ahead     = 4'd1;
    interval       = '0;
  end

  logic want, cached, direct, waits, begins, ends;
  logic [4:0] lines;
  nic_pkg::ask_t ask_what;
  nic_pkg::beat_t beat_what;
  logic ask, beat, serve, write, snoop;

  // ---- the memory: the line that is looked for
  logic there_q;            // the host has written it
  logic held_q, held_new_q; // it is in the cache, and as the host wrote it
  logic asked_q, served_q, cached_q, found_q;  // a poll is under way; its line is read; it is new
  logic [1:0] tag_q;        // of the line
  assign ask   = ask_i && want && !asked_q;
  assign serve = serve_i && asked_q && !served_q;
  assign beat  = beat_i && served_q;
  assign write = write_i && !there_q;
  assign snoop = snoop_i && there_q && held_q && !held_new_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      there_q    <= 1'b0;
      held_q     <= 1'b0;
      held_new_q <= 1'b0;
      asked_q    <= 1'b0;
      served_q   <= 1'b0;
      cached_q   <= 1'b0;
      found_q    <= 1'b0;
      tag_q      <= '0;
    end else begin
      if (write) there_q <= 1'b1;
      if (snoop) held_q <= 1'b0;
      if (ask) begin
        asked_q  <= 1'b1;
        cached_q <= cached;
      end
      if (serve) begin
        served_q <= 1'b1;
        found_q  <= cached_q && held_q ? held_new_q : there_q;
        if (cached_q && !held_q) begin
          held_q     <= 1'b1;
          held_new_q <= there_q;
        end
      end
      if (beat) begin
        asked_q  <= 1'b0;
        served_q <= 1'b0;
        if (found_q) begin  // on to the next line, which is not written yet
          there_q    <= 1'b0;
          held_q     <= held_next_i;
          held_new_q <= 1'b0;
          tag_q      <= tag_i;
        end
      end
    end
  end

  assign ask_what.flow   = '0;
  assign ask_what.lines  = 5'd1;
  assign ask_what.cached = cached;
  assign ask_what.tag    = nic_pkg::TagBits'(tag_q);
  assign beat_what.flow     = '0;
  assign beat_what.accepted = found_q;
  assign beat_what.is_short = !found_q;
  assign beat_what.first    = 1'b1;
  assign beat_what.last     = 1'b1;
  assign beat_what.cached   = cached_q;
  nic_poll #(.Flows(1)) u_poll (
      .clk_i, .rst_ni, .on_i, .start_i(1'b0), .batch_i(batch), .poll_i(poll), .interval_i(interval),
      .snoop_valid_i(snoop || other_i), .snoop_tag_i(nic_pkg::TagBits'(snoop ? tag_q : other_tag_i)), .want_o(want),
      .lines_o(lines), .cached_o(cached), .ask_i(ask), .ask_what_i(ask_what), .beat_i(beat), .beat_what_i(beat_what),
      .direct_o(direct), .waits_o(waits), .direct_begins_o(begins), .direct_ends_o(ends));

  `DROVER_ASSUME_RESET_FIRST
  // Resting is for some cycles only, and only where polls are direct.
  `DROVER_ASSERT(ALineIsPolledOrItsInvalidationComes,
                 !there_q || !on_i || want || asked_q || direct || (held_q && !held_new_q))
  logic [2:0] rests_q;  // cycles for which a direct flow has not polled
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) rests_q <= '0;
    else if (!direct || want || asked_q || !on_i) rests_q <= '0;
    else rests_q <= rests_q + 3'd1;
  end
  `DROVER_ASSERT(RestsEnd, rests_q < 3'd4)
endmodule
