// A field begins that the type does not know. It is kept with the object's other unknown fields (deser_keep_unknown);
// inside a map entry it is dropped.
/* verilator lint_off IMPORTSTAR */
import deser_pkg::*;  // here, and types by their full names: yosys reads it so
import drover_deserializer_pkg::*;
/* verilator lint_on IMPORTSTAR */
module deser_unknown_field (
    input  deser_pkg::lane_t q_i,  // L's registers
    input  deser_pkg::view_t v_i,  // what L sees beside them
    output deser_pkg::lane_t d_o,  // the registers in the next cycle
    output deser_pkg::act_t  a_o   // what is to be done in this cycle
);
  logic is_length, is_empty;
  assign is_length = v_i.token.wire_type == WireLength;
  assign is_empty  = v_i.len == '0;

  always_comb begin
    d_o = q_i;
    a_o = '0;
    if (v_i.token.error != ErrOk && is_length) begin
      a_o.error = v_i.token.error;
    end else if (v_i.token.wire_type == WireStartGroup ||
                 (!q_i.msg.is_entry && q_i.msg.seen[SeenUnknown] && !v_i.unk.more)) begin
      a_o.leave = WhyUnknownField;
    end else if (q_i.msg.is_entry) begin
      a_o.tok_take        = 1'b1;
      if (is_length) begin
        d_o.cp.left = v_i.len;
        if (is_empty) a_o.front_resume = 1'b1;
        else d_o.state = XSkip;
      end
    end else if (v_i.unk.fits) begin
      d_o.unk.open = 1'b1;
      d_o.unk.at   = v_i.unk.more ? q_i.unk.at : q_i.ptr[11:0];
      d_o.unk.from = v_i.unk.more ? q_i.unk.size : 13'd0;
      d_o.unk.size = v_i.unk.wanted[12:0];
      d_o.ptr      = {v_i.unk.new_end[12:3], 3'd0};
      d_o.state    = XUnknown;
    end else if (v_i.unk.more || q_i.ptr == '0) begin
      a_o.leave = WhyUnknownField;
    end else begin
      d_o.ret   = XRun;
      d_o.state = XSwitch;
    end
  end

  logic unused;
  assign unused = ^{q_i, v_i};
endmodule
