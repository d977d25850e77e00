// Forwards: Drover has no lite runtime of its own.
#pragma once

#include <google/protobuf/message.h>
