#include "engine/auth/policy.h"

#include <algorithm>

#include "engine/auth/text_list.h"

namespace drover::engine::auth {

bool Policy::load(const PolicyOptions& options, std::string* error) {
  options_ = options;
  claims_ = strings(split(options.claims, ','));
  *error = Rules::parse(options.rules, &rules_);
  if (!error->empty() || !issuers_.load(options.issuers, error)) return false;
  if (!on() && !rules_.all().empty()) {
    return *error = "auth.rules: there are no auth.issuers whose tokens could be taken", false;
  }
  for (const Rule& rule : rules_.all()) {
    for (const std::string& name : rule.issuers) {
      const auto& all = issuers_.options();
      if (std::any_of(all.begin(), all.end(), [&](const auto& one) { return one.name == name; })) continue;
      return *error = "auth.rules: " + rule.pattern + ": there is no issuer '" + name + "'", false;
    }
  }
  return true;
}

}  // namespace drover::engine::auth
