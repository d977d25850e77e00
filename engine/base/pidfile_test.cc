#include "engine/base/pidfile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace drover::engine {
namespace {

class PidfileTest : public testing::Test {
 protected:
  PidfileTest() {
    char name[] = "/tmp/pidfile.XXXXXX";
    directory = ::mkdtemp(name);
    path = directory + "/pid";
  }
  ~PidfileTest() override { std::filesystem::remove_all(directory); }
  std::string content() const {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  std::string directory, path, error;
};

TEST_F(PidfileTest, HoldsTheProcessIdAsLongAsItIsThere) {
  {
    Pidfile file;
    ASSERT_TRUE(file.write(path, &error)) << error;
    EXPECT_EQ(content(), std::to_string(::getpid()) + "\n");
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(PidfileTest, ASecondOneFailsAndLeavesTheFirstAlone) {
  Pidfile first;
  ASSERT_TRUE(first.write(path, &error)) << error;
  {
    Pidfile second;
    EXPECT_FALSE(second.write(path, &error));
    EXPECT_THAT(error, testing::HasSubstr("process " + std::to_string(::getpid()) + " has it"));
  }
  EXPECT_EQ(content(), std::to_string(::getpid()) + "\n");
}

TEST_F(PidfileTest, TakesTheFileOfAProcessThatWasKilled) {
  std::ofstream(path) << "4711\n";
  Pidfile file;
  ASSERT_TRUE(file.write(path, &error)) << error;
  EXPECT_EQ(content(), std::to_string(::getpid()) + "\n");
}

TEST_F(PidfileTest, AFileThatIsNoPidfileStays) {
  for (const char* text : {"precious", "4711 and more", "123456789012345678901234567890"}) {
    std::ofstream(path) << text;
    Pidfile file;
    EXPECT_FALSE(file.write(path, &error));
    EXPECT_THAT(error, testing::HasSubstr("holds something else than a process id"));
    file.remove();
    EXPECT_EQ(content(), text);
  }
}

TEST_F(PidfileTest, LinksAndDirectoriesAreRefused) {
  std::ofstream(directory + "/other") << "4711\n";
  std::filesystem::create_symlink(directory + "/other", path);
  Pidfile file;
  EXPECT_FALSE(file.write(path, &error));
  EXPECT_TRUE(std::filesystem::is_symlink(path));
  EXPECT_FALSE(file.write(directory, &error));
  EXPECT_FALSE(file.write(directory + "/no/pid", &error));
  EXPECT_THAT(error, testing::HasSubstr("No such file"));
}

TEST_F(PidfileTest, WhatTookItsPlaceIsNotRemovedWithIt) {
  Pidfile file;
  ASSERT_TRUE(file.write(path, &error)) << error;
  std::filesystem::remove(path);
  std::ofstream(path) << "another's";
  file.remove();
  EXPECT_EQ(content(), "another's");
}

}  // namespace
}  // namespace drover::engine
