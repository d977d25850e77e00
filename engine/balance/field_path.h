// FieldPath: the value of one field of a message in its wire bytes, before the message is decoded: the field whose
// value says which host gets a call.
//
//   "customer.id" --compile, by the schema image--> levels: tag 0x12, tag 0x0a --find--> "c-4711"
//
// A path leads through singular messages to a singular field of any kind but message. As protobuf has it, the last
// occurrence counts, also where messages on the way occur several times and merge, and a later member of a oneof takes
// away an earlier one. A compiled path refers to nothing: the host whose schema it came from may leave.
//
// The wire bytes are hostile: nothing is read beyond them, and a find ends after `most_tags` fields; what stands behind
// those is not looked at. Where it differs from the decoder: a number that a closed enum does not have counts as any
// other number.
// Thread-safety: read-only once compiled.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schema/message_type.h"

namespace drover::engine {

class FieldPath {
 public:
  static constexpr size_t kMostLevels = 16;
  static constexpr uint32_t kMostTags = 1 << 16;  // 0.3 ms, at about 4 ns each

  struct Value {
    bool is_text = false;  // string or bytes: `text`, which lies in the wire bytes; otherwise `number`
    std::string_view text;
    uint64_t number = 0;  // of the field's own bits: an int32 extended by its sign, a bool 0 or 1, a float's 32 bits
  };

  FieldPath() = default;
  // Whether `path` can be one: names with dots between them. Returns what is wrong, or "".
  static std::string check(std::string_view path);
  // Nothing: `why` says what the message has not.
  static std::optional<FieldPath> compile(const schema::MessageType& type, std::string_view path, std::string* why);

  // Of a path that was not compiled, find() finds nothing.
  bool empty() const { return levels_.empty(); }
  // Nothing: the field is not there; or it has no presence and is zero or empty, which says the same; or the bytes are
  // no message.
  std::optional<Value> find(std::string_view wire, uint32_t most_tags = kMostTags) const;

 private:
  struct Level {
    uint32_t tag = 0;
    uint8_t kind = 0;
    bool presence = false;
    std::vector<uint32_t> rivals;  // tags of the other members of its oneof, ascending
  };
  class Scan;

  std::vector<Level> levels_;
};

}  // namespace drover::engine
