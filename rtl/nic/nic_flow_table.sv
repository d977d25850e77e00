// Where the flows' rings and positions lie in host memory: written by the host, read by each part that needs them, in the
// same cycle.
module nic_flow_table #(
    parameter int unsigned Flows = 16
) (
    input  logic                          clk_i,
    input  logic                          we_i,
    input  logic [nic_pkg::FlowBits-1:0]  flow_i,  // that is written, and read at word_o
    input  logic [1:0]                    field_i, // tx_ring, tx_position, rx_ring, rx_position
    input  logic [63:0]                   word_i,
    input  logic [nic_pkg::FlowBits-1:0]  read_flow_i,
    input  logic [1:0]                    read_field_i,
    output logic [63:0]                   word_o,

    input  logic [3:0][nic_pkg::FlowBits-1:0]     tx_flow_i,
    output drover_nic_pkg::ring_register_t        tx_ring_0_o,  // of tx_flow_i[0] and so on
    output drover_nic_pkg::ring_register_t        tx_ring_1_o,
    output drover_nic_pkg::ring_register_t        tx_ring_2_o,
    output drover_nic_pkg::ring_register_t        tx_ring_3_o,
    input  logic [nic_pkg::FlowBits-1:0]          tx_position_flow_i,
    output logic [63:0]                           tx_position_o,
    input  logic [1:0][nic_pkg::FlowBits-1:0]     rx_flow_i,
    output drover_nic_pkg::ring_register_t        rx_ring_0_o,
    output drover_nic_pkg::ring_register_t        rx_ring_1_o,
    input  logic [nic_pkg::FlowBits-1:0]          rx_position_flow_i,
    output logic [63:0]                           rx_position_o
);
  localparam int unsigned FlowW = Flows > 1 ? $clog2(Flows) : 1;
  localparam logic [1:0] TxRing     = 2'(drover_nic_pkg::FlowRegistersTxRingAt >> 3);
  localparam logic [1:0] TxPosition = 2'(drover_nic_pkg::FlowRegistersTxPositionAt >> 3);
  localparam logic [1:0] RxRing     = 2'(drover_nic_pkg::FlowRegistersRxRingAt >> 3);
  localparam logic [1:0] RxPosition = 2'(drover_nic_pkg::FlowRegistersRxPositionAt >> 3);
  (* ram_style = "distributed" *) logic [63:0] tx_ring[Flows];
  (* ram_style = "distributed" *) logic [63:0] tx_position[Flows];
  (* ram_style = "distributed" *) logic [63:0] rx_ring[Flows];
  (* ram_style = "distributed" *) logic [63:0] rx_position[Flows];

  // What is outside of the ring's limits is brought inside, and addresses are aligned.
  logic [63:0] ring_word, position_word;
  drover_nic_pkg::ring_register_t given, ring;
  assign given = word_i;
  always_comb begin
    ring = '0;
    ring.page = given.page;
    ring.lines_log = given.lines_log < 5'(drover_nic_pkg::MinRingLog) ? 5'(drover_nic_pkg::MinRingLog)
                   : given.lines_log > 5'(drover_nic_pkg::MaxRingLog) ? 5'(drover_nic_pkg::MaxRingLog)
                   : given.lines_log;
  end
  assign ring_word     = ring;
  assign position_word = {word_i[63:6], 6'd0};

  logic [FlowW-1:0] flow;
  assign flow = flow_i[FlowW-1:0];
  always_ff @(posedge clk_i) begin
    if (we_i && field_i == TxRing) tx_ring[flow] <= ring_word;
    if (we_i && field_i == TxPosition) tx_position[flow] <= position_word;
    if (we_i && field_i == RxRing) rx_ring[flow] <= ring_word;
    if (we_i && field_i == RxPosition) rx_position[flow] <= position_word;
  end

  always_comb begin
    unique case (read_field_i)
      TxRing:     word_o = tx_ring[read_flow_i[FlowW-1:0]];
      TxPosition: word_o = tx_position[read_flow_i[FlowW-1:0]];
      RxRing:     word_o = rx_ring[read_flow_i[FlowW-1:0]];
      default:    word_o = rx_position[read_flow_i[FlowW-1:0]];
    endcase
  end
  assign tx_ring_0_o   = tx_ring[tx_flow_i[0][FlowW-1:0]];
  assign tx_ring_1_o   = tx_ring[tx_flow_i[1][FlowW-1:0]];
  assign tx_ring_2_o   = tx_ring[tx_flow_i[2][FlowW-1:0]];
  assign tx_ring_3_o   = tx_ring[tx_flow_i[3][FlowW-1:0]];
  assign tx_position_o = tx_position[tx_position_flow_i[FlowW-1:0]];
  assign rx_ring_0_o   = rx_ring[rx_flow_i[0][FlowW-1:0]];
  assign rx_ring_1_o   = rx_ring[rx_flow_i[1][FlowW-1:0]];
  assign rx_position_o = rx_position[rx_position_flow_i[FlowW-1:0]];

  logic unused;
  assign unused = ^{flow_i, read_flow_i, tx_flow_i, tx_position_flow_i, rx_flow_i, rx_position_flow_i, given};
endmodule
