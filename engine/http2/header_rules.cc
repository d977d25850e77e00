#include "engine/http2/header_rules.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <limits>

namespace drover::engine::http2 {

namespace {

using Characters = std::array<bool, 256>;

constexpr std::string_view kLower = "abcdefghijklmnopqrstuvwxyz";
constexpr std::string_view kUpper = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
constexpr std::string_view kDigits = "0123456789";

constexpr Characters characters(std::initializer_list<std::string_view> sets) {
  Characters legal{};
  for (std::string_view set : sets) {
    for (char c : set) legal[static_cast<uint8_t>(c)] = true;
  }
  return legal;
}
constexpr std::string_view kTokenMarks = "!#$%&'*+-.^_`|~";                                   // RFC 9110, 5.6.2
constexpr Characters kNameCharacters = characters({kLower, kDigits, kTokenMarks});            // RFC 9113, 8.2.1
constexpr Characters kMethodCharacters = characters({kLower, kUpper, kDigits, kTokenMarks});  // RFC 9110, 9.1
constexpr Characters kSchemeCharacters = characters({kLower, kUpper, kDigits, "+-."});        // RFC 3986, 3.1
constexpr Characters kAuthorityCharacters =                                                   // RFC 3986, 3.2
    characters({kLower, kUpper, kDigits, "-._~", "%", "!$&'()*+,;=", ":@[]"});

bool consists_of(std::string_view text, const Characters& legal) {
  for (char c : text) {
    if (!legal[static_cast<uint8_t>(c)]) return false;
  }
  return !text.empty();
}

// Visible ASCII. RFC 3986 allows fewer in a path; the others do no harm, and clients send them.
bool legal_path(std::string_view path) {
  for (char c : path) {
    if (c < '!' || c > '~') return false;
  }
  return !path.empty();
}

bool legal_scheme(std::string_view scheme) {
  if (!consists_of(scheme, kSchemeCharacters)) return false;
  const char first = scheme.front();
  return (first >= 'a' && first <= 'z') || (first >= 'A' && first <= 'Z');
}

// `lower` is in lower case.
bool equal_ignoring_case(std::string_view text, std::string_view lower) {
  return std::equal(text.begin(), text.end(), lower.begin(), lower.end(),
                    [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a + ('a' - 'A') : a) == b; });
}

// Not empty: without an authority there is no field for it (RFC 9113, 8.3.1).
bool legal_authority(std::string_view authority) { return consists_of(authority, kAuthorityCharacters); }

bool is_http(std::string_view scheme) {
  return equal_ignoring_case(scheme, "http") || equal_ignoring_case(scheme, "https");
}

// Fields of one connection, which HTTP/2 has no use for (RFC 9113, 8.2.2).
bool connection_field(const Field& field) {
  switch (field.name.size()) {
    case 2:
      return field.name == "te" && !equal_ignoring_case(field.value, "trailers");
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
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  if (text.empty()) return false;
  value = 0;
  for (char c : text) {
    if (c < '0' || c > '9') return false;
    const int digit = c - '0';
    if (value > (kMost - digit) / 10) return false;
    value = value * 10 + digit;
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

const char* take_pseudo(BlockKind kind, const Field& field, HeadSummary& head) {
  if (kind == BlockKind::kTrailers) return "a pseudo-header field in trailers";
  if (kind == BlockKind::kResponse) {
    return field.name == ":status" ? take_status(field, head) : "an unknown pseudo-header field";
  }
  struct Rule {
    std::string_view name;
    std::string_view HeadSummary::* value;
    bool (*legal)(std::string_view);
  };
  static constexpr Rule kRules[] = {
      {":method", &HeadSummary::method, [](std::string_view v) { return consists_of(v, kMethodCharacters); }},
      {":scheme", &HeadSummary::scheme, legal_scheme},
      {":path", &HeadSummary::path, legal_path},
      {":authority", &HeadSummary::authority, legal_authority},
  };
  for (const Rule& rule : kRules) {
    if (field.name != rule.name) continue;
    if (!(head.*rule.value).empty()) return "a pseudo-header field twice";
    if (!rule.legal(field.value)) return "a malformed pseudo-header field";
    head.*rule.value = field.value;
    return nullptr;
  }
  return "an unknown pseudo-header field";
}

// `head`: its pseudo-header fields are absent or legal, and then not empty.
const char* check_request(HeadSummary& head, bool host) {
  if (head.method.empty()) return "no :method";
  if (head.method == "CONNECT") {
    head.content_length = -1;  // what follows is the tunnel's, not content (RFC 9110, 9.3.6)
    const bool whole = head.scheme.empty() && head.path.empty() && !head.authority.empty();
    return whole ? nullptr : "a malformed CONNECT";
  }
  if (head.scheme.empty()) return "no :scheme";
  if (head.path.empty()) return "no :path";
  if (!is_http(head.scheme)) return nullptr;  // its URIs may lack an authority, and begin their path otherwise
  if (head.authority.empty() && !host) return "no :authority";
  if (head.path.front() != '/' && !(head.method == "OPTIONS" && head.path == "*")) return "a malformed :path";
  return nullptr;
}

const char* take_regular(const Field& field, HeadSummary& head) {
  if (!consists_of(field.name, kNameCharacters)) return "an illegal field name";
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
  auto is_blank = [](char c) { return c == ' ' || c == '\t'; };
  if (value.empty()) return true;
  if (is_blank(value.front()) || is_blank(value.back())) return false;
  // No early end: many bytes are checked at a time, since a peer may refer to a long value again and again.
  uint8_t wrong = 0;
  for (char c : value) {
    auto byte = static_cast<uint8_t>(c);
    wrong |= static_cast<uint8_t>((byte < 0x20) & (byte != '\t')) | static_cast<uint8_t>(byte == 0x7f);
  }
  return wrong == 0;
}

HeadSummary check_fields(BlockKind kind, const std::vector<Field>& fields) {
  HeadSummary head;
  bool regular = false;
  bool host = false;
  for (size_t i = 0; i < fields.size() && !head.malformed; ++i) {
    const Field& field = fields[i];
    if (!field.name.empty() && field.name.front() == ':') {
      head.malformed = regular ? "a pseudo-header field behind others" : take_pseudo(kind, field, head);
    } else {
      if (!regular) head.first_regular = i;
      regular = true;
      head.malformed = take_regular(field, head);
      if (kind == BlockKind::kRequest && field.name == "host") {
        if (host || !legal_authority(field.value)) head.malformed = "a malformed host";  // RFC 9110, 7.2
        host = true;
      }
    }
  }
  if (!regular) head.first_regular = fields.size();
  if (head.malformed) return head;
  if (kind == BlockKind::kRequest) head.malformed = check_request(head, host);
  if (kind == BlockKind::kResponse && head.status == 0) head.malformed = "no :status";
  return head;
}

}  // namespace drover::engine::http2
