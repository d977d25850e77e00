#include "engine/reflection/descriptor_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/reflection/reflection_testing.h"
#include "schema/proto_text.h"

namespace drover::engine {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr uint32_t kNone = DescriptorIndex::kNone;

const char kBase[] = R"(
  syntax = "proto2"; package a.b;
  message Base { optional int32 x = 1; extensions 100 to 199; message In { enum E { ZERO = 0; } oneof one { int32 y = 1; } } }
  enum Top { FIRST = 0; }
  extend .a.b.Base { optional int32 early = 150; }
)";
const char kService[] = R"(
  syntax = "proto2"; package a;
  import "base.proto";
  message Ask { optional a.b.Base base = 1; extend .a.b.Base { optional int32 late = 120; } }
  service Shop { rpc Buy(Ask) returns (Ask); }
)";

std::string shop_set() {
  return schema::parse_protos({{"base.proto", kBase}, {"shop.proto", kService}}).SerializeAsString();
}
std::shared_ptr<const DescriptorIndex> index_of(const std::string& set) {
  std::string error;
  auto index = DescriptorIndex::make(set, &error);
  EXPECT_NE(index, nullptr) << error;
  return index;
}
std::string refusal_of(const std::string& set, bool too_large = false) {
  std::string error;
  bool found = !too_large;
  EXPECT_EQ(DescriptorIndex::make(set, &error, &found), nullptr);
  EXPECT_EQ(found, too_large) << error;
  return error;
}
// A FileDescriptorProto of that name with `rest`, as an element of a set.
std::string file(std::string_view name, std::string_view rest) {
  std::string bytes, set;
  append_bytes(1, name, &bytes);
  bytes.append(rest);
  append_bytes(1, bytes, &set);
  return set;
}
std::string field(uint32_t number, std::string_view bytes) {
  std::string out;
  append_bytes(number, bytes, &out);
  return out;
}

TEST(DescriptorIndex, EverySymbolIsFoundInItsFile) {
  auto index = index_of(shop_set());
  const uint32_t base = index->find_file("base.proto"), shop = index->find_file("shop.proto");
  ASSERT_NE(base, kNone);
  ASSERT_NE(shop, kNone);
  for (const char* name : {"a.b.Base", "a.b.Base.x", "a.b.Base.In", "a.b.Base.In.E", "a.b.Base.In.ZERO",
                           "a.b.Base.In.one", "a.b.Base.In.y", "a.b.Top", "a.b.FIRST", "a.b.early"}) {
    EXPECT_EQ(index->find_symbol(name), base) << name;
  }
  for (const char* name : {"a.Ask", "a.Ask.base", "a.Ask.late", "a.Shop", "a.Shop.Buy"}) {
    EXPECT_EQ(index->find_symbol(name), shop) << name;
  }
  for (const char* name : {"", ".", "a", "a.b", "b.Base", "Base", "a.b.Base.", ".a.b.Base", "a.b.base", "a..b.Base",
                           "a.b.Base.In.E.ZERO", "a.Shop.Sell", "a.b.Base.x.x"}) {
    EXPECT_EQ(index->find_symbol(name), kNone) << name;
  }
  EXPECT_TRUE(index->is_message("a.b.Base.In"));
  EXPECT_FALSE(index->is_message("a.Shop"));
  EXPECT_THAT(index->imports(index->file(shop)), ElementsAre(base));
}

TEST(DescriptorIndex, ImportsAreFilesOfTheSetWhereverTheyStand) {
  auto index = index_of(file("a", field(3, "missing") + field(3, "c") + field(3, "b")) + file("b", field(3, "a")) +
                        file("c", ""));
  EXPECT_THAT(index->imports(index->file(0)), ElementsAre(2, 1));
  EXPECT_THAT(index->imports(index->file(1)), ElementsAre(0));
  EXPECT_THAT(index->imports(index->file(2)), ElementsAre());
}

TEST(DescriptorIndex, LongNamesAreNotFound) {
  for (const size_t size : {DescriptorIndex::kMaxName, DescriptorIndex::kMaxName + 1}) {
    const std::string name(size, 'n');
    auto index = index_of(file(name, field(4, field(1, name)) + field(7, field(1, "x") + field(2, name))));
    const uint32_t found = size == DescriptorIndex::kMaxName ? 0 : kNone;
    EXPECT_EQ(index->find_file(name), found);
    EXPECT_EQ(index->find_symbol(name), found);
    EXPECT_EQ(index->find_extension(name, 0), found);
  }
}

