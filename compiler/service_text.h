// A generated service: the classes that a gRPC C++ server derives from, for Drover's host library.
#pragma once

#include <google/protobuf/descriptor.h>

#include <string>

#include "compiler/names.h"

namespace drover::compiler {

using google::protobuf::MethodDescriptor;
using google::protobuf::ServiceDescriptor;

std::string service_header(const ServiceDescriptor* service, const Options& options);
// `descriptors`: the array of the service's descriptors.
std::string service_source(const ServiceDescriptor* service, const std::string& descriptors, const Options& options);

}  // namespace drover::compiler
