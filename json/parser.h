// Parser: one JSON text into one object (parse.cc), with the well-known types' own forms (parse_well_known.cc).
//
// Recursion follows the text's brackets, whose depth is limited; every function that reads a value gets the number that
// may still open. Functions return false on an error, which the lexer holds.
#pragma once

#include <set>
#include <string_view>
#include <vector>

#include "codec/encode/encode.h"
#include "json/json.h"
#include "json/lexer.h"
#include "message/edit.h"
#include "message/names.h"
#include "message/path.h"
#include "object/arena.h"

namespace drover::json {

// More nesting than this is refused whatever the options say: a bracket of a Value is three objects, and the
// operations on objects (message/operations.h) go 1000 deep.
inline constexpr int kMostDepth = 330;

class Parser {
 public:
  Parser(std::string_view text, const ParseOptions& options) : options_(options), lexer_(text, &path_) {}
  Result run(const schema::MessageType& type, Message* object);

 private:
  using FieldEntry = schema::FieldEntry;
  using MessageType = schema::MessageType;

  // Which fields, and which oneofs, of one message (or which old entries of a map) the text has set: a stack of bits.
  class Seen {
   public:
    Seen(Parser* parser, size_t bits) : stack_(&parser->seen_), base_(stack_->size()) {
      stack_->resize(base_ + (bits + 63) / 64);
    }
    Seen(const Seen&) = delete;
    Seen& operator=(const Seen&) = delete;
    ~Seen() { stack_->resize(base_); }
    bool mark(size_t bit) {  // false if it was marked before
      uint64_t& word = (*stack_)[base_ + bit / 64];
      const uint64_t mask = uint64_t{1} << (bit % 64);
      const bool fresh = (word & mask) == 0;
      word |= mask;
      return fresh;
    }

   private:
    std::vector<uint64_t>* stack_;
    size_t base_;
  };

  // The outcome of reading an enum's text.
  enum class EnumText : uint8_t {
    kFailed,
    kStored,
    kUnknownNumber,  // which a closed enum does not hold: it goes among the unknown fields
    kIgnored,        // an unknown name, with ignore_unknown
  };

  // ---- values. `object` has the type; `depth` brackets may open in the value.
  bool message(const MessageType& type, char* object, int depth);
  bool fields(const MessageType& type, char* object, int depth, bool in_any);
  bool unknown_field(const MessageType& type, std::string_view name, int depth);
  bool extension(const MessageType& type, const MessageType& extension, char* object, int depth,
                 std::set<uint32_t>* seen);
  bool field(const MessageType& type, char* object, const FieldEntry& field, int depth);
  bool mark_seen(const MessageType& type, const FieldEntry& field, size_t name_at, Seen* seen);
  bool singular(const MessageType& type, char* object, const FieldEntry& field, int depth);
  bool list(const MessageType& type, char* object, const FieldEntry& field, int depth);
  bool element(const MessageType& type, char* object, const FieldEntry& field, int depth);
  bool map(const MessageType& type, char* object, const FieldEntry& field, int depth);
  bool map_entry(const MessageType& type, char* object, const FieldEntry& field, int depth, uint32_t old_entries,
                 Seen* seen, Scope* scope);
  bool map_key(const FieldEntry& key, std::string_view text, char* entry);
  bool unknown_map_entry(const MessageType& entry, char* object, const FieldEntry& field, const char* added);
  bool takes_null(const MessageType& type, const FieldEntry& field) const;

  // ---- scalars, written to `to` as an object stores them
  bool scalar(const FieldEntry& field, char* to);
  bool number_text(std::string_view* text);
  bool integer(schema::Kind kind, std::string_view text, char* to);
  bool real(schema::Kind kind, char* to);
  EnumText enum_value(const MessageType& type, const FieldEntry& field, int32_t* number);
  bool unknown_enum(char* object, const FieldEntry& field, int32_t number);
  bool string(const FieldEntry& field, String* to);
  bool store_string(std::string_view bytes, String* to);

  // ---- well-known types
  bool any(const MessageType& type, char* object, int depth);
  bool any_url(int depth, std::string* url, bool* empty);
  bool any_content(const MessageType& type, char* object, int depth);
  bool any_value(const MessageType& type, char* object, int depth);
  bool type_key(bool* seen_type, int depth);
  bool time(const MessageType& type, char* object, bool is_duration);
  bool field_mask(const MessageType& type, char* object);
  bool value(const MessageType& type, char* object, int depth);

  // ---- failure: always false
  bool fail(Error error, std::string_view expected) { return lexer_.fail(error, expected); }
  bool fail_at_token(Error error, std::string_view expected) { return lexer_.fail_at(error, expected, lexer_.token()); }
  bool no_memory() { return fail_at_token(Error::kOutOfMemory, "room in the message's arena"); }

  const ParseOptions& options_;
  Path path_;
  Lexer lexer_;
  message::Names names_;
  Arena* arena_ = nullptr;  // of the object that is being read
  std::vector<uint64_t> seen_;
  std::vector<Lexer::TypeKey> type_keys_;  // of Anys whose @type is not their first key, by their place in the text
  size_t type_keys_until_ = 0;             // up to where the text was searched for them
  Encoded encoded_;                        // for the content of Anys
};

}  // namespace drover::json
