// google::protobuf::Message as sources written for protobuf C++ name it: the common base of generated classes. It has
// no virtual functions; what works on any message goes through a schema image (message/operations.h).
#pragma once

#include <google/protobuf/arena.h>
#include <google/protobuf/map.h>
#include <google/protobuf/repeated_field.h>
#include <google/protobuf/stubs/common.h>

#include "message/message.h"

namespace google::protobuf {
using Message = drover::Message;
using MessageLite = drover::Message;
}  // namespace google::protobuf
