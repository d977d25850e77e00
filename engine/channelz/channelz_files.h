// The channelz service's own .proto file, put into the engine when it is built.
#pragma once

#include <string_view>

namespace drover::engine {

// A FileDescriptorSet's bytes; empty if the engine was built without protoc.
std::string_view channelz_files();

}  // namespace drover::engine
