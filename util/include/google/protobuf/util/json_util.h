// google::protobuf::util's JSON functions as sources written for protobuf C++ name them: Drover's own.
#pragma once

#include <google/protobuf/message.h>
#include <google/protobuf/stubs/status.h>

#include "util/json_util.h"

namespace google::protobuf::util {
using drover::util::JsonOptions;
using drover::util::JsonParseOptions;
using drover::util::JsonPrintOptions;
using drover::util::JsonStringToMessage;
using drover::util::MessageToJsonString;
}  // namespace google::protobuf::util
