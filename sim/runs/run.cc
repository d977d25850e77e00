// Runs in child processes, each of which writes its result to a pipe.
#include "sim/runs/run.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "sim/runs/message_run.h"

namespace drover::sim {
namespace {

// A child's answer begins so; its messages and the error's text follow.
struct Answer {
  Time receive_time, send_time;
  uint64_t messages, error_bytes;
};

bool write_all(int fd, const void* data, size_t size) {
  const char* at = static_cast<const char*>(data);
  while (size > 0) {
    ssize_t written = ::write(fd, at, size);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    at += written;
    size -= static_cast<size_t>(written);
  }
  return true;
}

bool send_result(int fd, const RunResult& result) {
  Answer answer{result.receive_time, result.send_time, result.messages.size(), result.error.size()};
  return write_all(fd, &answer, sizeof(answer)) &&
         write_all(fd, result.messages.data(), result.messages.size() * sizeof(MessageResult)) &&
         write_all(fd, result.error.data(), result.error.size());
}

// False if it is cut short.
bool parse_result(const std::string& bytes, RunResult* result) {
  Answer answer{};
  if (bytes.size() < sizeof(answer)) return false;
  std::memcpy(&answer, bytes.data(), sizeof(answer));
  size_t size = answer.messages * sizeof(MessageResult);
  if (bytes.size() != sizeof(answer) + size + answer.error_bytes) return false;
  result->receive_time = answer.receive_time;
  result->send_time = answer.send_time;
  result->messages.resize(answer.messages);
  if (size != 0) std::memcpy(result->messages.data(), bytes.data() + sizeof(answer), size);
  result->error = bytes.substr(sizeof(answer) + size);
  return true;
}

// One run under way.
class Child {
 public:
  // Starts it; an error is in result() then.
  Child(size_t index, const System& system, const workload::Workload& workload, const CostsResult& costs,
        const std::string& trace)
      : index_(index), name_(system.name) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
      error_ = std::string("pipe: ") + std::strerror(errno);
      return;
    }
    pid_ = fork();
    if (pid_ == 0) {
      setenv("SYSTEMC_DISABLE_COPYRIGHT_MESSAGE", "1", 1);  // stdout and stderr are the caller's
      _exit(send_result(ends[1], simulate(system, workload, costs, trace)) ? 0 : 1);
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
  RunResult result() {
    RunResult result;
    result.error = error_;
    if (!started()) return result;
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    if (!parse_result(bytes_, &result) || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
      result = RunResult();
      result.error = "the simulation of " + name_ + " ended by itself (wait status " + std::to_string(status) + ")";
    }
    return result;
  }

 private:
  size_t index_;
  std::string name_, error_, bytes_;
  pid_t pid_ = -1;
  int fd_ = -1;
};

}  // namespace

CostsResult workload_costs(const System& system, const workload::Workload& workload) {
  CostRules rules{system.platform, system.engine_type().host_encodes, system.run.target};
  return workload_costs(rules, workload);
}

RunResult run(const System& system, const workload::Workload& workload, const CostsResult& costs,
              const std::string& trace) {
  Child child(0, system, workload, costs, trace);
  while (child.started() && child.take()) {
  }
  return child.result();
}

std::vector<RunResult> run_all(const std::vector<System>& systems, const workload::Workload& workload,
                               const std::vector<CostsResult>& costs, unsigned jobs,
                               const std::function<void(size_t)>& ended) {
  std::vector<RunResult> results(systems.size());
  std::vector<std::unique_ptr<Child>> children;
  size_t next = 0, done = 0;
  while (done < systems.size()) {
    for (; next < systems.size() && children.size() < jobs; ++next) {
      children.push_back(std::make_unique<Child>(next, systems[next], workload, costs[next], ""));
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
