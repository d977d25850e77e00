#include "engine/base/file_appender.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <csignal>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "engine/base/clock.h"
#include "object/unique_fd.h"

namespace drover::engine {
namespace {

namespace fs = std::filesystem;

class FileAppenderTest : public testing::Test {
 protected:
  FileAppenderTest() {
    std::string place = testing::TempDir() + "/drover_appender_XXXXXX";
    directory_ = ::mkdtemp(place.data());
    path_ = directory_ + "/log";
  }
  ~FileAppenderTest() override { fs::remove_all(directory_); }

  static std::string content(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }
  size_t files() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(directory_), fs::directory_iterator()));
  }

  std::string directory_, path_;
};

TEST_F(FileAppenderTest, WritesAtTheEndOfWhatIsThere) {
  std::ofstream(path_) << "before ";
  FileAppender appender(path_, 0600);
  EXPECT_EQ(appender.append("one "), "");
  EXPECT_EQ(appender.append("two"), "");
  EXPECT_EQ(content(path_), "before one two");
}

TEST_F(FileAppenderTest, GivesNewFilesItsMode) {
  FileAppender appender(path_, 0600);
  EXPECT_EQ(appender.append("x"), "");
  struct stat status;
  ASSERT_EQ(::stat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

TEST_F(FileAppenderTest, GoesOnInANewFileWhenTheFileIsMovedAway) {
  FileAppender appender(path_, 0600);
  EXPECT_EQ(appender.append("one"), "");
  fs::rename(path_, path_ + ".away");
  EXPECT_EQ(appender.append("two"), "");
  EXPECT_EQ(content(path_), "two");
  EXPECT_EQ(content(path_ + ".away"), "one");
}

TEST_F(FileAppenderTest, KeepsAsManyOldFilesAsItIsTold) {
  FileAppender appender(path_, 0600, {8, 2, false});
  for (const char* text : {"aaaa", "bbbb", "cccc", "dddd", "eeee", "ffff", "gggg"})
    EXPECT_EQ(appender.append(text), "");
  EXPECT_EQ(content(path_), "gggg");
  EXPECT_EQ(content(path_ + ".1"), "eeeeffff");
  EXPECT_EQ(content(path_ + ".2"), "ccccdddd");
  EXPECT_EQ(files(), 3u);
}

TEST_F(FileAppenderTest, WithoutOldFilesAFullOneGoes) {
  FileAppender appender(path_, 0600, {4, 0, false});
  for (const char* text : {"aaaa", "bb", "bb", "c"}) EXPECT_EQ(appender.append(text), "");
  EXPECT_EQ(content(path_), "c");
  EXPECT_EQ(files(), 1u);
}

TEST_F(FileAppenderTest, OldFilesOfATimeWhenMoreWereKeptAreRemoved) {
  for (const char* end : {"", ".1", ".2", ".3", ".4", ".6"}) std::ofstream(path_ + end) << "old" << end;
  FileAppender appender(path_, 0600, {8, 2, false});
  EXPECT_EQ(appender.append("aaaa"), "");
  EXPECT_EQ(files(), 6u) << "nothing is rotated yet";
  EXPECT_EQ(appender.append("bbbb"), "");
  EXPECT_EQ(content(path_), "bbbb");
  EXPECT_EQ(content(path_ + ".1"), "oldaaaa");
  EXPECT_EQ(content(path_ + ".2"), "old.1");
  EXPECT_FALSE(fs::exists(path_ + ".3") || fs::exists(path_ + ".4"));
  EXPECT_TRUE(fs::exists(path_ + ".6")) << "not of the row";
}

TEST_F(FileAppenderTest, AFileThatCannotBeMovedAwayGrows) {
  fs::create_directories(path_ + ".1/x");
  FileAppender appender(path_, 0600, {4, 1, false});
  for (const char* text : {"aaaa", "bbbb", "cccc"}) EXPECT_EQ(appender.append(text), "");
  EXPECT_EQ(content(path_), "aaaabbbbcccc");
  fs::remove_all(path_ + ".1");
  EXPECT_EQ(appender.append("dddd"), "");
  EXPECT_EQ(content(path_ + ".1"), "aaaabbbbcccc");
  EXPECT_EQ(content(path_), "dddd");
}

TEST_F(FileAppenderTest, NothingIsWrittenBehindAnEndThatMayBeCutShort) {
  fs::create_directories(path_ + ".1/x");
  std::ofstream(path_) << "of before";
  FileAppender appender(path_, 0600, {1000, 1, true});
  EXPECT_EQ(appender.append("one"), path_ + ": Is a directory");
  EXPECT_EQ(content(path_), "of before");
}

TEST_F(FileAppenderTest, OneWriteIsNeverSplit) {
  FileAppender appender(path_, 0600, {4, 1, false});
  EXPECT_EQ(appender.append("aaaaaaaaaa"), "");
  EXPECT_EQ(appender.append("b"), "");
  EXPECT_EQ(content(path_ + ".1"), "aaaaaaaaaa");
  EXPECT_EQ(content(path_), "b");
}

TEST_F(FileAppenderTest, StartsAnewIfItIsTold) {
  std::ofstream(path_) << "of before";
  FileAppender appender(path_, 0600, {1000, 3, true});
  EXPECT_EQ(appender.append("one"), "");
  EXPECT_EQ(appender.append("two"), "");
  EXPECT_EQ(content(path_), "onetwo");
  EXPECT_EQ(content(path_ + ".1"), "of before");
}

// The limit of a file's size cuts a write short, as a full disk does.
TEST_F(FileAppenderTest, AWriteThatWasCutShortEndsItsFile) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    rlimit limit{6, RLIM_INFINITY};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    FileAppender appender(path_, 0600, {1000, 1, false});
    const bool cut = appender.append("aaaa").empty() && !appender.append("bbbb").empty();
    const bool after = appender.append("cc").empty();
    ::_exit(cut && after ? 0 : 1);
  }
  int status = 1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(content(path_ + ".1"), "aaaabb");
  EXPECT_EQ(content(path_), "cc");
}

