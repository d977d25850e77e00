// Before anything is timed: do all implementations understand the message alike?
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench/codec/subject.h"

namespace drover::bench {

// Every round trip of every subject must parse, by protobuf C++'s dynamic messages, to what the message's own bytes
// parse to. Returns what is wrong; empty if nothing is.
std::string check(const BenchMessage& message, const std::vector<std::unique_ptr<Subject>>& subjects);

}  // namespace drover::bench
