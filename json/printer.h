// Printer: one object as JSON text (print.cc), with the well-known types' own forms (print_well_known.cc).
//
// The object is trusted. Functions return false on an error: too deep, or a well-known type whose content has no JSON
// form.
#pragma once

#include <string>
#include <string_view>

#include "json/json.h"
#include "message/extensions.h"
#include "message/path.h"
#include "message/raw.h"
#include "object/map.h"
#include "object/repeated.h"

namespace drover::json {

using message::Path;
using message::Scope;

class Printer {
 public:
  Printer(const PrintOptions& options, std::string* out) : options_(options), out_(*out) {}
  Result run(const schema::MessageType& type, const Message& object);

 private:
  using FieldEntry = schema::FieldEntry;
  using MessageType = schema::MessageType;

  bool message(const MessageType& type, const char* object, int depth);
  // The fields of an object whose '{' is written; `first`: no field has been written yet.
  bool fields(const MessageType& type, const char* object, int depth, bool first);
  bool extensions(const MessageType& type, const char* object, int depth, bool* first);
  bool field(const MessageType& type, const char* object, const FieldEntry& field, int depth);
  bool list(const MessageType& type, const char* object, const FieldEntry& field, int depth);
  bool map(const MessageType& type, const char* object, const FieldEntry& field, int depth);
  void map_key(const FieldEntry& key, const char* at);
  bool element(const MessageType& type, const FieldEntry& field, const char* at, int depth);
  bool empty_message(const MessageType& type, int depth);
  void scalar(const MessageType& type, const FieldEntry& field, const char* at);
  void enum_value(const MessageType& type, const FieldEntry& field, int32_t number);
  void default_value(const MessageType& type, const FieldEntry& field);
  bool printed_when_absent(const FieldEntry& field) const;

  bool any(const MessageType& type, const char* object, int depth);
  bool any_content(const MessageType& content, std::string_view url, std::string_view wire, int depth);
  bool time(const MessageType& type, const char* object, bool is_duration);
  bool field_mask(const MessageType& type, const char* object);
  bool value(const MessageType& type, const char* object, int depth);

  // ---- text
  void string(std::string_view text);
  void plain_string(std::string_view text);  // one that needs no escapes
  template <typename Write, typename T>
  void number(Write write, T value, bool quoted);
  template <typename T>
  void real(T value);
  void line(int change) {
    level_ += change;
    if (options_.indent <= 0) return;
    out_ += '\n';
    out_.append(static_cast<size_t>(level_) * static_cast<size_t>(options_.indent), ' ');
  }
  void open(char bracket) {
    out_ += bracket;
    ++level_;
  }
  // In front of an element or a key.
  void separate(bool* first) {
    if (!*first) out_ += ',';
    *first = false;
    line(0);
  }
  void close(char bracket, bool empty) {
    if (empty) {
      --level_;
    } else {
      line(-1);
    }
    out_ += bracket;
  }
  void colon() { out_ += options_.indent > 0 ? ": " : ":"; }

  bool fail(Error error, std::string_view expected) {
    error_ = error;
    expected_ = expected;
    path_.keep();
    return false;
  }

  const PrintOptions& options_;
  std::string& out_;
  message::ExtensionFinder finder_;
  int level_ = 0;
  Path path_;
  Error error_ = Error::kOk;
  std::string expected_;
};

}  // namespace drover::json
