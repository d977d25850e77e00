// Which calls are logged, and how much of them: the filter of gRPC's binary log (gRFC A16,
// github.com/grpc/proposal/blob/master/A16-binary-logging.md).
//
//   filter  = pattern *("," pattern)
//   pattern = "*" [limits] | Service "/*" [limits] | Service "/" Method [limits] | "-" Service "/" Method
//   limits  = "{" ( "h" [":" bytes] [";" "m" [":" bytes]] | "m" [":" bytes] ) "}"
//
// The most exact pattern counts: the method, then its service, then "*". Without limits everything is logged; {h} is
// metadata without messages, {m:256} the first 256 bytes of messages without metadata. Two patterns for the same thing
// are an error.
//
// Thread-safety: const functions by any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace drover::engine::binary_log {

inline constexpr uint64_t kAll = UINT64_MAX;

// In bytes. Of a metadata block the names and values are counted.
struct Limits {
  uint64_t header = kAll;
  uint64_t message = kAll;
  friend bool operator==(const Limits&, const Limits&) = default;
};

class Filter {
 public:
  // Empty text: nothing is logged. Returns an empty string, or what is wrong, with the pattern.
  static std::string parse(std::string_view text, Filter* filter);

  // For "/package.Service/Method"; null: such calls are not logged. Lives as long as the filter.
  const Limits* find(std::string_view path) const;
  bool empty() const { return !has_default_ && services_.empty() && methods_.empty(); }

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  struct Rule {
    bool logged = true;
    Limits limits;
  };
  using Rules = std::unordered_map<std::string, Rule, Hash, std::equal_to<>>;

  std::string add(std::string_view pattern);
  std::string add_excluded(std::string_view method);

  bool has_default_ = false;
  Limits default_;
  Rules services_;  // by "package.Service"
  Rules methods_;   // by "package.Service/Method"
};

}  // namespace drover::engine::binary_log
