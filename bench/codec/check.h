// Before anything is timed: checks that all implementations read the message alike.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench/codec/subject.h"

namespace drover::bench {

// Every round trip of every subject must parse, by protobuf C++'s dynamic messages, to what the message's own bytes
// parse to. Returns an error, or an empty string.
std::string check(const BenchMessage& message, const std::vector<std::unique_ptr<Subject>>& subjects);

}  // namespace drover::bench
