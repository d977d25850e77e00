// google::protobuf::TextFormat, as far as Drover prints: what DebugString prints. There is no parser for the text.
#pragma once

#include <string>

namespace google::protobuf {

class TextFormat {
 public:
  // T is a generated message. Always true.
  template <typename T>
  static bool PrintToString(const T& message, std::string* out) {
    *out = message.DebugString();
    return true;
  }
};

}  // namespace google::protobuf
