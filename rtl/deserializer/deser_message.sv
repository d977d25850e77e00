// A message, group or map entry begins: its place, and the pointer to it, stored or pushed on the element stack. L and
// T enter it, in a oneof behind the case word.
/* verilator lint_off IMPORTSTAR */
import deser_pkg::*;  // here, and types by their full names: yosys reads it so
import drover_deserializer_pkg::*;
/* verilator lint_on IMPORTSTAR */
module deser_message (
    input  deser_pkg::lane_t q_i,  // L's registers
    input  deser_pkg::view_t v_i,  // what L sees beside them
    output deser_pkg::lane_t d_o,  // the registers in the next cycle
    output deser_pkg::act_t  a_o   // what is to be done in this cycle
);
  localparam logic [9:0] ChunkWords = ChunkBytes[12:3];
  drover_deserializer_pkg::type_word_t sub;
  deser_pkg::element_t element;
  assign sub          = v_i.field.sub;
  assign element.size = '0;
  assign element.addr = v_i.place.top_addr;

  always_comb begin
    d_o = q_i;

    a_o          = '0;
    a_o.st.kind  = StoreWord;
    a_o.st.addr  = v_i.field_addr;
    a_o.st.data  = v_i.place.to_top;
    a_o.el_wdata = element;
    if (sub.object_words > ChunkWords) begin
      a_o.leave = WhyObjectSize;
    end else if (v_i.stack_full) begin
      a_o.leave = WhyDepth;
    end else if (!v_i.place.obj_fits) begin
      d_o.ret   = XRun;
      d_o.state = XSwitch;
    end else begin
      d_o.ptr = q_i.ptr + v_i.place.obj_bytes;
      if (v_i.field.repeated) begin
        a_o.el_push = 1'b1;
      end else begin
        a_o.st.valid  = 1'b1;
        a_o.mark_has  = 1'b1;
        a_o.mark_seen = 1'b1;
      end
      if (v_i.field.oneof) begin
        d_o.el_addr = v_i.place.top_addr;
        d_o.state   = XCase;
      end else begin
        a_o.tok_take        = 1'b1;
        a_o.push            = 1'b1;
        a_o.front_resume    = 1'b1;
        d_o.msg.obj         = v_i.place.top_addr;
        d_o.msg.is_entry    = v_i.field.is_map;
        d_o.state           = XOwner;
      end
    end
  end

  logic unused;
  assign unused = ^{q_i, v_i, sub};
endmodule
