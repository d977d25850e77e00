// Filling value trees from a seed.
#include "workload/message_generator.h"

#include <algorithm>
#include <set>

#include "workload/odd_forms.h"
#include "workload/values.h"

namespace drover::workload {
namespace {

using schema::FieldEntry;
using schema::Kind;

constexpr uint32_t kDeepestRequired = 64;  // a type that requires itself can never be complete

// The number of a class of powers of two: 0, 1, 2-3, 4-7, ...
size_t of_class(size_t cls, Random& random) {
  if (cls < 2) return cls;
  return static_cast<size_t>(random.between(uint64_t{1} << (cls - 1), (uint64_t{1} << cls) - 1));
}

class Generator {
 public:
  Generator(const MessageOptions& options, Random random)
      : options_(options), random_(random), left_(options.target_size != 0 ? options.target_size : options.max_size) {}

  ValueNode message(const schema::MessageType& type, uint32_t level) {
    ValueNode node{type, {}, {}};
    std::vector<uint32_t> chosen = choose_oneof_members(type);
    for (const FieldEntry& field : type.fields()) {
      bool wanted = field.case_offset != 0 ? std::find(chosen.begin(), chosen.end(), field.number) != chosen.end()
                                           : random_.chance(options_.presence_permille);
      bool required = (field.flags & schema::kFieldFlagRequired) != 0 || is_map_entry(type);
      if (!required && (!wanted || left_ == 0)) continue;
      add_field(field, level, required, &node);
    }
    if (!is_map_entry(type) && random_.chance(options_.unknown_permille)) {  // in map entries they would be dropped
      for (uint64_t i = random_.between(1, 4); i > 0; --i) append_unknown(type, 2, &node.unknown);
    }
    return node;
  }

  FieldValues field(const FieldEntry& entry, const schema::MessageType& type, size_t count, uint32_t level) {
    FieldValues values;
    values.field = &entry;
    values.packed = (entry.flags & schema::kFieldFlagPacked) != 0;
    std::set<std::string> keys;
    for (size_t i = 0; i < count; ++i) {
      append_value(entry, type, level, &values);
      if (entry.label == schema::kLabelMap && !keys.insert(key_of(values.messages.back())).second) {
        values.messages.pop_back();
      }
    }
    return values;
  }

  void append_value(const FieldEntry& entry, const schema::MessageType& type, uint32_t level, FieldValues* values) {
    if (schema::is_message_kind(entry.kind)) {
      spend(3);  // before what is inside, so that types that require each other come to an end
      values->messages.push_back(message(type.sub(entry), level + 1));
    } else if (schema::is_string_kind(entry.kind)) {
      values->texts.push_back(text(entry));
      spend(values->texts.back().size() + 2);
    } else {
      size_t length = 1 + draw(random_, options_.varint_lengths, std::size(options_.varint_lengths));
      values->scalars.push_back(random_scalar(entry, type, length, random_));
      spend(schema::kWireTypeOfKind[entry.kind] == 0 ? length + 1 : size_t{schema::kStorageOfKind[entry.kind]} + 1);
    }
  }

 private:
  static bool is_map_entry(const schema::MessageType& type) {
    return (type.entry().flags & schema::kMessageFlagMapEntry) != 0;
  }
  static std::string key_of(const ValueNode& entry) {
    ValueNode key{entry.type, {}, {}};
    if (!entry.fields.empty()) key.fields.push_back(entry.fields[0]);
    return to_wire(key);
  }
  void spend(size_t bytes) { left_ -= std::min(left_, bytes); }

  // One member's number for each oneof that is set.
  std::vector<uint32_t> choose_oneof_members(const schema::MessageType& type) {
    std::vector<std::pair<uint16_t, std::vector<uint32_t>>> oneofs;
    for (const FieldEntry& field : type.fields()) {
      if (field.case_offset == 0) continue;
      auto same = [&](const auto& oneof) { return oneof.first == field.case_offset; };
      auto found = std::find_if(oneofs.begin(), oneofs.end(), same);
      if (found == oneofs.end()) found = oneofs.insert(found, {field.case_offset, {}});
      found->second.push_back(field.number);
    }
    std::vector<uint32_t> chosen;
    for (const auto& [offset, members] : oneofs) {
      size_t member = random_.index(members.size());
      if (random_.chance(options_.presence_permille)) chosen.push_back(members[member]);
    }
    return chosen;
  }

