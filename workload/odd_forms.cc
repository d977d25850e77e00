// Legal, unusual wire bytes.
#include "workload/odd_forms.h"

#include <algorithm>

#include "workload/values.h"

namespace drover::workload {
namespace {

using schema::Kind;

// A field in one or several runs of bytes; runs of one field keep their order, runs of different fields may mix.
struct Runs {
  std::vector<std::string> runs;
  size_t next = 0;
  size_t left() const { return runs.size() - next; }
};

class OddWriter {
 public:
  OddWriter(uint32_t permille, Random random) : permille_(permille), random_(random) {}

  std::string message(const ValueNode& node) {
    std::vector<Runs> fields;
    // The members of a oneof count by which comes last, so only one of them is there and it is written once or more.
    for (const FieldValues& values : node.fields) fields.push_back({field_runs(values, node.type), 0});
    std::string wire;
    bool mixed = random_.chance(permille_);
    size_t at = 0;
    for (size_t left = count(fields); left > 0; --left) {
      if (mixed) at = random_.index(fields.size());
      while (fields[at].left() == 0) at = (at + 1) % fields.size();
      wire += fields[at].runs[fields[at].next++];
    }
    return wire + node.unknown;
  }

 private:
  static size_t count(const std::vector<Runs>& fields) {
    size_t sum = 0;
    for (const Runs& field : fields) sum += field.left();
    return sum;
  }

  std::vector<std::string> field_runs(const FieldValues& values, const schema::MessageType& type) {
    std::vector<std::string> runs;
    const schema::FieldEntry& field = *values.field;
    bool odd = random_.chance(permille_);
    for (const ValueNode& node : values.messages) add_message(field, node, odd, &runs);
    for (const std::string& text : values.texts) {
      if (odd && field.label == schema::kLabelSingular) runs.push_back(text_run(field, random_letters(5, random_)));
      runs.push_back(text_run(field, text));
    }
    if (values.scalars.empty()) return runs;
    if (field.label == schema::kLabelSingular) {
      if (odd) runs.push_back(scalar_run(field, random_scalar(field, type, 1 + random_.index(10), random_)));
      runs.push_back(scalar_run(field, values.scalars[0]));
    } else {
      add_elements(values, odd, &runs);
    }
    return runs;
  }

  // A singular message oddly: its fields in two occurrences, which a decoder merges.
  void add_message(const schema::FieldEntry& field, const ValueNode& node, bool odd, std::vector<std::string>* runs) {
    bool map_entry = (node.type.entry().flags & schema::kMessageFlagMapEntry) != 0;
    if (odd && field.label == schema::kLabelSingular && !map_entry && node.fields.size() > 1) {
      size_t half = 1 + random_.index(node.fields.size() - 1);
      ValueNode first{node.type, {node.fields.begin(), node.fields.begin() + static_cast<ptrdiff_t>(half)}, {}};
      ValueNode second{
          node.type, {node.fields.begin() + static_cast<ptrdiff_t>(half), node.fields.end()}, node.unknown};
      runs->push_back(message_run(field, message(first)));
      runs->push_back(message_run(field, message(second)));
    } else {
      runs->push_back(message_run(field, message(node)));
    }
  }

  void add_elements(const FieldValues& values, bool odd, std::vector<std::string>* runs) {
    const schema::FieldEntry& field = *values.field;
    bool packed = values.packed != odd;
    for (size_t i = 0; i < values.scalars.size();) {
      size_t end = odd ? i + 1 + random_.index(values.scalars.size() - i) : values.scalars.size();
      std::string payload, unpacked;
      for (; i < end; ++i) {
        if (packed) {
          append(field.kind, values.scalars[i], &payload);
        } else {
          unpacked += scalar_run(field, values.scalars[i]);
        }
      }
      if (packed) {
        tag(field.number, 2, &unpacked);
        length(payload.size(), &unpacked);
      }
      runs->push_back(unpacked + payload);
    }
  }

  std::string message_run(const schema::FieldEntry& field, const std::string& bytes) {
    std::string run;
    bool group = field.kind == static_cast<uint8_t>(Kind::kGroup);
    tag(field.number, group ? 3 : 2, &run);
    if (!group) length(bytes.size(), &run);
    run += bytes;
    if (group) tag(field.number, 4, &run);
    return run;
  }
  std::string text_run(const schema::FieldEntry& field, const std::string& text) {
    std::string run;
    tag(field.number, 2, &run);
    length(text.size(), &run);
    return run + text;
  }
  std::string scalar_run(const schema::FieldEntry& field, uint64_t value) {
    std::string run;
    tag(field.number, schema::kWireTypeOfKind[field.kind], &run);
    append(field.kind, value, &run);
    return run;
  }

  void append(uint8_t kind, uint64_t value, std::string* run) {
    if (schema::kWireTypeOfKind[kind] != 0) return append_scalar(kind, value, run);
    varint(wire_bits(kind, value), 10, run);
  }
  void tag(uint32_t number, uint32_t wire_type, std::string* run) { varint(uint64_t{number} << 3 | wire_type, 5, run); }
  void length(size_t size, std::string* run) { varint(size, 5, run); }
  void varint(uint64_t value, size_t longest, std::string* run) {
    size_t shortest = varint_size(value);
    bool odd = shortest < longest && random_.chance(permille_ / 4);
    append_long_varint(value, odd ? random_.between(shortest, longest) : shortest, run);
  }

  uint32_t permille_;
  Random random_;
};

}  // namespace

void append_odd_wire(const ValueNode& node, uint32_t odd_permille, Random random, std::string* wire) {
  *wire += OddWriter(odd_permille, random).message(node);
}

}  // namespace drover::workload
