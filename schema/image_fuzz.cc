// libFuzzer: the loader on arbitrary bytes. Every accepted image is walked from end to end, so that a sanitizer sees
// any access that the checks should have prevented. The checksum is corrected first, or no mutated image would pass.
#include <cstdlib>
#include <cstring>
#include <string>

#include "schema/image_load.h"
#include "schema/image_walk.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string bytes(reinterpret_cast<const char*>(data), size);
  if (size >= sizeof(drover::schema::ImageHeader)) {
    uint32_t checksum = drover::schema::image_checksum(data, size);
    std::memcpy(bytes.data() + offsetof(drover::schema::ImageHeader, checksum), &checksum, sizeof(checksum));
  }
  drover::schema::OwnedImage image;
  drover::schema::LoadResult result = drover::schema::OwnedImage::load(bytes, &image);
  if (!result.ok()) {
    drover::schema::load_message(result);
    return 0;
  }
  if (!drover::schema::walk_image(image.image(), size)) std::abort();
  return 0;
}
