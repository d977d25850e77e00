// Which messages have a fixed shape, and where their members lie (docs/lines.md, "Messages of fixed shape").
//
//   members by alignment, the largest first, then by field number | presence bits | padding to the alignment
//
// A layout has a text, which holds all that both sides must agree on: numbers, types, offsets, maxima, presence, the
// enums' values. Its hash is what they compare.
#pragma once

#include <google/protobuf/descriptor.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "compiler/names.h"
#include "schema/model.h"

namespace drover::compiler {

inline constexpr uint32_t kMostFixedBytes = 12'288;  // a message's lines hold no more (channel/channel.toml)
inline constexpr uint32_t kFixedBySize = 960;        // LINE_FORM_BY_SIZE

struct FixedField {
  const FieldDescriptor* field;
  uint32_t offset, size, align;
  uint32_t max_bytes;  // of a string or bytes
  int presence = -1;   // its bit
  bool utf8 = false;
};

struct FixedLayout {
  std::vector<FixedField> fields;  // as they lie
  uint32_t presence_at = 0, presence_bytes = 0;
  uint32_t size = 0, align = 1;  // with padding
  uint32_t padding_at = 0;
  std::string text;
};

// FNV-1a (Fowler, Noll, Vo), 64 bits.
uint64_t layout_hash(const std::string& text);

// Options of drover/options.proto, which this program sees as unknown fields.
bool is_lines_service(const google::protobuf::ServiceDescriptor* service, const Options& options);
// Whether messages of this file may have a fixed shape: it imports drover/options.proto, or the option `lines` is
// given.
bool has_lines(const FileDescriptor* file, const Options& options);
inline constexpr const char* kOptionsFile = "drover/options.proto";

class FixedLayouts {
 public:
  // `schema` outlives this.
  FixedLayouts(const schema::Schema* schema, const Options& options) : schema_(*schema), options_(options) {}

  // Null: the codec's. Stays valid.
  const FixedLayout* find(const Descriptor* message);
  // "codec:" and its name, or the layout's text.
  std::string text_of(const Descriptor* message);
  // What is wrong with a message's options; empty: nothing.
  std::string check(const Descriptor* message);

 private:
  // Why it has no fixed shape; empty: `out` is its layout.
  std::string lay_out(const Descriptor* message, FixedLayout* out);
  std::string lay_out_field(const FieldDescriptor* field, FixedField* out);
  std::string field_text(const FixedField& field);
  const schema::FieldModel* model_of(const FieldDescriptor* field) const;

  const schema::Schema& schema_;
  const Options options_;
  std::map<const Descriptor*, std::unique_ptr<FixedLayout>> found_;  // null: none, or being laid out
};

}  // namespace drover::compiler
