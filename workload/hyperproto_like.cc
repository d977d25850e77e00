// Values for the plans of the built-in workload: every field of every type once, as in the published population.
#include "workload/hyperproto_like.h"

#include <algorithm>

#include "workload/group_image.h"
#include "workload/value_tree.h"
#include "workload/values.h"
#include "workload/workload.h"

namespace drover::workload {
namespace {

using schema::Kind;

// Cards for varints of one kind, dealt by encoded length.
class LengthDeck {
 public:
  LengthDeck(const uint16_t* counts, size_t count, Random& random) : cards_(deal(counts, 10, count, random)) {}
  size_t take(bool smallest) {
    if (cards_.empty()) return 1;
    if (smallest) std::swap(*std::min_element(cards_.begin(), cards_.end()), cards_.back());
    size_t length = cards_.back() + size_t{1};
    cards_.pop_back();
    return length;
  }

 private:
  std::vector<uint16_t> cards_;
};

size_t count_values(const std::vector<MessagePlan>& plans, std::initializer_list<Kind> kinds) {
  size_t count = 0;
  for (const MessagePlan& plan : plans) {
    for (const TypePlan& type : plan.types) {
      for (const FieldPlan& field : type.fields) {
        for (Kind kind : kinds)
          count += (field.kind == static_cast<uint8_t>(kind)) * std::max<size_t>(1, field.elements);
      }
    }
  }
  return count;
}

// `count` string lengths with these deciles, evenly spread, shuffled.
std::vector<size_t> string_lengths(const uint32_t* deciles, size_t count, Random& random) {
  std::vector<size_t> lengths;
  for (size_t i = 0; i < count; ++i) {
    size_t at = 10 * 64 * (2 * i + 1) / (2 * count);  // in 64ths of a tenth
    size_t low = deciles[at / 64], high = deciles[at / 64 + 1];
    lengths.push_back(low + (high - low) * (at % 64) / 64);
  }
  random.shuffle(&lengths);
  return lengths;
}

// How unequal the bytes values of one message are, in powers of two, and how short they get.
constexpr uint64_t kSkew = 12;
constexpr size_t kShortest = 4;

class Filler {
 public:
  Filler(const Shape& shape, const std::vector<MessagePlan>& plans, const schema::Image& image, Random random)
      : image_(image),
        deciles_(shape.string_deciles),
        random_(random),
        int32_(shape.int32, count_values(plans, {Kind::kInt32, Kind::kSint32}), random_),
        int64_(shape.int64, count_values(plans, {Kind::kInt64, Kind::kSint64}), random_),
        uint32_(shape.uint32, count_values(plans, {Kind::kUint32}), random_),
        uint64_(shape.uint64, count_values(plans, {Kind::kUint64}), random_),
        strings_(string_lengths(shape.string_deciles, count_values(plans, {Kind::kString}), random_)) {}

  ValueNode fill(const MessagePlan& plan) {
    texts_.clear();
    large_.clear();
    plan_ = &plan;
    ValueNode node = fill_type(0);
    size_texts(&node);
    for (std::string* text : texts_) *text = random_letters(text->size(), random_);
    for (std::string* text : large_) *text = random_bytes(text->size(), random_);
    return node;
  }

 private:
  ValueNode fill_type(size_t index) {
    const TypePlan& type = plan_->types[index];
    int64_t found = image_.find_message(type.full_name.data(), type.full_name.size());
    ValueNode node{{&image_, static_cast<uint32_t>(found)}, {}, {}};
    node.fields.resize(type.fields.size());
    for (size_t i = 0; i < type.fields.size(); ++i) fill_field(type.fields[i], node.type, &node.fields[i]);
    return node;
  }

  void fill_field(const FieldPlan& plan, const schema::MessageType& type, FieldValues* values) {
    values->field = type.find_field(plan.number);
    size_t count = std::max<size_t>(1, plan.elements);
    switch (static_cast<Kind>(plan.kind)) {
      case Kind::kMessage:
        values->messages.push_back(fill_type(plan.child));
        break;
      case Kind::kString:
      case Kind::kBytes:
        values->texts.resize(count);
        for (std::string& text : values->texts) {
          bool string = static_cast<Kind>(plan.kind) == Kind::kString;
          if (string) text.resize(take_string());
          // Where no size is published, bytes values are as long as strings.
          if (!string && plan_->shape.wire_size == 0) text.resize(any_string_length());
          (string ? texts_ : large_).push_back(&text);
        }
        break;
      default:
        for (size_t i = 0; i < count; ++i) values->scalars.push_back(scalar(*values->field, type));
    }
  }

