#include "sim/runs/call_result.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>

namespace drover::sim {
namespace {

// One body that writer and reader walk.
class Writer {
 public:
  template <typename T>
  void figure(T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  void text(std::string& value) {
    uint64_t size = value.size();
    figure(size);
    bytes_ += value;
  }
  template <typename T, typename Each>
  void list(std::vector<T>& values, Each each) {
    uint64_t size = values.size();
    figure(size);
    for (T& value : values) each(value);
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

class Reader {
 public:
  explicit Reader(const std::string& bytes) : bytes_(bytes) {}
  template <typename T>
  void figure(T& value) {
    if (bytes_.size() - at_ < sizeof(value)) return fail();
    std::memcpy(static_cast<void*>(&value), bytes_.data() + at_, sizeof(value));
    at_ += sizeof(value);
  }
  void text(std::string& value) {
    uint64_t size = 0;
    figure(size);
    if (bytes_.size() - at_ < size) return fail();
    value = bytes_.substr(at_, size);
    at_ += size;
  }
  template <typename T, typename Each>
  void list(std::vector<T>& values, Each each) {
    uint64_t size = 0;
    figure(size);
    if (bytes_.size() - at_ < size) return fail();  // each element has a byte at least
    values.resize(size);
    for (T& value : values) each(value);
  }
  bool whole() const { return !failed_ && at_ == bytes_.size(); }

 private:
  void fail() { failed_ = true, at_ = bytes_.size(); }
  const std::string& bytes_;
  size_t at_ = 0;
  bool failed_ = false;
};

template <typename Archive>
void walk(Archive& archive, CallResult& result) {
  archive.figure(result.measured);
  archive.figure(result.offered);
  archive.figure(result.completed);
  archive.list(result.latencies, [&](uint32_t& latency) { archive.figure(latency); });
  archive.figure(result.waiting);
  archive.figure(result.lost);
  archive.figure(result.checked);
  archive.figure(result.messages);
  archive.figure(result.messages_left_out);
  archive.list(result.cores, [&](CoreResult& core) {
    archive.text(core.name);
    archive.figure(core.spent);
  });
  archive.list(result.engines, [&](EngineResult& engine) {
    archive.text(engine.name);
    archive.list(engine.figures, [&](std::pair<std::string, uint64_t>& figure) {
      archive.text(figure.first);
      archive.figure(figure.second);
    });
    archive.figure(engine.link);
  });
  archive.figure(result.network);
  archive.figure(result.endpoint_passed);
  archive.figure(result.endpoint_busy);
  archive.figure(result.whole);
  archive.text(result.error);
}

}  // namespace

double CallResult::quantile_us(double share) const {
  if (latencies.empty()) return 0;
  auto rank = static_cast<size_t>(std::ceil(share * static_cast<double>(latencies.size())));
  return latencies[std::clamp<size_t>(rank, 1, latencies.size()) - 1] / 1e3;
}

std::string CallResult::bytes() const {
  Writer writer;
  CallResult copy = *this;
  walk(writer, copy);
  return writer.take();
}

CallResult CallResult::parse(const std::string& bytes) {
  CallResult result;
  Reader reader(bytes);
  walk(reader, result);
  if (!reader.whole()) {
    result = CallResult();
    result.error = "the simulation's answer was cut short";
  }
  return result;
}

}  // namespace drover::sim
