// The control socket's messages and their bytes (docs/formats.md, section 3, "Control socket").
//
// One packet is one message: a ControlHeader, then a body of fixed fields, strings (u32 length, bytes) and lists
// (u32 count, elements), little-endian and unaligned, with nothing left over. The order of an attachment:
//
//   host                                          engine
//   Hello                                   -->
//                                           <--   Welcome + fds: rx, tx, eventfd per engine thread
//   RegisterImage + fd   (index 0, 1, ...)  -->
//   RegisterMethods      (one or more)      -->
//   RegisterDescriptors + fd  (none or one) -->
//   ServeLines           (a name each)      -->
//   ServeChannelz        (none or one)      -->
//   Listen, ListenTls    (one or more)      -->
//                                           <--   Listening, one for each
//   Start                                   -->
//                                           <--   Started
//   ... calls travel through the rings; HostStatus may come at any time ...
//   OpenConnection       (any time)         -->
//                                           <--   ConnectionOpened
//   Drain                                   -->
//                                           <--   Draining, then HostStatus{drained}
//   Detach, or simply close                 -->
//                                           <--   HostStatus{engine_stays} if other hosts are attached, and the end
//
// The engine may send Error instead of any answer, and Draining when it is itself asked to stop. `parse_control`
// takes bytes from another process: it checks everything, allocates no more than the packet's own size times a
// small constant, and never throws.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "channel/control_format.h"
#include "channel/layout.h"

