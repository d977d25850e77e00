#include "engine/sandbox/privileges.h"

#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <optional>
#include <vector>

namespace drover::engine::sandbox {
namespace {

std::optional<uint32_t> number_of(const std::string& text) {
  uint32_t number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  // -1 means "unchanged" to the calls that take it.
  if (error != std::errc() || end != text.data() + text.size() || number == UINT32_MAX) return std::nullopt;
  return number;
}

struct Sets {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct words[2]{};
};

bool fail(std::string* error, const std::string& what) {
  *error = what + ": " + std::strerror(errno);
  return false;
}

bool set_capabilities(uint64_t keep, std::string* error) {
  Sets sets;
  for (int i = 0; i < 2; ++i) {
    sets.words[i].permitted = sets.words[i].effective = static_cast<uint32_t>(keep >> (32 * i));
    sets.words[i].inheritable = 0;
  }
  if (::syscall(SYS_capset, &sets.header, sets.words) != 0) return fail(error, "capset");
  return true;
}

}  // namespace

bool find_user(const std::string& user, const std::string& group, User* found, std::string* error) {
  const std::optional<uint32_t> uid = number_of(user);
  errno = 0;
  const passwd* entry = uid ? ::getpwuid(*uid) : ::getpwnam(user.c_str());
  if (entry == nullptr && !uid) return *error = "engine.user: there is no user '" + user + "'", false;
  if (entry == nullptr && group.empty()) {
    return *error = "engine.user: user " + user + " is not in the user database; engine.group must be given", false;
  }
  *found = entry != nullptr ? User{entry->pw_uid, entry->pw_gid, entry->pw_name} : User{*uid, 0, ""};
  if (group.empty()) return true;
  if (const std::optional<uint32_t> gid = number_of(group)) {
    found->gid = *gid;
    return true;
  }
  const struct group* named = ::getgrnam(group.c_str());
  if (named == nullptr) return *error = "engine.group: there is no group '" + group + "'", false;
  found->gid = named->gr_gid;
  return true;
}

bool become(const User& user, uint64_t keep, std::string* error) {
  if (::geteuid() != 0) {
    if (::geteuid() == user.uid && ::getuid() == user.uid && ::getegid() == user.gid) return true;
    *error = "engine.user: only root can become another user; this is user " + std::to_string(::geteuid());
    return false;
  }
  keep &= capabilities();
  const int groups = user.name.empty() ? ::setgroups(0, nullptr) : ::initgroups(user.name.c_str(), user.gid);
  if (groups != 0) return fail(error, "engine.user: its groups");
  if (::setresgid(user.gid, user.gid, user.gid) != 0) return fail(error, "engine.group: setresgid");
  if (user.uid == 0) return true;
  if (::prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) != 0) return fail(error, "engine.user: PR_SET_KEEPCAPS");
  // The bounding set goes while CAP_SETPCAP is effective, which setresuid ends.
  for (int i = 0; i < 64 && ::prctl(PR_CAPBSET_READ, i, 0, 0, 0) >= 0; ++i) ::prctl(PR_CAPBSET_DROP, i, 0, 0, 0);
  if (::setresuid(user.uid, user.uid, user.uid) != 0) return fail(error, "engine.user: setresuid");
  if (!set_capabilities(keep, error)) return false;
  ::prctl(PR_SET_KEEPCAPS, 0, 0, 0, 0);
  if (::setresuid(0, 0, 0) == 0) return *error = "engine.user: root could be had again", false;
  return true;
}

uint64_t capabilities() {
  Sets sets;
  if (::syscall(SYS_capget, &sets.header, sets.words) != 0) return 0;
  return sets.words[0].permitted | uint64_t{sets.words[1].permitted} << 32;
}

bool limit_capabilities(uint64_t keep, std::string* error) {
  keep &= capabilities();
  ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  for (int i = 0; i < 64 && ::prctl(PR_CAPBSET_READ, i, 0, 0, 0) >= 0; ++i) {
    if (::prctl(PR_CAPBSET_DROP, i, 0, 0, 0) != 0) break;  // without CAP_SETPCAP; no_new_privs makes up for it
  }
  if (!set_capabilities(keep, error)) return false;
  if (capabilities() == keep) return true;
  *error = "capabilities stayed: " + capability_names(capabilities() & ~keep);
  return false;
}

std::string capability_names(uint64_t set) {
  constexpr struct {
    int bit;
    const char* name;
  } kNames[] = {{CAP_NET_BIND_SERVICE, "net_bind_service"}, {CAP_DAC_OVERRIDE, "dac_override"}};
  std::string out;
  for (const auto& one : kNames) {
    if ((set >> one.bit & 1) == 0) continue;
    out += (out.empty() ? "" : ", ") + std::string(one.name);
    set &= ~(uint64_t{1} << one.bit);
  }
  if (set != 0) {
    char rest[24];
    std::snprintf(rest, sizeof rest, "0x%llx", static_cast<unsigned long long>(set));
    out += (out.empty() ? "" : ", ") + std::string(rest);
  }
  return out.empty() ? "none" : out;
}

bool allow_core_dumps(bool allow) { return ::prctl(PR_SET_DUMPABLE, allow ? 1 : 0, 0, 0, 0) == 0; }

bool set_no_new_privileges() { return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0; }

}  // namespace drover::engine::sandbox
