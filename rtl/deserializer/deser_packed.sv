// A packed field begins. Elements of a fixed size are copied, and their Repeated is stored now; varints are counted on
// the way, and their Repeated is stored behind them (deser_packed_varints).
/* verilator lint_off IMPORTSTAR */
import deser_pkg::*;  // here, and types by their full names: yosys reads it so
import drover_deserializer_pkg::*;
/* verilator lint_on IMPORTSTAR */
module deser_packed (
    input  deser_pkg::lane_t q_i,  // L's registers
    input  deser_pkg::view_t v_i,  // what L sees beside them
    output deser_pkg::lane_t d_o,  // the registers in the next cycle
    output deser_pkg::act_t  a_o   // what is to be done in this cycle
);
  logic is_empty, is_cut;
  assign is_empty = v_i.len == '0;
  assign is_cut   = (v_i.field.op == ElemFixed32 && v_i.len[1:0] != '0) ||
                    (v_i.field.op == ElemFixed64 && v_i.len[2:0] != '0);

  always_comb begin
    d_o           = q_i;
    d_o.cp.left   = v_i.len;
    d_o.cp.key    = 1'b0;
    d_o.cp.utf8   = 1'b0;
    d_o.cp.engine = 1'b0;
    d_o.cp.direct = 1'b0;
    d_o.cp.nul    = 1'b0;
    d_o.cp.addr   = v_i.place.top_addr;
    d_o.pk_count  = '0;

    a_o         = '0;
    a_o.st.kind = StoreWords;
    a_o.st.addr = v_i.field_addr;
    a_o.st.data = v_i.place.str_large && v_i.field.is_fixed ? v_i.place.to_run : v_i.place.to_top;
    a_o.st.size = v_i.field.log2 == 2'd3 ? v_i.len >> 3 : v_i.len >> 2;
    if (is_empty) begin
      a_o.tok_take     = 1'b1;
      a_o.front_resume = 1'b1;
    end else if (v_i.field.is_fixed && is_cut) begin
      a_o.error = ErrTruncated;
    end else if (!v_i.field.is_fixed && v_i.place.packed_too_large) begin
      a_o.leave = WhyPackedSize;
    end else if (!v_i.place.str_large && !v_i.place.str_fits) begin
      d_o.ret   = XRun;
      d_o.state = XSwitch;
    end else begin
      if (v_i.place.str_large) begin
        d_o.cp.direct = 1'b1;
        d_o.cp.engine = v_i.field.target;
        d_o.cp.addr   = {v_i.place.large_row, 6'd0};
      end
      if (v_i.place.str_large && !v_i.place.large_ok) begin
        if (v_i.place.run_fresh) a_o.run_load = 1'b1;
        else a_o.leave = WhyNoRun;
      end else if (v_i.field.is_fixed) begin
        if (v_i.place.str_large) a_o.run_take = 1'b1;
        else d_o.ptr = q_i.ptr + v_i.place.str_bytes;
        a_o.st.valid  = 1'b1;
        a_o.tok_take  = 1'b1;
        a_o.mark_seen = 1'b1;
        d_o.state     = XCopy;
      end else begin
        d_o.state = XPacked;  // the token stays: it says which field this is
      end
    end
  end

  logic unused;
  assign unused = ^{q_i, v_i};
endmodule
