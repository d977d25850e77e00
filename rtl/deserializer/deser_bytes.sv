// L's states in which bytes move: strings and packed arrays into the chunk or the run, unknown fields behind each
// other, what nobody wants out of the way.
module deser_bytes (
    input  deser_pkg::lane_t q_i,  // L's registers,
    input  deser_pkg::view_t v_i,  // what it sees beside them,
    output deser_pkg::lane_t d_o,  // the registers in the next cycle,
    output deser_pkg::act_t  a_o   // and what is to be done in this one
);
  localparam logic [3:0] OpClosedEnum = drover_image_pkg::OpClosedEnum[3:0];

  always_comb begin
    d_o             = q_i;
    a_o             = '0;
    a_o.st_last     = 1'b1;
    a_o.st_scalar   = 1'b1;
    a_o.st_addr     = v_i.f_addr;
    a_o.scalar_log2 = v_i.f_log2;
    a_o.scalar_in   = v_i.scalar;

    case (q_i.state)
      deser_pkg::XCopy: begin
        a_o.st_copy  = 1'b1;
        a_o.st_addr  = q_i.cp_addr;
        // Where the packet ends inside, a last row of rubbish ends the burst.
        a_o.st_last  = (v_i.cp_last && !q_i.cp_nul) || !v_i.cp_have;
        a_o.st_valid = v_i.cp_have || v_i.pk_cut;
        if (v_i.st_ready && v_i.cp_have) begin
          a_o.consume       = 1'b1;
          a_o.consume_count = v_i.cp_now;
          d_o.cp_left       = q_i.cp_left - 32'(v_i.cp_now);
          d_o.cp_addr       = q_i.cp_addr + 40'd64;
          d_o.cp_first      = 1'b0;
          d_o.cp_back       = '0;
          if (q_i.cp_key) d_o.e_key = {q_i.e_key[56:0], q_i.e_key[63:57]} ^ v_i.beat_fold;
          if (v_i.cp_last) begin
            a_o.front_resume = 1'b1;
            d_o.state        = q_i.cp_nul ? deser_pkg::XNulRow : deser_pkg::XRun;
          end
        end
        if (v_i.st_ready && v_i.pk_cut && !v_i.cp_have) begin
          a_o.fail      = 1'b1;
          a_o.fail_code = deser_pkg::ErrPacketLength;
        end
      end
      deser_pkg::XNulRow: begin
        a_o.st_valid  = 1'b1;
        a_o.st_addr   = q_i.cp_addr;
        a_o.st_scalar = 1'b0;
        a_o.st_words  = '0;
        if (v_i.st_ready) d_o.state = deser_pkg::XRun;
      end
      deser_pkg::XPacked: begin
        a_o.scalar_low = q_i.cp_addr[2:0];
        a_o.st_addr    = q_i.cp_addr;
        if (q_i.cp_left == '0) begin
          d_o.state = deser_pkg::XPackedEnd;
        end else if (v_i.have16) begin
          if (v_i.pk_bad) begin
            a_o.fail      = 1'b1;
            a_o.fail_code = v_i.d_overlong ? deser_pkg::ErrOverlongVarint : deser_pkg::ErrTruncated;
          end else if (v_i.f_op == OpClosedEnum && !q_i.enum_known) begin
            d_o.lo      = v_i.f_sub[15:0];
            d_o.hi      = v_i.f_sub[15:0] + v_i.f_sub[47:32];
            a_o.enum_re = 1'b1;
            d_o.ret     = deser_pkg::XPacked;
            d_o.state   = deser_pkg::XEnum;
          end else begin
            a_o.st_valid = 1'b1;
            if (v_i.st_ready) begin
              d_o.enum_known    = 1'b0;
              a_o.consume       = 1'b1;
              a_o.consume_count = {3'd0, v_i.d_vsize};
              d_o.cp_left       = q_i.cp_left - 32'(v_i.d_vsize);
              d_o.cp_addr       = q_i.cp_addr + (40'd1 << v_i.f_log2);
              d_o.pk_count      = q_i.pk_count + 32'd1;
            end
          end
        end else if (v_i.pk_cut) begin
          a_o.fail      = 1'b1;
          a_o.fail_code = deser_pkg::ErrPacketLength;
        end
      end
      deser_pkg::XPackedEnd: begin
        // The array begins where the chunk's top still is.
        a_o.st_valid    = 1'b1;
        a_o.st_scalar   = 1'b0;
        a_o.st_words    = {96'd0, q_i.pk_count, q_i.cp_direct ? v_i.to_run : v_i.to_top};
        a_o.st_words_be = 24'h00FFFF;
        if (v_i.st_ready) begin
          a_o.xt_take = q_i.cp_direct;
          if (!q_i.cp_direct) begin
            d_o.ptr = {(q_i.cp_addr[deser_pkg::AddrW-1:deser_pkg::OffW] != q_i.chunk), q_i.cp_addr[11:3], 3'd0} +
                      (|q_i.cp_addr[2:0] ? 13'd8 : 13'd0);
          end
          a_o.tok_take     = 1'b1;
          a_o.set_seen     = 1'b1;
          d_o.searched     = 1'b0;
          d_o.found        = 1'b0;
          a_o.front_resume = 1'b1;
          d_o.state        = deser_pkg::XRun;
        end
      end
      deser_pkg::XSkip: begin
        if (v_i.cp_have) begin
          a_o.consume       = 1'b1;
          a_o.consume_count = v_i.cp_now;
          d_o.cp_left       = q_i.cp_left - 32'(v_i.cp_now);
          if (v_i.cp_last) begin
            a_o.front_resume = 1'b1;
            d_o.state        = deser_pkg::XRun;
          end
        end else if (v_i.pk_cut) begin
          a_o.fail      = 1'b1;
          a_o.fail_code = deser_pkg::ErrPacketLength;
        end
      end
      deser_pkg::XUnknown: begin
        a_o.st_valid    = 1'b1;
        a_o.st_addr     = {q_i.chunk, q_i.unk_at};
        a_o.st_scalar   = 1'b0;
        a_o.st_words    = {96'd0, 19'd0, q_i.unk_size, 64'd16};
        a_o.st_words_be = 24'h00FFFF;
        if (v_i.st_ready) d_o.state = q_i.e_seen[1] ? deser_pkg::XUnknownHead : deser_pkg::XUnknownAt;
      end
      deser_pkg::XUnknownAt: begin
        a_o.st_valid    = 1'b1;
        a_o.st_addr     = q_i.e_obj + 40'd8;
        a_o.st_scalar   = 1'b0;
        a_o.st_words    = {128'd0, deser_pkg::relative({q_i.chunk, q_i.unk_at}, a_o.st_addr)};
        a_o.st_words_be = 24'h0000FF;
        d_o.e_seen      = q_i.e_seen | 64'd2;
        if (v_i.st_ready) d_o.state = deser_pkg::XUnknownHead;
      end
      deser_pkg::XUnknownHead: begin
        a_o.st_valid    = 1'b1;
        a_o.st_addr     = {q_i.chunk, v_i.unk_to};
        a_o.st_scalar   = 1'b0;
        a_o.st_words    = {72'd0, v_i.head_bytes} << {v_i.unk_to[2:0], 3'd0};
        a_o.st_words_be = ((24'd1 << v_i.head_size) - 24'd1) << v_i.unk_to[2:0];
        d_o.cp_left     = v_i.len;
        d_o.cp_direct   = 1'b0;
        d_o.cp_engine   = 1'b0;
        d_o.cp_nul      = 1'b0;
        d_o.cp_utf8     = 1'b0;
        d_o.cp_key      = 1'b0;
        d_o.cp_addr     = a_o.st_addr + 40'(v_i.head_size);
        d_o.cp_back     = d_o.cp_addr[2:0];
        if (v_i.st_ready) begin
          a_o.tok_take  = 1'b1;
          d_o.searched  = 1'b0;
          d_o.found     = 1'b0;
          d_o.unk_force = 1'b0;
          d_o.state     = deser_pkg::XRun;
          if (v_i.tok_wtype == 3'd2) begin
            if (v_i.len == '0) a_o.front_resume = 1'b1;
            else d_o.state = deser_pkg::XCopy;
          end
          if (v_i.tok_wtype != 3'd2 || v_i.len == '0) d_o.cp_back = '0;
        end else begin
          d_o.cp_back = '0;
        end
      end
      default: ;
    endcase
  end

  logic unused;
  assign unused = ^{q_i, v_i};
endmodule
