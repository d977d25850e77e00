// Random messages of protobuf C++, and random wire bytes, from one seeded generator. For schemas there is
// workload/random_schema.h; for wire bytes of a schema workload/message_generator.h, which does not use the peer.
//
// tests/corpus/hostile_encode_fuzz depends on what RandomMessages draws: its inputs are patches of such a message.
#pragma once

#include <google/protobuf/message.h>
#include <google/protobuf/unknown_field_set.h>

#include <cstdint>
#include <random>
#include <string>

namespace drover::testing {

// Numbers of all encoded lengths; and texts of characters of one to four bytes.
uint64_t random_number(std::mt19937_64& random);
std::string random_text(std::mt19937_64& random);

// Fills a message by reflection: about half of its fields, and in one message of four fields that it does not know.
class RandomMessages {
 public:
  explicit RandomMessages(std::mt19937_64& random) : random_(random) {}

  void fill(google::protobuf::Message* message, int depth);

 private:
  using FieldDescriptor = google::protobuf::FieldDescriptor;

  void set(google::protobuf::Message* m, const FieldDescriptor* field, bool add, int depth);
  void fill_map(google::protobuf::Message* message, const FieldDescriptor* field, int depth);
  void unknown(google::protobuf::UnknownFieldSet* set, int depth);

  std::mt19937_64& random_;
};

// Cuts, overwrites, doubles or inserts a few bytes.
void damage(std::mt19937_64& random, std::string* wire);

// Bytes that look like fields: plausible tags, lengths and varints, sometimes not.
std::string random_wire(std::mt19937_64& random, int depth = 3);

}  // namespace drover::testing
