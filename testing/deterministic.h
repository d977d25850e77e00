// The one serializer that tests compare protobuf C++'s messages by: deterministic order of map entries, and missing
// required fields are no error.
#pragma once

#include <google/protobuf/message.h>

#include <string>

namespace drover::testing {

std::string deterministic(const google::protobuf::Message& message);

}  // namespace drover::testing
