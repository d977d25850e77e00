#include "cli/json_documents.h"

namespace drover::cli {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

constexpr size_t kKept = 64 << 10;  // bytes that were given out, before they are dropped

}  // namespace

// text_[begin_, at_) is a value.
bool JsonDocuments::finish(std::string* document) {
  document->assign(text_, begin_, at_ - begin_);
  inside_ = in_string_ = escaped_ = false;
  depth_ = 0;
  if (at_ > kKept) {
    text_.erase(0, at_);
    at_ = 0;
  }
  return true;
}

bool JsonDocuments::next(std::string* document) {
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (!inside_) {
      if (is_blank(c)) {
        ++at_;
        continue;
      }
      inside_ = true;
      begin_ = at_;
    }
    if (in_string_) {
      ++at_;
      in_string_ = escaped_ || c != '"';
      escaped_ = !escaped_ && c == '\\';
      if (!in_string_ && depth_ == 0) return finish(document);
      continue;
    }
    if (depth_ == 0 && at_ != begin_ && (is_blank(c) || c == '{' || c == '[' || c == '"')) return finish(document);
    ++at_;
    if (c == '"') in_string_ = true;
    if (c == '{' || c == '[') ++depth_;
    if ((c == '}' || c == ']') && (depth_ == 0 || --depth_ == 0)) return finish(document);
  }
  return ended_ && inside_ && finish(document);
}

}  // namespace drover::cli
