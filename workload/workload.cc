#include "workload/workload.h"

namespace drover::workload {

const WorkloadMessage* Workload::find(std::string_view message_name) const {
  for (const WorkloadMessage& message : messages) {
    if (message.name == message_name) return &message;
  }
  return nullptr;
}

}  // namespace drover::workload
