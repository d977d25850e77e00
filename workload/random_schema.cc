// Schemas from a seed.
#include "workload/random_schema.h"

#include <algorithm>

#include "workload/random.h"
#include "workload/values.h"

namespace drover::workload {
namespace {

using google::protobuf::DescriptorProto;
using google::protobuf::EnumDescriptorProto;
using google::protobuf::FieldDescriptorProto;
using google::protobuf::FileDescriptorProto;

constexpr int kMaxNumber = (1 << 29) - 1;

class SchemaMaker {
 public:
  SchemaMaker(uint64_t seed, const SchemaOptions& options) : options_(options), random_(seed) {
    proto3_ = options.syntax == SchemaOptions::Syntax::kProto3 ||
              (options.syntax == SchemaOptions::Syntax::kEither && random_.chance(500));
  }

  google::protobuf::FileDescriptorSet make() {
    google::protobuf::FileDescriptorSet set;
    auto* file = set.add_file();
    file->set_name("random.proto");
    file->set_package("r");
    if (proto3_) file->set_syntax("proto3");
    for (int i = 0; i < 2; ++i) add_enum("E" + std::to_string(i), file->add_enum_type(), ".r.");
    uint64_t messages = random_.between(1, std::max(1u, options_.max_messages));
    // All names first: a field may have any type, also one that holds it.
    std::vector<DescriptorProto*> made;
    for (uint64_t i = 0; i < messages; ++i) {
      name_message("M" + std::to_string(i), ".r", file->add_message_type(), 0, &made);
    }
    for (size_t i = 0; i < made.size(); ++i) add_fields(made[i], types_[i]);
    return set;
  }

 private:
  void name_message(const std::string& name, const std::string& scope, DescriptorProto* message, int depth,
                    std::vector<DescriptorProto*>* made) {
    message->set_name(name);
    std::string full = scope + "." + name;
    types_.push_back(full);
    made->push_back(message);
    if (!options_.nested_types || depth > 2 || !random_.chance(300)) return;
    if (random_.chance(300)) add_enum("InnerEnum", message->add_enum_type(), full + ".");
    for (uint64_t i = random_.between(1, 2); i > 0; --i) {
      name_message("N" + std::to_string(i), full, message->add_nested_type(), depth + 1, made);
    }
  }

  void add_enum(const std::string& name, EnumDescriptorProto* enumeration, const std::string& scope) {
    enumeration->set_name(name);
    enums_.push_back({scope + name, {}});
    int number = proto3_ || random_.chance(500) ? 0 : static_cast<int>(random_.between(1, 5));
    for (uint64_t i = 0, count = random_.between(1, 6); i < count; ++i) {
      auto* value = enumeration->add_value();
      value->set_name(name + "_V" + std::to_string(i));
      value->set_number(i % 3 == 2 ? -number : number);
      enums_.back().values.push_back(value->name());
      number += static_cast<int>(random_.chance(800) ? 1 : random_.between(2, 100000));
    }
  }

  void add_fields(DescriptorProto* message, const std::string& full_name) {
    uint64_t count = random_.between(0, options_.max_fields);
    uint64_t oneofs = options_.oneofs && random_.chance(330) ? random_.between(1, 2) : 0, members = 0;
    int number = 0;
    for (uint64_t i = 0; i < count; ++i) {
      number = next_number(number);
      if (number > kMaxNumber) break;
      auto* field = message->add_field();
      field->set_name("f" + std::to_string(i));
      field->set_number(number);
      field->set_label(FieldDescriptorProto::LABEL_OPTIONAL);
      set_type(message, full_name, field);
      if (members == 0 && oneofs > 0 && random_.chance(250)) {  // a oneof's members stand one behind the other
        --oneofs;
        members = random_.between(1, 5);
        message->add_oneof_decl()->set_name("o" + std::to_string(oneofs));
      }
      if (members > 0) {
        --members;
        field->set_oneof_index(message->oneof_decl_size() - 1);
      } else {
        set_label(message, full_name, field);
      }
    }
    add_synthetic_oneofs(message);
    if (!proto3_ && options_.extension_ranges && number < 100000 && random_.chance(200)) {
      auto* range = message->add_extension_range();
      range->set_start(200000);
      range->set_end(300000);
    }
  }

