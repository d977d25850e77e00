// The spelling rules, and the options.
#include "compiler/names.h"

#include <gtest/gtest.h>

namespace drover::compiler {
namespace {

TEST(Names, CamelCaseCapitalizesBehindUnderscoresAndDigits) {
  EXPECT_EQ(camel_case("foo_bar"), "FooBar");
  EXPECT_EQ(camel_case("foo2bar_3x"), "Foo2Bar3X");
  EXPECT_EQ(camel_case("FooBar"), "FooBar");
  EXPECT_EQ(camel_case("x_"), "X");
}

TEST(Names, KeywordsGetAnUnderscore) {
  EXPECT_EQ(resolve_keyword("class"), "class_");
  EXPECT_EQ(resolve_keyword("co_await"), "co_await_");
  EXPECT_EQ(resolve_keyword("klass"), "klass");
}

TEST(Names, LiteralsSurviveEveryByte) {
  EXPECT_EQ(literal("a\"b\\c?"), "\"a\\042b\\134c\\077\"");
  EXPECT_EQ(literal(std::string("\0001\377", 3)), "\"\\0001\\377\"");
}

TEST(Options, AreParsed) {
  Options options;
  EXPECT_EQ(parse_options("namespace_prefix=X::Y,include_prefix=dir", &options), "");
  EXPECT_EQ(options.namespace_prefix, "X::Y");
  EXPECT_EQ(options.include_prefix, "dir/");
  EXPECT_EQ(parse_options("", &options), "");
}

TEST(Options, UnknownOnesAreNamed) {
  Options options;
  EXPECT_NE(parse_options("speed=11", &options).find("'speed=11'"), std::string::npos);
  EXPECT_NE(parse_options("namespace_prefix=", &options).find("namespace_prefix"), std::string::npos);
}

}  // namespace
}  // namespace drover::compiler
