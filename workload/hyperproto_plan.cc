// Plans of the built-in workload's messages, and their schemas.
#include <algorithm>

#include "schema/image.h"
#include "workload/hyperproto_like.h"

namespace drover::workload {
namespace {

using google::protobuf::DescriptorProto;
using google::protobuf::FieldDescriptorProto;
using schema::Kind;

constexpr uint8_t kMessage = static_cast<uint8_t>(Kind::kMessage), kString = static_cast<uint8_t>(Kind::kString),
                  kBytes = static_cast<uint8_t>(Kind::kBytes), kInt32 = static_cast<uint8_t>(Kind::kInt32),
                  kEnum = static_cast<uint8_t>(Kind::kEnum);

// The widest type of the published schemas.
constexpr size_t kMostFields = 17;

class Planner {
 public:
  Planner(const Shape& shape, Random random) : shape_(shape), random_(random) {}

  std::vector<MessagePlan> plan() {
    count_fields();
    size_t number = 1;
    for (const MessageShape& message : shape_.messages) {
      plans_.push_back({message, {}});
      nest(&plans_.back(), number);
      number += message.types;
    }
    // Messages without any string have no other way to be small than their fields' kinds and numbers: they go first.
    for (bool small : {true, false}) {
      for (MessagePlan& plan : plans_) {
        if (smallest(plan) == small) add_fields(&plan);
      }
    }
    repeat_fields();
    return std::move(plans_);
  }

 private:
  static bool smallest(const MessagePlan& plan) {
    return plan.shape.strings + plan.shape.bytes == 0 && plan.shape.wire_size != 0;
  }

  void count_fields() {
    size_t fields = 0, scalars = 0;
    uint16_t kinds[schema::kKindCount];
    for (size_t i = 0; i < schema::kKindCount; ++i) {
      fields += shape_.kinds[i];
      kinds[i] = i == kMessage || i == kString || i == kBytes ? uint16_t{0} : shape_.kinds[i];
      scalars += kinds[i];
    }
    scalars_ = deal(kinds, schema::kKindCount, scalars, random_);
    gaps_ = deal(shape_.number_gaps, std::size(shape_.number_gaps), fields, random_);
  }

  // The tree of types: a chain down to the deepest level, the others under whichever type is not at that level.
  void nest(MessagePlan* plan, size_t number) {
    std::string prefix = std::string("hyperproto_like.") + shape_.name;
    for (size_t i = 0; i < plan->shape.types; ++i) {
      plan->types.emplace_back();
      TypePlan& type = plan->types.back();
      type.name = "M" + std::to_string(number + i);
      type.full_name = prefix + "." + type.name;
      if (i == 0) continue;
      size_t parent = i - 1;
      while (i >= plan->shape.depth) {
        parent = random_.index(i);
        if (plan->types[parent].depth < plan->shape.depth) break;
      }
      type.depth = plan->types[parent].depth + 1;
      type.full_name = plan->types[parent].full_name + "." + type.name;
      plan->types[parent].children.push_back(i);
    }
  }

  void add_fields(MessagePlan* plan) {
    std::vector<uint8_t> kinds(plan->shape.strings, kString);
    kinds.insert(kinds.end(), plan->shape.bytes, kBytes);
    size_t others = plan->shape.fields + 1u - plan->shape.types;
    while (kinds.size() < others && !scalars_.empty()) kinds.push_back(take_scalar(smallest(*plan)));
    random_.shuffle(&kinds);
    std::vector<uint32_t> weights;
    for (const TypePlan& type : plan->types) weights.push_back(uint32_t(random_.between(1, 8)) + (type.depth == 1) * 6);
    for (TypePlan& type : plan->types) {
      for (size_t child : type.children) type.fields.push_back({kMessage, 0, 0, child});
      if (!type.fields.empty() || kinds.empty()) continue;
      type.fields.push_back({kinds.back(), 0, 0, 0});  // no type is without fields
      kinds.pop_back();
    }
    for (uint8_t kind : kinds) {
      size_t at = draw(random_, weights.data(), weights.size());
      plan->types[at].fields.push_back({kind, 0, 0, 0});
      if (plan->types[at].fields.size() >= kMostFields) weights[at] = 0;
    }
    for (TypePlan& type : plan->types) number_fields(&type, smallest(*plan));
  }