  int next_number(int number) {
    uint64_t gap = random_.below(100);
    int next = number + static_cast<int>(gap < 80   ? 1
                                         : gap < 95 ? random_.between(2, 50)
                                         : gap < 99 ? random_.between(51, 5000)
                                                    : random_.between(5001, options_.large_numbers ? 1 << 27 : 5001));
    return next >= 19000 && next < 20000 ? 20000 : next;
  }

  void set_type(DescriptorProto* message, const std::string& full_name, FieldDescriptorProto* field) {
    auto type = static_cast<FieldDescriptorProto::Type>(random_.between(1, 18));
    if (type == FieldDescriptorProto::TYPE_GROUP && (proto3_ || !options_.groups)) {
      type = FieldDescriptorProto::TYPE_MESSAGE;
    }
    if (type == FieldDescriptorProto::TYPE_ENUM && !options_.enums) type = FieldDescriptorProto::TYPE_INT32;
    field->set_type(type);
    if (type == FieldDescriptorProto::TYPE_MESSAGE) field->set_type_name(types_[random_.index(types_.size())]);
    if (type == FieldDescriptorProto::TYPE_ENUM) field->set_type_name(enums_[random_.index(enums_.size())].full_name);
    if (type != FieldDescriptorProto::TYPE_GROUP) return;
    // A group's type is declared with it; protoc wants it in the same scope.
    auto* group = message->add_nested_type();
    group->set_name("G" + field->name());
    field->set_name("g" + field->name());
    field->set_type_name(full_name + "." + group->name());
    for (int i = 1; i <= 3; ++i) {
      auto* inner = group->add_field();
      inner->set_name("x" + std::to_string(i));
      inner->set_number(i * 7);
      inner->set_label(i == 3 ? FieldDescriptorProto::LABEL_REPEATED : FieldDescriptorProto::LABEL_OPTIONAL);
      inner->set_type(i == 1 ? FieldDescriptorProto::TYPE_SINT64 : FieldDescriptorProto::TYPE_BYTES);
    }
  }

  static bool packable(const FieldDescriptorProto& field) {
    return field.type() != FieldDescriptorProto::TYPE_STRING && field.type() != FieldDescriptorProto::TYPE_BYTES &&
           field.type() != FieldDescriptorProto::TYPE_MESSAGE && field.type() != FieldDescriptorProto::TYPE_GROUP;
  }
  static bool is_message(const FieldDescriptorProto& field) {
    return field.type() == FieldDescriptorProto::TYPE_MESSAGE || field.type() == FieldDescriptorProto::TYPE_GROUP;
  }

  void set_label(DescriptorProto* message, const std::string& full_name, FieldDescriptorProto* field) {
    uint64_t choice = random_.below(100);
    if (options_.maps && choice < 12 && field->type() != FieldDescriptorProto::TYPE_GROUP) {
      make_map(message, full_name, field);
    } else if (choice < 40) {
      field->set_label(FieldDescriptorProto::LABEL_REPEATED);
      if (packable(*field) && random_.chance(700)) field->mutable_options()->set_packed(random_.chance(500));
    } else if (proto3_) {
      if (choice < 60 && !is_message(*field)) field->set_proto3_optional(true);
    } else if (options_.required && choice < 48 && !is_message(*field)) {
      field->set_label(FieldDescriptorProto::LABEL_REQUIRED);
    } else if (options_.defaults && choice < 60) {
      set_default(field);
    }
  }

