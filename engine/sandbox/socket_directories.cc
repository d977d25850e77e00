#include "engine/sandbox/socket_directories.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "engine/sandbox/privileges.h"

namespace drover::engine::sandbox {
namespace {

constexpr int kMostLevels = 128;  // of directories above a path

std::string normal(const std::string& path) {
  std::string text = std::filesystem::path(path).lexically_normal().string();
  if (text.size() > 1 && text.back() == '/') text.pop_back();
  return text;
}

std::string directory_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

bool is_below(const std::string& path, const std::string& above) {
  if (!path.starts_with(above)) return false;
  return path.size() == above.size() || above == "/" || path[above.size()] == '/';
}

// By its owner and mode, which Landlock has no part in; empty: this process may make files there.
std::string closed_to_us(const std::string& directory) {
  if (::faccessat(AT_FDCWD, directory.c_str(), W_OK | X_OK, AT_EACCESS) == 0 || errno != EACCES) return "";
  const uid_t user = ::geteuid();
  std::string text = directory + " is closed to user " + std::to_string(user);
  struct stat status;
  if (::stat(directory.c_str(), &status) == 0) {
    char mode[8];
    std::snprintf(mode, sizeof mode, "%04o", static_cast<unsigned>(status.st_mode & 07777));
    text += ": it is user " + std::to_string(status.st_uid) + "'s, mode " + mode;
  }
  if (user != 0 || (capabilities() >> CAP_DAC_OVERRIDE & 1) != 0) return text;
  return text +
         ". The engine is root without CAP_DAC_OVERRIDE, which it keeps only where hosts.allow names users: set "
         "hosts.allow, or run the engine as that user (engine.user)";
}

}  // namespace

SocketDirectories::SocketDirectories(const std::vector<std::string>& paths, bool limited) : limited_(limited) {
  for (const std::string& path : paths) {
    Directory one{.path = normal(path)};
    struct stat status;
    one.there = ::stat(path.c_str(), &status) == 0;
    if (one.there) one.device = status.st_dev, one.inode = status.st_ino;
    directories_.push_back(std::move(one));
  }
}

// As Landlock looks for it: upwards from the directory, by what is there and not by names.
bool SocketDirectories::has_rule(const std::string& directory) const {
  std::string at = directory;
  struct stat last{}, status;
  for (int level = 0; level < kMostLevels && ::stat(at.c_str(), &status) == 0; ++level) {
    for (const Directory& one : directories_) {
      if (one.there && one.device == status.st_dev && one.inode == status.st_ino) return true;
    }
    if (level != 0 && last.st_dev == status.st_dev && last.st_ino == status.st_ino) return false;  // the root
    last = status;
    at += "/..";
  }
  return false;
}

std::string SocketDirectories::why_refused(const std::string& path) const {
  const std::string directory = directory_of(path);
  if (std::string why = closed_to_us(directory); !why.empty()) return "; " + why;
  if (!limited_ || has_rule(directory)) return "";
  for (const Directory& one : directories_) {
    if (!is_below(normal(directory), one.path)) continue;
    return "; " + one.path +
           (one.there
                ? " was removed and made anew since the engine started, and the sandbox's rule went with the old one"
                : " was not there when the engine started, so that the sandbox has no rule for it") +
           ": restart the engine. So that it does not happen again, let the directory stay "
           "(RuntimeDirectoryPreserve=yes in "
           "the unit that makes it), or name one above it in engine.unix_directories";
  }
  std::string all;
  for (const Directory& one : directories_) all += (all.empty() ? "" : ", ") + one.path;
  return "; the sandbox allows Unix sockets in " + all + " (engine.unix_directories)";
}

std::vector<std::string> SocketDirectories::closed() const {
  std::vector<std::string> out;
  for (const Directory& one : directories_) {
    if (std::string why = closed_to_us(one.path); !why.empty()) out.push_back(std::move(why));
  }
  return out;
}

}  // namespace drover::engine::sandbox
