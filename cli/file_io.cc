// Reads and writes whole files.
#include "cli/file_io.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iterator>

#include "cli/command.h"
#include "cli/printable.h"

namespace drover::cli {

int fail(const char* command, const std::string& what, int code) {
  std::fprintf(stderr, "drover %s: %s\n", command, printable(what).c_str());
  return code;
}

std::string read_file(const std::string& path, std::string* out) {
  std::FILE* file = path == "-" ? stdin : std::fopen(path.c_str(), "rb");
  if (file == nullptr) return path + ": " + std::strerror(errno);
  char buffer[1 << 16];
  out->clear();
  for (size_t got; (got = std::fread(buffer, 1, sizeof(buffer), file)) > 0;) out->append(buffer, got);
  bool failed = std::ferror(file) != 0;
  std::string reason = std::strerror(errno);
  if (file != stdin) std::fclose(file);
  return failed ? path + ": " + reason : "";
}

std::string write_file(const std::string& path, std::string_view bytes) {
  std::FILE* file = path == "-" ? stdout : std::fopen(path.c_str(), "wb");
  if (file == nullptr) return path + ": " + std::strerror(errno);
  bool failed = std::fwrite(bytes.data(), 1, bytes.size(), file) != bytes.size();
  failed = (file == stdout ? std::fflush(file) : std::fclose(file)) != 0 || failed;
  return failed ? path + ": " + std::strerror(errno) : "";
}

std::string make_directory(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  return error ? path + ": " + error.message() : "";
}

bool from_hex(std::string_view text, std::string* bytes) {
  int high = -1;
  for (char c : text) {
    if (c == ' ' || c == '\n' || c == '\r' || c == '\t') continue;
    int digit = c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
    if (digit < 0) return false;
    if (high >= 0) *bytes += static_cast<char>(high << 4 | digit);
    high = high >= 0 ? -1 : digit;
  }
  return high < 0;
}

std::string to_hex(std::string_view bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (char c : bytes) {
    text += kDigits[static_cast<unsigned char>(c) >> 4];
    text += kDigits[c & 15];
  }
  return text;
}

namespace {
constexpr std::string_view kBase64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
}  // namespace

bool from_base64(std::string_view text, std::string* bytes) {
  for (int padding = 0; padding < 2 && text.ends_with('='); ++padding) text.remove_suffix(1);
  if (text.size() % 4 == 1) return false;
  uint32_t bits = 0;
  int count = 0;
  for (char c : text) {
    const size_t value = kBase64.find(c);
    if (value == std::string_view::npos) return false;
    bits = bits << 6 | static_cast<uint32_t>(value);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    *bytes += static_cast<char>(bits >> count & 0xff);
  }
  return true;
}

std::string to_base64(std::string_view bytes) {
  std::string text;
  for (size_t at = 0; at < bytes.size(); at += 3) {
    uint32_t bits = 0;
    for (size_t i = 0; i < 3; ++i) {
      bits = bits << 8 | (at + i < bytes.size() ? static_cast<uint8_t>(bytes[at + i]) : 0u);
    }
    for (size_t i = 0; i < 4; ++i) {
      text += at + i <= bytes.size() ? kBase64[bits >> (18 - 6 * i) & 63] : '=';
    }
  }
  return text;
}

}  // namespace drover::cli
