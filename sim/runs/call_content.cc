#include "sim/runs/call_content.h"

#include <algorithm>
#include <cstring>

#include "sim/platform/host_images.h"

namespace drover::sim {
namespace {

// A step of SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014).
uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return x ^ x >> 31;
}
std::byte byte_at(uint64_t id, bool response, size_t at) {
  return static_cast<std::byte>(mix(id * 2 + (response ? 1 : 0) + (uint64_t{at / 8} << 40)) >> (at % 8 * 8));
}

constexpr uint16_t kBytesFunction = 1;

class BytesContent final : public CallContent {
 public:
  explicit BytesContent(const CallOptions& options) : options_(options) {}
  uint16_t function(uint64_t) const override { return kBytesFunction; }
  uint16_t first_function() const override { return kBytesFunction; }
  uint16_t end_function() const override { return kBytesFunction + 1; }
  void request(uint64_t id, Core*, std::vector<std::byte>* arguments) override {
    arguments->resize(options_.request);
    fill_message(id, false, arguments);
  }
  std::string serve(const lines::Request& request, Core*, uint64_t* call, std::vector<std::byte>* response) override {
    if (request.arguments.size() != options_.request || !check_message(request.arguments, false, call)) {
      return "a request is not what its client sent";
    }
    response->resize(options_.response);
    fill_message(*call, true, response);
    return "";
  }
  std::string check(uint64_t id, std::span<const std::byte> response, Core*) override {
    uint64_t got = 0;
    bool right = response.size() == options_.response && check_message(response, true, &got) && got == id;
    return right ? "" : "a call's response is not its own, or not what the server sent";
  }

 private:
  const CallOptions& options_;
};

// What contents of messages share: which call carries which, and the server's name for a call.
class MessageContent : public CallContent {
 public:
  explicit MessageContent(const CallMessages& messages) : messages_(messages) {}
  uint16_t first_function() const override { return kFirstMessage; }
  uint16_t end_function() const override { return static_cast<uint16_t>(kFirstMessage + messages_.size()); }
  uint16_t function(uint64_t id) const override { return static_cast<uint16_t>(kFirstMessage + request_of(id)); }
  void request(uint64_t id, Core* core, std::vector<std::byte>* arguments) override {
    send(false, request_of(id), core, arguments);
  }
  std::string serve(const lines::Request& request, Core* core, uint64_t* call,
                    std::vector<std::byte>* response) override {
    uint32_t message = request.function - uint32_t{kFirstMessage};
    *call = uint64_t{request.connection} << 32 | request.call;
    std::string wrong = receive(true, message, request.arguments, core);
    if (!wrong.empty()) return "request " + messages_.at(message).name + ": " + wrong;
    send(true, messages_.response_to(message), core, response);
    return "";
  }
  std::string check(uint64_t id, std::span<const std::byte> response, Core* core) override {
    uint32_t message = messages_.response_to(request_of(id));
    std::string wrong = receive(false, message, response, core);
    return wrong.empty() ? "" : "response " + messages_.at(message).name + ": " + wrong;
  }

 protected:
  virtual void send(bool server, uint32_t message, Core* core, std::vector<std::byte>* arguments) = 0;
  virtual std::string receive(bool server, uint32_t message, std::span<const std::byte> arguments, Core* core) = 0;
  // The core decodes wire bytes, which have to be the message's.
  std::string decode(uint32_t message, std::span<const std::byte> wire, Core* core) const {
    core->spend(Work::kCodec, messages_.costs[message].decode);
    const std::string& expected = messages_.at(message).wire;
    bool same = wire.size() == expected.size() && std::memcmp(wire.data(), expected.data(), wire.size()) == 0;
    return same ? "" : "not the bytes that were sent";
  }

  const CallMessages& messages_;

 private:
  uint32_t request_of(uint64_t id) const { return static_cast<uint32_t>((id + (id >> 40)) % messages_.size()); }
};

class WireContent final : public MessageContent {
 public:
  using MessageContent::MessageContent;

 private:
  void send(bool, uint32_t message, Core* core, std::vector<std::byte>* arguments) override {
    core->spend(Work::kCodec, messages_.costs[message].encode);
    auto wire = std::as_bytes(std::span(messages_.at(message).wire));
    arguments->assign(wire.begin(), wire.end());
  }
  std::string receive(bool, uint32_t message, std::span<const std::byte> arguments, Core* core) override {
    return decode(message, arguments, core);
  }
};

class ObjectContent final : public MessageContent {
 public:
  ObjectContent(const CallMessages& messages, ObjectPort* clients, ObjectPort* servers)
      : MessageContent(messages), ports_{clients, servers} {}

 private:
  void send(bool server, uint32_t message, Core* core, std::vector<std::byte>* arguments) override {
    *arguments = ports_[server ? 1 : 0]->hand_over(message, core);
  }
  std::string receive(bool server, uint32_t message, std::span<const std::byte> arguments, Core* core) override {
    ReceivedMessage got = ports_[server ? 1 : 0]->take(arguments);
    if (!got.error.empty()) return got.error;
    if (got.object == nullptr) return decode(message, std::as_bytes(std::span(got.wire)), core);
    return compare_object(messages_.at(message).type, encoded(message), got.object);
  }
  // By the software codec, of what the software decoder makes of the wire bytes.
  const std::string& encoded(uint32_t message);

  ObjectPort* ports_[2];
  std::vector<std::string> encoded_;
};

const std::string& ObjectContent::encoded(uint32_t message) {
  if (encoded_.empty()) {
    for (uint32_t i = 0; i < messages_.size(); ++i) {
      encoded_.push_back(reencoded(messages_.at(i).type, messages_.at(i).wire));
    }
  }
  return encoded_[message];
}

}  // namespace

void fill_message(uint64_t id, bool response, std::vector<std::byte>* bytes) {
  std::memcpy(bytes->data(), &id, sizeof id);
  for (size_t i = sizeof id; i < bytes->size(); ++i) (*bytes)[i] = byte_at(id, response, i);
}

bool check_message(std::span<const std::byte> bytes, bool response, uint64_t* id) {
  if (bytes.size() < sizeof *id) return false;
  std::memcpy(id, bytes.data(), sizeof *id);
  for (size_t i = sizeof *id; i < bytes.size(); ++i) {
    if (bytes[i] != byte_at(*id, response, i)) return false;
  }
  return true;
}

std::unique_ptr<CallContent> make_content(const CallOptions& options, const CallMessages& messages, ObjectPort* clients,
                                          ObjectPort* servers) {
  if (messages.size() == 0) return std::make_unique<BytesContent>(options);
  if (clients == nullptr || servers == nullptr) return std::make_unique<WireContent>(messages);
  return std::make_unique<ObjectContent>(messages, clients, servers);
}

}  // namespace drover::sim
