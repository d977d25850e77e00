#include "engine/control/disposal.h"

#include <pthread.h>
#include <sys/socket.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

namespace drover::engine {

struct Disposal::State {
  struct Item {
    UniqueFd fd;
    std::shared_ptr<const void> object;
  };

  void put(Item item) {
    {
      std::lock_guard lock(mutex);
      items.push_back(std::move(item));
    }
    wake.notify_one();
  }
  void run();

  mutable std::mutex mutex;
  std::condition_variable wake, ended_wake;
  std::deque<Item> items;
  bool stop = false;
  bool ended = false;
  std::function<void()> on_room;
};

namespace {

// A socket's close does not wait then. Where it is no socket, nothing happens.
void end_linger(int fd) {
  linger none{0, 0};
  ::setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof none);
}

}  // namespace

void Disposal::State::run() {
  std::unique_lock lock(mutex);
  for (;;) {
    wake.wait(lock, [this] { return stop || !items.empty(); });
    if (items.empty()) break;
    Item item = std::move(items.front());
    lock.unlock();
    if (item.fd) end_linger(item.fd.get());
    item.fd.reset();
    item.object.reset();
    lock.lock();
    items.pop_front();  // only now: what is being closed counts
    if (items.size() == kMostWaiting - 1 && !stop) on_room();
  }
  ended = true;
  ended_wake.notify_all();
}

Disposal::Disposal(std::function<void()> on_room) : state_(std::make_shared<State>()) {
  state_->on_room = std::move(on_room);
  std::thread([state = state_] {
    pthread_setname_np(pthread_self(), "disposal");
    state->run();
  }).detach();
}

Disposal::~Disposal() {
  std::unique_lock lock(state_->mutex);
  state_->stop = true;
  state_->wake.notify_all();
  state_->ended_wake.wait_for(lock, std::chrono::milliseconds(kPatienceMs), [this] { return state_->ended; });
}

void Disposal::dispose(UniqueFd fd) {
  if (fd) state_->put({std::move(fd), nullptr});
}

void Disposal::dispose(std::vector<UniqueFd> fds) {
  for (UniqueFd& fd : fds) dispose(std::move(fd));
}

void Disposal::dispose(std::shared_ptr<const void> object) {
  if (object != nullptr) state_->put({UniqueFd(), std::move(object)});
}

bool Disposal::full() const {
  std::lock_guard lock(state_->mutex);
  return state_->items.size() >= kMostWaiting;
}

}  // namespace drover::engine
