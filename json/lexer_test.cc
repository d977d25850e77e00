#include "json/lexer.h"

#include <gtest/gtest.h>

namespace drover::json {
namespace {

struct Reader {
  explicit Reader(std::string_view text) : lexer(text, &path) {}
  Path path;
  Lexer lexer;
};

// The string's content, or the error and where it is.
std::string string_of(const std::string& text) {
  Reader reader(text);
  std::string_view content;
  if (reader.lexer.string(&content)) return std::string(content);
  return std::string(error_name(reader.lexer.error())) + " @" + std::to_string(reader.lexer.error_offset());
}

TEST(Lexer, ReadsStringsWithTheirEscapes) {
  EXPECT_EQ(string_of(R"("")"), "");
  EXPECT_EQ(string_of(R"("plain and longer than a word")"), "plain and longer than a word");
  EXPECT_EQ(string_of(R"("\"\\\/\b\f\n\r\t")"), "\"\\/\b\f\n\r\t");
  EXPECT_EQ(string_of(R"("\u0041\u00e4\u20ac")"), "A\xc3\xa4\xe2\x82\xac");
  EXPECT_EQ(string_of(R"("\uD83D\ude00")"), "\xf0\x9f\x98\x80");
  EXPECT_EQ(string_of("\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\""), "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80");
  EXPECT_EQ(string_of(R"("a\u0000b")"), std::string("a\0b", 3));
}

TEST(Lexer, RefusesWhatIsNoString) {
  EXPECT_EQ(string_of("\"open"), "syntax error @0");
  EXPECT_EQ(string_of("\"open\\"), "syntax error @5");
  EXPECT_EQ(string_of("\"a\nb\""), "syntax error @2");
  EXPECT_EQ(string_of(R"("\x41")"), "syntax error @1");
  EXPECT_EQ(string_of(R"("\u12")"), "syntax error @1");
  EXPECT_EQ(string_of(R"("\u12g4")"), "syntax error @1");
  EXPECT_EQ(string_of("'single'"), "syntax error @0");
}

TEST(Lexer, RefusesWhatIsNoUtf8) {
  EXPECT_EQ(string_of("\"\xff\""), "bad UTF-8 @0");
  EXPECT_EQ(string_of("\"a long enough prefix \xc3\""), "bad UTF-8 @0");
  EXPECT_EQ(string_of("\"\xc3\\n\xa4\""), "bad UTF-8 @0");
  EXPECT_EQ(string_of(R"("\ud83d")"), "bad UTF-8 @1");
  EXPECT_EQ(string_of(R"("\ud83dx")"), "bad UTF-8 @1");
  EXPECT_EQ(string_of(R"("\ud83d\u0041")"), "bad UTF-8 @1");
  EXPECT_EQ(string_of(R"("\ude00\ud83d")"), "bad UTF-8 @1");
}

TEST(Lexer, FindsTheStopInAnyByteOfAWord) {
  for (size_t at = 0; at < 20; ++at) {
    std::string text(20, 'x');
    text[at] = '\x1f';
    EXPECT_EQ(string_of('"' + text + '"'), "syntax error @" + std::to_string(at + 1));
    text[at] = '"';
    EXPECT_EQ(string_of('"' + text), text.substr(0, at));
  }
}

TEST(Lexer, KnowsNumbersByJsonsGrammar) {
  for (const char* good : {"0", "-0", "12", "-1.5", "1e5", "1E+5", "1.25e-10", "0.0"})
    EXPECT_TRUE(is_number(good)) << good;
  for (const char* bad : {"", "-", "+1", "01", "1.", ".5", "1e", "1e+", "0x1", " 1", "1 ", "--1", "NaN", "1_0"}) {
    EXPECT_FALSE(is_number(bad)) << bad;
  }
}

bool skips(const std::string& text, int depth = 10) {
  Reader reader(text);
  return reader.lexer.skip_value(depth) && reader.lexer.at_end();
}

TEST(Lexer, SkipsAnyValueAndOnlyValues) {
  for (const char* good : {"1", "\"a\"", "true", "null", "[]", "{}", "[1, [2, {}], {\"a\": [], \"b\": false}]",
                           " { \"a\" : { \"b\" : [ ] } } "}) {
    EXPECT_TRUE(skips(good)) << good;
  }
  for (const char* bad : {"", "]", "[1,]", "[1 2]", "[1", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{1:2}", "{\"a\":1]",
                          "tru", "truex", "1 2", "[}", "{,}"}) {
    EXPECT_FALSE(skips(bad)) << bad;
  }
  EXPECT_TRUE(skips("[[[]]]", 3));
  EXPECT_FALSE(skips("[[[]]]", 2));
}

TEST(Lexer, NotesTypeKeysOfTheObjectsItSkips) {
  const std::string text = R"({"a":{"b":1,"@type":"x"},"c":[{"@type":"y"}],"@type":"z"})";
  Reader reader(text);
  std::vector<Lexer::TypeKey> types;
  ASSERT_TRUE(reader.lexer.skip_value(10, &types));
  ASSERT_EQ(types.size(), 3u);
  EXPECT_EQ(types[0].object, text.find("{\"b\""));
  EXPECT_EQ(text.substr(types[0].value, 3), "\"x\"");
  EXPECT_EQ(types[2].object, 0u);
  EXPECT_EQ(text.substr(types[2].value, 3), "\"z\"");
}

}  // namespace
}  // namespace drover::json
