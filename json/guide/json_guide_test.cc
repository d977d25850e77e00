// The examples of docs/json.md.
#include <gtest/gtest.h>

#include "json/guide/guide_testing.h"
#include "json/json.h"
#include "message/reflection.h"
#include "shop.pb.h"

namespace {

using namespace drover;

TEST(JsonGuide, PrintsAndReadsGeneratedMessages) {
  shop::Order order;
  order.set_id(17);
  order.mutable_ordered()->set_seconds(1700000000);
  auto* item = order.add_items();
  item->set_name("pen");
  item->set_count(3);

  std::string text = json::to_string(order);
  // {"id":"17","ordered":"2023-11-14T22:13:20Z","items":[{"name":"pen","count":3}]}

  shop::Order copy;
  json::Result result = json::from_string(text, &copy);
  if (!result.ok()) std::cerr << json::to_string(result) << "\n";

  EXPECT_EQ(text, R"({"id":"17","ordered":"2023-11-14T22:13:20Z","items":[{"name":"pen","count":3}]})");
  EXPECT_TRUE(result.ok());
  EXPECT_TRUE(copy.MessageEquals(order));
}

TEST(JsonGuide, SaysWhatIsWrong) {
  shop::Order order;
  json::Result result = json::from_string(R"({"items": [{"name": "pen"}, {"count": "many"}]})", &order);
  // result.error    json::Error::kWrongType
  // result.line     1
  // result.column   39
  // result.path     "items[1].count"
  // result.expected "a number"
  std::string sentence = json::to_string(result);  // "wrong type at 1:39, in items[1].count: expected a number"

  EXPECT_EQ(result.error, json::Error::kWrongType);
  EXPECT_EQ(sentence, "wrong type at 1:39, in items[1].count: expected a number");
}

TEST(JsonGuide, TakesOptions) {
  shop::Order order;
  json::Result read = json::from_string(R"({"id": 5, "discount": 0.1})", &order, {.ignore_unknown = true});
  std::string text = json::to_string(order, {.indent = 2, .always_print_fields_without_presence = true});

  EXPECT_TRUE(read.ok());
  EXPECT_EQ(text, "{\n  \"id\": \"5\",\n  \"items\": [],\n  \"notes\": {}\n}");
}

TEST(JsonGuide, ReplacesWhatTheMessageHeld) {
  shop::Order order;
  order.add_items()->set_name("old");
  EXPECT_TRUE(json::from_string(R"({"id":1})", &order).ok());
  EXPECT_EQ(order.items_size(), 0);
  std::string text = "before";
  EXPECT_TRUE(json::to_string(order, &text).ok());
  EXPECT_EQ(text, R"({"id":"1"})");
  order.mutable_ordered()->set_nanos(-1);
  EXPECT_EQ(json::to_string(order), "");
  EXPECT_EQ(json::to_string(order, &text).error, json::Error::kBadValue);
}

TEST(ReflectionOfGeneratedClasses, EditsWhatTheAccessorsShow) {
  shop::Order order;
  reflection::Object object = reflection::of(&order);
  object.set<int64_t>(*object.find("id"), 5);
  order.add_items()->set_name("pen");
  reflection::Object item = object.add_sub(*object.find("items"));
  item.set<std::string_view>(*item.find("name"), "ink");
  reflection::Map notes = object.mutable_map(*object.find("notes"));
  notes.insert(reflection::MapKeyValue("gift")).set<std::string_view>(notes.value_field(), "yes");
  reflection::Object ordered = object.mutable_sub(*object.find("ordered"));
  ordered.set<int64_t>(*ordered.find("seconds"), 9);
  EXPECT_EQ(order.id(), 5);
  ASSERT_EQ(order.items_size(), 2);
  EXPECT_EQ(order.items(1).name(), "ink");
  EXPECT_EQ(order.notes().at("gift"), "yes");
  EXPECT_EQ(order.ordered().seconds(), 9);
  (*order.mutable_notes())["gift"] = "no";
  order.mutable_notes()->erase("none");
  EXPECT_EQ(notes.find(reflection::MapKeyValue("gift")).get<std::string_view>(notes.value_field()), "no");
  order.clear_ordered();
  EXPECT_FALSE(reflection::of(order).has(*object.find("ordered")));
  object.clear(*object.find("items"));
  EXPECT_EQ(order.items_size(), 0);
  order.add_items()->set_name("more");
  EXPECT_EQ(order.DebugString(), "id: 5\nitems {\n  name: \"more\"\n}\nnotes {\n  key: \"gift\"\n  value: \"no\"\n}\n");
}

TEST(JsonGuide, ShowsWhatIsCompiled) {
  drover::testing::expect_examples("docs/json.md", "json/guide/json_guide_test.cc");
}

}  // namespace
