// XKey, XSearch, XEnum: a map entry's key among those of its map; a field number among the steps beyond the slots; a
// value among those of a closed enum.
/* verilator lint_off IMPORTSTAR */
import deser_pkg::*;  // here, and types by their full names: yosys reads it so
import drover_deserializer_pkg::*;
/* verilator lint_on IMPORTSTAR */
module deser_lookup (
    input  deser_pkg::lane_t q_i,  // L's registers
    input  deser_pkg::view_t v_i,  // what L sees beside them
    output deser_pkg::lane_t d_o,  // the registers in the next cycle
    output deser_pkg::act_t  a_o   // what is to be done in this cycle
);
  logic in_enum;
  assign in_enum = q_i.state == XEnum;

  always_comb begin
    d_o = q_i;
    a_o = '0;

    case (q_i.state)
      XKey: begin
        d_o.state = XRun;
        if (!v_i.key.taken) begin
          a_o.key_we   = 1'b1;
          d_o.key.done = 1'b1;
        end else if (v_i.key.same || q_i.key.probes == MaxKeyProbes) begin
          a_o.leave = WhyMapEntries;
        end else begin
          d_o.key.at     = q_i.key.at + 1'b1;
          d_o.key.probes = q_i.key.probes + 6'd1;
          a_o.key_re     = 1'b1;
          d_o.state      = XKey;
        end
      end
      XSearch, XEnum: begin
        d_o.state = q_i.ret;
        if (v_i.probe.equal) begin
          if (!in_enum) d_o.search.found = 1'b1;
          d_o.search.enum_known = in_enum;
        end else begin
          if (v_i.probe.below) d_o.search.lo = v_i.probe.mid + 16'd1;
          else d_o.search.hi = v_i.probe.mid;
          if (d_o.search.lo != d_o.search.hi) begin
            a_o.search_re = !in_enum;
            a_o.enum_re   = in_enum;
            d_o.state     = q_i.state;
          end else if (in_enum && q_i.ret == XRun && !q_i.msg.is_entry) begin
            d_o.unk.forced = 1'b1;  // a value that the enum does not know is kept as an unknown field
          end else if (in_enum) begin
            a_o.leave = WhyClosedEnum;
          end
        end
      end
      default: ;
    endcase
  end

  logic unused;
  assign unused = ^{q_i, v_i};
endmodule
