#include "host/engine_process.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <thread>

namespace drover::host {
namespace {

// A shell script in the place of droverd.
std::string script(const std::string& name, const std::string& body) {
  std::string path = testing::TempDir() + name + std::to_string(::getpid());
  std::ofstream(path) << "#!/bin/sh\n" << body << "\n";
  ::chmod(path.c_str(), 0755);
  return path;
}

TEST(EngineProcess, AMissingExecutableIsAnErrorThatNamesIt) {
  HostOptions options;
  options.droverd = "/no/such/droverd";
  std::string error;
  EXPECT_FALSE(EngineProcess::start(options, "/tmp/x.sock", &error));
  EXPECT_NE(error.find("/no/such/droverd"), std::string::npos);
}

TEST(EngineProcess, GetsItsArgumentsAndAProcessGroupOfItsOwn) {
  std::string out = testing::TempDir() + "engine-args" + std::to_string(::getpid());
  HostOptions options;
  options.droverd = script("engine", "echo \"$@\" > " + out + "; exec sleep 60");
  options.config = "/etc/x.toml";
  options.engine_flags = {"--limits.max_request_bytes=5"};
  std::string error;
  auto engine = EngineProcess::start(options, "/tmp/x.sock", &error);
  ASSERT_TRUE(engine) << error;
  std::string line;
  for (int i = 0; i < 500 && line.empty(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    std::ifstream file(out);
    std::getline(file, line);
  }
  EXPECT_EQ(line, "--child=" + std::to_string(::getpid()) +
                      " --engine.control_socket=unix:/tmp/x.sock --config /etc/x.toml --limits.max_request_bytes=5");
  EXPECT_EQ(::getpgid(engine->pid()), engine->pid());
  std::string how;
  EXPECT_TRUE(engine->alive(&how));
  engine->end(0);
  EXPECT_FALSE(engine->alive(&how));
}

TEST(EngineProcess, SaysHowItEnded) {
  HostOptions options;
  options.droverd = script("failing", "exit 3");
  std::string error, how;
  auto engine = EngineProcess::start(options, "/tmp/x.sock", &error);
  ASSERT_TRUE(engine) << error;
  for (int i = 0; i < 500 && engine->alive(&how); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(how, "exit status 3");
}

TEST(ControlDirectory, IsThisUsersAlone) {
  ::setenv("XDG_RUNTIME_DIR", testing::TempDir().substr(0, testing::TempDir().size() - 1).c_str(), 1);
  std::string error;
  std::string directory = control_directory(&error);
  ASSERT_FALSE(directory.empty()) << error;
  struct stat info{};
  ASSERT_EQ(::stat(directory.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
  ::chmod(directory.c_str(), 0755);
  EXPECT_TRUE(control_directory(&error).empty());
  ::rmdir(directory.c_str());
  ::unsetenv("XDG_RUNTIME_DIR");
}

TEST(AddressLink, IsAFileNameForAnyAddress) {
  EXPECT_EQ(address_link("/d", "127.0.0.1:5"), "/d/at-127.0.0.1_585");
  EXPECT_EQ(address_link("/d", "unix:/a/b").find('/', 3), std::string::npos);
  EXPECT_NE(address_link("/d", "[::]:1"), address_link("/d", "[:]::1"));
}

}  // namespace
}  // namespace drover::host
