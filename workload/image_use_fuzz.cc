// Loading a schema image that is almost right, and using it if it loads: what the loader lets pass, the codec and the
// operations on objects trust blindly. Messages are generated from the damaged image itself.
// (schema/image_fuzz.cc has arbitrary bytes, and walks what loads.)
//
//   input: u8 schema | u16 message seed | changes: u16 place, u8 what, u8 value
#include <google/protobuf/stubs/logging.h>

#include <array>
#include <cstring>

#include "message/operations.h"
#include "schema/image_load.h"
#include "schema/image_walk.h"
#include "workload/message_generator.h"
#include "workload/random_schema.h"
#include "workload/workload_testing.h"

namespace drover::workload {
namespace {

using testing::die;

const std::string& image_of(uint8_t number) {
  static std::array<std::string, 32> images;
  std::string& image = images[number % 32];
  if (image.empty()) {
    SchemaOptions options;
    options.max_messages = 2;
    options.max_fields = 12;
    image = schema::build_image(random_schema(2000u + number % 32, options)).image;
  }
  return image;
}

void change(std::string* image, size_t place, uint8_t what, uint8_t value) {
  // Entries are what matters, and they stand in front: half of the changes fall into the first words.
  size_t at = (what & 128) != 0 ? place % image->size() : place % std::min<size_t>(image->size(), 1024);
  auto& byte = (*image)[at];
  switch (what % 4) {
    case 0:
      byte = static_cast<char>(value);
      break;
    case 1:
      byte = static_cast<char>(byte + static_cast<int8_t>(value) % 9);
      break;
    case 2:
      byte = static_cast<char>(byte ^ 1 << value % 8);
      break;
    default:  // a word takes another's place
      at &= ~size_t{3};
      size_t from = (at + 4u * value) % (image->size() - 3) & ~size_t{3};
      if (at + 4 <= image->size()) std::memmove(image->data() + at, image->data() + from, 4);
  }
}

void use(const schema::MessageType& type, uint64_t seed) {
  MessageOptions options;
  options.max_levels = 3;
  options.max_size = 400;
  options.unknown_permille = 200;
  options.odd_permille = seed % 2 == 0 ? 0 : 200;
  std::string wire = generate_wire(type, seed, options);
  testing::Object object(type);
  // Strings that the image wants checked are letters here, so nothing can be wrong with the bytes.
  DecodeResult decoded = object.decode(wire, {.depth_limit = 200});
  if (!decoded.ok()) die("a generated message does not decode: " + to_string(decoded));
  std::string encoded = object.encode();
  if (encoded_size(type, object.get()) != encoded.size()) die("encoded_size is wrong");
  testing::Object copy(type);
  if (!message::merge(type, copy.get(), *object.get())) die("merge failed");
  if (!message::equal(type, *object.get(), *copy.get())) die("a copy is not equal");
  message::is_initialized(type, *copy.get());
  message::debug_text(type, *copy.get(), {});
  message::discard_unknown(type, copy.get());
  message::clear(type, copy.get());
  if (!copy.encode().empty() && !message::equal(type, *copy.get(), *testing::Object(type).get())) die("not cleared");
}

void run(const uint8_t* data, size_t size) {
  std::string bytes = image_of(data[0]);
  for (size_t i = 3; i + 4 <= size && i < 3 + 4 * 16; i += 4) {
    change(&bytes, data[i] | size_t{data[i + 1]} << 8, data[i + 2], data[i + 3]);
  }
  auto checksum = schema::image_checksum(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  std::memcpy(bytes.data() + offsetof(schema::ImageHeader, checksum), &checksum, sizeof(checksum));
  schema::OwnedImage image;
  schema::LoadResult loaded = schema::OwnedImage::load(bytes, &image);
  if (!loaded.ok()) {
    schema::load_message(loaded);
    if (size < 7) die("a good image is refused: " + schema::load_message(loaded));
    return;
  }
  if (!schema::walk_image(image.image(), bytes.size())) die("the loader let something pass");
  for (uint32_t i = 0; i < image.image().message_count() && i < 8; ++i) {
    use({&image.image(), i}, data[1] | uint64_t{data[2]} << 8);
  }
}

}  // namespace
}  // namespace drover::workload

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  google::protobuf::SetLogHandler(nullptr);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size >= 3) drover::workload::run(data, size);
  return 0;
}
