// Loading a schema image that is almost right, and using it if it loads: what the loader lets pass, the codec and the
// operations on objects trust blindly. Messages are generated from the damaged image itself.
// (schema/image_fuzz.cc has arbitrary bytes, and walks what loads.)
//
// Changes are of two kinds: of the schema model, from which an image is then built whose tables agree with each other
// (a field over another, a has-bit used twice, a kind that does not fit), and of the image's bytes.
//
//   input: u8 schema | u16 message seed | changes: u16 place, u8 what, u8 value
#include <google/protobuf/stubs/logging.h>

#include <array>
#include <cstring>

#include "message/operations.h"
#include "schema/descriptor_files.h"
#include "schema/descriptor_model.h"
#include "schema/image_builder.h"
#include "schema/image_load.h"
#include "schema/image_walk.h"
#include "testing/test_object.h"
#include "testing/test_schema.h"
#include "workload/message_generator.h"
#include "workload/random_schema.h"

namespace drover::workload {
namespace {

using testing::die;

const schema::Schema& model_of(uint8_t number) {
  static std::array<std::unique_ptr<schema::Schema>, 32> models;
  std::unique_ptr<schema::Schema>& model = models[number % 32];
  if (model == nullptr) {
    SchemaOptions options;
    options.max_messages = 2;
    options.max_fields = 12;
    schema::DescriptorFiles files;
    model = std::make_unique<schema::Schema>();
    std::string error = files.link(random_schema(2000u + number % 32, options).file());
    if (error.empty()) error = schema::schema_from_files(files.files(), model.get());
    if (!error.empty()) die(error);
  }
  return *model;
}

// Changes one member of a message or field of the model; never anything that the image builder follows (indices stay
// in range).
void change(schema::Schema* model, size_t place, uint8_t what, uint8_t value) {
  schema::MessageModel& message = model->messages[place % model->messages.size()];
  if (message.fields.empty() || what % 16 > 12) {
    if (what % 4 == 0) message.object_size += 8u * (value % 9) - 32;
    if (what % 4 == 1) message.has_words = value % 5;
    if (what % 4 == 2) message.oneof_count = value % 4;
    if (what % 4 == 3) message.map_entry = !message.map_entry;
    return;
  }
  schema::FieldModel& field = message.fields[place / 256 % message.fields.size()];
  const schema::FieldModel& other = message.fields[value % message.fields.size()];
  switch (what % 16) {
    case 0:
    case 1:
      field.offset = other.offset;
      break;
    case 2:
      field.offset += static_cast<uint32_t>(value) % 33 - 16;
      break;
    case 3:
      field.has_bit = value < 128 ? other.has_bit : value % 80;
      break;
    case 4:
      field.case_offset = value < 128 ? other.case_offset : static_cast<uint16_t>(16 + value % 64);
      break;
    case 5:
      field.kind = static_cast<schema::Kind>(1 + value % 18);
      break;
    case 6:
      field.label = value % 3;
      break;
    case 7:
      field.sub = value < 64 ? schema::kNoSub : value % static_cast<uint32_t>(model->messages.size());
      break;
    case 8:
      field.number = value < 128 ? other.number : value - 127u;
      break;
    case 9:
      field.packed = !field.packed;
      break;
    case 10:
      field.oneof = value % 3 - 1;
      break;
    case 11:
      field.required = !field.required;
      break;
    default:
      field.explicit_presence = !field.explicit_presence;
      field.closed_enum = (value & 1) != 0;
  }
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
  testing::TestObject object(type);
  // Strings that the image wants checked are letters here, so nothing can be wrong with the bytes.
  DecodeResult decoded = object.decode(wire, {.depth_limit = 200});
  if (!decoded.ok()) die("a generated message does not decode: " + to_string(decoded));
  std::string encoded = object.encode();
  if (encoded_size(type, object.get()) != encoded.size()) die("encoded_size is wrong");
  testing::TestObject copy(type);
  if (!message::merge(type, copy.get(), *object.get())) die("merge failed");
  if (!message::equal(type, *object.get(), *copy.get())) die("a copy is not equal");
  message::is_initialized(type, *copy.get());
  message::debug_text(type, *copy.get(), {});
  message::discard_unknown(type, copy.get());
  message::clear(type, copy.get());
  if (!copy.encode().empty() && !message::equal(type, *copy.get(), *testing::TestObject(type).get()))
    die("not cleared");
}

void run(const uint8_t* data, size_t size) {
  schema::Schema model = model_of(data[0]);
  auto each_change = [&](auto apply) {
    for (size_t i = 3; i + 4 <= size && i < 3 + 4 * 16; i += 4) {
      apply(data[i] | size_t{data[i + 1]} << 8, data[i + 2], data[i + 3]);
    }
  };
  each_change([&](size_t place, uint8_t what, uint8_t value) {
    if ((what & 64) != 0) change(&model, place, what, value);
  });
  std::string bytes = schema::build_image(model).image;
  each_change([&](size_t place, uint8_t what, uint8_t value) {
    if ((what & 64) == 0) change(&bytes, place, what, value);
  });
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
