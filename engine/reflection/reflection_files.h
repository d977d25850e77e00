// The reflection service's own .proto files, put into the engine when it is built.
#pragma once

#include <string_view>

namespace drover::engine {

// A FileDescriptorSet's bytes; empty if the engine was built without protoc.
std::string_view reflection_files();

}  // namespace drover::engine
