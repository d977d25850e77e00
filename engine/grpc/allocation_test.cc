// In the steady state the transport takes no memory from the heap for a request: neither where the client's header
// blocks repeat, nor where each one changes the dynamic table. And where memory is missing, the connection that asked
// for it ends, and its calls with it.
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <new>
#include <utility>

#include "engine/grpc/grpc_testing.h"

namespace {
size_t g_allocations = 0;
size_t g_left = SIZE_MAX;  // allocations until one fails, once

void* counted(size_t size) {
  ++g_allocations;
  if (g_left != SIZE_MAX && g_left-- == 0) {
    g_left = SIZE_MAX;
    throw std::bad_alloc();
  }
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
}  // namespace

void* operator new(size_t size) { return counted(size); }
void* operator new[](size_t size) { return counted(size); }
void* operator new(size_t size, const std::nothrow_t&) noexcept { return std::malloc(size); }
void* operator new[](size_t size, const std::nothrow_t&) noexcept { return std::malloc(size); }
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

// Runs `work` on the connection; the allocation that is due to fail may be in it.
template <typename Work>
void with_failure(size_t& left, Work work) {
  g_left = left;
  work();
  left = std::exchange(g_left, SIZE_MAX);
}

// Calls with metadata, large messages, a slow reader, cancelled calls, time passing and a drain, with the n-th
// allocation failing. False: there were not so many.
bool survives(size_t n) {
  Rig rig;
  TestClient client(rig);
  size_t left = n;
  rig.sent.reserve(4 << 20);
  rig.sink.first_buffer = 20'000;
  for (int i = 0; i < 12 && !rig.connection->finished(); ++i) {
    const HeaderList extra = {{"x-id", std::to_string(i)}, {"y-bin", "AAAA"}, {"x-status", i % 5 == 4 ? "7" : "0"}};
    const int32_t id = client.call(i % 4 == 3 ? "/hold" : "/echo.Echo/Call", std::string(i % 3 == 0 ? 60'000 : 50, 'm'),
                                   i % 2 == 0 ? extra : HeaderList{});
    if (i % 6 == 5) nghttp2_submit_rst_stream(client.session, NGHTTP2_FLAG_NONE, id, NGHTTP2_CANCEL);
    const std::string bytes = client.take_bytes();
    rig.writable = i % 2 == 0 ? 3'000 : 200'000;
    with_failure(left, [&] {
      rig.connection->receive(bytes.data(), bytes.size());
      rig.connection->flush();
    });
    rig.now += 1'000'000'000;
    with_failure(left, [&] {
      rig.connection->sweep();
      rig.connection->flush();
    });
  }
  with_failure(left, [&] {
    rig.connection->drain();
    rig.connection->flush();
  });
  if (left == SIZE_MAX) EXPECT_TRUE(rig.connection->finished()) << n;
  with_failure(left, [&] { rig.connection.reset(); });
  EXPECT_EQ(rig.sink.open_calls, 0) << n;
  EXPECT_EQ(rig.metrics.open_streams->value(), 0) << n;
  return left == SIZE_MAX;
}

TEST(GrpcAllocations, AnyOneThatFailsEndsItsConnectionAlone) {
  size_t n = 0;
  while (survives(n)) ++n;
  EXPECT_GT(n, 50u);
}

}  // namespace
}  // namespace drover::engine
