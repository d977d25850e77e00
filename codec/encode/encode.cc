// The entry points of the encoder: pieces from a trusted or a hostile object, one array, and the size alone.
#include "codec/encode/encode.h"

#include "codec/encode/backward_sink.h"
#include "codec/encode/encode_handlers.h"
#include "codec/encode/encoder.h"

namespace drover {
namespace {

template <typename E>
EncodeResult failure(const schema::MessageType& type, const E& encoder) {
  EncodeResult result;
  result.error = encoder.error();
  result.message_name = type.image->name(encoder.error_message().name);
  result.field_number = encoder.error_field();
  return result;
}

template <typename Memory>
EncodeResult encode_pieces(const schema::MessageType& type, const Message* object, Memory memory,
                           const EncodeOptions& options, Encoded* out) {
  Encoder<Memory, BackwardSink> encoder(*type.image, memory, options, out, options);
  BackwardSink& sink = encoder.sink();
  char* p = sink.start();
  if (p != nullptr) p = encoder.message(p, object->drover_bytes(), type.entry());
  if (p == nullptr) {
    sink.abandon();
    if (encoder.error() == EncodeError::kOk) return {sink.error(), 0, type.full_name(), 0};
    return failure(type, encoder);
  }
  if (!sink.finish(p)) {
    sink.abandon();
    return {sink.error(), 0, type.full_name(), 0};
  }
  EncodeResult result;
  result.size = out->size();
  return result;
}

}  // namespace

EncodeResult encode(const schema::MessageType& type, const Message* object, const EncodeOptions& options,
                    Encoded* out) {
  if (options.bounds == nullptr) return encode_pieces(type, object, TrustedMemory(), options, out);
  BoundedMemory memory(*options.bounds);
  EncodeError error = EncodeError::kOk;
  if (!memory.check(reinterpret_cast<uintptr_t>(object), type.entry().object_size, 8, &error)) {
    BackwardSink(out, options).abandon();
    return {error, 0, type.full_name(), 0};
  }
  return encode_pieces(type, object, memory, options, out);
}

EncodeError encode_to_array(const schema::MessageType& type, const Message* object, const EncodeOptions& options,
                            Encoded* scratch, void* data, size_t capacity, size_t* written) {
  EncodeResult result = encode(type, object, options, scratch);
  if (!result.ok()) return result.error;
  if (result.size > capacity) return EncodeError::kNoRoom;
  scratch->copy_to(static_cast<char*>(data));
  if (written != nullptr) *written = result.size;
  return EncodeError::kOk;
}

size_t encoded_size(const schema::MessageType& type, const Message* object) {
  EncodeOptions options;
  Encoder<TrustedMemory, CountingSink> encoder(*type.image, TrustedMemory(), options);
  char* p = encoder.message(encoder.sink().start(), object->drover_bytes(), type.entry());
  return p == nullptr ? 0 : encoder.sink().total(p);
}

std::string to_string(const EncodeResult& result) {
  std::string text = encode_error_name(result.error);
  if (result.ok()) return text;
  text += " in ";
  if (result.field_number != 0) text += "field " + std::to_string(result.field_number) + " of ";
  return text + result.message_name;
}

}  // namespace drover
