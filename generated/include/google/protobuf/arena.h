// google::protobuf::Arena as sources written for protobuf C++ name it: Drover's own Arena.
#pragma once

#include "object/arena.h"

namespace google::protobuf {
using Arena = drover::Arena;
using ArenaOptions = drover::ArenaOptions;
}  // namespace google::protobuf
