// What the serializer's tests cover. Streams that were made for it have to reach every combination that there is, and
// so have objects that are walked; what random messages reach of these is printed beside.
#include "rtl/serializer/serializer_coverage.h"

#include "rtl/serializer/serializer_testing.h"
#include "rtl/testing/field_sweep.h"
#include "rtl/testing/wire_coverage.h"
#include "testing/test_object.h"
#include "testing/test_schema.h"

namespace drover::rtl {
namespace {

uint32_t slots_of(const std::string& records) { return static_cast<uint32_t>(records.size() / 8); }

// A stream of records of all kinds, last first, with what they refer to. Each record stands where it was aimed: at a
// slot of a line, and its bytes at a place of the arena.
class StreamMaker {
 public:
  // `arena`: where the encoder is when it comes to this stream.
  StreamMaker(Random& random, SerializerBench& bench, size_t memory, uint32_t arena)
      : random_(random), bench_(bench), memory_(memory), arena_(arena) {}

  void make() {
    for (uint64_t n = 4 + random_.below(10); n > 0; --n) add(random_.index(SerializerCoverage::kOps));
    slot(&records_, 0);
    if (random_.chance(300)) payload_ = std::string(66000, 'u') + payload_;  // too long to be read ahead
  }
  const std::string& records() const { return records_; }
  const std::string& payload() const { return payload_; }
  // So many bytes of header put one of the long parts at a beat's first byte.
  size_t header_bytes(size_t message_bytes) const { return (64 - (message_bytes - aimed_) % 64) % 64; }
  // So many bytes of payload lie from one of its parts on.
  size_t payload_aim() const { return payload_aim_; }
  StreamError finish(std::string* wire) const {
    return finish_preserialized(records_, payload_, bench_.engine(), bench_.host(), wire);
  }

 private:
  static void slot(std::string* to, uint64_t word) { to->append(reinterpret_cast<const char*>(&word), 8); }
  static void raw(std::string* to, size_t size) {
    slot(to, record_head(kRecordRawInline, size));
    to->append(size, 'r').append((8 - size % 8) % 8, '\0');
  }
  void head(std::string* to, uint32_t op, uint64_t value, bool tagged = true) {
    uint64_t form = tagged ? random_.below(3) : 0;
    uint64_t tag = form == 2 ? 0 : form == 1 ? 0x1a8 : 1 + random_.below(127);
    slot(to, record_head(op, value, tag, form != 0));
    if (form == 2) slot(to, 1 + (random_.next() >> (32 + random_.below(32))) % 0xfffffff0);
  }
  uint64_t value(uint64_t bits) {
    uint64_t v = random_.next() >> (64 - bits) >> random_.below(bits);
    return random_.chance(200) ? ~v : v;
  }
  size_t length() {
    constexpr uint32_t kFirst[] = {0, 1, 2, 6, 11, 64, 65, 1024}, kSpan[] = {1, 1, 4, 5, 53, 1, 300, 300};
    size_t i = random_.index(8);
    if (i >= 6 && large_++ >= 3) i = 3;
    return kFirst[i] + random_.below(kSpan[i]);
  }
  // The message's bytes with these records so far.
  size_t wire_bytes(const std::string& records) {
    std::string wire;
    EXPECT_EQ(finish_preserialized(records + std::string(8, '\0'), payload_, bench_.engine(), bench_.host(), &wire),
              StreamError::kOk);
    return wire.size();
  }

  void add(size_t index) {
    uint32_t op = SerializerCoverage::op(index);
    std::string before, record;  // what an open has to have in front of it
    size_t inside = 0, far = 0;
    if (op == kRecordOpen) {
      slot(&before, record_head(kRecordClose, 0));
      inside = length();
      if (inside != 0) raw(&before, inside);
    }
    bool to_far = false, tagged = true, aims = false;
    switch (op) {
      case kRecordRawInline:
      case kRecordRawPayload:
      case kRecordRawEngine:
      case kRecordRawHost:
        tagged = false;
        [[fallthrough]];
      case kRecordInline:
      case kRecordInlineUtf8:
      case kRecordPayload:
      case kRecordEngine:
      case kRecordHost: {
        size_t size = length();
        head(&record, op, size, tagged);
        to_far = op != kRecordInline && op != kRecordInlineUtf8 && op != kRecordRawInline;
        if (!to_far) {
          record.append(size, 'i').append((8 - size % 8) % 8, '\0');
        } else if (op == kRecordPayload || op == kRecordRawPayload) {
          payload_ = std::string(size, 'p') + payload_;
          aims = random_.chance(500);
          if (size != 0 && aims) payload_aim_ = payload_.size() + random_.below(2);
        } else {
          uint64_t at = random_.below(memory_ - size - 63);
          slot(&record, random_.chance(300) ? at / 64 * 64 : random_.chance(300) ? at | 63 : at);
          aims = random_.chance(300);
        }
        if (to_far) far = size;
        break;
      }
      case kRecordElements:
        elements(&record);
        break;
      case kRecordClose:
        return;  // comes with an open
      case kRecordVarint64:
      case kRecordSint64:
      case kRecordFixed64:
        head(&record, op, 0);
        slot(&record, value(64));
        break;
      default:
        head(&record, op, value(32));
    }
    place(before, record, inside, far, aims);
  }
  void elements(std::string* to) {
    size_t count = length();
    uint32_t op = 1 + static_cast<uint32_t>(random_.below(kRecordClosedEnum));
    bool wide = op == kRecordVarint64 || op == kRecordSint64 || op == kRecordFixed64;
    slot(to, record_head(kRecordElements, count, op));
    for (size_t i = 0; i < (wide ? count : (count + 1) / 2); ++i) slot(to, random_.next() >> random_.below(64));
  }