  size_t any_string_length() {
    size_t decile = random_.index(10);
    return random_.between(deciles_[decile], deciles_[decile + 1]);
  }

  size_t take_string() {
    if (strings_.empty()) return 0;
    size_t size = strings_.back();
    strings_.pop_back();
    return size;
  }

  uint64_t scalar(const schema::FieldEntry& field, const schema::MessageType& type) {
    bool smallest = plan_->shape.strings + plan_->shape.bytes == 0 && plan_->shape.wire_size != 0;
    size_t length = 0;
    switch (static_cast<Kind>(field.kind)) {
      case Kind::kInt32:
      case Kind::kSint32:
        length = int32_.take(smallest);
        break;
      case Kind::kInt64:
      case Kind::kSint64:
        length = int64_.take(smallest);
        break;
      case Kind::kUint32:
        length = uint32_.take(smallest);
        break;
      case Kind::kUint64:
        length = uint64_.take(smallest);
        break;
      default:
        break;
    }
    return random_scalar(field, type, length, random_);
  }

  // Gives bytes values (or strings, in a message without bytes values) the lengths that bring the message to its size.
  void size_texts(ValueNode* node) {
    size_t target = plan_->shape.wire_size;
    std::vector<std::string*>& sized = large_.empty() ? texts_ : large_;
    if (target == 0 || sized.empty()) return;
    std::vector<uint64_t> weights;
    for (std::string* text : sized) {
      weights.push_back(large_.empty() ? text->size() : uint64_t{1} << random_.below(kSkew));
      text->clear();
    }
    size_t rest = target - std::min(target, wire_size(*node));
    size_t share = std::min(rest, target * plan_->shape.largest_percent / 100), largest = random_.index(sized.size());
    sized[largest]->resize(share);
    weights[largest] = 0;
    uint64_t sum = 0;
    for (uint64_t weight : weights) sum += weight;
    for (size_t i = 0; i < sized.size() && sum != 0; ++i) {
      size_t part = std::min(share, static_cast<size_t>((rest - share) * weights[i] / sum));
      if (weights[i] != 0) sized[i]->resize(std::max(part, kShortest));
    }
    settle(node, target, sized[largest]);
  }

  // Length prefixes grow with what they count: a few rounds meet the target, or miss it by a byte.
  void settle(const ValueNode* node, size_t target, std::string* text) {
    for (int round = 0; round < 4; ++round) {
      size_t size = wire_size(*node);
      text->resize(text->size() + target > size ? text->size() + target - size : 0);
    }
  }

  const schema::Image& image_;
  const uint32_t* deciles_;
  Random random_;
  LengthDeck int32_, int64_, uint32_, uint64_;
  std::vector<size_t> strings_;
  const MessagePlan* plan_ = nullptr;
  std::vector<std::string*> texts_, large_;  // of the message in hand: its strings, its bytes
};

std::string add_group(const Shape& shape, uint64_t seed, Workload* out) {
  Random random = Random(seed).fork(static_cast<uint64_t>(shape.name[4]));
  std::vector<MessagePlan> plans = plan_messages(shape, random.fork(1));
  Group group;
  group.name = shape.name;
  group.published = shape.published;
  group.files = plan_to_files(shape, plans, random.fork(2));
  if (std::string error = load_group_image(&group); !error.empty()) return group.name + ": " + error;
  auto index = static_cast<uint32_t>(out->groups.size());
  Filler filler(shape, plans, group.image.image(), random.fork(3));
  for (const MessagePlan& plan : plans) {
    ValueNode node = filler.fill(plan);
    out->messages.push_back({group.name + "." + plan.types[0].name, node.type, to_wire(node), index});
  }
  out->groups.push_back(std::move(group));
  return "";
}

}  // namespace

WorkloadResult hyperproto_like(uint64_t seed, WorkloadPart part) {
  WorkloadResult result;
  result.workload.name = "hyperproto-like";
  for (const Shape& shape : hyperproto_shapes()) {
    if (part == WorkloadPart::kPublished && !shape.published) continue;
    result.error = add_group(shape, seed, &result.workload);
    if (!result.ok()) return result;
  }
  return result;
}

}  // namespace drover::workload
