// One field's tag and the value or length behind it, from the 16 bytes at hand; without knowing the schema.
//
// With packed_i there is no tag: the bytes begin with a varint. Bytes behind the message have to be zero, as the
// software codec sees them. Purely combinational.
module deser_token (
    input  logic [127:0] bytes_i,
    input  logic         packed_i,
    output logic [28:0]  number_o,
    output logic [2:0]   wire_type_o,
    output logic [2:0]   tag_size_o,
    output logic [4:0]   size_o,          // of tag and value, or of tag and length
    output logic         tag_overlong_o,  // five bytes that say there is more
    output logic         tag_high_o,      // a tag that needs more than 32 bits
    output logic         tag_minimal_o,
    output logic [63:0]  value_o,         // varint, fixed, or length
    output logic [3:0]   varint_size_o,
    output logic         overlong_o,      // a varint of more than ten bytes
    output logic         length_overlong_o,  // of more than five, or 32 bits
    output logic         value_minimal_o
);
  logic [4:0] tag_more;
  logic [2:0] tag_size;
  logic [31:0] tag;
  logic [79:0] rest;
  logic [9:0] more;

  for (genvar i = 0; i < 5; i++) begin : gen_tag_more
    assign tag_more[i] = bytes_i[8*i+7];
  end
  always_comb begin
    tag_size       = 3'd1;
    tag            = {25'd0, bytes_i[6:0]};
    tag_overlong_o = &tag_more;
    tag_high_o     = 1'b0;
    if (tag_more[0]) begin
      tag_size    = 3'd2;
      tag[13:7]   = bytes_i[14:8];
      if (tag_more[1]) begin
        tag_size    = 3'd3;
        tag[20:14]  = bytes_i[22:16];
        if (tag_more[2]) begin
          tag_size    = 3'd4;
          tag[27:21]  = bytes_i[30:24];
          if (tag_more[3]) begin
            tag_size    = 3'd5;
            tag[31:28]  = bytes_i[35:32];
            tag_high_o  = |bytes_i[38:36];
          end
        end
      end
    end
    case (tag_size)
      3'd1: tag_minimal_o = 1'b1;
      3'd2: tag_minimal_o = |bytes_i[14:8];
      3'd3: tag_minimal_o = |bytes_i[22:16];
      3'd4: tag_minimal_o = |bytes_i[30:24];
      default: tag_minimal_o = |bytes_i[38:32];
    endcase
    if (packed_i) tag_size = 3'd0;
    case (tag_size)
      3'd0: rest = bytes_i[79:0];
      3'd1: rest = bytes_i[8+:80];
      3'd2: rest = bytes_i[16+:80];
      3'd3: rest = bytes_i[24+:80];
      3'd4: rest = bytes_i[32+:80];
      default: rest = bytes_i[40+:80];
    endcase
  end
  assign tag_size_o  = tag_size;
  assign number_o    = tag[31:3];
  assign wire_type_o = packed_i ? 3'd0 : tag[2:0];

  for (genvar i = 0; i < 10; i++) begin : gen_more
    assign more[i] = rest[8*i+7];
  end
  assign overlong_o        = &more;
  assign length_overlong_o = (&more[4:0]) || (&more[3:0] && |rest[38:36]);
  always_comb begin
    varint_size_o = 4'd10;
    for (int i = 8; i >= 0; i--) if (!more[i]) varint_size_o = i[3:0] + 4'd1;
  end
  always_comb begin
    value_minimal_o = 1'b1;
    for (int i = 1; i < 10; i++) if (varint_size_o == i[3:0] + 4'd1) value_minimal_o = |rest[8*i+:7];
  end

  logic [63:0] varint;
  always_comb begin
    varint = '0;
    for (int i = 0; i < 9; i++) if (i[3:0] < varint_size_o) varint[7*i+:7] = rest[8*i+:7];
    if (varint_size_o == 4'd10) varint[63] = rest[72];
    case (wire_type_o)
      3'd1: value_o = rest[63:0];
      3'd5: value_o = {32'd0, rest[31:0]};
      default: value_o = varint;
    endcase
    case (wire_type_o)
      3'd0, 3'd2: size_o = {2'd0, tag_size} + {1'b0, varint_size_o};
      3'd1: size_o = {2'd0, tag_size} + 5'd8;
      3'd5: size_o = {2'd0, tag_size} + 5'd4;
      default: size_o = {2'd0, tag_size};
    endcase
  end
  logic unused;
  assign unused = ^bytes_i;
endmodule
