// XCopy, XNulRow, XSkip: bytes of the window go to the chunk or to a run, or are dropped.
/* verilator lint_off IMPORTSTAR */
import deser_pkg::*;  // here, and types by their full names: yosys reads it so
import drover_deserializer_pkg::*;
/* verilator lint_on IMPORTSTAR */
module deser_copy (
    input  deser_pkg::lane_t q_i,  // L's registers
    input  deser_pkg::view_t v_i,  // what L sees beside them
    output deser_pkg::lane_t d_o,  // the registers in the next cycle
    output deser_pkg::act_t  a_o   // what is to be done in this cycle
);
  always_comb begin
    d_o         = q_i;
    a_o         = '0;
    a_o.st.addr = q_i.cp.addr;

    case (q_i.state)
      XCopy: begin
        a_o.st.kind  = StoreCopy;
        // If the packet ends inside, a last row of rubbish ends the burst.
        a_o.st.more  = v_i.beat.here && (!v_i.beat.last || q_i.cp.nul);
        a_o.st.valid = v_i.beat.here || v_i.pk_cut;
        if (v_i.st_ready && v_i.beat.here) begin
          a_o.consume = 1'b1;
          d_o.cp.left  = q_i.cp.left - 32'(v_i.beat.count);
          d_o.cp.addr  = q_i.cp.addr + 40'd64;
          d_o.cp.first = 1'b0;
          d_o.cp.back  = '0;
          if (q_i.cp.key) d_o.msg.key = {q_i.msg.key[56:0], q_i.msg.key[63:57]} ^ v_i.key.fold;
          if (v_i.beat.last) begin
            a_o.front_resume = 1'b1;
            d_o.state        = q_i.cp.nul ? XNulRow : XRun;
          end
        end
        if (v_i.st_ready && v_i.pk_cut && !v_i.beat.here) a_o.error = ErrPacketLength;
      end
      XNulRow: begin
        a_o.st.valid = 1'b1;
        a_o.st.kind  = StoreNulRow;
        if (v_i.st_ready) d_o.state = XRun;
      end
      XSkip: begin
        if (v_i.beat.here) begin
          a_o.consume = 1'b1;
          d_o.cp.left = q_i.cp.left - 32'(v_i.beat.count);
          if (v_i.beat.last) begin
            a_o.front_resume = 1'b1;
            d_o.state        = XRun;
          end
        end else if (v_i.pk_cut) begin
          a_o.error = ErrPacketLength;
        end
      end
      default: ;
    endcase
    a_o.consume_count = v_i.beat.count;
  end

  logic unused;
  assign unused = ^{q_i, v_i};
endmodule
