// hostile_image: the schema image of a .proto file without imports, from stdin to stdout. The attackers of this folder
// register such images. The `drover` command can do it, too, but takes minutes to build: it links the simulators.
#include <google/protobuf/compiler/parser.h>
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>

#include <cstdio>
#include <string>

#include "schema/image_builder.h"

namespace {

class Errors final : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line, int column, const std::string& message) override {
    std::fprintf(stderr, "hostile_image: stdin:%d:%d: %s\n", line + 1, column + 1, message.c_str());
  }
};

}  // namespace

int main() {
  google::protobuf::io::FileInputStream in(0);
  Errors errors;
  google::protobuf::io::Tokenizer tokenizer(&in, &errors);
  google::protobuf::FileDescriptorSet set;
  auto* file = set.add_file();
  if (!google::protobuf::compiler::Parser().Parse(&tokenizer, file)) return 1;
  file->set_name("hostile.proto");
  drover::schema::BuildResult built = drover::schema::build_image(set);
  if (!built.ok()) {
    std::fprintf(stderr, "hostile_image: %s\n", built.error.c_str());
    return 1;
  }
  const bool written = std::fwrite(built.image.data(), 1, built.image.size(), stdout) == built.image.size();
  return written && std::fflush(stdout) == 0 ? 0 : 1;
}