  void add_field(const FieldEntry& entry, uint32_t level, bool required, ValueNode* node) {
    if (schema::is_message_kind(entry.kind)) {
      uint32_t limit = required ? kDeepestRequired : options_.max_levels;
      if (entry.label == schema::kLabelMap) limit -= std::min(limit, 1u);  // its entries are a level of their own
      if (level >= limit || (left_ == 0 && !is_map_entry(node->type))) return;
    }
    size_t count = 1;
    if (entry.label != schema::kLabelSingular) {
      count = of_class(draw(random_, options_.repeated_counts, std::size(options_.repeated_counts)), random_);
      count = std::min(count, left_ / 2 + 1);
      if (left_ == 0) return;
    }
    FieldValues values = field(entry, node->type, count, level);
    if (!required && leaves_no_trace(node->type, entry, values)) return;
    node->fields.push_back(std::move(values));
  }

  // Empty repeated fields, and zeros in fields that have no presence.
  static bool leaves_no_trace(const schema::MessageType& type, const FieldEntry& entry, const FieldValues& values) {
    if (entry.label != schema::kLabelSingular) {
      return values.scalars.empty() && values.texts.empty() && values.messages.empty();
    }
    if (entry.has_bit != schema::kNoHasBit || entry.case_offset != 0 || !values.messages.empty()) return false;
    if (is_map_entry(type)) return false;
    return values.texts.empty() ? values.scalars[0] == 0 : values.texts[0].empty();
  }

  std::string text(const FieldEntry& entry) {
    size_t size = of_class(draw(random_, options_.string_lengths, std::size(options_.string_lengths)), random_);
    size = std::min(size, left_);
    if (entry.kind == static_cast<uint8_t>(Kind::kBytes)) return random_bytes(size, random_);
    return options_.utf8 ? random_utf8(size, random_) : random_letters(size, random_);
  }

  void append_unknown(const schema::MessageType& type, int depth, std::string* out) {
    uint32_t number = 0;
    do {
      number = static_cast<uint32_t>(random_.chance(100) ? random_.between(1, schema::kMaxFieldNumber)
                                                         : random_.between(1, 3000));
    } while (type.find_field(number) != nullptr || (number >= 19000 && number <= 19999));
    static constexpr uint32_t kWireTypes[] = {0, 1, 2, 3, 5};
    uint32_t wire_type = kWireTypes[random_.index(depth > 0 ? 5 : 3)];
    append_tag(number, wire_type, out);
    switch (wire_type) {
      case 0:
        append_varint(random_.next() >> random_.below(64), out);
        break;
      case 2: {
        std::string bytes = random_bytes(random_.index(40), random_);
        append_varint(bytes.size(), out);
        *out += bytes;
        break;
      }
      case 3:
        for (uint64_t i = random_.below(3); i > 0; --i) append_unknown(type, depth - 1, out);
        append_tag(number, 4, out);
        break;
      default:
        *out += random_bytes(wire_type == 1 ? 8 : 4, random_);
    }
  }

  const MessageOptions& options_;
  Random random_;
  size_t left_;  // bytes until optional fields are left out
};

// Brings a message to its target size.
class Fitter {
 public:
  Fitter(const MessageOptions& options, Random random) : options_(options), random_(random) {}

  void fit(ValueNode* node) {
    size_t size = wire_size(*node);
    if (size == options_.target_size) return;
    std::string* text = find_text(node, size > options_.target_size);
    if (text == nullptr && size < options_.target_size) text = add_text(node);
    if (text != nullptr) return fit_text(node, text);
    if (size < options_.target_size) add_elements(node);
  }

 private:
  // A string or bytes value to lengthen or shorten: the largest one that is no map key.
  static std::string* find_text(ValueNode* node, bool largest) {
    bool map_entry = (node->type.entry().flags & schema::kMessageFlagMapEntry) != 0;
    std::string* best = nullptr;
    auto offer = [&](std::string* text) {
      if (text != nullptr && (best == nullptr || text->size() > best->size())) best = text;
    };
    for (FieldValues& values : node->fields) {
      if (map_entry && values.field->number == 1) continue;
      for (std::string& text : values.texts) offer(&text);
    }
    if (best != nullptr && !largest) return best;
    for (FieldValues& values : node->fields) {
      for (ValueNode& sub : values.messages) offer(find_text(&sub, largest));
    }
    return best;
  }

