// Where `drover gen` puts messages: files under a directory, or one stream on stdout.
#pragma once

#include <string>
#include <vector>

#include "workload/workload.h"

namespace drover::cli {

enum class GenFormat { kBinary, kDelimited, kHex, kJson };

// Writes a workload's messages and schemas.
//   kBinary     DIR/NAME.bin for each message
//   kDelimited  DIR/TYPE.delimited for each message type: each message preceded by its length, a varint
//   kHex, kJson DIR/TYPE.hex, DIR/TYPE.json: a line for each message
// and DIR/GROUP.fds, the group's FileDescriptorSet. TYPE is the full name. With "-" as directory, everything but
// kBinary goes to stdout, without schemas. Returns an empty string, or what went wrong.
std::string write_workload(const workload::Workload& workload, GenFormat format, const std::string& directory);

}  // namespace drover::cli
