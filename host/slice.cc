#include <grpc/slice.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>

#include "object/owner.h"

// In front of the bytes, or beside bytes that are somebody else's.
struct grpc_slice_refcount {
  std::atomic<uint32_t> owners{1};
  void (*destroy)(void*) = nullptr;
  void (*destroy_sized)(void*, size_t) = nullptr;
  void* argument = nullptr;
  size_t length = 0;
};

namespace {

grpc_slice_refcount* make_refcount(size_t bytes_behind) {
  void* memory = std::malloc(sizeof(grpc_slice_refcount) + bytes_behind);
  if (memory == nullptr) drover::fatal("out of memory for a slice");
  return new (memory) grpc_slice_refcount();
}

uint8_t* bytes_of(const void* source) { return const_cast<uint8_t*>(static_cast<const uint8_t*>(source)); }

int compare(const grpc_slice& a, const void* bytes, size_t length) {
  const size_t common = std::min(a.length, length);
  const int order = common == 0 ? 0 : std::memcmp(a.bytes, bytes, common);
  if (order != 0) return order;
  return a.length < length ? -1 : a.length > length ? 1 : 0;
}

}  // namespace

grpc_slice grpc_slice_ref(grpc_slice slice) {
  if (slice.refcount != nullptr) slice.refcount->owners.fetch_add(1, std::memory_order_relaxed);
  return slice;
}

void grpc_slice_unref(grpc_slice slice) {
  grpc_slice_refcount* count = slice.refcount;
  if (count == nullptr || count->owners.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  if (count->destroy != nullptr) count->destroy(count->argument);
  if (count->destroy_sized != nullptr) count->destroy_sized(count->argument, count->length);
  count->~grpc_slice_refcount();
  std::free(count);
}

grpc_slice grpc_empty_slice() { return {nullptr, nullptr, 0}; }

grpc_slice grpc_slice_malloc(size_t length) {
  if (length == 0) return grpc_empty_slice();
  grpc_slice_refcount* count = make_refcount(length);
  return {count, reinterpret_cast<uint8_t*>(count + 1), length};
}

grpc_slice grpc_slice_from_copied_buffer(const char* source, size_t length) {
  grpc_slice slice = grpc_slice_malloc(length);
  if (length != 0) std::memcpy(slice.bytes, source, length);
  return slice;
}

grpc_slice grpc_slice_from_copied_string(const char* source) {
  return grpc_slice_from_copied_buffer(source, std::strlen(source));
}

grpc_slice grpc_slice_from_static_buffer(const void* source, size_t length) {
  return {nullptr, bytes_of(source), length};
}

grpc_slice grpc_slice_from_static_string(const char* source) {
  return grpc_slice_from_static_buffer(source, std::strlen(source));
}

grpc_slice grpc_slice_new_with_user_data(void* p, size_t length, void (*destroy)(void*), void* user_data) {
  grpc_slice_refcount* count = make_refcount(0);
  count->destroy = destroy;
  count->argument = user_data;
  return {count, bytes_of(p), length};
}

grpc_slice grpc_slice_new(void* p, size_t length, void (*destroy)(void*)) {
  return grpc_slice_new_with_user_data(p, length, destroy, p);
}

grpc_slice grpc_slice_new_with_len(void* p, size_t length, void (*destroy)(void*, size_t)) {
  grpc_slice_refcount* count = make_refcount(0);
  count->destroy_sized = destroy;
  count->argument = p;
  count->length = length;
  return {count, bytes_of(p), length};
}

grpc_slice grpc_slice_sub_no_ref(grpc_slice slice, size_t begin, size_t end) {
  if (begin > end || end > slice.length) drover::fatal("a part of a slice that leads out of it");
  return {slice.refcount, slice.bytes + begin, end - begin};
}

grpc_slice grpc_slice_sub(grpc_slice slice, size_t begin, size_t end) {
  return grpc_slice_ref(grpc_slice_sub_no_ref(slice, begin, end));
}

int grpc_slice_eq(grpc_slice a, grpc_slice b) { return a.length == b.length && compare(a, b.bytes, b.length) == 0; }
int grpc_slice_cmp(grpc_slice a, grpc_slice b) { return compare(a, b.bytes, b.length); }
int grpc_slice_str_cmp(grpc_slice a, const char* b) { return compare(a, b, std::strlen(b)); }

char* grpc_slice_to_c_string(grpc_slice slice) {
  auto* text = static_cast<char*>(std::malloc(slice.length + 1));
  if (text == nullptr) drover::fatal("out of memory for a slice");
  if (slice.length != 0) std::memcpy(text, slice.bytes, slice.length);
  text[slice.length] = 0;
  return text;
}
