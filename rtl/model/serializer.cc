#include "rtl/model/serializer.h"

#include <cstring>

#include "rtl/driver/serializer_table.h"
#include "rtl/serializer/serializer_format.h"

namespace drover::rtl {

using serializer::kTableLineBytes;

void Serializer::Table::load(const schema::Image& image, bool presence_lines) {
  bytes = serializer_table(image);
  if (!presence_lines) {
    bytes.assign((image.size() + kTableLineBytes - 1) / kTableLineBytes * kTableLineBytes, 0);
    std::memcpy(bytes.data(), image.data(), image.size());
  }
  top.image_fields_i = image.header().fields;
  top.image_message_count_i = image.header().message_count;
}

void Serializer::Table::drive() {
  size_t at = size_t{line} * kTableLineBytes;
  if (at + kTableLineBytes <= bytes.size()) std::memcpy(&top.table_data_i, bytes.data() + at, kTableLineBytes);
}

void Serializer::Table::sample() {
  if (top.table_read_o) line = top.table_line_o;
}

void Serializer::Commands::drive() {
  if (!valid && !queue.empty() && !held_back(stall)) {
    valid = true;
    const SerializerCommand& c = queue.front();
    top.cmd_walk_i = c.walk;
    top.cmd_pushed_i = c.pushed;
    top.cmd_message_i = c.message;
    top.cmd_cookie_i = c.cookie;
    top.cmd_records_i = c.records;
    top.cmd_record_bytes_i = c.record_bytes;
    top.cmd_payload_i = c.payload;
    top.cmd_payload_bytes_i = c.payload_bytes;
    std::memset(&top.cmd_header_i, 0, serializer::kMaxHeaderBytes);
    std::memcpy(&top.cmd_header_i, c.header.data(), c.header.size());
    top.cmd_header_size_i = c.header_size.value_or(static_cast<uint8_t>(c.header.size()));
    top.cmd_length_format_i = static_cast<CData>(c.length_format);
    top.cmd_length_at_i = c.length_at;
  }
  top.cmd_valid_i = valid;
}

void Serializer::Commands::sample() {
  ++now;
  if (!valid || !top.cmd_ready_o) return;
  if (first == 0) first = now;
  valid = false;
  queue.pop_front();
}

void Serializer::Commands::reset() {
  queue.clear();
  top.cmd_valid_i = valid = false;
}

void Serializer::Completions::sample() {
  ++now;
  if (top.tx_tvalid_o && top.tx_tready_i) {
    if (first_beats.size() == last_beats.size()) first_beats.push_back(now);
    if (top.tx_tlast_o) {
      last_beats.push_back(now);
      broken.push_back(top.tx_tuser_o != 0);
    }
  }
  if (top.done_valid_o && top.done_ready_i) {
    all.push_back({top.done_cookie_o, static_cast<SerializerError>(top.done_error_o), top.done_size_o, now});
  }
}

void Serializer::Completions::reset() {
  all.clear();
  first_beats.clear();
  last_beats.clear();
  broken.clear();
  top.done_ready_i = 0;
}

Serializer::Serializer(const SerializerConfig& config)
    : config_(config),
      sim_(config.power_up),
      table_(&sim_.top()),
      commands_(&sim_.top(), config.command_stall),
      completions_(&sim_.top(), config.completion_stall),
      packets_(DROVER_AXI_STREAM_OUTPUT(sim_.top(), tx), config.packet_stall) {
  top().host_base_i = kHostBase;
  top().host_limit_i = kHostBase + config.host_bytes;
  top().engine_base_i = kEngineBase;
  top().engine_size_i = config.engine_bytes;
}

void Serializer::reset() {
  if (!joined_) {
    for (Part* part : {static_cast<Part*>(&table_), static_cast<Part*>(&commands_), static_cast<Part*>(&completions_),
                       static_cast<Part*>(&packets_)}) {
      sim_.add(part);
    }
    joined_ = true;
  }
  sim_.reset();
}

}  // namespace drover::rtl
