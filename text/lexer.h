// Lexer: the tokens of one text in the text format, one at a time: the parser looks at the current token and takes it.
//
//   name        letters, digits and '_', no digit first
//   integer     12  017  0x1f
//   real        1.5  .5  1.  1e9  1f
//   string      'single' or "double" quotes, on one line, with escapes
//   symbol      one other character
//
// Blanks and comments, from '#' to the end of the line, separate tokens. A minus is a symbol of its own. The first
// failure sticks: the current token is then the end, and functions return false from then on.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "message/path.h"
#include "text/text.h"

namespace drover::text {

using message::Path;
using message::Scope;

enum class TokenKind : uint8_t { kEnd, kName, kInteger, kReal, kString, kSymbol };

class Lexer {
 public:
  // Reads the first token. A failure records `path`, the field that the user of the lexer is in.
  Lexer(std::string_view text, Path* path);

  // ---- the current token
  TokenKind kind() const { return kind_; }
  std::string_view token() const { return {token_, static_cast<size_t>(at_ - token_)}; }
  size_t offset() const { return static_cast<size_t>(token_ - begin_); }
  bool is(char symbol) const { return kind_ == TokenKind::kSymbol && *token_ == symbol; }
  // Goes on to the next one.
  void next();
  bool take(char symbol) {  // false, and no failure, if something else stands there
    if (!is(symbol)) return false;
    next();
    return true;
  }
  bool expect(char symbol, const char* what) { return take(symbol) || fail(Error::kSyntax, what); }

  // All strings that stand here, as one, unescaped. Valid until the next call.
  bool strings(std::string_view* content);
  // Behind the '[' that is the current token: an extension's name or a type URL, up to the ']', which is taken, too.
  // Valid until the next call.
  bool bracketed_name(std::string_view* name);

  // ---- failure
  // Records the first failure, at the current token or at `at`. Always false, so that callers can return it.
  bool fail(Error error, std::string_view expected) { return fail_at(error, expected, offset()); }
  bool fail_at(Error error, std::string_view expected, size_t at);
  bool failed() const { return error_ != Error::kOk; }
  // The failure, with its place, or kOk.
  Result result() const;

 private:
  void skip_blanks();
  void lex_number();
  void lex_string();
  bool check_escape(const char** p);
  bool fail_here(const char* at, const char* expected) {
    return fail_at(Error::kSyntax, expected, static_cast<size_t>(at - begin_));
  }

  const char* begin_;
  const char* at_;  // behind the current token
  const char* end_;
  const char* token_;
  TokenKind kind_ = TokenKind::kEnd;
  bool escaped_ = false;  // the current string has an escape
  Path* path_;
  std::string scratch_;  // of strings and names that do not stand in the text as they are
  Error error_ = Error::kOk;
  size_t error_offset_ = 0;
  std::string expected_;
};

}  // namespace drover::text
