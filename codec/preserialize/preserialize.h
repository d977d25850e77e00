// preserialize: an object into a pre-serialized stream (codec/preserialize/preserialize_types.h), driven by a schema
// image; and finish_preserialized, which does in software what a serializer in hardware does with one: the reference
// that the RTL is compared with, and the fallback for streams that the hardware leaves to software.
#pragma once

#include <span>
#include <string>

#include "codec/copy/memcpy_engine.h"
#include "codec/encode/encode_types.h"
#include "codec/preserialize/preserialize_types.h"
#include "message/message.h"
#include "schema/message_type.h"

namespace drover {

// Presence, order and limits are encode()'s; EncodeError::kNoRoom: the buffer is too small. With bounds the object is
// hostile. EncodeResult::size is that of records and payload together. The stream is whole when this returns.
EncodeResult preserialize(const schema::MessageType& type, const Message* object, const PreserializeOptions& options,
                          PreserializedOutput* out);

// The same with that engine for payload, whose copies may be under way when this returns without an error: the stream
// is whole after engine.wait(); until then the object must not change. After an error no copy is under way.
class BestCopy;  // codec/copy/best_copy.h
EncodeResult preserialize(const schema::MessageType& type, const Message* object, const PreserializeOptions& options,
                          BestCopy& engine, PreserializedOutput* out);

// Wire bytes of a stream, which may be hostile. `engine` is the engine's memory, `host` what the engine may read of the
// host's.
StreamError finish_preserialized(std::span<const char> records, std::span<const char> payload,
                                 std::span<const char> engine, std::span<const char> host, std::string* wire);

}  // namespace drover
