// One test of the protobuf conformance suite: a payload goes into an object and comes out again.
//
// A binary payload is decoded in every way the codec has (copied, with strings that refer to the wire, cut into
// pieces) and encoded in every way (pieces, array, size only); if two of them disagree, the answer is a runtime error,
// which fails the test.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "codec/decode/decode.h"
#include "object/arena.h"
#include "schema/message_type.h"

namespace drover::conformance {

// An object of any type, and the arena that it lives in.
class Object {
 public:
  explicit Object(const schema::MessageType& type);

  const schema::MessageType& type() const { return type_; }
  Message* get() { return object_; }
  const Message* get() const { return object_; }
  Arena& arena() { return *arena_; }

 private:
  schema::MessageType type_;
  std::unique_ptr<Arena> arena_;
  Message* object_;
};

// How a test ended: the fields of ConformanceResponse's oneof that a testee answers with.
enum class Outcome {
  kProtobufPayload,
  kJsonPayload,
  kTextPayload,
  kParseError,
  kSerializeError,
  kRuntimeError,
  kSkipped
};

struct Answer {
  Outcome outcome = Outcome::kSkipped;
  std::string text;  // the payload, or what went wrong, or why it was skipped
};

enum class Format { kProtobuf, kJson, kText };

struct TestCase {
  schema::MessageType type;
  Format input;
  std::string_view payload;
  Format output;
  bool ignore_unknown_json = false;
  bool print_unknown_fields = false;  // in the text format
};

Answer run(const TestCase& test);

}  // namespace drover::conformance