  uint8_t take_scalar(bool small) {
    if (small) {
      auto found = std::find(scalars_.begin(), scalars_.end(), kInt32);
      if (found != scalars_.end()) std::swap(*found, scalars_.back());
    }
    auto kind = static_cast<uint8_t>(scalars_.back());
    scalars_.pop_back();
    return kind;
  }

  void number_fields(TypePlan* type, bool small) {
    random_.shuffle(&type->fields);
    uint32_t number = 0;
    for (FieldPlan& field : type->fields) {
      if (small) std::swap(*std::min_element(gaps_.begin(), gaps_.end()), gaps_.back());
      number += gaps_.back() + 1u;
      gaps_.pop_back();
      field.number = number;
    }
  }

  void repeat_fields() {
    for (const RepeatedShape& repeated : shape_.repeated) {
      std::vector<FieldPlan*> candidates;
      for (MessagePlan& plan : plans_) {
        for (TypePlan& type : plan.types) {
          for (FieldPlan& field : type.fields) {
            if (field.kind == repeated.kind && field.elements == 0 && !smallest(plan)) candidates.push_back(&field);
          }
        }
      }
      random_.shuffle(&candidates);
      for (size_t i = 0; i < repeated.fields && i < candidates.size(); ++i) candidates[i]->elements = repeated.elements;
    }
  }

  const Shape& shape_;
  Random random_;
  std::vector<uint16_t> scalars_;  // kinds still to be dealt
  std::vector<uint16_t> gaps_;
  std::vector<MessagePlan> plans_;
};

// Five values, as in the published schemas; proto2 lets the first be other than zero.
void add_enum(const std::string& name, DescriptorProto* message, Random& random) {
  auto* enumeration = message->add_enum_type();
  enumeration->set_name(name);
  int number = 0;
  for (int i = 0; i < 5; ++i) {
    number += static_cast<int>(random.between(1, 25));
    auto* value = enumeration->add_value();
    value->set_name(name + "_CONST_" + std::to_string(i));
    value->set_number(number);
  }
}

void describe(const MessagePlan& plan, size_t index, DescriptorProto* message, Random& random) {
  const TypePlan& type = plan.types[index];
  message->set_name(type.name);
  size_t ordinal = 0;
  for (const FieldPlan& field_plan : type.fields) {
    auto* field = message->add_field();
    std::string suffix = std::to_string(++ordinal);
    field->set_name("f" + suffix);
    field->set_json_name("f" + suffix);
    field->set_number(static_cast<int>(field_plan.number));
    field->set_type(static_cast<FieldDescriptorProto::Type>(field_plan.kind));
    field->set_label(field_plan.elements == 0 ? FieldDescriptorProto::LABEL_OPTIONAL
                                              : FieldDescriptorProto::LABEL_REPEATED);
    if (field_plan.kind == kMessage) field->set_type_name("." + plan.types[field_plan.child].full_name);
    if (field_plan.kind != kEnum) continue;
    field->set_type_name("." + type.full_name + ".E" + suffix);
    add_enum("E" + suffix, message, random);
  }
  for (size_t child : type.children) describe(plan, child, message->add_nested_type(), random);
}

}  // namespace

std::vector<uint16_t> deal(const uint16_t* counts, size_t size, size_t count, Random& random) {
  uint64_t sum = 0, before = 0;
  for (size_t i = 0; i < size; ++i) sum += counts[i];
  std::vector<uint16_t> cards;
  for (size_t i = 0; i < size && sum != 0; ++i) {
    before += counts[i];
    cards.resize(static_cast<size_t>((before * count + sum / 2) / sum), static_cast<uint16_t>(i));
  }
  cards.resize(count);
  random.shuffle(&cards);
  return cards;
}

std::vector<MessagePlan> plan_messages(const Shape& shape, Random random) { return Planner(shape, random).plan(); }

google::protobuf::FileDescriptorSet plan_to_files(const Shape& shape, const std::vector<MessagePlan>& plans,
                                                  Random random) {
  google::protobuf::FileDescriptorSet set;
  auto* file = set.add_file();
  file->set_name(std::string("hyperproto_like/") + shape.name + ".proto");
  file->set_package(std::string("hyperproto_like.") + shape.name);
  for (const MessagePlan& plan : plans) describe(plan, 0, file->add_message_type(), random);
  return set;
}

}  // namespace drover::workload
