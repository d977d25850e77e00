#include "schema/dynamic_schema.h"

#include <gtest/gtest.h>

#include <utility>

#include "schema/proto_text.h"

namespace drover::schema {
namespace {

constexpr char kShop[] = R"(
  syntax = "proto3"; package shop;
  message Order { string name = 1; repeated Item items = 2; map<string, int32> stock = 3; message Item { int32 n = 1; } }
)";

TEST(DynamicSchema, IsLoadedFromTheBytesOfAFileDescriptorSet) {
  const std::string bytes = parse_protos({{"shop.proto", kShop}}).SerializeAsString();
  DynamicSchema schema;
  EXPECT_FALSE(schema.valid());
  EXPECT_EQ(DynamicSchema::load(bytes, &schema), "");
  ASSERT_TRUE(schema.valid());
  const std::optional<MessageType> order = schema.find_message("shop.Order");
  ASSERT_TRUE(order.has_value());
  EXPECT_STREQ(order->full_name(), "shop.Order");
  EXPECT_EQ(order->fields().size(), 3u);
  EXPECT_FALSE(schema.find_message("shop.Nothing").has_value());
  EXPECT_FALSE(schema.find_message("").has_value());
}

TEST(DynamicSchema, ListsItsMessagesWithoutMapEntries) {
  DynamicSchema schema;
  EXPECT_TRUE(schema.messages().empty());
  ASSERT_EQ(DynamicSchema::load(parse_protos({{"shop.proto", kShop}}), &schema), "");
  std::vector<std::string> names;
  for (const MessageType& type : schema.messages()) names.emplace_back(type.full_name());
  EXPECT_EQ(names, (std::vector<std::string>{"shop.Order", "shop.Order.Item"}));
}

TEST(DynamicSchema, ItsTypesSurviveAMove) {
  DynamicSchema schema;
  ASSERT_EQ(DynamicSchema::load(parse_protos({{"shop.proto", kShop}}), &schema), "");
  const MessageType order = *schema.find_message("shop.Order");
  const DynamicSchema moved = std::move(schema);
  EXPECT_STREQ(order.full_name(), "shop.Order");
  EXPECT_EQ(order.image, &moved.image());
}

TEST(DynamicSchema, SaysWhatIsWrongAndKeepsWhatItHad) {
  DynamicSchema schema;
  ASSERT_EQ(DynamicSchema::load(parse_protos({{"shop.proto", kShop}}), &schema), "");
  EXPECT_EQ(DynamicSchema::load("\xff\xff", &schema), "not a FileDescriptorSet");
  EXPECT_EQ(DynamicSchema::load(parse_protos({{"a.proto", "syntax = \"proto3\"; import \"b.proto\";"}}), &schema),
            "b.proto: imported, but not in the FileDescriptorSet");
  EXPECT_TRUE(schema.find_message("shop.Order").has_value());
}

}  // namespace
}  // namespace drover::schema
