// Keys of open maps: a table of fingerprints (64 bits) with linear probing. Entries of maps that were closed before the
// outermost open one was opened count as free.
//
// A fingerprint is an integer key itself, and a string's bytes as a polynomial over GF(2), modulo
// x^64 + x^4 + x^3 + x + 1 (of the first 64 bytes; before each further beat it is rotated by 7 bits). So integers
// and strings of up to 8 bytes are compared whole, except for NULs at a string's end. Two longer strings have the same
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
    input  logic         open_i,   // a map is opened,
    input  logic         only_i,   // and no other is open
    output logic [15:0]  next_o,   // its number
    input  logic [511:0] beat_i,
    output deser_pkg::key_place_t key_o  // taken and same: one cycle after re_i
);
  // What the table holds.
  typedef struct packed {
    logic [15:0] number;  // of the map
    logic [63:0] key;
  } entry_t;
  entry_t wanted, read;
  assign wanted.number = map_i;
  assign wanted.key = key_i;
  drover_sram_1r1w #(.Width($bits(wanted)), .Depth(1 << deser_pkg::KeysLog2)) u_keys (
      .clk_i, .we_i, .waddr_i, .wdata_i(wanted), .re_i, .raddr_i, .rdata_o(read));

  // A reset does not clear the table, so it does not restart the maps' numbers either: old entries would be taken for
  // keys of the first maps. At power-up the table is zero; no map has the number zero then.
  logic [15:0] next_q = 16'd1;
  logic [15:0] outer_q, age;
  always_ff @(posedge clk_i) if (open_i && rst_ni) next_q <= next_q + 1'b1;
  always_ff @(posedge clk_i) if (open_i && only_i) outer_q <= next_q;
  assign next_o  = next_q;
  assign age     = read.number - outer_q;
  assign key_o.taken = age < 16'(next_q - outer_q);
  assign key_o.same  = read == wanted;

  logic [31:0] half;
  assign half    = key_i[63:32] ^ key_i[31:0];
  assign key_o.place = half[9:0] ^ half[19:10] ^ half[30:21] ^ map_i[9:0];

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
  assign key_o.fold  = sum64[63:0] ^ rest64 ^ (rest64 << 1) ^ (rest64 << 3) ^ (rest64 << 4);

  logic unused;
  assign unused = ^half;
endmodule
