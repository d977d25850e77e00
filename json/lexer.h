// Lexer: the tokens of one JSON text (RFC 8259), read in one pass where the parser asks for them.
//
// Strict: no comments, no trailing commas, no leading zeros, UTF-8 only, escaped surrogates in pairs. The first
// failure sticks; functions return false from then on.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "json/json.h"
#include "message/path.h"

namespace drover::json {

using message::Path;
using message::Scope;

class Lexer {
 public:
  // A failure records `path`, the field that the user of the lexer is in.
  Lexer(std::string_view text, Path* path)
      : begin_(text.data()), at_(begin_), end_(begin_ + text.size()), path_(path) {}

  // ---- what stands next
  // The first byte of the next token, behind any blanks; NUL at the end (and for a NUL in the text).
  char peek() {
    while (at_ < end_ && is_blank(*at_)) ++at_;
    return at_ < end_ ? *at_ : '\0';
  }
  bool at_end() { return peek() == '\0' && at_ == end_; }
  static bool starts_number(char c) { return c == '-' || (c >= '0' && c <= '9'); }

  // ---- tokens; each skips the blanks in front of it
  bool take(char punctuation) {  // false, and no failure, if something else stands there
    if (peek() != punctuation || at_ == end_) return false;
    ++at_;
    return true;
  }
  bool expect(char punctuation, const char* what) { return take(punctuation) || fail(Error::kSyntax, what); }
  bool literal(std::string_view word);  // true, false, null
  // A string's content, unescaped. Valid until the next call of string().
  bool string(std::string_view* content);
  // A number's text, which keeps to JSON's grammar.
  bool number(std::string_view* text);
  // Skips any value; `depth` is how deep objects and arrays may still nest. Keys "@type" of objects inside it are
  // recorded in *types (if not null), in the order of the text.
  struct TypeKey {
    size_t object;  // offset of its '{'
    size_t value;   // offset of what stands behind "@type":
  };
  bool skip_value(int depth, std::vector<TypeKey>* types = nullptr);

  // ---- places
  size_t offset() const { return static_cast<size_t>(at_ - begin_); }
  void rewind(size_t to) { at_ = begin_ + to; }
  // Where the token that was read last begins.
  size_t token() const { return static_cast<size_t>(token_ - begin_); }
  std::string_view text() const { return {begin_, static_cast<size_t>(end_ - begin_)}; }

  // ---- failure
  // Records the first failure, at the next token or at `at`. Always false, so that callers can return it.
  bool fail(Error error, std::string_view expected) {
    peek();
    return fail_at(error, expected, offset());
  }
  bool fail_at(Error error, std::string_view expected, size_t at);
  bool failed() const { return error_ != Error::kOk; }
  Error error() const { return error_; }
  size_t error_offset() const { return error_offset_; }
  const std::string& expected() const { return expected_; }

 private:
  static bool is_blank(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }
  const char* scan_plain(const char* p, bool* ascii) const;
  bool unescape(const char* p, std::string_view* content);
  bool escape(const char** p);
  bool hex4(const char* p, uint32_t* unit);
  bool any_literal();
  bool skip_key(std::vector<TypeKey>* types);

  const char* begin_;
  const char* at_;
  const char* end_;
  const char* token_ = begin_;
  Path* path_;
  std::string scratch_;       // of the last string that had escapes
  std::vector<size_t> open_;  // offsets of the brackets that skip_value is inside of
  Error error_ = Error::kOk;
  size_t error_offset_ = 0;
  std::string expected_;
};

// True if all of `text` is one number by JSON's grammar, as a quoted number must be.
bool is_number(std::string_view text);

}  // namespace drover::json
