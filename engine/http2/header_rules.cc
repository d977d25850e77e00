#include "engine/http2/header_rules.h"

#include <array>

namespace drover::engine::http2 {

namespace {

constexpr std::array<bool, 256> make_name_characters() {
  std::array<bool, 256> legal{};
  for (char c : std::string_view("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz")) {
    legal[static_cast<uint8_t>(c)] = true;
  }
  return legal;
}
constexpr std::array<bool, 256> kNameCharacters = make_name_characters();

bool legal_name(std::string_view name) {
  if (name.empty()) return false;
  for (char c : name) {
    if (!kNameCharacters[static_cast<uint8_t>(c)]) return false;
  }
  return true;
}

bool is_blank(char c) { return c == ' ' || c == '\t'; }

// Of :path and :authority, which hold no blanks either.
bool legal_target(std::string_view value) {
  for (char c : value) {
    auto byte = static_cast<uint8_t>(c);
    if (byte <= 0x20 || byte == 0x7f) return false;
  }
  return true;
}

// Fields of one connection, which HTTP/2 has no use for (RFC 9113, 8.2.2).
bool connection_field(const Field& field) {
  switch (field.name.size()) {
    case 2:
      return field.name == "te" && field.value != "trailers";
    case 7:
      return field.name == "upgrade";
    case 10:
      return field.name == "connection" || field.name == "keep-alive";
    case 16:
      return field.name == "proxy-connection";
    case 17:
      return field.name == "transfer-encoding";
    default:
      return false;
  }
}

bool read_decimal(std::string_view text, int64_t& value) {
  if (text.empty() || text.size() > 18) return false;
  value = 0;
  for (char c : text) {
    if (c < '0' || c > '9') return false;
    value = value * 10 + (c - '0');
  }
  return true;
}

const char* take_status(const Field& field, HeadSummary& head) {
  int64_t number;
  if (head.status != 0) return "a second :status";
  if (field.value.size() != 3 || !read_decimal(field.value, number) || number < 100) return "a malformed :status";
  head.status = static_cast<uint32_t>(number);
  return nullptr;
}

const char* take_pseudo(BlockKind kind, const Field& field, HeadSummary& head, uint32_t& seen) {
  if (kind == BlockKind::kTrailers) return "a pseudo-header field in trailers";
  if (kind == BlockKind::kResponse) {
    return field.name == ":status" ? take_status(field, head) : "an unknown pseudo-header field";
  }
  static constexpr std::string_view kNames[] = {":method", ":scheme", ":path", ":authority"};
  std::string_view* const values[] = {&head.method, &head.scheme, &head.path, &head.authority};
  for (uint32_t i = 0; i < std::size(kNames); ++i) {
    if (field.name != kNames[i]) continue;
    if (seen & (1u << i)) return "a pseudo-header field twice";
    seen |= 1u << i;
    if (!legal_target(field.value)) return "an illegal character in a pseudo-header field";
    *values[i] = field.value;
    return nullptr;
  }
  return "an unknown pseudo-header field";
}

const char* check_request(const HeadSummary& head, const std::vector<Field>& fields, uint32_t seen) {
  constexpr uint32_t kMethod = 1, kScheme = 2, kPath = 4, kAuthority = 8;
  if (!(seen & kMethod) || head.method.empty()) return "no :method";
  if (head.method == "CONNECT") {
    return (seen & (kScheme | kPath)) || !(seen & kAuthority) ? "a malformed CONNECT" : nullptr;
  }
  if (!(seen & kScheme) || head.scheme.empty()) return "no :scheme";
  if (!(seen & kPath) || head.path.empty()) return "no :path";
  if (head.authority.empty() && (head.scheme == "http" || head.scheme == "https")) {
    bool host = false;
    for (size_t i = head.first_regular; i < fields.size(); ++i) host |= fields[i].name == "host";
    if (!host) return "no :authority";
  }
  if (head.path.front() != '/' && !(head.method == "OPTIONS" && head.path == "*")) return "a malformed :path";
  return nullptr;
}

const char* take_regular(const Field& field, HeadSummary& head) {
  if (!legal_name(field.name)) return "an illegal field name";
  if (!legal_value(field.value)) return "an illegal field value";
  if (connection_field(field)) return "a field that belongs to a connection";
  if (field.name == "content-length") {
    int64_t length;
    if (!read_decimal(field.value, length)) return "a malformed content-length";
    if (head.content_length >= 0 && head.content_length != length) return "two content-lengths";
    head.content_length = length;
  }
  return nullptr;
}

}  // namespace

bool legal_value(std::string_view value) {
  if (value.empty()) return true;
  if (is_blank(value.front()) || is_blank(value.back())) return false;
  for (char c : value) {
    auto byte = static_cast<uint8_t>(c);
    if ((byte < 0x20 && byte != '\t') || byte == 0x7f) return false;
  }
  return true;
}

HeadSummary check_fields(BlockKind kind, const std::vector<Field>& fields) {
  HeadSummary head;
  uint32_t seen = 0;
  bool regular = false;
  for (size_t i = 0; i < fields.size() && !head.malformed; ++i) {
    const Field& field = fields[i];
    if (!field.name.empty() && field.name.front() == ':') {
      head.malformed = regular ? "a pseudo-header field behind others" : take_pseudo(kind, field, head, seen);
    } else {
      if (!regular) head.first_regular = i;
      regular = true;
      head.malformed = take_regular(field, head);
    }
  }
  if (!regular) head.first_regular = fields.size();
  if (head.malformed) return head;
  if (kind == BlockKind::kRequest) head.malformed = check_request(head, fields, seen);
  if (kind == BlockKind::kResponse && head.status == 0) head.malformed = "no :status";
  return head;
}

}  // namespace drover::engine::http2
