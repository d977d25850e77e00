// A string begins: its place, in the chunk or in a run, and its String, stored or pushed on the element stack. Its
// bytes follow in XCopy, behind a oneof's case word.
/* verilator lint_off IMPORTSTAR */
import deser_pkg::*;  // here, and types by their full names: yosys reads it so
import drover_deserializer_pkg::*;
/* verilator lint_on IMPORTSTAR */
module deser_string (
    input  deser_pkg::lane_t q_i,  // L's registers
    input  deser_pkg::view_t v_i,  // what L sees beside them
    output deser_pkg::lane_t d_o,  // the registers in the next cycle
    output deser_pkg::act_t  a_o   // what is to be done in this cycle
);
  logic is_key, is_empty, needs_chunk, needs_run;
  assign is_key      = q_i.msg.is_entry && v_i.token.number == MapKeyNumber;
  assign is_empty    = v_i.len == '0;
  assign needs_run   = !is_empty && v_i.place.str_large && !v_i.place.large_ok;
  assign needs_chunk = !is_empty && !v_i.place.str_large && !v_i.place.str_fits;

  // Where its bytes go.
  deser_pkg::copy_t cp;
  deser_pkg::element_t element;
  always_comb begin
    cp        = q_i.cp;
    cp.left   = v_i.len;
    cp.utf8   = v_i.field.op == ElemUtf8;
    cp.key    = is_key;
    cp.engine = 1'b0;
    cp.direct = 1'b0;
    cp.nul    = 1'b0;
    cp.addr   = v_i.place.top_addr;
    if (!is_empty && v_i.place.str_large) begin
      cp.direct = 1'b1;
      cp.engine = v_i.field.target;
      cp.nul    = v_i.len[5:0] == '0;
      cp.addr   = {v_i.place.large_row, 6'd0};
    end
  end
  assign element.size = v_i.len;
  assign element.addr = cp.addr;

  always_comb begin
    d_o    = q_i;
    d_o.cp = cp;
    if (is_key) d_o.msg.key = '0;

    a_o          = '0;
    a_o.st.kind  = StoreWords;
    a_o.st.addr  = v_i.field_addr;
    a_o.st.data  = is_empty ? '0 : v_i.place.str_large ? v_i.place.to_run : v_i.place.to_top;
    a_o.st.size  = v_i.len;
    a_o.el_wdata = element;
    if (needs_run) begin
      if (v_i.place.run_fresh) a_o.run_load = 1'b1;
      else a_o.leave = WhyNoRun;
    end else if (needs_chunk) begin
      d_o.ret   = XRun;
      d_o.state = XSwitch;
    end else begin
      if (!is_empty && v_i.place.str_large) a_o.run_take = 1'b1;
      if (!is_empty && !v_i.place.str_large) d_o.ptr = q_i.ptr + v_i.place.str_bytes;
      if (v_i.field.repeated) begin
        a_o.el_push = 1'b1;
      end else begin
        a_o.st.valid = 1'b1;
        a_o.mark_has = 1'b1;
      end
      if (v_i.field.oneof && !v_i.field.repeated) begin
        d_o.state = XCase;
      end else begin
        a_o.tok_take = 1'b1;
        if (is_empty) a_o.front_resume = 1'b1;
        else d_o.state = XCopy;
      end
    end
  end

  logic unused;
  assign unused = ^{q_i, v_i};
endmodule
