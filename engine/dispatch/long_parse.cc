#include "engine/dispatch/long_parse.h"

#include <new>

#include "engine/base/clock.h"

namespace drover::engine {

// No other call takes memory of the link's rx meanwhile: there is one thread.
bool LongParse::step(int64_t end_ns) {
  end_ns_ = end_ns;
  const int64_t before = request_.link->rx().free_chunks();
  const bool over = go_on();
  taken_chunks_ += before - request_.link->rx().free_chunks();
  return over;
}

bool LongParse::go_on() {
  if (!begun_) {
    begun_ = true;
    if (!fiber_.start([this] { run(); })) {
      built_.no_memory = true;
      return true;
    }
  }
  return !fiber_.running() || fiber_.resume();
}

void LongParse::run() {
  HostLink& link = *request_.link;
  const HostMethod& method = link.host().methods[request_.method];
  const Pause pauses{pause, this};
  try {
    built_ = request_.of_stream
                 ? build_message(link, method, request_.wire, pauses)
                 : build_request(*request_.state->call, link, method, request_.wire, request_.alias, pauses);
  } catch (const std::bad_alloc&) {
    built_ = BuiltRequest();
    built_.no_memory = true;
  }
}

void LongParse::stop() {
  stopped_ = true;
  while (fiber_.running()) fiber_.resume();
  if (built_.ok() && built_.run.chunks != 0) built_.free(request_.link->rx());
  built_.no_memory = true;
}

bool LongParse::pause_if_due() {
  if (!stopped_ && monotonic_ns() >= end_ns_) fiber_.pause();
  return !stopped_;
}

}  // namespace drover::engine
