// WriteOptions: how a message of a stream is written; gRPC's class.
//
// On Drover no_compression has an effect; the other flags are kept.
#pragma once

#include <cstdint>

#define GRPC_WRITE_BUFFER_HINT (0x00000001u)
#define GRPC_WRITE_NO_COMPRESS (0x00000002u)
#define GRPC_WRITE_THROUGH (0x00000004u)

namespace grpc {

class WriteOptions {
 public:
  WriteOptions() = default;

  void Clear() { flags_ = 0; }
  uint32_t flags() const { return flags_; }

  WriteOptions& set_no_compression() { return set(GRPC_WRITE_NO_COMPRESS); }
  WriteOptions& clear_no_compression() { return clear(GRPC_WRITE_NO_COMPRESS); }
  bool get_no_compression() const { return has(GRPC_WRITE_NO_COMPRESS); }
  WriteOptions& set_buffer_hint() { return set(GRPC_WRITE_BUFFER_HINT); }
  WriteOptions& clear_buffer_hint() { return clear(GRPC_WRITE_BUFFER_HINT); }
  bool get_buffer_hint() const { return has(GRPC_WRITE_BUFFER_HINT); }
  WriteOptions& set_corked() { return set(GRPC_WRITE_BUFFER_HINT); }
  WriteOptions& clear_corked() { return clear(GRPC_WRITE_BUFFER_HINT); }
  bool is_corked() const { return has(GRPC_WRITE_BUFFER_HINT); }
  WriteOptions& set_write_through() { return set(GRPC_WRITE_THROUGH); }
  WriteOptions& clear_write_through() { return clear(GRPC_WRITE_THROUGH); }
  bool is_write_through() const { return has(GRPC_WRITE_THROUGH); }
  WriteOptions& set_last_message() {
    last_message_ = true;
    return *this;
  }
  WriteOptions& clear_last_message() {
    last_message_ = false;
    return *this;
  }
  bool is_last_message() const { return last_message_; }

 private:
  WriteOptions& set(uint32_t flag) {
    flags_ |= flag;
    return *this;
  }
  WriteOptions& clear(uint32_t flag) {
    flags_ &= ~flag;
    return *this;
  }
  bool has(uint32_t flag) const { return (flags_ & flag) != 0; }

  uint32_t flags_ = 0;
  bool last_message_ = false;
};

}  // namespace grpc
