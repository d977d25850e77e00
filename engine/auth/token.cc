#include "engine/auth/token.h"

#include <cmath>

#include "engine/auth/base64url.h"

namespace drover::engine::auth {
namespace {

AuthError error_of(JsonError error) {
  switch (error) {
    case JsonError::kOk:
      return AuthError::kNone;
    case JsonError::kTooLarge:
      return AuthError::kTooLarge;
    case JsonError::kMalformed:
    case JsonError::kDuplicate:
      break;
  }
  return AuthError::kMalformed;
}

// The next part of the compact form, up to a dot.
std::string_view take_part(std::string_view* rest) {
  const size_t dot = rest->find('.');
  const std::string_view part = rest->substr(0, dot);
  rest->remove_prefix(dot == std::string_view::npos ? rest->size() : dot + 1);
  return part;
}

AuthError read_header(std::string_view part, Token* out) {
  std::string text;
  if (part.size() > kHeaderLimits.bytes * 4 / 3 + 1) return AuthError::kTooLarge;
  if (!decode_base64url(part, &text)) return AuthError::kMalformed;
  Json header;
  if (AuthError error = error_of(parse_object(text, kHeaderLimits, &header)); error != AuthError::kNone) return error;
  if (header.find("crit") != nullptr || header.find("b64") != nullptr) return AuthError::kCritical;
  const Json* algorithm = header.find("alg");
  if (algorithm == nullptr || !algorithm->is(Json::Kind::kString)) return AuthError::kMalformed;
  const std::optional<Algorithm> known = find_algorithm(algorithm->text);
  if (!known) return AuthError::kAlgorithm;
  out->algorithm = *known;
  if (const Json* id = header.find("kid")) {
    if (!id->is(Json::Kind::kString)) return AuthError::kMalformed;
    out->key_id = id->text;
  }
  if (const Json* type = header.find("typ")) {
    if (!type->is(Json::Kind::kString)) return AuthError::kMalformed;
    out->type = type->text;
  }
  return AuthError::kNone;
}

// A NumericDate. False: another type.
bool read_time(const Json& claims, const char* name, bool up, std::optional<int64_t>* out) {
  constexpr double kFar = 1e15;  // seconds: 30 million years
  const Json* found = claims.find(name);
  if (found == nullptr) return true;
  if (!found->is(Json::Kind::kNumber)) return false;
  const double seconds = up ? std::ceil(found->number) : std::floor(found->number);
  *out = static_cast<int64_t>(std::fmin(std::fmax(seconds, -kFar), kFar));
  return true;
}

bool is_texts(const Json& value) {
  if (value.is(Json::Kind::kString)) return true;
  if (!value.is(Json::Kind::kArray)) return false;
  for (const Json& item : value.items) {
    if (!item.is(Json::Kind::kString)) return false;
  }
  return true;
}

AuthError check_types(Token* out) {
  const Json& claims = out->claims;
  for (const char* name : {"iss", "sub", "jti", "scope"}) {
    const Json* found = claims.find(name);
    if (found != nullptr && !found->is(Json::Kind::kString)) return AuthError::kMissingClaim;
  }
  const Json* audience = claims.find("aud");
  if (audience != nullptr && !is_texts(*audience)) return AuthError::kMissingClaim;
  if (!read_time(claims, "exp", false, &out->expires_s) || !read_time(claims, "nbf", true, &out->not_before_s)) {
    return AuthError::kMissingClaim;
  }
  if (const Json* issuer = claims.find("iss")) out->issuer = issuer->text;
  return AuthError::kNone;
}

}  // namespace

AuthError read_token(std::string_view text, Token* out) {
  std::string_view rest = text;
  const std::string_view header = take_part(&rest);
  const std::string_view payload = take_part(&rest);
  const std::string_view signature = rest;
  // A second dot there must be, and no third; "none" would leave the last part empty.
  if (header.empty() || payload.empty() || signature.empty() || signature.find('.') != std::string_view::npos) {
    return AuthError::kMalformed;
  }
  if (AuthError error = read_header(header, out); error != AuthError::kNone) return error;
  std::string decoded;
  if (!decode_base64url(signature, &out->signature) || !decode_base64url(payload, &decoded)) {
    return AuthError::kMalformed;
  }
  if (AuthError error = error_of(parse_object(decoded, kClaimsLimits, &out->claims)); error != AuthError::kNone) {
    return error;
  }
  out->signed_part = text.substr(0, header.size() + 1 + payload.size());
  return check_types(out);
}

std::vector<std::string_view> texts_of(const Json& claims, std::string_view name) {
  std::vector<std::string_view> texts;
  const Json* found = claims.find(name);
  if (found == nullptr || !is_texts(*found)) return texts;
  if (found->is(Json::Kind::kString)) return {found->text};
  for (const Json& item : found->items) texts.push_back(item.text);
  return texts;
}

std::vector<std::string_view> scopes_of(const Json& claims) {
  const bool standard = claims.find("scope") != nullptr;
  std::vector<std::string_view> scopes;
  for (std::string_view rest : texts_of(claims, standard ? "scope" : "scp")) {
    while (!rest.empty()) {
      const std::string_view one = rest.substr(0, rest.find(' '));
      rest.remove_prefix(one.size() == rest.size() ? one.size() : one.size() + 1);
      if (!one.empty()) scopes.push_back(one);
    }
  }
  return scopes;
}

}  // namespace drover::engine::auth
