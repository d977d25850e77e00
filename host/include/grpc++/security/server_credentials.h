// The name that <grpcpp/security/server_credentials.h> had before gRPC 1.9.
#pragma once

#include <grpcpp/security/server_credentials.h>
