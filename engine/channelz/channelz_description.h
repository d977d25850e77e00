// The channelz service as server reflection describes it, where the engine serves it.
#pragma once

#include "engine/reflection/reflection_answer.h"

namespace drover::engine {

const ReflectionSource& channelz_description();

}  // namespace drover::engine
