// XIdle, XOwner: a message begins, with its chunk and its object; and the owner word of an object.
/* verilator lint_off IMPORTSTAR */
import deser_pkg::*;  // here, and types by their full names: yosys reads it so
import drover_deserializer_pkg::*;
/* verilator lint_on IMPORTSTAR */
module deser_start (
    input  deser_pkg::lane_t q_i,  // L's registers
    input  deser_pkg::view_t v_i,  // what L sees beside them
    output deser_pkg::lane_t d_o,  // the registers in the next cycle
    output deser_pkg::act_t  a_o   // what is to be done in this cycle
);
  localparam logic [9:0] ChunkWords = ChunkBytes[12:3];
  drover_deserializer_pkg::type_word_t root;
  logic start;
  assign root  = v_i.root;
  assign start = v_i.cmd_valid && v_i.root_valid && v_i.chunk_valid && !v_i.busy_mine && !v_i.jobs_full && v_i.st_ready;

  always_comb begin
    d_o = q_i;
    a_o = '0;

    case (q_i.state)
      XIdle: begin
        d_o.search.found      = 1'b0;
        d_o.search.searched   = 1'b0;
        d_o.search.enum_known = 1'b0;
        d_o.map_nest          = '0;
        d_o.pa_done           = 1'b0;
        d_o.msg.key           = '0;
        d_o.key.done          = 1'b0;
        d_o.unk.open          = 1'b0;
        d_o.unk.forced        = 1'b0;
        d_o.cp.back           = '0;
        if (start) begin
          a_o.cmd_ready      = 1'b1;
          a_o.chunk_ready    = 1'b1;
          a_o.utf8_clear     = 1'b1;
          a_o.win_start      = 1'b1;
          d_o.chunk          = v_i.chunk;
          d_o.first_chunk    = v_i.chunk;
          d_o.ptr            = {root.object_words, 3'd0};
          d_o.msg.obj        = {v_i.chunk, OffW'(0)};
          d_o.msg.has        = '0;
          d_o.msg.seen       = '0;
          d_o.msg.is_entry   = 1'b0;
          d_o.msg.end_row    = deser_pkg::rows_of({root.object_words, 3'd0});
          d_o.msg.array.open = 1'b0;
          d_o.sp             = '0;
          d_o.code           = ErrOk;
          d_o.software       = 1'b0;
          d_o.state          = XOwner;
          if (!v_i.cmd_known) a_o.error = ErrUnknownType;
          else if (root.object_words > ChunkWords) a_o.leave = WhyObjectSize;
          if (!v_i.cmd_known || root.object_words > ChunkWords) d_o.ptr = '0;
        end
      end
      XOwner: begin
        a_o.st.valid = 1'b1;
        a_o.st.kind  = StoreWord;
        a_o.st.addr  = q_i.msg.obj;
        a_o.st.data  = drover_object_pkg::OwnerReceived;
        if (v_i.st_ready) d_o.state = XRun;
      end
      default: ;
    endcase
  end

  logic unused;
  assign unused = ^{q_i, v_i, root};
endmodule
