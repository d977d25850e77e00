// Both halves of the NIC, behind nic.f and nic_net.f.
drover_nic.sv
