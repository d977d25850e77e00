// Writes the tables one after the other; the sizes of the areas give the offsets into later ones.
//
// A message's slots cover the numbers below N + 1, N being the highest field number with N < kMaxSlots and
// N <= kSlotSlack + 4 * (fields numbered up to N), and kMinSlots at least: dense messages are found in one load, and
// sparse ones do not fill the image with zeros.
#include "schema/image_builder.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <set>
#include <utility>

#include "schema/descriptor_files.h"

namespace drover::schema {
namespace {

constexpr uint32_t kSlotSlack = 16;

static_assert(std::endian::native == std::endian::little, "the image is written as the machine's own integers");

class ImageWriter {
 public:
  explicit ImageWriter(const Schema& schema) : schema_(schema) {}

  BuildResult write() {
    sort_fields();
    place_tables();
    write_defaults();
    for (size_t i = 0; i < schema_.messages.size(); ++i) write_message(i);
    for (const EnumModel& e : schema_.enums) write_enum(e);
    return finish();
  }

 private:
  void sort_fields();
  void place_tables();
  void write_defaults();
  void write_message(size_t index);
  void write_enum(const EnumModel& e);
  BuildResult finish();
  FieldEntry field_entry(const FieldModel& field);
  uint32_t name(const std::string& text);
  uint32_t strings_end() const { return header_.strings + static_cast<uint32_t>(strings_.size()); }

