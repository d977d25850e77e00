// `drover image`: a schema image as a table: where each field lies in the object and how it is encoded.
#include <cstdio>

#include "cli/command.h"
#include "cli/file_io.h"
#include "cli/schema_source.h"
#include "schema/image_builder.h"
#include "workload/statistics.h"

namespace drover::cli {
namespace {

using schema::FieldEntry;

std::string label_of(const FieldEntry& field) {
  switch (field.label) {
    case schema::kLabelRepeated:
      return (field.flags & schema::kFieldFlagPacked) != 0 ? "repeated packed" : "repeated";
    case schema::kLabelMap:
      return "map";
    default:
      return (field.flags & schema::kFieldFlagRequired) != 0 ? "required" : "singular";
  }
}

std::string presence_of(const FieldEntry& field) {
  if (field.case_offset != 0) return "oneof @" + std::to_string(field.case_offset);
  if (field.has_bit != schema::kNoHasBit) return "has-bit " + std::to_string(field.has_bit);
  if (field.label != schema::kLabelSingular) return "-";
  return schema::is_message_kind(field.kind) ? "pointer" : "implicit";
}

std::string type_of(const schema::Image& image, const FieldEntry& field) {
  std::string kind = workload::kind_name(field.kind);
  if (schema::is_message_kind(field.kind)) return kind + " " + image.name(image.sub_message(field).name);
  if (field.sub != schema::kNoSub) return kind + " " + image.name(image.enum_entry(field.sub).name);
  return kind;
}

std::string flags_of(const FieldEntry& field) {
  std::string text;
  auto add = [&](uint32_t flag, const char* name) {
    if ((field.flags & flag) != 0) text += (text.empty() ? "" : ", ") + std::string(name);
  };
  add(schema::kFieldFlagUtf8, "UTF-8 checked");
  add(schema::kFieldFlagClosedEnum, "closed enum");
  add(schema::kFieldFlagTarget, "engine memory");
  if (field.default_value != 0) text += (text.empty() ? "" : ", ") + std::string("has a default");
  return text;
}

class Command {
 public:
  void add_options(CLI::App* app) {
    schema_.add_options(app);
    app->add_option("--image", image_file_, "a schema image's bytes, as `drover image -o` writes them")
        ->type_name("FILE");
    app->add_option("-m,--message", message_, "only this message")->type_name("NAME");
    app->add_option("-o,--output", output_, "write the image's bytes there instead of the table; - is stdout")
        ->type_name("FILE");
  }

  int run() {
    if (schema_.given() == !image_file_.empty()) {
      return fail("image", "give one schema: --proto FILE, --descriptor-set FILE or --image FILE", kUsage);
    }
    if (std::string error = load(); !error.empty()) return fail("image", error);
    const schema::Image& image = schema_.given() ? schema_.image() : owned_.image();
    if (!output_.empty()) {
      std::string error = write_file(output_, {reinterpret_cast<const char*>(image.data()), image.size()});
      return error.empty() ? kDone : fail("image", error);
    }
    int64_t only = -1;
    if (!message_.empty()) {
      if (std::string error = find(image, &only); !error.empty()) return fail("image", error);
    }
    if (only < 0) print_header(image);
    for (uint32_t i = 0; i < image.message_count(); ++i) {
      if (only < 0 || only == i) print_message({&image, i});
    }
    for (uint32_t i = 0; only < 0 && i < image.enum_count(); ++i) print_enum(image, image.enum_entry(i));
    return kDone;
  }

 private:
  std::string load() {
    if (schema_.given()) return schema_.load();
    std::string bytes;
    if (std::string error = read_file(image_file_, &bytes); !error.empty()) return error;
    schema::LoadResult loaded = schema::OwnedImage::load(bytes, &owned_);
    return loaded.ok() ? "" : image_file_ + ": " + schema::load_message(loaded);
  }

  std::string find(const schema::Image& image, int64_t* index) {
    if (schema_.given()) {
      schema::MessageType type;
      std::string error = schema_.find_message(message_, &type);
      *index = type.index;
      return error;
    }
    *index = image.find_message(message_.data(), message_.size());
    if (*index >= 0) return "";
    std::vector<std::string> names;
    for (uint32_t i = 0; i < image.message_count(); ++i) names.emplace_back(image.name(image.message(i).name));
    return "no message " + message_ + "; there is " + nearest_names(message_, names, 8);
  }

  static void print_header(const schema::Image& image) {
    const schema::ImageHeader& header = image.header();
    std::printf("schema image, version %u, %u bytes, checksum %08x: %u messages, %u fields, %u enums\n", header.version,
                header.size, header.checksum, header.message_count, header.field_count, header.enum_count);
  }

  static void print_message(const schema::MessageType& type) {
    const schema::MessageEntry& entry = type.entry();
    std::printf("\nmessage %s: object of %u bytes, %u has-bit words, %u oneofs%s%s%s\n", type.full_name(),
                entry.object_size, entry.has_words, entry.oneof_count,
                (entry.flags & schema::kMessageFlagMapEntry) != 0 ? ", map entry" : "",
                (entry.flags & schema::kMessageFlagMessageSet) != 0 ? ", message set" : "",
                (entry.flags & schema::kMessageFlagExtension) != 0         ? ", holds an extension"
                : (entry.flags & schema::kMessageFlagExtensionRanges) != 0 ? ", has extension ranges"
                                                                           : "");
    if (entry.field_count == 0) return;
    std::printf("  %9s  %-20s %-28s %-16s %6s  %-12s %s\n", "number", "name", "type", "label", "offset", "presence",
                "remarks");
    for (const FieldEntry& field : type.fields()) {
      std::printf("  %9u  %-20s %-28s %-16s %6u  %-12s %s\n", field.number, type.image->name(field.name),
                  type_of(*type.image, field).c_str(), label_of(field).c_str(), field.offset,
                  presence_of(field).c_str(), flags_of(field).c_str());
    }
  }

  static void print_enum(const schema::Image& image, const schema::EnumEntry& entry) {
    std::printf("\nenum %s: %s, default %d\n", image.name(entry.name),
                (entry.flags & schema::kEnumFlagClosed) != 0 ? "closed" : "open", entry.default_value);
    for (uint32_t i = 0; i < entry.value_count; ++i) {
      const schema::EnumValueEntry& value = image.enum_values(entry)[i];
      std::printf("  %9d  %s\n", value.number, image.name(value.name));
    }
  }

  SchemaSource schema_;
  std::string image_file_, message_, output_;
  schema::OwnedImage owned_;
};

}  // namespace

void add_image(CLI::App* app, Run* run) {
  auto command = std::make_shared<Command>();
  CLI::App* sub = app->add_subcommand("image", "Show a schema image: messages, fields, where each lies in the object");
  command->add_options(sub);
  sub->callback([command, run] { *run = [command] { return command->run(); }; });
}

}  // namespace drover::cli
