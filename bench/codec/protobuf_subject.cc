// protobuf C++ as a subject: generated classes, parsed onto an arena with an initial block that is reset between
// parses; SerializeToArray, which computes the sizes (ByteSizeLong) first.
#include <google/protobuf/arena.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include "bench/codec/subject.h"

namespace drover::bench {
namespace {

using google::protobuf::Arena;
using google::protobuf::Message;

google::protobuf::ArenaOptions parse_arena_options() {
  static Workspace workspace(kArenaBytes);
  google::protobuf::ArenaOptions options;
  options.initial_block = workspace.next_place();
  options.initial_block_size = workspace.size();
  return options;
}
Workspace& serialize_workspace() {
  static Workspace workspace(kArenaBytes);
  return workspace;
}

class ProtobufSubject final : public Subject {
 public:
  ProtobufSubject(const Message* prototype, const BenchMessage& message)
      : prototype_(prototype),
        wire_(message.wire),
        message_(prototype->New()),
        parsed_(message_->ParseFromString(wire_)) {}

  const char* implementation() const override { return "protobuf"; }
  std::vector<Operation> operations() override {
    return {{"protobuf", "decode_copy", [this](int times) { return parse(times); }},
            {"protobuf", "encode_contiguous", [this](int times) { return serialize(times); }}};
  }
  std::vector<std::string> round_trips() override {
    return {parsed_ && serialize(1) ? std::string(out_, message_->ByteSizeLong()) : ""};
  }

 private:
  bool parse(int times) {
    Arena arena(parse_arena_options());
    bool ok = true;
    for (int i = 0; i < times; ++i) {
      arena.Reset();
      ok &= prototype_->New(&arena)->ParseFromArray(wire_.data(), static_cast<int>(wire_.size()));
    }
    return ok;
  }
  bool serialize(int times) {
    out_ = serialize_workspace().next_place();
    bool ok = true;
    for (int i = 0; i < times; ++i) ok &= message_->SerializeToArray(out_, static_cast<int>(kArenaBytes));
    return ok;
  }

  const Message* prototype_;
  std::string wire_;
  char* out_ = nullptr;
  std::unique_ptr<Message> message_;
  bool parsed_;
};

}  // namespace

std::unique_ptr<Subject> protobuf_subject(const BenchMessage& message) {
  const auto* descriptor = google::protobuf::DescriptorPool::generated_pool()->FindMessageTypeByName(message.type_name);
  if (descriptor == nullptr) return nullptr;
  return std::make_unique<ProtobufSubject>(
      google::protobuf::MessageFactory::generated_factory()->GetPrototype(descriptor), message);
}

}  // namespace drover::bench
