// Entries of a gRPC binary log as text: a line of a table each, or a line of JSON by protobuf's JSON mapping.
//
// The log is somebody else's: nothing of it may act on a terminal, and what it says of a call is remembered for the
// youngest kMostCalls calls only.
//
// Thread-safety: none.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace grpc::binarylog::v1 {
class GrpcLogEntry;
}

namespace drover::cli {

struct LogChoice {
  std::vector<std::string>
      methods;                  // "package.Service/Method", or "package.Service" for all of its methods; empty: all
  std::vector<uint64_t> calls;  // ids; empty: all
};

class LogEntries {
 public:
  static constexpr size_t kMostCalls = 65'536;
  // A message of that method ("/package.Service/Method"), which the client or the server sent, as JSON on one line.
  // Empty: it cannot be read by a schema.
  using Decode = std::function<std::string(const std::string& method, bool of_client, const std::string& wire)>;

  // `decode`: may be empty.
  LogEntries(LogChoice choice, bool json, Decode decode);

  // The text of an entry's bytes, with its line end; empty: the choice does not have it. False: they are no entry.
  bool print(std::string_view bytes, std::string* text);

 private:
  const std::string& method_of(const grpc::binarylog::v1::GrpcLogEntry& entry);
  bool chosen(uint64_t call, const std::string& method) const;
  std::string decoded(const grpc::binarylog::v1::GrpcLogEntry& entry, const std::string& method) const;
  std::string line_of(const grpc::binarylog::v1::GrpcLogEntry& entry, const std::string& method) const;
  std::string json_of(const grpc::binarylog::v1::GrpcLogEntry& entry, const std::string& method) const;

  const LogChoice choice_;
  const bool json_;
  const Decode decode_;
  std::unordered_map<uint64_t, std::string> methods_;  // by the call's id
  std::deque<uint64_t> known_;                         // the ids, in the order in which they came
};

}  // namespace drover::cli
