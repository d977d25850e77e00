// JsonDocuments: cuts a stream of JSON values, one behind the other with blanks or line ends between them (JSON lines
// are that), into its values as the bytes come. Whether a value is well-formed is its parser's to say.
// Thread-safety: none.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace drover::cli {

class JsonDocuments {
 public:
  void add(std::string_view bytes) { text_.append(bytes); }
  // No more bytes will come.
  void end() { ended_ = true; }
  // The next complete value. False: more bytes are needed or, after end(), all values were taken. After end(), an
  // unfinished rest counts as a value.
  bool next(std::string* document);

 private:
  bool finish(std::string* document);

  std::string text_;
  size_t at_ = 0;     // in text_: what was looked at
  size_t begin_ = 0;  // of the value
  bool inside_ = false;
  size_t depth_ = 0;  // of objects and arrays
  bool in_string_ = false, escaped_ = false;
  bool ended_ = false;
};

}  // namespace drover::cli
