// Deals the words of one stream out to N takers in turn. Each taker has a FIFO of two words, so that its ready may
// depend on its valid.
module deser_spread #(
    parameter int unsigned N = 4,
    parameter int unsigned Width = 28
) (
    input  logic               clk_i,
    input  logic               rst_ni,
    input  logic               wvalid_i,
    output logic               wready_o,
    input  logic [Width-1:0]   wdata_i,
    output logic [N-1:0]       rvalid_o,
    input  logic [N-1:0]       rready_i,
    output logic [N*Width-1:0] rdata_o
);
  logic [N-1:0] turn_q, has_room;
  assign wready_o = |(turn_q & has_room);
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) turn_q <= N'(1);
    else if (!wready_o || wvalid_i) turn_q <= N'({turn_q, turn_q} >> (N - 1));  // a full one is passed over
  end
  for (genvar i = 0; i < N; i++) begin : gen_taker
    logic [1:0] level;
    drover_fifo #(.Width(Width), .Depth(2)) u_hand (
        .clk_i, .rst_ni, .wvalid_i(wvalid_i && turn_q[i]), .wready_o(has_room[i]), .wdata_i,
        .rvalid_o(rvalid_o[i]), .rready_i(rready_i[i]), .rdata_o(rdata_o[i*Width+:Width]), .level_o(level));
    logic unused;
    assign unused = ^level;
  end
endmodule
