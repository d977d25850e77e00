// The decoder as the hook of message/extensions.h, for programs in which no generated class has installed it.
#pragma once

namespace drover {

// Cheap, and free for all threads. A hook that is there stays.
void install_decoder();

}  // namespace drover
