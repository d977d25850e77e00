// drover-echo-body: writes a request for examples/echo, filled from a seed, as the raw bytes of the encoded message.
// The sizes are those of the HyperProtoBench messages that Split gRPC measured with: 845, 36,078 and 324,753 bytes.
// A message is filled field by field, and its longest string is then stretched so that the size comes out exactly.

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <random>
#include <string>

#include "echo.pb.h"

namespace {

using drover::examples::echo::EchoMessage;
using drover::examples::echo::LargeMessage;
using drover::examples::echo::MediumMessage;
using drover::examples::echo::SmallMessage;

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}

  // Of 1 to `bits` significant bits, each count as likely: short varints are as common as long ones.
  uint64_t bits(int bits) {
    const int width = 1 + static_cast<int>(engine_() % static_cast<uint64_t>(bits));
    return engine_() >> (64 - width) | uint64_t{1} << (width - 1);
  }
  uint32_t u32(int width = 32) { return static_cast<uint32_t>(bits(width)); }
  int64_t either_sign(int width) {
    const int64_t value = static_cast<int64_t>(bits(width));
    return engine_() % 4 == 0 ? -value : value;
  }
  double real() { return std::ldexp(static_cast<double>(either_sign(40)), -12); }
  bool coin() { return engine_() % 2 == 0; }
  std::string text(size_t size) {
    std::string text(size, ' ');
    for (char& c : text) c = static_cast<char>('a' + engine_() % 26);
    return text;
  }
  std::string bytes(size_t size) {
    std::string bytes(size, '\0');
    for (char& c : bytes) c = static_cast<char>(engine_());
    return bytes;
  }

 private:
  std::mt19937_64 engine_;
};

// Stretches or cuts *filler until the message encodes to `size` bytes. Where a length prefix grows by a byte just there
// the size may be out of reach; the caller's messages are far from such an edge.
template <class Message, class Filler>
bool fit(Message* message, size_t size, Filler fill) {
  size_t length = size / 2;
  for (int attempt = 0; attempt < 8; ++attempt) {
    fill(length);
    const size_t now = message->ByteSizeLong();
    if (now == size) return true;
    if (now > size + length) return false;
    length = length + size - now;
  }
  return false;
}

bool fill_small(Random* random, SmallMessage* message) {
  message->set_score(random->real());
  message->set_device(SmallMessage::DEVICE_TABLET);
  message->set_version(random->u32(7));
  message->set_received_us(static_cast<int64_t>(random->bits(50)));
  SmallMessage::Place* place = message->mutable_place();
  place->set_latitude(random->real());
  place->set_longitude(random->real());
  place->set_country(random->u32(9));
  SmallMessage::Visitor* visitor = message->mutable_visitor();
  visitor->set_id(random->either_sign(40));
  visitor->set_session(random->bits(64));
  visitor->set_name(random->text(12));
  visitor->set_signed_in(true);
  message->set_referrer(random->text(300));
  message->set_bytes_sent(random->u32());
  message->set_status(200);
  message->set_request_id(random->bits(64));
  SmallMessage::Timing* timing = message->mutable_timing();
  timing->set_dns_us(random->u32(12));
  timing->set_connect_us(random->u32(14));
  timing->set_first_byte_us(random->u32(18));
  timing->set_clock_skew_us(random->either_sign(20));
  timing->set_trace(random->bits(64));
  for (int i = 0; i < 4; ++i) timing->add_paint_ms(random->u32(12));
  SmallMessage::Experiment* experiment = message->mutable_experiment();
  experiment->set_id(random->u32(16));
  experiment->set_weight(0.25f);
  experiment->set_enabled(true);
  message->set_checksum(random->u32());
  message->set_offset_minutes(-330);
  message->set_cached(true);
  message->set_cost(random->real());
  message->set_shard(random->bits(48));
  return fit(message, 845, [&](size_t length) { message->set_url(random->text(length)); });
}

