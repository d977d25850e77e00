// The serializer (docs/rtl-serializer.md): commands in, packets of wire bytes out, a completion record for each.
//
//   cmd -> checks -+-> records reader -> records decoder -+-> encoder -> TX arena, pieces -> gather -> tx
//                  |     (host, engine AXI, id 0)         |                                   | host, engine AXI, id 1
//                  +-> walker (host, id 2), schema table -+                                   +-> done
//                  +-> payload reader (host, id 3) --------------------------------------------^
//
// Every address that is read was checked before against host_base_i..host_limit_i or the engine's memory. A read that
// is answered with an error is the error of the message that it was for.
`include "drover_assert.svh"
/* verilator lint_off IMPORTSTAR */
import drover_serializer_pkg::*;  // here, and types by their full names: yosys reads it so
import ser_pkg::*;
/* verilator lint_on IMPORTSTAR */
module drover_serializer #(
  parameter int unsigned ArenaBytes  = 65536,  // of the TX arena
  parameter int unsigned Pieces      = 1024,   // long parts of the messages in it
  parameter int unsigned Depth       = 64,     // nested messages
  parameter int unsigned RecordLines = 512,    // lines of records in flight or waiting
  parameter int unsigned EarlyLines  = 512,    // lines of payload that is read ahead
  parameter int unsigned EarlyBytes  = 65536,  // a message's payload is, if it has at most so many
  parameter int unsigned FarLines    = 512     // lines of long parts, from the host's and the engine's memory
) (
  input  logic clk_i,
  input  logic rst_ni,

  // Where reads may go. They are set a cycle before the first command, and stay as they are while there are any.
  input  logic [63:0] host_base_i,
  input  logic [63:0] host_limit_i,   // the first byte behind
  input  logic [63:0] engine_base_i,  // on the engine's bus
  input  logic [63:0] engine_size_i,

  // The schema image, as a memory of lines (the deserializer's too): a line in the next cycle, which stays. Its
  // MessageEntry[] begins in line 1.
  output logic                  table_read_o,
  output logic [ser_walk_pkg::TableWidth-1:0] table_line_o,
  input  logic [511:0]          table_data_i,
  input  logic [31:0]           image_fields_i,         // ImageHeader.fields
  input  logic [31:0]           image_message_count_i,  // ImageHeader.message_count

  input  logic         cmd_valid_i,
  output logic         cmd_ready_o,
  input  logic [15:0]  cmd_cookie_i,
  input  logic         cmd_walk_i,     // NIC-only: cmd_records_i is an object's address, cmd_message_i its type's index
  input  logic         cmd_pushed_i,   // the records lie in the engine's memory: the host has written them there
  input  logic [15:0]  cmd_message_i,
  input  logic [63:0]  cmd_records_i,
  input  logic [31:0]  cmd_record_bytes_i,
  input  logic [63:0]  cmd_payload_i,
  input  logic [31:0]  cmd_payload_bytes_i,
  input  logic [511:0] cmd_header_i,
  input  logic [6:0]   cmd_header_size_i,
  input  logic [1:0]   cmd_length_format_i,
  input  logic [5:0]   cmd_length_at_i,

  output logic [63:0]  host_araddr_o,
  output logic [7:0]   host_arlen_o,
  output logic [1:0]   host_arid_o,
  output logic [2:0]   host_arsize_o,
  output logic [1:0]   host_arburst_o,
  output logic         host_arvalid_o,
  input  logic         host_arready_i,
  input  logic [511:0] host_rdata_i,
  input  logic [1:0]   host_rid_i,
  input  logic [1:0]   host_rresp_i,
  input  logic         host_rlast_i,
  input  logic         host_rvalid_i,
  output logic         host_rready_o,

  output logic [63:0]  engine_araddr_o,
  output logic [7:0]   engine_arlen_o,
  output logic [1:0]   engine_arid_o,
  output logic [2:0]   engine_arsize_o,
  output logic [1:0]   engine_arburst_o,
  output logic         engine_arvalid_o,
  input  logic         engine_arready_i,
  input  logic [511:0] engine_rdata_i,
  input  logic [1:0]   engine_rid_i,
  input  logic [1:0]   engine_rresp_i,
  input  logic         engine_rlast_i,
  input  logic         engine_rvalid_i,
  output logic         engine_rready_o,

  output logic [511:0] tx_tdata_o,
  output logic [63:0]  tx_tkeep_o,
  output logic         tx_tlast_o,
  output logic         tx_tuser_o,
  output logic         tx_tvalid_o,
  input  logic         tx_tready_i,

  output logic         done_valid_o,
  input  logic         done_ready_i,
  output logic [15:0]  done_cookie_o,
  output logic [3:0]   done_error_o,
  output logic [31:0]  done_size_o
);
  localparam logic [1:0] IdRecords = 2'd0, IdFar = 2'd1, IdWalker = 2'd2, IdEarly = 2'd3;

  // ---- a command is checked, and its records are asked for
  function automatic logic contains(logic [63:0] at, logic [31:0] size, logic [63:0] base, logic [63:0] bytes);
    logic [64:0] room;  // behind `at`; negative: it is not in there
    room = {1'b0, bytes} - {1'b0, at - base};
    contains = !room[64] && 64'(size) <= room[63:0];
  endfunction

  logic [63:0] host_size_q, engine_limit_q;
  always_ff @(posedge clk_i) begin
    host_size_q <= host_limit_i - host_base_i;
    engine_limit_q <= engine_base_i + engine_size_i;
  end

  ser_pkg::cmd_t cmd, decode_cmd;
  logic take, bad_command, is_early, is_pushed, records_fit, records_ready, front_ready, back_ready, early_ready;
  always_comb begin
    cmd = '0;
    cmd.cookie = cmd_cookie_i;
    cmd.records = cmd_records_i;
    cmd.payload = cmd_payload_i;
    cmd.payload_bytes = cmd_payload_bytes_i;
    cmd.header_size = cmd_header_size_i;
    cmd.length_format = cmd_length_format_i;
    cmd.length_at = cmd_length_at_i;
    cmd.walk = cmd_walk_i;
    cmd.pushed = is_pushed;
    cmd.message = cmd_message_i;
    // A walk's run is a hint: one that leaves the region is none.
    if (cmd_walk_i && records_fit) cmd.record_bytes = cmd_record_bytes_i;
    if (!cmd_walk_i) begin
      if (cmd_records_i[5:0] != '0) cmd.error = ErrMisaligned;
      if (!records_fit || !contains(cmd_payload_i, cmd_payload_bytes_i, host_base_i, host_size_q)) begin
        cmd.error = ErrOutOfBounds;
      end
    end
    if (bad_command) cmd.error = ErrBadCommand;
    if (!cmd_walk_i) begin
      if (cmd.error == ErrNone) begin
        cmd.record_bytes = cmd_record_bytes_i;
        if (is_early) cmd.early_lines = 11'((17'(cmd_payload_i[5:0]) + 17'(cmd_payload_bytes_i) + 17'd63) >> 6);
      end
    end
  end
  // The length's four bytes have to lie in the header, and that in its line.
  assign bad_command = cmd_header_size_i > MaxHeaderBytes[6:0] || cmd_length_format_i > LengthLittleEndian ||
                       cmd_length_format_i != LengthNone && 7'(cmd_length_at_i) + 7'd4 > cmd_header_size_i;
  assign is_pushed = cmd_pushed_i && !cmd_walk_i;
  assign records_fit = contains(cmd_records_i, cmd_record_bytes_i, is_pushed ? engine_base_i : host_base_i,
                                is_pushed ? engine_size_i : host_size_q);
  assign is_early = cmd_payload_bytes_i != '0 && cmd_payload_bytes_i <= EarlyBytes;
  assign cmd_ready_o = records_ready && front_ready && back_ready && early_ready;
  assign take = cmd_valid_i && cmd_ready_o;

  logic decode_valid, decode_done;
  logic [5:0] front_level, back_level;
  drover_fifo #(.Width($bits(cmd)), .Depth(32)) u_front_cmds (
    .clk_i, .rst_ni,
    .wvalid_i(take), .wready_o(front_ready), .wdata_i(cmd),
    .rvalid_o(decode_valid), .rready_i(decode_done), .rdata_o(decode_cmd), .level_o(front_level)
  );
  ser_pkg::encode_cmd_t encode_in, encode;
  logic encode_done, encode_valid;
  assign encode_in.cmd = cmd;
  assign encode_in.header = cmd_header_i;
  drover_fifo #(.Width($bits(encode_in)), .Depth(32)) u_back_cmds (
    .clk_i, .rst_ni,
    .wvalid_i(take), .wready_o(back_ready), .wdata_i(encode_in),
    .rvalid_o(encode_valid), .rready_i(encode_done), .rdata_o(encode), .level_o(back_level)
  );

  // ---- who reads, by the AXI id: records, what a message refers to, objects
  logic [3:0] host_ar_valid, host_ar_ready, engine_ar_valid, engine_ar_ready;
  logic [3:0][drover_axi_pkg::ArBits-1:0] ar;
  drover_axi_pkg::ar_t host_ar, engine_ar;
  ser_ar_mux u_host_ar (
    .clk_i, .rst_ni,
    .valid_i(host_ar_valid), .ready_o(host_ar_ready), .ar_i(ar),
    .ar_valid_o(host_arvalid_o), .ar_ready_i(host_arready_i), .ar_o(host_ar), .ar_id_o(host_arid_o)
  );
  ser_ar_mux u_engine_ar (
    .clk_i, .rst_ni,
    .valid_i(engine_ar_valid), .ready_o(engine_ar_ready), .ar_i(ar),
    .ar_valid_o(engine_arvalid_o), .ar_ready_i(engine_arready_i), .ar_o(engine_ar), .ar_id_o(engine_arid_o)
  );
  drover_axi_pkg::r_t host_r, engine_r;
  assign host_r.error = host_rresp_i != drover_axi_pkg::RespOkay;
  assign host_r.last = host_rlast_i;
  assign host_r.data = host_rdata_i;
  assign engine_r.error = engine_rresp_i != drover_axi_pkg::RespOkay;
  assign engine_r.last = engine_rlast_i;
  assign engine_r.data = engine_rdata_i;
  assign host_araddr_o = host_ar.addr;
  assign host_arlen_o = host_ar.len;
  assign host_arsize_o = drover_axi_pkg::SizeFullWidth;
  assign host_arburst_o = drover_axi_pkg::BurstIncr;
  logic [3:0] host_ready;
  assign host_rready_o = host_ready[host_rid_i];
  assign host_ready[IdWalker] = 1'b1;
  assign engine_araddr_o = engine_ar.addr;
  assign engine_arlen_o = engine_ar.len;
  assign engine_arsize_o = drover_axi_pkg::SizeFullWidth;
  assign engine_arburst_o = drover_axi_pkg::BurstIncr;
  logic [3:0] engine_ready;
  assign engine_rready_o = engine_ready[engine_rid_i];
  assign engine_ar_valid[IdWalker] = 1'b0;
  assign engine_ready[IdWalker] = 1'b1;

  logic line_valid, line_ready;
  ser_pkg::line_t line;
  ser_reader #(.Depth(RecordLines), .MaxBurst(16), .Bursts(64)) u_records_reader (
    .clk_i, .rst_ni,
    .req_valid_i(take && cmd.error == ErrNone && !cmd_walk_i), .req_ready_o(records_ready),
    .req_engine_i(cmd_pushed_i), .req_address_i(cmd_records_i), .req_size_i(cmd_record_bytes_i),
    .host_ar_valid_o(host_ar_valid[IdRecords]), .host_ar_ready_i(host_ar_ready[IdRecords]),
    .engine_ar_valid_o(engine_ar_valid[IdRecords]), .engine_ar_ready_i(engine_ar_ready[IdRecords]),
    .ar_o(ar[IdRecords]),
    .host_r_valid_i(host_rvalid_i && host_rid_i == IdRecords), .host_r_ready_o(host_ready[IdRecords]),
    .host_r_i(host_r),
    .engine_r_valid_i(engine_rvalid_i && engine_rid_i == IdRecords), .engine_r_ready_o(engine_ready[IdRecords]),
    .engine_r_i(engine_r),
    .line_valid_o(line_valid), .line_o(line), .line_ready_i(line_ready),
    .host_base_i, .host_limit_i, .engine_base_i, .engine_limit_i(engine_limit_q)
  );

  // ---- payload whose place the command says: it need not wait for the records
  logic early_req_valid, early_req_ready, early_valid, early_take;
  ser_pkg::early_request_t early_in, early;
  logic [5:0] early_level;
  ser_pkg::line_t early_line;
  assign early_in.address = cmd_payload_i;
  assign early_in.bytes = cmd_payload_bytes_i[16:0];
  drover_fifo #(.Width($bits(early_in)), .Depth(32)) u_early_requests (
    .clk_i, .rst_ni,
    .wvalid_i(take && cmd.early_lines != '0), .wready_o(early_ready),
    .wdata_i(early_in),
    .rvalid_o(early_req_valid), .rready_i(early_req_ready), .rdata_o(early),
    .level_o(early_level)
  );
  ser_reader #(.Depth(EarlyLines), .Bursts(64), .Engine(1'b0)) u_early_reader (
    .clk_i, .rst_ni,
    .req_valid_i(early_req_valid), .req_ready_o(early_req_ready), .req_engine_i(1'b0), .req_address_i(early.address),
    .req_size_i({15'd0, early.bytes}),
    .host_ar_valid_o(host_ar_valid[IdEarly]), .host_ar_ready_i(host_ar_ready[IdEarly]),
    .engine_ar_valid_o(engine_ar_valid[IdEarly]), .engine_ar_ready_i(engine_ar_ready[IdEarly]),
    .ar_o(ar[IdEarly]),
    .host_r_valid_i(host_rvalid_i && host_rid_i == IdEarly), .host_r_ready_o(host_ready[IdEarly]),
    .host_r_i(host_r),
    .engine_r_valid_i(1'b0), .engine_r_ready_o(engine_ready[IdEarly]), .engine_r_i('0),
    .line_valid_o(early_valid), .line_o(early_line), .line_ready_i(early_take),
    .host_base_i, .host_limit_i, .engine_base_i, .engine_limit_i(engine_limit_q)
  );

  // ---- records, or an object, to uops to the arena
  logic uop_valid, uop_ready, abort;
  ser_pkg::uop_t uop, records_uop, walker_uop;
  logic walks, records_uop_valid, walker_uop_valid, records_done, walker_done;
  // Whose the next uop is: of the message behind the last end that the encoder has accepted, which may be ahead of the
  // one that it is at (encode.cmd).
  logic feed_valid, feed_ready;
  logic [5:0] feed_level;
  drover_fifo #(.Width(1), .Depth(32)) u_feed (
    .clk_i, .rst_ni,
    .wvalid_i(take), .wready_o(feed_ready), .wdata_i(cmd_walk_i),
    .rvalid_o(feed_valid), .rready_i(uop_valid && uop_ready && uop.kind == UopEnd), .rdata_o(walks),
    .level_o(feed_level)
  );
  assign uop = walks ? walker_uop : records_uop;
  assign uop_valid = feed_valid && (walks ? walker_uop_valid : records_uop_valid);
  assign decode_done = records_done || walker_done;
  logic [ser_pkg::LineBits-1:0] uop_line;
  ser_records u_records (
    .clk_i, .rst_ni,
    .cmd_valid_i(decode_valid && !decode_cmd.walk), .cmd_ready_o(records_done), .cmd_i(decode_cmd),
    .line_valid_i(line_valid), .line_i(line), .line_ready_o(line_ready),
    .host_base_i, .host_size_i(host_size_q), .engine_base_i, .engine_size_i,
    .uop_valid_o(records_uop_valid), .uop_o(records_uop), .uop_line_o(uop_line), .uop_ready_i(uop_ready && !walks),
    .abort_i(abort && !walks)
  );
  ser_walker #(.Depth(Depth)) u_walker (
    .clk_i, .rst_ni,
    .cmd_valid_i(decode_valid && decode_cmd.walk), .cmd_ready_o(walker_done), .cmd_i(decode_cmd),
    .base_i(host_base_i), .limit_i(host_limit_i),
    .table_read_o, .table_line_o, .table_data_i, .fields_i(image_fields_i), .message_count_i(image_message_count_i),
    .ar_valid_o(host_ar_valid[IdWalker]), .ar_ready_i(host_ar_ready[IdWalker]), .ar_o(ar[IdWalker]),
    .r_valid_i(host_rvalid_i && host_rid_i == IdWalker), .r_i(host_r),
    .uop_valid_o(walker_uop_valid), .uop_o(walker_uop), .uop_ready_i(uop_ready && walks), .abort_i(abort && walks)
  );

  logic arena_write, arena_read, piece_write, piece_read;
  logic [$clog2(ArenaBytes)-1:0] arena_at;
  logic [$clog2(ArenaBytes)-7:0] arena_line;
  logic [6:0] arena_size;
  logic [5:0] arena_from;
  logic [ser_pkg::LineBits-1:0] arena_data, arena_read_data;
  logic [$clog2(Pieces)-1:0] piece_write_at, piece_read_at;
  ser_pkg::piece_t piece_written, piece_found;
  logic msg_valid, msg_ready, freed;
  logic [15:0] freed_bytes, freed_pieces;
  ser_pkg::msg_t msg;
  logic failed_valid, failed_ready, sent_valid, sent_ready;
  drover_serializer_pkg::completion_t failed, sent;

  ser_encoder #(.ArenaBytes(ArenaBytes), .Pieces(Pieces), .Depth(Depth)) u_encoder (
    .clk_i, .rst_ni,
    .cmd_i(encode.cmd), .header_i(encode.header), .cmd_done_o(encode_done),
    .uop_valid_i(uop_valid), .uop_i(uop), .uop_line_i(uop_line), .uop_ready_o(uop_ready), .abort_o(abort),
    .arena_write_o(arena_write), .arena_at_o(arena_at), .arena_size_o(arena_size), .arena_from_o(arena_from),
    .arena_data_o(arena_data),
    .piece_write_o(piece_write), .piece_at_o(piece_write_at), .piece_o(piece_written),
    .msg_valid_o(msg_valid), .msg_o(msg), .msg_ready_i(msg_ready),
    .freed_i(freed), .freed_bytes_i(freed_bytes), .freed_pieces_i(freed_pieces),
    .done_valid_o(failed_valid), .done_o(failed), .done_ready_i(failed_ready)
  );
  ser_arena #(.Bytes(ArenaBytes)) u_arena (
    .clk_i,
    .write_i(arena_write), .write_at_i(arena_at), .write_size_i(arena_size), .write_from_i(arena_from),
    .write_data_i(arena_data),
    .read_i(arena_read), .read_line_i(arena_line), .read_data_o(arena_read_data)
  );
  drover_sram_1r1w #(.Width($bits(piece_written)), .Depth(Pieces)) u_pieces (
    .clk_i,
    .we_i(piece_write), .waddr_i(piece_write_at), .wdata_i(piece_written),
    .re_i(piece_read), .raddr_i(piece_read_at), .rdata_o(piece_found)
  );

  // ---- the arena and what lies elsewhere to packets
  logic req_valid, req_ready, req_engine;
  logic [63:0] req_address;
  logic [31:0] req_size;
  logic far_valid, far_ready;
  ser_pkg::line_t far_line;
  ser_reader #(.Depth(FarLines)) u_far_reader (
    .clk_i, .rst_ni,
    .req_valid_i(req_valid), .req_ready_o(req_ready), .req_engine_i(req_engine), .req_address_i(req_address),
    .req_size_i(req_size),
    .host_ar_valid_o(host_ar_valid[IdFar]), .host_ar_ready_i(host_ar_ready[IdFar]),
    .engine_ar_valid_o(engine_ar_valid[IdFar]), .engine_ar_ready_i(engine_ar_ready[IdFar]),
    .ar_o(ar[IdFar]),
    .host_r_valid_i(host_rvalid_i && host_rid_i == IdFar), .host_r_ready_o(host_ready[IdFar]),
    .host_r_i(host_r),
    .engine_r_valid_i(engine_rvalid_i && engine_rid_i == IdFar), .engine_r_ready_o(engine_ready[IdFar]),
    .engine_r_i(engine_r),
    .line_valid_o(far_valid), .line_o(far_line), .line_ready_i(far_ready),
    .host_base_i, .host_limit_i, .engine_base_i, .engine_limit_i(engine_limit_q)
  );
  ser_gather #(.ArenaBytes(ArenaBytes), .Pieces(Pieces)) u_gather (
    .clk_i, .rst_ni,
    .msg_valid_i(msg_valid), .msg_i(msg), .msg_ready_o(msg_ready),
    .freed_o(freed), .freed_bytes_o(freed_bytes), .freed_pieces_o(freed_pieces),
    .piece_read_o(piece_read), .piece_at_o(piece_read_at), .piece_i(piece_found),
    .arena_read_o(arena_read), .arena_line_o(arena_line), .arena_data_i(arena_read_data),
    .req_valid_o(req_valid), .req_ready_i(req_ready), .req_engine_o(req_engine), .req_address_o(req_address),
    .req_size_o(req_size),
    .early_valid_i(early_valid), .early_line_i(early_line), .early_ready_o(early_take),
    .far_valid_i(far_valid), .far_line_i(far_line), .far_ready_o(far_ready),
    .tx_tdata_o, .tx_tkeep_o, .tx_tlast_o, .tx_tuser_o, .tx_tvalid_o, .tx_tready_i,
    .done_valid_o(sent_valid), .done_o(sent), .done_ready_i(sent_ready)
  );

  // ---- completions
  logic skid_ready;
  drover_serializer_pkg::completion_t done;
  assign sent_ready = skid_ready;
  assign failed_ready = skid_ready && !sent_valid;
  drover_skid #(.Width($bits(done))) u_done (
    .clk_i, .rst_ni,
    .wvalid_i(sent_valid || failed_valid), .wready_o(skid_ready), .wdata_i(sent_valid ? sent : failed),
    .rvalid_o(done_valid_o), .rready_i(done_ready_i), .rdata_o(done)
  );
  assign done_cookie_o = done.cookie;
  assign done_error_o = done.error;
  assign done_size_o = done.size;

  `DROVER_ASSERT(UopsBelongToACommand, !(records_uop_valid || walker_uop_valid) || encode_valid)

  logic unused;
  assign unused = ^{front_level, feed_level,
                    feed_ready, back_level, engine_ar_ready[IdWalker], early_level};
endmodule
