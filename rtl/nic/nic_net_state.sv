// The memories of the connection table, with as many copies as there are readers in a cycle. What a connection is set to
// is written by the manager alone, its sending state by the transmitter and its receiving state by the receiver; the
// manager writes those too, while both stand still (`set_i`).
//
//   reader         connection  sending state  receiving state
//   transmitter    x           x              x                  and the manager, while it stands still
//   receiver       x           x              x
//   sweep                      x              x
//
// Read data comes in the next cycle and stays while `read` is low.
/* verilator lint_off IMPORTSTAR */
import nic_net_pkg::*;
/* verilator lint_on IMPORTSTAR */
module nic_net_state #(
    parameter bit Reliable = 1'b1,
    parameter int unsigned Connections = 1024,
    localparam int unsigned SlotW = $clog2(Connections)
) (
    input  logic             clk_i,
    input  logic             set_i,
    input  logic [SlotW-1:0] set_slot_i,
    input  nic_net_pkg::connection_t set_connection_i,
    input  nic_net_pkg::tx_state_t set_tx_i,
    input  nic_net_pkg::rx_state_t set_rx_i,

    input  logic             tx_read_i,
    input  logic [SlotW-1:0] tx_slot_i,
    output nic_net_pkg::connection_t tx_connection_o,
    output nic_net_pkg::tx_state_t tx_tx_o,
    output nic_net_pkg::rx_state_t tx_rx_o,
    input  logic             tx_write_i,
    input  logic [SlotW-1:0] tx_write_slot_i,
    input  nic_net_pkg::tx_state_t tx_write_data_i,

    input  logic             rx_read_connection_i,
    input  logic [SlotW-1:0] rx_connection_slot_i,
    output nic_net_pkg::connection_t rx_connection_o,
    input  logic             rx_read_state_i,
    input  logic [SlotW-1:0] rx_state_slot_i,
    output nic_net_pkg::tx_state_t rx_tx_o,
    output nic_net_pkg::rx_state_t rx_rx_o,
    input  logic             rx_write_i,
    input  logic [SlotW-1:0] rx_write_slot_i,
    input  nic_net_pkg::rx_state_t rx_write_data_i,

    input  logic             sweep_read_i,
    input  logic [SlotW-1:0] sweep_slot_i,
    output nic_net_pkg::tx_state_t sweep_tx_o,
    output nic_net_pkg::rx_state_t sweep_rx_o
);
  drover_sram_1r1w #(.Width($bits(set_connection_i)), .Depth(Connections)) u_tx_connection (
      .clk_i, .we_i(set_i), .waddr_i(set_slot_i), .wdata_i(set_connection_i), .re_i(tx_read_i), .raddr_i(tx_slot_i),
      .rdata_o(tx_connection_o));
  drover_sram_1r1w #(.Width($bits(set_connection_i)), .Depth(Connections)) u_rx_connection (
      .clk_i, .we_i(set_i), .waddr_i(set_slot_i), .wdata_i(set_connection_i), .re_i(rx_read_connection_i),
      .raddr_i(rx_connection_slot_i), .rdata_o(rx_connection_o));

  if (Reliable) begin : gen_reliable
    logic tx_we, rx_we;
    logic [SlotW-1:0] tx_waddr, rx_waddr;
    nic_net_pkg::tx_state_t tx_wdata;
    nic_net_pkg::rx_state_t rx_wdata;
    assign tx_we    = set_i || tx_write_i;
    assign tx_waddr = set_i ? set_slot_i : tx_write_slot_i;
    assign tx_wdata = set_i ? set_tx_i : tx_write_data_i;
    assign rx_we    = set_i || rx_write_i;
    assign rx_waddr = set_i ? set_slot_i : rx_write_slot_i;
    assign rx_wdata = set_i ? set_rx_i : rx_write_data_i;
    drover_sram_1r1w #(.Width($bits(set_tx_i)), .Depth(Connections)) u_tx_tx (
        .clk_i, .we_i(tx_we), .waddr_i(tx_waddr), .wdata_i(tx_wdata), .re_i(tx_read_i), .raddr_i(tx_slot_i),
        .rdata_o(tx_tx_o));
    drover_sram_1r1w #(.Width($bits(set_tx_i)), .Depth(Connections)) u_rx_tx (
        .clk_i, .we_i(tx_we), .waddr_i(tx_waddr), .wdata_i(tx_wdata), .re_i(rx_read_state_i), .raddr_i(rx_state_slot_i),
        .rdata_o(rx_tx_o));
    drover_sram_1r1w #(.Width($bits(set_tx_i)), .Depth(Connections)) u_sweep_tx (
        .clk_i, .we_i(tx_we), .waddr_i(tx_waddr), .wdata_i(tx_wdata), .re_i(sweep_read_i), .raddr_i(sweep_slot_i),
        .rdata_o(sweep_tx_o));
    drover_sram_1r1w #(.Width($bits(set_rx_i)), .Depth(Connections)) u_tx_rx (
        .clk_i, .we_i(rx_we), .waddr_i(rx_waddr), .wdata_i(rx_wdata), .re_i(tx_read_i), .raddr_i(tx_slot_i),
        .rdata_o(tx_rx_o));
    drover_sram_1r1w #(.Width($bits(set_rx_i)), .Depth(Connections)) u_rx_rx (
        .clk_i, .we_i(rx_we), .waddr_i(rx_waddr), .wdata_i(rx_wdata), .re_i(rx_read_state_i), .raddr_i(rx_state_slot_i),
        .rdata_o(rx_rx_o));
    drover_sram_1r1w #(.Width($bits(set_rx_i)), .Depth(Connections)) u_sweep_rx (
        .clk_i, .we_i(rx_we), .waddr_i(rx_waddr), .wdata_i(rx_wdata), .re_i(sweep_read_i), .raddr_i(sweep_slot_i),
        .rdata_o(sweep_rx_o));
  end else begin : gen_none
    assign tx_tx_o    = '0;
    assign tx_rx_o    = '0;
    assign rx_tx_o    = '0;
    assign rx_rx_o    = '0;
    assign sweep_tx_o = '0;
    assign sweep_rx_o = '0;
    logic unused;
    assign unused = ^{set_tx_i, set_rx_i, tx_write_i, tx_write_slot_i, tx_write_data_i, rx_read_state_i, rx_state_slot_i,
                      rx_write_i, rx_write_slot_i, rx_write_data_i, sweep_read_i, sweep_slot_i};
  end
endmodule