  std::string* add_text(ValueNode* node) {
    for (const FieldEntry& entry : node->type.fields()) {
      if (!schema::is_string_kind(entry.kind) || entry.case_offset != 0) continue;
      FieldValues values;
      values.field = &entry;
      values.texts.emplace_back();
      auto behind = std::find_if(node->fields.begin(), node->fields.end(),
                                 [&](const FieldValues& other) { return other.field->number > entry.number; });
      return &node->fields.insert(behind, std::move(values))->texts[0];
    }
    for (FieldValues& values : node->fields) {
      for (ValueNode& sub : values.messages) {
        if (std::string* text = add_text(&sub); text != nullptr) return text;
      }
    }
    return nullptr;
  }

  void fit_text(const ValueNode* node, std::string* text) {
    for (int round = 0; round < 4; ++round) {
      size_t size = wire_size(*node), length = text->size();
      if (size == options_.target_size) return;
      size_t wanted = length + options_.target_size > size ? length + options_.target_size - size : 1;
      if (wanted < length) {
        while (wanted > 1 && (static_cast<unsigned char>((*text)[wanted]) & 0xc0) == 0x80)
          --wanted;  // whole characters
        text->resize(wanted);
      } else {
        *text += random_letters(wanted - length, random_);
      }
    }
  }

  void add_elements(ValueNode* node) {
    for (const FieldEntry& entry : node->type.fields()) {
      if (entry.label == schema::kLabelSingular) continue;
      auto at = std::find_if(node->fields.begin(), node->fields.end(),
                             [&](const FieldValues& other) { return other.field->number >= entry.number; });
      if (at == node->fields.end() || at->field != &entry) {
        at = node->fields.insert(at, FieldValues{});
        at->field = &entry;
        at->packed = (entry.flags & schema::kFieldFlagPacked) != 0;
      }
      Generator generator(options_, random_.fork(entry.number));
      // Sizes are taken now and then only: they cost as much as the message is large.
      for (size_t step = 1; wire_size(*node) < options_.target_size && step < options_.target_size * 2;
           step += step / 8 + 1) {
        for (size_t i = 0; i < step / 8 + 1; ++i) {
          if (entry.label == schema::kLabelMap) {
            merge_map(generator.field(entry, node->type, 8, 1), &*at);
          } else {
            generator.append_value(entry, node->type, 1, &*at);
          }
        }
      }
      return;
    }
  }

  static void merge_map(FieldValues&& more, FieldValues* values) {
    std::set<std::string> keys;
    auto key = [](const ValueNode& entry) {
      ValueNode only{entry.type, {entry.fields[0]}, {}};
      return to_wire(only);
    };
    for (const ValueNode& entry : values->messages) keys.insert(key(entry));
    for (ValueNode& entry : more.messages) {
      if (keys.insert(key(entry)).second) values->messages.push_back(std::move(entry));
    }
  }

  const MessageOptions& options_;
  Random random_;
};

}  // namespace

ValueNode generate_message(const schema::MessageType& type, Random random, const MessageOptions& options) {
  ValueNode node = Generator(options, random.fork(1)).message(type, 1);
  if (options.target_size != 0) Fitter(options, random.fork(2)).fit(&node);
  return node;
}

void generate_wire(const schema::MessageType& type, uint64_t seed, const MessageOptions& options, std::string* wire) {
  Random random(seed);
  ValueNode node = generate_message(type, random, options);
  if (options.odd_permille == 0) {
    append_wire(node, wire);
  } else {
    append_odd_wire(node, options.odd_permille, random.fork(3), wire);
  }
}

DecodeResult fill_object(const schema::MessageType& type, uint64_t seed, const MessageOptions& options, Message* object,
                         Arena& arena) {
  DecodeOptions decode_options;
  decode_options.depth_limit = 1000;
  return decode(type, object, generate_wire(type, seed, options), arena, decode_options);
}

}  // namespace drover::workload
