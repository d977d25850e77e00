// A generated enum: the type and constants, _Name, _Parse, _IsValid, _MIN, _MAX, _ARRAYSIZE.
#pragma once

#include <string>

#include "compiler/names.h"

namespace drover::compiler {

std::string enum_header(const EnumDescriptor* e);
// `image` is the expression of the file's schema::Image, `index` the enum's place in it.
std::string enum_source(const EnumDescriptor* e, const std::string& image, int64_t index);
// The declarations in a class for an enum nested in it.
std::string enum_aliases(const EnumDescriptor* e);

}  // namespace drover::compiler
