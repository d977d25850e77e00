// gRPC's status codes by name.
#pragma once

#include <cstdint>
#include <string>

namespace drover::cli {

// "NOT_FOUND" of 5; "code 99" of one that gRPC does not have.
std::string status_name(int64_t code);

}  // namespace drover::cli
