// The few accessors' bodies that are worth no inlining.
#include "generated/accessors.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

namespace drover::accessors {

const String* default_string(const char* bytes, size_t size) {
  auto* made = new String();
  made->borrow(bytes, size, true);
  return made;
}

const String& empty_string() {
  static constexpr raw::Words kEmpty{};  // a static String would be destroyed at the process's end
  return reinterpret_cast<const String&>(kEmpty);
}

const std::string& enum_name(const schema::Image& image, uint32_t index, int number) {
  // Names are made into std::strings when first asked for; a std::map never moves them.
  static std::mutex mutex;
  static auto* made = new std::map<const schema::EnumValueEntry*, std::string>();
  static const auto* none = new std::string();
  const schema::EnumValueEntry* value = image.find_enum_value(image.enum_entry(index), number);
  if (value == nullptr) return *none;
  std::lock_guard<std::mutex> lock(mutex);
  auto [at, added] = made->try_emplace(value);
  if (added) at->second = image.name(value->name);
  return at->second;
}

bool enum_parse(const EnumName* names, size_t count, std::string_view name, int* number) {
  const EnumName* end = names + count;
  const EnumName* at =
      std::lower_bound(names, end, name, [](const EnumName& a, std::string_view b) { return a.name < b; });
  if (at == end || at->name != name) return false;
  *number = at->number;
  return true;
}

std::string type_url(std::string_view prefix, std::string_view full_name) {
  std::string url(prefix);
  if (url.empty() || url.back() != '/') url += '/';
  return url.append(full_name);
}

bool type_url_names(std::string_view url, std::string_view full_name) {
  size_t slash = url.rfind('/');
  return slash != std::string_view::npos && url.substr(slash + 1) == full_name;
}

}  // namespace drover::accessors
