// Disposal: gives back what came from hosts (descriptors, sockets, regions) on a thread of its own, because giving back
// may take as long as the host likes.
//
//   control thread:  dispose(fd), dispose(object)  -->  queue, bounded  -->  thread: close, destroy
//
// The last close of a TCP socket that lingers waits for its peer, that of a file waits for a file system that may be a
// process of the same user, and a Unix socket's close closes what lies in its queue. The end of a region frees its
// pages. Nothing of that may hold up the control thread.
//
// Thread-safety: any thread.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "object/unique_fd.h"

namespace drover::engine {

class Disposal {
 public:
  // `on_room`, called by the thread: full() was true, and is not any more.
  explicit Disposal(std::function<void()> on_room);
  // What is left in the queue is given back, within kPatienceMs. A thread that still waits then is left behind: it
  // holds nothing of ours but its queue.
  ~Disposal();
  Disposal(const Disposal&) = delete;
  Disposal& operator=(const Disposal&) = delete;

  // Each is taken even while full() holds: the caller keeps from making more of them then.
  void dispose(UniqueFd fd);
  void dispose(std::vector<UniqueFd> fds);
  void dispose(std::shared_ptr<const void> object);

  // Too much waits behind something that does not end.
  bool full() const;

  static constexpr size_t kMostWaiting = 1024;
  static constexpr int kPatienceMs = 200;

 private:
  struct State;
  const std::shared_ptr<State> state_;
};

}  // namespace drover::engine
