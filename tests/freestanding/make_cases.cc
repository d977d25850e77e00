// Writes the cases (tests/freestanding/cases.h) that freestanding programs are checked with: make_cases OUT CORPUS
//
//   the built-in workload, all 60 messages                                 encoded again
//   messages of the codec's test schemas, in odd but legal forms too       encoded again
//   all of them, mutated at the boundaries of their fields, and CORPUS     refused as here, or encoded again
//
// The corpus is decode_fuzz's. The expected results are those of this host's codec.
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "testing/every_schema.h"
#include "testing/test_object.h"
#include "tests/freestanding/cases.h"
#include "workload/message_generator.h"
#include "workload/wire_mutation.h"
#include "workload/workload.h"

namespace drover {
namespace {

class CasesFile {
 public:
  void add(const schema::MessageType& type, const std::string& wire, bool workload) {
    cases::Case entry{};
    entry.image = image_index(type.image);
    entry.message = type.index;
    entry.wire_size = static_cast<uint32_t>(wire.size());
    entry.workload = workload ? 1 : 0;
    testing::TestObject object(type);
    DecodeResult result = object.decode(wire);
    std::string encoded;
    if (result.ok()) {
      encoded = object.encode();
      ++ok_;
    } else {
      entry.error = static_cast<uint32_t>(result.error);
      entry.error_offset = static_cast<uint32_t>(result.offset);
      std::string_view name = result.message_name;
      entry.error_message = static_cast<uint32_t>(type.image->find_message(name.data(), name.size()));
      entry.error_field = result.field_number;
      ++errors_;
    }
    entry.encoded_size = static_cast<uint32_t>(encoded.size());
    append(&cases_, &entry, sizeof(entry));
    append(&cases_, wire.data(), wire.size());
    append(&cases_, encoded.data(), encoded.size());
  }

  bool write(const char* path) const {
    cases::CasesHeader header{cases::kMagic, static_cast<uint32_t>(images_.size()), ok_ + errors_};
    std::string bytes;
    append(&bytes, &header, sizeof(header));
    for (const schema::Image* image : images_) {
      uint64_t size = image->size();
      append(&bytes, &size, sizeof(size));
      append(&bytes, image->data(), size);
    }
    bytes += cases_;
    std::ofstream out(path, std::ios::binary);
    out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    out.close();
    std::printf("%s: %u messages, %u malformed, %zu bytes\n", path, ok_, errors_, bytes.size());
    return out.good();
  }

 private:
  static void append(std::string* to, const void* data, size_t size) {
    to->append(static_cast<const char*>(data), size);
    to->resize(cases::padded(to->size()));
  }
  uint32_t image_index(const schema::Image* image) {
    for (size_t i = 0; i < images_.size(); ++i) {
      if (images_[i] == image) return static_cast<uint32_t>(i);
    }
    images_.push_back(image);
    return static_cast<uint32_t>(images_.size() - 1);
  }

  std::vector<const schema::Image*> images_;
  std::string cases_;
  uint32_t ok_ = 0, errors_ = 0;
};

void add_mutations(CasesFile* file, const schema::MessageType& type, const std::string& wire, uint64_t seed,
                   int count) {
  workload::Random random(seed);
  for (int i = 0; i < count; ++i) {
    std::string mutated = wire;
    workload::mutate_wire(random, &mutated);
    file->add(type, mutated, false);
  }
}

void add_workload(CasesFile* file, const workload::Workload& workload) {
  constexpr size_t kSmall = 16384;  // mutations of larger ones would make the file large
  for (const workload::WorkloadMessage& message : workload.messages) {
    file->add(message.type, message.wire, true);
    if (message.wire.size() <= kSmall) add_mutations(file, message.type, message.wire, message.wire.size(), 8);
  }
}

void add_test_messages(CasesFile* file) {
  const schema::MessageType types[] = {testing::every_schema().type("t.Every"), testing::every_schema().type("t.Maps"),
                                       testing::implicit_schema().type("t3.Implicit")};
  for (const schema::MessageType& type : types) {
    for (uint64_t seed = 1; seed <= 40; ++seed) {
      workload::MessageOptions options;
      options.max_levels = 1 + static_cast<uint32_t>(seed % 8);
      options.max_size = 1 << (9 + seed % 5);
      options.unknown_permille = seed % 3 == 0 ? 300 : 0;
      options.utf8 = seed % 2 == 0;
      options.odd_permille = seed % 4 == 0 ? 0 : 100;
      std::string wire = workload::generate_wire(type, seed, options);
      file->add(type, wire, false);
      add_mutations(file, type, wire, seed, 6);
    }
  }
}

// The first byte chooses the type as in codec/decode/decode_fuzz.cc.
bool add_corpus(CasesFile* file, const std::filesystem::path& directory) {
  int count = 0;
  for (const auto& item : std::filesystem::directory_iterator(directory)) {
    std::ifstream in(item.path(), std::ios::binary);
    std::string input((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    if (input.empty()) continue;
    int choice = static_cast<uint8_t>(input[0]) % 3;
    const testing::TestSchema& schema = choice == 2 ? testing::implicit_schema() : testing::every_schema();
    const char* name = choice == 0 ? "t.Every" : choice == 1 ? "t.Maps" : "t3.Implicit";
    file->add(schema.type(name), input.substr(1), false);
    ++count;
  }
  return count != 0;
}

int run(const char* out, const char* corpus) {
  workload::WorkloadResult made = workload::hyperproto_like();
  if (!made.ok()) {
    std::fprintf(stderr, "make_cases: %s\n", made.error.c_str());
    return 1;
  }
  CasesFile file;
  add_workload(&file, made.workload);
  add_test_messages(&file);
  if (!add_corpus(&file, corpus)) {
    std::fprintf(stderr, "make_cases: nothing in %s\n", corpus);
    return 1;
  }
  if (!file.write(out)) {
    std::fprintf(stderr, "make_cases: cannot write %s\n", out);
    return 1;
  }
  return 0;
}

}  // namespace
}  // namespace drover

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: make_cases OUT CORPUS\n");
    return 2;
  }
  return drover::run(argv[1], argv[2]);
}
