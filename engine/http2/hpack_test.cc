// HPACK against the RFC's examples, and both ways against nghttp2.
#include <gtest/gtest.h>
#include <nghttp2/nghttp2.h>

#include <random>

#include "engine/http2/hpack_decoder.h"
#include "engine/http2/hpack_encoder.h"
#include "engine/http2/hpack_testing.h"
#include "testing/hex.h"

namespace drover::engine::http2 {
namespace {

struct Example {
  std::string_view hex;
  FieldPairs fields;
};

// RFC 7541, appendix C.3 to C.6: each list is one connection's blocks.
TEST(HpackDecoder, TheRfcsExamplesDecodeInSequence) {
  const FieldPairs request1 = {
      {":method", "GET"}, {":scheme", "http"}, {":path", "/"}, {":authority", "www.example.com"}};
  FieldPairs request2 = request1;
  request2.emplace_back("cache-control", "no-cache");
  const FieldPairs request3 = {{":method", "GET"},
                               {":scheme", "https"},
                               {":path", "/index.html"},
                               {":authority", "www.example.com"},
                               {"custom-key", "custom-value"}};
  const FieldPairs response1 = {{":status", "302"},
                                {"cache-control", "private"},
                                {"date", "Mon, 21 Oct 2013 20:13:21 GMT"},
                                {"location", "https://www.example.com"}};
  FieldPairs response2 = response1;
  response2[0].second = "307";
  const FieldPairs response3 = {{":status", "200"},
                                {"cache-control", "private"},
                                {"date", "Mon, 21 Oct 2013 20:13:22 GMT"},
                                {"location", "https://www.example.com"},
                                {"content-encoding", "gzip"},
                                {"set-cookie", "foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1"}};
  const std::vector<std::pair<uint32_t, std::vector<Example>>> connections = {
      {4096,
       {{"828684410f7777772e6578616d706c652e636f6d", request1},
        {"828684be58086e6f2d6361636865", request2},
        {"828785bf400a637573746f6d2d6b65790c637573746f6d2d76616c7565", request3}}},
      {4096,
       {{"828684418cf1e3c2e5f23a6ba0ab90f4ff", request1},
        {"828684be5886a8eb10649cbf", request2},
        {"828785bf408825a849e95ba97d7f8925a849e95bb8e8b4bf", request3}}},
      {256,
       {{"488264025885aec3771a4b6196d07abe941054d444a8200595040b8166e082a62d1bff6e919d29ad171863c78f0b97c8e9ae82ae43d3",
         response1},
        {"4883640effc1c0bf", response2},
        {"88c16196d07abe941054d444a8200595040b8166e084a62d1bffc05a839bd9ab77ad94e7821dd7f2e6c7b335dfdfcd5b3960d5af2708"
         "7f3672c1ab270fb5291f9587316065c003ed4ee5b1063d5007",
         response3}}}};
  for (const auto& [table, examples] : connections) {
    HpackDecoder decoder(table);
    for (const Example& example : examples) {
      EXPECT_EQ(decode_fields(decoder, testing::from_hex(example.hex)), example.fields) << example.hex;
    }
  }
}

TEST(HpackDecoder, MalformedBlocksAreRefused) {
  const std::pair<std::string_view, const char*> cases[] = {
      {"80", "index 0"},
      {"be", "an index behind the tables"},
      {"ff8080808010", "an index of more than 32 bits"},
      {"ff80808080808001", "an integer that does not end"},
      {"7f", "an integer cut off"},
      {"400a6375", "a name cut off"},
      {"4003666f6f", "no value"},
      {"4081ff0161", "a malformed Huffman code"},
      {"8220", "a size update behind a field"},
      {"3fe21f", "a size update above the limit"},
  };
  for (const auto& [hex, what] : cases) {
    HpackDecoder decoder;
    EXPECT_EQ(decode_fields(decoder, testing::from_hex(hex)), std::nullopt) << what;
  }
}

TEST(HpackDecoder, FieldsBeyondTheLimitAreDroppedAndTheTableGoesOn) {
  HpackDecoder decoder;
  HpackDecoder::Scratch scratch;
  FieldList fields(100);
  std::string block = testing::from_hex("400161");
  block.push_back(90);
  block.append(90, 'v');
  ASSERT_TRUE(decoder.decode(block, scratch, fields));
  EXPECT_TRUE(fields.too_large());
  EXPECT_TRUE(fields.fields().empty());
  EXPECT_EQ(decode_fields(decoder, "\xbe"), (FieldPairs{{"a", std::string(90, 'v')}}));
}

TEST(DynamicTable, ANameFromAnEntryThatItsOwnInsertionEvictsIsKept) {
  DynamicTable table(100);
  table.insert("name-of-twenty-bytes", std::string(40, 'v'));
  Field old = table.at(0);
  table.insert(old.name, std::string(48, 'w'));
  ASSERT_EQ(table.count(), 1u);
  EXPECT_EQ(table.at(0).name, "name-of-twenty-bytes");
  EXPECT_EQ(table.at(0).value, std::string(48, 'w'));
}

TEST(DynamicTable, AFieldLargerThanTheTableEmptiesIt) {
  DynamicTable table(100);
  table.insert("a", "b");
  uint64_t before = table.version();
  table.insert("large", std::string(100, 'x'));
  EXPECT_EQ(table.count(), 0u);
  EXPECT_NE(table.version(), before);
}

TEST(DynamicTable, TakesNoMemoryWhileItIsEmptyAndBoundedMemoryAfterwards) {
  DynamicTable table;
  EXPECT_EQ(table.memory(), 0u);
  std::mt19937 random(3);
  for (int i = 0; i < 20'000; ++i) {
    table.insert(std::string(random() % 40, 'n'), std::string(random() % 300, 'v'));
    ASSERT_LE(table.memory(), 2 * 4096u + 2 * 128 * 12u);
  }
}

FieldPairs random_fields(std::mt19937& random) {
  static const std::vector<std::string> names = {":method", ":path",        ":status", "content-type", "grpc-timeout",
                                                 "te",      "grpc-message", "x-trace", "user-agent",   "a"};
  FieldPairs fields;
  for (size_t n = random() % 12; n > 0; --n) {
    std::string value(random() % 3 ? random() % 12 : random() % 600, ' ');
    for (char& c : value) c = static_cast<char>('!' + random() % (random() % 4 ? 4 : 90));
    fields.emplace_back(names[random() % names.size()], random() % 3 ? std::to_string(random() % 5) : value);
  }
  return fields;
}

TEST(HpackDecoder, DecodesWhatNghttp2Encodes) {
  std::mt19937 random(11);
  for (uint32_t table : {0u, 64u, 4096u}) {
    Deflater deflater(4096);
    HpackDecoder decoder(4096);
    deflater.set_table_size(table);
    for (int round = 0; round < 3000; ++round) {
      if (round % 500 == 250) deflater.set_table_size(static_cast<uint32_t>(random() % 4097));
      FieldPairs fields = random_fields(random);
      ASSERT_EQ(decode_fields(decoder, deflater.encode(fields)), fields) << round;
    }
  }
}

TEST(HpackEncoder, Nghttp2DecodesWhatItEncodes) {
  std::mt19937 random(12);
  HpackEncoder encoder;
  Inflater inflater;
  constexpr Field kUsual[] = {{"content-type", "application/grpc"}, {"grpc-status", "0"}};
  for (int round = 0; round < 5000; ++round) {
    if (random() % 50 == 0) {
      for (size_t changes = random() % 3 + 1; changes > 0; --changes) {
        auto limit = static_cast<uint32_t>(random() % 3 ? random() % 5000 : 0);
        encoder.set_peer_limit(limit);
        inflater.set_table_size(limit);
      }
    }
    FieldPairs fields = random_fields(random);
    std::string block;
    encoder.begin(block);
    for (const auto& [name, value] : fields) {
      encoder.field(name, value, static_cast<Indexing>(random() % 3), block);
    }
    for (size_t number = 0; number < 2; ++number) {
      if (random() % 2) continue;
      encoder.usual(number, kUsual[number], block);
      fields.emplace_back(kUsual[number].name, kUsual[number].value);
    }
    ASSERT_EQ(inflater.decode(block), fields) << round;
  }
}

TEST(HpackEncoder, UsualFieldsAreOneByteTheSecondTime) {
  HpackEncoder encoder;
  std::string first, second;
  encoder.begin(first);
  encoder.usual(0, {"content-type", "application/grpc"}, first);
  encoder.begin(second);
  encoder.usual(0, {"content-type", "application/grpc"}, second);
  EXPECT_GT(first.size(), 1u);
  EXPECT_EQ(second, "\xbe");
}

TEST(HpackEncoder, SecretsEnterNoTable) {
  HpackEncoder encoder;
  std::string block;
  encoder.field("authorization", "Bearer 1", Indexing::kNever, block);
  EXPECT_EQ(static_cast<uint8_t>(block[0]) & 0xf0, 0x10);
  EXPECT_EQ(encoder.memory(), 0u);
}

}  // namespace
}  // namespace drover::engine::http2
