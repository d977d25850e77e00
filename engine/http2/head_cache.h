// Recognises header blocks that a peer repeats. A gRPC client sends the same few bytes for every call of a method:
// once its fields lie in the dynamic table, the block that names them is a constant, but for the time-out. So a
// connection remembers its last blocks by their bytes, with what they meant (a Head), and need not decode them again.
//
//   block:   | prefix, equal | value of one variable field, a literal | suffix, equal |
//
// A remembered block is good as long as the dynamic table is what it was: blocks that change it are not remembered,
// and a change of the table forgets all.
//
// Some clients put the time-out into the table, so that every block is another one. Those are decoded, and recognised
// by their fields: what they mean is not built again.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/http2/budget.h"
#include "engine/http2/hpack_decoder.h"

namespace drover::engine::http2 {

// What a request's or a response's header block said, as the session's handler keeps it. Counted by reference, since
// calls whose blocks are alike share it. Of one thread.
class Head {
 public:
  // `content_length`: -1 if the block has none.
  explicit Head(int64_t content_length) : content_length_(content_length) {}
  Head(const Head&) = delete;
  Head& operator=(const Head&) = delete;

  int64_t content_length() const { return content_length_; }
  // Heap bytes, for the connection's budget.
  virtual size_t memory() const = 0;
  // Counts memory() there as long as the head lives. Once.
  void charge_to(std::shared_ptr<ByteBudget> budget) {
    budget_ = std::move(budget);
    charged_ = memory();
    budget_->charge(charged_);
  }
  // Of what it has taken since.
  void charge_more(size_t bytes) {
    if (budget_ == nullptr) return;
    budget_->charge(bytes);
    charged_ += bytes;
  }

 protected:
  virtual ~Head() {
    if (budget_) budget_->release(charged_);
  }

 private:
  friend class HeadRef;
  uint32_t references_ = 0;
  std::shared_ptr<ByteBudget> budget_;
  size_t charged_ = 0;
  const int64_t content_length_;
};

class HeadRef {
 public:
  HeadRef() = default;
  explicit HeadRef(Head* head) : head_(head) { hold(); }
  HeadRef(const HeadRef& other) : head_(other.head_) { hold(); }
  HeadRef(HeadRef&& other) noexcept : head_(std::exchange(other.head_, nullptr)) {}
  HeadRef& operator=(HeadRef other) noexcept {
    std::swap(head_, other.head_);
    return *this;
  }
  ~HeadRef() { reset(); }
  void reset() {
    if (head_ && --head_->references_ == 0) delete head_;
    head_ = nullptr;
  }
  Head* get() const { return head_; }
  explicit operator bool() const { return head_ != nullptr; }

 private:
  void hold() {
    if (head_) ++head_->references_;
  }
  Head* head_ = nullptr;
};

class HeadCache {
 public:
  static constexpr size_t kEntries = 4;
  static constexpr size_t kMaxBlock = 512;  // longer blocks are not remembered: they carry what does not repeat
  static constexpr size_t kMaxHead = 4096;  // nor those that mean more than this
  static constexpr size_t kNoField = SIZE_MAX;

  // The head of a remembered block with these bytes, or null. `variable` is the variable field's value (it may lie in
  // `scratch`); empty if the block has none.
  Head* find(std::string_view block, uint64_t table_version, std::string& scratch, std::string_view& variable);
  // Remembers a block that left the table as it was. `variable_value` lies in it, or is empty.
  void remember(std::string_view block, uint64_t table_version, BlockRange variable_value, const HeadRef& head);
  // The head of remembered fields that are the same but for the value of the one at `variable_at` (kNoField: none), or
  // null.
  Head* find_fields(const std::vector<Field>& fields, size_t variable_at) const;
  void remember_fields(const std::vector<Field>& fields, size_t variable_at, const HeadRef& head);
  size_t memory() const;

 private:
  struct Entry {
    HeadRef head;
    std::string block;
    BlockRange variable;
  };
  // Fields as one text, with the lengths of names and values.
  struct Fields {
    HeadRef head;
    size_t variable_at = kNoField;
    std::string text;
    std::vector<std::pair<uint32_t, uint32_t>> lengths;
  };
  void clear_blocks();
  static bool matches(const Fields& known, const std::vector<Field>& fields, size_t variable_at);
  static bool matches(const Entry& entry, std::string_view block, std::string& scratch, std::string_view& variable);

  std::array<Entry, kEntries> entries_;
  uint64_t table_version_ = 0;
  size_t next_ = 0;
  std::array<Fields, kEntries> fields_;
  size_t next_fields_ = 0;
};

}  // namespace drover::engine::http2
