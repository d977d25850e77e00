// What both engines use, in the order of imports.
drover_axi_pkg.sv
drover_rr_arbiter.sv
drover_fifo.sv
drover_skid.sv
drover_sram_1r1w.sv
drover_sram_1rw.sv
drover_axi_write_checks.sv
