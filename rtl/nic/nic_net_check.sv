// Checks of a received frame that need no connection: one beat holds a whole frame, and each cycle takes one. Five
// cycles later it is there with the first reason of drover_frame_pkg::frame_refusal_e that applies; datagram/frame.cc is
// the reference. A frame of several beats is refused as one.
/* verilator lint_off IMPORTSTAR */
import nic_net_pkg::*;
/* verilator lint_on IMPORTSTAR */
module nic_net_check #(
    parameter bit Reliable = 1'b1
) (
    input  logic          clk_i,
    input  logic          rst_ni,
    input  nic_net_pkg::own_t own_i,
    input  logic [1023:0] tdata_i,
    input  logic [127:0]  tkeep_i,
    input  logic          tlast_i,
    input  logic          tuser_i,  // with tlast: the frame is damaged
    input  logic          take_i,   // valid and ready

    output logic          valid_o,
    output logic [4:0]    refusal_o,
    output nic_net_pkg::received_t frame_o,
    output logic          has_line_o,
    output logic [511:0]  line_o
);
  localparam int unsigned Stages = 5;
  localparam int unsigned Line = 512;  // the line's first bit
  drover_frame_pkg::frame_head_t head;
  drover_channel_pkg::line_slot_t line;
  nic_net_pkg::ethernet_t ethernet;
  nic_net_pkg::ipv4_t ipv4;
  nic_net_pkg::udp_t udp;

  // ---- the beat, taken; first_q: it begins a frame
  logic inside_q, valid_q, last_q, damaged_q, whole_head_q, whole_line_q;
  logic [1023:0] beat_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      inside_q <= 1'b0;
      valid_q  <= 1'b0;
    end else begin
      valid_q <= take_i && !inside_q;
      if (take_i) inside_q <= !tlast_i;
    end
  end
  always_ff @(posedge clk_i) begin
    beat_q       <= tdata_i;
    last_q       <= tlast_i;
    damaged_q    <= tuser_i;
    whole_head_q <= &tkeep_i[63:0];
    whole_line_q <= &tkeep_i[127:64];
  end
  assign head     = beat_q[Line-1:0];
  assign line     = beat_q[1023:Line];
  assign ethernet = head.ethernet;
  assign ipv4     = head.ipv4;
  assign udp      = head.udp;

  // ---- what is wrong, a bit for each reason
  logic long, data, ack;  // by the IPv4 length; by the kind
  logic [Reasons-1:0] wrong, wrong_q;
  assign long = ipv4.length == IpLengthLine;
  if (Reliable) begin : gen_kinds
    assign data = head.kind == drover_frame_pkg::FrameKindData;
    assign ack  = head.kind == drover_frame_pkg::FrameKindAck || head.kind == drover_frame_pkg::FrameKindGap;
  end else begin : gen_kind
    assign data = head.kind == drover_frame_pkg::FrameKindLines;
    assign ack  = 1'b0;
  end
  always_comb begin
    wrong = '0;
    wrong[5'(drover_frame_pkg::FrameRefusalDamaged)] = damaged_q && last_q;
    wrong[5'(drover_frame_pkg::FrameRefusalSize)] = !last_q || !whole_head_q;
    wrong[5'(drover_frame_pkg::FrameRefusalNotOurMac)] = ethernet.destination != own_i.mac;
    wrong[5'(drover_frame_pkg::FrameRefusalEtherType)] = ethernet.ether_type != EtherTypeIpv4;
    wrong[5'(drover_frame_pkg::FrameRefusalIpHead)] = ipv4.version_ihl != VersionAndIhl;
    wrong[5'(drover_frame_pkg::FrameRefusalIpFragment)] = (ipv4.fragment & ~DoNotFragment) != '0;
    wrong[5'(drover_frame_pkg::FrameRefusalIpLength)] = !(long && whole_line_q) && ipv4.length != IpLengthHead;
    wrong[5'(drover_frame_pkg::FrameRefusalIpProtocol)] = ipv4.protocol != ProtocolUdp;
    wrong[5'(drover_frame_pkg::FrameRefusalNotOurAddress)] = ipv4.destination != own_i.address;
    wrong[5'(drover_frame_pkg::FrameRefusalNotOurPort)] = udp.destination != own_i.port;
    wrong[5'(drover_frame_pkg::FrameRefusalUdpLength)] = udp.length != (long ? UdpLengthLine : UdpLengthHead);
    wrong[5'(drover_frame_pkg::FrameRefusalMagic)] = head.magic != drover_frame_pkg::FrameMagic || head.reserved != '0;
    wrong[5'(drover_frame_pkg::FrameRefusalKind)] = !data && !ack;
    wrong[5'(drover_frame_pkg::FrameRefusalLineCount)] = head.lines != {7'd0, long} || data != long;
    wrong[5'(drover_frame_pkg::FrameRefusalBadLine)] =
        long && (!nic_net_pkg::line_may_travel(line.type_, line.flags, line.index, line.length) || line.sequence_ != '0 || line.connection != head.connection);
  end

  // ---- the sums: the IPv4 head; the UDP datagram with the words of the IPv4 head that it covers
  logic [9:0][15:0] ip_words;
  logic [52:0][15:0] udp_words;
  logic [15:0] ip_sum, udp_sum;
  assign ip_words = ipv4;
  assign udp_words = {line & {512{long}}, head[511:272], ipv4.destination, ipv4.source, ProtocolUdp, 8'd0, udp.length};
  nic_net_sum #(.Words(10)) u_ip_sum (.clk_i, .words_i(ip_words), .sum_o(ip_sum));
  nic_net_sum #(.Words(53)) u_udp_sum (.clk_i, .words_i(udp_words), .sum_o(udp_sum));

  // ---- beside the sums
  logic [Stages-2:0] valid_s;
  nic_net_pkg::received_t frame;
  localparam int unsigned PipeBits = Reasons + 2 + $bits(frame_o) + 512;
  logic [PipeBits-1:0] pipe_in, pipe_q[Stages-1];
  logic [Reasons-1:0] wrong_s;
  logic no_udp_sum, long_s;
  assign frame.kind       = head.kind;
  assign frame.key        = head.key;
  assign frame.sequence_  = head.sequence_;
  assign frame.ack        = head.ack;
  assign frame.connection = head.connection;
  assign frame.window     = head.window;
  assign frame.address    = ipv4.source;
  assign frame.port       = udp.source;
  assign pipe_in = {wrong, udp.checksum == '0, long, frame, line};
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) valid_s <= '0;
    else valid_s <= {valid_s[Stages-3:0], valid_q};
  end
  always_ff @(posedge clk_i) begin
    pipe_q[0] <= pipe_in;
    for (int i = 1; i < Stages - 1; i++) pipe_q[i] <= pipe_q[i-1];
  end
  assign {wrong_s, no_udp_sum, long_s, frame_o, line_o} = pipe_q[Stages-2];
  assign has_line_o = long_s;
  assign valid_o = valid_s[Stages-2];
  always_comb begin
    wrong_q = wrong_s;
    wrong_q[5'(drover_frame_pkg::FrameRefusalIpChecksum)] = ip_sum != 16'hffff;
    wrong_q[5'(drover_frame_pkg::FrameRefusalUdpChecksum)] = udp_sum != 16'hffff && !no_udp_sum;
    refusal_o = '0;
    for (int i = Reasons - 1; i > 0; i--) begin
      if (wrong_q[i]) refusal_o = 5'(i);
    end
  end
  logic unused;
  assign unused = ^ethernet;
endmodule
