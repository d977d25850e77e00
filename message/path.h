// The place of the parser or printer in a message, for errors: a stack of frames, turned into text only on an error.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "message/raw.h"
#include "object/map.h"
#include "object/repeated.h"
#include "schema/message_type.h"

namespace drover::message {

class Path {
 public:
  // Makes the text of the open frames, unless it was made before: "items[2].prices[\"a\"]".
  void keep();
  const std::string& text() const { return text_; }

 private:
  friend class Scope;
  struct Frame {
    std::string_view name;        // of a field; else
    int64_t index = -1;           // of a list's element; else
    const char* entry = nullptr;  // of a map, whose key is
    const schema::FieldEntry* key = nullptr;
  };
  static void append(const Frame& frame, std::string* text);

  std::vector<Frame> open_;
  bool kept_ = false;
  std::string text_;
};

// Inside a field, an element of a list, or an entry of a map, as long as it lives.
class Scope {
 public:
  // A field; `name` outlives the scope.
  Scope(Path* path, std::string_view name) : path_(path) { path->open_.push_back({name}); }
  // Elements of a list, the one that set_index says, or the entry of a map that set_entry says.
  explicit Scope(Path* path) : path_(path) { path->open_.emplace_back(); }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
  ~Scope() { path_->open_.pop_back(); }

  void set_index(int64_t index) { path_->open_.back().index = index; }
  void set_entry(const char* entry, const schema::FieldEntry* key) {
    path_->open_.back().entry = entry;
    path_->open_.back().key = key;
  }

 private:
  Path* path_;
};

}  // namespace drover::message
