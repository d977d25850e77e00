// Keys of open maps: a table of fingerprints with linear probing. Entries of maps that were closed before the outermost
// open one was opened count as free.
module deser_map_keys (
    input  logic         clk_i,
    input  logic         we_i,
    input  logic [deser_pkg::KeysLog2-1:0] waddr_i,
    input  logic [15:0]  map_i,
    input  logic [31:0]  key_i,
    input  logic         re_i,
    input  logic [deser_pkg::KeysLog2-1:0] raddr_i,
    output logic [47:0]  read_o,   // map, key; one cycle after re_i
    output logic         taken_o,
    input  logic [15:0]  outer_i,  // the outermost open map
    input  logic [15:0]  next_i,   // behind the innermost
    input  logic [511:0] beat_i,
    output logic [31:0]  fold_o    // the 64 bytes of a beat, folded; places count
);
  drover_sram_1r1w #(.Width(48), .Depth(1 << deser_pkg::KeysLog2)) u_keys (
      .clk_i, .we_i, .waddr_i, .wdata_i({map_i, key_i}), .re_i, .raddr_i, .rdata_o(read_o));
  logic [15:0] age;
  assign age     = read_o[47:32] - outer_i;
  assign taken_o = age < 16'(next_i - outer_i);
  always_comb begin
    fold_o = '0;
    for (int i = 0; i < 16; i++) begin
      fold_o = fold_o ^ (beat_i[32*i+:32] << ((i * 5) % 32)) | (beat_i[32*i+:32] >> ((32 - (i * 5) % 32) % 32));
    end
  end
endmodule
