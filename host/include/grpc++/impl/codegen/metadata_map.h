// The name that <grpcpp/impl/codegen/metadata_map.h> had before gRPC 1.9.
#pragma once

#include <grpcpp/impl/codegen/metadata_map.h>
