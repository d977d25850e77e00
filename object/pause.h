// Pause: where work on one large object lets others go on. The work calls it every few thousand units (bytes, entries,
// elements). It may return much later, and says whether the work goes on. Freestanding.
#pragma once

namespace drover {

struct Pause {
  bool (*go_on)(void* context) = nullptr;  // null: the work is never interrupted
  void* context = nullptr;

  explicit operator bool() const { return go_on != nullptr; }
  // False: the work is to end at once, without a result.
  bool operator()() const { return go_on == nullptr || go_on(context); }
};

}  // namespace drover
