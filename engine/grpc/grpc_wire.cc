#include "engine/grpc/grpc_wire.h"

#include <array>

namespace drover::engine {

namespace {

constexpr std::array<int8_t, 256> make_base64_values() {
  std::array<int8_t, 256> values{};
  for (auto& v : values) v = -1;
  constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (size_t i = 0; i < kAlphabet.size(); ++i)
    values[static_cast<unsigned char>(kAlphabet[i])] = static_cast<int8_t>(i);
  return values;
}

constexpr std::array<int8_t, 256> kBase64Values = make_base64_values();
constexpr char kBase64Alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

int64_t unit_ns(char unit) {
  switch (unit) {
    case 'H':
      return 3'600'000'000'000;
    case 'M':
      return 60'000'000'000;
    case 'S':
      return 1'000'000'000;
    case 'm':
      return 1'000'000;
    case 'u':
      return 1'000;
    case 'n':
      return 1;
    default:
      return 0;
  }
}

bool starts_with(std::string_view text, std::string_view prefix) { return text.substr(0, prefix.size()) == prefix; }

}  // namespace

std::optional<int64_t> parse_grpc_timeout(std::string_view value) {
  if (value.size() < 2 || value.size() > 9) return std::nullopt;
  int64_t number = 0;
  for (char c : value.substr(0, value.size() - 1)) {
    if (c < '0' || c > '9') return std::nullopt;
    number = number * 10 + (c - '0');
  }
  int64_t unit = unit_ns(value.back());
  if (unit == 0) return std::nullopt;
  return number > INT64_MAX / unit ? INT64_MAX : number * unit;
}

void append_percent_encoded(std::string_view message, std::string& out) {
  static constexpr char kHex[] = "0123456789ABCDEF";
  for (char c : message) {
    auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte <= 0x7e && byte != '%') {
      out.push_back(c);
    } else {
      out.push_back('%');
      out.push_back(kHex[byte >> 4]);
      out.push_back(kHex[byte & 15]);
    }
  }
}

bool append_base64_decoded(std::string_view text, std::string& out) {
  if (text.size() % 4 == 0) {  // padding is legal only where it fills up a group of four
    if (!text.empty() && text.back() == '=') text.remove_suffix(1);
    if (!text.empty() && text.back() == '=') text.remove_suffix(1);
  }
  if (text.size() % 4 == 1) return false;
  uint32_t bits = 0;
  int have = 0;
  for (char c : text) {
    int value = kBase64Values[static_cast<unsigned char>(c)];  // NOLINT(bugprone-signed-char-misuse): -1 is meant
    if (value < 0) return false;
    bits = (bits << 6) | static_cast<uint32_t>(value);
    have += 6;
    if (have >= 8) {
      have -= 8;
      out.push_back(static_cast<char>(bits >> have));
    }
  }
  return true;
}

void append_base64_encoded(std::string_view bytes, std::string& out) {
  uint32_t bits = 0;
  int have = 0;
  for (char c : bytes) {
    bits = (bits << 8) | static_cast<unsigned char>(c);
    have += 8;
    while (have >= 6) {
      have -= 6;
      out.push_back(kBase64Alphabet[(bits >> have) & 63]);
    }
  }
  if (have > 0) out.push_back(kBase64Alphabet[(bits << (6 - have)) & 63]);
}

bool is_grpc_content_type(std::string_view value) {
  constexpr std::string_view kBase = "application/grpc";
  if (!starts_with(value, kBase)) return false;
  std::string_view rest = value.substr(kBase.size());
  if (starts_with(rest, "+")) {
    if (!starts_with(rest, "+proto")) return false;
    rest.remove_prefix(6);
  }
  return rest.empty() || rest.front() == ';';
}

bool is_reserved_request_header(std::string_view name) {
  if (name.empty() || name.front() == ':') return true;
  switch (name.front()) {
    case 't':
      return name == "te";
    case 'c':
      return name == "content-type" || name == "content-length";
    case 'h':
      return name == "host";
    case 'g':
      return starts_with(name, "grpc-") && name != "grpc-trace-bin" && name != "grpc-tags-bin" &&
             name != "grpc-previous-rpc-attempts";
    default:
      return false;
  }
}

bool is_legal_response_metadata(std::string_view name, std::string_view encoded_value) {
  if (name == "grpc-status-details-bin") return true;  // Status::error_details; not the application's to choose
  if (name.empty() || starts_with(name, "grpc-") || name == "content-type" || name == "content-length" ||
      name == "te" || name == "connection" || name == "transfer-encoding" || name == "upgrade" ||
      name == "keep-alive" || name == "proxy-connection" || name == "host") {
    return false;
  }
  for (char c : name) {
    bool legal = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
    if (!legal) return false;
  }
  for (char c : encoded_value) {
    if (c < 0x20 || c > 0x7e) return false;
  }
  return true;
}

