// The name that <grpcpp/resource_quota.h> had before gRPC 1.9.
#pragma once

#include <grpcpp/resource_quota.h>
