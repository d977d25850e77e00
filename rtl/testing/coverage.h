// Functional coverage: which combinations of the values of some axes ("bins") the tests have reached.
//
//   Coverage coverage("fields", {{"kind", {"int32", "bool"}}, {"length", {"1", "2-5"}}}, possible);
//   coverage.hit({0, 1});
//   coverage.report()
//
// Not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

namespace drover::rtl {

class Coverage {
 public:
  struct Axis {
    std::string name;
    std::vector<std::string> values;
  };
  using Bin = std::vector<size_t>;  // a value's index for each axis

  // `possible` says which bins there are; a hit of another one is a mistake of the test's, and counted.
  Coverage(std::string name, std::vector<Axis> axes, std::function<bool(const Bin&)> possible)
      : name_(std::move(name)), axes_(std::move(axes)), possible_(std::move(possible)) {
    size_t size = 1;
    for (const Axis& axis : axes_) size *= axis.values.size();
    hits_.resize(size);
    for (size_t i = 0; i < size; ++i) total_ += possible_(bin(i));
  }

  void hit(std::initializer_list<size_t> where) {
    size_t index = 0, axis = 0;
    for (size_t value : where) index = index * axes_[axis++].values.size() + value;
    if (!possible_(bin(index))) ++impossible_;
    ++hits_[index];
  }

  size_t total() const { return total_; }
  size_t reached() const {
    size_t count = 0;
    for (size_t i = 0; i < hits_.size(); ++i) count += hits_[i] != 0 && possible_(bin(i));
    return count;
  }
  uint64_t impossible() const { return impossible_; }
  // The bins that were not reached, as "kind int32, length 1".
  std::vector<std::string> holes() const {
    std::vector<std::string> list;
    for (size_t i = 0; i < hits_.size(); ++i) {
      Bin where = bin(i);
      if (hits_[i] != 0 || !possible_(where)) continue;
      std::string text;
      for (size_t a = 0; a < axes_.size(); ++a) {
        text += (a == 0 ? "" : ", ") + axes_[a].name + ' ' + axes_[a].values[where[a]];
      }
      list.push_back(text);
    }
    return list;
  }
  // Totals, the reached and possible bins of each value of each axis, and the first holes.
  std::string report(size_t most_holes = 20) const {
    std::string text = name_ + ": " + share(reached(), total_) + " bins\n";
    for (size_t a = 0; a < axes_.size(); ++a) {
      text += "  " + axes_[a].name + ':';
      for (size_t v = 0; v < axes_[a].values.size(); ++v) {
        size_t had = 0, all = 0;
        for (size_t i = 0; i < hits_.size(); ++i) {
          Bin where = bin(i);
          if (where[a] != v || !possible_(where)) continue;
          ++all;
          had += hits_[i] != 0;
        }
        text += "  " + axes_[a].values[v] + ' ' + share(had, all);
      }
      text += '\n';
    }
    std::vector<std::string> missing = holes();
    for (size_t i = 0; i < missing.size() && i < most_holes; ++i) text += "  not reached: " + missing[i] + '\n';
    if (missing.size() > most_holes) text += "  and " + std::to_string(missing.size() - most_holes) + " more\n";
    return text;
  }

 private:
  static std::string share(size_t had, size_t all) { return std::to_string(had) + '/' + std::to_string(all); }
  Bin bin(size_t index) const {
    Bin where(axes_.size());
    for (size_t a = axes_.size(); a-- > 0; index /= axes_[a].values.size()) where[a] = index % axes_[a].values.size();
    return where;
  }

  std::string name_;
  std::vector<Axis> axes_;
  std::function<bool(const Bin&)> possible_;
  std::vector<uint64_t> hits_;
  size_t total_ = 0;
  uint64_t impossible_ = 0;
};

}  // namespace drover::rtl
