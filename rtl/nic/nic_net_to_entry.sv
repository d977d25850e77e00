// The entry, for host memory or the registers, of a connection as the NIC holds it.
/* verilator lint_off IMPORTSTAR */
import nic_net_pkg::*;
/* verilator lint_on IMPORTSTAR */
module nic_net_to_entry (
    input  nic_net_pkg::connection_t connection_i,
    input  logic [31:0] next_i,
    input  logic [31:0] expected_i,
    output drover_connection_pkg::connection_entry_t entry_o
);
  always_comb begin
    entry_o = '0;
    entry_o.state    = {6'd0, connection_i.state};
    entry_o.flow     = {2'd0, connection_i.flow};
    entry_o.balance  = {6'd0, connection_i.balance};
    entry_o.number   = connection_i.number;
    entry_o.remote   = connection_i.remote;
    entry_o.key_in   = connection_i.key_in;
    entry_o.key_out  = connection_i.key_out;
    entry_o.mac      = connection_i.mac;
    entry_o.port     = connection_i.port;
    entry_o.address  = connection_i.address;
    entry_o.next     = next_i;
    entry_o.expected = expected_i;
  end
endmodule
