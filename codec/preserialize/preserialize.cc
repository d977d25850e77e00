// The entry points of the preserializer.
#include "codec/preserialize/preserialize.h"

#include "codec/copy/best_copy.h"
#include "codec/preserialize/preserialize_handlers.h"

namespace drover {
namespace {

template <typename Memory, typename Engine>
EncodeResult run(const schema::MessageType& type, const Message* object, Memory memory, Engine& engine,
                 const PreserializeOptions& options, PreserializedOutput* out) {
  Preserializer<Memory, Engine> preserializer(*type.image, memory, engine, options, out);
  if (preserializer.run(object->drover_bytes(), type.entry())) {
    return {EncodeError::kOk, out->record_bytes + out->payload_bytes, "", 0};
  }
  engine.wait();
  return {preserializer.error(), 0, type.image->name(preserializer.error_message().name), preserializer.error_field()};
}

template <typename Engine>
EncodeResult preserialize_by(const schema::MessageType& type, const Message* object, const PreserializeOptions& options,
                             Engine& engine, PreserializedOutput* out) {
  out->record_bytes = out->payload_bytes = 0;
  if (options.bounds == nullptr) return run(type, object, TrustedMemory(), engine, options, out);
  BoundedMemory memory(*options.bounds);
  EncodeError error = EncodeError::kOk;
  if (!memory.check(reinterpret_cast<uintptr_t>(object), type.entry().object_size, 8, &error)) {
    return {error, 0, type.full_name(), 0};
  }
  return run(type, object, memory, engine, options, out);
}

}  // namespace

EncodeResult preserialize(const schema::MessageType& type, const Message* object, const PreserializeOptions& options,
                          PreserializedOutput* out) {
  PlainCopy engine;
  return preserialize_by(type, object, options, engine, out);
}

EncodeResult preserialize(const schema::MessageType& type, const Message* object, const PreserializeOptions& options,
                          BestCopy& engine, PreserializedOutput* out) {
  return preserialize_by(type, object, options, engine, out);
}

}  // namespace drover