TEST_F(FileAppenderTest, SaysWhatIsWrong) {
  EXPECT_EQ(FileAppender("/nowhere/log", 0600).append("x"), "/nowhere/log: No such file or directory");
  fs::create_directory(path_);
  EXPECT_EQ(FileAppender(path_, 0600).append("x"), path_ + ": Is a directory");
}

TEST_F(FileAppenderTest, AFifoWithoutAReaderHoldsNothingUp) {
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  EXPECT_NE(FileAppender(path_, 0600, {1, 1, true}).append("x"), "");
}

TEST_F(FileAppenderTest, AFifoThatIsReadHasAllOfAWrite) {
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  const UniqueFd reader(::open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  const std::string all(1 << 20, 'x');  // more than a FIFO holds
  std::string wrong = "it did not end";
  std::thread writing([&] { wrong = FileAppender(path_, 0600).append(all); });
  size_t got = 0;
  char some[4096];
  for (const int64_t end_ns = monotonic_ns() + 10'000'000'000; got < all.size() && monotonic_ns() < end_ns;) {
    const ssize_t n = ::read(reader.get(), some, sizeof some);
    if (n > 0) got += static_cast<size_t>(n);
  }
  writing.join();
  EXPECT_EQ(wrong, "");
  EXPECT_EQ(got, all.size());
}

TEST_F(FileAppenderTest, AFifoThatNobodyReadsIsWaitedForOnce) {
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  const UniqueFd reader(::open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  FileAppender appender(path_, 0600);
  const int64_t begin_ns = monotonic_ns();
  EXPECT_EQ(appender.append(std::string(1 << 20, 'x')), path_ + ": Resource temporarily unavailable");
  const int64_t once_ns = monotonic_ns() - begin_ns;
  EXPECT_GE(once_ns, 900'000'000);
  for (int i = 0; i < 20; ++i) EXPECT_NE(appender.append("x"), "");
  EXPECT_LT(monotonic_ns() - begin_ns, once_ns + 5'000'000'000);
  std::string some(1 << 20, '\0');
  EXPECT_GT(::read(reader.get(), some.data(), some.size()), 0);
  EXPECT_EQ(appender.append("x"), "");
}

}  // namespace
}  // namespace drover::engine
