// Translates region offsets of the host to bus addresses: one entry for each page of 2 MB, written by the driver. The
// answer comes one cycle after the question.
module deser_tlb #(
    parameter int unsigned EntriesLog2 = 14
) (
    input  logic        clk_i,
    input  logic        load_valid_i,
    input  logic [EntriesLog2-1:0] load_page_i,
    input  logic        load_present_i,
    input  logic [42:0] load_frame_i,  // bus address / 2 MB
    input  logic        re_i,
    input  logic [18:0] page_i,        // region offset / 2 MB
    output logic        present_o,
    output logic [42:0] frame_o
);
  logic [43:0] entry;
  logic far_q;
  drover_sram_1r1w #(.Width(44), .Depth(1 << EntriesLog2)) u_entries (
      .clk_i, .we_i(load_valid_i), .waddr_i(load_page_i), .wdata_i({load_present_i, load_frame_i}), .re_i,
      .raddr_i(page_i[EntriesLog2-1:0]), .rdata_o(entry));
  always_ff @(posedge clk_i) begin
    if (re_i) far_q <= (page_i >> EntriesLog2) != '0;
  end
  assign present_o = entry[43] && !far_q;
  assign frame_o   = entry[42:0];
endmodule
