// The text of a LoadResult, and images that own their bytes.
#include <cstring>
#include <iterator>
#include <utility>

#include "schema/image_load.h"

namespace drover::schema {

const char* load_error_name(LoadError error) {
  static const char* const kNames[] = {
      "ok",
      "misaligned image",
      "truncated image",
      "bad magic",
      "bad version",
      "bad header size",
      "bad size",
      "bad checksum",
      "bad table",
      "bad string",
      "bad order",
      "bad range",
      "bad flags",
      "bad kind",
      "bad layout",
      "bad has-bit",
      "bad oneof",
      "bad sub-message or enum",
      "bad map entry",
      "bad extension",
      "bad direct lookup",
      "bad enum",
      "reserved word not zero",
  };
  static_assert(std::size(kNames) == static_cast<size_t>(LoadError::kNotZero) + 1);
  auto index = static_cast<size_t>(error);
  return index < std::size(kNames) ? kNames[index] : "unknown load error";
}

std::string load_message(const LoadResult& result) {
  if (result.ok()) return "schema image: ok";
  std::string text = std::string("schema image: ") + load_error_name(result.error) + " in " + result.where + "[" +
                     std::to_string(result.index) + "]: " + result.what + ": found " + std::to_string(result.found);
  if (result.expected != LoadResult::kAnything) text += ", expected (or bounded by) " + std::to_string(result.expected);
  return text;
}

LoadResult OwnedImage::load(std::string_view bytes, OwnedImage* out) {
  OwnedImage image;
  image.words_ = std::make_unique<uint64_t[]>(bytes.size() / 8 + 1);
  image.image_ = std::make_unique<Image>();
  std::memcpy(image.words_.get(), bytes.data(), bytes.size());
  LoadResult result = Image::load(image.words_.get(), bytes.size(), image.image_.get());
  if (result.ok()) *out = std::move(image);
  return result;
}

}  // namespace drover::schema
