// XUnknown, XUnknownAt, XUnknownHead: an unknown field behind the object's others, in one String; what follows a length
// is copied in XCopy.
/* verilator lint_off IMPORTSTAR */
import deser_pkg::*;  // here, and types by their full names: yosys reads it so
import drover_deserializer_pkg::*;
/* verilator lint_on IMPORTSTAR */
module deser_keep_unknown (
    input  deser_pkg::lane_t q_i,  // L's registers
    input  deser_pkg::view_t v_i,  // what L sees beside them
    output deser_pkg::lane_t d_o,  // the registers in the next cycle
    output deser_pkg::act_t  a_o   // what is to be done in this cycle
);
  logic is_length, is_empty;
  logic [63:0] bytes_at;  // of the String's pointer
  logic [deser_pkg::AddressW-1:0] string_at, pointer_at, head_at, behind_head;
  assign is_length   = v_i.token.wire_type == WireLength;
  assign is_empty    = v_i.len == '0;
  assign bytes_at    = {32'd0, drover_object_pkg::WordsBytes};
  assign string_at   = {q_i.chunk, q_i.unk.at};
  assign pointer_at  = q_i.msg.obj + AddressW'(drover_object_pkg::HeaderUnknownAt);
  assign head_at     = {q_i.chunk, v_i.unk.to};
  assign behind_head = head_at + AddressW'(v_i.unk.head_size);

  always_comb begin
    d_o          = q_i;
    a_o          = '0;
    a_o.st.valid = 1'b1;

    case (q_i.state)
      XUnknown: begin
        a_o.st.kind = StoreWords;
        a_o.st.addr = string_at;
        a_o.st.data = bytes_at;
        a_o.st.size = {19'd0, q_i.unk.size};
        if (v_i.st_ready) d_o.state = q_i.msg.seen[SeenUnknown] ? XUnknownHead : XUnknownAt;
      end
      XUnknownAt: begin
        a_o.st.kind               = StoreWord;
        a_o.st.addr               = pointer_at;
        a_o.st.data               = deser_pkg::relative(string_at, pointer_at);
        d_o.msg.seen[SeenUnknown] = 1'b1;
        if (v_i.st_ready) d_o.state = XUnknownHead;
      end
      XUnknownHead: begin
        a_o.st.kind   = StoreHead;
        a_o.st.addr   = head_at;
        d_o.cp.left   = v_i.len;
        d_o.cp.direct = 1'b0;
        d_o.cp.engine = 1'b0;
        d_o.cp.nul    = 1'b0;
        d_o.cp.utf8   = 1'b0;
        d_o.cp.key    = 1'b0;
        d_o.cp.addr   = behind_head;
        d_o.cp.back   = '0;
        if (v_i.st_ready) begin
          a_o.tok_take        = 1'b1;
          d_o.unk.forced      = 1'b0;
          d_o.state           = XRun;
          if (is_length && is_empty) a_o.front_resume = 1'b1;
          if (is_length && !is_empty) begin
            d_o.cp.back = behind_head[2:0];
            d_o.state   = XCopy;
          end
        end
      end
      default: ;
    endcase
  end

  logic unused;
  assign unused = ^{q_i, v_i};
endmodule
