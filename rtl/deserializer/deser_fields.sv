// L in XRun: what the token at hand means (deser_meaning), and what follows. A field is begun, with its first store, by
// the module of its kind: deser_scalar, deser_string, deser_packed, deser_message, deser_unknown_field. A scalar is
// done in one cycle; for the rest, the lane goes on in another state.
/* verilator lint_off IMPORTSTAR */
import deser_pkg::*;  // here, and types by their full names: yosys reads it so
import drover_deserializer_pkg::*;
/* verilator lint_on IMPORTSTAR */
module deser_fields (
    input  deser_pkg::lane_t q_i,  // L's registers
    input  deser_pkg::view_t v_i,  // what L sees beside them
    output deser_pkg::lane_t d_o,  // the registers in the next cycle
    output deser_pkg::act_t  a_o   // what is to be done in this cycle
);
  deser_pkg::meaning_e meaning;
  logic [7:0] error, leave;
  deser_meaning u_meaning (.q_i, .v_i, .meaning_o(meaning), .error_o(error), .leave_o(leave));

  deser_pkg::lane_t scalar_d, string_d, packed_d, message_d, unknown_d, other_d;
  deser_pkg::act_t scalar_a, string_a, packed_a, message_a, unknown_a, other_a;
  deser_scalar u_scalar (.q_i, .v_i, .d_o(scalar_d), .a_o(scalar_a));
  deser_string u_string (.q_i, .v_i, .d_o(string_d), .a_o(string_a));
  deser_packed u_packed (.q_i, .v_i, .d_o(packed_d), .a_o(packed_a));
  deser_message u_message (.q_i, .v_i, .d_o(message_d), .a_o(message_a));
  deser_unknown_field u_unknown_field (.q_i, .v_i, .d_o(unknown_d), .a_o(unknown_a));

  // What comes before a field, or ends a message.
  drover_deserializer_pkg::enum_word_t values;  // of the closed enum
  assign values = v_i.field.sub;
  always_comb begin
    other_d = q_i;
    other_a = '0;
    case (meaning)
      MeansStop: begin
        other_a.error = error;
        other_a.leave = leave;
      end
      MeansReads: begin
        // The descriptor; of a sub-message's type three words more; the has-bits.
        other_d.pa_left = v_i.found && v_i.field.is_message ? 3'd5 : 3'd2;
        other_d.state   = XRead;
      end
      MeansClose: other_d.state = XClose;
      MeansKey: begin
        other_d.key.at     = v_i.key.place;
        other_d.key.probes = '0;
        other_a.key_re     = 1'b1;
        other_d.state      = XKey;
      end
      MeansLeave: begin
        other_d.key.done = 1'b0;
        other_d.unk.open = 1'b0;
        other_a.tok_take = 1'b1;
        other_a.st.valid = q_i.msg.has != '0;
        other_a.st.kind  = StoreHasBits;
        other_a.st.addr  = q_i.msg.obj + AddressW'(drover_image_pkg::ObjectHeaderSize);
        other_a.st.data  = q_i.msg.has;
        if (v_i.token.kind == TokEnd) other_d.state = XFinish;
        else other_a.pop = 1'b1;
      end
      MeansSearch: begin
        other_d.search.lo       = '0;
        other_d.search.hi       = v_i.field_count;
        other_d.search.searched = 1'b1;
        other_d.ret             = XRun;
        if (v_i.field_count != '0) begin
          other_a.search_re = 1'b1;
          other_d.state     = XSearch;
        end
      end
      MeansEnum: begin
        other_d.search.lo = values.first_value[15:0];
        other_d.search.hi = values.first_value[15:0] + values.value_count[15:0];
        other_a.enum_re   = 1'b1;
        other_d.ret       = XRun;
        other_d.state     = XEnum;
      end
      default: ;
    endcase
  end

  always_comb begin
    d_o = other_d;
    a_o = other_a;
    case (meaning)
      MeansScalar: begin
        d_o = scalar_d;
        a_o = scalar_a;
      end
      MeansString: begin
        d_o = string_d;
        a_o = string_a;
      end
      MeansPacked: begin
        d_o = packed_d;
        a_o = packed_a;
      end
      MeansMessage: begin
        d_o = message_d;
        a_o = message_a;
      end
      MeansUnknown: begin
        d_o = unknown_d;
        a_o = unknown_a;
      end
      default: ;
    endcase
  end

  logic unused;
  assign unused = ^{q_i, v_i};
endmodule
