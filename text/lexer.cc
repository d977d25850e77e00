#include "text/lexer.h"

#include <algorithm>

#include "text/escapes.h"

namespace drover::text {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_octal(char c) { return c >= '0' && c <= '7'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool is_blank(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\v' || c == '\f'; }
// Characters of a URL that a type URL may have in brackets, beside letters and digits.
bool is_url_mark(char c) { return std::string_view("-._~!$&()*+,;=%/").find(c) != std::string_view::npos; }

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

}  // namespace

Lexer::Lexer(std::string_view text, Path* path)
    : begin_(text.data()), at_(begin_), end_(begin_ + text.size()), token_(begin_), path_(path) {
  if (text.starts_with(kByteOrderMark)) at_ += kByteOrderMark.size();
  next();
}

bool Lexer::fail_at(Error error, std::string_view expected, size_t at) {
  if (failed()) return false;
  error_ = error;
  error_offset_ = at;
  expected_ = expected;
  path_->keep();
  kind_ = TokenKind::kEnd;
  return false;
}

Result Lexer::result() const {
  Result result;
  if (!failed()) return result;
  const std::string_view before(begin_, error_offset_);
  result.error = error_;
  result.offset = error_offset_;
  result.line = 1 + static_cast<uint32_t>(std::count(before.begin(), before.end(), '\n'));
  result.column = static_cast<uint32_t>(before.size() - (before.rfind('\n') + 1)) + 1;  // npos + 1 is 0
  result.path = path_->text();
  result.expected = expected_;
  return result;
}

void Lexer::skip_blanks() {
  for (; at_ < end_; ++at_) {
    if (*at_ == '#') {
      // A zero byte ends it, too, and is no token: as protobuf has it.
      at_ = std::find_if(at_, end_, [](char c) { return c == '\n' || c == '\0'; });
      if (at_ == end_ || *at_ == '\0') return;
    } else if (!is_blank(*at_)) {
      return;
    }
  }
}

void Lexer::next() {
  if (failed()) return;
  skip_blanks();
  token_ = at_;
  if (at_ == end_) {
    kind_ = TokenKind::kEnd;
    return;
  }
  const char c = *at_;
  if (is_letter(c)) {
    kind_ = TokenKind::kName;
    at_ = std::find_if_not(at_, end_, [](char x) { return is_letter(x) || is_digit(x); });
  } else if (is_digit(c) || (c == '.' && end_ - at_ >= 2 && is_digit(at_[1]))) {
    lex_number();
  } else if (c == '"' || c == '\'') {
    lex_string();
  } else if (c > ' ' && c < 0x7f) {
    kind_ = TokenKind::kSymbol;
    ++at_;
  } else {
    fail_here(at_, "no control characters and no bytes above 127 outside of strings and comments");
  }
}

void Lexer::lex_number() {
  auto digits = [this] { at_ = std::find_if_not(at_, end_, is_digit); };
  auto here = [this](auto of) { return at_ < end_ && of(*at_); };
  kind_ = TokenKind::kInteger;
  const bool zero = *at_ == '0';
  if (zero && end_ - at_ >= 2 && (at_[1] == 'x' || at_[1] == 'X')) {
    at_ += 2;
    if (!here(is_hex)) return void(fail_here(at_, "hexadecimal digits behind 0x"));
    at_ = std::find_if_not(at_, end_, is_hex);
  } else if (zero && end_ - at_ >= 2 && is_digit(at_[1])) {
    at_ = std::find_if_not(at_, end_, is_octal);
    if (here(is_digit)) return void(fail_here(token_, "octal digits behind a leading zero"));
  } else {
    digits();
    if (here([](char c) { return c == '.'; })) {
      kind_ = TokenKind::kReal;
      ++at_;
      digits();
    }
    if (here([](char c) { return c == 'e' || c == 'E'; })) {
      kind_ = TokenKind::kReal;
      ++at_;
      if (here([](char c) { return c == '+' || c == '-'; })) ++at_;
      if (!here(is_digit)) return void(fail_here(at_, "digits behind the exponent's e"));
      digits();
    }
    if (here([](char c) { return c == 'f' || c == 'F'; })) {
      kind_ = TokenKind::kReal;
      ++at_;
    }
  }
  if (here([](char c) { return is_letter(c) || c == '.'; })) fail_here(at_, "a blank or a separator behind a number");
}

void Lexer::lex_string() {
  kind_ = TokenKind::kString;
  escaped_ = false;
  const char quote = *at_++;
  while (at_ < end_ && *at_ != quote) {
    if (*at_ == '\n' || *at_ == '\0') return void(fail_here(at_, "a closing quote"));
    if (*at_ != '\\') {
      ++at_;
      continue;
    }
    escaped_ = true;
    const char* behind = escape_end(at_, end_);
    if (behind == nullptr) return void(fail_here(at_, "an escape like \\n, \\377, \\xff, \\u00ff or \\U0010ffff"));
    at_ = behind;
  }
  if (at_ == end_) return void(fail_here(token_, "a closing quote"));
  ++at_;
}

bool Lexer::strings(std::string_view* content) {
  auto inside = [this] { return token().substr(1, token().size() - 2); };
  if (kind_ != TokenKind::kString) return fail(Error::kWrongType, "a string in quotes");
  const bool plain = !escaped_;
  *content = inside();
  scratch_.clear();
  if (!plain) append_unescaped(*content, &scratch_);
  next();
  if (plain && kind_ != TokenKind::kString) return !failed();
  if (plain) scratch_ = *content;
  for (; kind_ == TokenKind::kString; next()) append_unescaped(inside(), &scratch_);
  *content = scratch_;
  return !failed();
}

bool Lexer::bracketed_name(std::string_view* name) {
  scratch_.clear();
  for (;;) {
    skip_blanks();
    const char* from = at_;
    at_ = std::find_if_not(at_, end_, [](char c) { return is_letter(c) || is_digit(c) || is_url_mark(c); });
    if (from == at_) break;
    auto joins = [](char c) { return c == '.' || c == '/'; };
    if (!scratch_.empty() && !joins(scratch_.back()) && !joins(*from)) return fail_here(from, "']'");
    scratch_.append(from, at_);
  }
  if (at_ == end_ || *at_ != ']') return fail_here(at_, "']' behind a name of letters, digits and dots");
  ++at_;
  *name = scratch_;
  const std::string_view type_name = name->substr(name->rfind('/') + 1);  // npos + 1 is 0
  char before = '.';
  for (const char c : type_name) {
    const bool good = is_letter(c) || (is_digit(c) && before != '.') || (c == '.' && before != '.');
    if (!good) return fail(Error::kSyntax, "a full name of letters, digits and dots");
    before = c;
  }
  if (before == '.' || name->front() == '/') return fail(Error::kSyntax, "a full name of letters, digits and dots");
  next();
  return !failed();
}

}  // namespace drover::text
