// The serializer, in the order of imports.
ser_pkg.sv
ser_walk_pkg.sv
ser_ar_mux.sv
ser_reader.sv
ser_records.sv
ser_objects.sv
ser_steps.sv
ser_entry.sv
ser_walk_reach.sv
ser_walk_uop.sv
ser_walker.sv
ser_arena.sv
ser_encoder.sv
ser_gather.sv
drover_serializer.sv
