// XClose, XCloseOwner, XCloseElem: the open array leaves the element stack for the chunk. Its Repeated comes first,
// then an owner word if it is of Strings, then its elements, one a cycle.
/* verilator lint_off IMPORTSTAR */
import deser_pkg::*;  // here, and types by their full names: yosys reads it so
import drover_deserializer_pkg::*;
/* verilator lint_on IMPORTSTAR */
module deser_close (
    input  deser_pkg::lane_t q_i,  // L's registers
    input  deser_pkg::view_t v_i,  // what L sees beside them
    output deser_pkg::lane_t d_o,  // the registers in the next cycle
    output deser_pkg::act_t  a_o   // what is to be done in this cycle
);
  logic is_last;
  logic [deser_pkg::AddressW-1:0] repeated_at, size;
  deser_pkg::element_t element;
  assign is_last     = v_i.array.index + 1'b1 == q_i.sp;
  assign repeated_at = q_i.msg.obj + AddressW'(q_i.msg.array.offset);
  assign element     = v_i.array.element;
  always_comb begin
    case (q_i.msg.array.kind)
      ArrayBytes: size = 40'd1;
      ArrayWords: size = 40'd4;
      ArrayStrings: size = AddressW'(drover_object_pkg::WordsBytes);
      default: size = 40'd8;
    endcase
  end

  always_comb begin
    d_o          = q_i;
    a_o          = '0;
    a_o.el_raddr = q_i.msg.array.base;

    case (q_i.state)
      XClose: begin
        a_o.st.kind = StoreWords;
        a_o.st.addr = repeated_at;
        a_o.st.data = deser_pkg::relative(v_i.array.array, repeated_at);
        a_o.st.size = 32'(v_i.array.count);
        d_o.el_addr = v_i.array.array;
        if (v_i.array.total > ChunkBytes[13:0]) begin
          a_o.leave = WhyArraySize;
        end else if (!v_i.array.fits) begin
          d_o.ret   = XClose;
          d_o.state = XSwitch;
        end else begin
          a_o.st.valid = 1'b1;
          a_o.el_re    = 1'b1;
          if (v_i.st_ready) begin
            d_o.ptr      = q_i.ptr + v_i.array.total[12:0];
            d_o.msg.seen = q_i.msg.seen | (64'd1 << deser_pkg::seen_bit(q_i.msg.array.offset));
            d_o.state    = q_i.msg.array.kind == ArrayStrings ? XCloseOwner : XCloseElem;
          end
        end
      end
      XCloseOwner: begin
        a_o.st.valid = 1'b1;
        a_o.st.kind  = StoreWord;
        a_o.st.addr  = q_i.el_addr - 40'd8;
        a_o.st.data  = drover_object_pkg::OwnerReceived;
        if (v_i.st_ready) d_o.state = XCloseElem;
      end
      XCloseElem: begin
        a_o.st.valid = 1'b1;
        a_o.st.addr  = q_i.el_addr;
        a_o.st.log2  = q_i.msg.array.kind[1:0];
        a_o.st.data  = v_i.array.element[63:0];
        a_o.st.size  = element.size;
        if (q_i.msg.array.kind == ArrayStrings) begin
          a_o.st.kind = StoreWords;
          a_o.st.data = element.size == '0 ? '0 : deser_pkg::relative(element.addr, q_i.el_addr);
        end else if (q_i.msg.array.kind == ArrayPointers) begin
          a_o.st.kind = StoreWord;
          a_o.st.data = deser_pkg::relative(element.addr, q_i.el_addr);
        end
        a_o.el_raddr = v_i.array.index + 1'b1;
        if (v_i.st_ready) begin
          a_o.el_re   = 1'b1;
          d_o.el_addr = q_i.el_addr + size;
          if (is_last) begin
            d_o.sp             = q_i.msg.array.base;
            d_o.msg.array.open = 1'b0;
            d_o.map_nest       = q_i.map_nest - {7'd0, q_i.msg.array.is_map};
            d_o.state          = XRun;
          end
        end
      end
      default: ;
    endcase
  end

  logic unused;
  assign unused = ^{q_i, v_i};
endmodule
