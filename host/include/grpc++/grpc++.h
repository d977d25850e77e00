// The name that <grpcpp/grpcpp.h> had before gRPC 1.9.
#pragma once

#include <grpcpp/grpcpp.h>
