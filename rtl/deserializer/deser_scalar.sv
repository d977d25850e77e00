// A scalar begins, and is done: it is stored, or pushed on the element stack. A oneof's case word follows.
/* verilator lint_off IMPORTSTAR */
import deser_pkg::*;  // here, and types by their full names: yosys reads it so
import drover_deserializer_pkg::*;
/* verilator lint_on IMPORTSTAR */
module deser_scalar (
    input  deser_pkg::lane_t q_i,  // L's registers
    input  deser_pkg::view_t v_i,  // what L sees beside them
    output deser_pkg::lane_t d_o,  // the registers in the next cycle
    output deser_pkg::act_t  a_o   // what is to be done in this cycle
);
  logic is_key;
  assign is_key = q_i.msg.is_entry && v_i.token.number == MapKeyNumber;

  always_comb begin
    d_o                   = q_i;
    d_o.search.enum_known = 1'b0;
    if (is_key) d_o.msg.key = {v_i.field.log2 == 2'd3 ? v_i.scalar[63:32] : 32'd0, v_i.scalar[31:0]};

    a_o          = '0;
    a_o.st.addr  = v_i.field_addr;
    a_o.st.log2  = v_i.field.log2;
    a_o.st.data  = v_i.scalar;
    a_o.el_wdata = {8'd0, v_i.scalar};
    if (v_i.field.repeated) begin
      a_o.tok_take = 1'b1;
      a_o.el_push  = 1'b1;
    end else begin
      a_o.st.valid = 1'b1;
      a_o.mark_has = 1'b1;
      if (v_i.field.oneof) begin
        d_o.state   = XCase;
        a_o.st.kind = StoreWord;  // the whole slot
        a_o.st.data = v_i.field.log2 == 2'd0 ? {56'd0, v_i.scalar[7:0]}
                      : v_i.field.log2 == 2'd2 ? {32'd0, v_i.scalar[31:0]} : v_i.scalar;
      end else begin
        a_o.tok_take = 1'b1;
      end
    end
  end

  logic unused;
  assign unused = ^{q_i, v_i};
endmodule
