// The deserializer: N lanes behind one stream of wire bytes, before one path of DMA writes.
//
//   rx, cmd -> dispatch -> lane 0..N-1 -> deser_translate -> deser_write_ports -> host_*   (AXI4, write channels)
//                              |          (arbiter, TLB)                     +-> hbm_*    (engine memory)
//                              +-> records -> cmpl
//
// Dispatch gives messages to the lanes in turn and passes over a lane that has no room. Bursts of different lanes do
// not interleave; the AXI id is the lane's number. A burst to a page that the TLB does not know is dropped, and the
// message's record becomes an error.
`include "drover_assert.svh"
/* verilator lint_off IMPORTSTAR */
import deser_pkg::*;  // here, and types by their full names: yosys reads it so
import drover_deserializer_pkg::*;
/* verilator lint_on IMPORTSTAR */
module drover_deserializer #(
    parameter int unsigned Lanes = 4,
    parameter int unsigned StepsLog2 = 14,
    parameter int unsigned TypesLog2 = 10,
    parameter int unsigned TlbLog2 = 14,
    parameter int unsigned RxBeats = 32,      // of wire bytes that wait before each lane
    parameter int unsigned FreeChunks = 1024  // of the free-list FIFO
) (
    input  logic         clk_i,
    input  logic         rst_ni,
    // configuration, stable while messages are read
    input  logic         cfg_one_shot_i,
    input  logic         cfg_eager_i,          // with one-shot: what is final goes out while the link would idle
    input  logic [Lanes-1:0] cfg_lanes_i,       // which lanes get messages
    input  logic         cfg_protoacc_i,
    input  logic [63:0]  cfg_descriptors_i,  // bus address of the first, 64-byte aligned
    input  logic [7:0]   cfg_depth_limit_i,
    input  logic [ChunkW-1:0] cfg_host_base_i,
    input  logic [ChunkW-1:0] cfg_host_limit_i,
    input  logic [ChunkW-1:0] cfg_engine_base_i,
    input  logic [ChunkW-1:0] cfg_engine_limit_i,
    // schema table (deser_table.sv) and TLB
    input  logic         load_valid_i,
    input  logic [1:0]   load_space_i,
    input  logic [31:0]  load_addr_i,
    input  logic [63:0]  load_data_i,
    input  logic         tlb_valid_i,
    input  logic [13:0]  tlb_page_i,
    input  logic         tlb_present_i,
    input  logic [FrameW-1:0] tlb_frame_i,
    // messages
    input  logic         cmd_valid_i,
    output logic         cmd_ready_o,
    input  logic [15:0]  cmd_type_i,
    input  logic [31:0]  cmd_length_i,
    input  logic [31:0]  cmd_cookie_i,
    input  logic [511:0] rx_tdata_i,
    input  logic [63:0]  rx_tkeep_i,
    input  logic         rx_tlast_i,
    input  logic         rx_tvalid_i,
    output logic         rx_tready_o,
    // free memory
    input  logic         chunk_valid_i,
    output logic         chunk_ready_o,
    input  logic [ChunkW-1:0] chunk_i,
    input  logic         run_valid_i,
    output logic         run_ready_o,
    input  logic [ChunkW-1:0] run_first_i,
    input  logic [11:0]  run_count_i,
    input  logic         erun_valid_i,
    output logic         erun_ready_o,
    input  logic [ChunkW-1:0] erun_first_i,
    input  logic [11:0]  erun_count_i,
    // descriptors and has-bits, ProtoACC's way (cfg_protoacc_i)
    output logic [63:0]  desc_araddr_o,
    output logic [7:0]   desc_arlen_o,
    output logic [3:0]   desc_arid_o,
    output logic         desc_arvalid_o,
    input  logic         desc_arready_i,
    input  logic [511:0] desc_rdata_i,
    input  logic [3:0]   desc_rid_i,
    input  logic [1:0]   desc_rresp_i,
    input  logic         desc_rlast_i,
    input  logic         desc_rvalid_i,
    output logic         desc_rready_o,
    // host memory
    output logic [63:0]  host_awaddr_o,
    output logic [7:0]   host_awlen_o,
    output logic [3:0]   host_awid_o,
    output logic         host_awvalid_o,
    input  logic         host_awready_i,
    output logic [511:0] host_wdata_o,
    output logic [63:0]  host_wstrb_o,
    output logic         host_wlast_o,
    output logic         host_wvalid_o,
    input  logic         host_wready_i,
    input  logic [3:0]   host_bid_i,
    input  logic [1:0]   host_bresp_i,
    input  logic         host_bvalid_i,
    output logic         host_bready_o,
    // engine memory
    output logic [63:0]  hbm_awaddr_o,
    output logic [7:0]   hbm_awlen_o,
    output logic [3:0]   hbm_awid_o,
    output logic         hbm_awvalid_o,
    input  logic         hbm_awready_i,
    output logic [511:0] hbm_wdata_o,
    output logic [63:0]  hbm_wstrb_o,
    output logic         hbm_wlast_o,
    output logic         hbm_wvalid_o,
    input  logic         hbm_wready_i,
    input  logic [3:0]   hbm_bid_i,
    input  logic [1:0]   hbm_bresp_i,
    input  logic         hbm_bvalid_i,
    output logic         hbm_bready_o,
    // records
    output logic         cmpl_valid_o,
    input  logic         cmpl_ready_i,
    output logic [255:0] cmpl_data_o,
    output logic         idle_o
);
  deser_pkg::config_t cfg;
  deser_pkg::load_t load;
  always_comb begin
    cfg.one_shot            = cfg_one_shot_i;
    cfg.protoacc            = cfg_protoacc_i;
    cfg.descriptors         = cfg_descriptors_i[39:6];
    cfg.depth_limit         = cfg_depth_limit_i;
    cfg.bounds.host_base    = cfg_host_base_i;
    cfg.bounds.host_limit   = cfg_host_limit_i;
    cfg.bounds.engine_base  = cfg_engine_base_i;
    cfg.bounds.engine_limit = cfg_engine_limit_i;
    load.space              = load_space_i;
    load.addr               = load_addr_i;
    load.data               = load_data_i;
  end

  // ---------------------------------------------------------------- dispatch
  logic [Lanes-1:0] turn_q, cmd_room, rx_room, l_cmd_valid, l_cmd_ready, l_rx_valid, l_rx_ready;
  deser_pkg::cmd_t cmd;
  deser_pkg::rx_t rx;
  assign cmd.known      = cmd_known;
  assign cmd.cookie     = cmd_cookie_i;
  assign cmd.length     = cmd_length_i;
  assign cmd.type_index = cmd_type_i;
  assign rx.bad         = rx_bad;
  assign rx.last        = rx_last;
  assign rx.data        = rx_tdata_i;
  logic owed;  // beats of the message given out last are still to come
  logic rx_push, rx_last, rx_bad, cmd_known;
  assign cmd_ready_o = !owed && |(turn_q & cmd_room & cfg_lanes_i);
  deser_framing u_framing (
      .clk_i, .rst_ni, .start_i(cmd_valid_i && cmd_ready_o), .length_i(cmd_length_i), .valid_i(rx_tvalid_i),
      .ready_o(rx_tready_o), .tkeep_i(rx_tkeep_i), .tlast_i(rx_tlast_i), .room_i(|(turn_q & rx_room)),
      .push_o(rx_push), .last_o(rx_last), .bad_o(rx_bad), .open_o(owed));
  // How many types have been loaded, from 0 on; loading type 0 begins a new table.
  logic [TypesLog2:0] types_q;
  assign cmd_known = cmd_type_i < 16'(types_q);
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      types_q <= '0;
    end else if (load_valid_i && load_space_i == SpaceTypes && load_addr_i[31:TypesLog2] == '0) begin
      if (load_addr_i == '0 || load_addr_i[TypesLog2:0] >= types_q) types_q <= load_addr_i[TypesLog2:0] + 1'b1;
    end
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      turn_q <= Lanes'(1);
    end else if (owed ? rx_tvalid_i && rx_tready_o && rx_tlast_i : !cmd_ready_o) begin
      turn_q <= Lanes'({turn_q, turn_q} >> (Lanes - 1));
    end
  end

  // ---------------------------------------------------------------- free memory
  logic [Lanes-1:0] l_chunk_valid, l_chunk_ready, l_run_valid, l_run_ready, l_erun_valid, l_erun_ready;
  logic [Lanes-1:0][ChunkW-1:0] l_chunk;
  logic [Lanes-1:0][FreeRunBits-1:0] l_run, l_erun;
  deser_pkg::free_run_t free_run, free_erun;
  assign free_run.count  = run_count_i;
  assign free_run.first  = run_first_i;
  assign free_erun.count = erun_count_i;
  assign free_erun.first = erun_first_i;
  logic free_valid, free_ready;
  logic [ChunkW-1:0] free_chunk;
  logic [$clog2(FreeChunks):0] free_level;
  drover_fifo #(.Width(ChunkW), .Depth(FreeChunks)) u_free (
      .clk_i, .rst_ni, .wvalid_i(chunk_valid_i), .wready_o(chunk_ready_o), .wdata_i(chunk_i), .rvalid_o(free_valid),
      .rready_i(free_ready), .rdata_o(free_chunk), .level_o(free_level));
  deser_spread #(.N(Lanes), .Width(ChunkW)) u_chunks (
      .clk_i, .rst_ni, .wvalid_i(free_valid), .wready_o(free_ready), .wdata_i(free_chunk),
      .rvalid_o(l_chunk_valid), .rready_i(l_chunk_ready), .rdata_o(l_chunk));
  deser_spread #(.N(Lanes), .Width(FreeRunBits)) u_runs (
      .clk_i, .rst_ni, .wvalid_i(run_valid_i), .wready_o(run_ready_o), .wdata_i(free_run),
      .rvalid_o(l_run_valid), .rready_i(l_run_ready), .rdata_o(l_run));
  deser_spread #(.N(Lanes), .Width(FreeRunBits)) u_engine_runs (
      .clk_i, .rst_ni, .wvalid_i(erun_valid_i), .wready_o(erun_ready_o), .wdata_i(free_erun),
      .rvalid_o(l_erun_valid), .rready_i(l_erun_ready), .rdata_o(l_erun));

  // ---------------------------------------------------------------- lanes
  logic [Lanes-1:0] l_aw_valid, l_aw_ready, l_w_valid, l_w_ready, l_cmpl_valid, l_cmpl_ready;
  logic [Lanes-1:0] l_idle;
  logic [Lanes-1:0][1:0] l_b, l_fault;  // of host memory, of engine memory
  logic [Lanes-1:0][AwBits-1:0] l_aw;
  logic [Lanes-1:0][WBits-1:0] l_w;
  logic [Lanes-1:0][CompletionRecordBits-1:0] l_cmpl;
  for (genvar i = 0; i < Lanes; i++) begin : gen_lane
    logic [$clog2(RxBeats):0] rx_level;
    logic [2:0] cmd_level;
    logic unused;
    assign unused = ^{rx_level, cmd_level};
    deser_pkg::cmd_t lane_cmd;
    deser_pkg::rx_t lane_rx;
    drover_fifo #(.Width($bits(lane_cmd)), .Depth(4)) u_cmd (
        .clk_i, .rst_ni, .wvalid_i(cmd_valid_i && cmd_ready_o && turn_q[i]), .wready_o(cmd_room[i]), .wdata_i(cmd),
        .rvalid_o(l_cmd_valid[i]), .rready_i(l_cmd_ready[i]), .rdata_o(lane_cmd), .level_o(cmd_level));
    drover_fifo #(.Width($bits(lane_rx)), .Depth(RxBeats)) u_rx (
        .clk_i, .rst_ni, .wvalid_i(rx_push && turn_q[i]), .wready_o(rx_room[i]), .wdata_i(rx),
        .rvalid_o(l_rx_valid[i]), .rready_i(l_rx_ready[i]), .rdata_o(lane_rx), .level_o(rx_level));
    deser_lane #(.StepsLog2(StepsLog2), .TypesLog2(TypesLog2)) u_lane (
        .clk_i, .rst_ni, .cfg_i(cfg), .eager_i(eager_q), .load_valid_i, .load_i(load), .cmd_valid_i(l_cmd_valid[i]),
        .cmd_ready_o(l_cmd_ready[i]), .cmd_i(lane_cmd), .rx_valid_i(l_rx_valid[i]), .rx_ready_o(l_rx_ready[i]),
        .rx_i(lane_rx), .chunk_valid_i(l_chunk_valid[i]), .chunk_ready_o(l_chunk_ready[i]), .chunk_i(l_chunk[i]),
        .run_valid_i(l_run_valid[i]), .run_ready_o(l_run_ready[i]), .run_i(l_run[i]), .erun_valid_i(l_erun_valid[i]),
        .erun_ready_o(l_erun_ready[i]), .erun_i(l_erun[i]), .arvalid_o(l_ar_valid[i]), .arready_i(l_ar_ready[i]),
        .arrow_o(l_ar_row[i]), .r_i(l_r[i]), .r_bad_i(desc_rresp_i != drover_axi_pkg::RespOkay || !desc_rlast_i),
        .awvalid_o(l_aw_valid[i]), .awready_i(l_aw_ready[i]), .aw_o(l_aw[i]), .wvalid_o(l_w_valid[i]),
        .wready_i(l_w_ready[i]), .w_o(l_w[i]), .b_i(l_b[i]), .b_fault_i(l_fault[i]), .cmpl_valid_o(l_cmpl_valid[i]),
        .cmpl_ready_i(l_cmpl_ready[i]), .cmpl_o(l_cmpl[i]), .idle_o(l_idle[i]));
  end

  // ---------------------------------------------------------------- reads of ProtoACC's way: the lowest lane first.
  // No lane starves, since each has one read at a time. A read that has been offered stays until it is taken.
  logic [Lanes-1:0] l_ar_valid, l_ar_ready, l_r, ar_pick, ar_held_q;
  logic [Lanes-1:0][RowW-1:0] l_ar_row;
  assign ar_pick = ar_held_q != '0 ? ar_held_q : l_ar_valid & (~l_ar_valid + 1'b1);
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) ar_held_q <= '0;
    else ar_held_q <= desc_arready_i ? '0 : ar_pick;
  end
  assign desc_arvalid_o = ar_pick != '0;
  assign l_ar_ready     = desc_arready_i ? ar_pick : '0;
  always_comb begin
    desc_araddr_o = {cfg_descriptors_i[63:40], 40'd0};
    desc_arid_o   = '0;
    for (int i = 0; i < Lanes; i++) begin
      if (ar_pick[i]) begin
        desc_araddr_o[39:6] = l_ar_row[i];
        desc_arid_o         = i[3:0];
      end
      l_r[i] = desc_rvalid_i && desc_rid_i == i[3:0];
    end
  end
  assign desc_arlen_o  = 8'd0;
  assign desc_rready_o = 1'b1;

  // ---------------------------------------------------------------- writes: the lanes' bursts to the ports
  logic burst_valid, burst_ready;
  deser_pkg::burst_t burst;
  logic [12:0] bursts;  // on their way to the link
  deser_translate #(.Lanes(Lanes), .TlbLog2(TlbLog2)) u_translate (
      .clk_i, .rst_ni, .tlb_valid_i, .tlb_page_i(tlb_page_i[TlbLog2-1:0]), .tlb_present_i, .tlb_frame_i,
      .awvalid_i(l_aw_valid), .awready_o(l_aw_ready), .aw_i(l_aw), .burst_valid_o(burst_valid),
      .burst_ready_i(burst_ready), .burst_o(burst));
  deser_write_ports #(.Lanes(Lanes)) u_write_ports (
      .clk_i, .rst_ni, .engine_base_i(cfg_engine_base_i), .burst_valid_i(burst_valid), .burst_ready_o(burst_ready),
      .burst_i(burst), .wvalid_i(l_w_valid), .wready_o(l_w_ready), .w_i(l_w), .b_o(l_b), .b_fault_o(l_fault),
      .bursts_o(bursts),
      .host_awaddr_o, .host_awlen_o, .host_awid_o, .host_awvalid_o, .host_awready_i,
      .host_wdata_o, .host_wstrb_o, .host_wlast_o, .host_wvalid_o, .host_wready_i,
      .host_bid_i, .host_bresp_i, .host_bvalid_i, .host_bready_o,
      .hbm_awaddr_o, .hbm_awlen_o, .hbm_awid_o, .hbm_awvalid_o, .hbm_awready_i,
      .hbm_wdata_o, .hbm_wstrb_o, .hbm_wlast_o, .hbm_wvalid_o, .hbm_wready_i,
      .hbm_bid_i, .hbm_bresp_i, .hbm_bvalid_i, .hbm_bready_o);

  // The link would idle: at most two bursts are on their way to it (one, if more than one lane is at work), no message
  // waits for a lane, and half of the lanes have nothing to do. If all lanes are at work, the link is the bottleneck,
  // and fewer, longer bursts use it better.
  localparam logic [4:0] EagerLanes = 5'((Lanes + 1) / 2);
  logic eager_q;
  logic [4:0] at_work;
  always_comb begin
    at_work = '0;
    for (int i = 0; i < Lanes; i++) at_work = at_work + 5'(!l_idle[i]);
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) eager_q <= 1'b0;
    else eager_q <= cfg_eager_i && cfg_one_shot_i && bursts < (at_work > 5'd1 ? 13'd2 : 13'd3) && l_cmd_valid == '0 &&
                  at_work <= EagerLanes;
  end

  // ---------------------------------------------------------------- records
  logic [Lanes-1:0] c_pick;
  drover_deserializer_pkg::completion_record_t c_record, out_record;
  logic c_room;
  logic [2:0] c_level;
  drover_rr_arbiter #(.N(Lanes)) u_cmpl_arbiter (
      .clk_i, .rst_ni, .valid_i(l_cmpl_valid), .take_i(c_room), .pick_o(c_pick));
  always_comb begin
    c_record = '0;
    for (int i = 0; i < Lanes; i++) begin
      if (c_pick[i]) begin
        c_record      = l_cmpl[i];
        c_record.lane = i[3:0];
      end
    end
  end
  assign l_cmpl_ready = c_room ? c_pick : '0;
  drover_fifo #(.Width(CompletionRecordBits), .Depth(4), .Bypass(1'b1)) u_cmpl (
      .clk_i, .rst_ni, .wvalid_i(c_pick != '0), .wready_o(c_room), .wdata_i(c_record), .rvalid_o(cmpl_valid_o),
      .rready_i(cmpl_ready_i), .rdata_o(out_record), .level_o(c_level));
  assign cmpl_data_o = 256'(out_record);
  assign idle_o = &l_idle && !cmpl_valid_o && !owed && l_cmd_valid == '0;

  `DROVER_ASSERT_HOLD(ReadHolds, desc_arvalid_o, desc_arready_i, ({desc_arid_o, desc_araddr_o}))
  `DROVER_ASSERT_HOLD(RecordHolds, cmpl_valid_o, cmpl_ready_i, cmpl_data_o)
  `DROVER_ASSERT(OneLaneHasTheTurn, turn_q != '0 && (turn_q & (turn_q - 1'b1)) == '0)

  logic unused;
  assign unused = ^{cfg_descriptors_i, desc_rdata_i, free_level, c_level};
endmodule
