// Status: what protobuf C++'s utilities return (google/protobuf/stubs/status.h): a code and a text.
#pragma once

#include <ostream>
#include <string>
#include <string_view>

namespace drover::util {

enum class StatusCode : int {
  kOk = 0,
  kCancelled = 1,
  kUnknown = 2,
  kInvalidArgument = 3,
  kDeadlineExceeded = 4,
  kNotFound = 5,
  kAlreadyExists = 6,
  kPermissionDenied = 7,
  kUnauthenticated = 16,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kAborted = 10,
  kOutOfRange = 11,
  kUnimplemented = 12,
  kInternal = 13,
  kUnavailable = 14,
  kDataLoss = 15,
};
// "INVALID_ARGUMENT"; "UNKNOWN" for a number without a name.
const char* status_code_name(StatusCode code);

class Status {
 public:
  Status() = default;
  Status(StatusCode code, std::string_view message) : code_(code) {
    if (code != StatusCode::kOk) message_ = message;
  }
  bool ok() const { return code_ == StatusCode::kOk; }
  StatusCode code() const { return code_; }
  std::string_view message() const { return message_; }
  // "OK", or "INVALID_ARGUMENT:what is wrong".
  std::string ToString() const;
  friend bool operator==(const Status&, const Status&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Status& status) { return out << status.ToString(); }

 private:
  StatusCode code_ = StatusCode::kOk;
  std::string message_;
};

inline Status OkStatus() { return {}; }

}  // namespace drover::util
