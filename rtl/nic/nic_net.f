// The NIC's network half, in the order of imports.
nic_net_pkg.sv
nic_net_sum.sv
nic_net_check.sv
nic_net_build.sv
nic_net_queues.sv
nic_net_state.sv
nic_net_kept.sv
nic_net_tx.sv
nic_net_misses.sv
nic_net_rx.sv
nic_net_again.sv
nic_net_sweep.sv
nic_net_manager.sv
nic_net_table_port.sv
nic_net_registers.sv
nic_net.sv
