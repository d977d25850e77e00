#include "engine/tls/identities.h"

#include <algorithm>
#include <optional>

#include "engine/base/log.h"

namespace drover::engine::tls {
namespace {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// The parts that are not empty, without spaces around.
std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const size_t end = std::min(text.find(at), text.size());
    if (std::string_view part = trimmed(text.substr(0, end)); !part.empty()) parts.push_back(part);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

std::vector<std::string> strings(const std::vector<std::string_view>& views) { return {views.begin(), views.end()}; }

std::optional<ClientCertificates> parse_clients(std::string_view text) {
  if (text == "none") return ClientCertificates::kNone;
  if (text == "request") return ClientCertificates::kRequest;
  if (text == "require") return ClientCertificates::kRequire;
  return std::nullopt;
}

bool matches(std::string_view pattern, std::string_view address) {
  if (!pattern.ends_with('*')) return pattern == address;
  return address.starts_with(pattern.substr(0, pattern.size() - 1));
}

bool check_files(const IdentityFiles& files, std::string* error) {
  const std::string name = "identity " + files.name + ": ";
  if (files.certificates.empty()) return *error = name + "it has no certificate", false;
  if (files.certificates.size() != files.keys.size()) {
    *error = name + std::to_string(files.certificates.size()) + " certificates and " +
             std::to_string(files.keys.size()) + " keys";
    return false;
  }
  if (files.clients != ClientCertificates::kNone && files.client_ca.empty()) {
    return *error = name + "clients' certificates are asked for, but it has no client_ca", false;
  }
  if (files.clients == ClientCertificates::kNone && !files.client_ca.empty()) {
    return *error = name + "it has a client_ca, but asks for no certificates (clients=request or require)", false;
  }
  return true;
}

}  // namespace

bool Identities::parse_identities(std::string_view text, std::string* error) {
  for (std::string_view one : split(text, ';')) {
    const std::vector<std::string_view> words = split(one, ' ');
    IdentityFiles files;
    files.name = words[0];
    if (files.name.find('=') != std::string::npos) {
      return *error = "tls.identities: '" + std::string(one) + "' begins without a name", false;
    }
    for (size_t i = 1; i < words.size(); ++i) {
      const size_t equals = words[i].find('=');
      const std::string_view key = words[i].substr(0, equals);
      const std::string value(equals == std::string_view::npos ? "" : words[i].substr(equals + 1));
      const std::optional<ClientCertificates> clients = parse_clients(value);
      if (key == "certificate" && !value.empty()) {
        files.certificates.push_back(value);
      } else if (key == "key" && !value.empty()) {
        files.keys.push_back(value);
      } else if (key == "client_ca" && !value.empty()) {
        files.client_ca = value;
      } else if (key == "clients" && clients) {
        files.clients = *clients;
      } else {
        *error = "tls.identities: '" + std::string(words[i]) +
                 "': expected certificate=FILE, key=FILE, client_ca=FILE, or clients=none, request or require";
        return false;
      }
    }
    identities_.push_back({std::move(files), nullptr, {}, {}});
  }
  return true;
}

bool Identities::parse_listen(std::string_view text, std::string* error) {
  for (std::string_view group : split(text, ';')) {
    const size_t equals = group.find('=');
    const std::string name(equals == std::string_view::npos ? "default" : trimmed(group.substr(0, equals)));
    if (find(name) == nullptr) return *error = "tls.listen: there is no identity '" + name + "'", false;
    for (std::string_view pattern : split(equals == std::string_view::npos ? group : group.substr(equals + 1), ',')) {
      rules_.push_back({name, std::string(pattern), canonical_(pattern)});
    }
  }
  return true;
}

bool Identities::load(const IdentityOptions& options, std::string* error) {
  least_ = options.least;
  canonical_ = options.canonical;
  if (!options.certificate.empty() || !options.key.empty()) {
    IdentityFiles files;
    files.name = "default";
    files.certificates = strings(split(options.certificate, ','));
    files.keys = strings(split(options.key, ','));
    files.client_ca = options.client_ca;
    files.clients = parse_clients(options.clients).value_or(ClientCertificates::kNone);
    identities_.push_back({std::move(files), nullptr, {}, {}});
  } else if (!options.client_ca.empty() ||
             parse_clients(options.clients).value_or(ClientCertificates::kNone) != ClientCertificates::kNone) {
    *error = "tls.client_ca and tls.clients are of the default identity, which has no tls.certificate and tls.key";
    return false;
  }
  if (!parse_identities(options.identities, error)) return false;
  for (size_t i = 0; i < identities_.size(); ++i) {
    Identity& identity = identities_[i];
    for (size_t other = 0; other < i; ++other) {
      if (identities_[other].files.name != identity.files.name) continue;
      return *error = "tls.identities: the name '" + identity.files.name + "' is given twice", false;
    }
    if (!check_files(identity.files, error)) return false;
    identity.stamps = stamps_of(identity.files);
    std::shared_ptr<const Context> context = read(identity.files, error);
    if (context == nullptr) return *error = "identity " + identity.files.name + ": " + *error, false;
    identity.server = std::make_shared<Server>(std::move(context));
  }
  return parse_listen(options.listen, error);
}

std::vector<FileStamp> Identities::stamps_of(const IdentityFiles& files) {
  std::vector<FileStamp> stamps;
  for (const std::string& path : files.certificates) stamps.push_back(stamp_of(path));
  for (const std::string& path : files.keys) stamps.push_back(stamp_of(path));
  stamps.push_back(stamp_of(files.client_ca));
  return stamps;
}

std::shared_ptr<const Context> Identities::read(const IdentityFiles& files, std::string* error) const {
  Credentials credentials;
  credentials.clients = files.clients;
  for (size_t i = 0; i < files.certificates.size(); ++i) {
    Credentials::Pair& pair = credentials.pairs.emplace_back();
    if (!read_small_file(files.keys[i], kMaxPems, &pair.key, error) ||
        !read_small_file(files.certificates[i], kMaxPems, &pair.chain, error)) {
      return nullptr;
    }
  }
  if (!files.client_ca.empty() && !read_small_file(files.client_ca, kMaxPems, &credentials.roots, error))
    return nullptr;
  return Context::make(credentials, least_, error);
}

void Identities::reload(bool all) {
  for (Identity& identity : identities_) {
    std::vector<FileStamp> stamps = stamps_of(identity.files);
    if (!all && stamps == identity.stamps) continue;
    std::string error;
    std::shared_ptr<const Context> context = read(identity.files, &error);
    if (context == nullptr) {
      // Tried again at each look, since what is wrong may pass without a change of the files; told once.
      if (error != identity.told) {
        log::error("certificates not reloaded: the old ones stay", {{"identity", identity.files.name}, {"why", error}});
      }
      identity.told = std::move(error);
      continue;
    }
    identity.stamps = std::move(stamps);
    identity.told.clear();
    log::info("certificates reloaded", {{"identity", identity.files.name}, {"certificate", context->describe()}});
    identity.server->replace(std::move(context));
  }
}

std::vector<IdentityFiles> Identities::files() const {
  std::vector<IdentityFiles> all;
  for (const Identity& identity : identities_) all.push_back(identity.files);
  return all;
}

std::vector<std::pair<std::string, std::string>> Identities::listens() const {
  std::vector<std::pair<std::string, std::string>> all;
  for (const Rule& rule : rules_) all.emplace_back(rule.pattern, rule.identity);
  return all;
}

std::shared_ptr<const Server> Identities::find(std::string_view name) const {
  for (const Identity& identity : identities_) {
    if (identity.files.name == name) return identity.server;
  }
  return nullptr;
}

std::string_view Identities::for_address(std::string_view address) const {
  const std::vector<std::string> spellings = canonical_(address);
  for (const Rule& rule : rules_) {
    if (matches(rule.pattern, address)) return rule.identity;
    for (const std::string& one : spellings) {
      const bool same = std::find(rule.canonical.begin(), rule.canonical.end(), one) != rule.canonical.end();
      if (same || matches(rule.pattern, one)) return rule.identity;
    }
  }
  return {};
}

}  // namespace drover::engine::tls
