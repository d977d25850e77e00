// Parser: one text into one object: messages, fields, lists and maps (parse.cc), scalars (parse_scalar.cc), extensions
// and Anys (parse_extension.cc), and what is skipped (skip.cc).
//
// Recursion follows the text's messages, whose depth is limited; functions get how many may still open. Functions
// return false on an error, which the lexer holds.
#pragma once

#include <set>
#include <string_view>

#include "codec/encode/encode.h"
#include "message/edit.h"
#include "message/extensions.h"
#include "message/names.h"
#include "message/path.h"
#include "object/arena.h"
#include "text/lexer.h"
#include "text/text.h"

namespace drover::text {

class Parser {
 public:
  Parser(std::string_view text, const ParseOptions& options) : options_(options), lexer_(text, &path_) {}
  Result run(const schema::MessageType& type, Message* object);

 private:
  using FieldEntry = schema::FieldEntry;
  using MessageType = schema::MessageType;

  // A message whose fields are being read.
  struct Open {
    MessageType type;
    char* object;
    int depth;                      // messages that may open in it
    uint32_t next = 0;              // Names::find_field
    std::set<uint32_t> extensions;  // singular ones that the text has set
  };
  // The entry of a map, and which of its two fields are set: it has no presence of its own.
  struct OpenEntry {
    Open fields;
    bool set[2] = {false, false};
  };

  // ---- messages
  bool open(char* close);  // takes '{' or '<'; *close is what ends the message
  bool message(const MessageType& type, char* object, int depth);
  bool fields(Open* in);  // up to the end of the message, or of the text
  bool field(Open* in);
  bool take_name(std::string_view* name);
  bool is_number(std::string_view name, uint32_t* number) const;
  const FieldEntry* find(Open* in, std::string_view name);
  bool unknown_name(const Open& in, std::string_view name, size_t name_at);
  void take_separator();

  // ---- a field's value, behind its name
  bool known_field(Open* in, const FieldEntry& field, size_t name_at);
  bool may_set(const Open& in, const FieldEntry& field, size_t name_at);
  bool value(const MessageType& type, char* object, const FieldEntry& field, int depth);
  bool one_value(const MessageType& type, char* object, const FieldEntry& field, int depth);
  bool singular(const MessageType& type, char* object, const FieldEntry& field, int depth);
  bool element(const MessageType& type, char* object, const FieldEntry& field, int depth);
  bool map_entry(const MessageType& type, char* object, const FieldEntry& field, int depth);
  bool entry_value(const Open& in, const FieldEntry& field);
  bool entry_fields(OpenEntry* in, Scope* scope);

  // ---- extensions and Anys
  bool bracketed(Open* in);
  bool extension(Open* in, const MessageType& extension, size_t name_at);
  bool unknown_extension(const Open& in, std::string_view name, size_t name_at);
  bool any(Open* in, const std::string& url, size_t name_at);

  // ---- scalars, written to `to` as an object stores them
  enum class Scalar : uint8_t {
    kFailed,
    kStored,
    kSkipped
  };  // skipped: an unknown enum value, with allow_unknown_enum
  Scalar scalar(const MessageType& type, const FieldEntry& field, char* to);
  bool unsigned_integer(uint64_t most, uint64_t* value);
  bool signed_integer(int64_t most, int64_t* value);
  bool boolean(char* to);
  bool real(double* value);
  Scalar enum_value(const MessageType& type, const FieldEntry& field, char* to);
  bool string(const FieldEntry& field, String* to);
  bool store_string(std::string_view bytes, String* to);

  // ---- what the schema does not know
  bool skip_field(int depth);
  bool skip_after_name(int depth);
  bool skip_value(int depth);
  bool skip_message(int depth);

  // ---- failure: always false
  bool fail(Error error, std::string_view expected) { return lexer_.fail(error, expected); }
  bool no_memory() { return fail(Error::kOutOfMemory, "room in the message's arena"); }
  bool too_deep() { return fail(Error::kDepthLimit, "less nesting"); }

  const ParseOptions& options_;
  Path path_;
  Lexer lexer_;
  message::Names names_{message::FieldNames::kText};
  message::Names any_case_names_{message::FieldNames::kTextAnyCase};
  message::ExtensionFinder extensions_;
  Arena* arena_ = nullptr;  // of the object that is being read
  Encoded encoded_;         // for extensions and the content of Anys
};

}  // namespace drover::text
