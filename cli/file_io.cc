// Reads and writes whole files.
#include "cli/file_io.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iterator>

#include "cli/command.h"

namespace drover::cli {

int fail(const char* command, const std::string& what, int code) {
  std::fprintf(stderr, "drover %s: %s\n", command, what.c_str());
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

}  // namespace drover::cli