Encoding parse_encoding(std::string_view value, Compressions known) {
  if (value == "identity") return Encoding::kIdentity;
  if (value == "gzip" && known.has(Compression::kGzip)) return Encoding::kGzip;
  if (value == "deflate" && known.has(Compression::kDeflate)) return Encoding::kDeflate;
  return Encoding::kUnsupported;
}

std::string_view compression_name(Compression compression) {
  switch (compression) {
    case Compression::kDeflate:
      return "deflate";
    case Compression::kGzip:
      return "gzip";
    case Compression::kNone:
      break;
  }
  return "identity";
}

Compressions parse_accept_encoding(std::string_view value) {
  Compressions taken;
  while (true) {
    const size_t comma = value.find(',');
    std::string_view one = value.substr(0, comma);
    while (!one.empty() && one.front() == ' ') one.remove_prefix(1);
    while (!one.empty() && one.back() == ' ') one.remove_suffix(1);
    if (one == "gzip") taken.add(Compression::kGzip);
    if (one == "deflate") taken.add(Compression::kDeflate);
    if (comma == std::string_view::npos) return taken;
    value.remove_prefix(comma + 1);
  }
}

std::string_view accept_encoding(Compressions known) {
  const bool gzip = known.has(Compression::kGzip), deflate = known.has(Compression::kDeflate);
  if (gzip) return deflate ? "identity, deflate, gzip" : "identity, gzip";
  return deflate ? "identity, deflate" : "identity";
}

// gRPC ranks gzip below deflate: the lowest level takes the first of the list that the client takes, the highest the
// last, and the middle one the one in the middle, rounded up.
Compression choose_compression(Compress wish, Compressions taken) {
  const bool gzip = taken.has(Compression::kGzip), deflate = taken.has(Compression::kDeflate);
  const auto first_of = [](bool first, Compression one, bool second, Compression other) {
    return first ? one : second ? other : Compression::kNone;
  };
  switch (wish) {
    case Compress::kNo:
      break;
    case Compress::kDeflate:
      return deflate ? Compression::kDeflate : Compression::kNone;
    case Compress::kGzip:
      return gzip ? Compression::kGzip : Compression::kNone;
    case Compress::kLow:
      return first_of(gzip, Compression::kGzip, deflate, Compression::kDeflate);
    case Compress::kMedium:
    case Compress::kHigh:
      return first_of(deflate, Compression::kDeflate, gzip, Compression::kGzip);
  }
  return Compression::kNone;
}

Status check_message_prefix(const unsigned char (&prefix)[kGrpcPrefixBytes], uint32_t max_bytes, Encoding encoding,
                            uint32_t* size) {
  *size = uint32_t{prefix[1]} << 24 | uint32_t{prefix[2]} << 16 | uint32_t{prefix[3]} << 8 | prefix[4];
  if (prefix[0] > 1) {
    return {StatusCode::kInternal, "invalid compressed flag " + std::to_string(prefix[0]) + " in the message prefix"};
  }
  if (prefix[0] == 1 && encoding != Encoding::kDeflate && encoding != Encoding::kGzip) {
    if (encoding == Encoding::kUnsupported) return {StatusCode::kUnimplemented, "grpc-encoding is not supported"};
    return {StatusCode::kInternal, "compressed flag set with no or identity grpc-encoding"};
  }
  if (*size > max_bytes) {
    return {StatusCode::kResourceExhausted,
            "Received message larger than max (" + std::to_string(*size) + " vs. " + std::to_string(max_bytes) + ")"};
  }
  return {};
}

Status message_cut_short(size_t prefix_bytes, size_t received, uint32_t size) {
  if (prefix_bytes < kGrpcPrefixBytes) {
    return {StatusCode::kInternal,
            "end of stream inside the message prefix (" + std::to_string(prefix_bytes) + " of 5 bytes)"};
  }
  return {StatusCode::kInternal,
          "end of stream inside a message (" + std::to_string(received) + " of " + std::to_string(size) + " bytes)"};
}

Status RequestAssembler::too_many_bytes() {
  return {StatusCode::kInternal, "more than one message, or bytes behind the message, in a unary request"};
}

Status RequestAssembler::no_memory() {
  return {StatusCode::kResourceExhausted, "too many bytes of requests wait for the service"};
}

Status RequestAssembler::finish() const {
  if (prefix_bytes_ == 0) return {StatusCode::kInternal, "no message in a unary request"};
  const bool whole = prefix_bytes_ == kGrpcPrefixBytes && filled_ == size_;
  return whole ? Status{} : message_cut_short(prefix_bytes_, filled_, size_);
}

}  // namespace drover::engine
