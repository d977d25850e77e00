// libFuzzer: a FileDescriptorSet of arbitrary bytes becomes an image or an error, and the loader takes every image
// that the builder makes.
#include <google/protobuf/stubs/logging.h>

#include <cstdio>
#include <cstdlib>

#include "schema/image_builder.h"
#include "schema/image_load.h"
#include "schema/image_walk.h"

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  google::protobuf::SetLogHandler(nullptr);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > 65536) return 0;
  google::protobuf::FileDescriptorSet set;
  if (!set.ParseFromArray(data, static_cast<int>(size))) return 0;
  drover::schema::BuildResult built = drover::schema::build_image(set);
  if (!built.ok()) return 0;
  drover::schema::OwnedImage image;
  drover::schema::LoadResult loaded = drover::schema::OwnedImage::load(built.image, &image);
  if (!loaded.ok()) {
    std::fprintf(stderr, "descriptor_fuzz: %s\n", drover::schema::load_message(loaded).c_str());
    std::abort();
  }
  if (!drover::schema::walk_image(image.image(), built.image.size())) std::abort();
  return 0;
}
