// XSwitch, XFinish, XAbort, XDrain: a chunk ends, or a message does, as it should or not. Each flushes the buffer.
/* verilator lint_off IMPORTSTAR */
import deser_pkg::*;  // here, and types by their full names: yosys reads it so
import drover_deserializer_pkg::*;
/* verilator lint_on IMPORTSTAR */
module deser_finish (
    input  deser_pkg::lane_t q_i,  // L's registers
    input  deser_pkg::view_t v_i,  // what L sees beside them
    output deser_pkg::lane_t d_o,  // the registers in the next cycle
    output deser_pkg::act_t  a_o   // what is to be done in this cycle
);
  logic flushable;
  assign flushable = v_i.st_empty && !v_i.eager_busy && !v_i.jobs_full;

  always_comb begin
    d_o = q_i;
    a_o = '0;

    case (q_i.state)
      XSwitch: begin
        if (flushable && !v_i.busy_other && v_i.chunk_valid) begin
          a_o.job_valid   = 1'b1;
          a_o.chunk_ready = 1'b1;
          d_o.chunk       = v_i.chunk;
          d_o.ptr         = '0;
          d_o.buffer      = !q_i.buffer;
          d_o.unk.open    = 1'b0;
          d_o.state       = q_i.ret;
        end
      end
      XFinish: begin
        if (v_i.utf8_bad) begin
          a_o.error = ErrBadUtf8;
        end else if (flushable) begin
          a_o.job_valid  = 1'b1;
          a_o.front_off  = 1'b1;
          a_o.run_commit = 1'b1;
          a_o.win_end    = 1'b1;
          d_o.buffer     = !q_i.buffer;
          d_o.state      = XIdle;
        end
      end
      XAbort: begin
        a_o.is_abort  = 1'b1;
        a_o.front_off = 1'b1;
        // A message is left to software only once its packet is known to be right.
        a_o.win_end = q_i.software;
        if (flushable && (!q_i.software || v_i.over)) begin
          a_o.job_valid   = 1'b1;
          a_o.job_discard = 1'b1;
          a_o.run_commit  = 1'b1;
          d_o.buffer      = !q_i.buffer;
          d_o.state       = XDrain;
        end
      end
      XDrain: begin
        a_o.win_end = 1'b1;
        if (v_i.over) d_o.state = XIdle;
      end
      default: ;
    endcase
  end

  logic unused;
  assign unused = ^{q_i, v_i};
endmodule
