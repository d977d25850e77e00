// grpc_slice: a run of bytes that several owners share, as gRPC's C API names it. The names that users of
// grpc::Slice meet; gRPC's others, and its layout, are absent.
//
// Thread-safety: the count is atomic; the bytes are read-only once they are shared.
#pragma once

#include <stddef.h>
#include <stdint.h>

// What keeps the bytes alive; null: nothing has to.
struct grpc_slice_refcount;

struct grpc_slice {
  grpc_slice_refcount* refcount;
  uint8_t* bytes;
  size_t length;
};

#define GRPC_SLICE_START_PTR(slice) ((slice).bytes)
#define GRPC_SLICE_LENGTH(slice) ((slice).length)
#define GRPC_SLICE_END_PTR(slice) ((slice).bytes + (slice).length)
#define GRPC_SLICE_IS_EMPTY(slice) ((slice).length == 0)

// One owner more, or less; `ref` returns its argument.
grpc_slice grpc_slice_ref(grpc_slice slice);
void grpc_slice_unref(grpc_slice slice);

// Each has one owner.
grpc_slice grpc_empty_slice(void);
grpc_slice grpc_slice_malloc(size_t length);  // of any content
grpc_slice grpc_slice_from_copied_buffer(const char* source, size_t length);
grpc_slice grpc_slice_from_copied_string(const char* source);
// The bytes outlive it.
grpc_slice grpc_slice_from_static_buffer(const void* source, size_t length);
grpc_slice grpc_slice_from_static_string(const char* source);
// `destroy` is called when the last owner has gone: with `p`, with `user_data`, or with `p` and `length`.
grpc_slice grpc_slice_new(void* p, size_t length, void (*destroy)(void*));
grpc_slice grpc_slice_new_with_user_data(void* p, size_t length, void (*destroy)(void*), void* user_data);
grpc_slice grpc_slice_new_with_len(void* p, size_t length, void (*destroy)(void*, size_t));

// The bytes from `begin` to `end`, shared: with an owner of its own, or of the same owner.
grpc_slice grpc_slice_sub(grpc_slice slice, size_t begin, size_t end);
grpc_slice grpc_slice_sub_no_ref(grpc_slice slice, size_t begin, size_t end);

int grpc_slice_eq(grpc_slice a, grpc_slice b);
int grpc_slice_cmp(grpc_slice a, grpc_slice b);
int grpc_slice_str_cmp(grpc_slice a, const char* b);
// For free().
char* grpc_slice_to_c_string(grpc_slice slice);
