// The codec for a core without an operating system: codec/decode/decode.h and codec/encode/encode.h in plain pointers,
// without a heap and without the C++ library (docs/freestanding.md). For a core that cannot reach the object's memory
// itself there are decode_to_host (codec/freestanding/scratchpad_memory.h) and encode_from_host
// (codec/freestanding/fetched_memory.h), which are templates over the core's DMA. Thread-safety: any number of calls at
// once on different objects, arenas and outputs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "codec/decode/decode_types.h"
#include "codec/encode/encode_types.h"
#include "codec/encode/fixed_sink.h"
#include "object/arena.h"
#include "schema/image.h"

namespace drover::freestanding {

// An empty object in the arena; null: out of memory.
char* new_object(const schema::Image& image, uint32_t message, Arena& arena);

// As drover::decode. `object` is of the message with that index in the image.
DecodeResult decode(const schema::Image& image, uint32_t message, char* object, const std::string_view* pieces,
                    size_t count, Arena& arena, const DecodeOptions& options = {});

// As drover::encode.
EncodeResult encode(const schema::Image& image, uint32_t message, const char* object, const EncodeOptions& options,
                    FixedOutput* out);

#if !__STDC_HOSTED__
// The secret of this core's map indexes, before the first decode: without it a client can choose keys that collide, and
// a large map takes quadratic time.
void set_map_seed(uint64_t seed);
#endif

}  // namespace drover::freestanding
