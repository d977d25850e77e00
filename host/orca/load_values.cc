#include "host/orca/load_values.h"

#include "orca.pb.h"

namespace drover::host {

bool LoadValues::empty() const {
  return !cpu && !memory && !application && !qps && !eps && utilization.empty() && costs.empty() && metrics.empty();
}

void LoadValues::replace_by(const LoadValues& other) {
  for (auto member :
       {&LoadValues::cpu, &LoadValues::memory, &LoadValues::application, &LoadValues::qps, &LoadValues::eps}) {
    if (other.*member) this->*member = other.*member;
  }
  for (auto member : {&LoadValues::utilization, &LoadValues::costs, &LoadValues::metrics}) {
    for (const auto& [name, value] : other.*member) (this->*member)[name] = value;
  }
}

void LoadValues::fill(OrcaLoadReport* report) const {
  report->Clear();
  report->set_cpu_utilization(cpu.value_or(0));
  report->set_mem_utilization(memory.value_or(0));
  report->set_application_utilization(application.value_or(0));
  report->set_rps_fractional(qps.value_or(0));
  report->set_eps(eps.value_or(0));
  for (const auto& [name, value] : utilization) (*report->mutable_utilization())[name] = value;
  for (const auto& [name, value] : costs) (*report->mutable_request_cost())[name] = value;
  for (const auto& [name, value] : metrics) (*report->mutable_named_metrics())[name] = value;
}

}  // namespace drover::host
