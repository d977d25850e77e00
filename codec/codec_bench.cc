// The codec beside protobuf C++ 3.21 (generated classes on a reused arena, and their ByteSizeLong + serialize), in one
// run. With HYPERPROTOBENCH=DIR the messages are those of DIR/bench*/; protobuf C++ then needs generated classes that
// are not there, so dynamic messages stand in, and only drover's own figures mean something (peers.md has the rest).
#include <benchmark/benchmark.h>
#include <google/protobuf/arena.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "codec/codec_testing.h"
#include "codec/testdata/bench.pb.h"

namespace drover {
namespace {

using testing::TestSchema;

struct Workload {
  std::string name;
  std::shared_ptr<TestSchema> schema;
  std::string type_name;
  std::string wire;
  const google::protobuf::Message* prototype;  // null: no generated class
};

constexpr size_t kArenaBytes = 4 << 20;

class ReusedArena {
 public:
  Message* object(const schema::MessageType& type) {
    arena_.reset();
    auto* object = static_cast<Message*>(arena_.allocate_zeroed(type.entry().object_size));
    *object->drover_owner() = reinterpret_cast<OwnerWord>(&arena_);
    return object;
  }
  Arena& arena() { return arena_; }

 private:
  std::vector<uint64_t> memory_ = std::vector<uint64_t>(kArenaBytes / 8);
  Arena arena_{heap_block_source(), memory_.data(), kArenaBytes};
};

void set_counters(benchmark::State& state, const Workload& work) {
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * work.wire.size()));
  state.counters["bytes"] = static_cast<double>(work.wire.size());
}

void drover_parse(benchmark::State& state, const Workload& work, bool alias) {
  schema::MessageType type = work.schema->type(work.type_name);
  ReusedArena arena;
  DecodeOptions options{.alias = alias, .received = true};
  for (auto _ : state) {
    Message* object = arena.object(type);
    if (!decode(type, object, work.wire, arena.arena(), options).ok()) state.SkipWithError("decode failed");
    benchmark::DoNotOptimize(object);
  }
  set_counters(state, work);
}

void drover_serialize(benchmark::State& state, const Workload& work, bool bounded) {
  schema::MessageType type = work.schema->type(work.type_name);
  Arena scratch;
  ReusedArena arena;
  Message* object = arena.object(type);
  decode(type, object, work.wire, arena.arena(), {});
  std::vector<uint64_t> region(message::linearized_size(type, *object) / 8 + 1);
  Arena copy(heap_block_source(), region.data(), region.size() * 8);
  object = message::deep_copy_into(type, *object, &copy);
  Bounds bounds{reinterpret_cast<const char*>(region.data()), region.size() * 8};
  EncodeOptions options;
  if (bounded) options.bounds = &bounds;
  Encoded encoded;
  std::string out(work.wire.size() + 64, '\0');
  for (auto _ : state) {
    EncodeResult result = encode(type, object, options, &encoded);
    if (!result.ok()) state.SkipWithError("encode failed");
    if (!bounded) encoded.copy_to(out.data());  // contiguous, as the peer's
    benchmark::DoNotOptimize(out.data());
  }
  set_counters(state, work);
}

void peer_parse(benchmark::State& state, const Workload& work) {
  std::vector<char> memory(kArenaBytes);
  google::protobuf::ArenaOptions options;
  options.initial_block = memory.data();
  options.initial_block_size = memory.size();
  google::protobuf::Arena arena(options);
  for (auto _ : state) {
    arena.Reset();
    auto* message = work.prototype->New(&arena);
    if (!message->ParseFromString(work.wire)) state.SkipWithError("parse failed");
    benchmark::DoNotOptimize(message);
  }
  set_counters(state, work);
}

void peer_serialize(benchmark::State& state, const Workload& work) {
  std::unique_ptr<google::protobuf::Message> message(work.prototype->New());
  message->ParseFromString(work.wire);
  std::string out(work.wire.size() + 64, '\0');
  for (auto _ : state) {
    benchmark::DoNotOptimize(message->SerializeToArray(out.data(), static_cast<int>(out.size())));
    benchmark::DoNotOptimize(out.data());
  }
  set_counters(state, work);
}