  // Raw bytes in front of the record bring its own to their place, empty ones the record to its slot.
  void place(const std::string& before, const std::string& record, size_t inside, size_t far, bool aims) {
    size_t so_far = wire_bytes(records_), then = wire_bytes(records_ + before + record);
    size_t bytes = then - so_far - inside - far;  // of the arena
    size_t with_it = so_far - far_bytes_ + inside + bytes;
    // At a line's first byte, or at its last.
    size_t filler = random_.chance(300)   ? (arena_ - with_it) % 64
                    : random_.chance(500) ? (arena_ - with_it + 1) % 64
                                          : random_.below(64);
    if (filler != 0) raw(&records_, filler);
    uint32_t target = static_cast<uint32_t>(random_.chance(400) ? 0 : 4 + random_.below(4));
    while ((slots_of(records_) + slots_of(before)) % 8 != target) raw(&records_, 0);
    records_ += before + record;
    far_bytes_ += far;
    if (far != 0 && aims) aimed_ = so_far + filler + far;
  }

  Random& random_;
  SerializerBench& bench_;
  size_t memory_;  // that records may refer to
  uint32_t arena_;
  size_t large_ = 0;
  std::string records_, payload_;
  size_t far_bytes_ = 0;  // of the message, that are not in the arena
  size_t aimed_ = 0;      // bytes of the message from a long part's first on
  size_t payload_aim_ = 0;
};

struct Sent {
  PreserializedOutput stream;
  SerializerCommand command;
};

SerializerCoverage::Stream told(const Sent& sent) {
  return {{sent.stream.buffer, sent.stream.record_bytes},
          sent.command.pushed,
          sent.command.payload,
          sent.command.payload_bytes,
          sent.command.header.size()};
}

void report(const char* what, const SerializerCoverage& cover) {
  std::printf("%s\n%s%s", what, cover.records().report(8).c_str(), cover.far_parts().report(8).c_str());
}

TEST(Coverage, StreamsMadeForItReachEverything) {
  SerializerCoverage cover;
  constexpr size_t kMemory = 1 << 16;
  size_t benches = 0;
  // Until all is reached, which takes about 200 benches.
  auto holes = [&] { return cover.records().holes().size() + cover.far_parts().holes().size(); };
  for (uint64_t seed = 1; seed <= 600 && holes() != 0; ++seed) {
    SerializerBench::Options options = stalled(seed, seed % 3 == 0 ? 40 : 0);
    options.host_bytes = 24 << 20;
    options.engine_bytes = 2 << 20;
    SerializerBench bench(options);
    Random random(seed);
    bench.room(kMemory);
    for (size_t i = 0; i < kMemory; ++i) bench.engine()[i] = bench.host()[i] = static_cast<char>(random.next());
    std::vector<Expectation> expected;
    cover.reset();
    for (int i = 0; i < 200; ++i) {
      StreamMaker maker(random, bench, kMemory, cover.arena());
      maker.make();
      size_t payload = maker.payload().size();
      PreserializedOutput stream = bench.room(maker.records().size() + payload + 64);
      ASSERT_NE(stream.buffer, nullptr);
      std::memcpy(stream.buffer, maker.records().data(), maker.records().size());
      stream.record_bytes = maker.records().size();
      stream.payload_bytes = payload;
      // Payload may end anywhere.
      stream.buffer_size -= random.chance(500) ? random.below(64) : (stream.buffer_size - maker.payload_aim()) % 64;
      std::memcpy(stream.buffer + stream.buffer_size - payload, maker.payload().data(), payload);
      SerializerCommand command = bench.command(stream, static_cast<uint16_t>(i));
      std::string wire;
      ASSERT_EQ(maker.finish(&wire), StreamError::kOk);
      command.header.assign(maker.header_bytes(wire.size()), 'h');
      if (random.chance(500)) bench.push(&command, kMemory);
      bench.send(command);
      cover.add(told({stream, command}));
      expected.push_back({command.header + wire});
    }
    expect_all(bench, expected);
    benches = seed;
  }
  std::printf("%zu benches of 200 streams\n", benches);
  report("streams made for it", cover);
  EXPECT_EQ(cover.records().impossible() + cover.far_parts().impossible(), 0u);
  EXPECT_EQ(cover.records().holes(), std::vector<std::string>());
  EXPECT_EQ(cover.far_parts().holes(), std::vector<std::string>());
}

// Random messages of random schemas; half of them pushed, half of them refer to the object.
TEST(Coverage, OfRandomMessages) {
  SerializerCoverage cover;
  WireCoverage walked("kind x label x length x place", WireCoverage::possible_encoded);
  size_t messages = 0, left = 0, left_walked = 0;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    TestSchema schema(workload::random_schema(seed));
    std::vector<std::string> names = workload::message_names(schema.files());
    SerializerBench::Options options = stalled(seed, seed % 2 * 60);
    options.host_bytes = 16 << 20;
    options.engine_bytes = 4 << 20;
    SerializerBench bench(options), walker(options);
    walker.load(*schema.type(names[0]).image);
    Random random(seed);
    std::vector<Expectation> expected, expected_walked;
    std::vector<Sent> sent;
    std::vector<schema::MessageType> types;
    for (int i = 0; i < 40; ++i) {
      TestObject object(schema.type(names[random.index(names.size())]));
      workload::MessageOptions content;
      content.max_size = 5000;
      content.unknown_permille = 100;
      ASSERT_TRUE(workload::fill_object(object.type(), random.next(), content, object.get(), *object.arena()).ok());
      Message* copy = place(bench, object);
      PreserializedOutput stream = bench.room(object.encode().size() * 9 + 4096);
      if (copy == nullptr || stream.buffer == nullptr || walk(walker, object, &expected_walked) == nullptr) break;
      PreserializeOptions how;
      const size_t thresholds[] = {1, 24, 256};
      how.payload_threshold = thresholds[random.index(3)];
      how.host = {reinterpret_cast<uintptr_t>(bench.host().data()), random.chance(500) ? bench.host().size() : 0};
      how.reference_from = thresholds[random.index(3)];
      ASSERT_TRUE(preserialize(object.type(), copy, how, &stream).ok());
      SerializerCommand command = bench.command(stream, static_cast<uint16_t>(i));
      if (random.chance(500)) bench.push(&command);
      bench.send(command);
      sent.push_back({stream, command});
      expected.push_back({object.encode()});
      types.push_back(object.type());
    }
    ASSERT_TRUE(bench.run(3'000'000) && walker.run(3'000'000)) << "hangs; schema seed " << seed;
    messages += expected.size();
    left += forgive(bench, &expected);
    left_walked += forgive(walker, &expected_walked);
    expect_all(bench, expected, 1);
    expect_all(walker, expected_walked, 1);
    cover.reset();
    for (size_t i = 0; i < sent.size(); ++i) {  // those that were left to software take no room
      if (expected[i].error == SerializerError::kNone) cover.add(told(sent[i]));
    }
    for (size_t i = 0; i < types.size(); ++i) {
      if (expected_walked[i].error == SerializerError::kNone) walked.add(types[i], expected_walked[i].packet);
    }
  }
  report("random messages of random schemas", cover);
  std::printf("the same, NIC-only\n%s", walked.coverage().report(8).c_str());
  std::printf("%zu messages; left to software: %zu as streams, %zu NIC-only\n", messages, left, left_walked);
  // Measured: 0 of 1,600, either way. The seeds are fixed, so the bound needs no margin.
  EXPECT_EQ(left, 0u);
  EXPECT_EQ(left_walked, 0u);
  // What undirected messages reach: a generator that lost an op, a kind or a label would fall below.
  EXPECT_GT(cover.records().reached(), cover.records().total() * 2 / 5);
  EXPECT_GT(cover.far_parts().reached(), cover.far_parts().total() / 5);
  EXPECT_GT(walked.coverage().reached(), walked.coverage().total() * 2 / 5);
}

TEST(Coverage, WalksOfEveryKindLabelLengthAndPlace) {
  TestSchema schema(testing::parse_proto(every_field()));
  schema::MessageType type = schema.type("All");
  WireCoverage cover("kind x label x length x place", WireCoverage::possible_encoded);
  std::deque<std::string> wires = field_sweep(shortest_varint);
  size_t left = 0;
  for (size_t done = 0; done < wires.size(); done += 512) {
    SerializerBench::Options options = stalled(done + 1, done % 1024 == 0 ? 0 : 30);
    options.host_bytes = 16 << 20;
    SerializerBench bench(options);
    bench.load(*type.image);
    std::vector<Expectation> expected;
    for (size_t i = done; i < std::min(done + 512, wires.size()); ++i) {
      TestObject object(type);
      ASSERT_TRUE(object.decode(wires[i]).ok());
      ASSERT_NE(walk(bench, object, &expected), nullptr);
    }
    ASSERT_TRUE(bench.run(10'000'000)) << "hangs";
    left += forgive(bench, &expected);
    expect_all(bench, expected, 1);
    for (const Expectation& each : expected) {
      if (each.error == SerializerError::kNone) cover.add(type, each.packet);
    }
  }
  EXPECT_EQ(left, 0u);
  std::printf("NIC-only, directed: %zu messages, of which %zu were left to software\n%s", wires.size(), left,
              cover.coverage().report(20).c_str());
  EXPECT_EQ(cover.coverage().impossible(), 0u);
  EXPECT_EQ(cover.coverage().holes(), std::vector<std::string>());
}

}  // namespace
}  // namespace drover::rtl
