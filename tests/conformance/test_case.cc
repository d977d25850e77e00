// The ways through the codec, and the comparison of their results.
#include "tests/conformance/test_case.h"

#include <span>
#include <vector>

#include "codec/encode/encode.h"
#include "json/json.h"
#include "message/operations.h"
#include "text/text.h"

namespace drover::conformance {
namespace {

// The result of decoding, and the object's bytes.
struct RoundTrip {
  std::string decode_error;
  std::string encode_error;
  std::string bytes;
};

std::string encode_to_string(const Object& object, std::string* error) {
  Encoded encoded;
  EncodeResult result = encode(object.type(), object.get(), {}, &encoded);
  if (!result.ok()) {
    *error = to_string(result);
    return {};
  }
  std::string bytes(encoded.size(), '\0');
  encoded.copy_to(bytes.data());
  return bytes;
}

RoundTrip round_trip(Object* object, std::span<const std::string_view> pieces, const DecodeOptions& options) {
  RoundTrip out;
  DecodeResult result = decode(object->type(), object->get(), pieces, object->arena(), options);
  if (!result.ok()) {
    out.decode_error = to_string(result);
  } else if (!message::is_initialized(object->type(), *object->get())) {
    out.decode_error = "a required field is missing";
  } else {
    out.bytes = encode_to_string(*object, &out.encode_error);
  }
  return out;
}

// The payload in `count` pieces of about the same length.
std::vector<std::string_view> cut(std::string_view payload, size_t count) {
  std::vector<std::string_view> pieces;
  for (size_t i = 0; i < count; ++i) {
    size_t begin = payload.size() * i / count;
    pieces.push_back(payload.substr(begin, payload.size() * (i + 1) / count - begin));
  }
  return pieces;
}

// Decodes once more, in another way; returns the difference from `expected`, or an empty string.
std::string difference(const TestCase& test, size_t pieces, const DecodeOptions& options, const RoundTrip& expected) {
  std::string wire(test.payload);  // of its own, so that a sanitizer sees a read past its end
  wire.push_back('\x7f');
  Object object(test.type);
  std::vector<std::string_view> parts = cut(std::string_view(wire).substr(0, test.payload.size()), pieces);
  RoundTrip got = round_trip(&object, parts, options);
  if (got.decode_error.empty() != expected.decode_error.empty()) {
    return "accepted in one way and refused in another: " + got.decode_error + expected.decode_error;
  }
  if (got.bytes != expected.bytes || got.encode_error != expected.encode_error) return "other values";
  return {};
}

// All ways to decode must agree with `expected`. Empty, or which one does not.
std::string compare_decoders(const TestCase& test, const RoundTrip& expected) {
  for (size_t pieces : {size_t{1}, size_t{2}, size_t{3}, test.payload.size() + 1}) {
    for (bool alias : {false, true}) {
      DecodeOptions options;
      options.alias = options.terminate_aliases = alias;
      std::string what = difference(test, pieces, options, expected);
      if (what.empty()) continue;
      return "decoding in " + std::to_string(pieces) + " piece(s)" + (alias ? ", aliasing: " : ": ") + what;
    }
  }
  return {};
}

std::string compare_encoders(const Object& object, const std::string& expected) {
  if (encoded_size(object.type(), object.get()) != expected.size()) return "encoded_size is not the size";
  Encoded scratch;
  std::string array(expected.size(), '\0');
  size_t written = 0;
  EncodeError error = encode_to_array(object.type(), object.get(), {}, &scratch, array.data(), array.size(), &written);
  if (error != EncodeError::kOk || written != expected.size() || array != expected) {
    return std::string("encode_to_array differs: ") + encode_error_name(error);
  }
  return {};
}

// Reads the payload into `object`. False: *answer has the error of the payload or of the decoder.
bool read(const TestCase& test, Object* object, Answer* answer) {
  if (test.input == Format::kJson) {
    json::ParseOptions options;
    options.ignore_unknown = test.ignore_unknown_json;
    options.check_required = true;
    json::Result result = json::parse(test.type, test.payload, options, object->get());
    if (!result.ok()) *answer = {Outcome::kParseError, json::to_string(result)};
    return result.ok();
  }
  if (test.input == Format::kText) {
    text::Result result = text::parse(test.type, test.payload, {}, object->get());
    if (!result.ok()) *answer = {Outcome::kParseError, text::to_string(result)};
    return result.ok();
  }
  RoundTrip result = round_trip(object, std::span(&test.payload, 1), {});
  std::string difference = compare_decoders(test, result);
  if (!difference.empty()) {
    *answer = {Outcome::kRuntimeError, difference};
  } else if (!result.decode_error.empty()) {
    *answer = {Outcome::kParseError, result.decode_error};
  }
  return difference.empty() && result.decode_error.empty();
}

Answer write_json(const Object& object) {
  std::string text;
  json::Result result = json::print(object.type(), *object.get(), {}, &text);
  if (!result.ok()) return {Outcome::kSerializeError, json::to_string(result)};
  return {Outcome::kJsonPayload, std::move(text)};
}

Answer write_text(const Object& object, bool unknown_fields) {
  std::string text;
  text::print(object.type(), *object.get(), {.hide_unknown = !unknown_fields}, &text);
  return {Outcome::kTextPayload, std::move(text)};
}

Answer write_protobuf(const Object& object) {
  std::string error;
  std::string bytes = encode_to_string(object, &error);
  if (!error.empty()) return {Outcome::kSerializeError, error};
  std::string difference = compare_encoders(object, bytes);
  if (!difference.empty()) return {Outcome::kRuntimeError, difference};
  return {Outcome::kProtobufPayload, std::move(bytes)};
}

}  // namespace

Object::Object(const schema::MessageType& type)
    : type_(type),
      arena_(std::make_unique<Arena>()),
      object_(static_cast<Message*>(arena_->allocate_zeroed(type.entry().object_size))) {
  *object_->drover_owner() = reinterpret_cast<OwnerWord>(arena_.get());
}

Answer run(const TestCase& test) {
  Object object(test.type);
  Answer answer;
  if (!read(test, &object, &answer)) return answer;
  if (test.output == Format::kText) return write_text(object, test.print_unknown_fields);
  return test.output == Format::kJson ? write_json(object) : write_protobuf(object);
}

}  // namespace drover::conformance
