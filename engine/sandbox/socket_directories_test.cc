#include "engine/sandbox/socket_directories.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "engine/sandbox/privileges.h"

namespace drover::engine::sandbox {
namespace {

using testing::HasSubstr;

class SocketDirectoriesTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/drover-directories-XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    folder_ = name;
    std::filesystem::create_directories(folder_ / "run/shop/below");
    std::filesystem::create_directory(folder_ / "other");
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string at(const char* name) const { return (folder_ / name).string(); }

  std::filesystem::path folder_;
};

TEST_F(SocketDirectoriesTest, WhereNoRuleIsTheAllowedOnesAreNamed) {
  const SocketDirectories directories({at("run/shop"), at("run")}, true);
  EXPECT_EQ(directories.why_refused(at("other/x.sock")),
            "; the sandbox allows Unix sockets in " + at("run/shop") + ", " + at("run") + " (engine.unix_directories)");
  EXPECT_EQ(directories.why_refused(at("running.sock")).find("; the sandbox allows"), 0u);
  EXPECT_EQ(SocketDirectories({at("run")}, false).why_refused(at("other/x.sock")), "") << "nothing is limited";
  EXPECT_EQ(SocketDirectories().why_refused(at("other/x.sock")), "");
}

TEST_F(SocketDirectoriesTest, BelowARuleThereIsNothingToSay) {
  const SocketDirectories directories({at("run/shop/")}, true);
  EXPECT_EQ(directories.why_refused(at("run/shop/x.sock")), "");
  EXPECT_EQ(directories.why_refused(at("run/shop/below/x.sock")), "");
  std::filesystem::create_directory_symlink(at("run/shop"), at("link"));
  EXPECT_EQ(directories.why_refused(at("link/x.sock")), "") << "by what is there, not by names";
}

TEST_F(SocketDirectoriesTest, ADirectoryThatWasMadeAnewIsNamedWithTheWayOut) {
  const SocketDirectories directories({at("run/shop")}, true);
  std::filesystem::rename(at("run/shop"), at("old"));  // keeps the inode's number from being used again
  std::filesystem::create_directories(at("run/shop/below"));
  for (const char* path : {"run/shop/x.sock", "run//shop/below/x.sock"}) {
    const std::string why = directories.why_refused(at(path));
    EXPECT_THAT(why, HasSubstr(at("run/shop") + " was removed and made anew since the engine started"));
    EXPECT_THAT(why, HasSubstr("restart the engine"));
    EXPECT_THAT(why, HasSubstr("RuntimeDirectoryPreserve=yes"));
    EXPECT_THAT(why, HasSubstr("engine.unix_directories"));
  }
  EXPECT_EQ(SocketDirectories({at("run")}, true).why_refused(at("run/shop/x.sock")), "") << "a rule above goes on";
}

TEST_F(SocketDirectoriesTest, ADirectoryThatCameLaterIsNamedWithTheWayOut) {
  const SocketDirectories directories({at("later")}, true);
  std::filesystem::create_directory(at("later"));
  EXPECT_THAT(directories.why_refused(at("later/x.sock")),
              HasSubstr(at("later") + " was not there when the engine started"));
}

// What root without CAP_DAC_OVERRIDE is told, and another user.
TEST_F(SocketDirectoriesTest, ADirectoryThatIsClosedToTheEnginesUserIsNamedWithItsOwner) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to give a directory away";
  ASSERT_EQ(::chown(at("other").c_str(), 65534, 65534), 0);
  std::filesystem::permissions(at("other"), std::filesystem::perms::owner_all);
  std::filesystem::permissions(folder_, std::filesystem::perms::owner_all | std::filesystem::perms::others_exec);
  const std::string closed = at("other") + " is closed to user ";
  auto told_to = [&](uid_t user, uint64_t keep) {
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    if (::fork() == 0) {
      std::string error;
      const bool became = user == 0 ? limit_capabilities(keep, &error) : become({user, user, ""}, keep, &error);
      const SocketDirectories directories({at("other")}, true);
      std::string why = became ? directories.why_refused(at("other/x.sock")) : error;
      if (directories.closed().size() != (why.empty() ? 0u : 1u)) why += " closed() differs";
      ::_exit(::write(ends[1], why.data(), why.size()) == static_cast<ssize_t>(why.size()) ? 0 : 1);
    }
    ::close(ends[1]);
    std::string text(4096, '\0');
    const ssize_t n = ::read(ends[0], text.data(), text.size());
    ::close(ends[0]);
    ::wait(nullptr);
    return text.substr(0, static_cast<size_t>(std::max<ssize_t>(n, 0)));
  };
  EXPECT_EQ(told_to(0, 0),
            "; " + closed +
                "0: it is user 65534's, mode 0700. The engine is root without CAP_DAC_OVERRIDE, which it "
                "keeps only where hosts.allow names users: set hosts.allow, or run the engine as that user "
                "(engine.user)");
  EXPECT_EQ(told_to(1001, 0), "; " + closed + "1001: it is user 65534's, mode 0700");
  EXPECT_EQ(told_to(0, uint64_t{1} << CAP_DAC_OVERRIDE), "");
  EXPECT_EQ(told_to(65534, 0), "");
}

}  // namespace
}  // namespace drover::engine::sandbox