TEST(DescriptorIndex, ExtensionsAreFoundByMessageAndNumber) {
  auto index = index_of(shop_set());
  EXPECT_EQ(index->find_extension("a.b.Base", 150), index->find_file("base.proto"));
  EXPECT_EQ(index->find_extension("a.b.Base", 120), index->find_file("shop.proto"));
  EXPECT_EQ(index->find_extension("a.b.Base", 121), kNone);
  EXPECT_EQ(index->find_extension("a.Ask", 120), kNone);
  EXPECT_THAT(index->extension_numbers("a.b.Base"), ElementsAre(120, 150));
  EXPECT_THAT(index->extension_numbers("a.Ask"), ElementsAre());
}

TEST(DescriptorIndex, OfTwoFilesWithOneNameTheFirstCounts) {
  auto index = index_of(shop_set() + shop_set() + file("base.proto", field(4, field(1, "Later"))));
  EXPECT_EQ(index->file_count(), 2u);
  EXPECT_EQ(index->find_symbol("Later"), kNone);
}

TEST(DescriptorIndex, AnEmptySetHasNothing) {
  auto index = index_of("");
  EXPECT_EQ(index->file_count(), 0u);
  EXPECT_EQ(index->find_symbol("a"), kNone);
  EXPECT_EQ(index->find_file(""), kNone);
}

TEST(DescriptorIndex, BytesThatAreNoDescriptorsAreRefused) {
  EXPECT_THAT(refusal_of("\xff"), HasSubstr("no FileDescriptorSet"));
  EXPECT_THAT(refusal_of(shop_set().substr(0, 20)), HasSubstr("no FileDescriptorSet"));
  EXPECT_THAT(refusal_of(file("x.proto", "\x22\x05")), HasSubstr("no FileDescriptorProto"));
  EXPECT_THAT(refusal_of(file(std::string("\0\x1b.proto", 8), field(4, "\x12\x7f"))),
              HasSubstr("??.proto is no FileDescriptorProto"));
  EXPECT_THAT(refusal_of(file("x.proto", field(4, "\x12\x7f"))), HasSubstr("x.proto is no FileDescriptorProto"));
}

TEST(DescriptorIndex, NestingAndCountsAreBounded) {
  std::string deep = field(1, "M");
  for (int i = 0; i < DescriptorIndex::kMaxNesting; ++i) deep = field(1, "M") + field(3, deep);
  EXPECT_THAT(refusal_of(file("deep.proto", field(4, deep)), true), HasSubstr("nests messages more than 32 deep"));
  std::string many;
  for (size_t i = 0; i <= DescriptorIndex::kMaxFiles; ++i) many += file("f" + std::to_string(i), "");
  EXPECT_THAT(refusal_of(many, true), HasSubstr("more than 4096 files"));
  std::string imports;
  for (size_t i = 0; i <= DescriptorIndex::kMaxImports; ++i) imports += field(3, "");
  EXPECT_THAT(refusal_of(file("i.proto", imports), true), HasSubstr("more than 65536 imports"));
  std::string names;
  for (size_t i = 0; i <= DescriptorIndex::kMaxSymbols; ++i) names += field(4, field(1, std::to_string(i)));
  EXPECT_THAT(refusal_of(file("n.proto", names), true), HasSubstr("more than 524288 names"));
  std::string extensions;
  for (size_t i = 0; i <= DescriptorIndex::kMaxExtensions; ++i) extensions += field(7, "");
  EXPECT_THAT(refusal_of(file("e.proto", extensions), true), HasSubstr("more than 65536 extensions"));
}

// Each full name would have 20 MB; what is held is a small multiple of the bytes.
TEST(DescriptorIndex, LongScopesAreNotRepeatedInEachName) {
  std::string inner;
  for (int i = 0; i < 100'000; ++i) inner += field(2, field(1, std::to_string(i)));
  std::string message = field(1, std::string(1 << 20, 'x')) + inner;
  for (int i = 0; i < 20; ++i) message = field(1, std::string(100'000, 'y')) + field(3, message);
  const std::string set = file("long.proto", field(4, message));
  auto index = index_of(set);
  EXPECT_LT(index->memory(), 6 * set.size());
}

TEST(DescriptorIndex, TheSameNameAHundredThousandTimesIsOneSymbol) {
  std::string names;
  for (int i = 0; i < 100'000; ++i) names += field(4, field(1, "Same"));
  auto index = index_of(file("same.proto", names));
  EXPECT_EQ(index->find_symbol("Same"), 0u);
}

}  // namespace
}  // namespace drover::engine
