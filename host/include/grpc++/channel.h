// The name that <grpcpp/channel.h> had before gRPC 1.9.
#pragma once

#include <grpcpp/channel.h>
