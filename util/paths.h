// Paths: what a FieldMask says, as a set of field paths ("user.name") of which one does not lie inside another.
//
// A flat ordered set instead of a tree: a mask comes from clients, and a path of a million parts must not recurse.
#pragma once

#include <google/protobuf/field_mask.pb.h>

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "schema/message_type.h"

namespace drover::util {

// "a..b" -> {"a", "b"}: empty parts are dropped.
std::vector<std::string_view> split(std::string_view text, char separator);

// '.' ranks below all other characters, so that behind a path stand the paths inside it, and then all others.
struct PathOrder {
  using is_transparent = void;
  bool operator()(std::string_view a, std::string_view b) const;
};

class Paths {
 public:
  Paths() = default;
  explicit Paths(const google::protobuf::FieldMask& mask);

  bool empty() const { return paths_.empty(); }
  // A path inside one that is there adds nothing; one around others replaces them.
  void add(std::string_view path);
  // What is in both.
  Paths intersection(const Paths& other) const;
  // Takes the path out. A path around it is replaced by all other fields of its messages. A path that `type` does not
  // have changes nothing.
  void subtract(const schema::MessageType& type, std::string_view path);
  // The field itself is in the set / fields inside it are.
  bool has(std::string_view path) const { return paths_.contains(path); }
  bool has_inside(std::string_view path) const;
  // Replaces the mask's, in order.
  void store(google::protobuf::FieldMask* mask) const;
  const std::set<std::string, PathOrder>& all() const { return paths_; }

 private:
  using Set = std::set<std::string, PathOrder>;

  // Of the paths inside `path`, the first; paths_.end(): there are none.
  Set::const_iterator first_inside(std::string_view path) const;
  void erase_inside(std::string_view path);
  // The path of the set that is `path` or lies around it; paths_.end() if none does.
  Set::const_iterator around(std::string_view path) const;

  Set paths_;
};

}  // namespace drover::util
