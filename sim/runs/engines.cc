#include "sim/runs/engines.h"

#include <utility>

#include "sim/engines/cores/cores_engine.h"
#include "sim/engines/cpu/cpu_engine.h"
#include "sim/engines/nic/nic_engine.h"
#include "sim/engines/objects/objects_engine.h"
#include "sim/engines/rtl/rtl_engine.h"

namespace drover::sim {
namespace {

std::vector<EngineType>& registered() {
  static std::vector<EngineType> all = {
      cpu_engine(), rtl_engine(), cores_engine(), nic_engine(), objects_engine(),
  };
  return all;
}

}  // namespace

const std::vector<EngineType>& engines() { return registered(); }

const EngineType* find_engine(const std::string& kind) {
  for (const EngineType& type : registered()) {
    if (type.kind == kind) return &type;
  }
  return nullptr;
}

void register_engine(EngineType type) { registered().push_back(std::move(type)); }

}  // namespace drover::sim
