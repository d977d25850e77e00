// L's decisions: what the token at hand means, and the first store of it. A scalar is done in one cycle; for the rest,
// the lane goes on in another state (deser_bytes, deser_arrays, deser_messages).
module deser_fields (
    input  deser_pkg::lane_t q_i,  // L's registers,
    input  deser_pkg::view_t v_i,  // what it sees beside them,
    output deser_pkg::lane_t d_o,  // the registers in the next cycle,
    output deser_pkg::act_t  a_o   // and what is to be done in this one
);
  localparam logic [3:0] OpClosedEnum = drover_image_pkg::OpClosedEnum[3:0];
  localparam logic [3:0] OpFixed32 = drover_image_pkg::OpFixed32[3:0];
  localparam logic [3:0] OpFixed64 = drover_image_pkg::OpFixed64[3:0];
  localparam logic [3:0] OpGroup = drover_image_pkg::OpGroup[3:0];
  localparam logic [3:0] OpUtf8 = drover_image_pkg::OpUtf8[3:0];

  always_comb begin
    d_o             = q_i;
    a_o             = '0;
    a_o.st_last     = 1'b1;
    a_o.st_scalar   = 1'b1;
    a_o.st_addr     = v_i.f_addr;
    a_o.scalar_log2 = v_i.f_log2;
    a_o.scalar_low  = v_i.f_addr[2:0];
    a_o.scalar_in   = v_i.scalar;
    a_o.el_wdata    = {8'd0, v_i.scalar};

    case (q_i.state)
      deser_pkg::XRun:
      if (v_i.tok_valid && v_i.st_ready) begin
        if (v_i.tok == deser_pkg::TokError) begin
          a_o.fail      = 1'b1;
          a_o.fail_code = v_i.tok_error;
        end else if (v_i.tok == deser_pkg::TokField && v_i.cfg_protoacc && !q_i.pa_done) begin
          // The descriptor; of a sub-message's type three words more; the has-bits.
          d_o.pa_left = v_i.found && v_i.f_is_message ? 3'd5 : 3'd2;
          d_o.state   = deser_pkg::XRead;
        end else if (v_i.tok != deser_pkg::TokField) begin
          // the end of a message
          if (q_i.run_open) begin
            d_o.state = deser_pkg::XClose;
          end else if (q_i.e_entry && !q_i.key_done) begin
            d_o.key_at     = v_i.key_place;
            a_o.key_re     = 1'b1;
            d_o.key_probes = '0;
            d_o.state      = deser_pkg::XKey;
          end else begin
            d_o.key_done    = 1'b0;
            d_o.unk_open    = 1'b0;
            a_o.tok_take    = 1'b1;
            a_o.st_valid    = q_i.e_has != '0;
            a_o.st_addr     = q_i.e_obj + 40'd16;
            a_o.st_scalar   = 1'b0;
            a_o.st_words    = {128'd0, q_i.e_has};
            a_o.st_words_be = {16'd0, {4{|q_i.e_has[63:32]}}, {4{|q_i.e_has[31:0]}}};
            if (v_i.tok == deser_pkg::TokEnd) d_o.state = deser_pkg::XFinish;
            else a_o.e_pop = 1'b1;
          end
        end else if (!v_i.tok_in_slots && !q_i.searched) begin
          d_o.lo       = '0;
          d_o.hi       = v_i.t_field_count;
          d_o.searched = 1'b1;
          d_o.ret      = deser_pkg::XRun;
          if (v_i.t_field_count != '0) begin
            a_o.search_re = 1'b1;
            d_o.state     = deser_pkg::XSearch;
          end
        end else if (!v_i.found || (v_i.tok_wtype != v_i.f_wtype && !v_i.is_packed) || q_i.unk_force) begin
          // A field that the type does not know. Inside a map entry it is dropped.
          if (v_i.tok_error != deser_pkg::ErrOk && v_i.tok_wtype == 3'd2) begin
            a_o.fail      = 1'b1;
            a_o.fail_code = v_i.tok_error;
          end else if (v_i.tok_wtype == 3'd3 || (!q_i.e_entry && q_i.e_seen[1] && !v_i.unk_more)) begin
            a_o.fail      = 1'b1;
            a_o.leave     = 1'b1;
            a_o.fail_code = deser_pkg::WhyUnknownField;
          end else if (!q_i.e_entry) begin
            if (v_i.unk_fits) begin
              d_o.unk_open = 1'b1;
              d_o.unk_at   = v_i.unk_more ? q_i.unk_at : q_i.ptr[11:0];
              d_o.unk_from = v_i.unk_more ? q_i.unk_size : 13'd0;
              d_o.unk_size = v_i.unk_wanted[12:0];
              d_o.ptr      = {v_i.unk_new_end[12:3], 3'd0};
              d_o.state    = deser_pkg::XUnknown;
            end else if (v_i.unk_more || q_i.ptr == '0) begin
              a_o.fail      = 1'b1;
              a_o.leave     = 1'b1;
              a_o.fail_code = deser_pkg::WhyUnknownField;
            end else begin
              d_o.ret   = deser_pkg::XRun;
              d_o.state = deser_pkg::XSwitch;
            end
          end else begin
            a_o.tok_take = 1'b1;
            d_o.searched = 1'b0;
            d_o.found    = 1'b0;
            if (v_i.tok_wtype == 3'd2) begin
              d_o.cp_left = v_i.len;
              if (v_i.len == '0) a_o.front_resume = 1'b1;
              else d_o.state = deser_pkg::XSkip;
            end
          end
        end else if (v_i.f_is_message && v_i.at_depth_limit) begin
          a_o.fail      = 1'b1;
          a_o.fail_code = deser_pkg::ErrDepthLimit;
        end else if (v_i.tok_error != deser_pkg::ErrOk) begin
          a_o.fail      = 1'b1;
          a_o.fail_code = v_i.tok_error;
        end else if (v_i.f_has_bit == deser_pkg::SideHasBitBeyond) begin
          a_o.fail      = 1'b1;
          a_o.leave     = 1'b1;
          a_o.fail_code = deser_pkg::WhyHasBit;
        end else if (q_i.run_open && (q_i.run_off != v_i.f_offset || v_i.is_packed)) begin
          d_o.state = deser_pkg::XClose;
        end else if (v_i.f_seen && (v_i.is_packed || v_i.f_is_message || v_i.f_oneof || v_i.f_repeated)) begin
          a_o.fail      = 1'b1;
          a_o.leave     = 1'b1;
          a_o.fail_code = v_i.f_oneof ? deser_pkg::WhyOneofAgain
                          : v_i.f_repeated ? deser_pkg::WhySplitRun : deser_pkg::WhyMerge;
        end else if (v_i.f_repeated && !v_i.is_packed && v_i.el_full) begin
          a_o.fail      = 1'b1;
          a_o.leave     = 1'b1;
          a_o.fail_code = deser_pkg::WhyArraySize;
        end else if (v_i.f_op == OpClosedEnum && !v_i.is_packed && !q_i.enum_known) begin
          d_o.lo      = v_i.f_sub[15:0];
          d_o.hi      = v_i.f_sub[15:0] + v_i.f_sub[47:32];
          a_o.enum_re = 1'b1;
          d_o.ret     = deser_pkg::XRun;
          d_o.state   = deser_pkg::XEnum;
        end else if (v_i.is_packed) begin
          // ---- packed
          d_o.cp_left     = v_i.len;
          d_o.cp_key      = 1'b0;
          d_o.cp_utf8     = 1'b0;
          d_o.cp_engine   = 1'b0;
          d_o.cp_direct   = 1'b0;
          d_o.cp_nul      = 1'b0;
          d_o.cp_addr     = v_i.top_addr;
          d_o.pk_count    = '0;
          a_o.st_scalar   = 1'b0;
          a_o.st_words    = {96'd0, v_i.f_log2 == 2'd3 ? v_i.len >> 3 : v_i.len >> 2,
                             v_i.str_large && v_i.packed_fixed ? v_i.to_run : v_i.to_top};
          a_o.st_words_be = 24'h00FFFF;
          if (v_i.len == '0) begin
            a_o.tok_take     = 1'b1;
            a_o.front_resume = 1'b1;
          end else if (v_i.packed_fixed) begin
            if ((v_i.f_op == OpFixed32 && v_i.len[1:0] != '0) || (v_i.f_op == OpFixed64 && v_i.len[2:0] != '0)) begin
              a_o.fail      = 1'b1;
              a_o.fail_code = deser_pkg::ErrTruncated;
            end else if (v_i.str_large) begin
              d_o.cp_direct = 1'b1;
              d_o.cp_engine = v_i.large_engine;
              d_o.cp_addr   = {v_i.large_row, 6'd0};
              if (v_i.large_ok) begin
                a_o.xt_take  = 1'b1;
                a_o.st_valid = 1'b1;
                a_o.tok_take = 1'b1;
                a_o.set_seen = 1'b1;
                d_o.state    = deser_pkg::XCopy;
              end else if (v_i.run_fresh) begin
                a_o.xt_load = 1'b1;
              end else begin
                a_o.fail      = 1'b1;
                a_o.leave     = 1'b1;
                a_o.fail_code = deser_pkg::WhyNoRun;
              end
            end else if (v_i.str_fits) begin
              d_o.ptr      = q_i.ptr + v_i.str_bytes;
              a_o.st_valid = 1'b1;
              a_o.tok_take = 1'b1;
              a_o.set_seen = 1'b1;
              d_o.state    = deser_pkg::XCopy;
            end else begin
              d_o.ret   = deser_pkg::XRun;
              d_o.state = deser_pkg::XSwitch;
            end
          end else if (v_i.packed_too_large) begin
            a_o.fail      = 1'b1;
            a_o.leave     = 1'b1;
            a_o.fail_code = deser_pkg::WhyPackedSize;
          end else if (v_i.str_large) begin
            d_o.cp_direct = 1'b1;
            d_o.cp_engine = v_i.large_engine;
            d_o.cp_addr   = {v_i.large_row, 6'd0};
            if (v_i.large_ok) begin
              d_o.state = deser_pkg::XPacked;  // the token stays: it says which field this is
            end else if (v_i.run_fresh) begin
              a_o.xt_load = 1'b1;
            end else begin
              a_o.fail      = 1'b1;
              a_o.leave     = 1'b1;
              a_o.fail_code = deser_pkg::WhyNoRun;
            end
          end else if (v_i.str_fits) begin
            d_o.state = deser_pkg::XPacked;
          end else begin
            d_o.ret   = deser_pkg::XRun;
            d_o.state = deser_pkg::XSwitch;
          end
        end else if (v_i.f_is_scalar) begin
          // ---- a v_i.scalar
          d_o.enum_known = 1'b0;
          d_o.searched   = 1'b0;
          d_o.found      = 1'b0;
          if (q_i.e_entry && v_i.tok_number == 29'd1) begin  // as it is stored
            d_o.e_key = {v_i.f_log2 == 2'd3 ? v_i.scalar[63:32] : 32'd0, v_i.scalar[31:0]};
          end
          if (v_i.f_repeated) begin
            a_o.tok_take  = 1'b1;
            a_o.el_push   = 1'b1;
            a_o.run_start = !q_i.run_open;
          end else begin
            a_o.st_valid = 1'b1;
            a_o.mark_has = 1'b1;
            if (v_i.f_oneof) begin
              d_o.state       = deser_pkg::XCase;
              a_o.st_words_be = 24'h0000FF;  // the whole slot
              a_o.st_scalar   = 1'b0;
              a_o.st_words    = v_i.f_log2 == 2'd0 ? {184'd0, v_i.scalar[7:0]}
                                : v_i.f_log2 == 2'd2 ? {160'd0, v_i.scalar[31:0]} : {128'd0, v_i.scalar};
            end else begin
              a_o.tok_take = 1'b1;
            end
          end
        end else if (v_i.f_is_string) begin
          // ---- a string
          d_o.cp_left = v_i.len;
          d_o.cp_utf8 = v_i.f_op == OpUtf8;
          d_o.cp_key  = q_i.e_entry && v_i.tok_number == 29'd1;
          if (q_i.e_entry && v_i.tok_number == 29'd1) d_o.e_key = '0;
          d_o.cp_engine = 1'b0;
          d_o.cp_direct = 1'b0;
          d_o.cp_nul    = 1'b0;
          d_o.cp_addr   = v_i.top_addr;
          if (v_i.len != '0 && v_i.str_large) begin
            d_o.cp_direct = 1'b1;
            d_o.cp_engine = v_i.large_engine;
            d_o.cp_addr   = {v_i.large_row, 6'd0};
            d_o.cp_nul    = v_i.len[5:0] == '0;
          end
          a_o.st_scalar   = 1'b0;
          a_o.st_words    = v_i.len == '0 ? '0 : {96'd0, v_i.len, v_i.str_large ? v_i.to_run : v_i.to_top};
          a_o.st_words_be = 24'h00FFFF;
          a_o.el_wdata    = {v_i.len, d_o.cp_addr};
          if (v_i.len != '0 && v_i.str_large && !v_i.large_ok) begin
            if (v_i.run_fresh) begin
              a_o.xt_load = 1'b1;
            end else begin
              a_o.fail      = 1'b1;
              a_o.leave     = 1'b1;
              a_o.fail_code = deser_pkg::WhyNoRun;
            end
          end else if (v_i.len != '0 && !v_i.str_large && !v_i.str_fits) begin
            d_o.ret   = deser_pkg::XRun;
            d_o.state = deser_pkg::XSwitch;
          end else begin
            d_o.searched = 1'b0;
            d_o.found    = 1'b0;
            if (v_i.len != '0) begin
              if (v_i.str_large) a_o.xt_take = 1'b1;
              else d_o.ptr = q_i.ptr + v_i.str_bytes;
            end
            if (v_i.f_repeated) begin
              a_o.el_push   = 1'b1;
              a_o.run_start = !q_i.run_open;
            end else begin
              a_o.st_valid = 1'b1;
              a_o.mark_has = 1'b1;
            end
            if (v_i.f_oneof && !v_i.f_repeated) begin
              d_o.state = deser_pkg::XCase;
            end else begin
              a_o.tok_take = 1'b1;
              if (v_i.len == '0) a_o.front_resume = 1'b1;
              else d_o.state = deser_pkg::XCopy;
            end
          end
        end else begin
          // ---- a message, group or map entry
          if (v_i.f_sub[deser_pkg::SubWordsAt+:10] > 10'd512) begin
            a_o.fail      = 1'b1;
            a_o.leave     = 1'b1;
            a_o.fail_code = deser_pkg::WhyObjectSize;
          end else if (v_i.stack_full) begin
            a_o.fail      = 1'b1;
            a_o.leave     = 1'b1;
            a_o.fail_code = deser_pkg::WhyDepth;
          end else if (!v_i.obj_fits) begin
            d_o.ret   = deser_pkg::XRun;
            d_o.state = deser_pkg::XSwitch;
          end else begin
            d_o.ptr         = q_i.ptr + v_i.obj_bytes;
            a_o.st_scalar   = 1'b0;
            a_o.st_words    = {128'd0, v_i.to_top};
            a_o.st_words_be = 24'h0000FF;
            a_o.el_wdata    = {32'd0, v_i.top_addr};
            if (v_i.f_repeated) begin
              a_o.el_push   = 1'b1;
              a_o.run_start = !q_i.run_open;
            end else begin
              a_o.st_valid = 1'b1;
              a_o.mark_has = 1'b1;
              a_o.set_seen = 1'b1;
            end
            if (v_i.f_oneof) begin
              d_o.el_addr = v_i.top_addr;
              d_o.state   = deser_pkg::XCase;
            end else begin
              a_o.tok_take     = 1'b1;
              d_o.searched     = 1'b0;
              d_o.found        = 1'b0;
              a_o.e_push       = 1'b1;
              a_o.t_push       = 1'b1;
              a_o.t_push_group = v_i.f_op == OpGroup;
              a_o.t_push_limit = v_i.f_op == OpGroup ? v_i.t_limit : v_i.pos + v_i.len;
              a_o.front_resume = 1'b1;
              d_o.e_obj        = v_i.top_addr;
              d_o.e_entry      = v_i.f_map;
              d_o.state        = deser_pkg::XOwner;
            end
          end
        end
      end
      deser_pkg::XCase: begin
        // The case word; then on as without a oneof.
        a_o.st_valid    = 1'b1;
        a_o.st_addr     = q_i.e_obj + {28'd0, v_i.f_case};
        a_o.scalar_in   = {35'd0, v_i.tok_number};
        a_o.scalar_log2 = 2'd2;
        a_o.scalar_low  = a_o.st_addr[2:0];
        if (v_i.st_ready) begin
          a_o.tok_take = 1'b1;
          a_o.set_seen = 1'b1;
          d_o.searched = 1'b0;
          d_o.found    = 1'b0;
          d_o.state    = deser_pkg::XRun;
          if (v_i.f_is_string) begin
            if (v_i.len == '0) a_o.front_resume = 1'b1;
            else d_o.state = deser_pkg::XCopy;
          end else if (v_i.f_is_message) begin
            a_o.e_push       = 1'b1;
            a_o.t_push       = 1'b1;
            a_o.t_push_group = v_i.f_op == OpGroup;
            a_o.t_push_limit = v_i.f_op == OpGroup ? v_i.t_limit : v_i.pos + v_i.len;
            a_o.front_resume = 1'b1;
            d_o.e_obj        = q_i.el_addr;
            d_o.e_entry      = 1'b0;
            d_o.state        = deser_pkg::XOwner;
          end
        end
      end
      default: ;
    endcase
  end

  logic unused;
  assign unused = ^{q_i, v_i};
endmodule
