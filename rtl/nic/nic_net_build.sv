// Makes frames: a head and perhaps a line, with both checksums, one every cycle, six cycles later. datagram/frame.cc,
// build_frame, is the reference.
/* verilator lint_off IMPORTSTAR */
import nic_net_pkg::*;
/* verilator lint_on IMPORTSTAR */
module nic_net_build (
    input  logic          clk_i,
    input  logic          rst_ni,
    input  nic_net_pkg::own_t own_i,
    input  logic          valid_i,
    input  nic_net_pkg::connection_t to_i,
    input  nic_net_pkg::fields_t fields_i,
    input  logic          has_line_i,
    input  logic [511:0]  line_i,  // its connection and sequence are replaced

    output logic          valid_o,
    output logic          has_line_o,
    output logic [1023:0] beat_o
);
  localparam int unsigned Stages = 5;  // up to the sums
  // ---- the frame without checksums
  logic valid_q, has_line_q;
  drover_frame_pkg::frame_head_t head, head_q;
  drover_channel_pkg::line_slot_t line, line_q;
  nic_net_pkg::ethernet_t ethernet;
  nic_net_pkg::ipv4_t ipv4, ipv4_q;
  nic_net_pkg::udp_t udp, udp_q;
  always_comb begin
    ethernet.destination = to_i.mac;
    ethernet.source      = own_i.mac;
    ethernet.ether_type  = EtherTypeIpv4;
    ipv4              = '0;
    ipv4.version_ihl  = VersionAndIhl;
    ipv4.length       = has_line_i ? IpLengthLine : IpLengthHead;
    ipv4.fragment     = DoNotFragment;
    ipv4.time_to_live = TimeToLive;
    ipv4.protocol     = ProtocolUdp;
    ipv4.source       = own_i.address;
    ipv4.destination  = to_i.address;
    udp.source      = own_i.port;
    udp.destination = to_i.port;
    udp.length      = has_line_i ? UdpLengthLine : UdpLengthHead;
    udp.checksum    = '0;
    head.ethernet   = ethernet;
    head.ipv4       = ipv4;
    head.udp        = udp;
    head.magic      = drover_frame_pkg::FrameMagic;
    head.kind       = fields_i.kind;
    head.lines      = {7'd0, has_line_i};
    head.reserved   = '0;
    head.key        = to_i.key_out;
    head.sequence_  = fields_i.sequence_;
    head.ack        = fields_i.ack;
    head.connection = to_i.remote;
    head.window     = fields_i.window;
    line            = line_i;
    line.sequence_  = '0;
    line.connection = to_i.remote;
  end
  always_ff @(posedge clk_i) begin
    head_q     <= head;
    has_line_q <= has_line_i;
    line_q     <= has_line_i ? line : '0;
  end

  // ---- the sums, as in nic_net_check
  logic [52:0][15:0] udp_words;
  logic [9:0][15:0] ip_words;
  logic [15:0] ip_sum, udp_sum;
  assign ipv4_q = head_q.ipv4;
  assign udp_q = head_q.udp;
  assign ip_words = ipv4_q;
  assign udp_words = {line_q, head_q[511:272], ipv4_q.destination, ipv4_q.source, ProtocolUdp, 8'd0, udp_q.length};
  nic_net_sum #(.Words(10)) u_ip_sum (.clk_i, .words_i(ip_words), .sum_o(ip_sum));
  nic_net_sum #(.Words(53)) u_udp_sum (.clk_i, .words_i(udp_words), .sum_o(udp_sum));

  localparam int unsigned PipeBits = 1025;
  logic [PipeBits-1:0] pipe_q[Stages-1];
  logic [Stages-2:0] valid_s;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      valid_q <= 1'b0;
      valid_s <= '0;
      valid_o <= 1'b0;
    end else begin
      valid_q <= valid_i;
      valid_s <= {valid_s[Stages-3:0], valid_q};
      valid_o <= valid_s[Stages-2];
    end
  end
  always_ff @(posedge clk_i) begin
    pipe_q[0] <= {has_line_q, line_q, head_q};
    for (int i = 1; i < Stages - 1; i++) pipe_q[i] <= pipe_q[i-1];
  end

  // ---- the frame with them; a UDP checksum of zero would mean "no checksum" (RFC 768)
  logic has_line_s;
  drover_channel_pkg::line_slot_t line_s;
  drover_frame_pkg::frame_head_t head_s, head_d;
  nic_net_pkg::ipv4_t ipv4_d;
  nic_net_pkg::udp_t udp_d;
  assign {has_line_s, line_s, head_s} = pipe_q[Stages-2];
  always_comb begin
    ipv4_d = head_s.ipv4;
    ipv4_d.checksum = ~ip_sum;
    udp_d = head_s.udp;
    udp_d.checksum = udp_sum == 16'hffff ? 16'hffff : ~udp_sum;
    head_d = head_s;
    head_d.ipv4 = ipv4_d;
    head_d.udp = udp_d;
  end
  always_ff @(posedge clk_i) begin
    beat_o     <= {line_s, head_d};
    has_line_o <= has_line_s;
  end
  logic unused;
  assign unused = ^{to_i, udp_q};
endmodule
