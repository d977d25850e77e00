#include "engine/auth/json.h"

#include <gtest/gtest.h>

#include <string>

#include "engine/auth/auth_testing.h"
#include "engine/auth/base64url.h"

namespace drover::engine::auth {
namespace {

constexpr JsonLimits kLimits{1024, 3, 10};

JsonError error_of(std::string_view text, const JsonLimits& limits = kLimits) {
  Json out;
  return parse_object(text, limits, &out);
}

TEST(Json, AnObjectIsReadWithAllKindsOfValues) {
  Json out;
  ASSERT_EQ(parse_object(R"( {"a":"x\u00e9","b":[1,-2.5,true,null],"c":{"d":1e3}} )", kLimits, &out), JsonError::kOk);
  EXPECT_EQ(out.find("a")->text, "x\xC3\xA9");
  const Json& list = *out.find("b");
  ASSERT_EQ(list.items.size(), 4u);
  EXPECT_EQ(list.items[0].text, "1");
  EXPECT_EQ(list.items[1].number, -2.5);
  EXPECT_TRUE(list.items[2].boolean);
  EXPECT_TRUE(list.items[3].is(Json::Kind::kNull));
  EXPECT_EQ(out.find("c")->find("d")->number, 1000);
  EXPECT_EQ(out.find("d"), nullptr);
}

TEST(Json, WhatIsNoObjectOrHasMoreBehindItIsMalformed) {
  for (std::string_view text : {"", "null", "[]", "\"x\"", "1", "{", "{}x", "{} {}", "{\"a\":1,}", "{'a':1}", "{\"a\"}",
                                "{\"a\":01}", "{\"a\":NaN}", "{\"a\":1e999}", "{\"a\":\"\x01\"}", "{\"a\":\"\\ud800\"}",
                                "{/**/}", "\xEF\xBB\xBF{}", "{\"a\":\"\xC0\xAF\"}"}) {
    EXPECT_EQ(error_of(text), JsonError::kMalformed) << text;
  }
}

TEST(Json, ANulEndsNothing) {
  EXPECT_EQ(error_of(std::string_view("{}\0{\"a\":1}", 9)), JsonError::kMalformed);
  EXPECT_EQ(error_of(std::string_view("{}\0", 3)), JsonError::kMalformed);
}

TEST(Json, ANameIsThereOnce) {
  EXPECT_EQ(error_of(R"({"a":1,"b":2,"a":1})"), JsonError::kDuplicate);
  EXPECT_EQ(error_of(R"({"a":1,"\u0061":2})"), JsonError::kDuplicate);
  EXPECT_EQ(error_of(R"({"a":{"b":1},"b":2})"), JsonError::kOk);
}

TEST(Json, DepthSizeAndCountAreBounded) {
  EXPECT_EQ(error_of(R"({"a":[[1]]})"), JsonError::kOk);
  EXPECT_EQ(error_of(R"({"a":[[[1]]]})"), JsonError::kTooLarge);
  EXPECT_EQ(error_of(R"({"a":[1,2,3,4,5,6,7,8]})"), JsonError::kOk);
  EXPECT_EQ(error_of(R"({"a":[1,2,3,4,5,6,7,8,9]})"), JsonError::kTooLarge);
  EXPECT_EQ(error_of("{" + std::string(1023, ' ') + "}"), JsonError::kTooLarge);
  std::string deep = "{\"a\":";
  for (int i = 0; i < 100'000; ++i) deep += '[';
  EXPECT_EQ(error_of(deep, {1 << 20, 8, 1 << 20}), JsonError::kTooLarge);
}

TEST(Base64Url, BytesHaveOneSpelling) {
  std::string out;
  for (std::string_view bytes : {"", "f", "fo", "foo", "\xff\xfe\xfd"}) {
    EXPECT_TRUE(decode_base64url(base64url(bytes), &out));
    EXPECT_EQ(out, bytes);
  }
  EXPECT_TRUE(decode_base64url("Zg", &out));
  for (std::string_view text : {"Zh", "Zg==", "Z", "Zg=", "Zm9v!", "Zm 9v", "+/+/", "Zm9_ ", "Zm1", "Zg\n", "Zm9vZ"}) {
    EXPECT_EQ(decode_base64url(text, &out), false) << text;
  }
}

}  // namespace
}  // namespace drover::engine::auth
