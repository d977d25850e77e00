// Fields that the schema does not know, and that the options allow: their text is checked for its form alone.
#include <algorithm>

#include "text/parser.h"

namespace drover::text {

// A field inside of an unknown message.
bool Parser::skip_field(int depth) {
  std::string_view name;
  if (lexer_.is('[') ? !lexer_.bracketed_name(&name) : !take_name(&name)) return false;
  return skip_after_name(depth);
}

// Without a colon, or with a bracket behind it, the value is a message.
bool Parser::skip_after_name(int depth) {
  const bool is_value = lexer_.take(':') && !lexer_.is('{') && !lexer_.is('<');
  if (is_value ? !skip_value(depth) : !skip_message(depth)) return false;
  take_separator();
  return !lexer_.failed();
}

bool Parser::skip_message(int depth) {
  char close;
  if (!open(&close)) return false;
  if (depth <= 0) return too_deep();
  while (!lexer_.is('}') && !lexer_.is('>')) {
    if (!skip_field(depth - 1)) return false;
  }
  return lexer_.expect(close, close == '}' ? "'}'" : "'>'");
}

bool Parser::skip_value(int depth) {
  if (depth <= 0) return too_deep();
  if (lexer_.kind() == TokenKind::kString) {
    std::string_view ignored;
    return lexer_.strings(&ignored);
  }
  if (lexer_.take('[')) {
    if (lexer_.take(']')) return !lexer_.failed();
    do {
      const bool is_message = lexer_.is('{') || lexer_.is('<');
      if (is_message ? !skip_message(depth - 1) : !skip_value(depth - 1)) return false;
    } while (lexer_.take(','));
    return lexer_.expect(']', "',' or ']'");
  }
  const bool negative = lexer_.take('-');
  const TokenKind kind = lexer_.kind();
  if (kind != TokenKind::kName && kind != TokenKind::kInteger && kind != TokenKind::kReal) {
    return fail(Error::kSyntax, "a value");
  }
  if (negative && kind == TokenKind::kName) {
    double ignored;
    return real(&ignored);
  }
  lexer_.next();
  return !lexer_.failed();
}

}  // namespace drover::text
