#include "engine/binary_log/filter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

namespace drover::engine::binary_log {
namespace {

using testing::HasSubstr;
using testing::Optional;

// What is logged of the path; nullopt: nothing, or the filter is wrong.
std::optional<Limits> of(std::string_view text, std::string_view path) {
  Filter filter;
  EXPECT_EQ(Filter::parse(text, &filter), "") << text;
  const Limits* found = filter.find(path);
  return found == nullptr ? std::nullopt : std::optional(*found);
}

std::string error_of(std::string_view text) {
  Filter filter;
  return Filter::parse(text, &filter);
}

TEST(BinaryLogFilter, EmptyLogsNothing) {
  EXPECT_EQ(of("", "/a.B/C"), std::nullopt);
  Filter filter;
  EXPECT_TRUE(filter.empty());
}

// The examples of A16.
TEST(BinaryLogFilter, ReadsTheExamplesOfTheProposal) {
  EXPECT_THAT(of("*", "/a.B/C"), Optional(Limits{kAll, kAll}));
  EXPECT_THAT(of("*{h}", "/a.B/C"), Optional(Limits{kAll, 0}));
  EXPECT_THAT(of("*{m:256}", "/a.B/C"), Optional(Limits{0, 256}));
  EXPECT_THAT(of("Foo/*", "/Foo/Bar"), Optional(Limits{}));
  EXPECT_EQ(of("Foo/*", "/Fool/Bar"), std::nullopt);
  EXPECT_EQ(of("Foo/*", "/Foo"), std::nullopt) << "a path without a method";
  EXPECT_EQ(of("Foo/*,-Foo/Bar", "/Foo/Bar"), std::nullopt);
  EXPECT_THAT(of("Foo/*,-Foo/Bar", "/Foo/Baz"), Optional(Limits{}));
  EXPECT_THAT(of("Foo/*,Foo/Bar{m:256}", "/Foo/Bar"), Optional(Limits{0, 256}));
  EXPECT_THAT(of("Foo/*{h},Foo/Bar{m:256}", "/Foo/Baz"), Optional(Limits{kAll, 0}));
}

TEST(BinaryLogFilter, ReadsLimits) {
  EXPECT_THAT(of("*{h:1;m:2}", "/a/b"), Optional(Limits{1, 2}));
  EXPECT_THAT(of("*{h;m}", "/a/b"), Optional(Limits{kAll, kAll}));
  EXPECT_THAT(of("*{h:7}", "/a/b"), Optional(Limits{7, 0}));
  EXPECT_THAT(of("*{m}", "/a/b"), Optional(Limits{0, kAll}));
  EXPECT_THAT(of("*{h:0;m:18446744073709551615}", "/a/b"), Optional(Limits{0, kAll}));
}

TEST(BinaryLogFilter, TheMostExactPatternCountsInAnyOrder) {
  for (const char* text : {"*{h:1},p.S/*{h:2},p.S/M{h:3}", "p.S/M{h:3},p.S/*{h:2},*{h:1}"}) {
    EXPECT_EQ(of(text, "/p.S/M")->header, 3u);
    EXPECT_EQ(of(text, "/p.S/N")->header, 2u);
    EXPECT_EQ(of(text, "/p.T/M")->header, 1u);
    EXPECT_EQ(of(text, "no path")->header, 1u);
    EXPECT_EQ(of(text, "")->header, 1u);
  }
  EXPECT_THAT(of("*,-p.S/M", "/p.S/N"), Optional(Limits{}));
  EXPECT_EQ(of("*,-p.S/M", "/p.S/M"), std::nullopt);
}

TEST(BinaryLogFilter, WhatIsMalformedIsAnError) {
  for (const char* text :
       {",",       "*,",      ",*",      "a",       "a/",       "/b",     "/a/b",  "*/b",
        "-*",      "-a/*",    "-a/b{h}", "--a/b",   "a/b/*/c",  "*{",     "*{}",   "*}",
        "*{h:}",   "*{h:-1}", "*{h:x}",  "*{m;h}",  "*{h;m;h}", "*{h,m}", "*{h:1", "*{h:18446744073709551616}",
        "* ",      " *",      "a b/c",   "a/b{h}}", "a/b{x}",   "a/*b",   "a*/b",  "a/b\n",
        "a/b{h;}", "\xff/b"}) {
    EXPECT_THAT(error_of(text), HasSubstr("'")) << text;
  }
}

TEST(BinaryLogFilter, WhatIsThereTwiceIsAnError) {
  for (const char* text : {"*,*{h}", "a/*,a/*", "a/b,a/b{h}", "a/b,-a/b", "-a/b,-a/b"}) {
    EXPECT_THAT(error_of(text), HasSubstr("is there twice")) << text;
  }
}

TEST(BinaryLogFilter, AnErrorNamesThePattern) {
  EXPECT_THAT(error_of("*,a.B/C{m:1},a.B/*{x}"), HasSubstr("'a.B/*{x}' has wrong limits"));
  EXPECT_THAT(error_of("*,-a.B/*"), HasSubstr("'-a.B/*' is not a pattern; expected *,"));
}

}  // namespace
}  // namespace drover::engine::binary_log
