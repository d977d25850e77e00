// FieldPath beside the decoder: of bytes that decode, both find the same value at each path; of any other bytes,
// nothing is read beyond them (ASan). The first byte chooses the message and the path, the second how many fields are
// read.
#include <cstdlib>
#include <iterator>
#include <string>

#include "engine/balance/field_path_testing.h"
#include "testing/test_object.h"

using namespace drover;
using namespace drover::engine;

namespace {

struct Choice {
  schema::MessageType type;
  const char* path;
  FieldPath compiled;
};

const Choice& choice(uint8_t byte) {
  static const std::vector<Choice> choices = [] {
    std::vector<Choice> all;
    std::string why;
    for (const char* path : kEveryPaths)
      all.push_back({every_type(), path, *FieldPath::compile(every_type(), path, &why)});
    for (const char* path : kPlainPaths)
      all.push_back({plain_type(), path, *FieldPath::compile(plain_type(), path, &why)});
    return all;
  }();
  return choices[byte % choices.size()];
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const Choice& chosen = choice(data[0]);
  const std::string wire(reinterpret_cast<const char*>(data) + 2, size - 2);  // on the heap, for ASan
  const auto found = chosen.compiled.find(wire);
  if (found && found->is_text && !found->text.empty()) {
    const char* at = found->text.data();
    if (at < wire.data() || at + found->text.size() > wire.data() + wire.size()) std::abort();
  }
  (void)chosen.compiled.find(wire, data[1]);
  drover::testing::TestObject object(chosen.type);
  if (!object.decode(wire).ok()) return 0;
  if (!same(found, decoded_value({chosen.type, object.get()}, chosen.path))) std::abort();
  return 0;
}
