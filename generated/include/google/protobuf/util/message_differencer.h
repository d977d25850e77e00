// google::protobuf::util::MessageDifferencer, as far as Drover compares: whether two messages of one generated class
// are equal. Reals are equal if their bits are, unknown fields if they came in the same order; there are no options
// and no report of what differs.
#pragma once

namespace google::protobuf::util {

class MessageDifferencer {
 public:
  template <typename T>
  static bool Equals(const T& a, const T& b) {
    return a.MessageEquals(b);
  }
};

}  // namespace google::protobuf::util
