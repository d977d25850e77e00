#include <gtest/gtest.h>

#include "json/json_testing.h"

namespace drover::json {
namespace {

using testing::Object;
using testing::through;

TEST(JsonExtension, AreFieldsWithTheirNamesInBrackets) {
  const std::string text =
      R"({"anInt32":1,"[jt2.number]":5,"[jt2.texts]":["a","b"],"[jt2.closed_ext]":"SECOND",)"
      R"("[jt2.Scope.inside]":{"aMapping":{"[jt2.number]":0},"[jt2.number]":6},"[jt2.Scope.grouped]":[{"c":1},{}]})";
  EXPECT_EQ(through("jt2.Mapping", text), text);
  jt2::Mapping peer;
  Object object("jt2.Mapping");
  ASSERT_TRUE(object.parse(text).ok());
  ASSERT_TRUE(peer.ParseFromString(object.encode()));
  EXPECT_EQ(peer.GetExtension(jt2::number), 5);
  EXPECT_EQ(peer.GetExtension(jt2::texts, 1), "b");
  EXPECT_EQ(peer.GetExtension(jt2::closed_ext), jt2::SECOND);
  EXPECT_EQ(peer.GetExtension(jt2::Scope::inside).GetExtension(jt2::number), 6);
  EXPECT_EQ(peer.GetExtension(jt2::Scope::grouped, 0).c(), 1);
  peer.SetExtension(jt2::number, 7);
  Object changed("jt2.Mapping");
  ASSERT_TRUE(changed.decode(peer.SerializeAsString()).ok());
  EXPECT_NE(changed.print().find(R"("[jt2.number]":7)"), std::string::npos);
}

TEST(JsonExtension, OfMessageSetsAreItsItems) {
  const std::string text = R"({"[jt2.Scope.item]":{"a":3}})";
  EXPECT_EQ(through("jt2.MessageSet", text), text);
  Object object("jt2.MessageSet");
  ASSERT_TRUE(object.parse(text).ok());
  jt2::MessageSet peer;
  ASSERT_TRUE(peer.ParseFromString(object.encode()));
  EXPECT_EQ(peer.GetExtension(jt2::Scope::item).a(), 3);
}

TEST(JsonExtension, KeepTheRulesOfFields) {
  EXPECT_EQ(through("jt2.Mapping", R"({"[jt2.number]":null,"[jt2.number]":1})"), R"({"[jt2.number]":1})");
  EXPECT_EQ(through("jt2.Mapping", R"({"[jt2.number]":1,"[jt2.number]":1})"),
            "duplicate field at 1:19, in [jt2.number]: expected each extension once");
  EXPECT_EQ(through("jt2.Mapping", R"({"aMapping":{"[jt2.number]":"x"}})"),
            "wrong type at 1:29, in aMapping.[jt2.number]: expected a number");
  EXPECT_EQ(through("jt2.Mapping", R"({"[jt2.nothing]":1})"),
            "unknown field at 1:2, in [jt2.nothing]: expected a field of jt2.Mapping");
  EXPECT_EQ(through("jt2.Mapping", R"({"[jt2.Scope.item]":{}})"),
            "unknown field at 1:2, in [jt2.Scope.item]: expected a field of jt2.Mapping");
  EXPECT_EQ(through("jt2.Mapping", R"({"jt2.number":1})"),
            "unknown field at 1:2, in jt2.number: expected a field of jt2.Mapping");
  EXPECT_EQ(through("jt2.Mapping", R"({"[jt2.nothing]":1,"[jt2.number]":2})", {.ignore_unknown = true}),
            R"({"[jt2.number]":2})");
  EXPECT_EQ(through("jt2.Needy", R"({"[jt2.number]":1})"),
            "unknown field at 1:2, in [jt2.number]: expected a field of jt2.Needy");
}

TEST(JsonExtension, AddToWhatTheMessageHas) {
  Object object("jt2.Mapping");
  ASSERT_TRUE(object.parse(R"({"[jt2.number]":1,"[jt2.texts]":["a"]})").ok());
  ASSERT_TRUE(object.parse(R"({"[jt2.number]":2,"[jt2.texts]":["b"]})").ok());
  EXPECT_EQ(object.print(), R"({"[jt2.number]":2,"[jt2.texts]":["a","b"]})");
}

TEST(JsonExtension, AreLimitedInTheirNesting) {
  std::string text = "{}";
  for (int i = 0; i < 101; ++i) text = "{\"[jt2.Scope.inside]\":" + text + "}";
  Object object("jt2.Mapping");
  EXPECT_EQ(object.parse(text).error, Error::kDepthLimit);
  Object deeper("jt2.Mapping");
  ASSERT_EQ(to_string(deeper.parse(text, {.depth_limit = 102})), "ok");
  std::string out;
  EXPECT_EQ(print(deeper.type(), *deeper.get(), {.depth_limit = 50}, &out).error, Error::kDepthLimit);
}

TEST(Any, HoldsNoMapEntriesAndNoExtensions) {
  EXPECT_EQ(Object("jt.Mapping").parse(R"({"any":{"@type":"a/jt.Mapping.StringToInt32Entry"}})").error,
            Error::kUnknownType);
  EXPECT_EQ(Object("jt.Mapping").parse(R"({"any":{"@type":"a/[jt2.Mapping:100]"}})").error, Error::kUnknownType);
}

}  // namespace
}  // namespace drover::json
