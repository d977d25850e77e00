#include "host/engine_link.h"

#include "host/log.h"

namespace drover::host {

void EngineLink::report_broken(const char* what) {
  const char* none = nullptr;
  if (broken.compare_exchange_strong(none, what)) log(LogLevel::kError, "the engine sent %s", what);
}

}  // namespace drover::host
