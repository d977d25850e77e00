// encode: an object into wire bytes, driven by a schema image.
//
// One backward pass: a sub-message is written before its length, so that each word of the object is read exactly
// once, and a process that writes to it meanwhile cannot make a length and its content disagree. The result is a list
// of pieces: long strings, bytes and packed fixed-size fields are referred to in place, everything else is
// written into buffers of the Encoded, which are reused from call to call.
//
//   pieces:   [buffer ....][string in the object][buffer ..][string in the object][buffer .........]
//
// Fields go out in ascending order of their numbers, unknown fields behind them, map entries in insertion order:
// without maps, byte for byte what protobuf C++ writes.
//
// With Bounds the object is hostile: it lies in memory that another process can write. Nothing outside the bounds is
// read for any content; depth, output and work are bounded. The output is then a well-formed message with the values
// that the host wrote; the bytes of its unknown fields are copied unchanged.
#pragma once

#include <cstddef>
#include <string>

#include "codec/encode/encode_types.h"
#include "codec/encode/encoded.h"
#include "message/message.h"
#include "schema/message_type.h"

namespace drover {

// "out_of_bounds in field 3 of pkg.Message"
std::string to_string(const EncodeResult& result);

EncodeResult encode(const schema::MessageType& type, const Message* object, const EncodeOptions& options, Encoded* out);

// Encodes into `scratch`, then copies to [data, data + capacity); *written (may be null) becomes the number of bytes.
EncodeError encode_to_array(const schema::MessageType& type, const Message* object, const EncodeOptions& options,
                            Encoded* scratch, void* data, size_t capacity, size_t* written);

// How many bytes the object takes on the wire; 0 if it is nested too deeply. Trusted objects only.
size_t encoded_size(const schema::MessageType& type, const Message* object);

}  // namespace drover
