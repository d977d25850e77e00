#include "engine/auth/issuers.h"

#include <utility>

#include "engine/auth/text_list.h"
#include "engine/base/log.h"

namespace drover::engine::auth {
namespace {

std::string parse_algorithms(std::string_view text, Algorithms* out) {
  *out = Algorithms();
  for (std::string_view name : split(text, ',')) {
    const std::optional<Algorithm> one = find_algorithm(name);
    if (!one) {
      std::string all;
      for (const AlgorithmInfo& info : all_algorithms()) all += (all.empty() ? "" : ", ") + std::string(info.name);
      return "'" + std::string(name) + "' is not one of: " + all;
    }
    out->add(*one);
  }
  return out->empty() ? "no algorithm is given" : "";
}

std::string parse_setting(const Setting& setting, IssuerOptions* out) {
  const std::string value(setting.value);
  if (value.empty()) return "'" + std::string(setting.key) + "': expected a value";
  if (setting.key == "iss") {
    out->issuer = value;
  } else if (setting.key == "keys") {
    out->keys = value;
  } else if (setting.key == "audiences") {
    out->audiences = value == "*" ? std::vector<std::string>() : strings(split(value, ','));
  } else if (setting.key == "algorithms") {
    return parse_algorithms(value, &out->algorithms);
  } else if (setting.key == "typ") {
    out->type = value;
  } else if (setting.key == "claims") {
    out->claims = value == "none" ? std::vector<std::string>() : strings(split(value, ','));
  } else {
    return "'" + std::string(setting.key) + "': expected iss=, keys=, audiences=, algorithms=, typ= or claims=";
  }
  return "";
}

std::string parse_issuer(std::string_view text, IssuerOptions* out) {
  const std::vector<std::string_view> words = split(text, ' ');
  if (words[0].find('=') != std::string_view::npos) return "'" + std::string(text) + "' begins without a name";
  out->name = words[0];
  bool audiences = false;
  for (size_t i = 1; i < words.size(); ++i) {
    const Setting setting(words[i]);
    audiences |= setting.key == "audiences";
    if (std::string wrong = parse_setting(setting, out); !wrong.empty()) return out->name + ": " + wrong;
  }
  if (out->issuer.empty()) return out->name + ": it has no iss=";
  if (out->keys.empty()) return out->name + ": it has no keys=FILE";
  // RFC 7519, section 4.1.3: who is not named must refuse.
  if (!audiences) return out->name + ": it has no audiences=; expected whom tokens must be for, or audiences=* for any";
  return "";
}

}  // namespace

const Issuer* Trust::find(std::string_view iss) const {
  for (const Issuer& one : issuers) {
    if (one.options.issuer == iss) return &one;
  }
  return nullptr;
}

std::string Issuers::parse(std::string_view text) {
  const std::string line = one_line(text);
  for (std::string_view one : split(line, ';')) {
    IssuerOptions options;
    if (std::string wrong = parse_issuer(one, &options); !wrong.empty()) return "auth.issuers: " + wrong;
    for (const IssuerOptions& other : options_) {
      if (other.name == options.name) return "auth.issuers: the name '" + other.name + "' is given twice";
      if (other.issuer == options.issuer) return "auth.issuers: two have the iss '" + other.issuer + "'";
    }
    options_.push_back(std::move(options));
  }
  return "";
}

std::shared_ptr<const KeySet> Issuers::read(const IssuerOptions& options, std::string* error) {
  SecretText text;  // it may hold secrets
  std::shared_ptr<const KeySet> keys;
  if (read_small_file(options.keys, KeySet::kMaxFile, &text, error)) {
    keys = KeySet::read(text, options.algorithms, error);
    if (keys == nullptr) *error = options.keys + ": " + *error;
  }
  return keys;
}

bool Issuers::load(std::string_view text, std::string* error) {
  *error = parse(text);
  if (!error->empty()) return false;
  std::vector<Issuer> issuers;
  for (const IssuerOptions& options : options_) {
    stamps_.push_back(stamp_of(options.keys));
    std::shared_ptr<const KeySet> keys = read(options, error);
    if (keys == nullptr) return *error = "auth.issuers: " + options.name + ": " + *error, false;
    issuers.push_back({options, std::move(keys)});
  }
  told_.resize(options_.size());
  publish(std::move(issuers));
  return true;
}

void Issuers::publish(std::vector<Issuer> issuers) {
  auto trust = std::make_shared<Trust>();
  trust->issuers = std::move(issuers);
  trust->version = version() + 1;
  const uint64_t now = trust->version;
  std::shared_ptr<const Trust> last = std::move(trust);
  {
    std::lock_guard<std::mutex> lock(mutex_);
    trust_.swap(last);
  }
  version_.store(now, std::memory_order_release);
}

void Issuers::reload(bool all) {
  if (empty()) return;
  std::vector<Issuer> issuers = trust()->issuers;
  bool changed = false;
  for (size_t i = 0; i < issuers.size(); ++i) {
    const IssuerOptions& options = issuers[i].options;
    const FileStamp stamp = stamp_of(options.keys);
    if (!all && stamp == stamps_[i]) continue;
    std::string error;
    std::shared_ptr<const KeySet> keys = read(options, &error);
    if (keys == nullptr) {
      // Tried again at each look, since what is wrong may pass without a change of the file; told once.
      if (error != told_[i]) {
        log::error("token keys not reloaded: the old ones stay", {{"issuer", options.name}, {"why", error}});
      }
      told_[i] = std::move(error);
      continue;
    }
    stamps_[i] = stamp;
    told_[i].clear();
    log::info("token keys reloaded",
              {{"issuer", options.name}, {"keys", keys->size()}, {"left_out", keys->left_out()}});
    issuers[i].keys = std::move(keys);
    changed = true;
  }
  if (changed) publish(std::move(issuers));
}

}  // namespace drover::engine::auth
