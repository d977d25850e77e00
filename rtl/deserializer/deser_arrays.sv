// L's states of open runs (arrays whose length nobody knew: place, owner word, elements), of map keys among those of
// their map, and of the binary searches.
module deser_arrays (
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
    a_o.el_raddr  = q_i.run_base;

    case (q_i.state)
      deser_pkg::XClose: begin
        a_o.st_addr     = q_i.e_obj + {28'd0, q_i.run_off};
        a_o.st_scalar   = 1'b0;
        a_o.st_words    = {96'd0, 32'(v_i.run_count), deser_pkg::relative(v_i.run_array, a_o.st_addr)};
        a_o.st_words_be = 24'h00FFFF;
        d_o.el_addr     = v_i.run_array;
        if (v_i.run_total > 14'd4096) begin
          a_o.fail      = 1'b1;
          a_o.leave     = 1'b1;
          a_o.fail_code = deser_pkg::WhyArraySize;
        end else if (!v_i.run_fits) begin
          d_o.ret   = deser_pkg::XClose;
          d_o.state = deser_pkg::XSwitch;
        end else begin
          a_o.st_valid = 1'b1;
          a_o.el_re    = 1'b1;
          if (v_i.st_ready) begin
            d_o.ptr    = q_i.ptr + v_i.run_total[12:0];
            d_o.e_seen = q_i.e_seen | (64'd1 << q_i.run_off[8:3]);
            d_o.state  = q_i.run_kind == deser_pkg::RunStrings ? deser_pkg::XCloseOwner : deser_pkg::XCloseElem;
          end
        end
      end
      deser_pkg::XCloseOwner: begin
        a_o.st_valid    = 1'b1;
        a_o.st_addr     = q_i.el_addr - 40'd8;
        a_o.st_scalar   = 1'b0;
        a_o.st_words    = {128'd0, 64'd2};
        a_o.st_words_be = 24'h0000FF;
        if (v_i.st_ready) d_o.state = deser_pkg::XCloseElem;
      end
      deser_pkg::XCloseElem: begin
        a_o.st_valid    = 1'b1;
        a_o.st_addr     = q_i.el_addr;
        a_o.scalar_low  = q_i.el_addr[2:0];
        a_o.scalar_in   = v_i.el_rdata[63:0];
        a_o.scalar_log2 = q_i.run_kind[1:0];
        if (q_i.run_kind == deser_pkg::RunStrings) begin
          a_o.st_scalar   = 1'b0;
          a_o.st_words    = v_i.el_rdata[71:40] == '0 ? '0
                            : {96'd0, v_i.el_rdata[71:40], deser_pkg::relative(v_i.el_rdata[39:0], q_i.el_addr)};
          a_o.st_words_be = 24'h00FFFF;
        end else if (q_i.run_kind == deser_pkg::RunPointers) begin
          a_o.st_scalar   = 1'b0;
          a_o.st_words    = {128'd0, deser_pkg::relative(v_i.el_rdata[39:0], q_i.el_addr)};
          a_o.st_words_be = 24'h0000FF;
        end
        a_o.el_raddr = v_i.el_index + 1'b1;
        if (v_i.st_ready) begin
          a_o.el_re = 1'b1;
          case (q_i.run_kind)
            3'd0: d_o.el_addr = q_i.el_addr + 40'd1;
            3'd2: d_o.el_addr = q_i.el_addr + 40'd4;
            deser_pkg::RunStrings: d_o.el_addr = q_i.el_addr + 40'd16;
            default: d_o.el_addr = q_i.el_addr + 40'd8;
          endcase
          if (v_i.el_index + 1'b1 == q_i.sp) begin
            d_o.sp       = q_i.run_base;
            d_o.run_open = 1'b0;
            d_o.map_nest = q_i.map_nest - {7'd0, q_i.run_map};
            d_o.state    = deser_pkg::XRun;
          end
        end
      end
      deser_pkg::XKey: begin
        d_o.state = deser_pkg::XRun;
        if (!v_i.key_taken) begin
          a_o.key_we   = 1'b1;
          d_o.key_done = 1'b1;
        end else if (v_i.key_same || q_i.key_probes == 6'd63) begin
          a_o.fail      = 1'b1;
          a_o.leave     = 1'b1;
          a_o.fail_code = deser_pkg::WhyMapEntries;
        end else begin
          d_o.key_at     = q_i.key_at + 1'b1;
          d_o.key_probes = q_i.key_probes + 6'd1;
          a_o.key_re     = 1'b1;
          d_o.state      = deser_pkg::XKey;
        end
      end
      deser_pkg::XSearch, deser_pkg::XEnum: begin
        d_o.state = q_i.ret;
        if (v_i.search_equal) begin
          d_o.found      = q_i.state == deser_pkg::XSearch ? 1'b1 : q_i.found;
          d_o.enum_known = q_i.state == deser_pkg::XEnum;
        end else begin
          if (v_i.search_below) d_o.lo = v_i.mid + 16'd1;
          else d_o.hi = v_i.mid;
          if (d_o.lo != d_o.hi) begin
            a_o.search_re = q_i.state == deser_pkg::XSearch;
            a_o.enum_re   = q_i.state == deser_pkg::XEnum;
            d_o.state     = q_i.state;
          end else if (q_i.state == deser_pkg::XEnum && q_i.ret == deser_pkg::XRun && !q_i.e_entry) begin
            d_o.unk_force = 1'b1;
          end else if (q_i.state == deser_pkg::XEnum) begin
            a_o.fail      = 1'b1;
            a_o.leave     = 1'b1;
            a_o.fail_code = deser_pkg::WhyClosedEnum;
          end
        end
      end
      default: ;
    endcase
  end

  logic unused;
  assign unused = ^{q_i, v_i};
endmodule
