#include "cli/log_entries.h"

#include <google/protobuf/util/json_util.h>
#include <google/protobuf/wrappers.pb.h>
#include <grpc/binarylog/v1/binarylog.pb.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <ctime>
#include <utility>

#include "cli/file_io.h"
#include "cli/printable.h"
#include "cli/status_name.h"

namespace drover::cli {
namespace {

namespace v1 = grpc::binarylog::v1;
using Entry = v1::GrpcLogEntry;

constexpr size_t kMostMethod = 1024;  // bytes of a method's name that are remembered
constexpr size_t kShownBytes = 32;    // of a message that is not decoded, or of a value that is no text
constexpr int64_t kNanos = 1'000'000'000;
constexpr int64_t kFirstSecond = -62'135'596'800, kLastSecond = 253'402'300'799;  // of the years 1 and 9999

bool is_time(const google::protobuf::Timestamp& time) {
  return time.seconds() >= kFirstSecond && time.seconds() <= kLastSecond && time.nanos() >= 0 && time.nanos() < kNanos;
}

bool is_duration(const google::protobuf::Duration& time) {
  constexpr int64_t kMost = 315'576'000'000;
  if (time.seconds() < -kMost || time.seconds() > kMost || time.nanos() <= -kNanos || time.nanos() >= kNanos)
    return false;
  return time.seconds() == 0 || time.nanos() == 0 || (time.seconds() < 0) == (time.nanos() < 0);
}

std::string time_text(const google::protobuf::Timestamp& time) {
  if (!is_time(time)) return "(no time)";
  const time_t seconds = time.seconds();
  tm parts{};
  ::gmtime_r(&seconds, &parts);
  char text[64];
  std::snprintf(text, sizeof text, "%04d-%02d-%02dT%02d:%02d:%02d.%06dZ", parts.tm_year + 1900, parts.tm_mon + 1,
                parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec, time.nanos() / 1000);
  return text;
}

std::string event_text(int type) {
  static constexpr std::string_view kPrefix = "EVENT_TYPE_";
  const std::string& name = Entry::EventType_Name(static_cast<Entry::EventType>(type));
  return name.starts_with(kPrefix) ? name.substr(kPrefix.size()) : "event " + std::to_string(type);
}

std::string peer_text(const v1::Address& peer) {
  const std::string address = printable_line(peer.address());
  const std::string port = peer.ip_port() == 0 ? "" : ":" + std::to_string(peer.ip_port());
  if (peer.type() == v1::Address::TYPE_IPV6) return "[" + address + "]" + port;
  return (peer.type() == v1::Address::TYPE_UNIX ? "unix:" : "") + address + port;
}

std::string bytes_text(std::string_view bytes) {
  return "0x" + to_hex(bytes.substr(0, kShownBytes)) + (bytes.size() > kShownBytes ? "..." : "");
}

std::string metadata_text(const v1::Metadata& metadata) {
  std::string out;
  for (const v1::MetadataEntry& entry : metadata.entry()) {
    const bool is_binary = entry.key().ends_with("-bin") && entry.value() != "[redacted]";
    out += "  " + printable_line(entry.key()) + ": " +
           (is_binary ? bytes_text(entry.value()) : printable_line(entry.value()));
  }
  return out;
}

std::string header_text(const v1::ClientHeader& header) {
  std::string out;
  if (!header.authority().empty()) out += "  authority " + printable_line(header.authority());
  if (header.has_timeout() && is_duration(header.timeout())) {
    char text[64];
    std::snprintf(text, sizeof text, "  timeout %.6g s",
                  static_cast<double>(header.timeout().seconds()) + header.timeout().nanos() / 1e9);
    out += text;
  }
  return out + metadata_text(header.metadata());
}

std::string trailer_text(const v1::Trailer& trailer) {
  std::string out = status_name(trailer.status_code());
  if (!trailer.status_message().empty()) out += ": " + printable_line(trailer.status_message());
  if (!trailer.status_details().empty()) out += "  details " + bytes_text(trailer.status_details());
  return out + metadata_text(trailer.metadata());
}

// "/package.Service/Method" is of "package.Service/Method" and of "package.Service".
bool is_of(std::string_view method, std::string_view wanted) {
  if (method.starts_with('/')) method.remove_prefix(1);
  if (wanted.starts_with('/')) wanted.remove_prefix(1);
  if (wanted.ends_with("/*")) wanted.remove_suffix(2);
  return method == wanted || (method.starts_with(wanted) && method.substr(wanted.size()).starts_with('/'));
}

std::string to_json(const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  std::string text;
  return google::protobuf::util::MessageToJsonString(message, &text, options).ok() ? text : "";
}

std::string quoted(const std::string& text) {
  google::protobuf::StringValue value;
  value.set_value(text);
  return to_json(value);
}

}  // namespace

LogEntries::LogEntries(LogChoice choice, bool json, Decode decode)
    : choice_(std::move(choice)), json_(json), decode_(std::move(decode)) {}

// Of the call, as its client header said.
const std::string& LogEntries::method_of(const Entry& entry) {
  static const std::string kUnknown;
  if (entry.has_client_header()) {
    const auto [at, is_new] = methods_.try_emplace(entry.call_id());
    at->second = entry.client_header().method_name().substr(0, kMostMethod);
    if (is_new) known_.push_back(entry.call_id());
    if (known_.size() > kMostCalls) {
      methods_.erase(known_.front());
      known_.pop_front();
    }
  }
  const auto found = methods_.find(entry.call_id());
  return found == methods_.end() ? kUnknown : found->second;
}

bool LogEntries::chosen(uint64_t call, const std::string& method) const {
  const bool of_calls =
      choice_.calls.empty() || std::find(choice_.calls.begin(), choice_.calls.end(), call) != choice_.calls.end();
  return of_calls &&
         (choice_.methods.empty() || std::any_of(choice_.methods.begin(), choice_.methods.end(),
                                                 [&](const std::string& wanted) { return is_of(method, wanted); }));
}

bool LogEntries::print(std::string_view bytes, std::string* text) {
  text->clear();
  Entry entry;
  if (!entry.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return false;
  const std::string method = method_of(entry);
  if (chosen(entry.call_id(), method)) *text = (json_ ? json_of(entry, method) : line_of(entry, method)) + "\n";
  return true;
}

// Empty: it is no whole message, or no schema has it.
std::string LogEntries::decoded(const Entry& entry, const std::string& method) const {
  if (decode_ == nullptr || !entry.has_message() || method.empty()) return "";
  if (entry.message().data().size() != entry.message().length()) return "";
  return decode_(method, entry.type() == Entry::EVENT_TYPE_CLIENT_MESSAGE, entry.message().data());
}

std::string LogEntries::line_of(const Entry& entry, const std::string& method) const {
  char head[160];
  std::snprintf(head, sizeof head, "%-27s  %16" PRIu64 "  %3" PRIu64 "  %-17s ", time_text(entry.timestamp()).c_str(),
                entry.call_id(), entry.sequence_id_within_call(), event_text(entry.type()).c_str());
  std::string out = head;
  switch (entry.payload_case()) {
    case Entry::kClientHeader:
      out += " " + printable_line(method);
      if (entry.has_peer()) out += "  from " + peer_text(entry.peer());
      out += header_text(entry.client_header());
      break;
    case Entry::kServerHeader:
      out += metadata_text(entry.server_header().metadata());
      break;
    case Entry::kMessage: {
      out += " " + std::to_string(entry.message().length()) + " bytes";
      const std::string json = decoded(entry, method);
      const std::string& data = entry.message().data();
      if (!json.empty() || !data.empty()) out += "  " + (json.empty() ? bytes_text(data) : printable_json(json));
      break;
    }
    case Entry::kTrailer:
      out += " " + trailer_text(entry.trailer());
      break;
    case Entry::PAYLOAD_NOT_SET:
      break;
  }
  if (entry.payload_truncated()) out += "  [truncated]";
  out.erase(out.find_last_not_of(' ') + 1);
  return out;
}

// protobuf's JSON mapping of the entry, with two members more: the call's method, and the message by its schema.
std::string LogEntries::json_of(const Entry& entry, const std::string& method) const {
  Entry safe = entry;
  if (!is_time(safe.timestamp())) safe.clear_timestamp();
  if (safe.has_client_header() && !is_duration(safe.client_header().timeout())) {
    safe.mutable_client_header()->clear_timeout();
  }
  std::string text = to_json(safe);
  if (!text.ends_with('}')) return "{}";
  text.pop_back();
  const auto add = [&text](const char* name, const std::string& value) {
    if (!value.empty()) text += (text == "{" ? "\"" : ",\"") + (name + ("\":" + value));
  };
  if (!method.empty()) add("method", quoted(method));
  add("json", decoded(entry, method));
  return printable_json(text + "}");
}

}  // namespace drover::cli
