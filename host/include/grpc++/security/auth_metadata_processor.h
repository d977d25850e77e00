// The name that <grpcpp/security/auth_metadata_processor.h> had before gRPC 1.9.
#pragma once

#include <grpcpp/security/auth_metadata_processor.h>
