// What becomes of metadata on its way into the log: entries that A16 leaves out, and those whose values are secret.
//
//   grpc-trace-bin                            as it is, whatever the limit
//   other names grpc-..., :..., and what      left out; that is not called truncated
//   belongs to the transport
//   names that `redact` has                   the name, and kRedacted for the value
//   all others                                as they are
//
// Thread-safety: const functions by any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace drover::engine::binary_log {

class Redaction {
 public:
  static constexpr std::string_view kRedacted = "[redacted]";
  enum class Entry : uint8_t { kLeftOut, kRedacted, kLogged, kAlways };

  // "authorization,x-api-key,*token*": names in lower case; a "*" at the beginning, at the end or at both stands for
  // any characters. Empty: nothing is redacted. Returns an empty string, or what is wrong.
  static std::string parse(std::string_view text, Redaction* redaction);

  Entry of(std::string_view name) const;

 private:
  struct Pattern {
    std::string text;
    bool any_before, any_behind;
    bool matches(std::string_view name) const;
  };
  std::vector<Pattern> patterns_;
};

}  // namespace drover::engine::binary_log