  const Schema& schema_;
  std::vector<std::vector<const FieldModel*>> sorted_;  // the fields of each message by number
  std::map<const FieldModel*, uint32_t> default_at_;
  std::map<std::string, uint32_t> name_at_;
  ImageHeader header_{};
  std::vector<MessageEntry> messages_;
  std::vector<FieldEntry> fields_;
  std::vector<EnumEntry> enums_;
  std::vector<EnumValueEntry> enum_values_;
  std::vector<FieldStep> lookup_;
  std::string strings_;
};

uint32_t slot_count(const std::vector<const FieldModel*>& fields) {
  uint32_t best = kMinSlots - 1;
  for (size_t i = 0; i < fields.size(); ++i) {
    uint32_t number = fields[i]->number;
    if (number > best && number < kMaxSlots && number <= kSlotSlack + 4 * (i + 1)) best = number;
  }
  return best + 1;
}

// The values of an enum by number: the first declared of each number, or the others, its aliases, as declared.
std::vector<const EnumValueModel*> sorted_values(const EnumModel& e, bool aliases) {
  std::vector<const EnumValueModel*> values;
  std::set<int32_t> seen;
  for (const EnumValueModel& value : e.values) {
    if (seen.insert(value.number).second != aliases) values.push_back(&value);
  }
  std::sort(values.begin(), values.end(),
            [](auto* a, auto* b) { return a->number != b->number ? a->number < b->number : a < b; });
  return values;
}

void ImageWriter::sort_fields() {
  for (const MessageModel& message : schema_.messages) {
    auto& fields = sorted_.emplace_back();
    for (const FieldModel& field : message.fields) fields.push_back(&field);
    std::sort(fields.begin(), fields.end(), [](auto* a, auto* b) { return a->number < b->number; });
  }
}

void ImageWriter::place_tables() {
  uint32_t steps = 0;
  for (const auto& fields : sorted_) {
    header_.field_count += static_cast<uint32_t>(fields.size());
    steps += slot_count(fields) + 1 + static_cast<uint32_t>(fields.size());
  }
  for (const EnumModel& e : schema_.enums) {
    header_.enum_value_count += static_cast<uint32_t>(e.values.size());
  }
  header_.magic = kImageMagic;
  header_.version = kImageVersion;
  header_.header_size = sizeof(ImageHeader);
  header_.message_count = static_cast<uint32_t>(schema_.messages.size());
  header_.messages = sizeof(ImageHeader);
  header_.fields = header_.messages + header_.message_count * static_cast<uint32_t>(sizeof(MessageEntry));
  header_.enums = header_.fields + header_.field_count * static_cast<uint32_t>(sizeof(FieldEntry));
  header_.enum_count = static_cast<uint32_t>(schema_.enums.size());
  header_.enum_values = header_.enums + header_.enum_count * static_cast<uint32_t>(sizeof(EnumEntry));
  header_.lookup = header_.enum_values + header_.enum_value_count * static_cast<uint32_t>(sizeof(EnumValueEntry));
  header_.lookup_size = steps * static_cast<uint32_t>(sizeof(FieldStep));
  header_.strings = header_.lookup + header_.lookup_size;
}

// Defaults stand in front of the names, so that scalars are aligned without padding: they come first.
void ImageWriter::write_defaults() {
  for (bool scalars : {true, false}) {
    for (const auto& fields : sorted_) {
      for (const FieldModel* field : fields) {
        if (!field->has_default || field->is_string() == scalars) continue;
        default_at_[field] = strings_end();
        if (scalars) {
          strings_.append(reinterpret_cast<const char*>(&field->default_scalar), 8);
          continue;
        }
        auto length = static_cast<uint32_t>(field->default_string.size());
        strings_.append(reinterpret_cast<const char*>(&length), 4);
        strings_ += field->default_string;
        strings_.append(4 - length % 4, '\0');  // the NUL, and the next one's alignment
      }
    }
  }
}

uint32_t ImageWriter::name(const std::string& text) {
  auto [at, added] = name_at_.emplace(text, strings_end());
  if (added) strings_.append(text.c_str(), text.size() + 1);
  return at->second;
}

FieldEntry ImageWriter::field_entry(const FieldModel& field) {
  FieldEntry entry{};
  entry.number = field.number;
  entry.offset = field.offset;
  entry.kind = static_cast<uint8_t>(field.kind);
  entry.label = field.label;
  entry.wire_type = kWireTypeOfKind[entry.kind];
  uint32_t flags = (field.packed ? kFieldFlagPacked : 0) | (field.utf8_checked ? kFieldFlagUtf8 : 0) |
                   (field.required ? kFieldFlagRequired : 0) | (field.closed_enum ? kFieldFlagClosedEnum : 0) |
                   (field.oneof >= 0 ? kFieldFlagOneof : 0) |
                   (field.explicit_presence ? kFieldFlagExplicitPresence : 0);
  entry.flags = static_cast<uint8_t>(flags);
  entry.has_bit = field.has_bit;
  entry.case_offset = field.case_offset;
  entry.sub = field.sub;
  entry.name = name(field.name);
  entry.json_name = name(field.json_name);
  auto at = default_at_.find(&field);
  entry.default_value = at == default_at_.end() ? 0 : at->second;
  return entry;
}

void ImageWriter::write_message(size_t index) {
  const MessageModel& message = schema_.messages[index];
  const auto& fields = sorted_[index];
  MessageEntry entry{};
  entry.object_size = message.object_size;
  entry.has_words = static_cast<uint16_t>(message.has_words);
  entry.oneof_count = static_cast<uint16_t>(message.oneof_count);
  entry.first_field = static_cast<uint32_t>(fields_.size());
  entry.field_count = static_cast<uint32_t>(fields.size());
  entry.slots = header_.lookup + static_cast<uint32_t>(lookup_.size() * sizeof(FieldStep));
  entry.slot_count = slot_count(fields);
  entry.steps = entry.slots + (entry.slot_count + 1) * static_cast<uint32_t>(sizeof(FieldStep));
  entry.name = name(message.full_name);
  entry.flags = (message.map_entry ? kMessageFlagMapEntry : 0) | (message.message_set ? kMessageFlagMessageSet : 0) |
                (message.required_below ? kMessageFlagRequiredBelow : 0) |
                (message.extension_ranges ? kMessageFlagExtensionRanges : 0) |
                (message.extension ? kMessageFlagExtension : 0);
  size_t slots = lookup_.size();
  lookup_.resize(slots + entry.slot_count);
  lookup_.push_back(kNoMoreSteps);
  for (size_t i = 0; i < fields.size(); ++i) {
    entry.required_count += fields[i]->required ? 1 : 0;
    fields_.push_back(field_entry(*fields[i]));
    FieldStep step = make_step(entry, fields_.back(), static_cast<uint32_t>(i + 1));
    if (fields[i]->number < entry.slot_count) lookup_[slots + fields[i]->number] = step;
    lookup_.push_back(step);
  }
  messages_.push_back(entry);
}

void ImageWriter::write_enum(const EnumModel& e) {
  EnumEntry entry{};
  entry.name = name(e.full_name);
  entry.flags = e.closed ? kEnumFlagClosed : 0;
  entry.first_value = static_cast<uint32_t>(enum_values_.size());
  entry.default_value = e.values[0].number;
  for (bool aliases : {false, true}) {
    std::vector<const EnumValueModel*> values = sorted_values(e, aliases);
    for (const EnumValueModel* value : values) enum_values_.push_back({value->number, name(value->name)});
    (aliases ? entry.alias_count : entry.value_count) = static_cast<uint32_t>(values.size());
  }
  enums_.push_back(entry);
}

template <typename T>
void append(std::string* out, const std::vector<T>& table) {
  if (!table.empty()) out->append(reinterpret_cast<const char*>(table.data()), table.size() * sizeof(T));
}

BuildResult ImageWriter::finish() {
  strings_.push_back('\0');
  while (strings_.size() % 8 != 0) strings_.push_back('\0');
  header_.strings_size = static_cast<uint32_t>(strings_.size());
  header_.size = header_.strings + header_.strings_size;
  std::string out(reinterpret_cast<const char*>(&header_), sizeof(header_));
  append(&out, messages_);
  append(&out, fields_);
  append(&out, enums_);
  append(&out, enum_values_);
  append(&out, lookup_);
  out.resize(header_.strings);
  out += strings_;
  uint32_t checksum = image_checksum(reinterpret_cast<const unsigned char*>(out.data()), out.size());
  std::memcpy(out.data() + offsetof(ImageHeader, checksum), &checksum, sizeof(checksum));
  return {std::move(out), {}};
}

}  // namespace

BuildResult build_image(const Schema& schema) {
  for (const MessageModel& message : schema.messages) {
    if (message.fields.size() > kMaxFieldCount) return {{}, message.full_name + ": more than 65534 fields"};
  }
  return ImageWriter(schema).write();
}

BuildResult build_image(FileSpan files) {
  Schema schema;
  std::string error = schema_from_files(files, &schema);
  if (!error.empty()) return {{}, error};
  return build_image(schema);
}

BuildResult build_image(const google::protobuf::FileDescriptorSet& set) {
  DescriptorFiles files;
  std::string error = files.link(set.file());
  if (!error.empty()) return {{}, error};
  return build_image(files.files());
}

}  // namespace drover::schema
