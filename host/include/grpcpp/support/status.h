// Status: how a call ended; gRPC's class. Two words: the text, which an OK status has none of, is on the heap, so that
// returning Status::OK from a handler costs nothing. Thread-safety: as std::string.
#pragma once

#include <grpcpp/support/status_code_enum.h>

#include <memory>
#include <string>

namespace grpc {

class Status {
 public:
  Status() = default;
  Status(StatusCode code, const std::string& error_message) : Status(code, error_message, std::string()) {}
  Status(StatusCode code, const std::string& error_message, const std::string& error_details) : code_(code) {
    if (!error_message.empty() || !error_details.empty()) text_.reset(new Text{error_message, error_details});
  }
  Status(const Status& other) : code_(other.code_) {
    if (other.text_ != nullptr) [[unlikely]]
      text_.reset(new Text(*other.text_));
  }
  Status& operator=(const Status& other) {
    if (this != &other) *this = Status(other);
    return *this;
  }
  Status(Status&&) noexcept = default;
  Status& operator=(Status&&) noexcept = default;

  static const Status& OK;
  static const Status& CANCELLED;

  StatusCode error_code() const { return code_; }
  std::string error_message() const { return text_ == nullptr ? std::string() : text_->message; }
  // Bytes of a google.rpc.Status, sent as the trailer grpc-status-details-bin.
  std::string error_details() const { return text_ == nullptr ? std::string() : text_->details; }
  bool ok() const { return code_ == StatusCode::OK; }
  void IgnoreError() const {}

 private:
  struct Text {
    std::string message;
    std::string details;
  };
  StatusCode code_ = StatusCode::OK;
  std::unique_ptr<Text> text_;
};

}  // namespace grpc
