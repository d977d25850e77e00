// XRead, XReadWait, XHasBits, ProtoACC's way: the reads before a field, one after the other; then the has-bits are
// written back.
/* verilator lint_off IMPORTSTAR */
import deser_pkg::*;  // here, and types by their full names: yosys reads it so
import drover_deserializer_pkg::*;
/* verilator lint_on IMPORTSTAR */
module deser_protoacc (
    input  deser_pkg::lane_t q_i,  // L's registers
    input  deser_pkg::view_t v_i,  // what L sees beside them
    output deser_pkg::lane_t d_o,  // the registers in the next cycle
    output deser_pkg::act_t  a_o   // what is to be done in this cycle
);
  always_comb begin
    d_o         = q_i;
    a_o         = '0;
    a_o.st.kind = StoreHasBits;
    a_o.st.addr = q_i.msg.obj + AddressW'(drover_image_pkg::ObjectHeaderSize);
    a_o.st.data = q_i.msg.has;

    case (q_i.state)
      XRead: if (v_i.arready) d_o.state = XReadWait;
      XReadWait:
      if (v_i.r) begin
        d_o.pa_left = q_i.pa_left - 3'd1;
        d_o.state   = q_i.pa_left == 3'd1 ? XHasBits : XRead;
        if (v_i.r_bad) a_o.error = ErrReadRefused;
      end
      XHasBits: begin
        a_o.st.valid = 1'b1;
        if (v_i.st_ready) begin
          d_o.pa_done = 1'b1;
          d_o.state   = XRun;
        end
      end
      default: ;
    endcase
  end

  logic unused;
  assign unused = ^{q_i, v_i};
endmodule
