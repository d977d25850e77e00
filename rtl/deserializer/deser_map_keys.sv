// Keys of open maps: a table of fingerprints (64 bits) with linear probing. Entries of maps that were closed before the
// outermost open one was opened count as free.
//
// A fingerprint is an integer key itself, and a string's bytes as a polynomial over GF(2), modulo
// x^64 + x^4 + x^3 + x + 1 (of the first 64 bytes; those behind them go round it by 7 bits each beat). So integers and
// strings of up to 8 bytes are compared whole, but for NULs at a string's end. Two longer strings have the same
// fingerprint only if their difference is a multiple of the polynomial: 2^-64 for strings at random.
module deser_map_keys (
    input  logic         clk_i,
    input  logic         rst_ni,
    input  logic         we_i,
    input  logic [deser_pkg::KeysLog2-1:0] waddr_i,
    input  logic [15:0]  map_i,
    input  logic [63:0]  key_i,
    input  logic         re_i,
    input  logic [deser_pkg::KeysLog2-1:0] raddr_i,
    output logic         same_o,   // one cycle after re_i: that map's that key is there,
    output logic         taken_o,  // or another
    input  logic         open_i,   // a map is opened,
    input  logic         only_i,   // and no other is open
    output logic [15:0]  next_o,   // its number
    output logic [deser_pkg::KeysLog2-1:0] place_o,  // where to look for the key first
    input  logic [511:0] beat_i,
    output logic [63:0]  fold_o    // the fingerprint of a beat's 64 bytes
);
  logic [79:0] read;
  drover_sram_1r1w #(.Width(80), .Depth(1 << deser_pkg::KeysLog2)) u_keys (
      .clk_i, .we_i, .waddr_i, .wdata_i({map_i, key_i}), .re_i, .raddr_i, .rdata_o(read));

  // Numbers of maps go on over a reset, which leaves the table as it is: what was in it would be taken for a key of the
  // first maps. At power-up the table is zero, and so is no map's number.
  logic [15:0] next_q = 16'd1;
  logic [15:0] outer_q, age;
  always_ff @(posedge clk_i) if (open_i && rst_ni) next_q <= next_q + 1'b1;
  always_ff @(posedge clk_i) if (open_i && only_i) outer_q <= next_q;
  assign next_o  = next_q;
  assign age     = read[79:64] - outer_q;
  assign taken_o = age < 16'(next_q - outer_q);
  assign same_o  = read == {map_i, key_i};

  logic [31:0] half;
  assign half    = key_i[63:32] ^ key_i[31:0];
  assign place_o = half[9:0] ^ half[19:10] ^ half[30:21] ^ map_i[9:0];

  // x^256 = x^16 + x^12 + x^4 + 1, x^128 = x^8 + x^6 + x^2 + 1, x^64 = x^4 + x^3 + x + 1.
  logic [271:0] high256, sum256;
  logic [151:0] high128, sum128;
  logic [91:0] high64, sum64;
  logic [63:0] rest64;
  assign high256 = {16'd0, beat_i[511:256]};
  assign sum256  = {16'd0, beat_i[255:0]} ^ high256 ^ (high256 << 4) ^ (high256 << 12) ^ (high256 << 16);
  assign high128 = {8'd0, sum256[271:128]};
  assign sum128  = {24'd0, sum256[127:0]} ^ high128 ^ (high128 << 2) ^ (high128 << 6) ^ (high128 << 8);
  assign high64  = {4'd0, sum128[151:64]};
  assign sum64   = {28'd0, sum128[63:0]} ^ high64 ^ (high64 << 1) ^ (high64 << 3) ^ (high64 << 4);
  assign rest64  = {36'd0, sum64[91:64]};
  assign fold_o  = sum64[63:0] ^ rest64 ^ (rest64 << 1) ^ (rest64 << 3) ^ (rest64 << 4);

  logic unused;
  assign unused = ^half;
endmodule
