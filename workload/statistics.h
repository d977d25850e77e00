// Statistics of messages as wire bytes: what `drover gen` prints, what docs/workload.md shows of HyperProtoBench and of
// the built-in workload side by side, and what the tests compare.
#pragma once

#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schema/message_type.h"
#include "workload/workload.h"

namespace drover::workload {

struct Statistics {
  // ---- the messages
  std::vector<uint64_t> sizes;                             // wire bytes of each message
  std::vector<uint32_t> depths;                            // levels of messages in each, itself included
  uint64_t objects = 0;                                    // messages at all levels
  uint64_t fields_possible = 0;                            // fields of these objects' types
  uint64_t fields_present = 0;                             // of those, the ones that are there
  std::array<uint64_t, schema::kKindCount> values{};       // by schema::Kind
  std::array<uint64_t, schema::kKindCount> value_bytes{};  // wire bytes, tags and lengths apart; none for messages
  std::array<uint64_t, 11> varints{};  // [n]: int32, int64, uint32, uint64, sint* and enum values of n bytes
  std::vector<uint64_t> string_sizes, bytes_sizes;
  uint64_t unknown_fields = 0, unknown_bytes = 0;

  // ---- their schemas: each type that a message can hold, once
  std::set<std::pair<const schema::Image*, uint32_t>> counted_types;
  uint64_t types = 0;
  std::array<uint64_t, schema::kKindCount> fields{};  // by schema::Kind
  uint64_t repeated_fields = 0;
  uint32_t schema_depth = 0;            // levels, where types are not recursive; recursion is cut at the repeated type
  std::vector<uint64_t> type_fields;    // of each type
  std::vector<uint64_t> field_numbers;  // of each field
};

// Adds one message and the types that it can hold. False if the bytes are not well formed; what was read up to there is
// counted.
bool add_message(const schema::MessageType& type, std::string_view wire, Statistics* out);

// Of the messages of one group, or of those whose group is published (or all).
Statistics group_statistics(const Workload& workload, uint32_t group);
Statistics total_statistics(const Workload& workload, WorkloadPart part);

// The value at `percent` of the sorted values; 0 of none.
uint64_t percentile(std::vector<uint64_t> values, unsigned percent);

// "int32", "message"
const char* kind_name(uint8_t kind);

// A table of text for people: one column for each of `columns`, one row for each figure.
struct NamedStatistics {
  std::string name;
  Statistics statistics;
};
std::string statistics_table(const std::vector<NamedStatistics>& columns, bool markdown);

}  // namespace drover::workload
