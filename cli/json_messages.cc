#include "cli/json_messages.h"

#include "codec/decode/decode.h"
#include "codec/encode/encode.h"

namespace drover::cli {
namespace {

Message* make(const schema::MessageType& type, Arena& arena) {
  auto* object = static_cast<Message*>(arena.allocate_zeroed(type.entry().object_size));
  *object->drover_owner() = reinterpret_cast<OwnerWord>(&arena);
  return object;
}

}  // namespace

std::string json_to_wire(const schema::MessageType& type, const char* what, std::string_view json, std::string* wire) {
  Arena arena;
  Message* object = make(type, arena);
  json::Result parsed = json::parse(type, json, {}, object);
  if (!parsed.ok()) return what + (", a " + std::string(type.full_name())) + ": " + json::to_string(parsed);
  Encoded encoded;
  EncodeOptions options;
  options.check_required = true;
  EncodeResult result = encode(type, object, options, &encoded);
  if (!result.ok()) return what + (": " + to_string(result));
  wire->resize(encoded.size());
  encoded.copy_to(wire->data());
  return "";
}

std::string wire_to_json(const schema::MessageType& type, const char* what, std::string_view wire,
                         const json::PrintOptions& options, std::string* json) {
  Arena arena;
  Message* object = make(type, arena);
  DecodeResult decoded = decode(type, object, wire, arena);
  if (!decoded.ok()) {
    return what + (" is no " + std::string(type.full_name())) +
           " (another schema at the server?): " + to_string(decoded);
  }
  json::Result printed = json::print(type, *object, options, json);
  return printed.ok() ? "" : what + (": " + json::to_string(printed));
}

}  // namespace drover::cli
