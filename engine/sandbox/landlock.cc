#include "engine/sandbox/landlock.h"

#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "object/unique_fd.h"

namespace drover::engine::sandbox {
namespace {

// The headers of Debian 12 know ABI 1 to 3 at the most.
constexpr uint64_t kTruncate = 1ULL << 14;
constexpr uint64_t kIoctlDevice = 1ULL << 15;
constexpr uint64_t kConnectTcp = 1ULL << 1;
constexpr uint64_t kScopeAbstract = 1ULL << 0;
constexpr uint64_t kScopeSignal = 1ULL << 1;
constexpr uint64_t kRefer = 1ULL << 13;
constexpr uint64_t kAllOfAbi1 = (1ULL << 13) - 1;

constexpr uint64_t kReadFile = LANDLOCK_ACCESS_FS_READ_FILE;
constexpr uint64_t kSockets =
    LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_READ_DIR;

// landlock_ruleset_attr of ABI 6. A kernel takes a longer one as long as what it does not know is zero.
struct Handled {
  uint64_t files = 0;
  uint64_t network = 0;
  uint64_t scoped = 0;
};

Handled handled_by(int abi) {
  Handled out;
  out.files = kAllOfAbi1;
  if (abi >= 2) out.files |= kRefer;
  if (abi >= 3) out.files |= kTruncate;
  if (abi >= 4) out.network = kConnectTcp;
  if (abi >= 5) out.files |= kIoctlDevice;
  if (abi >= 6) out.scoped = kScopeAbstract | kScopeSignal;
  return out;
}

// Adds a rule for what is at `path` now. Empty: done; else why not.
std::string allow(int ruleset, const std::string& path, uint64_t access) {
  UniqueFd at(::open(path.c_str(), O_PATH | O_CLOEXEC));
  struct stat status;
  if (!at || ::fstat(at.get(), &status) != 0) return path + ": " + std::strerror(errno);
  landlock_path_beneath_attr rule{};
  rule.parent_fd = at.get();
  rule.allowed_access = S_ISDIR(status.st_mode) ? access : access & kReadFile;
  if (rule.allowed_access == 0) return path + ": not a directory";
  if (::syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0) return "";
  return path + ": " + std::strerror(errno);
}

}  // namespace

int landlock_abi() {
  const long abi = ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  return abi > 0 ? static_cast<int>(abi) : 0;
}

// Moving files between directories (ABI 2) is refused by older ones anyway; ioctl (ABI 5) is the seccomp filter's.
std::vector<std::string> landlock_gaps(int abi) {
  std::vector<std::string> gaps;
  if (abi < 3) gaps.emplace_back("truncating files (ABI 3, Linux 6.2)");
  if (abi < 4) gaps.emplace_back("connecting by TCP (ABI 4, Linux 6.7)");
  if (abi < kLeastAbi) gaps.emplace_back("connecting to abstract Unix sockets (ABI 6, Linux 6.12)");
  return gaps;
}

bool limit_files(const FileRules& rules, Granted* granted, std::string* error) {
  const int abi = std::min(landlock_abi(), rules.newest_abi);
  if (abi == 0) return *error = "this kernel has no Landlock", false;
  const Handled handled = handled_by(abi);
  UniqueFd ruleset(static_cast<int>(::syscall(SYS_landlock_create_ruleset, &handled, sizeof handled, 0)));
  if (!ruleset) return *error = std::string("landlock_create_ruleset: ") + std::strerror(errno), false;
  const struct {
    const std::vector<std::string>& paths;
    uint64_t access;
  } kinds[] = {{rules.readable, kReadFile},
               {rules.sockets, kSockets},
               {rules.removable, LANDLOCK_ACCESS_FS_REMOVE_FILE},
               {rules.appended, LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_MAKE_REG},
               {rules.rotated, LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_REG}};
  std::vector<std::string> missing;
  for (const auto& kind : kinds) {
    for (const std::string& path : kind.paths) {
      if (std::string why = allow(ruleset.get(), path, kind.access); !why.empty()) missing.push_back(std::move(why));
    }
  }
  if (::syscall(SYS_landlock_restrict_self, ruleset.get(), 0) != 0) {
    return *error = std::string("landlock_restrict_self: ") + std::strerror(errno), false;
  }
  *granted = {abi, handled.network != 0, handled.scoped != 0, std::move(missing)};
  return true;
}

}  // namespace drover::engine::sandbox
