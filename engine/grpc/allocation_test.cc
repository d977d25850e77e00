// In the steady state the transport takes no memory from the heap for a request: neither where the client's header
// blocks repeat, nor where each one changes the dynamic table.
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <new>

#include "engine/grpc/grpc_testing.h"

namespace {
size_t g_allocations = 0;

void* counted(size_t size) {
  ++g_allocations;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
}  // namespace

void* operator new(size_t size) { return counted(size); }
void* operator new[](size_t size) { return counted(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t) noexcept { std::free(memory); }

namespace drover::engine {
namespace {

// The allocations of 100 calls after 1,500 others; `extra` gives the further headers of the i-th call.
size_t allocations(const std::function<HeaderList(int)>& extra) {
  Rig rig;
  TestClient client(rig);
  std::vector<std::string> requests;
  auto call = [&](int i) {
    client.call("/echo.Echo/Call", "payload", extra(i));
    return client.take_bytes();
  };
  for (int i = 0; i < 1500; ++i) {
    const std::string bytes = call(i);
    rig.connection->receive(bytes.data(), bytes.size());
    rig.flush();
    client.pump();
  }
  for (int i = 1500; i < 1600; ++i) requests.push_back(call(i));
  rig.sent.reserve(1 << 20);
  const size_t before = g_allocations;
  for (const std::string& bytes : requests) {
    rig.connection->receive(bytes.data(), bytes.size());
    rig.flush();
  }
  const size_t counted = g_allocations - before;
  EXPECT_EQ(rig.sink.sent, 1600);
  return counted;
}

TEST(GrpcAllocations, ARepeatedHeaderBlockTakesNone) {
  EXPECT_EQ(allocations([](int) { return HeaderList{{"x-tenant", "blue"}}; }), 0u);
}

TEST(GrpcAllocations, ATimeoutThatEntersTheTableEachTimeTakesNone) {
  EXPECT_EQ(allocations([](int i) { return HeaderList{{"grpc-timeout", std::to_string(1'000'000 - i) + "u"}}; }), 0u);
}

TEST(GrpcAllocations, MetadataThatNeverRepeatsIsCounted) {
  EXPECT_GT(allocations([](int i) { return HeaderList{{"x-id", std::to_string(i)}}; }), 0u) << "the test can fail";
}

}  // namespace
}  // namespace drover::engine
