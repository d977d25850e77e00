// The statistics as a table, figures down and workloads across.
#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <functional>
#include <numeric>

#include "workload/statistics.h"

namespace drover::workload {
namespace {

using Cell = std::function<std::string(const Statistics&)>;
struct Row {
  std::string name;
  Cell cell;
};

std::string number(uint64_t value) {  // 1,234,567
  std::string digits = std::to_string(value);
  for (size_t i = digits.size(); i > 3; i -= 3) digits.insert(i - 3, ",");
  return digits;
}

std::string share(uint64_t part, uint64_t whole) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f %%", whole == 0 ? 0.0 : 100.0 * static_cast<double>(part) / double(whole));
  return text;
}

template <size_t N>
uint64_t sum(const std::array<uint64_t, N>& values) {
  return std::accumulate(values.begin(), values.end(), uint64_t{0});
}
uint64_t sum(const std::vector<uint64_t>& values) { return std::accumulate(values.begin(), values.end(), uint64_t{0}); }

std::string quantiles(const std::vector<uint64_t>& values, std::initializer_list<unsigned> percents) {
  if (values.empty()) return "-";
  std::string text;
  for (unsigned percent : percents) text += (text.empty() ? "" : " / ") + number(percentile(values, percent));
  return text;
}

std::vector<Row> rows(const std::vector<NamedStatistics>& columns) {
  std::vector<Row> table = {
      {"messages", [](const Statistics& s) { return number(s.sizes.size()); }},
      {"wire bytes", [](const Statistics& s) { return number(sum(s.sizes)); }},
      {"wire size: least / median / 90 % / most",
       [](const Statistics& s) { return quantiles(s.sizes, {0, 50, 90, 100}); }},
      {"levels of messages: median / most",
       [](const Statistics& s) { return quantiles({s.depths.begin(), s.depths.end()}, {50, 100}); }},
      {"objects at all levels", [](const Statistics& s) { return number(s.objects); }},
      {"fields present", [](const Statistics& s) { return share(s.fields_present, s.fields_possible); }},
      {"string length: least / median / 90 % / most",
       [](const Statistics& s) { return quantiles(s.string_sizes, {0, 50, 90, 100}); }},
      {"bytes length: least / median / 90 % / most",
       [](const Statistics& s) { return quantiles(s.bytes_sizes, {0, 50, 90, 100}); }},
      {"share of wire bytes in string and bytes values",
       [](const Statistics& s) { return share(sum(s.string_sizes) + sum(s.bytes_sizes), sum(s.sizes)); }},
      {"varints of 1 / 2 / 3-5 / 6-9 / 10 bytes",
       [](const Statistics& s) {
         const auto& v = s.varints;
         uint64_t all = sum(v);
         return share(v[1], all) + " / " + share(v[2], all) + " / " + share(v[3] + v[4] + v[5], all) + " / " +
                share(v[6] + v[7] + v[8] + v[9], all) + " / " + share(v[10], all);
       }},
      {"schema: message types", [](const Statistics& s) { return number(s.types); }},
      {"schema: levels of types", [](const Statistics& s) { return number(s.schema_depth); }},
      {"schema: fields", [](const Statistics& s) { return number(sum(s.fields)); }},
      {"schema: fields of a type: median / 90 % / most",
       [](const Statistics& s) { return quantiles(s.type_fields, {50, 90, 100}); }},
      {"schema: field number: median / 90 % / most",
       [](const Statistics& s) { return quantiles(s.field_numbers, {50, 90, 100}); }},
      {"schema: repeated fields", [](const Statistics& s) { return number(s.repeated_fields); }},
  };
  auto any = [&](auto member, size_t kind) {
    return std::any_of(columns.begin(), columns.end(), [&](auto& c) { return (c.statistics.*member)[kind] != 0; });
  };
  for (uint8_t kind = 1; kind < schema::kKindCount; ++kind) {
    if (!any(&Statistics::values, kind) && !any(&Statistics::fields, kind)) continue;
    table.push_back({std::string(kind_name(kind)) + ": fields of the schema / values",
                     [kind](const Statistics& s) { return number(s.fields[kind]) + " / " + number(s.values[kind]); }});
  }
  if (std::any_of(columns.begin(), columns.end(), [](auto& c) { return c.statistics.unknown_fields != 0; })) {
    table.push_back({"unknown fields / bytes",
                     [](const Statistics& s) { return number(s.unknown_fields) + " / " + number(s.unknown_bytes); }});
  }
  return table;
}

}  // namespace

std::string statistics_table(const std::vector<NamedStatistics>& columns, bool markdown) {
  std::vector<std::vector<std::string>> cells = {{""}};
  for (const NamedStatistics& column : columns) cells[0].push_back(column.name);
  for (const Row& row : rows(columns)) {
    cells.push_back({row.name});
    for (const NamedStatistics& column : columns) cells.back().push_back(row.cell(column.statistics));
  }
  std::vector<size_t> widths(columns.size() + 1);
  for (const auto& line : cells) {
    for (size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], line[i].size());
  }
  std::string text;
  for (size_t row = 0; row < cells.size(); ++row) {
    text += markdown ? "|" : "";
    for (size_t i = 0; i < cells[row].size(); ++i) {
      const std::string& cell = cells[row][i];
      std::string pad(widths[i] - cell.size(), ' ');
      if (markdown) {
        text += " " + cell + " |";
      } else {
        text += i == 0 ? cell + pad : "  " + pad + cell;
      }
    }
    text += "\n";
    if (!markdown || row != 0) continue;
    text += "| --- |";
    for (size_t i = 0; i < columns.size(); ++i) text += " ---: |";
    text += "\n";
  }
  return text;
}

}  // namespace drover::workload
