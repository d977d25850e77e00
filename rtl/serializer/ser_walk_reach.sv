// What a state of the walker would read of host memory, whether it may, and whether it is here already, in the
// command's run: addresses and sizes come from the object, and the object is hostile.
/* verilator lint_off IMPORTSTAR */
import ser_walk_pkg::*;  // here, and types by their full names: yosys reads it so
/* verilator lint_on IMPORTSTAR */
module ser_walk_reach (
  input  ser_walk_pkg::state_e state_i,
  input  ser_walk_pkg::frame_t frame_i,
  input  ser_walk_pkg::run_t   run_i,
  input  logic [63:0]                 run_address_i,   // of the next command
  input  logic [31:0]                 run_bytes_i,
  input  logic [6:0]                  op_i,
  input  logic [63:0]                 target_i,
  input  logic [63:0]                 word_i,
  input  logic [63:0]                 slot_i,          // of the object memory
  input  logic [31:0]                 object_bytes_i,  // of the type at hand
  input  logic [63:0]                 base_i,
  input  logic [63:0]                 limit_i,

  output logic [63:0] fetch_address_o,
  output logic [31:0] fetch_bytes_o,
  output logic [35:0] bytes_o,          // that were checked
  output logic        out_of_bounds_o,
  output logic        misaligned_o,
  output logic        here_o,
  output logic [ser_walk_pkg::Mw-1:0] place_o,  // of what is here
  output logic [31:0] chunk_begin_o     // the first element of the chunk that would be fetched
);
  logic [2:0] shift, mask;
  logic [31:0] chunk_elements;
  logic [63:0] address;
  assign shift = ser_walk_pkg::element_shift(op_i);
  assign chunk_elements = frame_i.elements < (32'(ChunkBytes) >> shift) ? frame_i.elements : 32'(ChunkBytes) >> shift;
  assign chunk_begin_o = frame_i.elements - chunk_elements;
  assign out_of_bounds_o = address < base_i || address >= limit_i || {28'd0, bytes_o} > limit_i - address;
  assign misaligned_o = (address[2:0] & mask) != '0;

  always_comb begin
    fetch_address_o = target_i;
    fetch_bytes_o = object_bytes_i;
    address = target_i;
    bytes_o = {4'd0, slot_i[31:0]};
    mask = 3'd0;
    unique case (state_i)
      WkIdle: begin
        fetch_address_o = run_address_i;
        fetch_bytes_o = run_bytes_i < 32'(RunBytes) ? run_bytes_i : 32'(RunBytes);
      end
      WkObject: begin
        bytes_o = {4'd0, object_bytes_i};
        mask = 3'd7;
      end
      WkHeader: begin
        fetch_address_o = frame_i.address + 64'd8 + slot_i;
        fetch_bytes_o = 32'd16;
        address = fetch_address_o;
        bytes_o = 36'd16;
        mask = 3'd7;
      end
      WkUnknown: address = target_i + word_i;
      WkSecond: if (frame_i.repeated) begin
        mask = shift == 3'd0 ? 3'd0 : shift == 3'd2 ? 3'd3 : 3'd7;
        bytes_o = {4'd0, slot_i[31:0]} << shift;
      end
      WkChunk: begin
        fetch_address_o = frame_i.array + ({32'd0, chunk_begin_o} << shift);
        fetch_bytes_o = chunk_elements << shift;
      end
      default: ;
    endcase
  end

  logic [63:0] into;
  assign into = fetch_address_o - run_i.address;
  assign here_o = into < 64'(run_i.size) && {4'd0, fetch_bytes_o} <= 36'(run_i.size) - into[35:0];
  assign place_o = {Ow'(fetch_address_o[63:6] - run_i.address[63:6]), fetch_address_o[5:0]};

  logic unused;
  assign unused = ^frame_i;
endmodule
