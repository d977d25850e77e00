#include "engine/channelz/channelz_description.h"

#include <string>
#include <utility>

#include "engine/channelz/channelz_files.h"
#include "engine/channelz/channelz_request.h"

namespace drover::engine {

const ReflectionSource& channelz_description() {
  static const ReflectionSource& description = *[] {
    std::string error;
    auto files = DescriptorIndex::make(std::string(channelz_files()), &error);
    return new ReflectionSource{std::move(files), {std::string(kChannelzService)}};
  }();
  return description;
}

}  // namespace drover::engine