void add(const Workload& work) {
  auto report = [&](const std::string& what, auto run) {
    benchmark::RegisterBenchmark((work.name + "/" + what).c_str(), run);
  };
  report("parse/drover", [work](benchmark::State& s) { drover_parse(s, work, false); });
  report("parse/drover-alias", [work](benchmark::State& s) { drover_parse(s, work, true); });
  if (work.prototype != nullptr) report("parse/protobuf", [work](benchmark::State& s) { peer_parse(s, work); });
  report("serialize/drover", [work](benchmark::State& s) { drover_serialize(s, work, false); });
  report("serialize/drover-bounded", [work](benchmark::State& s) { drover_serialize(s, work, true); });
  if (work.prototype != nullptr) report("serialize/protobuf", [work](benchmark::State& s) { peer_serialize(s, work); });
}

// ---- built-in messages

void fill(drover_bench::Scalars* m, std::mt19937& random) {
  m->set_a(static_cast<int32_t>(random() % 100));
  m->set_b(static_cast<int64_t>(random()));
  m->set_c(random() % 20000);
  m->set_d(-static_cast<int32_t>(random() % 1000));
  m->set_e(random());
  m->set_f(1.5);
  m->set_g(2.5f);
  m->set_h(true);
  m->set_i(static_cast<int64_t>(random()) << 20);
  m->set_j(7);
}

void fill(drover_bench::Tree* m, std::mt19937& random, int depth) {
  m->set_id(static_cast<int32_t>(random() % 1000));
  m->set_name("node number " + std::to_string(random() % 1000));
  fill(m->mutable_scalars(), random);
  for (int i = 0; depth > 0 && i < 3; ++i) fill(m->add_children(), random, depth - 1);
}

void add_built_in() {
  std::mt19937 random(1);
  auto schema = std::make_shared<TestSchema>(drover_bench::Scalars::descriptor());
  auto add_message = [&](const char* name, const google::protobuf::Message& message) {
    add({name, schema, message.GetDescriptor()->full_name(), message.SerializeAsString(),
         google::protobuf::MessageFactory::generated_factory()->GetPrototype(message.GetDescriptor())});
  };
  drover_bench::Scalars scalars;
  fill(&scalars, random);
  add_message("scalars", scalars);
  drover_bench::Strings strings;
  strings.set_a("hello world");
  strings.set_b(std::string(100, 'b'));
  strings.set_c(std::string(700, 'c'));
  for (int i = 0; i < 10; ++i) strings.add_d("element " + std::to_string(i));
  add_message("strings", strings);
  drover_bench::Tree tree;
  fill(&tree, random, 3);
  add_message("tree", tree);
  drover_bench::Packed packed;
  for (int i = 0; i < 500; ++i) {
    packed.add_varints(static_cast<int64_t>(random() >> random() % 32));
    packed.add_doubles(i);
    packed.add_unpacked(i);
  }
  add_message("packed", packed);
}

// ---- HyperProtoBench: records u32 name length, name, u32 length, bytes

void add_hyper(const std::filesystem::path& directory) {
  std::ifstream schema_file(directory / "schema.fds", std::ios::binary);
  std::ifstream messages(directory / "messages.bin", std::ios::binary);
  google::protobuf::FileDescriptorSet set;
  if (!set.ParseFromIstream(&schema_file)) return;
  auto schema = std::make_shared<TestSchema>(set);
  auto read = [&] {
    uint32_t size = 0;
    messages.read(reinterpret_cast<char*>(&size), 4);
    std::string bytes(messages ? size : 0, '\0');
    messages.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return bytes;
  };
  for (;;) {
    std::string name = read();
    if (!messages) return;
    std::string wire = read();
    std::string full = name;
    if (schema->pool().FindMessageTypeByName(full) == nullptr) full = "hyperprotobench." + name;
    if (schema->pool().FindMessageTypeByName(full) == nullptr) continue;
    const auto* descriptor = google::protobuf::DescriptorPool::generated_pool()->FindMessageTypeByName(full);
    const google::protobuf::Message* prototype =
        descriptor == nullptr ? nullptr
                              : google::protobuf::MessageFactory::generated_factory()->GetPrototype(descriptor);
    add({directory.filename().string() + "." + name + "." + std::to_string(wire.size()), schema, full, wire,
         prototype});
  }
}

}  // namespace
}  // namespace drover

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (const char* directory = std::getenv("HYPERPROTOBENCH")) {
    std::vector<std::filesystem::path> benches(std::filesystem::directory_iterator(directory), {});
    std::sort(benches.begin(), benches.end());
    for (const auto& bench : benches) drover::add_hyper(bench);
  } else {
    drover::add_built_in();
  }
  benchmark::RunSpecifiedBenchmarks();
}
