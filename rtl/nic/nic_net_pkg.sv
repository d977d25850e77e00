// What the parts of the NIC's network half share.
/* verilator lint_off UNUSEDPARAM */
package nic_net_pkg;
  localparam int unsigned LineBits = 512;
  localparam int unsigned BeatBits = 1024;   // of the network's stream: a head and a line
  localparam int unsigned Reasons = 32;      // of drover_frame_pkg::frame_refusal_e, rounded up

  // Of the standard headers, as 16-bit words lie on the bus: the first byte of the network is the low one.
  localparam logic [15:0] EtherTypeIpv4 = 16'h0008;
  localparam logic [7:0] VersionAndIhl = 8'h45;
  localparam logic [7:0] ProtocolUdp = 8'd17;
  localparam logic [7:0] TimeToLive = 8'd64;
  localparam logic [15:0] DoNotFragment = 16'h0040;
  localparam logic [15:0] IpLengthHead = 16'h3200, IpLengthLine = 16'h7200;    // 50 and 114
  localparam logic [15:0] UdpLengthHead = 16'h1e00, UdpLengthLine = 16'h5e00;  // 30 and 94

  // One of the words of an Ethernet, IPv4 or UDP head, as above.
  typedef struct packed {
    logic [15:0] ether_type;
    logic [47:0] source;
    logic [47:0] destination;
  } ethernet_t;
  typedef struct packed {
    logic [31:0] destination;
    logic [31:0] source;
    logic [15:0] checksum;
    logic [7:0]  protocol;
    logic [7:0]  time_to_live;
    logic [15:0] fragment;
    logic [15:0] id;
    logic [15:0] length;
    logic [7:0]  service;
    logic [7:0]  version_ihl;
  } ipv4_t;
  typedef struct packed {
    logic [15:0] checksum;
    logic [15:0] length;
    logic [15:0] destination;
    logic [15:0] source;
  } udp_t;

  // This end of all connections.
  typedef struct packed {
    logic [15:0] port;
    logic [31:0] address;
    logic [47:0] mac;
  } own_t;

  // A connection as the NIC holds it: drover_connection_pkg::connection_entry_t without what is zero.
  typedef struct packed {
    logic [1:0]  state;
    logic [5:0]  flow;
    logic [1:0]  balance;
    logic [15:0] number;
    logic [15:0] remote;
    logic [31:0] key_in;
    logic [31:0] key_out;
    logic [47:0] mac;
    logic [15:0] port;
    logic [31:0] address;
  } connection_t;
  localparam logic [1:0] StateClosed = 2'd0, StateOpen = 2'd1;  // of connection_state_e; nic_net checks these

  // What the sending side alone writes of a connection.
  typedef struct packed {
    logic [31:0] next;  // sequence of the next line
    logic [31:0] told;  // the acknowledgement that went out last
  } tx_state_t;

  // What the receiving side alone writes of it.
  typedef struct packed {
    logic [31:0] expected;
    logic [31:0] acked;
    logic [10:0] window;        // that the other end offers from `acked` on, at most this end's
    logic        gap_answered;  // for this `acked`
    logic [7:0]  heard;         // frames, counted so that a change is seen
  } rx_state_t;

  // A frame that has passed the checks which need no connection, apart from its line.
  typedef struct packed {
    logic [7:0]  kind;
    logic [31:0] key;
    logic [31:0] sequence_;
    logic [31:0] ack;
    logic [15:0] connection;
    logic [15:0] window;
    logic [31:0] address;  // of the sender
    logic [15:0] port;
  } received_t;

  // What a frame to be sent says.
  typedef struct packed {
    logic [7:0]  kind;
    logic [31:0] sequence_;
    logic [31:0] ack;
    logic [15:0] window;
  } fields_t;

  // Lines of one connection that are to go out again.
  typedef struct packed {
    logic [15:0] slot;
    logic [31:0] first;
    logic [10:0] count;
  } again_t;

  // An acknowledgement that is to go out. `due`: not if data has said it in the meantime.
  typedef struct packed {
    logic [15:0] slot;
    logic        gap;
    logic        due;
  } ack_t;

  // Whether a line may travel: datagram/frame.h, line_may_travel.
  function automatic logic line_may_travel(input logic [7:0] kind, input logic [7:0] flags, input logic [7:0] index,
                                           input logic [7:0] length);
    logic last, response, failed, full, shape, empty;
    last = (flags & 8'(drover_channel_pkg::LineLast)) != '0;
    response = (flags & 8'(drover_channel_pkg::LineResponse)) != '0;
    failed = (flags & 8'(drover_channel_pkg::LineFailed)) != '0;
    full = length == 8'(drover_channel_pkg::LineArguments);
    empty = index == '0 && length == '0;
    shape = kind == drover_channel_pkg::LineType && length <= 8'(drover_channel_pkg::LineArguments) &&
            (flags & ~8'(drover_channel_pkg::LineLast) & ~8'(drover_channel_pkg::LineResponse) &
             ~8'(drover_channel_pkg::LineFailed)) == '0;
    line_may_travel = shape && (last || full && index != 8'hff) && (!failed || response && last && empty);
  endfunction
endpackage
/* verilator lint_on UNUSEDPARAM */
