// The schema table: FieldSteps as they lie in the schema image, beside each its side word, and the message types.
//
// Load port, 64 bits a word:
//   SpaceImage  the schema image, word after word from its first. The table learns from the header where the lookup
//               area (slots and steps) and the enums' values lie, and keeps those.
//   SpaceSide   side words: word 2n is the low half of side word n, word 2n+1 the high half, which writes both
//   SpaceTypes  message types, by index
// A side word may be written while messages are read: a field's target bit changes so.
`include "drover_assert.svh"
/* verilator lint_off IMPORTSTAR */
import deser_pkg::*;  // here, and types by their full names: yosys reads it so
import drover_deserializer_pkg::*;
/* verilator lint_on IMPORTSTAR */
module deser_table #(
    parameter int unsigned StepsLog2 = 14,
    parameter int unsigned TypesLog2 = 10,
    parameter int unsigned EnumsLog2 = 12
) (
    input  logic                 clk_i,
    input  logic                 rst_ni,
    input  logic                 load_valid_i,
    input  deser_pkg::load_t     load_i,
    input  logic                 step_re_i,
    input  logic [deser_pkg::StepAddrW-1:0] step_addr_i,
    output drover_image_pkg::field_step_t       step_o,
    output drover_deserializer_pkg::side_word_t side_o,
    input  logic                 enum_re_i,
    input  logic [15:0]          enum_addr_i,
    output logic [31:0]          enum_o,  // its number
    input  logic                 type_re_i,
    input  logic [15:0]          type_addr_i,
    output drover_deserializer_pkg::type_word_t type_o
);
  // Two words of the header: how many enum values there are, and where; where the lookup area is, and its size.
  localparam logic [31:0] EnumValuesWord = drover_image_pkg::ImageHeaderEnumValueCountAt / 8;
  localparam logic [31:0] LookupWord = drover_image_pkg::ImageHeaderLookupAt / 8;
  logic [31:0] lookup_q, lookup_words_q, step_index;
  logic [31:0] enums_q, enum_words_q, enum_index;
  logic enum_we;
  logic [63:0] side_low_q;
  logic image_we, step_we, side_we;
  drover_image_pkg::image_header_t header;  // the word at hand, at each place of the header
  drover_image_pkg::enum_value_entry_t enum_value;
  assign header     = {8{load_i.data}};
  assign enum_value = load_i.data;

  assign image_we   = load_valid_i && load_i.space == SpaceImage;
  assign step_index = load_i.addr - lookup_q;
  assign step_we    = image_we && load_i.addr >= lookup_q && step_index < lookup_words_q;
  assign enum_index = load_i.addr - enums_q;
  assign enum_we    = image_we && load_i.addr >= enums_q && enum_index < enum_words_q;
  assign side_we    = load_valid_i && load_i.space == SpaceSide && load_i.addr[0];

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      lookup_q       <= '1;
      lookup_words_q <= '0;
      enums_q        <= '1;
      enum_words_q   <= '0;
    end else if (image_we && load_i.addr == EnumValuesWord) begin
      enum_words_q <= header.enum_value_count;
      enums_q      <= header.enum_values / 8;
    end else if (image_we && load_i.addr == LookupWord) begin
      lookup_q       <= header.lookup / 8;
      lookup_words_q <= header.lookup_size / 8;
    end
  end
  always_ff @(posedge clk_i) begin
    if (load_valid_i && load_i.space == SpaceSide && !load_i.addr[0]) side_low_q <= load_i.data;
  end

  drover_sram_1r1w #(.Width(64), .Depth(1 << StepsLog2)) u_steps (
      .clk_i, .we_i(step_we), .waddr_i(step_index[StepsLog2-1:0]), .wdata_i(load_i.data),
      .re_i(step_re_i), .raddr_i(step_addr_i[StepsLog2-1:0]), .rdata_o(step_o));
  drover_sram_1r1w #(.Width(SideWordBits), .Depth(1 << StepsLog2)) u_sides (
      .clk_i, .we_i(side_we), .waddr_i(load_i.addr[StepsLog2:1]), .wdata_i({load_i.data, side_low_q}),
      .re_i(step_re_i), .raddr_i(step_addr_i[StepsLog2-1:0]), .rdata_o(side_o));
  drover_sram_1r1w #(.Width(32), .Depth(1 << EnumsLog2)) u_enums (
      .clk_i, .we_i(enum_we), .waddr_i(enum_index[EnumsLog2-1:0]), .wdata_i(enum_value.number), .re_i(enum_re_i),
      .raddr_i(enum_addr_i[EnumsLog2-1:0]), .rdata_o(enum_o));
  drover_sram_1r1w #(.Width(TypeWordBits), .Depth(1 << TypesLog2)) u_types (
      .clk_i, .we_i(load_valid_i && load_i.space == SpaceTypes), .waddr_i(load_i.addr[TypesLog2-1:0]),
      .wdata_i(load_i.data[TypeWordBits-1:0]), .re_i(type_re_i), .raddr_i(type_addr_i[TypesLog2-1:0]),
      .rdata_o(type_o));

  logic unused;
  assign unused = ^{step_addr_i, type_addr_i, step_index, enum_addr_i, enum_index, load_i, header, enum_value};

  `DROVER_ASSERT(EnumValuesFit, !enum_we || enum_index < (1 << EnumsLog2))
  `DROVER_ASSERT(LookupAreaFits, !step_we || step_index < (1 << StepsLog2))
endmodule