  void set_default(FieldDescriptorProto* field) {
    switch (field->type()) {
      case FieldDescriptorProto::TYPE_MESSAGE:
      case FieldDescriptorProto::TYPE_GROUP:
        break;
      case FieldDescriptorProto::TYPE_BOOL:
        field->set_default_value("true");
        break;
      case FieldDescriptorProto::TYPE_STRING:
      case FieldDescriptorProto::TYPE_BYTES:
        field->set_default_value(random_letters(random_.index(20), random_));
        break;
      case FieldDescriptorProto::TYPE_ENUM:
        for (const Enum& enumeration : enums_) {
          if (enumeration.full_name != field->type_name()) continue;
          field->set_default_value(enumeration.values[random_.index(enumeration.values.size())]);
        }
        break;
      default:
        field->set_default_value(std::to_string(random_.between(1, 1000)));
    }
  }

  void make_map(DescriptorProto* message, const std::string& full_name, FieldDescriptorProto* field) {
    static constexpr FieldDescriptorProto::Type kKeys[] = {
        FieldDescriptorProto::TYPE_INT32,    FieldDescriptorProto::TYPE_STRING,  FieldDescriptorProto::TYPE_BOOL,
        FieldDescriptorProto::TYPE_UINT64,   FieldDescriptorProto::TYPE_FIXED32, FieldDescriptorProto::TYPE_SINT64,
        FieldDescriptorProto::TYPE_SFIXED64, FieldDescriptorProto::TYPE_SINT32};
    std::string name = field->name() + "Entry";
    name[0] = 'F';  // protoc's own name: the field's in CamelCase
    auto* entry = message->add_nested_type();
    entry->set_name(name);
    entry->mutable_options()->set_map_entry(true);
    auto* key = entry->add_field();
    key->set_name("key");
    key->set_number(1);
    key->set_label(FieldDescriptorProto::LABEL_OPTIONAL);
    key->set_type(kKeys[random_.index(std::size(kKeys))]);
    auto* value = entry->add_field();
    value->CopyFrom(*field);
    value->set_name("value");
    value->set_number(2);
    // protobuf wants an enum's first value to be zero here; r.E0 and r.E1 may begin elsewhere.
    if (value->type() == FieldDescriptorProto::TYPE_ENUM && !proto3_) {
      value->clear_type_name();
      value->set_type(FieldDescriptorProto::TYPE_INT32);
    }
    field->set_label(FieldDescriptorProto::LABEL_REPEATED);
    field->set_type(FieldDescriptorProto::TYPE_MESSAGE);
    field->set_type_name(full_name + "." + name);
  }

  // proto3's `optional` is a oneof of one member, declared behind the real ones.
  static void add_synthetic_oneofs(DescriptorProto* message) {
    for (auto& field : *message->mutable_field()) {
      if (!field.proto3_optional()) continue;
      field.set_oneof_index(message->oneof_decl_size());
      message->add_oneof_decl()->set_name("_" + field.name());
    }
  }

  struct Enum {
    std::string full_name;
    std::vector<std::string> values;
  };

  const SchemaOptions& options_;
  Random random_;
  bool proto3_;
  std::vector<std::string> types_;
  std::vector<Enum> enums_;
};

void add_names(const DescriptorProto& message, const std::string& scope, std::vector<std::string>* names) {
  if (message.options().map_entry()) return;
  std::string full = scope.empty() ? message.name() : scope + "." + message.name();
  names->push_back(full);
  for (const DescriptorProto& nested : message.nested_type()) add_names(nested, full, names);
}

}  // namespace

google::protobuf::FileDescriptorSet random_schema(uint64_t seed, const SchemaOptions& options) {
  return SchemaMaker(seed, options).make();
}

std::vector<std::string> message_names(const google::protobuf::FileDescriptorSet& files) {
  std::vector<std::string> names;
  for (const FileDescriptorProto& file : files.file()) {
    for (const DescriptorProto& message : file.message_type()) add_names(message, file.package(), &names);
  }
  return names;
}

}  // namespace drover::workload