namespace drover {

struct ControlError {
  ControlCode code = ControlCode::kNone;
  std::string message;  // what was wrong, where, and what was expected
};

// ---- host to engine

struct Hello {
  uint32_t pid = 0;           // for logs; what counts is SO_PEERCRED
  uint32_t flags = 0;         // reserved, 0
  std::string name;           // of the program, for logs and metrics
  std::vector<int32_t> cpus;  // one element a worker (1..kMaxWorkers): the CPU it is pinned to, or -1
  // What the host would like; 0: the engine's own setting.
  uint32_t ring_slots = 0;
  uint64_t rx_bytes = 0;
  uint64_t tx_bytes = 0;
};

// One descriptor: a memfd of `size` bytes, sealed against writing and shrinking (make_image_fd). Images are numbered
// 0, 1, ... in the order in which they are sent.
struct RegisterImage {
  uint64_t size = 0;
};

inline constexpr uint32_t kMethodStreams = kMethodRequestStreams | kMethodReplyStreams;
// What all hosts of a method must agree on.
inline constexpr uint32_t kMethodKind = kMethodStreams | kMethodRaw | kMethodAny;
inline constexpr uint32_t kAllMethodFlags = kMethodKind | kMethodRefusesDeflate | kMethodRefusesGzip;
inline constexpr std::string_view kAnyPath = "*";       // of a method with kMethodAny
inline constexpr std::string_view kPathPair = ":path";  // the name of that pair; no client can send such a one

// Methods are numbered in the order in which they are sent, over all packets; a CALL names one by that number.
struct RegisterMethods {
  struct Method {
    std::string path;  // "/package.Service/Method"
    uint32_t request_image = 0;
    uint32_t request = 0;  // message index in that image
    uint32_t response_image = 0;
    uint32_t response = 0;  // message index in that image
    uint32_t flags = 0;     // of MethodFlag
  };
  std::vector<Method> methods;
};

// Asks for server reflection. One descriptor: a memfd of `size` bytes, as RegisterImage's, with a FileDescriptorSet.
struct RegisterDescriptors {
  uint64_t size = 0;  // 1..kMaxDescriptorBytes
};

struct Listen {
  std::string address;  // "0.0.0.0:50051", "[::]:50051", "localhost:0", "unix:PATH"
  uint32_t flags = 0;   // reserved, 0
};

// As Listen, with TLS. One descriptor if `size` is not 0: a memfd of PEM texts (channel/secret_memory.h).
struct ListenTls {
  std::string address;
  std::string identity;  // of the engine's configuration; empty: the PEM texts
  uint32_t clients = 0;  // grpc_ssl_client_certificate_request_type
  uint32_t pairs = 0;    // of key and chain in the PEM texts
  uint64_t size = 0;     // of them
};

// Connections for RPC lines may be opened to this name, which a host says once for each that it serves.
struct ServeLines {
  std::string name;    // 1..kMaxLineName printable characters
  uint32_t flags = 0;  // reserved, 0
};

// Asks for channelz at the host's addresses.
struct ServeChannelz {
  uint32_t flags = 0;  // reserved, 0
};

inline constexpr uint32_t kAllEngineFlags = kEngineIsChild | kEngineTakesLog;

// Asks what the engine runs on.
struct Describe {};

// One descriptor: where the engine's log goes from now on.
struct LogTo {
  uint32_t flags = 0;  // reserved, 0
};

struct Start {};  // everything is registered: calls may come

struct Drain {
  uint64_t grace_ms = 0;  // calls that have not ended by then end in UNAVAILABLE
};

struct Detach {};

// Asks for a connection between one of the host's workers and a worker of a host that serves `name`.
struct OpenConnection {
  uint32_t request = 0;  // the host's own number of the question
  uint32_t worker = 0;
  std::string name;
};

// ---- engine to host

// Descriptors: rx, tx, then one eventfd for each engine thread.
struct Welcome {
  uint32_t pid = 0;
  uint32_t flags = 0;  // reserved, 0
  std::string name;    // "droverd 0.1.0"
  ChannelOptions channel;
  uint64_t rx_size = 0;  // of the memfds
  uint64_t tx_size = 0;
  std::vector<int32_t> cpus;  // one element an engine thread: the CPU it is pinned to, or -1
};

struct Listening {
  std::string address;  // as the Listen said it
  uint32_t port = 0;    // the port that was bound; 0 for a Unix socket
};

struct Started {};

struct Error {
  ControlCode code = ControlCode::kNone;
  ControlType in_reply_to = ControlType::kHello;
  std::string text;
};

struct Draining {
  uint64_t grace_ms = 0;
};

struct HostStatus {
  using State = HostState;
  State state = State::kServing;
  uint64_t calls_in_flight = 0;
  uint64_t calls_ended = 0;
};

// Answers an OpenConnection; kNone: the connection is open.
struct ConnectionOpened {
  uint32_t request = 0;
  ControlCode code = ControlCode::kNone;
  uint32_t connection = 0;  // LineSlot.connection; see channel/line.h for the engine thread
  std::string text;         // why it was refused
};

// What the engine runs on: two engines with the same build and config do the same.
struct Description {
  uint32_t flags = 0;       // of EngineFlag
  std::string version;      // "0.1.0"
  std::string build;        // SHA-256 of its program file, 64 hexadecimal digits
  std::string config;       // SHA-256 of its configuration in effect, likewise
  std::string config_file;  // that --config named
  std::string log_file;     // empty: its stderr
  uint64_t started = 0;     // Unix time, seconds
};

using ControlMessage =
    std::variant<Hello, RegisterImage, RegisterMethods, Listen, Start, Drain, Detach, Welcome, Listening, Started,
                 Error, Draining, HostStatus, ServeLines, OpenConnection, ConnectionOpened, ListenTls,
                 RegisterDescriptors, Describe, LogTo, Description, ServeChannelz>;
ControlType control_type(const ControlMessage& message);

// Descriptors that a message must come with (Welcome: 2 + engine threads).
size_t expected_fds(const ControlMessage& message);

// The packet, header included. A message that breaks a limit above has no packet: empty, and `error` says which.
std::string encode_control(const ControlMessage& message, ControlError* error);

// Reads one packet of any content. Null: `error` says what was wrong at which byte.
std::optional<ControlMessage> parse_control(std::string_view packet, ControlError* error);

// Cuts a list of methods into as many messages as their packets need. A path over kMaxControlString is refused
// later, by encode_control.
std::vector<RegisterMethods> split_methods(std::span<const RegisterMethods::Method> methods);

// A sealed memfd that holds `image`, to send along with RegisterImage; or descriptors, with RegisterDescriptors.
UniqueFd make_image_fd(std::string_view image, ControlError* error);
// The bytes behind such a descriptor, copied into private memory: nobody can change them after they are checked.
// Refuses what is not a memfd sealed against writing and shrinking, another size than `size`, or one over
// kMaxImageBytes.
std::optional<std::string> read_image_fd(int fd, uint64_t size, ControlError* error);

}  // namespace drover
