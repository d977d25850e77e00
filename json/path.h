// Where in a message the parser or printer is, for errors: a chain of scopes on the stack, made a text only when
// something goes wrong.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "message/raw.h"
#include "object/map.h"
#include "object/repeated.h"
#include "schema/message_type.h"

namespace drover::json {

class Scope;

// The chain's innermost scope, and the path once it has been kept.
struct Path {
  const Scope* innermost = nullptr;
  bool kept = false;
  std::string text;
};

// Inside a field, an element of a list, or an entry of a map, as long as it lives.
class Scope {
 public:
  // A field; `name` outlives the scope.
  Scope(Path* path, std::string_view name) : path_(path), outer_(path->innermost), name_(name) {
    path->innermost = this;
  }
  // Elements of a list, the one that set_index says, or the entry of a map that set_entry says.
  explicit Scope(Path* path) : path_(path), outer_(path->innermost) { path->innermost = this; }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
  ~Scope() { path_->innermost = outer_; }

  void set_index(int64_t index) { index_ = index; }
  void set_entry(const char* entry, const schema::FieldEntry* key) {
    entry_ = entry;
    key_ = key;
  }
  const Scope* outer() const { return outer_; }
  void append_to(std::string* text) const;

 private:
  Path* path_;
  const Scope* outer_;
  std::string_view name_;
  int64_t index_ = -1;
  const char* entry_ = nullptr;
  const schema::FieldEntry* key_ = nullptr;
};

// Makes the text of the path, unless that was done before: "items[2].prices[\"a\"]".
void keep(Path* path);

}  // namespace drover::json
