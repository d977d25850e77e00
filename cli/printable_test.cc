#include "cli/printable.h"

#include <gtest/gtest.h>

#include <string>

namespace drover::cli {
namespace {

TEST(Printable, WhatATerminalWouldActOnIsShownAsBytes) {
  EXPECT_EQ(printable("plain, \\ ä \u20ac \U0001f600\n\tand on"), "plain, \\ ä \u20ac \U0001f600\n\tand on");
  EXPECT_EQ(printable("\x1b[2J\r\b\x7f"), "\\x1b[2J\\x0d\\x08\\x7f");
  EXPECT_EQ(printable(std::string(1, '\0')), "\\x00");
  EXPECT_EQ(printable("\u0080\u009b1m\u00a0"), "\\xc2\\x80\\xc2\\x9b1m\u00a0") << "C1, but not the space behind it";
}

TEST(Printable, WhatIsNotUtf8IsShownAsBytes) {
  EXPECT_EQ(printable("a\x9b\x31"), "a\\x9b1");
  EXPECT_EQ(printable("\xc3"), "\\xc3") << "cut off";
  EXPECT_EQ(printable("\xc3("), "\\xc3(") << "what follows is kept";
  EXPECT_EQ(printable("\xc0\x9b\xed\xa0\x80\xff"), "\\xc0\\x9b\\xed\\xa0\\x80\\xff");
}

TEST(Printable, JsonStaysJson) {
  EXPECT_EQ(printable_json("{\"a\":\"\u20ac\\n\"}"), "{\"a\":\"\u20ac\\n\"}");
  EXPECT_EQ(printable_json("\"\x1b[2J\n\x7f\u0080\u009f\u00a0\""), "\"\\u001b[2J\\u000a\\u007f\\u0080\\u009f\u00a0\"");
  EXPECT_EQ(printable_json("\"a\x9b\""), "\"a\\ufffd\"");
}

TEST(Printable, ALineStaysOne) { EXPECT_EQ(printable_line("a\nb\tc\rd ä"), "a\\x0ab\\x09c\\x0dd ä"); }

}  // namespace
}  // namespace drover::cli
