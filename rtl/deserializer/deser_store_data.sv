// The bytes of a store, from its address on (8-byte aligned), and which of them count. Purely combinational.
/* verilator lint_off IMPORTSTAR */
import deser_pkg::*;  // here, and types by their full names: yosys reads it so
/* verilator lint_on IMPORTSTAR */
module deser_store_data (
    input  deser_pkg::store_t         st_i,
    input  deser_pkg::copy_t          cp_i,    // StoreCopy: the copy at hand,
    input  deser_pkg::beat_t          beat_i,  // its beat
    input  logic [511:0]              win_i,   // and the window
    input  deser_pkg::unknown_place_t unk_i,   // StoreHead
    output logic [511:0]              copy_o,  // the beat, zeros behind it
    output logic [511:0]              data_o,
    output logic [63:0]               be_o
);
  drover_object_pkg::words_t words;
  assign words.data = st_i.data;
  assign words.size = st_i.size;
  assign words.meta = '0;

  // A scalar at its place in its word.
  logic [2:0] low;
  logic [63:0] scalar;
  logic [7:0] scalar_be;
  assign low = st_i.addr[2:0];
  always_comb begin
    case (st_i.log2)
      2'd0: begin
        scalar    = {8{st_i.data[7:0]}};
        scalar_be = 8'd1 << low;
      end
      2'd2: begin
        scalar    = {2{st_i.data[31:0]}};
        scalar_be = low[2] ? 8'hF0 : 8'h0F;
      end
      default: begin
        scalar    = st_i.data;
        scalar_be = 8'hFF;
      end
    endcase
  end

  // A copy's bytes; before them lies rubbish up to the word's beginning. Rows of a run are written whole.
  logic [6:0] copy_end;
  logic [63:0] copy_be;
  assign copy_end = beat_i.count + {4'd0, cp_i.back};
  always_comb begin
    for (int i = 0; i < 64; i++) begin
      copy_o[8*i+:8] = 7'(i) < copy_end ? win_i[8*i+:8] : 8'd0;
      copy_be[i]     = (7'(i) < copy_end && 7'(i) >= {4'd0, cp_i.back}) || cp_i.direct;
    end
  end

  always_comb begin
    data_o = '0;
    be_o   = '0;
    case (st_i.kind)
      StoreScalar: begin
        data_o[63:0] = scalar;
        be_o[7:0]    = scalar_be;
      end
      StoreWord: begin
        data_o[63:0] = st_i.data;
        be_o[7:0]    = '1;
      end
      StoreHasBits: begin
        data_o[63:0] = st_i.data;
        be_o[7:0]    = {{4{|st_i.data[63:32]}}, {4{|st_i.data[31:0]}}};
      end
      StoreWords: begin
        data_o[127:0] = words;
        be_o[15:0]    = '1;
      end
      StoreHead: begin
        data_o[191:0] = {72'd0, unk_i.head_bytes} << {low, 3'd0};
        be_o[23:0]    = ((24'd1 << unk_i.head_size) - 24'd1) << low;
      end
      StoreCopy: begin
        data_o = copy_o;
        be_o   = copy_be;
      end
      default: be_o = '1;  // StoreNulRow
    endcase
  end

  logic unused;
  assign unused = ^{st_i, cp_i, beat_i, unk_i};
endmodule
