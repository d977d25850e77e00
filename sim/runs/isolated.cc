#include "sim/runs/isolated.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>

namespace drover::sim {
namespace {

bool write_all(int fd, const std::string& bytes) {
  for (size_t at = 0; at < bytes.size();) {
    ssize_t written = ::write(fd, bytes.data() + at, bytes.size() - at);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    at += static_cast<size_t>(written);
  }
  return true;
}

// One run under way.
class Child {
 public:
  // Starts it; an error is in result() then.
  Child(size_t index, const std::string& name, const std::function<std::string(size_t)>& work)
      : index_(index), name_(name) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
      error_ = std::string("pipe: ") + std::strerror(errno);
      return;
    }
    pid_ = fork();
    if (pid_ == 0) {
      setenv("SYSTEMC_DISABLE_COPYRIGHT_MESSAGE", "1", 1);  // stdout and stderr are the caller's
      _exit(write_all(ends[1], work(index)) ? 0 : 1);
    }
    if (pid_ < 0) error_ = std::string("fork: ") + std::strerror(errno);
    close(ends[1]);
    fd_ = ends[0];
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    if (fd_ >= 0) close(fd_);
  }

  size_t index() const { return index_; }
  int fd() const { return fd_; }
  bool started() const { return pid_ > 0; }
  // Takes what is in the pipe; false at its end.
  bool take() {
    char buffer[1 << 16];
    ssize_t got = ::read(fd_, buffer, sizeof(buffer));
    if (got < 0 && errno == EINTR) return true;
    if (got <= 0) return false;
    bytes_.append(buffer, static_cast<size_t>(got));
    return true;
  }
  Isolated result() {
    if (!started()) return {"", error_};
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {std::move(bytes_), ""};
    return {"", "the simulation of " + name_ + " ended by itself (wait status " + std::to_string(status) + ")"};
  }

 private:
  size_t index_;
  std::string name_, error_, bytes_;
  pid_t pid_ = -1;
  int fd_ = -1;
};

}  // namespace

std::vector<Isolated> run_isolated(size_t count, unsigned jobs, const std::vector<std::string>& names,
                                   const std::function<std::string(size_t)>& work,
                                   const std::function<void(size_t)>& ended) {
  std::vector<Isolated> results(count);
  std::vector<std::unique_ptr<Child>> children;
  size_t next = 0, done = 0;
  while (done < count) {
    for (; next < count && children.size() < jobs; ++next) {
      children.push_back(std::make_unique<Child>(next, names[next], work));
    }
    std::vector<pollfd> polled;
    for (const auto& child : children) polled.push_back({child->fd(), POLLIN, 0});
    if (poll(polled.data(), polled.size(), -1) < 0) continue;
    for (size_t i = children.size(); i-- > 0;) {
      if (children[i]->started() && (polled[i].revents == 0 || children[i]->take())) continue;
      results[children[i]->index()] = children[i]->result();
      children.erase(children.begin() + static_cast<std::ptrdiff_t>(i));
      ended(++done);
    }
  }
  return results;
}

}  // namespace drover::sim
