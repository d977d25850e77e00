#include "cli/file_io.h"

#include <gtest/gtest.h>

namespace drover::cli {
namespace {

TEST(Base64, BytesComeBack) {
  const std::pair<std::string, std::string> cases[] = {
      {"", ""}, {"f", "Zg=="}, {"fo", "Zm8="}, {"foo", "Zm9v"}, {"foobar", "Zm9vYmFy"}, {"\xff\xfe\xfd", "//79"}};
  for (const auto& [bytes, text] : cases) {
    EXPECT_EQ(to_base64(bytes), text);
    std::string back;
    EXPECT_TRUE(from_base64(text, &back));
    EXPECT_EQ(back, bytes);
  }
}

TEST(Base64, PaddingMayBeAbsentAndOtherCharactersAreRefused) {
  std::string bytes;
  EXPECT_TRUE(from_base64("Zm8", &bytes));
  EXPECT_EQ(bytes, "fo");
  for (const char* wrong : {"Z", "Zm9vY", "Zm-v", "Z m8", "Zg==="}) EXPECT_FALSE(from_base64(wrong, &bytes)) << wrong;
}

}  // namespace
}  // namespace drover::cli
