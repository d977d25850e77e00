// L's states at a message's ends and a chunk's: the beginning, an object's owner word, a fresh chunk, the end, what is
// given up, and the reads of ProtoACC's way.
module deser_messages (
    input  deser_pkg::lane_t q_i,  // L's registers,
    input  deser_pkg::view_t v_i,  // what it sees beside them,
    output deser_pkg::lane_t d_o,  // the registers in the next cycle,
    output deser_pkg::act_t  a_o   // and what is to be done in this one
);

  always_comb begin
    d_o           = q_i;
    a_o           = '0;
    a_o.st_last   = 1'b1;
    a_o.st_scalar = 1'b1;

    case (q_i.state)
      deser_pkg::XIdle: begin
        d_o.found      = 1'b0;
        d_o.searched   = 1'b0;
        d_o.enum_known = 1'b0;
        d_o.map_nest   = '0;
        d_o.pa_done    = 1'b0;
        d_o.e_key      = '0;
        d_o.key_done   = 1'b0;
        d_o.unk_open   = 1'b0;
        d_o.unk_force  = 1'b0;
        d_o.cp_back    = '0;
        if (v_i.cmd_valid && v_i.root_valid && v_i.chunk_valid && !v_i.busy_mine && !v_i.jobs_full &&
            v_i.st_ready) begin
          a_o.cmd_ready   = 1'b1;
          a_o.chunk_ready = 1'b1;
          d_o.chunk       = v_i.chunk;
          d_o.first_chunk = v_i.chunk;
          d_o.ptr         = {v_i.root[deser_pkg::SubWordsAt+:10], 3'd0};
          d_o.e_obj       = {v_i.chunk, 12'd0};
          d_o.e_has       = '0;
          d_o.e_seen      = '0;
          d_o.e_entry     = 1'b0;
          d_o.e_end       = deser_pkg::rows_of(d_o.ptr);
          d_o.run_open    = 1'b0;
          d_o.sp          = '0;
          a_o.utf8_clear  = 1'b1;
          a_o.win_start   = 1'b1;
          d_o.code        = deser_pkg::ErrOk;
          d_o.software    = 1'b0;
          d_o.state       = deser_pkg::XOwner;
          if (!v_i.cmd_known) begin
            d_o.ptr       = '0;
            a_o.fail      = 1'b1;
            a_o.fail_code = deser_pkg::ErrUnknownType;
          end else if (v_i.root[deser_pkg::SubWordsAt+:10] > 10'd512) begin
            d_o.ptr       = '0;
            a_o.fail      = 1'b1;
            a_o.leave     = 1'b1;
            a_o.fail_code = deser_pkg::WhyObjectSize;
          end
        end
      end
      deser_pkg::XOwner: begin
        a_o.st_valid    = 1'b1;
        a_o.st_addr     = q_i.e_obj;
        a_o.st_scalar   = 1'b0;
        a_o.st_words    = {128'd0, 64'd2};
        a_o.st_words_be = 24'h0000FF;
        if (v_i.st_ready) d_o.state = deser_pkg::XRun;
      end
      deser_pkg::XRead: if (v_i.arready) d_o.state = deser_pkg::XReadWait;
      deser_pkg::XReadWait:
      if (v_i.r) begin
        d_o.pa_left   = q_i.pa_left - 3'd1;
        d_o.state     = q_i.pa_left == 3'd1 ? deser_pkg::XHasBits : deser_pkg::XRead;
        a_o.fail      = v_i.r_bad;
        a_o.fail_code = deser_pkg::ErrReadRefused;
      end
      deser_pkg::XHasBits: begin
        a_o.st_valid    = 1'b1;
        a_o.st_addr     = q_i.e_obj + 40'd16;
        a_o.st_scalar   = 1'b0;
        a_o.st_words    = {128'd0, q_i.e_has};
        a_o.st_words_be = {16'd0, {4{|q_i.e_has[63:32]}}, {4{|q_i.e_has[31:0]}}};
        if (v_i.st_ready) begin
          d_o.pa_done = 1'b1;
          d_o.state   = deser_pkg::XRun;
        end
      end
      deser_pkg::XSwitch: begin
        if (v_i.st_empty && !v_i.eager_busy && !v_i.busy_other && !v_i.jobs_full && v_i.chunk_valid) begin
          a_o.job_valid   = 1'b1;
          a_o.chunk_ready = 1'b1;
          d_o.chunk       = v_i.chunk;
          d_o.ptr         = '0;
          d_o.buffer      = !q_i.buffer;
          d_o.unk_open    = 1'b0;
          d_o.state       = q_i.ret;
        end
      end
      deser_pkg::XFinish: begin
        if (v_i.utf8_bad) begin
          a_o.fail      = 1'b1;
          a_o.fail_code = deser_pkg::ErrBadUtf8;
        end else if (v_i.st_empty && !v_i.eager_busy && !v_i.jobs_full) begin
          a_o.job_valid = 1'b1;
          a_o.front_off = 1'b1;
          a_o.xt_commit = 1'b1;
          a_o.win_end   = 1'b1;
          d_o.buffer    = !q_i.buffer;
          d_o.state     = deser_pkg::XIdle;
        end
      end
      deser_pkg::XAbort: begin
        a_o.is_abort  = 1'b1;
        a_o.front_off = 1'b1;
        // What is left to software is so once its packet is known to be right.
        a_o.win_end = q_i.software;
        if (v_i.st_empty && !v_i.eager_busy && !v_i.jobs_full && (!q_i.software || v_i.over)) begin
          a_o.job_valid   = 1'b1;
          a_o.job_discard = 1'b1;
          a_o.xt_commit   = 1'b1;
          d_o.buffer      = !q_i.buffer;
          d_o.state       = deser_pkg::XDrain;
        end
      end
      deser_pkg::XDrain: begin
        a_o.win_end = 1'b1;
        if (v_i.over) d_o.state = deser_pkg::XIdle;
      end
      default: ;
    endcase
  end

  logic unused;
  assign unused = ^{q_i, v_i};
endmodule
