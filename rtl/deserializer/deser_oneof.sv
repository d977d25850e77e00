// XCase: the case word of a oneof, behind the first store of its member; then on as without a oneof.
/* verilator lint_off IMPORTSTAR */
import deser_pkg::*;  // here, and types by their full names: yosys reads it so
import drover_deserializer_pkg::*;
/* verilator lint_on IMPORTSTAR */
module deser_oneof (
    input  deser_pkg::lane_t q_i,  // L's registers
    input  deser_pkg::view_t v_i,  // what L sees beside them
    output deser_pkg::lane_t d_o,  // the registers in the next cycle
    output deser_pkg::act_t  a_o   // what is to be done in this cycle
);
  always_comb begin
    d_o = q_i;

    a_o          = '0;
    a_o.st.valid = 1'b1;
    a_o.st.addr  = q_i.msg.obj + AddressW'(v_i.field.case_offset);
    a_o.st.log2  = 2'd2;
    a_o.st.data  = {35'd0, v_i.token.number};
    if (v_i.st_ready) begin
      a_o.tok_take        = 1'b1;
      a_o.mark_seen       = 1'b1;
      d_o.state           = XRun;
      if (v_i.field.is_string) begin
        if (v_i.len == '0) a_o.front_resume = 1'b1;
        else d_o.state = XCopy;
      end else if (v_i.field.is_message) begin
        a_o.push         = 1'b1;
        a_o.front_resume = 1'b1;
        d_o.msg.obj      = q_i.el_addr;
        d_o.msg.is_entry = 1'b0;
        d_o.state        = XOwner;
      end
    end
  end

  logic unused;
  assign unused = ^{q_i, v_i};
endmodule
