#include "engine/base/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

namespace drover::engine {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string logged(const char* level, const char* format, const std::function<void()>& act) {
  std::string path = testing::TempDir() + "/drover_log_" + std::to_string(getpid());
  ::unlink(path.c_str());
  EXPECT_EQ(log::open({level, format, path}), "");
  act();
  log::flush();
  EXPECT_EQ(log::open({}), "");
  std::stringstream content;
  content << std::ifstream(path).rdbuf();
  ::unlink(path.c_str());
  return content.str();
}

TEST(Log, TextLinesCarryFieldsAndQuoteWhatNeedsIt) {
  std::string text = logged("info", "text", [] {
    log::info("connection ended", {{"peer", "ipv4:1.2.3.4:5"}, {"why", "a \"b\"\n"}, {"n", 7}, {"ok", true}});
    log::debug("not this");
  });
  EXPECT_THAT(text, HasSubstr(" info connection ended peer=ipv4:1.2.3.4:5 why=\"a \\\"b\\\"\\n\" n=7 ok=true\n"));
  EXPECT_THAT(text, Not(HasSubstr("not this")));
}

TEST(Log, JsonLinesAreOneObjectEach) {
  std::string text = logged("debug", "json", [] { log::debug("event", {{"k", "v\x01\xff"}, {"n", -3}}); });
  EXPECT_THAT(text, HasSubstr("\"level\":\"debug\",\"event\":\"event\",\"k\":\"v\\u0001\\u00ff\",\"n\":-3}\n"));
}

TEST(Log, AFloodIsCutAndCounted) {
  log::Limit limit(3);
  std::string text = logged("info", "text", [&] {
    for (int i = 0; i < 100; ++i) log::warn(limit, "flood", {{"i", i}});
  });
  EXPECT_THAT(text, HasSubstr("flood i=2\n"));
  EXPECT_THAT(text, Not(HasSubstr("flood i=3\n")));
}

TEST(Log, WrongOptionsNameTheKey) {
  EXPECT_THAT(log::open({"loud", "text", ""}), HasSubstr("log.level"));
  EXPECT_THAT(log::open({"info", "xml", ""}), HasSubstr("log.format"));
  EXPECT_THAT(log::open({"info", "text", "/proc/no/such/file"}), HasSubstr("log.file"));
}

TEST(Log, AFileInADirectoryThatDoesNotExistIsAnErrorAndMakesNoDirectory) {
  std::string directory = testing::TempDir() + "/drover_no_such_directory_" + std::to_string(getpid());
  EXPECT_EQ(log::open({"info", "text", directory + "/log"}),
            "log.file: cannot append to '" + directory + "/log': No such file or directory");
  EXPECT_NE(::access(directory.c_str(), F_OK), 0);
}

}  // namespace
}  // namespace drover::engine
