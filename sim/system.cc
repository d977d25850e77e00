#include "sim/system.h"

#include <cmath>
#include <functional>

namespace drover::sim {
namespace {

struct Key {
  std::string name, meaning;
  std::function<bool(System*, const std::string&)> set;
  std::function<std::string(const System&)> get;
};

std::string plain(double value) {
  char text[40];
  std::snprintf(text, sizeof(text), "%.6g", value);
  return text;
}

using Get = std::function<LinkConfig&(System&)>;

// `const System&` to the same member, to read it.
const LinkConfig& read(const Get& link, const System& system) { return link(const_cast<System&>(system)); }

void add_link(const std::string& prefix, const std::string& what, Get link, std::vector<Key>* keys) {
  auto whole = [link](uint32_t LinkConfig::* member, uint32_t least) {
    return [link, member, least](System* s, const std::string& text) {
      uint64_t value = 0;
      if (!parse_size(text, &value) || value < least || value > UINT32_MAX) return false;
      link(*s).*member = static_cast<uint32_t>(value);
      return true;
    };
  };
  auto show = [link](uint32_t LinkConfig::* member) {
    return [link, member](const System& s) { return std::to_string(read(link, s).*member); };
  };
  keys->push_back({prefix + ".latency", what + ": of an access, there and back (\"1250ns\"); half of it is one way",
                   [link](System* s, const std::string& text) {
                     Time value = 0;
                     if (!parse_time(text, &value)) return false;
                     link(*s).one_way = value / 2;
                     return true;
                   },
                   [link](const System& s) { return format_time(read(link, s).one_way * 2); }});
  keys->push_back({prefix + ".one_way", "the same, said as the latency of one way",
                   [link](System* s, const std::string& text) { return parse_time(text, &link(*s).one_way); },
                   [link](const System& s) { return format_time(read(link, s).one_way); }});
  keys->push_back({prefix + ".bandwidth", "of payload in full packets, each direction (\"12.8GB/s\")",
                   [link](System* s, const std::string& text) { return parse_bandwidth(text, &link(*s).bandwidth); },
                   [link](const System& s) { return format_bandwidth(read(link, s).bandwidth); }});
  keys->push_back({prefix + ".header", "bytes that each packet takes beyond its payload", whole(&LinkConfig::header, 0),
                   show(&LinkConfig::header)});
  keys->push_back({prefix + ".payload_limit", "bytes that a packet carries at most",
                   whole(&LinkConfig::payload_limit, 1), show(&LinkConfig::payload_limit)});
  keys->push_back({prefix + ".interval", "between the beginnings of two transactions of a kind (\"16ns\")",
                   [link](System* s, const std::string& text) { return parse_time(text, &link(*s).interval); },
                   [link](const System& s) { return format_time(read(link, s).interval); }});
  keys->push_back({prefix + ".writes_in_flight", "writes that are under way at once",
                   whole(&LinkConfig::writes_in_flight, 1), show(&LinkConfig::writes_in_flight)});
  keys->push_back({prefix + ".reads_in_flight", "reads that are under way at once",
                   whole(&LinkConfig::reads_in_flight, 1), show(&LinkConfig::reads_in_flight)});
  keys->push_back({prefix + ".access", "the memory's own latency behind the link, of a read",
                   [link](System* s, const std::string& text) { return parse_time(text, &link(*s).access); },
                   [link](const System& s) { return format_time(read(link, s).access); }});
  auto tlb = [link](uint32_t TlbConfig::* member, uint32_t least) {
    return [link, member, least](System* s, const std::string& text) {
      uint64_t value = 0;
      if (!parse_size(text, &value) || value < least || value > UINT32_MAX) return false;
      link(*s).tlb.*member = static_cast<uint32_t>(value);
      return true;
    };
  };
  keys->push_back({prefix + ".tlb_entries", "pages whose translation the memory's side holds; 0: nothing is translated",
                   tlb(&TlbConfig::entries, 0),
                   [link](const System& s) { return std::to_string(read(link, s).tlb.entries); }});
  keys->push_back({prefix + ".tlb_page", "bytes of a page (\"4KiB\", \"2MiB\")", tlb(&TlbConfig::page, 64),
                   [link](const System& s) { return std::to_string(read(link, s).tlb.page); }});
  keys->push_back({prefix + ".tlb_miss", "what finding a page's translation takes",
                   [link](System* s, const std::string& text) { return parse_time(text, &link(*s).tlb.miss); },
                   [link](const System& s) { return format_time(read(link, s).tlb.miss); }});
}

void add_number(const std::string& name, const std::string& meaning, std::function<double&(System&)> at,
                std::vector<Key>* keys) {
  keys->push_back({name, meaning, [at](System* s, const std::string& text) { return parse_number(text, &at(*s)); },
                   [at](const System& s) { return plain(at(const_cast<System&>(s))); }});
}
void add_bandwidth(const std::string& name, const std::string& meaning, double System::* member,
                   std::vector<Key>* keys) {
  keys->push_back({name, meaning,
                   [member](System* s, const std::string& text) { return parse_bandwidth(text, &(s->*member)); },
                   [member](const System& s) { return format_bandwidth(s.*member); }});
}
void add_flag(const std::string& name, const std::string& meaning, bool System::* member, std::vector<Key>* keys) {
  keys->push_back({name, meaning,
                   [member](System* s, const std::string& text) { return parse_flag(text, &(s->*member)); },
                   [member](const System& s) { return s.*member ? "true" : "false"; }});
}
void add_count(const std::string& name, const std::string& meaning, uint64_t System::* member, uint64_t least,
               uint64_t most, std::vector<Key>* keys) {
  keys->push_back({name, meaning,
                   [=](System* s, const std::string& text) {
                     uint64_t value = 0;
                     if (!parse_size(text, &value) || value < least || value > most) return false;
                     s->*member = value;
                     return true;
                   },
                   [member](const System& s) { return std::to_string(s.*member); }});
}
template <typename Enum>
void add_choice(const std::string& name, const std::string& meaning, Enum System::* member,
                std::vector<std::pair<std::string, Enum>> words, std::vector<Key>* keys) {
  auto set = [member, words](System* s, const std::string& text) {
    for (const auto& [word, value] : words) {
      if (word == text) return s->*member = value, true;
    }
    return false;
  };
  auto get = [member, words](const System& s) {
    for (const auto& [word, value] : words) {
      if (value == s.*member) return word;
    }
    return std::string();
  };
  keys->push_back({name, meaning, set, get});
}
CodecCost& own_cost(System& system, Job job) {
  return job == Job::kDecode ? system.decode : job == Job::kEncode ? system.encode : system.preserialize;
}
void add_cost(const std::string& prefix, const std::string& what, Job job, std::vector<Key>* keys) {
  auto part = [&](const char* name, const char* meaning, double CodecCost::* at) {
    keys->push_back({"cpu." + prefix + "_" + name, what + ", ns " + meaning,
                     [=](System* s, const std::string& text) { return parse_number(text, &(own_cost(*s, job).*at)); },
                     [=](const System& s) { return plain(codec_cost(s, job).*at); }});
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

std::vector<Key> make_keys() {
  std::vector<Key> keys;
  auto text = [&](const char* name, const char* meaning, std::string System::* member) {
    keys.push_back({name, meaning, [member](System* s, const std::string& value) { return s->*member = value, true; },
                    [member](const System& s) { return s.*member; }});
  };
  text("name", "of the system", &System::name);
  text("description", "in one line", &System::description);
  add_choice("engine.kind", "who has the codec: none (the host's CPU), rtl, cores (of the SmartNIC)", &System::engine,
             {{"none", EngineKind::kNone}, {"rtl", EngineKind::kRtl}, {"cores", EngineKind::kCores}}, &keys);
  keys.push_back({"engine.clock", "of the RTL (\"250MHz\")",
                  [](System* s, const std::string& value) { return parse_frequency(value, &s->clock); },
                  [](const System& s) { return format_frequency(s.clock); }});
  add_count("deserializer.lanes", "that get messages, 1 to 4", &System::lanes, 1, 4, &keys);
  add_flag("deserializer.one_shot", "true: chunks by one DMA write each; false: a DMA write for each field",
           &System::one_shot, &keys);
  add_flag("deserializer.eager", "with one_shot: what is final is written while the link would idle", &System::eager,
           &keys);
  add_flag("deserializer.protoacc", "true: a descriptor is read for each field, and has-bits are before they change",
           &System::protoacc, &keys);
  add_choice(
      "serializer.mode",
      "memory-affinity (the host writes a stream), nic-only (pointers are chased), either (by walk_limit)",
      &System::send,
      {{"memory-affinity", SendMode::kMemoryAffinity}, {"nic-only", SendMode::kNicOnly}, {"either", SendMode::kEither}},
      &keys);
  add_count("serializer.walk_limit",
            "of mode either: objects are walked that take at most so many bytes, long strings apart",
            &System::walk_limit, 0, 1 << 30, &keys);
  add_count("serializer.payload_threshold", "bytes from which on a string is not among the records",
            &System::payload_threshold, 1, 1 << 30, &keys);
  add_flag("serializer.memcpy_engine",
           "strings that are payload, from cpu.copy_from on, are copied by a copy engine, not by the CPU",
           &System::memcpy_engine, &keys);
  add_count("serializer.reference_from",
            "bytes from which on a stream refers to a string in host memory instead of holding it; 0: never",
            &System::reference_from, 0, 1 << 30, &keys);
  add_count("serializer.push_limit",
            "records, or objects, of at most so many bytes are stored into the card's inbox by the CPU; 0: never",
            &System::push_limit, 0, 1 << 20, &keys);
  add_flag("serializer.one_piece", "objects that are walked lie in one piece, which the engine reads at once",
           &System::one_piece, &keys);
  add_count("serializer.prefetch",
            "so many bytes of the long strings of a message are read into the inbox as its command comes; 0: none",
            &System::prefetch, 0, 1 << 30, &keys);
  add_link(
      "link", "engine to host memory (engine.kind none: NIC to host memory)",
      [](System& s) -> LinkConfig& { return s.link; }, &keys);
  add_flag("nic.apart", "the engine is not in the NIC: wire bytes cross the nic link too, once each way", &System::nic,
           &keys);
  add_link("nic", "NIC to host memory", [](System& s) -> LinkConfig& { return s.nic_link; }, &keys);
  add_link("engine_memory", "the engine's own memory", [](System& s) -> LinkConfig& { return s.engine_memory; }, &keys);
  add_link(
      "descriptors", "the memory that deserializer.protoacc reads",
      [](System& s) -> LinkConfig& { return s.descriptors; }, &keys);
  add_link("inbox", "the card's inbox", [](System& s) -> LinkConfig& { return s.inbox; }, &keys);
  add_count("inbox.size", "bytes that the inbox holds", &System::inbox_size, 0, 1 << 30, &keys);
  add_choice("cpu.model", "stated (the costs below) or measured (the codec is timed on this machine)",
             &System::cpu_model, {{"stated", CpuModel::kStated}, {"measured", CpuModel::kMeasured}}, &keys);
  add_number(
      "cpu.scale", "all costs of the host's CPU, times this", [](System& s) -> double& { return s.cpu_scale; }, &keys);
  add_choice("cpu.codec", "of the host's CPU and of the SmartNIC's cores: drover, protobuf (heap) or protobuf-arena",
             &System::codec,
             {{"drover", Codec::kDrover}, {"protobuf", Codec::kProtobuf}, {"protobuf-arena", Codec::kProtobufArena}},
             &keys);
  add_choice("cpu.caches", "warm, or cold: objects, wire bytes and output lie in DRAM", &System::caches,
             {{"warm", Caches::kWarm}, {"cold", Caches::kCold}}, &keys);
  add_cost("decode", "decoding", Job::kDecode, &keys);
  add_cost("encode", "encoding", Job::kEncode, &keys);
  add_cost("preserialize", "writing the pre-serialized stream", Job::kPreserialize, &keys);
  add_count("cpu.copy_from", "bytes from which on the copy engine copies a string", &System::copy_from, 1, 1 << 30,
            &keys);
  add_number(
      "cpu.copy_submit", "ns of CPU to hand one copy to the copy engine",
      [](System& s) -> double& { return s.copy_submit; }, &keys);
  add_bandwidth("cpu.copy_bandwidth", "of the copy engine", &System::copy_bandwidth, &keys);
  add_number(
      "cpu.push_line", "ns of CPU for each 64-byte line that it stores into the card; a doorbell is one",
      [](System& s) -> double& { return s.push_line; }, &keys);
  add_number(
      "cores.scale", "the codec's costs on the SmartNIC's cores, times this",
      [](System& s) -> double& { return s.cores_scale; }, &keys);
  add_number(
      "cores.dma", "ns of a core to start one DMA transfer", [](System& s) -> double& { return s.cores_dma; }, &keys);
  text("run.target",
       "fields whose payloads lie in engine memory: none, >=BYTES (on average), or full names with commas",
       &System::target);
  add_choice("run.header", "what the engine puts in front of each message that it sends: none, grpc (length prefix)",
             &System::header, {{"none", RpcHeader::kNone}, {"grpc", RpcHeader::kGrpc}}, &keys);
  add_count("run.in_flight", "messages that are under way at once; 1: each by itself", &System::in_flight, 1, 1024,
            &keys);
  add_count("run.repeat", "rounds over the workload", &System::repeat, 1, 1000, &keys);
  return keys;
}

const std::vector<Key>& keys() {
  static const std::vector<Key> all = make_keys();
  return all;
}

}  // namespace

CodecCost codec_cost(const System& system, Job job) {
  CodecCost cost = stated_codec_cost(system.codec, job, system.caches);
  const CodecCost& own = own_cost(const_cast<System&>(system), job);
  for (double CodecCost::* part : {&CodecCost::message, &CodecCost::object, &CodecCost::scalar, &CodecCost::string,
                                   &CodecCost::byte, &CodecCost::untouched}) {
    if (!std::isnan(own.*part)) cost.*part = own.*part;
  }
  return cost;
}

std::vector<SystemKey> system_keys() {
  std::vector<SystemKey> out;
  System defaults;
  for (const Key& key : keys()) out.push_back({key.name, key.meaning, key.get(defaults)});
  return out;
}

std::string set_key(System* system, const std::string& name, const std::string& value) {
  std::string close;
  std::string group = name.substr(0, name.find('.') + 1);
  for (const Key& key : keys()) {
    if (key.name == name) {
      if (key.set(system, value)) return "";
      return "\"" + value + "\" is no value of " + name + ": " + key.meaning + "; now " + key.get(*system);
    }
    if (!group.empty() && key.name.starts_with(group)) close += (close.empty() ? "" : ", ") + key.name;
  }
  if (!close.empty()) return "there is no key " + name + "; there are " + close;
  std::string groups;
  for (const Key& key : keys()) {
    std::string prefix = key.name.substr(0, key.name.find('.')) + (key.name.find('.') == std::string::npos ? "" : ".*");
    if (!groups.ends_with(prefix)) groups += (groups.empty() ? "" : ", ") + prefix;
  }
  return "there is no key " + name + "; there are " + groups;
}

std::string get_key(const System& system, const std::string& name) {
  for (const Key& key : keys()) {
    if (key.name == name) return key.get(system);
  }
  return "";
}

}  // namespace drover::sim
