// The name that <grpcpp/impl/codegen/channel_interface.h> had before gRPC 1.9.
#pragma once

#include <grpcpp/impl/codegen/channel_interface.h>
