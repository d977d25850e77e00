#include "json/lexer.h"

#include <bit>
#include <cstring>

#include "codec/utf8.h"

namespace drover::json {
namespace {

constexpr uint64_t kOnes = 0x0101010101010101;
constexpr uint64_t kHigh = 0x8080808080808080;

// High bit set in each byte of `word` that is zero; above the first such byte there may be false ones.
uint64_t zero_bytes(uint64_t word) { return (word - kOnes) & ~word & kHigh; }

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// The end of the number that begins at p; p itself if none does.
const char* number_end(const char* p, const char* end) {
  const char* at = p;
  if (at < end && *at == '-') ++at;
  if (at == end || !is_digit(*at)) return p;
  if (*at == '0') {
    ++at;
  } else {
    while (at < end && is_digit(*at)) ++at;
  }
  if (at < end && *at == '.') {
    const char* fraction = ++at;
    while (at < end && is_digit(*at)) ++at;
    if (at == fraction) return p;
  }
  if (at < end && (*at == 'e' || *at == 'E')) {
    ++at;
    if (at < end && (*at == '+' || *at == '-')) ++at;
    const char* exponent = at;
    while (at < end && is_digit(*at)) ++at;
    if (at == exponent) return p;
  }
  return at;
}

// Characters that continue a number or a word, so that "12x" and "nullx" are errors.
bool continues_word(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '.' || c == '+' ||
         c == '-';
}

char* write_utf8(char* to, uint32_t code) {
  if (code < 0x80) {
    *to++ = static_cast<char>(code);
  } else if (code < 0x800) {
    *to++ = static_cast<char>(0xc0 | code >> 6);
    *to++ = static_cast<char>(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    *to++ = static_cast<char>(0xe0 | code >> 12);
    *to++ = static_cast<char>(0x80 | (code >> 6 & 0x3f));
    *to++ = static_cast<char>(0x80 | (code & 0x3f));
  } else {
    *to++ = static_cast<char>(0xf0 | code >> 18);
    *to++ = static_cast<char>(0x80 | (code >> 12 & 0x3f));
    *to++ = static_cast<char>(0x80 | (code >> 6 & 0x3f));
    *to++ = static_cast<char>(0x80 | (code & 0x3f));
  }
  return to;
}

}  // namespace

bool is_number(std::string_view text) {
  return !text.empty() && number_end(text.data(), text.data() + text.size()) == text.data() + text.size();
}

bool Lexer::fail_at(Error error, std::string_view expected, size_t at) {
  if (error_ != Error::kOk) return false;
  error_ = error;
  error_offset_ = at;
  expected_ = expected;
  path_->keep();
  return false;
}

bool Lexer::literal(std::string_view word) {
  peek();
  token_ = at_;
  const auto left = static_cast<size_t>(end_ - at_);
  const bool matches = left >= word.size() && std::memcmp(at_, word.data(), word.size()) == 0 &&
                       (left == word.size() || !continues_word(at_[word.size()]));
  if (!matches) return fail(Error::kSyntax, "a JSON value");
  at_ += word.size();
  return true;
}

bool Lexer::number(std::string_view* text) {
  peek();
  token_ = at_;
  const char* behind = number_end(at_, end_);
  if (behind == at_ || (behind < end_ && continues_word(*behind))) return fail(Error::kSyntax, "a JSON number");
  *text = {at_, static_cast<size_t>(behind - at_)};
  at_ = behind;
  return true;
}

// ---- strings

// The first byte from p on that is a quote, a backslash or a control character, or the end. *ascii becomes false if a
// byte above 127 stands before it.
const char* Lexer::scan_plain(const char* p, bool* ascii) const {
  while (end_ - p >= 8) {
    uint64_t word;
    std::memcpy(&word, p, 8);
    const uint64_t control = (word - kOnes * 0x20) & ~word & kHigh;
    const uint64_t stops = control | zero_bytes(word ^ kOnes * '"') | zero_bytes(word ^ kOnes * '\\');
    if (stops != 0) break;
    if ((word & kHigh) != 0) *ascii = false;
    p += 8;
  }
  while (p < end_ && *p != '"' && *p != '\\' && static_cast<unsigned char>(*p) >= 0x20) {
    if (static_cast<signed char>(*p) < 0) *ascii = false;
    ++p;
  }
  return p;
}

bool Lexer::string(std::string_view* content) {
  if (peek() != '"') return fail(Error::kSyntax, "a string");
  token_ = at_;
  const char* first = at_ + 1;
  bool ascii = true;
  const char* stop = scan_plain(first, &ascii);
  if (stop == end_ || *stop != '"') return unescape(first, content);
  if (!ascii && !is_valid_utf8(first, static_cast<size_t>(stop - first))) {
    return fail_at(Error::kBadUtf8, "UTF-8", token());
  }
  *content = {first, static_cast<size_t>(stop - first)};
  at_ = stop + 1;
  return true;
}

// The string whose content begins at p and holds an escape (or an error).
bool Lexer::unescape(const char* p, std::string_view* content) {
  scratch_.clear();
  for (;;) {
    bool ascii = true;
    const char* stop = scan_plain(p, &ascii);
    const auto size = static_cast<size_t>(stop - p);
    if (!ascii && !is_valid_utf8(p, size)) return fail_at(Error::kBadUtf8, "UTF-8", token());
    scratch_.append(p, size);
    if (stop == end_) return fail_at(Error::kSyntax, "'\"' at the end of the string", token());
    p = stop;
    if (*p == '"') break;
    if (*p != '\\') {
      return fail_at(Error::kSyntax, "an escape instead of a control character", static_cast<size_t>(p - begin_));
    }
    if (!escape(&p)) return false;
  }
  *content = scratch_;
  at_ = p + 1;
  return true;
}

// Appends the character of the escape at *p, and moves behind it.
bool Lexer::escape(const char** p) {
  const auto at = static_cast<size_t>(*p - begin_);
  const char* behind = *p + 2;
  const char letter = behind <= end_ ? behind[-1] : '\0';
  *p = behind;
  switch (letter) {
    case '"':
    case '\\':
    case '/':
      scratch_ += letter;
      return true;
    case 'b':
      scratch_ += '\b';
      return true;
    case 'f':
      scratch_ += '\f';
      return true;
    case 'n':
      scratch_ += '\n';
      return true;
    case 'r':
      scratch_ += '\r';
      return true;
    case 't':
      scratch_ += '\t';
      return true;
    case 'u':
      break;
    default:
      return fail_at(Error::kSyntax, "one of \\\" \\\\ \\/ \\b \\f \\n \\r \\t \\u", at);
  }
  uint32_t code;
  if (!hex4(behind, &code)) return fail_at(Error::kSyntax, "four hexadecimal digits behind \\u", at);
  behind += 4;
  if (code >= 0xd800 && code < 0xe000) {
    uint32_t low = 0;
    const bool pair = code < 0xdc00 && end_ - behind >= 6 && behind[0] == '\\' && behind[1] == 'u' &&
                      hex4(behind + 2, &low) && low >= 0xdc00 && low < 0xe000;
    if (!pair) return fail_at(Error::kBadUtf8, "a high surrogate with its low one behind it", at);
    code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    behind += 6;
  }
  char bytes[4];
  scratch_.append(bytes, static_cast<size_t>(write_utf8(bytes, code) - bytes));
  *p = behind;
  return true;
}

bool Lexer::hex4(const char* p, uint32_t* unit) {
  if (end_ - p < 4) return false;
  *unit = 0;
  for (int i = 0; i < 4; ++i) {
    const char c = p[i];
    const int digit = is_digit(c)              ? c - '0'
                      : (c >= 'a' && c <= 'f') ? c - 'a' + 10
                      : (c >= 'A' && c <= 'F') ? c - 'A' + 10
                                               : -1;
    if (digit < 0) return false;
    *unit = *unit << 4 | static_cast<uint32_t>(digit);
  }
  return true;
}

// ---- skipped values

// A key of the object at open_.back(), and the colon.
bool Lexer::skip_key(std::vector<TypeKey>* types) {
  std::string_view key;
  if (!string(&key)) return false;
  const bool is_type = types != nullptr && key == "@type";
  if (!expect(':', "':'")) return false;
  if (is_type) types->push_back({open_.back(), offset()});
  return true;
}

// Not recursive: the brackets that are open are kept in open_.
bool Lexer::skip_value(int depth, std::vector<TypeKey>* types) {
  open_.clear();
  for (;;) {
    std::string_view ignored;
    const char c = peek();
    if (c == '{' || c == '[') {
      if (static_cast<int>(open_.size()) >= depth) return fail(Error::kDepthLimit, "less nesting");
      open_.push_back(offset());
      ++at_;
      if (!take(c == '{' ? '}' : ']')) {
        if (c == '{' && !skip_key(types)) return false;
        continue;
      }
      open_.pop_back();
    } else if (c == '"' ? !string(&ignored) : starts_number(c) ? !number(&ignored) : !any_literal()) {
      return false;
    }
    // Behind a value: the brackets that close, or a comma and the next value.
    for (;;) {
      if (open_.empty()) return true;
      const bool object = begin_[open_.back()] == '{';
      if (take(',')) {
        if (object && !skip_key(types)) return false;
        break;
      }
      if (!expect(object ? '}' : ']', object ? "',' or '}'" : "',' or ']'")) return false;
      open_.pop_back();
    }
  }
}

bool Lexer::any_literal() {
  const char c = peek();
  return literal(c == 't' ? "true" : c == 'f' ? "false" : "null");
}

}  // namespace drover::json
