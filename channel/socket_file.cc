#include "channel/socket_file.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <utility>

namespace drover {
namespace {

// The directory of a path, and the name in it.
struct Place {
  UniqueFd directory;
  std::string name;
  bool locked = false;
};

Place open_place(const std::string& path) {
  size_t slash = path.rfind('/');
  std::string directory = slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
  return {UniqueFd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)),
          path.substr(slash == std::string::npos ? 0 : slash + 1)};
}

// Locked until `place` goes.
void lock(Place& place) {
  for (int waited = 0; place.directory; ++waited) {
    place.locked = ::flock(place.directory.get(), LOCK_EX | LOCK_NB) == 0;
    if (place.locked || (errno != EWOULDBLOCK && errno != EINTR) || waited >= SocketFile::kLockMs) return;
    ::poll(nullptr, 0, 1);
  }
}

// What the name leads to, links not followed; empty: nothing.
UniqueFd inode_of(const Place& place) {
  return UniqueFd(::openat(place.directory.get(), place.name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
}

bool is_socket(int inode) {
  struct stat status;
  return ::fstat(inode, &status) == 0 && S_ISSOCK(status.st_mode);
}

bool unlink_if_still(const Place& place, int inode) {
  struct stat held, named;
  return ::fstat(inode, &held) == 0 &&
         ::fstatat(place.directory.get(), place.name.c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0 &&
         held.st_dev == named.st_dev && held.st_ino == named.st_ino &&
         ::unlinkat(place.directory.get(), place.name.c_str(), 0) == 0;
}

// Asks the inode, not the name: that one may lead elsewhere by now.
bool refuses(int inode) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::string path = "/proc/self/fd/" + std::to_string(inode);
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  UniqueFd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  return probe && ::connect(probe.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 &&
         errno == ECONNREFUSED;
}

bool fail(SocketFileError* error, int os_error, const std::string& path, const char* what) {
  *error = {os_error, "'" + path + "': " + what};
  return false;
}

int bind_to(int socket, const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return ENAMETOOLONG;
  std::memcpy(address.sun_path, path.c_str(), path.size());
  auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size() + 1);
  return ::bind(socket, reinterpret_cast<sockaddr*>(&address), size) == 0 ? 0 : errno;
}

// The name is taken. True: a dead socket had it, and is gone.
bool make_room(const Place& place, const std::string& path, SocketFileError* error) {
  UniqueFd inode = inode_of(place);
  if (!inode && errno == ENOENT) return true;
  if (inode && !is_socket(inode.get())) {
    return fail(error, ENOTSOCK, path, "exists and is not a socket; it stays as it is");
  }
  if (!place.locked || !inode || !refuses(inode.get()) || !unlink_if_still(place, inode.get())) {
    return fail(error, EADDRINUSE, path, std::strerror(EADDRINUSE));
  }
  return true;
}

}  // namespace

bool SocketFile::listen(int socket, const std::string& path, int backlog, SocketFileError* error) {
  Place place = open_place(path);
  // Without the right to read the directory the name stays for ever; without descriptors it should not.
  if (!place.directory && (errno == EMFILE || errno == ENFILE || errno == ENOMEM)) {
    return fail(error, errno, path, std::strerror(errno));
  }
  lock(place);
  int why = bind_to(socket, path);
  if (why == EADDRINUSE) {
    if (!make_room(place, path, error)) return false;
    why = bind_to(socket, path);
  }
  if (why != 0) return fail(error, why, path, std::strerror(why));
  path_ = path;
  inode_ = inode_of(place);
  if (place.locked && !inode_) {  // no descriptors; the name is ours as long as the lock is
    fail(error, errno, path, std::strerror(errno));
    ::unlinkat(place.directory.get(), place.name.c_str(), 0);
    return false;
  }
  if (::listen(socket, backlog) == 0) return true;
  fail(error, errno, path, std::strerror(errno));
  if (inode_) unlink_if_still(place, inode_.get());
  inode_.reset();
  return false;
}

void SocketFile::remove() {
  UniqueFd inode = std::move(inode_);
  if (!inode) return;
  Place place = open_place(path_);
  lock(place);
  if (place.locked) unlink_if_still(place, inode.get());
}

SocketFile& SocketFile::operator=(SocketFile&& other) noexcept {
  if (this != &other) {
    remove();
    path_ = std::move(other.path_);
    inode_ = std::move(other.inode_);
  }
  return *this;
}

bool remove_dead_socket(const std::string& path) {
  Place place = open_place(path);
  lock(place);
  UniqueFd inode = inode_of(place);
  return place.locked && inode && is_socket(inode.get()) && refuses(inode.get()) && unlink_if_still(place, inode.get());
}

}  // namespace drover
