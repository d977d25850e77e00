// Calls of any kind by the bytes of their messages, through gRPC C++'s generic stub. Only grpc_call.cc includes gRPC's
// headers.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace drover::cli {

using Metadata = std::vector<std::pair<std::string, std::string>>;  // -bin values as bytes

struct ChannelOptions {
  std::string target;  // "localhost:50051", "unix:/run/greeter.sock", any gRPC name
  bool tls = false;
  bool verify = true;                                     // the server's certificate and name
  std::string ca_certificates, certificate, private_key;  // PEM; empty: the system's; none
  std::string authority;                                  // also the TLS name; empty: the target
};

struct CallOptions {
  Metadata metadata;
  int64_t deadline_ms = 0;  // from the call's beginning; 0: none
};

struct CallStatus {
  int code = 0;      // gRPC status code
  std::string name;  // "UNAVAILABLE"
  std::string message;
  size_t details_bytes = 0;  // of binary error details
  bool ok() const { return code == 0; }
  // "UNAVAILABLE (14): connection refused", one line.
  std::string text() const;
};
inline constexpr int kStatusUnimplemented = 12, kStatusUnavailable = 14;

// One call. One thread may write while another one reads; cancel() may come from any. Ends the call when it is
// destroyed.
class ByteStream {
 public:
  virtual ~ByteStream() = default;
  // Returns when the message is on its way. False: the call is over.
  virtual bool write(const std::string& message) = 0;
  virtual void writes_done() = 0;
  // Waits for the next message. False: there are no more.
  virtual bool read(std::string* message) = 0;
  // After the first read().
  virtual Metadata initial_metadata() const = 0;
  // Once read() has returned false.
  virtual CallStatus finish() = 0;
  // After finish().
  virtual Metadata trailing_metadata() const = 0;
  virtual void cancel() = 0;
};

// A connection that is made when the first call needs it. Thread-safe.
class ByteChannel {
 public:
  explicit ByteChannel(const ChannelOptions& options);
  ~ByteChannel();
  // `method`: "/helloworld.Greeter/SayHello".
  std::unique_ptr<ByteStream> open(const std::string& method, const CallOptions& options);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace drover::cli
