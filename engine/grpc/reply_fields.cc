#include "engine/grpc/reply_fields.h"

#include <algorithm>
#include <iterator>

#include "engine/base/log.h"
#include "engine/grpc/grpc_wire.h"

namespace drover::engine {

namespace {

log::Limit g_metadata_limit;

constexpr size_t kMaxMessage = 8 << 10;  // of grpc-message, once encoded; clients take about as much
constexpr size_t kProtocolFields = 512;  // what the protocol's own fields count, without grpc-message

// Fields of nearly every reply, by their numbers for HpackEncoder::usual.
constexpr size_t kContentTypeNumber = 0;
constexpr size_t kStatusOkNumber = 1;
constexpr http2::Field kContentType = {"content-type", "application/grpc"};
constexpr http2::Field kStatusOk = {"grpc-status", "0"};

constexpr std::string_view kCodes[] = {"0", "1",  "2",  "3",  "4",  "5",  "6",  "7", "8",
                                       "9", "10", "11", "12", "13", "14", "15", "16"};

}  // namespace

void ReplyFields::clear() {
  http_status_ = kHttpOk;
  if (!message_.empty()) message_ = std::string();
  if (!initial_.empty()) initial_ = {};
  if (!trailing_.empty()) trailing_ = {};
  initial_size_ = trailing_size_ = 0;
}

void ReplyFields::copy(std::span<const Header> from, std::vector<Header>& to, size_t& size) {
  for (const auto& [name, value] : from) {
    std::string encoded;
    if (is_binary_header(name)) {
      append_base64_encoded(value, encoded);
    } else {
      encoded = value;
    }
    if (is_legal_response_metadata(name, encoded)) {
      size += http2::field_size(name, encoded);
      to.emplace_back(name, std::move(encoded));
    } else {
      log::warn(g_metadata_limit, "response metadata left out: illegal name or value", {{"name", name}});
    }
  }
}

void ReplyFields::set_message(std::string_view message) {
  append_percent_encoded(message, message_);
  if (message_.size() <= kMaxMessage) return;
  size_t cut = kMaxMessage;  // not inside a %XX
  if (message_[cut - 1] == '%') {
    cut -= 1;
  } else if (message_[cut - 2] == '%') {
    cut -= 2;
  }
  message_.resize(cut);
}

void ReplyFields::start(const Reply& reply, bool trailers_only) {
  start_headers(reply.initial);
  start_end(reply, trailers_only);
}

void ReplyFields::start_headers(std::span<const Header> initial) {
  trailers_only_ = false;
  encoding_ = accept_encoding_ = {};
  if (!initial.empty()) copy(initial, initial_, initial_size_);
}

void ReplyFields::start_end(const Reply& reply, bool trailers_only) {
  code_ = reply.code;
  trailers_only_ = trailers_only;
  if (!reply.status_message.empty()) set_message(reply.status_message);
  if (!reply.trailing.empty()) copy(reply.trailing, trailing_, trailing_size_);
}

size_t ReplyFields::largest_block() const {
  return kProtocolFields + message_.size() + std::max(initial_size_, trailing_size_);
}

void ReplyFields::write_headers(http2::FieldWriter& out) const {
  if (http_status_ != kHttpOk) {
    out.field(":status", std::to_string(http_status_));
    out.field("content-type", "text/plain");
    out.field("content-length", std::to_string(http_body_));
    return;
  }
  out.constant(http2::kStaticStatus200);
  out.usual(kContentTypeNumber, kContentType);
  if (!encoding_.empty()) out.field("grpc-encoding", encoding_, http2::Indexing::kAdd);
  if (!accept_encoding_.empty()) out.field("grpc-accept-encoding", accept_encoding_, http2::Indexing::kAdd);
  for (const auto& [name, value] : initial_) out.field(name, value);
  if (trailers_only_) write_trailers(out);
}

void ReplyFields::write_trailers(http2::FieldWriter& out) const {
  if (code_ == StatusCode::kOk) {
    out.usual(kStatusOkNumber, kStatusOk);
  } else {
    auto number = static_cast<size_t>(code_);
    out.field("grpc-status", kCodes[number < std::size(kCodes) ? number : 2], http2::Indexing::kAdd);
  }
  if (!message_.empty()) out.field("grpc-message", message_);
  for (const auto& [name, value] : trailing_) out.field(name, value);
}

}  // namespace drover::engine
