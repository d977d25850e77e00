// A field that the type does not know: its shortest form, and its place in the String that gathers such fields. That
// grows at the chunk's top, as long as nothing else is put there. Purely combinational.
module deser_unknown (
    input  logic [28:0]  number_i,
    input  logic [2:0]   wire_type_i,
    input  logic [63:0]  value_i,   // or length
    input  logic [12:0]  ptr_i,     // the chunk's top
    input  logic         open_i,    // there is one, at at_i, of size_i bytes
    input  logic [11:0]  at_i,
    input  logic [12:0]  size_i,
    input  logic [12:0]  from_i,    // what was before the field at hand
    output logic [119:0] head_bytes_o,
    output logic [4:0]   head_size_o,
    output logic         more_o,    // it can grow
    output logic         fits_o,
    output logic [13:0]  wanted_o,  // its size with the field
    output logic [12:0]  new_end_o,
    output logic [11:0]  to_o       // where in the chunk the field goes
);
  logic [12:0] old_end;
  logic [31:0] payload;
  deser_head u_head (
      .number_i, .wire_type_i, .value_i, .bytes_o(head_bytes_o), .size_o(head_size_o));
  assign old_end   = {1'b0, at_i} + size_i + 13'd24;  // String, bytes, NUL; rounded up below
  assign more_o    = open_i && {old_end[12:3], 3'd0} == ptr_i;
  assign payload   = wire_type_i == 3'd2 ? value_i[31:0] : 32'd0;
  assign wanted_o  = {1'b0, more_o ? size_i : 13'd0} + 14'(head_size_o) + {2'd0, payload[11:0]};
  assign fits_o    = payload[31:12] == '0 && {1'b0, more_o ? {1'b0, at_i} : ptr_i} + wanted_o + 14'd24 <= 14'd4096;
  assign new_end_o = (more_o ? {1'b0, at_i} : ptr_i) + wanted_o[12:0] + 13'd24;
  assign to_o      = at_i + 12'd16 + from_i[11:0];

  logic unused;
  assign unused = ^{old_end, from_i[12]};
endmodule
