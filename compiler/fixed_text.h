// The class of a message of fixed shape: its members are the bytes that travel, its functions protobuf's accessors.
#pragma once

#include <string>

#include "compiler/lines_layout.h"

namespace drover::compiler {

std::string fixed_class_name(const Descriptor* message);                         // "Outer_InnerFixed"
std::string qualified_fixed(const Descriptor* message, const Options& options);  // "::pkg::Outer_InnerFixed"
std::string fixed_class(const Descriptor* message, const FixedLayout& layout, const Options& options);

}  // namespace drover::compiler
