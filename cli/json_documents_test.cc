#include "cli/json_documents.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace drover::cli {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> cut(std::string_view text, size_t piece) {
  JsonDocuments documents;
  std::vector<std::string> all;
  std::string one;
  for (size_t at = 0; at < text.size(); at += piece) {
    documents.add(text.substr(at, piece));
    while (documents.next(&one)) all.push_back(one);
  }
  documents.end();
  while (documents.next(&one)) all.push_back(one);
  return all;
}

TEST(JsonDocuments, ValuesOneBehindTheOtherAreCutWhereverTheBytesAre) {
  const std::string text =
      " {\"a\": \"}\\\"{\"}\n{\"b\": [1, {\"c\": 2}]}{} [1,2]\t\"s \\\\\"\"t\" 12 true\r\nnull{\"d\":1}";
  for (size_t piece = 1; piece <= text.size(); ++piece) {
    EXPECT_THAT(cut(text, piece), ElementsAre("{\"a\": \"}\\\"{\"}", "{\"b\": [1, {\"c\": 2}]}", "{}", "[1,2]",
                                              "\"s \\\\\"", "\"t\"", "12", "true", "null", "{\"d\":1}"))
        << piece;
  }
}

TEST(JsonDocuments, BlanksAreNoValue) {
  EXPECT_THAT(cut("", 1), IsEmpty());
  EXPECT_THAT(cut(" \n\t\r\n", 2), IsEmpty());
}

TEST(JsonDocuments, WhatIsUnfinishedAtTheEndIsAValueForTheParserToRefuse) {
  EXPECT_THAT(cut("{} {\"a\": ", 3), ElementsAre("{}", "{\"a\": "));
  EXPECT_THAT(cut("}{}", 1), ElementsAre("}", "{}"));
}

TEST(JsonDocuments, AValueIsGivenAsSoonAsItIsWhole) {
  JsonDocuments documents;
  std::string one;
  documents.add("{\"a\": 1");
  EXPECT_FALSE(documents.next(&one));
  documents.add("}");
  EXPECT_TRUE(documents.next(&one));
  EXPECT_EQ(one, "{\"a\": 1}");
  EXPECT_FALSE(documents.next(&one));
}

TEST(JsonDocuments, MuchMayGoThrough) {
  JsonDocuments documents;
  std::string one;
  const std::string big = "{\"x\": \"" + std::string(100'000, 'y') + "\"}";
  for (int i = 0; i < 100; ++i) {
    documents.add(big + "\n");
    ASSERT_TRUE(documents.next(&one));
    EXPECT_EQ(one, big);
  }
}

}  // namespace
}  // namespace drover::cli
