#include "sim/platform/options.h"

#include <cmath>
#include <cstdio>

namespace drover::sim {

void add_link_keys(const std::string& prefix, const std::string& what, LinkConfig* link, Keys* keys) {
  keys->add({prefix + ".latency", what + ": of an access, there and back (\"1250ns\"); half of it is one way",
             [link](const std::string& text) {
               Time value = 0;
               if (!parse_time(text, &value)) return false;
               link->one_way = value / 2;
               return true;
             },
             [link] { return format_time(link->one_way * 2); }});
  keys->time(prefix + ".one_way", "the same, said as the latency of one way", &link->one_way);
  keys->bandwidth(prefix + ".bandwidth", "of payload in full packets, each direction (\"12.8GB/s\")", &link->bandwidth);
  keys->count(prefix + ".header", "bytes that each packet takes beyond its payload", &link->header, 0, UINT32_MAX);
  keys->count(prefix + ".payload_limit", "bytes that a packet carries at most", &link->payload_limit, 1, UINT32_MAX);
  keys->time(prefix + ".interval", "between the beginnings of two transactions of a kind (\"16ns\")", &link->interval);
  keys->count(prefix + ".writes_in_flight", "writes that are under way at once", &link->writes_in_flight, 1,
              UINT32_MAX);
  keys->count(prefix + ".reads_in_flight", "reads that are under way at once", &link->reads_in_flight, 1, UINT32_MAX);
  keys->time(prefix + ".access", "the memory's own latency behind the link, of a read", &link->access);
  keys->count(prefix + ".tlb_entries", "pages whose translation the memory's side holds; 0: nothing is translated",
              &link->tlb.entries, 0, UINT32_MAX);
  keys->count(prefix + ".tlb_page", "bytes of a page (\"4KiB\", \"2MiB\")", &link->tlb.page, 64, UINT32_MAX);
  keys->time(prefix + ".tlb_miss", "what finding a page's translation takes", &link->tlb.miss);
}

void add_coherent_keys(CoherentConfig* coherent, Keys* keys) {
  keys->time("coherent.one_way", "of the coherent link between the NIC's cache and the processor's",
             &coherent->one_way);
  keys->time("coherent.access", "of the processor's cache, behind the link", &coherent->access);
  keys->time("coherent.hit", "of a read that the NIC's cache holds", &coherent->hit);
  keys->time("coherent.interval", "between two transactions at the endpoint, which both hosts' NICs share",
             &coherent->interval);
  keys->bandwidth("coherent.bandwidth", "of lines to the NIC", &coherent->bandwidth);
  keys->count("coherent.reads_in_flight", "reads that are under way at once", &coherent->reads_in_flight, 1,
              UINT32_MAX);
  keys->count("coherent.cache_lines", "that the NIC's cache holds", &coherent->cache_lines, 1, UINT32_MAX);
}

void LinkOptions::add_keys(Keys* keys) {
  add_link_keys("link", "engine to host memory (engine.kind none: NIC to host memory)", &link, keys);
  keys->flag("nic.apart", "the engine is not in the NIC: wire bytes cross the nic link too, once each way", &nic_apart);
  add_link_keys("nic", "NIC to host memory", &nic_link, keys);
}

void HandoverOptions::add_keys(Keys* keys) {
  keys->flag("deserializer.one_shot", "true: chunks by one DMA write each; false: a DMA write for each field",
             &one_shot);
  keys->choice("serializer.mode",
               "memory-affinity (the host writes a stream), nic-only (pointers are chased), either (by walk_limit)",
               &send,
               {{"memory-affinity", SendMode::kMemoryAffinity},
                {"nic-only", SendMode::kNicOnly},
                {"either", SendMode::kEither}});
  keys->count("serializer.walk_limit",
              "of mode either: objects are walked that take at most so many bytes, long strings apart", &walk_limit, 0,
              1 << 30);
  keys->count("serializer.payload_threshold", "bytes from which on a string is not among the records",
              &payload_threshold, 1, 1 << 30);
  keys->flag("serializer.memcpy_engine",
             "strings that are payload, from cpu.copy_from on, are copied by a copy engine, not by the CPU",
             &memcpy_engine);
  keys->count("serializer.reference_from",
              "bytes from which on a stream refers to a string in host memory instead of holding it; 0: never",
              &reference_from, 0, 1 << 30);
  keys->flag("serializer.one_piece", "objects that are walked lie in one piece, which the engine reads at once",
             &one_piece);
  keys->count("serializer.prefetch",
              "so many bytes of the long strings of a message are read into the inbox as its command comes; 0: none",
              &prefetch, 0, 1 << 30);
}

CodecCost CpuOptions::cost(Job job) const {
  CodecCost all = stated_codec_cost(codec, job, caches);
  const CodecCost& own = job == Job::kDecode ? decode : job == Job::kEncode ? encode : preserialize;
  for (double CodecCost::* part : {&CodecCost::message, &CodecCost::object, &CodecCost::scalar, &CodecCost::string,
                                   &CodecCost::byte, &CodecCost::untouched}) {
    if (!std::isnan(own.*part)) all.*part = own.*part;
  }
  return all;
}

void CpuOptions::add_cost_keys(const std::string& prefix, const std::string& what, Job job, CodecCost* own,
                               Keys* keys) {
  auto part = [&](const char* name, const char* meaning, double CodecCost::* at) {
    double* value = &(own->*at);
    keys->add({"cpu." + prefix + "_" + name, what + ", ns " + meaning,
               [value](const std::string& text) { return parse_number(text, value); },
               [this, job, at] {
                 char text[40];
                 std::snprintf(text, sizeof(text), "%.6g", cost(job).*at);
                 return std::string(text);
               }});
  };
  part("message", "a message", &CodecCost::message);
  part("object", "for each message in it, itself included", &CodecCost::object);
  part("scalar", "for each number, bool and enum value", &CodecCost::scalar);
  part("string", "for each string and bytes value", &CodecCost::string);
  part("byte", "for each byte of these", &CodecCost::byte);
  if (job == Job::kPreserialize) {
    part("untouched", "for each string that is not read: a copy engine's, or referred to", &CodecCost::untouched);
  }
}

void CpuOptions::add_keys(Keys* keys) {
  keys->choice("cpu.model", "stated (the costs below) or measured (the codec is timed on this machine)", &model,
               {{"stated", CpuModel::kStated}, {"measured", CpuModel::kMeasured}});
  keys->number("cpu.scale", "all costs of the host's CPU, times this", &scale);
  keys->choice("cpu.codec", "of the host's CPU and of the SmartNIC's cores: drover, protobuf (heap) or protobuf-arena",
               &codec,
               {{"drover", Codec::kDrover}, {"protobuf", Codec::kProtobuf}, {"protobuf-arena", Codec::kProtobufArena}});
  keys->choice("cpu.caches", "warm, or cold: objects, wire bytes and output lie in DRAM", &caches,
               {{"warm", Caches::kWarm}, {"cold", Caches::kCold}});
  add_cost_keys("decode", "decoding", Job::kDecode, &decode, keys);
  add_cost_keys("encode", "encoding", Job::kEncode, &encode, keys);
  add_cost_keys("preserialize", "writing the pre-serialized stream", Job::kPreserialize, &preserialize, keys);
  keys->count("cpu.copy_from", "bytes from which on the copy engine copies a string", &copy_from, 1, 1 << 30);
  keys->number("cpu.copy_submit", "ns of CPU to hand one copy to the copy engine", &copy_submit);
  keys->bandwidth("cpu.copy_bandwidth", "of the copy engine", &copy_bandwidth);
  keys->number("cpu.push_line", "ns of CPU for each 64-byte line that it stores into the card; a doorbell is one",
               &push_line);
}

}  // namespace drover::sim
