// Picks the lanes' bursts in turn, and translates their addresses. The AXI id is the lane's number.
//
//   A  a lane's burst is picked, the TLB asked      B  its answer: where the burst goes
module deser_translate #(
    parameter int unsigned Lanes = 4,
    parameter int unsigned TlbLog2 = 14
) (
    input  logic                         clk_i,
    input  logic                         rst_ni,
    input  logic                         tlb_valid_i,
    input  logic [TlbLog2-1:0]           tlb_page_i,
    input  logic                         tlb_present_i,
    input  logic [deser_pkg::FrameW-1:0] tlb_frame_i,
    input  logic [Lanes-1:0]             awvalid_i,
    output logic [Lanes-1:0]             awready_o,
    input  logic [Lanes-1:0][deser_pkg::AwBits-1:0] aw_i,
    output logic                         burst_valid_o,
    input  logic                         burst_ready_i,
    output deser_pkg::burst_t            burst_o
);
  localparam int unsigned PageRowW = deser_pkg::PageW - 6;  // of a row inside a page

  logic [Lanes-1:0] aw_pick;
  deser_pkg::aw_t a_aw, b_aw_q;
  logic [3:0] a_lane, b_lane_q;
  logic a_ready, b_valid_q, tlb_present;
  drover_rr_arbiter #(.N(Lanes)) u_aw_arbiter (
      .clk_i, .rst_ni, .valid_i(awvalid_i), .take_i(a_ready), .pick_o(aw_pick));
  always_comb begin
    a_aw   = '0;
    a_lane = '0;
    for (int i = 0; i < Lanes; i++) begin
      if (aw_pick[i]) begin
        a_aw   = aw_i[i];
        a_lane = i[3:0];
      end
    end
  end
  assign a_ready   = !b_valid_q || burst_ready_i;
  assign awready_o = a_ready ? aw_pick : '0;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) b_valid_q <= 1'b0;
    else if (a_ready) b_valid_q <= |awvalid_i;
  end
  always_ff @(posedge clk_i) begin
    if (a_ready) begin
      b_aw_q   <= a_aw;
      b_lane_q <= a_lane;
    end
  end
  deser_tlb #(.EntriesLog2(TlbLog2)) u_tlb (
      .clk_i, .load_valid_i(tlb_valid_i), .load_page_i(tlb_page_i), .load_present_i(tlb_present_i),
      .load_frame_i(tlb_frame_i), .re_i(a_ready), .page_i(a_aw.row[deser_pkg::RowW-1:PageRowW]),
      .present_o(tlb_present), .frame_o(burst_o.frame));

  assign burst_valid_o = b_valid_q;
  assign burst_o.where = b_aw_q.engine ? deser_pkg::ToEngine : tlb_present ? deser_pkg::ToHost : deser_pkg::ToNowhere;
  assign burst_o.lane  = b_lane_q;
  assign burst_o.len   = b_aw_q.len;
  assign burst_o.row   = b_aw_q.row;
endmodule
