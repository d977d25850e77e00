// The examples of docs/dynamic.md.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "codec/decode/decode.h"
#include "codec/encode/encode.h"
#include "json/guide/guide_testing.h"
#include "json/json.h"
#include "message/reflection.h"
#include "schema/dynamic_schema.h"

namespace {

using namespace drover;

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Prints whatever is set in an object, line by line.
void walk(const reflection::ConstObject& object, int level, std::string* out) {
  for (const schema::FieldEntry& field : object.fields()) {
    if (!object.has(field)) continue;
    auto line = [&](auto value) {
      out->append(static_cast<size_t>(level), ' ').append(object.name(field));
      if constexpr (std::is_same_v<decltype(value), reflection::ConstObject>) {
        out->append("\n");
        walk(value, level + 1, out);
      } else if constexpr (std::is_same_v<decltype(value), std::string_view>) {
        out->append(" = ").append(value).append("\n");
      } else {
        out->append(" = ").append(std::to_string(value)).append("\n");
      }
    };
    if (field.label == schema::kLabelSingular) {
      object.visit(field, line);
    } else if (field.label == schema::kLabelRepeated) {
      for (int i = 0; i < object.size(field); ++i) object.visit(field, i, line);
    } else {
      reflection::ConstMap map = object.map(field);
      for (int i = 0; i < map.size(); ++i) line(map.entry(i));
    }
  }
}

TEST(DynamicGuide, LoadsDecodesEditsAndEncodes) {
  schema::DynamicSchema shop;
  std::string error = schema::DynamicSchema::load(read_file(DROVER_SHOP_DESCRIPTORS), &shop);
  if (!error.empty()) std::cerr << error << "\n";
  std::optional<schema::MessageType> type = shop.find_message("shop.Order");

  Arena arena;
  reflection::Object order = reflection::create(*type, &arena);
  std::string wire("\x08\x11\x1a\x05\x0a\x03pen", 9);
  DecodeResult decoded = decode(*type, order.message(), wire, arena);

  ASSERT_EQ(error, "");
  ASSERT_TRUE(decoded.ok()) << to_string(decoded);

  const schema::FieldEntry& id = *order.find("id");
  const schema::FieldEntry& items = *order.find("items");
  int64_t number = order.get<int64_t>(id);
  order.set<int64_t>(id, number + 1);
  reflection::Object item = order.add_sub(items);
  item.set<std::string_view>(*item.find("name"), "ink");
  item.set<double>(*item.find("price"), 2.5);
  reflection::Map notes = order.mutable_map(*order.find("notes"));
  notes.insert(reflection::MapKeyValue("gift")).set<std::string_view>(notes.value_field(), "yes");

  Encoded encoded;
  EncodeResult result = encode(*type, order.message(), {}, &encoded);
  std::string text;
  json::print(*type, *order.message(), {}, &text);
  // {"id":"18","items":[{"name":"pen"},{"name":"ink","price":2.5}],"notes":{"gift":"yes"}}

  EXPECT_TRUE(result.ok());
  EXPECT_EQ(text, R"({"id":"18","items":[{"name":"pen"},{"name":"ink","price":2.5}],"notes":{"gift":"yes"}})");
  std::string lines;
  walk(order, 0, &lines);
  EXPECT_EQ(lines,
            "id = 18\nitems\n name = pen\nitems\n name = ink\n price = 2.500000\nnotes\n key = gift\n value = yes\n");
}

TEST(DynamicGuide, ShowsWhatIsCompiled) {
  drover::testing::expect_examples("docs/dynamic.md", "json/guide/dynamic_guide_test.cc");
}

}  // namespace
