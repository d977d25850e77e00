// A connection as the NIC holds it, of its entry in host memory or in the registers.
/* verilator lint_off IMPORTSTAR */
import nic_net_pkg::*;
/* verilator lint_on IMPORTSTAR */
module nic_net_from_entry (
    input  drover_connection_pkg::connection_entry_t entry_i,
    output nic_net_pkg::connection_t connection_o
);
  always_comb begin
    connection_o.state   = entry_i.state[1:0];
    connection_o.flow    = entry_i.flow[5:0];
    connection_o.balance = entry_i.balance[1:0];
    connection_o.number  = entry_i.number;
    connection_o.remote  = entry_i.remote;
    connection_o.key_in  = entry_i.key_in;
    connection_o.key_out = entry_i.key_out;
    connection_o.mac     = entry_i.mac;
    connection_o.port    = entry_i.port;
    connection_o.address = entry_i.address;
  end
  logic unused;
  assign unused = ^entry_i;
endmodule
