// What a gRPC request's header block says: the route, the metadata, and what is wrong with it. Made once for a block
// that the client repeats (engine/http2/head_cache.h), so that its calls share one.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/call/call.h"
#include "engine/grpc/grpc_wire.h"
#include "engine/grpc/head_auth.h"
#include "engine/http2/head_cache.h"
#include "engine/http2/header_rules.h"

namespace drover::engine {

class RequestHead final : public http2::Head {
 public:
  // The field that differs from call to call; it is not in the head.
  static constexpr std::string_view kVariableField = "grpc-timeout";

  // `max_bytes`: of the fields, counted as HTTP/2 does; a -bin field counts once for each value in it. `known`: the
  // encodings that are supported.
  RequestHead(const http2::HeadSummary& summary, const std::vector<http2::Field>& fields, bool too_large,
              size_t max_bytes, Compressions known);

  size_t memory() const override { return sizeof(*this) + strings_; }

  std::string path;
  mutable RouteMemo memo;  // of path: all calls with this head come over one connection
  std::string authority;
  std::vector<Header> metadata;    // the application's; -bin values are decoded
  std::string encoding_name;       // grpc-encoding, if it is one that we do not have
  std::unique_ptr<HeadAuth> auth;  // null: its token was not looked at, or tokens are not checked
  Encoding encoding = Encoding::kNone;
  Compressions taken;  // of grpc-accept-encoding, and supported
  bool is_post = false;
  bool is_grpc = false;
  bool bad_binary = false;
  bool too_large = false;  // fields are missing

 private:
  void take(const http2::Field& field);
  void add_metadata(std::string_view name, std::string&& value);

  const Compressions known_;
  size_t bytes_left_;
  size_t strings_ = 0;  // heap bytes, about
};

}  // namespace drover::engine