bool fill_medium(Random* random, MediumMessage* message) {
  const auto fill_paragraph = [random](MediumMessage::Paragraph* paragraph) {
    paragraph->set_begin(random->u32(16));
    paragraph->set_end(random->u32(16));
    paragraph->mutable_style()->set_font(random->u32(6));
    paragraph->mutable_style()->set_size(10.5f);
    paragraph->mutable_style()->set_bold(random->coin());
    paragraph->set_anchor(random->text(24));
  };
  message->set_rank(random->real());
  message->set_document(random->bits(64));
  message->set_language(random->u32(7));
  fill_paragraph(message->mutable_heading());
  for (int i = 0; i < 12; ++i) fill_paragraph(message->add_paragraphs());
  for (int i = 0; i < 40; ++i) message->add_term_offsets(static_cast<int32_t>(random->either_sign(16)));
  message->set_freshness(random->real());
  return fit(message, 36'078, [&](size_t length) { message->set_text(random->text(length)); });
}

bool fill_large(Random* random, LargeMessage* message) {
  LargeMessage::Attachment* original = message->mutable_original();
  original->set_media_type("image/png");
  original->set_digest(random->bits(64));
  message->set_revision(5555);
  message->set_modified_us(static_cast<int64_t>(random->bits(46)));
  message->set_quota(random->real());
  message->set_summary(random->text(30'911));
  message->set_owner(static_cast<int64_t>(random->bits(45)));
  message->set_rendering(random->bytes(65'784));
  for (int i = 0; i < 3; ++i) message->add_history(random->either_sign(20));
  message->set_key(random->bits(58));
  message->set_index(random->bytes(34'451));
  message->set_replicas(random->u32(14));
  message->set_note(random->text(269));
  return fit(message, 324'753, [&](size_t length) { original->set_content(random->bytes(length)); });
}

template <class Message>
std::string encoded(Random* random, bool (*fill)(Random*, Message*)) {
  Message message;
  return fill(random, &message) ? message.SerializeAsString() : std::string();
}

std::string encoded_payload(Random* random, size_t size) {
  EchoMessage message;
  message.set_payload(random->bytes(size));
  return message.SerializeAsString();
}

using Maker = std::function<std::string(Random*)>;

const std::map<std::string, Maker>& makers() {
  static const std::map<std::string, Maker> table = {
      {"unary-32B", [](Random* random) { return encoded_payload(random, 32); }},
      {"stream-64B", [](Random* random) { return encoded_payload(random, 62); }},
      {"stream-16KiB", [](Random* random) { return encoded_payload(random, (16 << 10) - 4); }},
      {"unary-1KiB", [](Random* random) { return encoded_payload(random, 1024); }},
      {"small", [](Random* random) { return encoded(random, fill_small); }},
      {"medium", [](Random* random) { return encoded(random, fill_medium); }},
      {"large", [](Random* random) { return encoded(random, fill_large); }},
  };
  return table;
}

}  // namespace

int main(int argc, char** argv) {
  std::string kind;
  std::string output;
  uint64_t seed = 1;
  CLI::App app("Writes a seeded request body for examples/echo");
  app.add_option("--kind", kind, "which message")->required()->check(CLI::IsMember(makers()));
  app.add_option("--seed", seed, "the same seed gives the same bytes")->capture_default_str();
  app.add_option("-o,--output", output, "file to write")->required();
  CLI11_PARSE(app, argc, argv);

  Random random(seed);
  const std::string body = makers().at(kind)(&random);
  if (body.empty()) {
    std::cerr << "drover-echo-body: " << kind << " does not come out at its size with seed " << seed << "\n";
    return 1;
  }
  if (!(std::ofstream(output, std::ios::binary) << body)) {
    std::cerr << "drover-echo-body: " << output << " cannot be written\n";
    return 1;
  }
  return 0;
}
