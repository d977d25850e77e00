// The fields of one header block, copied out of the block and the tables, up to a limit. Scratch memory of a thread:
// one list is filled, read and cleared for each block.
#pragma once

#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

#include "engine/http2/header_table.h"

namespace drover::engine::http2 {

class FieldList {
 public:
  // `max_size` as SETTINGS_MAX_HEADER_LIST_SIZE counts: names, values and 32 bytes a field.
  explicit FieldList(size_t max_size) : max_size_(max_size), bytes_(new char[max_size]) {}

  void clear() {
    fields_.clear();
    used_ = size_ = 0;
    too_large_ = false;
  }
  // Past the limit, fields are dropped and too_large() says so.
  void add(std::string_view name, std::string_view value) {
    size_ += field_size(name, value);
    if (size_ > max_size_) {
      too_large_ = true;
      return;
    }
    fields_.push_back({copy(name), copy(value)});
  }

  // Valid until clear().
  const std::vector<Field>& fields() const { return fields_; }
  bool too_large() const { return too_large_; }
  size_t size() const { return size_; }

 private:
  std::string_view copy(std::string_view text) {
    char* to = bytes_.get() + used_;
    if (!text.empty()) std::memcpy(to, text.data(), text.size());
    used_ += text.size();
    return {to, text.size()};
  }

  const size_t max_size_;
  const std::unique_ptr<char[]> bytes_;  // never grows: views stay valid
  size_t used_ = 0;
  size_t size_ = 0;
  bool too_large_ = false;
  std::vector<Field> fields_;
};

}  // namespace drover::engine::http2
