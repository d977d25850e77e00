// XPacked, XPackedEnd: packed varints, one a cycle, into an array at the chunk's top or in a run; then their Repeated.
/* verilator lint_off IMPORTSTAR */
import deser_pkg::*;  // here, and types by their full names: yosys reads it so
import drover_deserializer_pkg::*;
/* verilator lint_on IMPORTSTAR */
module deser_packed_varints (
    input  deser_pkg::lane_t q_i,  // L's registers
    input  deser_pkg::view_t v_i,  // what L sees beside them
    output deser_pkg::lane_t d_o,  // the registers in the next cycle
    output deser_pkg::act_t  a_o   // what is to be done in this cycle
);
  drover_deserializer_pkg::enum_word_t values;  // of the closed enum
  assign values = v_i.field.sub;

  always_comb begin
    d_o = q_i;
    a_o = '0;

    case (q_i.state)
      XPacked: begin
        a_o.st.addr       = q_i.cp.addr;
        a_o.st.log2       = v_i.field.log2;
        a_o.st.data       = v_i.scalar;
        a_o.consume_count = {3'd0, v_i.varint.size};
        if (q_i.cp.left == '0) begin
          d_o.state = XPackedEnd;
        end else if (v_i.varint.here) begin
          if (v_i.varint_bad) begin
            a_o.error = v_i.varint.overlong ? ErrOverlongVarint : ErrTruncated;
          end else if (v_i.field.op == ElemClosedEnum && !q_i.search.enum_known) begin
            d_o.search.lo = values.first_value[15:0];
            d_o.search.hi = values.first_value[15:0] + values.value_count[15:0];
            a_o.enum_re   = 1'b1;
            d_o.ret       = XPacked;
            d_o.state     = XEnum;
          end else begin
            a_o.st.valid = 1'b1;
            if (v_i.st_ready) begin
              a_o.consume           = 1'b1;
              d_o.search.enum_known = 1'b0;
              d_o.cp.left           = q_i.cp.left - 32'(v_i.varint.size);
              d_o.cp.addr           = q_i.cp.addr + (40'd1 << v_i.field.log2);
              d_o.pk_count          = q_i.pk_count + 32'd1;
            end
          end
        end else if (v_i.pk_cut) begin
          a_o.error = ErrPacketLength;
        end
      end
      XPackedEnd: begin
        // The array begins where the chunk's top still is.
        a_o.st.valid = 1'b1;
        a_o.st.kind  = StoreWords;
        a_o.st.addr  = v_i.field_addr;
        a_o.st.data  = q_i.cp.direct ? v_i.place.to_run : v_i.place.to_top;
        a_o.st.size  = q_i.pk_count;
        if (v_i.st_ready) begin
          a_o.run_take = q_i.cp.direct;
          if (!q_i.cp.direct) begin
            d_o.ptr = {deser_pkg::chunk_of(q_i.cp.addr) != q_i.chunk, q_i.cp.addr[11:3], 3'd0} +
                      (|q_i.cp.addr[2:0] ? 13'd8 : 13'd0);
          end
          a_o.tok_take        = 1'b1;
          a_o.mark_seen       = 1'b1;
          a_o.front_resume    = 1'b1;
          d_o.state           = XRun;
        end
      end
      default: ;
    endcase
  end

  logic unused;
  assign unused = ^{q_i, v_i};
endmodule
