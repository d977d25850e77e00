#include "engine/binary_log/call_logger.h"

#include <algorithm>
#include <charconv>
#include <ctime>

#include "codec/utf8.h"

namespace drover::engine::binary_log {
namespace {

using binlog::append_bytes;
using binlog::append_length;
using binlog::append_number;
using binlog::Event;

constexpr int64_t kSecond = 1'000'000'000;
constexpr size_t kMostText = 8 << 10;  // of a path, an authority, a status's message
constexpr std::string_view kDetails = "grpc-status-details-bin";

// A text field. What is no UTF-8 becomes '?'. True: it was cut.
bool append_text(uint32_t field, std::string_view text, std::string* out) {
  const bool cut = text.size() > kMostText;
  if (cut) {
    size_t size = kMostText;
    while (size != 0 && (static_cast<uint8_t>(text[size]) & 0xc0) == 0x80) --size;  // not inside a character
    text = text.substr(0, size);
  }
  if (text.empty()) return cut;
  append_bytes(field, text, out);
  if (is_valid_utf8(text.data(), text.size())) return cut;
  for (auto at = out->end() - static_cast<std::ptrdiff_t>(text.size()); at != out->end(); ++at) {
    if (static_cast<uint8_t>(*at) >= 0x80) *at = '?';
  }
  return cut;
}

void append_time(uint32_t field, int64_t seconds, int64_t nanos, std::string* out) {
  const auto s = static_cast<uint64_t>(seconds), n = static_cast<uint64_t>(nanos);
  append_length(field, 2 + binlog::varint_size(s) + binlog::varint_size(n), out);
  append_number(binlog::time::kSeconds, s, out);
  append_number(binlog::time::kNanos, n, out);
}

}  // namespace

CallLogger::CallLogger(const Rules& rules, CallIds ids, EntryRing& ring, LogWriter& writer, ThreadMetrics& metrics)
    : rules_(rules),
      ids_(ids),
      ring_(ring),
      writer_(writer),
      metrics_(metrics),
      next_id_(ids.first),
      calls_(metrics.counter("drover_binary_log_calls_total", "Calls that the binary log's filter has")),
      entries_(metrics.counter("drover_binary_log_entries_total", "Entries given to the binary log's writer")),
      full_(metrics.counter(kDroppedName, kDroppedHelp, {{"why", "full"}})),
      broken_(metrics.counter(kDroppedName, kDroppedHelp, {{"why", "broken"}})) {}

CallLogger::~CallLogger() {
  for (const Counter* one : {calls_, entries_, full_, broken_}) metrics_.remove(one);
}

// ---- Entries. The payload is written last, so that its bytes may lie elsewhere.

void CallLogger::start(LoggedCall& call, Event event) {
  timespec now;
  ::clock_gettime(CLOCK_REALTIME, &now);
  head_.clear();
  append_time(binlog::entry::kTimestamp, now.tv_sec, now.tv_nsec, &head_);
  append_number(binlog::entry::kCallId, call.id, &head_);
  append_number(binlog::entry::kSequenceId, ++call.entries, &head_);
  append_number(binlog::entry::kType, static_cast<uint64_t>(event), &head_);
  append_number(binlog::entry::kLogger, binlog::kLoggerServer, &head_);
}

void CallLogger::push() {
  if (!ring_.push(pieces_)) {
    full_->add();
    writer_.wake();
    return;
  }
  entries_->add();
  if (ring_.waiting() > ring_.capacity() / 4) writer_.wake();
}

// The entry's payload is payload_.
void CallLogger::finish(uint32_t payload_field, bool truncated) {
  if (truncated) append_number(binlog::entry::kPayloadTruncated, 1, &head_);
  append_length(payload_field, payload_.size(), &head_);
  pieces_.assign({{head_.data(), head_.size()}, {payload_.data(), payload_.size()}});
  push();
}

void CallLogger::finish_empty(LoggedCall& call, Event event) {
  start(call, event);
  pieces_.assign({{head_.data(), head_.size()}});
  push();
}

// ---- Metadata.

// False: it has no room in what is left.
bool CallLogger::add_metadata_entry(const Header& header, Redaction::Entry how, uint64_t* left) {
  const std::string_view name = header.first;
  const std::string_view value = how == Redaction::Entry::kRedacted ? Redaction::kRedacted : header.second;
  if (how != Redaction::Entry::kAlways) {
    const uint64_t size = uint64_t{name.size()} + value.size();
    if (size > *left) return false;
    *left -= size;
  } else if (value.size() > kMostText) {
    return false;
  }
  std::string& out = metadata_;
  const size_t key_size = 1 + binlog::varint_size(name.size()) + name.size();
  append_length(binlog::metadata::kEntry, key_size + 1 + binlog::varint_size(value.size()) + value.size(), &out);
  append_bytes(binlog::metadata_entry::kKey, name, &out);
  if (!is_valid_utf8(name.data(), name.size())) {
    for (auto at = out.end() - static_cast<std::ptrdiff_t>(name.size()); at != out.end(); ++at) {
      if (static_cast<uint8_t>(*at) >= 0x80) *at = '?';
    }
  }
  append_bytes(binlog::metadata_entry::kValue, value, &out);
  return true;
}

// Into metadata_. True: the limit left something out.
bool CallLogger::add_metadata(std::span<const Header> metadata, uint64_t limit) {
  metadata_.clear();
  bool truncated = false;
  uint64_t left = std::min<uint64_t>(limit, rules_.max_payload);
  for (const Header& header : metadata) {
    const Redaction::Entry how = rules_.redaction.of(header.first);
    if (how != Redaction::Entry::kLeftOut) truncated |= !add_metadata_entry(header, how, &left);
  }
  return truncated;
}

// ---- Events.

void CallLogger::append_peer(std::string_view peer, std::string* out) {
  auto type = binlog::AddressType::kUnknown;
  std::string_view address;
  uint32_t port = 0;
  if (peer.starts_with("ipv4:") || peer.starts_with("ipv6:")) {
    type = peer[3] == '4' ? binlog::AddressType::kIpv4 : binlog::AddressType::kIpv6;
    const size_t colon = peer.rfind(':');
    std::from_chars(peer.data() + colon + 1, peer.data() + peer.size(), port);
    address = colon > 5 ? peer.substr(5, colon - 5) : std::string_view();
    if (address.starts_with("%5B")) address.remove_prefix(3);
    address = address.substr(0, address.find('%'));  // with the scope
  } else if (peer.starts_with("unix:")) {
    type = binlog::AddressType::kUnix;
    address = peer.substr(5);
  }
  std::string text;
  append_number(binlog::address::kType, static_cast<uint64_t>(type), &text);
  append_text(binlog::address::kAddress, address, &text);
  if (port != 0) append_number(binlog::address::kIpPort, port, &text);
  append_bytes(binlog::entry::kPeer, text, out);
}

void CallLogger::begin(const ClientHeader& header, LoggedCall& call) {
  const Limits* limits = rules_.filter.find(header.path);
  if (limits == nullptr) return;
  calls_->add();
  call = {limits, next_id_};
  next_id_ += ids_.step;
  start(call, Event::kClientHeader);
  append_peer(header.peer, &head_);
  payload_.clear();
  bool truncated = add_metadata(header.metadata, limits->header);
  append_bytes(binlog::client_header::kMetadata, metadata_, &payload_);
  truncated |= append_text(binlog::client_header::kMethodName, header.path, &payload_);
  truncated |= append_text(binlog::client_header::kAuthority, header.authority, &payload_);
  if (header.timeout_ns != kNoDeadline) {
    append_time(binlog::client_header::kTimeout, header.timeout_ns / kSecond, header.timeout_ns % kSecond, &payload_);
  }
  finish(binlog::entry::kClientHeader, truncated);
}

void CallLogger::message(LoggedCall& call, Event event, std::span<const Piece> pieces, size_t size) {
  start(call, event);
  const auto logged = static_cast<size_t>(std::min<uint64_t>({call.limits->message, rules_.max_payload, size}));
  if (logged < size) append_number(binlog::entry::kPayloadTruncated, 1, &head_);
  payload_.clear();
  append_number(binlog::message::kLength, size, &payload_);
  if (logged != 0) append_length(binlog::message::kData, logged, &payload_);
  append_length(binlog::entry::kMessage, payload_.size() + logged, &head_);
  pieces_.assign({{head_.data(), head_.size()}, {payload_.data(), payload_.size()}});
  size_t left = logged;
  for (const Piece& piece : pieces) {
    const size_t taken = std::min(piece.size, left);
    if (taken == 0) continue;
    pieces_.push_back({piece.data, taken});
    left -= taken;
  }
  if (left == 0) return push();
  broken_->add();  // fewer bytes than it was said to have
}

void CallLogger::server_header(LoggedCall& call, std::span<const Header> metadata) {
  start(call, Event::kServerHeader);
  const bool truncated = add_metadata(metadata, call.limits->header);
  payload_.clear();
  append_bytes(binlog::server_header::kMetadata, metadata_, &payload_);
  finish(binlog::entry::kServerHeader, truncated);
}

void CallLogger::server_trailer(LoggedCall& call, const Reply& reply) {
  call.has_trailer = true;
  start(call, Event::kServerTrailer);
  bool truncated = add_metadata(reply.trailing, call.limits->header);
  payload_.clear();
  append_bytes(binlog::trailer::kMetadata, metadata_, &payload_);
  if (reply.code != StatusCode::kOk) {
    append_number(binlog::trailer::kStatusCode, static_cast<uint64_t>(reply.code), &payload_);
  }
  truncated |= append_text(binlog::trailer::kStatusMessage, reply.status_message, &payload_);
  for (const auto& [name, value] : reply.trailing) {
    if (name != kDetails) continue;
    if (value.size() > rules_.max_payload) {
      truncated = true;
    } else {
      append_bytes(binlog::trailer::kStatusDetails, value, &payload_);
    }
    break;
  }
  finish(binlog::entry::kTrailer, truncated);
}

}  // namespace drover::engine::binary_log
