// Mutations at field boundaries.
#include "workload/wire_mutation.h"

#include <algorithm>

#include "workload/value_tree.h"
#include "workload/wire_reader.h"

namespace drover::workload {
namespace {

// A field and the delimited fields around it, outermost first.
struct Place {
  WireField field;
  std::vector<WireField> around;
};

void collect(const std::string& wire, size_t begin, size_t end, std::vector<WireField>* around,
             std::vector<Place>* places) {
  if (around->size() > 20 || places->size() > 2000) return;
  WireReader reader(wire, begin, end);
  WireField field;
  while (reader.next(&field)) {
    places->push_back({field, *around});
    if (field.wire_type != 2 && field.wire_type != 3) continue;
    if (field.wire_type == 2) around->push_back(field);
    collect(wire, field.payload, field.payload_end, around, places);
    if (field.wire_type == 2) around->pop_back();
  }
}

std::vector<Place> find_places(const std::string& wire) {
  std::vector<WireField> around;
  std::vector<Place> places;
  collect(wire, 0, wire.size(), &around, &places);
  return places;
}

std::string varint(uint64_t value) {
  std::string bytes;
  append_varint(value, &bytes);
  return bytes;
}

class Mutation {
 public:
  Mutation(Random& random, std::string* wire) : random_(random), wire_(wire), places_(find_places(*wire)) {}

  void apply() {
    if (places_.empty()) return apply_blindly();
    place_ = &places_[random_.index(places_.size())];
    const WireField& field = place_->field;
    switch (random_.below(12)) {
      case 0:
        return replace(field.begin, field.value, changed_tag(field));
      case 1:
        return change_length(field);
      case 2:
        return change_value(field);
      case 3:
        return replace(field.begin, field.end, "");
      case 4:
        return replace(field.end, field.end, text(field).substr(0, 4096));
      case 5:
        return move(field);
      case 6:
        return wrap(field);
      case 7:
        return replace(random_.chance(500) ? field.begin : field.end, field.begin == 0 ? 0 : field.end,
                       varint(random_.between(1, 40) << 3 | (random_.chance(500) ? 3 : 4)));
      case 8:
        return wire_->resize(boundary());
      case 9: {
        size_t at = boundary();
        return replace(at, at, std::string(1, static_cast<char>(random_.next())));
      }
      default:
        return apply_blindly();
    }
  }

 private:
  std::string text(const WireField& field) const { return wire_->substr(field.begin, field.end - field.begin); }
  size_t boundary() {
    std::vector<size_t> all = field_boundaries(*wire_);
    return all[random_.index(all.size())];
  }

  void apply_blindly() {
    if (wire_->empty()) {
      *wire_ += static_cast<char>(random_.next());
      return;
    }
    size_t at = random_.index(wire_->size());
    if (random_.chance(700)) {
      (*wire_)[at] = static_cast<char>((*wire_)[at] ^ 1 << random_.below(8));
    } else {
      (*wire_)[at] = static_cast<char>(random_.next());
    }
  }

  // Puts `with` in the place of [begin, end); in one case of two the lengths around it are set right.
  void replace(size_t begin, size_t end, const std::string& with) {
    if (end < begin) end = begin;
    ptrdiff_t growth = static_cast<ptrdiff_t>(with.size()) - static_cast<ptrdiff_t>(end - begin);
    wire_->replace(begin, end - begin, with);
    if (random_.chance(500)) return;
    for (size_t i = place_->around.size(); i > 0; --i) {
      const WireField& outer = place_->around[i - 1];
      size_t length = static_cast<size_t>(static_cast<ptrdiff_t>(outer.end - outer.payload) + growth);
      std::string bytes = varint(length);
      growth += static_cast<ptrdiff_t>(bytes.size()) - static_cast<ptrdiff_t>(outer.payload - outer.value);
      wire_->replace(outer.value, outer.payload - outer.value, bytes);
    }
  }

  std::string changed_tag(const WireField& field) {
    uint64_t number = field.number, type = field.wire_type;
    switch (random_.below(6)) {
      case 0:
        number = random_.between(0, 40);
        break;
      case 1:
        number = random_.chance(500) ? (1 << 29) - 1 : random_.below(1u << 30);
        break;
      case 2:
        number += random_.between(0, 2) - 1;
        break;
      case 3: {  // more bytes than it needs, and perhaps than it may have
        std::string bytes;
        append_long_varint(number << 3 | type, random_.between(varint_size(number << 3), 10), &bytes);
        return bytes;
      }
      default:
        type = random_.below(8);
    }
    return varint(number << 3 | type);
  }

  void change_length(const WireField& field) {
    const WireField* target = &field;
    if (field.wire_type != 2) {
      if (place_->around.empty()) return change_value(field);
      target = &place_->around.back();
    }
    uint64_t length = target->end - target->payload;
    switch (random_.below(6)) {
      case 0:
        length += random_.between(0, 4) - 2;
        break;
      case 1:
        length = wire_->size() - target->payload;
        break;
      case 2:
        length = random_.below(1000);
        break;
      case 3:
        length = (uint64_t{1} << random_.below(64)) - random_.below(2);
        break;
      case 4:
        length = 0x7fffffff - random_.below(20);
        break;
      default: {
        std::string bytes;
        append_long_varint(length, random_.between(1, 10), &bytes);
        wire_->replace(target->value, target->payload - target->value, bytes);
        return;
      }
    }
    wire_->replace(target->value, target->payload - target->value, varint(length));
  }

  void change_value(const WireField& field) {
    if (field.wire_type == 0) {
      std::string bytes;
      uint64_t value = random_.chance(500) ? random_.next() >> random_.below(64) : 0 - random_.below(300);
      append_long_varint(value, random_.chance(700) ? varint_size(value) : random_.between(1, 11), &bytes);
      return replace(field.value, field.end, bytes);
    }
    if (field.payload_end == field.payload) return;
    size_t at = field.payload + random_.index(field.payload_end - field.payload);
    (*wire_)[at] = static_cast<char>(random_.next());
  }

  void move(const WireField& field) {
    std::string bytes = text(field).substr(0, 4096);
    size_t at = boundary();
    wire_->insert(at, bytes);
    if (at >= field.end && random_.chance(500)) wire_->erase(field.begin, field.end - field.begin);
  }

  void wrap(const WireField& field) {
    std::string bytes = text(field);
    uint64_t number = random_.chance(500) ? field.number : random_.between(1, 20);
    bool group = random_.chance(400);
    for (uint64_t i = random_.chance(900) ? 1 : random_.between(2, 130); i > 0 && bytes.size() < 4096; --i) {
      bytes = group ? varint(number << 3 | 3) + bytes + varint(number << 3 | 4)
                    : varint(number << 3 | 2) + varint(bytes.size()) + bytes;
    }
    replace(field.begin, field.end, bytes);
  }

  Random& random_;
  std::string* wire_;
  std::vector<Place> places_;
  const Place* place_ = nullptr;
};

}  // namespace

std::vector<size_t> field_boundaries(const std::string& wire) {
  std::vector<size_t> all = {0, wire.size()};
  for (const Place& place : find_places(wire)) {
    const WireField& field = place.field;
    all.insert(all.end(), {field.begin, field.value, field.payload, field.payload_end, field.end});
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

void mutate_wire(Random& random, std::string* wire) { Mutation(random, wire).apply(); }

}  // namespace drover::workload
