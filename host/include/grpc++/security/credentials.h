// The name that <grpcpp/security/credentials.h> had before gRPC 1.9.
#pragma once

#include <grpcpp/security/credentials.h>
