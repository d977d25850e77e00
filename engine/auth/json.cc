#include "engine/auth/json.h"

#include <nlohmann/json.hpp>

namespace drover::engine::auth {
namespace {

// Of one object: each is compared with all before it.
constexpr size_t kMostNames = 128;

// Builds the tree from nlohmann's events; false from a function ends the parse. The values that are open lie one in the
// other, each as the last item of the one around it, so that pointers to them stay good while items are added.
class Builder final : public nlohmann::json_sax<nlohmann::json> {
 public:
  Builder(const JsonLimits& limits, Json* out) : limits_(limits), out_(out) {}

  bool null() override { return add(Json::Kind::kNull) != nullptr; }
  bool boolean(bool value) override {
    Json* added = add(Json::Kind::kBool);
    if (added != nullptr) added->boolean = value;
    return added != nullptr;
  }
  bool number_integer(number_integer_t value) override {
    return number(static_cast<double>(value), std::to_string(value));
  }
  bool number_unsigned(number_unsigned_t value) override {
    return number(static_cast<double>(value), std::to_string(value));
  }
  bool number_float(number_float_t value, const string_t& written) override { return number(value, written); }
  bool string(string_t& value) override {
    Json* added = add(Json::Kind::kString);
    if (added != nullptr) added->text = std::move(value);
    return added != nullptr;
  }
  bool binary(binary_t&) override { return fail(JsonError::kMalformed); }
  bool start_object(size_t) override { return open(Json::Kind::kObject); }
  bool key(string_t& name) override {
    Json& object = *open_.back();
    if (object.names.size() >= kMostNames) return fail(JsonError::kTooLarge);
    if (object.find(name) != nullptr) return fail(JsonError::kDuplicate);
    object.names.push_back(std::move(name));
    return true;
  }
  bool end_object() override { return close(); }
  bool start_array(size_t) override { return open(Json::Kind::kArray); }
  bool end_array() override { return close(); }
  bool parse_error(size_t, const std::string&, const nlohmann::detail::exception&) override {
    return fail(JsonError::kMalformed);
  }

  JsonError error() const { return error_; }

 private:
  bool fail(JsonError error) {
    if (error_ == JsonError::kOk) error_ = error;
    return false;
  }
  Json* add(Json::Kind kind) {
    if (open_.empty() && kind != Json::Kind::kObject) return fail(JsonError::kMalformed), nullptr;
    if (++values_ > limits_.values) return fail(JsonError::kTooLarge), nullptr;
    Json* added = open_.empty() ? out_ : &open_.back()->items.emplace_back();
    added->kind = kind;
    return added;
  }
  bool number(double value, std::string written) {
    Json* added = add(Json::Kind::kNumber);
    if (added == nullptr) return false;
    added->number = value;
    added->text = std::move(written);
    return true;
  }
  bool open(Json::Kind kind) {
    if (open_.size() >= limits_.depth) return fail(JsonError::kTooLarge);
    Json* added = add(kind);
    if (added != nullptr) open_.push_back(added);
    return added != nullptr;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  const JsonLimits& limits_;
  Json* const out_;
  std::vector<Json*> open_;
  size_t values_ = 0;
  JsonError error_ = JsonError::kOk;
};

}  // namespace

const Json* Json::find(std::string_view name) const {
  for (size_t i = 0; i < names.size() && i < items.size(); ++i) {
    if (names[i] == name) return &items[i];
  }
  return nullptr;
}

size_t Json::memory() const {
  size_t bytes = text.capacity() + names.capacity() * sizeof(std::string) + items.capacity() * sizeof(Json);
  for (const std::string& name : names) bytes += name.capacity();
  for (const Json& item : items) bytes += item.memory();
  return bytes;
}

JsonError parse_object(std::string_view text, const JsonLimits& limits, Json* out) {
  *out = Json();
  if (text.size() > limits.bytes) return JsonError::kTooLarge;
  // nlohmann takes a NUL for the end, and skips a byte order mark; JSON has neither.
  if (text.find('\0') != std::string_view::npos || text.starts_with('\xEF')) return JsonError::kMalformed;
  Builder builder(limits, out);
  const bool whole = nlohmann::json::sax_parse(text.begin(), text.end(), &builder);
  if (builder.error() != JsonError::kOk) return builder.error();
  return whole ? JsonError::kOk : JsonError::kMalformed;
}

}  // namespace drover::engine::auth
