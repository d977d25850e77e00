#include "bench/codec/check.h"

#include <google/protobuf/dynamic_message.h>

#include "testing/deterministic.h"

namespace drover::bench {
namespace {

// Parses bytes and writes them again, with fields and maps in order: equal bytes come from equal messages.
class Canonical {
 public:
  explicit Canonical(const BenchMessage& message) {
    for (const auto& file : message.schema->file()) pool_.BuildFile(file);
    prototype_ = factory_.GetPrototype(pool_.FindMessageTypeByName(message.type_name));
  }
  // False if the bytes do not parse.
  bool of(const std::string& wire, std::string* bytes) const {
    std::unique_ptr<google::protobuf::Message> message(prototype_->New());
    bytes->clear();
    if (!message->ParsePartialFromString(wire)) return false;
    *bytes = testing::deterministic(*message);
    return true;
  }

 private:
  google::protobuf::DescriptorPool pool_;
  google::protobuf::DynamicMessageFactory factory_;
  const google::protobuf::Message* prototype_;
};

}  // namespace

std::string check(const BenchMessage& message, const std::vector<std::unique_ptr<Subject>>& subjects) {
  Canonical canonical(message);
  std::string expected;
  if (message.wire.empty() || !canonical.of(message.wire, &expected)) return message.name + " does not parse";
  for (const auto& subject : subjects) {
    std::vector<std::string> results = subject->round_trips();
    for (size_t i = 0; i < results.size(); ++i) {
      std::string got;
      if (results[i].empty() || !canonical.of(results[i], &got) || got != expected) {
        return message.name + ": round trip " + std::to_string(i) + " of " + subject->implementation() +
               (results[i].empty() ? " fails" : " gives another message");
      }
    }
  }
  return "";
}

}  // namespace drover::bench
