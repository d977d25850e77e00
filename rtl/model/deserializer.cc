#include "rtl/model/deserializer.h"

#include <utility>

namespace drover::rtl {
namespace {

constexpr int kClearCycles = 80;  // after reset the temp buffers are cleared

}  // namespace

Deserializer::Driver::Driver(Vdrover_deserializer* device, const DeserializerConfig& config)
    : top(*device),
      command_stall(config.command_stall),
      chunk_stall(config.chunk_stall),
      record_stall(config.record_stall) {}

std::deque<ChunkRun>& Deserializer::Driver::list(FreeKind kind) {
  return kind == FreeKind::kChunk ? free.chunks : kind == FreeKind::kRun ? free.runs : free.engine_runs;
}

void Deserializer::Driver::drive() {
  if (!top.cmd_valid_i || command_taken) top.cmd_valid_i = !commands.empty() && !held_back(command_stall);
  if (top.cmd_valid_i && !commands.empty()) {
    top.cmd_type_i = commands.front().type;
    top.cmd_length_i = commands.front().length;
    top.cmd_cookie_i = commands.front().cookie;
  }
  command_taken = false;
  top.chunk_valid_i = !free.chunks.empty() && (chunk_held || !held_back(chunk_stall));
  chunk_held = top.chunk_valid_i;
  if (!free.chunks.empty()) top.chunk_i = free.chunks.front().first;
  top.run_valid_i = !free.runs.empty();
  if (!free.runs.empty()) {
    top.run_first_i = free.runs.front().first;
    top.run_count_i = static_cast<SData>(free.runs.front().count);
  }
  top.erun_valid_i = !free.engine_runs.empty();
  if (!free.engine_runs.empty()) {
    top.erun_first_i = free.engine_runs.front().first;
    top.erun_count_i = static_cast<SData>(free.engine_runs.front().count);
  }
  top.cmpl_ready_i = !held_back(record_stall);
}

void Deserializer::Driver::sample() {
  if (top.cmd_valid_i && top.cmd_ready_o) {
    commands.pop_front();
    command_taken = true;
  }
  if (top.chunk_valid_i && top.chunk_ready_o) {
    chunk_held = false;
    take(FreeKind::kChunk);
  }
  if (top.run_valid_i && top.run_ready_o) take(FreeKind::kRun);
  if (top.erun_valid_i && top.erun_ready_o) take(FreeKind::kEngineRun);
  if (top.cmpl_valid_o && top.cmpl_ready_i && record) record(DeserializerRecord::decode(top.cmpl_data_o.data()));
}

void Deserializer::Driver::take(FreeKind kind) {
  ChunkRun run = list(kind).front();
  list(kind).pop_front();
  if (taken) taken(kind, run);
}

void Deserializer::Driver::reset() {
  commands.clear();
  command_taken = chunk_held = false;
  top.cmd_valid_i = top.chunk_valid_i = top.run_valid_i = top.erun_valid_i = top.cmpl_ready_i = 0;
}

Deserializer::Deserializer(const DeserializerConfig& config)
    : config_(config),
      sim_(config.power_up),
      packets_(DROVER_AXI_STREAM_INPUT(sim_.top(), rx), config.packet_stall),
      driver_(&sim_.top(), config) {
  configure();
}

void Deserializer::configure() {
  Vdrover_deserializer& device = top();
  auto host_chunks = static_cast<uint32_t>(config_.host_bytes / kChunkBytes);
  device.cfg_one_shot_i = config_.one_shot;
  device.cfg_eager_i = config_.eager;
  device.cfg_protoacc_i = config_.protoacc;
  device.cfg_descriptors_i = kDescriptors;
  device.cfg_lanes_i = config_.lanes;
  device.cfg_depth_limit_i = config_.depth_limit;
  device.cfg_host_base_i = 1;  // chunk 0 stays out: an offset of 0 is no object
  device.cfg_host_limit_i = host_chunks;
  device.cfg_engine_base_i = host_chunks;
  device.cfg_engine_limit_i = host_chunks + static_cast<uint32_t>(config_.engine_bytes / kChunkBytes);
}

void Deserializer::reset(FreeMemory free) {
  if (!joined_) {
    sim_.add(&packets_);
    sim_.add(&driver_);
    joined_ = true;
  }
  top().load_valid_i = top().tlb_valid_i = 0;
  sim_.reset();
  fill_tlb();
  driver_.free = std::move(free);
  for (int i = 0; i < kClearCycles; ++i) sim_.cycle();
}

void Deserializer::fill_tlb() {
  for (uint64_t page = 0; page < (config_.host_bytes + kTlbPageBytes - 1) / kTlbPageBytes; ++page) {
    top().tlb_valid_i = 1;
    top().tlb_page_i = static_cast<SData>(page);
    top().tlb_present_i = config_.tlb_present;
    top().tlb_frame_i = kHostBus / kTlbPageBytes + page;
    sim_.cycle_alone();
  }
  top().tlb_valid_i = 0;
}

void Deserializer::load_words(const std::vector<TableWord>& words) {
  for (const TableWord& word : words) {
    top().load_valid_i = 1;
    top().load_space_i = static_cast<CData>(word.space);
    top().load_addr_i = word.address;
    top().load_data_i = word.data;
    sim_.cycle();
  }
  top().load_valid_i = 0;
}

}  // namespace drover::rtl
