// LoadValues: what a call or a server has recorded of its load, and how two of them become one report.
#pragma once

#include <map>
#include <optional>
#include <string>

namespace drover::host {

namespace builtin::xds::service::orca::v3 {
class OrcaLoadReport;  // orca.proto
}
using builtin::xds::service::orca::v3::OrcaLoadReport;

struct LoadValues {
  using Named = std::map<std::string, double>;

  std::optional<double> cpu, memory, application, qps, eps;
  Named utilization, costs, metrics;

  bool empty() const;
  // Each value of `other` replaces its own.
  void replace_by(const LoadValues& other);
  void fill(OrcaLoadReport* report) const;

  // Values that cannot be are ignored.
  static bool is_share(double value) { return value >= 0 && value <= 1; }
  static bool is_rate(double value) { return value >= 0; }
};

}  // namespace drover::host
