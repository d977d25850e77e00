// The error text of a LoadResult, and OwnedImage, the owner of an image that arrived as bytes.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "schema/image.h"

namespace drover::schema {

// "schema image: bad layout in fields[3]: field lies outside its object: found 72, expected at most 64".
std::string load_message(const LoadResult& result);

// An image in memory of its own. Movable; the Image and every MessageType made from it die with it.
class OwnedImage {
 public:
  OwnedImage() = default;
  // Copies `bytes` into aligned memory and loads the copy (so that it cannot change between check and use).
  static LoadResult load(std::string_view bytes, OwnedImage* out);

  const Image& image() const { return *image_; }
  bool valid() const { return image_ != nullptr; }

 private:
  std::unique_ptr<uint64_t[]> words_;
  std::unique_ptr<Image> image_;  // on the heap: a MessageType's pointer to it survives a move
};

}  // namespace drover::schema
